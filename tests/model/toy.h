/* Small models and the copy task, for tests of models, caches and training. What an item holds depends on its
   key alone, so that a batch can be composed, reordered and cut in pieces at will. */
#ifndef TOY_H
#define TOY_H

#include "check.h"
#include "model/lm/gpt.h"
#include "model/encdec/encdec.h"
#include "model/stir.h"
#include "train/optimizer.h"

enum {
    TOY_VOCAB = 13,
    TOY_ITEMS = 32,
    TOY_LONGEST = 9,
    TOY_ROWS = TOY_ITEMS * (TOY_LONGEST + 1),
    TOY_BEGIN = 1,
    TOY_END = 2
};

/* Copy the source: source s1..sn END, input BEGIN s1..sn, target s1..sn END. Language models read input and
 * target alone. */
typedef struct toy_batch {
    size_t items, source_rows, target_rows;
    int32_t key[TOY_ITEMS], source_len[TOY_ITEMS], target_len[TOY_ITEMS];
    int32_t source[TOY_ROWS], input[TOY_ROWS], target[TOY_ROWS];
} toy_batch;

CHECK_UNUSED static void toy_add(toy_batch *b, int32_t key)
{
    hd_rng rng = hd_rng_make(77, (uint64_t)key);
    int32_t n = 2 + (int32_t)hd_rng_below(&rng, TOY_LONGEST - 2), word[TOY_LONGEST];
    size_t i = b->items++;
    for (int32_t j = 0; j < n; j++) word[j] = 3 + (int32_t)hd_rng_below(&rng, TOY_VOCAB - 3);
    b->key[i] = key;
    b->source_len[i] = n + 1, b->target_len[i] = n + 1;
    for (int32_t j = 0; j <= n; j++) {
        b->source[b->source_rows++] = j < n ? word[j] : TOY_END;
        b->input[b->target_rows] = j ? word[j - 1] : TOY_BEGIN;
        b->target[b->target_rows++] = j < n ? word[j] : TOY_END;
    }
}

/* Items of keys first .. first+count-1. */
CHECK_UNUSED static toy_batch toy_range(int32_t first, int32_t count)
{
    toy_batch b = {0};
    for (int32_t i = 0; i < count; i++) toy_add(&b, first + i);
    return b;
}

CHECK_UNUSED static hd_encdec_opt toy_opt(void)
{
    return (hd_encdec_opt){.encoder_layers = 2,
                           .decoder_layers = 2,
                           .stack.heads = 4,
                           .stack.width = 32,
                           .stack.inner = 64,
                           .source_vocab = TOY_VOCAB,
                           .target_vocab = TOY_VOCAB,
                           .tied = true,
                           .stack.eps = 1e-5f,
                           .stack.act = HD_relu,
                           .positions = 64,
                           .sinusoid = {.halves = true}};
}

CHECK_UNUSED static hd_gpt_opt toy_gpt_opt(void)
{
    return (hd_gpt_opt){.stack.pre_norm = true,
                        .stack.layers = 2,
                        .stack.heads = 4,
                        .stack.width = 32,
                        .vocab = TOY_VOCAB,
                        .positions = 64,
                        .stack.eps = 1e-5f,
                        .stack.act = HD_gelu_tanh};
}

CHECK_UNUSED static hd_encdec *toy_transformer(hd_backend *b, const hd_encdec_opt *opt, bool training)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    if (hd_encdec_new(&m, b, opt, training, &err) || hd_params_draw(&m->params, 1, &err))
        fail_msg("%s", err.text);
    return m;
}

CHECK_UNUSED static hd_gpt *toy_gpt(hd_backend *b, const hd_gpt_opt *opt, bool training)
{
    hd_err err = {0};
    hd_gpt *m = NULL;
    if (hd_gpt_new(&m, b, opt, training, &err) || hd_params_draw(&m->params, 1, &err))
        fail_msg("%s", err.text);
    return m;
}

/* A model of either kind with all it needs to run and train. Lives where it was opened: the optimizer keeps
 * the address of the parameters. */
typedef struct toy {
    hd_backend *backend;
    hd_run run;
    hd_encdec *t; /* one of the two */
    hd_gpt *g;
    hd_params *params;
    hd_optimizer optimizer;
} toy;

CHECK_UNUSED static void toy_open_on(toy *m, const char *backend, int threads, const hd_encdec_opt *t,
                                     const hd_gpt_opt *g, const hd_optimizer_opt *o)
{
    hd_err err = {0};
    *m = (toy){.backend = backend_of(backend, threads)};
    m->run = run_on(m->backend);
    if (t)
        m->t = toy_transformer(m->backend, t, true), m->params = &m->t->params;
    else
        m->g = toy_gpt(m->backend, g, true), m->params = &m->g->params;
    if (o && hd_optimizer_init(&m->optimizer, m->params, o, &err)) fail_msg("%s", err.text);
}

CHECK_UNUSED static void toy_open(toy *m, int threads, const hd_encdec_opt *t, const hd_gpt_opt *g,
                                  const hd_optimizer_opt *o)
{
    toy_open_on(m, "cpu", threads, t, g, o);
}

CHECK_UNUSED static void toy_close(toy *m)
{
    hd_optimizer_release(&m->optimizer);
    hd_encdec_free(m->t);
    hd_gpt_free(m->g);
    hd_run_release(&m->run);
    hd_backend_free(m->backend);
}

CHECK_UNUSED static hd_encoded toy_encode(toy *m, const toy_batch *b)
{
    hd_run *r = &m->run;
    return hd_encdec_encode(r, m->t,
                            &(hd_items){.seg = hd_seg_of(r, b->source_len, b->items, b->key),
                                        .ids = hd_ints(r, b->source, b->source_rows)});
}

/* Rows of the decoder before the output layer. */
CHECK_UNUSED static hd_rows toy_rows(toy *m, const toy_batch *b)
{
    hd_run *r = &m->run;
    hd_encoded memory = m->t ? toy_encode(m, b) : (hd_encoded){0};
    hd_seg *seg = hd_seg_of(r, b->target_len, b->items, b->key);
    const int32_t *ids = hd_ints(r, b->input, b->target_rows);
    return m->t ? hd_encdec_decode(r, m->t, ids, seg, memory, NULL) : hd_gpt_forward(r, m->g, ids, seg, NULL);
}

CHECK_UNUSED static hd_tensor *toy_loss(toy *m, const toy_batch *b, float smoothing)
{
    hd_rows y = toy_rows(m, b);
    const int32_t *target = hd_ints(&m->run, b->target, b->target_rows);
    hd_loss_opt o = {.coef = 1, .smoothing = smoothing};
    return m->t ? hd_encdec_loss(&m->run, m->t, y, target, &o) : hd_gpt_loss(&m->run, m->g, y, target, &o);
}

/* Logits [target rows, vocabulary] of a step without dropout; the caller frees them. */
CHECK_UNUSED static hd_real *toy_logits(toy *m, const toy_batch *b)
{
    hd_run_begin(&m->run, HD_INFERENCE);
    hd_rows y = toy_rows(m, b);
    return host_copy(&m->run, m->t ? hd_encdec_logits(&m->run, m->t, y) : hd_gpt_logits(&m->run, m->g, y));
}

/* Forward and backward of training step `number`: gradients are added up, the sum of the losses returned. */
CHECK_UNUSED static double toy_back(toy *m, const toy_batch *b, float smoothing, uint32_t number)
{
    m->run.now.number = number;
    hd_run_begin(&m->run, HD_TRAIN);
    double loss = hd_loss_total(&m->run, toy_loss(m, b, smoothing));
    hd_backward(&m->run);
    assert_run_ok(&m->run);
    return loss;
}

/* One training step; the mean loss. */
CHECK_UNUSED static double toy_step(toy *m, const toy_batch *b, float smoothing, double rate, uint32_t number)
{
    double loss = toy_back(m, b, smoothing, number);
    hd_optimizer_step(&m->run, &m->optimizer, rate, (double)b->target_rows, NULL, NULL);
    assert_run_ok(&m->run);
    return loss / (double)b->target_rows;
}

CHECK_UNUSED static hd_real *toy_copy(const toy *m, const hd_real *flat)
{
    size_t bytes = m->params->trainable * sizeof(hd_real);
    hd_real *x = malloc(bytes);
    m->backend->download(m->backend, x, flat, bytes);
    return x;
}

#endif
