/* The operations of RandAugment. */
#ifndef HD_DATA_IMAGE_AUGMENT_RANDOM_OP_H
#define HD_DATA_IMAGE_AUGMENT_RANDOM_OP_H

#include "data/image/augment/warp.h"

/* X(name, what is strongest, either way): at magnitude 10; of a magnitude of m the share m / 10 of that. */
#define HD_RANDOM_OP_LIST(X)   \
    X(identity, 0, false)      \
    X(autocontrast, 0, false)  \
    X(equalize, 0, false)      \
    X(rotate, 30, true)        \
    X(solarize, 256, false)    \
    X(color, 0.9, true)        \
    X(posterize, 4, false)     \
    X(contrast, 0.9, true)     \
    X(brightness, 0.9, true)   \
    X(sharpness, 0.9, true)    \
    X(shear_x, 0.3, true)      \
    X(shear_y, 0.3, true)      \
    X(translate_x, 0.45, true) \
    X(translate_y, 0.45, true)

typedef enum hd_random_op {
#define X(name, most, sign) HD_RANDOM_OP_##name,
    HD_RANDOM_OP_LIST(X)
#undef X
        HD_RANDOM_OPS
} hd_random_op;

/* magnitude 0 to 10; negative: the other way, of those that have two. */
hd_status hd_random_op_apply(hd_image *im, hd_boxes b, hd_random_op op, double magnitude, hd_err *err);

#endif
