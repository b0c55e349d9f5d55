/* What recurrent language models carry from window to window in training: a state for each part of an update,
   and its place in checkpoints. */
#ifndef HD_TASK_LANGUAGE_CARRY_H
#define HD_TASK_LANGUAGE_CARRY_H

#include "task/language/language.h"
#include "train/optimizer.h"

typedef struct hd_carry {
    hd_run *run;
    size_t parts;
    hd_cache **state; /* [parts] */
    size_t *items;    /* [parts] windows of a part; a state may be filled up to more */
} hd_carry;

/* items: windows of each part, of `length` rows. */
hd_status hd_carry_init(hd_carry *c, hd_run *r, const hd_lm *m, const size_t *items, size_t parts,
                        size_t length, hd_err *err);
void hd_carry_release(hd_carry *c); /* accepts {0} */

/* Before every update: whether its windows go on from where the last ones ended, or begin anew. */
void hd_carry_go_on(hd_carry *c, bool on);
/* What the shape of a step depends on, once its windows are sent. */
uint64_t hd_carry_shape(hd_run *r, hd_carry *c, size_t part, const hd_seg *seg);

/* To keep the states in checkpoints. */
hd_beside hd_carry_beside(hd_carry *c);

#endif
