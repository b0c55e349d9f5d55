/* Rotary positions: pairs of columns of each head of queries and keys are turned by angles that grow with the
   position, so that their products depend on distances alone. Options, and the frequencies they give. Easy to
   get wrong: published models compute frequencies and angles in float, and exact ones drift away from theirs
   at long positions. */
#ifndef HD_NN_BLOCK_ROTARY_H
#define HD_NN_BLOCK_ROTARY_H

#include "backend/rotation.h"
#include "base/status.h"

/* X(NAME, name): which columns are a pair: (k, k + half), or (2k, 2k + 1) */
#define HD_ROTARY_LIST(X) X(NONE, none) X(HALVES, halves) X(INTERLEAVED, interleaved)

#define X(NAME, name) HD_ROTARY_##NAME,
typedef enum hd_rotary_kind { HD_ROTARY_LIST(X) HD_ROTARIES } hd_rotary_kind;
#undef X

/* X(NAME, name): how frequencies are changed for positions that were not learned, as transformers calls it */
#define HD_ROTARY_SCALING_LIST(X) \
    X(DEFAULT, default) X(LINEAR, linear) X(DYNAMIC, dynamic) X(LLAMA3, llama3) X(YARN, yarn)

#define X(NAME, name) HD_ROTARY_##NAME,
typedef enum hd_rotary_scaling_kind { HD_ROTARY_SCALING_LIST(X) HD_ROTARY_SCALINGS } hd_rotary_scaling_kind;
#undef X

extern const char *const hd_rotary_names[HD_ROTARIES + 1], /* end with NULL */
    *const hd_rotary_scaling_names[HD_ROTARY_SCALINGS + 1];

typedef struct hd_rotary_scaling {
    hd_rotary_scaling_kind kind;
    double factor;
    double low, high;            /* llama3; 0: 1 and 4 */
    size_t original;             /* positions that were learned */
    double beta_fast, beta_slow; /* yarn; 0: 32 and 1 */
    double attention_factor;     /* yarn, of cosines and sines; 0: by the factor and the next two */
    double mscale, mscale_all;   /* yarn; 0: not given */
    bool no_rounding;            /* yarn: the ends of its ramp are not whole numbers */
} hd_rotary_scaling;

typedef struct hd_rotary {
    hd_rotary_kind kind;
    double theta;   /* 0: 10000 */
    size_t columns; /* of a head that are turned; 0: all */
    hd_rotary_scaling scaling;
} hd_rotary;

/* Whether it fits heads of so many columns. */
hd_status hd_rotary_check(const hd_rotary *o, size_t head_width, hd_err *err);

/* For heads of so many columns, of which the turned ones begin at `first`. Only where the check says yes. */
hd_rotation hd_rotary_make(const hd_rotary *o, size_t head_width, size_t first);

#endif
