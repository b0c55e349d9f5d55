/* A small BERT that learns to fill in what is masked. */
#ifndef HD_LAB_PRETRAINED_FILLER_H
#define HD_LAB_PRETRAINED_FILLER_H

#include "lab/course.h"
#include "lab/experiment.h"
#include "model/encoder/bert.h"

typedef struct hd_filler {
    hd_course course;
    hd_bert *model;
} hd_filler;

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_filler_open(hd_filler *f, hd_run *run, const hd_bert_opt *o, uint64_t seed, hd_err *err);
void hd_filler_close(hd_filler *f); /* accepts {0} */

/* One update by Adam, of a step that its course has begun. asked: how many blanks there are. */
hd_status hd_filler_learn(hd_filler *f, const hd_bert_batch *b, double asked, hd_err *err);
/* The likeliest words where they are asked for, [b->count] of them, of a step that was begun. */
hd_status hd_filler_fill(int32_t *to, hd_filler *f, const hd_bert_batch *b, hd_err *err);

#endif
