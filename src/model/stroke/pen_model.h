/* What models of the points of a pen share as models among others: limits and keys of config.json, what
   `heed info` says first. */
#ifndef HD_MODEL_STROKE_PEN_MODEL_H
#define HD_MODEL_STROKE_PEN_MODEL_H

#include "data/strokes/scale.h"
#include "model/keys.h"
#include "model/type.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { HD_PEN_MODEL_MOST = 1 << 16 };

/* Rows of a table of keys: field `scale` of the options T. */
#define HD_PEN_SCALE_KEY(T, key, field, low)                                      \
    {                                                                             \
        HD_KEY_OF(T, key, REAL, field), .least = low, .most = HD_STROKES_FARTHEST \
    }
#define HD_PEN_SCALE_KEYS(T, scale)                                         \
    HD_PEN_SCALE_KEY(T, "mean_x", scale.mean[0], -HD_STROKES_FARTHEST),     \
        HD_PEN_SCALE_KEY(T, "mean_y", scale.mean[1], -HD_STROKES_FARTHEST), \
        HD_PEN_SCALE_KEY(T, "deviation_x", scale.deviation[0], 0),          \
        HD_PEN_SCALE_KEY(T, "deviation_y", scale.deviation[1], 0)

/* A fault of what was read from these. */
static inline void hd_pen_model_refuse(hd_model_config *c, const hd_err *why)
{
    if (!c->status && why->status) hd_model_config_refuse(c, "%s", why->text);
}

static inline void hd_pen_model_describe(hd_details *to, const char *model, int layers, size_t width)
{
    hd_details_text(to, "model", model);
    hd_details_whole(to, "layers", (uint64_t)layers);
    hd_details_whole(to, "width", width);
}

/* vocab: of characters; lines may have any number of points. */
static inline hd_model_sizes hd_pen_model_sizes(size_t vocab)
{
    return (hd_model_sizes){.vocab = vocab, .positions = INT32_MAX};
}

#endif
