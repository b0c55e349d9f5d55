/* Frames of sound sent to the backend. */
#ifndef HD_NN_FRAMES_H
#define HD_NN_FRAMES_H

#include "backend/frames.h"
#include "op/op.h"

/* Items in host memory, as they come from a loader. */
typedef struct hd_frames_host {
    const float *value;    /* [sum of frames, bins], one item behind the other */
    const int32_t *frames; /* [items] */
    const int32_t *number; /* [items] in their set, for random draws; NULL: their place */
    size_t items, bins;
    bool grid; /* for fronts with convolutions: items are grids of one row, and the shape has all lengths */
} hd_frames_host;

/* Sends them, before anything of the step is captured. In a training step they are filled up, as tokens are.
   Returns the shape that a captured step has to mix in (op/replay.h), 0 on failure. *out lives as long as the
   step. */
uint64_t hd_frames_send(hd_run *r, hd_frames *out, const hd_frames_host *in);

#endif
