/* Small language models of every kind and a small text, for their tests. */
#ifndef LM_TOY_H
#define LM_TOY_H

#include "check.h"
#include "model/lm/lm.h"
#include "model/stir.h"
#include "train/optimizer.h"

enum { LM_UNK = 1, LM_START = 2, LM_END = 3, LM_VOCAB = 11, LM_TEXT = 48, LM_ITEMS = 4 };

/* Any token of the vocabulary but the first three, at random. */
CHECK_UNUSED static void lm_text(int32_t *ids, size_t n, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 5);
    for (size_t i = 0; i < n; i++) ids[i] = LM_END + (int32_t)hd_rng_below(&rng, LM_VOCAB - LM_END);
}

CHECK_UNUSED static hd_lm_opt lm_opt(hd_lm_kind kind)
{
    const bool llama = kind >= HD_LM_llama; /* and its kin */
    const hd_experts_opt experts = {.count = 4, .used = 2, .shared = 1, .inner = 8, .normalized = true};
    return (hd_lm_opt){.stack.pre_norm = true,
                       .stack.rms = llama,
                       .stack.experts = kind == HD_LM_moe ? experts : (hd_experts_opt){0},
                       .stack.gated = llama,
                       .stack.unbiased = llama,
                       .stack.kv_heads = llama,
                       .stack.rotary.kind = llama ? HD_ROTARY_HALVES : HD_ROTARY_NONE,
                       .kind = kind,
                       .vocab = LM_VOCAB,
                       .start = LM_START,
                       .end = LM_END,
                       .unk = LM_UNK,
                       .order = 3,
                       .smoothing = HD_SMOOTHING_KNESER_NEY,
                       .buckets = 97,
                       .stack.layers = 2,
                       .stack.heads = 2,
                       .stack.width = 16,
                       .context = LM_TEXT};
}

typedef struct lm_toy {
    hd_backend *backend;
    hd_run run;
    hd_lm *m;
    hd_optimizer optimizer;
} lm_toy;

/* Lives where it was opened. Drawn and stirred, or counted from a random text. */
CHECK_UNUSED static void lm_open_on(lm_toy *t, const hd_lm_opt *o, hd_backend *backend, bool training)
{
    hd_err err = {0};
    int32_t text[400];
    *t = (lm_toy){.backend = backend};
    t->run = run_on(t->backend);
    if (hd_lm_new(&t->m, o, t->backend, training, &err)) fail_msg("%s", err.text);
    if (t->m->params) {
        if (hd_params_draw(t->m->params, 1, &err)) fail_msg("%s", err.text);
        stir(t->m->params);
        return;
    }
    lm_text(text, COUNT_OF(text), 77);
    if (t->m->type->lm.count(t->m, text, COUNT_OF(text), &err)) fail_msg("%s", err.text);
}

CHECK_UNUSED static void lm_open(lm_toy *t, const hd_lm_opt *o, int threads, bool training)
{
    lm_open_on(t, o, backend_of("cpu", threads), training);
}

CHECK_UNUSED static void lm_close(lm_toy *t)
{
    hd_optimizer_release(&t->optimizer);
    hd_lm_free(t->m);
    hd_run_release(&t->run);
    hd_backend_free(t->backend);
}

/* Windows of one text: item i predicts len[i] tokens from text[from[i]] on. */
typedef struct lm_windows {
    size_t items;
    size_t from[LM_ITEMS];
    int32_t len[LM_ITEMS];
} lm_windows;

/* Sends them, as the task does. */
CHECK_UNUSED static hd_lm_batch lm_batch(lm_toy *t, const int32_t *text, size_t count, const lm_windows *w)
{
    size_t rows = 0, at = 0, back = (size_t)t->m->opt.order - 1;
    for (size_t i = 0; i < w->items; i++) rows += (size_t)w->len[i];
    int32_t *ids = calloc(rows, sizeof *ids), *target = calloc(rows, sizeof *target),
            *before = calloc(rows * back + 1, sizeof *before), *one = calloc(back + 1, sizeof *one);
    for (size_t i = 0; i < w->items; i++)
        for (size_t j = w->from[i]; j < w->from[i] + (size_t)w->len[i]; j++, at++) {
            ids[at] = j ? text[j - 1] : LM_START;
            target[at] = text[j];
            if (t->m->type->lm.looks_back) hd_lm_features(t->m, text, count, j, one);
            for (size_t k = 0; k < back; k++) before[k * rows + at] = one[k];
        }
    hd_lm_batch b = {.seg = hd_seg_of(&t->run, w->len, w->items, NULL),
                     .ids = hd_ints(&t->run, ids, rows),
                     .target = hd_ints(&t->run, target, rows)};
    if (t->m->type->lm.looks_back) b.before = hd_ints(&t->run, before, rows * back);
    free(ids), free(target), free(before), free(one);
    return b;
}

CHECK_UNUSED static hd_tensor *lm_loss(lm_toy *t, const int32_t *text, size_t count, const lm_windows *w,
                                       hd_cache *state)
{
    hd_lm_batch b = lm_batch(t, text, count, w);
    return t->m->type->lm.loss(&t->run, t->m, &b, state, &(hd_loss_opt){.coef = 1});
}

/* The losses of all rows; the caller frees them. */
CHECK_UNUSED static hd_real *lm_losses(lm_toy *t, const int32_t *text, size_t count, const lm_windows *w,
                                       hd_cache *state)
{
    hd_run_begin(&t->run, HD_INFERENCE);
    return host_copy(&t->run, lm_loss(t, text, count, w, state));
}

#endif
