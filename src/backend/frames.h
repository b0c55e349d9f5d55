/* Sound in backend memory: frames of features, one item behind the other. */
#ifndef HD_BACKEND_FRAMES_H
#define HD_BACKEND_FRAMES_H

#include "backend/segment.h"
#include "tensor/tensor.h"

typedef struct hd_frames {
    const hd_real *value; /* [seg->rows, bins]; zeros in rows of no item */
    const hd_seg *seg;
    size_t bins;
} hd_frames;

#endif
