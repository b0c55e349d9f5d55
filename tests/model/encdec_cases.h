/* Encoder-decoders of every kind, small: what tests of gradients, caches, searches and memory go through. */
#ifndef ENCDEC_CASES_H
#define ENCDEC_CASES_H

#include "model/toy.h"

typedef struct encdec_case {
    const char *name, *encoder, *decoder;
    hd_recurrent_decoder_opt r;
    hd_unary cell;                             /* of rnn; HD_IDENTITY: tanh */
    bool untied, reverse_source, pre_norm, t5; /* untied T5: gated, and the output apart */
} encdec_case;

#define MODEL(name_, encoder_, decoder_, ...)                                \
    {                                                                        \
        .name = name_, .encoder = encoder_, .decoder = decoder_, __VA_ARGS__ \
    }
#define LATE .query = HD_QUERY_current, .read = HD_READING_tanh
static const encdec_case encdec_cases[] = {
    MODEL("transformer", "transformer:1", "transformer:1"),
    /* what the encoder is */
    MODEL("no encoder", "none", "gru:1", .r = {.begin = HD_BEGINNING_map}),
    MODEL("rnn", "rnn:1", "rnn:1", .r = {.score = HD_SCORING_dot}),
    MODEL("gru", "gru:1", "gru:1"),
    MODEL("lstm", "lstm:1", "lstm:1", .r = {.read = HD_READING_tanh}),
    MODEL("sigmoid cells", "bi-rnn:1", "rnn:2", .r = {.read = HD_READING_tanh}, .cell = HD_sigmoid),
    MODEL("bi-rnn, rnn", "bi-rnn:1", "rnn:1", .r = {.score = HD_SCORING_bilinear}),
    MODEL("bi-gru, gru", "bi-gru:1", "gru:1", .r = {.read = HD_READING_deep}),
    MODEL("bi-lstm:2, lstm:2", "bi-lstm:2", "lstm:2", .r = {.read = HD_READING_deep}),
    MODEL("gru:3 of one direction, gru:2", "gru:3", "gru:2", .r = {.score = HD_SCORING_scaled}),
    MODEL("gru, lstm", "gru:1", "lstm:1", .untied = true),
    MODEL("bi-gru under blocks", "bi-gru:1+transformer:1", "gru:1", .r = {.begin = HD_BEGINNING_map}),
    MODEL("blocks under gru", "transformer:1+gru:1", "gru:1", .pre_norm = true),
    MODEL("conv, gru", "conv:2", "gru:1", .r = {.begin = HD_BEGINNING_map}),
    MODEL("conv under blocks", "conv5:1+transformer:1", "transformer:1", .pre_norm = true),
    MODEL("transformer, gru", "transformer:1", "gru:1", .r = {.begin = HD_BEGINNING_map}),
    MODEL("gru, gru under blocks", "gru:1", "gru:1+transformer:1", .untied = true),
    MODEL("bi-gru, lstm under blocks", "bi-gru:1", "lstm:1+transformer:1",
          .r = {.context = HD_CONTEXT_fixed}),
    MODEL("bi-gru, transformer", "bi-gru:1", "transformer:1"),
    MODEL("source in reverse", "lstm:2", "lstm:2", .r = {.context = HD_CONTEXT_fixed},
          .reverse_source = true),
    /* what the cells are told */
    MODEL("fixed", "gru:1", "gru:1", .r = {.context = HD_CONTEXT_fixed}),
    MODEL("everywhere", "bi-lstm:1", "lstm:2",
          .r = {.context = HD_CONTEXT_everywhere, .read = HD_READING_tanh}),
    MODEL("mean", "bi-gru:1", "gru:1", .r = {.context = HD_CONTEXT_mean, .read = HD_READING_deep}),
    MODEL("mean of no encoder", "none", "rnn:1",
          .r = {.context = HD_CONTEXT_mean, .begin = HD_BEGINNING_zeros}),
    /* scores, before the word and after the cell */
    MODEL("mlp", "gru:1", "gru:1", .r = {.score = HD_SCORING_mlp}),
    MODEL("late additive", "bi-gru:1", "gru:1", .r = {LATE}),
    MODEL("late dot", "gru:1", "gru:2", .r = {LATE, .score = HD_SCORING_dot}),
    MODEL("late scaled, projected", "bi-gru:1", "gru:1",
          .r = {LATE, .score = HD_SCORING_scaled, .project = true}),
    MODEL("late bilinear", "bi-lstm:1", "lstm:1", .r = {LATE, .score = HD_SCORING_bilinear}),
    MODEL("late mlp", "bi-gru:1", "gru:1", .r = {LATE, .score = HD_SCORING_mlp}),
    MODEL("local-m", "gru:1", "gru:1",
          .r = {.score = HD_SCORING_dot, .locality = HD_LOCALITY_MONOTONE, .window = 2}),
    MODEL("late local-m", "gru:1", "gru:1", .r = {LATE, .locality = HD_LOCALITY_MONOTONE, .window = 1}),
    MODEL("local-p", "bi-gru:1", "gru:1", .r = {.locality = HD_LOCALITY_PREDICTED, .window = 3}),
    MODEL("late local-p", "gru:1", "lstm:1",
          .r = {LATE, .score = HD_SCORING_dot, .locality = HD_LOCALITY_PREDICTED, .window = 2}),
    MODEL("two heads", "bi-gru:1", "gru:1", .r = {.heads = 2, .project = true}),
    MODEL("late, two heads", "gru:1", "gru:1", .r = {LATE, .heads = 2, .score = HD_SCORING_scaled}),
    /* beginnings */
    MODEL("begin: zeros", "gru:1", "lstm:2", .r = {.begin = HD_BEGINNING_zeros}),
    MODEL("begin: ones", "bi-gru:1", "lstm:1", .r = {.begin = HD_BEGINNING_ones}),
    MODEL("begin: learned", "bi-gru:1", "lstm:2", .r = {.begin = HD_BEGINNING_learned}),
    MODEL("begin: mean", "gru:1", "lstm:1", .r = {.begin = HD_BEGINNING_mean}),
    MODEL("begin: linear", "bi-gru:1", "gru:2", .r = {.begin = HD_BEGINNING_linear}),
    MODEL("begin: map", "bi-gru:1", "gru:2", .r = {.begin = HD_BEGINNING_map}),
    MODEL("begin: maps", "bi-gru:1", "gru:2", .r = {.begin = HD_BEGINNING_maps}),
    /* Show, Attend and Tell, and parts of it in other places */
    MODEL("show, attend and tell", "conv:1", "lstm:1",
          .r = {.begin = HD_BEGINNING_maps, .read = HD_READING_residual, .gate = true, .penalty = 0.7f},
          .untied = true),
    MODEL("late gate and penalty", "bi-gru:1", "lstm:2", .r = {LATE, .gate = true, .penalty = 1.5f}),
    MODEL("mlp, gate and penalty", "gru:1", "gru:1",
          .r = {.score = HD_SCORING_mlp, .gate = true, .penalty = 0.5f}),
    MODEL(
        "residual, fed back", "gru:1", "gru:1",
        .r = {.query = HD_QUERY_current, .read = HD_READING_residual, .feed_context = true, .penalty = 0.3f}),
    MODEL("in order", "bi-gru:1", "lstm:1", .r = {.order = 0.4f}),
    MODEL("late, in order", "gru:1", "gru:1", .r = {LATE, .score = HD_SCORING_dot, .order = 0.7f}),
    /* readings and what else enters */
    MODEL("sum and skips", "gru:1", "gru:3", .r = {.read = HD_READING_sum, .skips = true}),
    MODEL("late sum and skips", "gru:2", "rnn:2",
          .r = {.query = HD_QUERY_current, .read = HD_READING_sum, .skips = true}),
    MODEL("sum of fixed", "lstm:2", "lstm:2", .r = {.context = HD_CONTEXT_fixed, .read = HD_READING_sum}),
    MODEL("fed back", "gru:1", "gru:1", .r = {LATE, .feed_context = true, .score = HD_SCORING_dot}),
    MODEL("fed back, deep, two layers", "bi-lstm:1", "lstm:2",
          .r = {.query = HD_QUERY_current, .read = HD_READING_deep, .feed_context = true, .skips = true}),
    MODEL("relu", "gru:1", "gru:1", .r = {.relu = true, .context = HD_CONTEXT_fixed}, .untied = true),
    MODEL("no feedback", "gru:1", "gru:1", .r = {.no_feedback = true}, .untied = true),
    /* blocks with other options */
    MODEL("t5", "transformer:2", "transformer:2", .t5 = true),
    MODEL("t5, gated", "transformer:1", "transformer:2", .t5 = true, .untied = true),
};

/* Heads are not parts of the width; some words are farther apart than the table reaches. */
CHECK_UNUSED static hd_encdec_opt encdec_opt_t5(const encdec_case *c)
{
    hd_encdec_opt o = hd_encdec_opt_t5();
    o.source_vocab = o.target_vocab = TOY_VOCAB;
    o.stack.eps = 1e-6f, o.stack.head_width = 3, o.stack.relative = (hd_relative){.buckets = 8, .reach = 6};
    o.stack.gated = o.own_output = o.stack.recompute = c->untied, o.scaled_output = !c->untied;
    o.stack.act = c->untied ? HD_gelu_tanh : HD_gelu; /* relu has a corner, which differences do not like */
    return o;
}

CHECK_UNUSED static hd_encdec_opt encdec_opt(const encdec_case *c)
{
    hd_encdec_opt o = c->t5 ? encdec_opt_t5(c) : toy_opt();
    hd_err err = {0};
    if (hd_stages_read(&o.encoder, c->encoder, &err) || hd_stages_read(&o.decoder, c->decoder, &err))
        fail_msg("%s: %s", c->name, err.text);
    o.stack.width = 8, o.stack.inner = 12, o.stack.heads = 2, o.positions = 32;
    if (c->t5) return o;
    o.recurrent = c->r, o.cell = c->cell, o.tied = !c->untied, o.reverse_source = c->reverse_source,
    o.stack.pre_norm = c->pre_norm;
    o.output_bias = true, o.stack.act = HD_gelu;
    return o;
}

/* Open for as long as the test lasts. Weights are such that everything has a say. */
CHECK_UNUSED static void encdec_open(toy *m, const hd_encdec_opt *o, int threads)
{
    toy_open(m, threads, o, NULL, NULL);
    stir(m->params);
    for (size_t i = 0; i < m->params->trainable; i++) m->params->value[i] *= (hd_real)1.5;
}

#endif
