/* Fronts: they turn items into rows. Encoders and decoders read rows; only a front knows what items
   consist of. Another kind is a hd_front_type and its fields of hd_items. */
#ifndef HD_NN_FRONT_H
#define HD_NN_FRONT_H

#include "backend/frames.h"
#include "backend/pixels.h"
#include "nn/layer.h"
#include "nn/position.h"

/* Items in backend memory. */
typedef struct hd_items {
    const hd_seg *seg;
    const int32_t *ids;      /* [R] tokens */
    const int32_t *type;     /* [R] token types, for fronts with type vectors; NULL for others */
    const int32_t *pos;      /* [R] positions; NULL: those of seg. With a cache: hd_cache_positions */
    const hd_pixels *pixels; /* pictures, for fronts that read those: they make the segments */
    const hd_frames *frames; /* sound, for fronts that read that: the same */
} hd_items;

typedef struct hd_front hd_front;

typedef struct hd_front_type {
    bool scoped; /* what it offers to a probe has names of its own */
    hd_rows (*rows)(hd_run *r, const hd_front *f, const hd_items *in);
    /* Tables that are not learned, once the parameters are ready; NULL: it has none. */
    hd_status (*fill)(const hd_front *f, hd_params *p, hd_err *err);
} hd_front_type;

/* For tokens: their vector, scaled, plus those of position and type; norm; dropout; a layer that changes
   the width of rows. */
struct hd_front {
    const hd_front_type *type;
    hd_param *table, *position, *types; /* position, types: NULL if there are none */
    hd_sinusoid sinusoid;               /* of positions that are not learned */
    hd_norm_layer norm;                 /* without a gain: none */
    hd_dense project;                   /* without a weight: none */
    float scale, dropout;
    const void *self; /* of a kind that is not of tokens */
};

typedef enum hd_positions { HD_POSITIONS_NONE, HD_POSITIONS_LEARNED, HD_POSITIONS_SINUSOID } hd_positions;

typedef struct hd_tokens_opt {
    size_t vocab, width, positions, types; /* types 0: none */
    size_t out; /* columns of rows, if a layer maps `width` columns to them; 0: no such layer */
    hd_positions position;
    size_t offset; /* learned positions: rows of the table before the first position */
    hd_sinusoid sinusoid;
    bool one_hot; /* a vector has a 1 in the column of its token and is not learned; width is not read */
    bool norm;
    float eps, scale, dropout; /* scale 0: 1 */
    hd_init init;
    hd_param *shared, *shared_position; /* shared with another front; NULL: its own, registered by name */
    const char *table_name, *position_name, *types_name, *norm_name, *project_name;
} hd_tokens_opt;

/* A failure stays in p->err. */
hd_front hd_tokens_make(hd_params *p, const hd_tokens_opt *o);
hd_param *hd_positions_make(hd_params *p,
                            const hd_tokens_opt *o); /* for fronts that share them; may be NULL */

hd_rows hd_front_rows(hd_run *r, const hd_front *f, const hd_items *in);
hd_status hd_front_fill(const hd_front *f, hd_params *p, hd_err *err);

#endif
