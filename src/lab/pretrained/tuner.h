/* A small language model that learns plain text, and then which of two topics a line is about. Lines have
   words of one topic. Those with a label have its first words alone, those that it is judged by only others:
   that they belong together is known to whoever has read plain text. */
#ifndef HD_LAB_PRETRAINED_TUNER_H
#define HD_LAB_PRETRAINED_TUNER_H

#include "lab/course.h"
#include "lab/experiment.h"
#include "model/encoder/classifier.h"

typedef struct hd_tuner {
    hd_course course;
    hd_classifier *model;
    hd_real *kept; /* all weights, as hd_tuner_keep found them */
} hd_tuner;

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_tuner_open(hd_tuner *t, hd_run *run, hd_lm_kind kind, uint64_t seed, hd_err *err);
void hd_tuner_close(hd_tuner *t); /* accepts {0} */

/* So many updates of plain text. */
hd_status hd_tuner_read(hd_tuner *t, int updates, hd_err *err);
/* Weights as they are now, and back to them, with an optimizer that begins anew. */
hd_status hd_tuner_keep(hd_tuner *t, hd_err *err);
hd_status hd_tuner_return(hd_tuner *t, hd_err *err);
/* Whether two of one kind have kept the same weights, to the last bit. */
bool hd_tuner_same(const hd_tuner *a, const hd_tuner *b);

/* Updates by that many lines with labels, in turn. beside: the weight of the loss of their words; below 0:
   words are not asked for. */
hd_status hd_tuner_tune(hd_tuner *t, int lines, int updates, double beside, hd_err *err);
/* The share of new lines whose topic is told rightly. */
hd_status hd_tuner_judge(double *share, hd_tuner *t, hd_err *err);

#endif
