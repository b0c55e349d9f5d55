/* A tower of blocks that learns to turn sentences round, with a part of every block switched off. */
#ifndef HD_LAB_ATTENTION_TOWER_H
#define HD_LAB_ATTENTION_TOWER_H

#include "op/run.h"

enum { HD_TOWER_BLOCKS = 3, HD_TOWER_WORDS = 8 };

typedef struct hd_tower_opt {
    bool no_residual, no_norm, no_inner;
    int updates;
} hd_tower_opt;

/* Every word is to become the one that stands as far from the other end. *last: the loss of the last updates,
   nats a word. */
hd_status hd_tower_learn(double *last, hd_run *r, const hd_tower_opt *o, uint64_t seed, hd_err *err);

#endif
