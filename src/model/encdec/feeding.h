/* What a decoder reads in training where the word before should stand: the truth, or what it said itself.
   Only decoders that go step by step can be fed their own words. */
#ifndef HD_MODEL_ENCDEC_FEEDING_H
#define HD_MODEL_ENCDEC_FEEDING_H

#include "nn/front.h"

/* X(name, what is fed after the first step) */
#define HD_FEEDING_LIST(X)                                          \
    X(teacher, "the truth")                                         \
    X(free, "a sample of what the model said")                      \
    X(scheduled, "the truth or a sample, by a coin for every word") \
    X(gumbel, "a soft sample, by the same coin: the gradient goes back through the word")

#define X(name, text) HD_FEEDING_##name,
typedef enum hd_feeding_kind { HD_FEEDING_LIST(X) HD_FEEDINGS } hd_feeding_kind;
#undef X

extern const char *const hd_feeding_names[HD_FEEDINGS + 1];

typedef struct hd_feeding {
    hd_feeding_kind kind;
    float rate;        /* scheduled, gumbel: probability of a word of its own, 0 to 1 */
    float temperature; /* of samples; > 0 */
} hd_feeding;

hd_status hd_feeding_check(const hd_feeding *f, hd_err *err);

/* Whether a word of its own is ever fed. */
static inline bool hd_feeding_own(const hd_feeding *f)
{
    return f->kind == HD_FEEDING_free || (f->kind != HD_FEEDING_teacher && f->rate > 0);
}

/* What a decoder speaks with. */
typedef struct hd_voice {
    const hd_front *front;
    hd_param *output, *bias; /* bias may be NULL */
    hd_feeding feeding;
} hd_voice;

/* The token vectors of a step: `truth` [N, C], or those of words drawn from what the output layer makes of
   `read` [N, C]. seg: one row an item. */
hd_tensor *hd_voice_feed(hd_run *r, const hd_voice *v, hd_tensor *read, hd_tensor *truth, const hd_seg *seg);

#endif
