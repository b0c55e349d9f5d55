/* A small BERT and items for it, for tests of its values and gradients. Include after check.h. */
#ifndef BERT_TOY_H
#define BERT_TOY_H

#include "model/encoder/bert.h"
#include "model/stir.h"

enum { BT_VOCAB = 17, BT_WIDTH = 12, BT_ITEMS = 3, BT_ROWS = 12, BT_ASKED = 5 };

static const int32_t bt_len[BT_ITEMS] = {5, 4, 3};
static const int32_t bt_ids[BT_ROWS] = {2, 7, 16, 9, 3, 2, 16, 5, 3, 2, 11, 16};
static const int32_t bt_type[BT_ROWS] = {0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1};
static const int32_t bt_place[BT_ASKED] = {2, 6, 7, 11, 1};
static const int32_t bt_target[BT_ASKED] = {8, 4, 5, 13, 10};

typedef struct bert_toy {
    hd_backend *backend;
    hd_run run;
    hd_bert *m;
} bert_toy;

CHECK_UNUSED static hd_bert_opt bt_opt(void)
{
    return (hd_bert_opt){.stack.layers = 2,
                         .stack.heads = 3,
                         .stack.width = BT_WIDTH,
                         .stack.inner = 20,
                         .vocab = BT_VOCAB,
                         .positions = 9};
}

/* Gains of 1, biases of 0 and vectors of length 0.02 hide mistakes: all parameters are drawn here. */
CHECK_UNUSED static void bt_open_on(bert_toy *t, const hd_bert_opt *o, hd_backend *backend)
{
    hd_err err = {0};
    *t = (bert_toy){.backend = backend};
    t->run = run_on(t->backend);
    if (hd_bert_new(&t->m, t->backend, o, true, &err)) fail_msg("%s", err.text);
    stir_all(&t->m->params);
}

CHECK_UNUSED static void bt_open(bert_toy *t, const hd_bert_opt *o, int threads)
{
    bt_open_on(t, o, backend_of("cpu", threads));
}

CHECK_UNUSED static void bt_close(bert_toy *t)
{
    hd_bert_free(t->m);
    hd_run_release(&t->run);
    hd_backend_free(t->backend);
}

/* The items, in a step that has begun. */
CHECK_UNUSED static hd_bert_batch bt_batch(hd_run *r, const int32_t *ids)
{
    return (hd_bert_batch){.seg = hd_seg_of(r, bt_len, BT_ITEMS, NULL),
                           .ids = hd_ints(r, ids, BT_ROWS),
                           .type = hd_ints(r, bt_type, BT_ROWS),
                           .place = hd_ints(r, bt_place, BT_ASKED),
                           .target = hd_ints(r, bt_target, BT_ASKED),
                           .count = BT_ASKED};
}

#endif
