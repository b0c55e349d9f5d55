/* Connectionist temporal classification (Graves et al. 2006): the probability of labels over frames when
   every frame says a label or a blank, a label may go on for some frames, and nobody knows where each begins.
   The U labels of an item are walked through as 2U+1 states: blank, label, blank, ..., label, blank. */
#ifndef HD_BACKEND_CTC_H
#define HD_BACKEND_CTC_H

#include "backend/segment.h"
#include "tensor/tensor.h"

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

#define HD_CTC_NONE (-1e30f) /* the logarithm of nothing: no infinity, so that differences stay numbers */

/* Labels beside frames. forward [R, 2 * labels->longest + 1]: the logarithms of the beginnings of all paths
   that end in a state, less the largest of the frame; lse [R,1]: of the frame's logits. */
typedef struct hd_alignment {
    const hd_tensor *x, *forward, *lse; /* x [R, V]: logits of the frames of seg */
    const hd_seg *seg, *labels;         /* frames and labels of the items */
    const int32_t *label;               /* of all items, as `labels` says */
    int32_t blank;                      /* the column that is no label */
    const hd_tensor *weight;            /* [items,1] or NULL: 1 */
} hd_alignment;

/* Writes forward and lse; loss = weight * -ln p(labels), logp = ln p: [items,1], logp may be NULL. Items that
   hd_ctc_fits refuses are left out: their loss is 0 and their logp -infinity. */
typedef struct hd_ctc_args {
    const hd_tensor *loss, *logp;
    hd_alignment of;
} hd_ctc_args;

/* dx += coef * gradient; forward becomes the probability of each state. */
typedef struct hd_ctc_back_args {
    const hd_tensor *dx;
    hd_alignment of;
    float coef;
} hd_ctc_back_args;

/* Frames that labels need at least: one each, and one for the blank between equal neighbors. */
HD_BOTH static inline size_t hd_ctc_frames(const int32_t *label, size_t count)
{
    size_t frames = count;
    for (size_t u = 1; u < count; u++) frames += label[u] == label[u - 1];
    return frames;
}

/* Whether some path of so many frames says these labels; all must be columns and not the blank. */
HD_BOTH static inline bool hd_ctc_fits(const int32_t *label, size_t count, size_t frames, size_t classes,
                                       int32_t blank)
{
    for (size_t u = 0; u < count; u++)
        if (label[u] < 0 || (size_t)label[u] >= classes || label[u] == blank) return false;
    return hd_ctc_frames(label, count) <= frames;
}

/* States from which the last can still be reached in frame t of `frames`, and which the first can have
   reached: low <= s < high. */
HD_BOTH static inline size_t hd_ctc_low(size_t t, size_t frames, size_t states)
{
    size_t reach = 2 * (frames - t);
    return states > reach ? states - reach : 0;
}
HD_BOTH static inline size_t hd_ctc_high(size_t t, size_t states)
{
    return 2 * (t + 1) < states ? 2 * (t + 1) : states;
}

#endif
