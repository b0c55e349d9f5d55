/* Rotation of pairs of columns by the position of the row: what kernels know of rotary positions. */
#ifndef HD_BACKEND_ROTATION_H
#define HD_BACKEND_ROTATION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tensor/tensor.h"

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

enum { HD_ROTATION_PAIRS = 256 }; /* at most, of a head */

/* Heads lie side by side, each of `width` columns, of which the 2 * pairs from `first` on are turned. */
typedef struct hd_rotation {
    int width, first, pairs;
    bool interleaved;                 /* a pair are columns (2k, 2k + 1); otherwise (k, k + pairs) */
    float factor;                     /* of cosines and sines */
    float inverse[HD_ROTATION_PAIRS]; /* angle for each position, in radians */
    int learned; /* > 0: positions from here on have the frequencies of theta * (grow * (p + 1) / learned - */
    float grow;  /* grow + 1)^(columns / (columns - 2)) */
    double theta;
} hd_rotation;

/* Turns the columns of x in place by the positions of its rows, with `back` by the negative angles. heads: so
   many from column 0 of x on. */
typedef struct hd_rotate_args {
    const hd_tensor *x;
    const int32_t *pos; /* [rows], backend memory */
    const hd_rotation *by;
    int heads;
    bool back;
} hd_rotate_args;

/* The angle of a pair, in float as published models have it. */
HD_BOTH static inline float hd_rotation_angle(const hd_rotation *t, int pair, int32_t pos)
{
    float inverse = t->inverse[pair];
    if (t->learned > 0 && pos >= t->learned) {
        float columns = (float)(2 * t->pairs);
        float longer = t->grow * (float)(pos + 1) / (float)t->learned - (t->grow - 1);
        float theta = (float)t->theta * (float)pow((double)longer, (double)columns / ((double)columns - 2));
        inverse = 1.0f / (float)pow((double)theta, (double)((float)(2 * pair) / columns));
    }
    return (float)pos * inverse;
}

#endif
