/* A gpt of handwriting: the Transformer's decoder over tokens, of which the first are the characters of a
   text and the others the points of a pen, in bins (data/strokes/bins.h). A line is

       a t t e n t i o n  first point  point  ...  last point  end

   in one stream; what comes behind the first point is learned. It stands beside Graves' networks, for
   comparison: a probability over the area of a bin is a density as theirs. */
#ifndef HD_MODEL_STROKE_PEN_GPT_H
#define HD_MODEL_STROKE_PEN_GPT_H

#include "data/strokes/bins.h"
#include "model/config.h"
#include "model/lm/gpt.h"
#include "model/type.h"

typedef struct hd_pen_gpt_opt {
    hd_stack_opt stack;
    size_t vocab;     /* of characters */
    size_t positions; /* most characters and points of a line together */
    hd_pen_scale scale;
    hd_pen_bins bins;
} hd_pen_gpt_opt;

typedef struct hd_pen_gpt {
    hd_pen_gpt_opt opt;
    hd_gpt *gpt;
} hd_pen_gpt;

/* Tokens: characters, the end, bins. */
static inline int32_t hd_pen_gpt_end(const hd_pen_gpt_opt *o)
{
    return (int32_t)o->vocab;
}
static inline int32_t hd_pen_gpt_token(const hd_pen_gpt_opt *o, int32_t bin)
{
    return (int32_t)o->vocab + 1 + bin;
}
static inline size_t hd_pen_gpt_tokens(const hd_pen_gpt_opt *o)
{
    return o->vocab + 1 + hd_pen_bins_count(&o->bins);
}
/* Of the first point, which is where offsets begin. */
static inline int32_t hd_pen_gpt_first(const hd_pen_gpt_opt *o, bool lift)
{
    return hd_pen_gpt_token(o, hd_pen_bin_of(&o->bins, (const double[2]){0, 0}, lift));
}

/* Lines in backend memory. */
typedef struct hd_pen_gpt_batch {
    const hd_seg *seg;
    const int32_t *ids, *target; /* target -1: it is not learned */
    hd_tensor *area;             /* [R, 1]: ln of that of the target's bin; 0 of an end and of none */
} hd_pen_gpt_batch;

/* HD_EARG: options that make no model. */
hd_status hd_pen_gpt_new(hd_pen_gpt **out, hd_backend *backend, const hd_pen_gpt_opt *opt, bool training,
                         hd_err *err);
void hd_pen_gpt_free(hd_pen_gpt *m); /* accepts NULL */

/* -ln of densities, [R, 1]: nats, of numbers that were divided by the deviation; also a start of backward. */
hd_tensor *hd_pen_gpt_loss(hd_run *r, const hd_pen_gpt *m, const hd_pen_gpt_batch *b);

/* Its keys in config.json. */
void hd_pen_gpt_config_write(hd_text *to, const hd_pen_gpt_opt *o);
void hd_pen_gpt_config_read(hd_model_config *c, hd_pen_gpt_opt *o);

static inline hd_model hd_pen_gpt_model(const hd_pen_gpt *m)
{
    return (hd_model){&hd_model_pen_gpt, &m->gpt->params, (void *)m};
}

#endif
