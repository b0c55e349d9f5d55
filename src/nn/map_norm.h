/* The norms of feature maps, whose rows are cells of a grid: batch norm, live or frozen, and group norm. */
#ifndef HD_NN_MAP_NORM_H
#define HD_NN_MAP_NORM_H

#include "nn/param.h"
#include "op/op.h"

/* X(name): as options and config.json call it.
   batch: statistics of the batch while training, running ones in inference;
   frozen: those of the file, and nothing of it is learned;
   group: statistics of each picture by itself */
#define HD_MAP_NORM_LIST(X) X(batch) X(frozen) X(group)
typedef enum hd_map_norm_kind {
#define X(name) HD_MAP_NORM_##name,
    HD_MAP_NORM_LIST(X)
#undef X
        HD_MAP_NORMS
} hd_map_norm_kind;
extern const char *const hd_map_norm_names[HD_MAP_NORMS + 1]; /* in that order; ends with NULL */

typedef struct hd_map_norm {
    hd_map_norm_kind kind;
    hd_param *gain, *bias, *mean, *variance; /* [width]; mean, variance: not of group norm */
    int groups;
    float eps;
} hd_map_norm;

/* NAME.weight, .bias, .running_mean, .running_var. Group norm has the groups that GROUPS says, fewer where
   the width is no multiple. */
enum { HD_MAP_NORM_GROUPS = 32 };
hd_map_norm hd_map_norm_make(hd_params *p, size_t width, hd_map_norm_kind kind, const char *name);
/* act(norm(x) + add); add NULL: nothing. */
hd_rows hd_map_norm_of(hd_run *r, const hd_map_norm *n, hd_rows x, hd_tensor *add, hd_unary act);

/* Moves the scale of a batch norm into the weight [width, ...] of the layer before it, in inference: what is
   left of the norm adds a bias (mean 0, variance 1). The result of both together stays the same up to
   rounding. */
hd_status hd_map_norm_fold(hd_params *p, const hd_map_norm *n, hd_param *weight, hd_err *err);

#endif
