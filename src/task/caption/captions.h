/* Pictures with captions, as a captioner learns them: texts in ids, and which one an epoch takes. */
#ifndef HD_TASK_CAPTION_CAPTIONS_H
#define HD_TASK_CAPTION_CAPTIONS_H

#include "data/image/set.h"
#include "task/seq2seq/targets.h"

typedef struct hd_captions_read {
    const char *path, *images, *names; /* as hd_image_set_captions has them */
    bool skip;                         /* pictures that cannot be read */
    bool cased;                        /* texts keep their capital letters */
} hd_captions_read;

typedef struct hd_captions {
    hd_image_set set;
    bool cased;
    hd_targets texts; /* those of a picture together, as set.first_caption has them */
    size_t cut;       /* captions that were too long */
} hd_captions;

hd_status hd_captions_open(hd_captions *out, const hd_captions_read *how, hd_err *err);
/* Moves a share of the pictures to `out`. */
hd_status hd_captions_split(hd_captions *c, double fraction, uint64_t seed, hd_captions *out, hd_err *err);
void hd_captions_release(hd_captions *c); /* accepts {0} */

/* Sets the ids, of each caption at most `longest`. */
hd_status hd_captions_encode(hd_captions *c, const hd_tokenizer *t, size_t longest, hd_err *err);

static inline size_t hd_captions_of(const hd_captions *c, size_t picture)
{
    return c->set.first_caption[picture + 1] - c->set.first_caption[picture];
}
/* How many of them say left or right. */
size_t hd_captions_sided(const hd_captions *c);
/* The caption that an epoch shows with a picture: another one in each, in turn, the first drawn. */
size_t hd_captions_choose(const hd_captions *c, size_t picture, uint64_t seed, uint64_t epoch);

#endif
