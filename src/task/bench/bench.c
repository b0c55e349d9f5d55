/* Benchmarks of whole training steps and searches. Sizes are those that peers are measured with: sentences
   all 32 tokens long on a GPU, a fraction of that work on a CPU. */
#include "task/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/system/clock.h"
#include "base/mem.h"
#include "decode/search.h"
#include "model/prepare.h"
#include "op/replay.h"
#include "task/bench/context.h"
#include "task/bench/decoder.h"
#include "task/bench/rows.h"
#include "task/bench/vectors.h"
#include "train/optimizer.h"

enum { WARM = 4, MOST_ROUNDS = 200, MOST_WRITTEN = 4096 };

typedef struct job {
    const spec *s;
    hd_backend *backend;
    hd_run run;
    hd_encdec *nmt;
    hd_gpt *gpt;
    hd_bench_pictures pictures;
    hd_bench_sounds sounds;
    hd_bench_features features;
    hd_bench_context context;
    hd_bench_vectors vectors;
    hd_optimizer optimizer;
    int32_t *len, *one, *ids[3]; /* one: lengths of prompts */
    struct {
        const hd_seg *seg;
        const int32_t *ids[3];
    } sent;
} job;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* -- one row -- */

static hd_status make_model(job *j, hd_err *err)
{
    const spec *s = j->s;
    bool training = s->work < DECODE;
    hd_status st;
    if (s->work == FEATURES) return hd_bench_features_make(&j->features, s->items, err);
    if (s->work == VECTORS)
        return hd_bench_vectors_make(&j->vectors, j->backend, s->layers, s->heads, s->width, s->vocab, err);
    if (s->pictures) {
        const hd_classifier_opt o = s->pictures();
        st = hd_bench_pictures_make(&j->pictures, j->backend, &o, s->items, err);
    } else if (s->sounds) {
        const hd_encdec_opt o = s->sounds();
        st = hd_bench_sounds_make(&j->sounds, j->backend, &o, s->items, s->length, err);
    } else if (s->work == TRAIN_GPT || s->work == DECODE_GPT) {
        const hd_gpt_opt o = hd_bench_decoder_opt(&(hd_bench_decoder){
            s->layers, s->heads, s->width, s->inner, s->vocab, s->seen ? s->seen + MOST_WRITTEN : s->length,
            s->relative, s->llama, s->experts, s->latent});
        st = hd_gpt_new(&j->gpt, j->backend, &o, training, err);
    } else {
        float drop = training ? 0.1f : 0;
        hd_encdec_opt o = {.encoder_layers = s->layers,
                           .decoder_layers = s->layers,
                           .stack.heads = s->heads,
                           .stack.width = s->width,
                           .stack.inner = s->inner,
                           .source_vocab = s->vocab,
                           .target_vocab = s->vocab,
                           .tied = true,
                           .stack.eps = 1e-5f,
                           .stack.act = HD_relu,
                           .stack.dropout = drop,
                           .stack.attention_dropout = drop,
                           .stack.inner_dropout = drop,
                           .positions = 512};
        if (s->reads && (st = hd_stages_read(&o.encoder, s->reads, err))) return st;
        st = hd_encdec_new(&j->nmt, j->backend, &o, training, err);
    }
    hd_params *p = st            ? NULL
                   : s->pictures ? j->pictures.model->params
                   : s->sounds   ? &j->sounds.model->params
                   : j->gpt      ? &j->gpt->params
                                 : &j->nmt->params;
    if (!st && !s->pictures && !s->sounds) st = hd_params_draw(p, 1, err);
    if (!st && training)
        st = hd_optimizer_init(&j->optimizer, p,
                               &(hd_optimizer_opt){.kind = HD_OPT_ADAMW, .decay = 0.01f, .clip = 1}, err);
    if (!st && s->work == DECODE) st = hd_encdec_prepare(j->nmt, HD_DECODING, err);
    if (!st && s->work == DECODE_GPT) st = hd_gpt_prepare(j->gpt, HD_DECODING, err);
    if (!st && s->seen) st = hd_bench_context_make(&j->context, &j->run, j->gpt, s->seen, err);
    return st;
}

static hd_status make_tokens(job *j, hd_err *err)
{
    const spec *s = j->s;
    size_t rows = s->items * s->length;
    hd_rng rng = hd_rng_make(1, 0);
    if (s->pictures || s->sounds || s->work == FEATURES) return HD_OK;
    j->len = hd_mem_array(s->items, sizeof *j->len);
    j->one = hd_mem_array(s->items, sizeof *j->one);
    if (!j->len || !j->one) return hd_err_nomem(err, s->items * sizeof *j->len);
    for (size_t i = 0; i < s->items; i++) j->len[i] = (int32_t)s->length, j->one[i] = 1;
    for (int k = 0; k < 3; k++) {
        j->ids[k] = hd_mem_array(rows, sizeof *j->ids[k]);
        if (!j->ids[k]) return hd_err_nomem(err, rows * sizeof *j->ids[k]);
        for (size_t i = 0; i < rows; i++) j->ids[k][i] = (int32_t)hd_rng_below(&rng, (uint32_t)s->vocab);
    }
    return HD_OK;
}

static hd_tensor *forward(job *j)
{
    hd_run *r = &j->run;
    hd_loss_opt loss = {.coef = 1, .smoothing = j->nmt ? 0.1f : 0};
    const hd_seg *seg = j->sent.seg;
    if (j->s->pictures) return hd_bench_pictures_loss(r, &j->pictures, 0.1f);
    if (j->s->sounds) return hd_bench_sounds_loss(r, &j->sounds, 0.1f);
    if (j->gpt)
        return hd_gpt_loss(r, j->gpt, hd_gpt_forward(r, j->gpt, j->sent.ids[0], seg, NULL), j->sent.ids[1],
                           &loss);
    hd_encoded memory = hd_encdec_encode(r, j->nmt, &(hd_items){.seg = seg, .ids = j->sent.ids[0]});
    return hd_encdec_loss(r, j->nmt, hd_encdec_decode(r, j->nmt, j->sent.ids[1], seg, memory, NULL),
                          j->sent.ids[2], &loss);
}

static void send(job *j)
{
    hd_run *r = &j->run;
    size_t rows = j->s->items * j->s->length;
    hd_bounds bounds = hd_bounds_now(r, j->len, j->s->items);
    j->sent.seg = hd_seg_within(r, j->len, j->s->items, NULL, bounds);
    for (int k = 0; k < 3; k++) j->sent.ids[k] = hd_ids_within(r, j->ids[k], rows, bounds.rows);
}

static void train(job *j)
{
    hd_run *r = &j->run;
    r->now.number++, r->now.rate = 1e-4f, r->now.weight = (double)(j->s->items * j->s->length);
    hd_run_begin(r, HD_TRAIN);
    if (j->s->sounds)
        hd_bench_sounds_send(r, &j->sounds);
    else if (!j->s->pictures)
        send(j);
    if (hd_replay(r, j->optimizer.serial, 0, NULL)) return;
    hd_capture(r, j->optimizer.serial, 0);
    hd_loss_put(r, forward(j));
    hd_backward(r);
    hd_optimizer_update(r, &j->optimizer);
    hd_captured(r, NULL);
}

static hd_status decode(job *j, hd_err *err)
{
    hd_stepper s = {0};
    hd_found *found = NULL;
    hd_search_opt o = {.kind = j->s->beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY,
                       .end = -1,
                       .max_length = j->s->length,
                       .unscored = true,
                       .beam = (size_t)j->s->beam};
    hd_status st = j->gpt ? hd_gpt_stepper(&s, j->gpt, j->ids[0], j->one, j->s->items, err)
                          : hd_encdec_stepper(&s, j->nmt, j->ids[0], j->len, j->s->items, 1, err);
    if (!st) st = hd_search(&found, &j->run, &s, &o, err);
    hd_found_free(found);
    hd_stepper_release(&s);
    return st;
}

/* An encoder over all words of a sentence. */
static hd_status read(job *j, hd_err *err)
{
    hd_run *r = &j->run;
    char first;
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, j->len, j->s->items, NULL);
    hd_tensor *y =
        hd_encdec_encode(r, j->nmt,
                         &(hd_items){.seg = seg, .ids = hd_ints(r, j->ids[0], j->s->items * j->s->length)})
            .rows.t;
    if (y && !r->err.status) j->backend->download(j->backend, &first, y->data, 1);
    if (r->err.status) return hd_err_set(err, r->err.status, "%s: %s", j->s->name, r->err.text);
    return j->backend->error[0] ? hd_err_set(err, HD_EDEVICE, "%s: %s", j->s->name, j->backend->error)
                                : HD_OK;
}

/* One step or search to its end. */
static hd_status once(job *j, hd_err *err)
{
    hd_step found;
    if (j->s->work == READ) return read(j, err);
    if (j->s->work == VECTORS)
        return hd_bench_vectors_run(&j->vectors, &j->run, j->ids[0], j->len, j->s->items, err);
    if (j->s->seen) return hd_bench_context_write(&j->context, &j->run, j->s->length, err);
    if (j->s->work == FEATURES) return hd_bench_features_run(&j->features, err);
    if (j->s->work >= DECODE) return decode(j, err);
    train(j);
    j->backend->download(j->backend, &found, j->run.block, sizeof found);
    if (j->run.err.status) return hd_err_set(err, j->run.err.status, "%s: %s", j->s->name, j->run.err.text);
    if (j->backend->error[0]) return hd_err_set(err, HD_EDEVICE, "%s: %s", j->s->name, j->backend->error);
    if (found.skip || !(found.loss > 0))
        return hd_err_set(err, HD_ENUMBER, "%s: the loss is no number", j->s->name);
    return HD_OK;
}

static double flops_of(const job *j)
{
    const spec *s = j->s;
    double n = (double)s->items, t = (double)s->length, passes = s->work < DECODE ? 3 : 1;
    if (s->pictures) return passes * hd_classifier_flops(j->pictures.model, n, 0);
    if (s->sounds) return passes * hd_encdec_flops(j->sounds.model, n, t, HD_BENCH_LETTERS + 1);
    if (s->work == FEATURES) return hd_bench_features_flops(&j->features);
    if (s->work == VECTORS) return hd_bench_vectors_flops(&j->vectors, n, t);
    if (s->work == READ) return hd_encoder_flops(&j->nmt->encoder, n, t);
    if (s->seen) return hd_gpt_flops(j->gpt, 1, s->seen + s->length) - hd_gpt_flops(j->gpt, 1, s->seen);
    if (j->gpt) return passes * hd_gpt_flops(j->gpt, s->items, s->length);
    return passes * hd_encdec_flops(j->nmt, n, t, t);
}

/* Where the time of one step goes, once everything is warm. */
static hd_status tell_kernels(job *j, const hd_bench_opt *opt, hd_err *err)
{
    hd_work by[HD_KERNELS];
    hd_status st = HD_OK;
    if (!opt->by_kernel || !j->backend->watch) return HD_OK;
    for (int i = 0; !st && i < 2;
         i++) { /* kernels that only ever ran in a captured step are loaded in the first */
        memset(by, 0, sizeof by);
        j->backend->watch(j->backend, by);
        st = once(j, err);
        j->backend->watch(j->backend, NULL);
    }
    for (int k = 0; !st && k < HD_KERNELS; k++)
        if (by[k].calls) st = opt->tell_kernel(opt->context, hd_kernel_names[k], &by[k], err);
    return st;
}

static hd_status measure(job *j, const hd_bench_opt *opt, hd_err *err)
{
    double t[MOST_ROUNDS], began = hd_seconds();
    hd_status st = HD_OK;
    for (int i = 0; !st && i < WARM; i++) st = once(j, err);
    double each = (hd_seconds() - began) / WARM;
    int rounds = opt->rounds ? opt->rounds : each > 1 ? 3 : each > 0.1 ? 10 : 20;
    if (rounds > MOST_ROUNDS) rounds = MOST_ROUNDS;
    for (int i = 0; !st && i < rounds; i++) {
        double start = hd_seconds();
        st = once(j, err);
        t[i] = hd_seconds() - start;
    }
    if (st) return st;
    qsort(t, (size_t)rounds, sizeof *t, by_size);
    hd_bench_row row = {.name = j->s->name,
                        .unit = j->s->pictures                           ? "images/s"
                                : j->s->sounds || j->s->work == FEATURES ? "frames/s"
                                                                         : "tokens/s",
                        .seconds = t[rounds / 2],
                        .memory = j->backend->peak};
    row.rate = (double)(j->s->items * j->s->length) / row.seconds;
    row.flops = flops_of(j) / row.seconds;
    st = opt->tell(opt->context, &row, err);
    return st ? st : tell_kernels(j, opt, err);
}

static hd_status run_row(hd_backend *b, const spec *s, const hd_bench_opt *opt, hd_err *err)
{
    job j = {.s = s, .backend = b};
    b->peak = b->used;
    hd_status st = hd_run_init(&j.run, b, err);
    j.run.captures = true;
    if (!st) st = make_model(&j, err);
    if (!st) st = make_tokens(&j, err);
    if (!st) st = measure(&j, opt, err);
    hd_optimizer_release(&j.optimizer);
    hd_encdec_free(j.nmt);
    hd_bench_context_release(&j.context);
    hd_gpt_free(j.gpt);
    hd_bench_pictures_release(&j.pictures);
    hd_bench_sounds_release(&j.sounds);
    hd_bench_features_release(&j.features);
    hd_bench_vectors_release(&j.vectors);
    hd_run_release(&j.run);
    hd_mem_free(j.len);
    hd_mem_free(j.one);
    for (int k = 0; k < 3; k++) hd_mem_free(j.ids[k]);
    return st;
}

/* -- all -- */

static bool is_wanted(const hd_backend *b, const spec *s, const char *only)
{
    return only ? strstr(s->name, only) != NULL : !s->gpu || b->capture;
}

bool hd_bench_trains(const char *only)
{
    bool trains = !only;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        trains |= only && strstr(specs[i].name, only) && specs[i].work != DECODE &&
                  specs[i].work != DECODE_GPT && specs[i].work != VECTORS;
    return trains;
}

hd_status hd_bench(hd_backend *b, const hd_bench_opt *opt, double *ceiling, hd_err *err)
{
    const size_t count = sizeof specs / sizeof *specs;
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) rows += is_wanted(b, &specs[i], opt->only);
    if (!rows) return hd_err_set(err, HD_EARG, "no row is called '%s'", opt->only);
    hd_status st = hd_bench_product(b, b->capture ? 8192 : 1024, 20, ceiling, err);
    for (size_t i = 0; !st && i < count; i++)
        if (is_wanted(b, &specs[i], opt->only)) st = run_row(b, &specs[i], opt, err);
    return st;
}
