/* Steps that are captured once for each shape and then replayed, if the backend can: the host no longer
   calls the kernels one by one. What changes from step to step must lie in backend memory before: the step
   block, and whatever was sent after hd_run_begin. That must lie at the same addresses for one shape: where
   the order or the sizes of what is sent can differ, the shape has to tell.

       hd_run_begin(r, mode);
       ... send the batch ...
       if (!hd_replay(r, owner, shape, &y)) {
           hd_capture(r, owner, shape);
           y = ... ops, no transfers ...
           hd_captured(r, y);
       }

   `owner` is the serial number (base/serial.h) of what the step reads beside that: a model's parameters, or
   the optimizer that changes them. Addresses would not do: the next model may lie where this one was. When an
   owner is released, its steps are dropped (hd_backend_gone). */
#ifndef HD_OP_REPLAY_H
#define HD_OP_REPLAY_H

#include "op/run.h"

/* Whether steps can be captured: not with a probe or factors of heads, and where the backend does not. */
bool hd_can_capture(const hd_run *r);
/* True: the step was captured before and runs now; *result (which may be NULL) gets what it was captured
   with. */
bool hd_replay(hd_run *r, uint64_t owner, uint64_t shape, hd_tensor **result);
/* Begins to capture, from the second time on that a shape comes. A failure stays in the run. */
void hd_capture(hd_run *r, uint64_t owner, uint64_t shape);
/* Ends what hd_capture began, if it did, and runs it. result, which may be NULL, lives in step memory. */
void hd_captured(hd_run *r, const hd_tensor *result);
void hd_graphs_free(hd_run *r);

/* Numbers that tell shapes apart, one after the other. */
static inline uint64_t hd_shape_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

/* The shape of a batch that is filled up: also whether there was something to fill. */
static inline uint64_t hd_shape_of(hd_bounds b, size_t live)
{
    return hd_shape_mix(hd_shape_mix(hd_shape_mix(b.items, b.rows), b.longest), live == b.rows);
}

/* The same for a batch of pictures, or of other grids: what windows give depends on all sizes ([items, 2] in
   host memory). */
static inline uint64_t hd_shape_of_sizes(const int32_t *size, size_t items)
{
    uint64_t shape = items;
    for (size_t i = 0; i < 2 * items; i++) shape = hd_shape_mix(shape, (uint64_t)size[i]);
    return shape;
}

#endif
