/* Times full training steps on random tokens or pictures: bench_step tiny|base|rnn|gpt|vit THREADS STEPS
   [f32|bf16].
   Prints one line that bench/run reads: median seconds, tokens/s, GFLOP/s, peak memory in MiB. The sizes are
   those of the peers' scripts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "model/lm/gpt.h"
#include "model/encdec/encdec.h"
#include "task/bench/pictures.h"
#include "train/optimizer.h"

enum { MOST_STEPS = 1000, WARM = 3, MOST_ITEMS = 128 };

typedef struct job {
    hd_run run;
    hd_encdec *nmt;
    hd_gpt *gpt;
    hd_bench_pictures pictures;
    hd_optimizer opt;
    size_t items, length, vocab;
    double flops; /* of a forward pass */
    int32_t len[MOST_ITEMS], *ids[3];
} job;

static bool stop(const char *text)
{
    fprintf(stderr, "bench_step: %s\n", text);
    return false;
}

static bool setup_nmt(job *j, bool base, hd_err *err)
{
    hd_encdec_opt o = {.encoder_layers = base ? 6 : 4,
                       .decoder_layers = base ? 6 : 4,
                       .stack.heads = base ? 8 : 4,
                       .stack.width = base ? 512 : 128,
                       .stack.inner = base ? 2048 : 256,
                       .source_vocab = base ? 16000 : 8000,
                       .target_vocab = base ? 16000 : 8000,
                       .tied = true,
                       .stack.eps = 1e-5f,
                       .stack.act = HD_relu,
                       .stack.dropout = 0.1f,
                       .stack.attention_dropout = 0.1f,
                       .stack.inner_dropout = 0.1f,
                       .positions = 512};
    j->items = base ? 40 : 100, j->length = base ? 25 : 20, j->vocab = o.target_vocab;
    if (hd_encdec_new(&j->nmt, j->run.backend, &o, true, err) || hd_params_draw(&j->nmt->params, 1, err))
        return false;
    j->flops = hd_encdec_flops(j->nmt, (double)j->items, (double)j->length, (double)j->length);
    return !hd_optimizer_init(&j->opt, &j->nmt->params, &(hd_optimizer_opt){.kind = HD_OPT_ADAM}, err);
}

/* Bahdanau's: both directions, attention before every word, an output layer that reads state, context and
   token. */
static bool setup_rnn(job *j, hd_err *err)
{
    hd_encdec_opt o = {.stack.width = 512,
                       .stack.inner = 1,
                       .source_vocab = 8000,
                       .target_vocab = 8000,
                       .output_bias = true,
                       .positions = 512,
                       .stack.dropout = 0.1f,
                       .recurrent = {.read = HD_READING_deep}};
    j->items = 64, j->length = 15, j->vocab = o.target_vocab;
    if (hd_stages_read(&o.encoder, "bi-gru:1", err) || hd_stages_read(&o.decoder, "gru:1", err) ||
        hd_encdec_new(&j->nmt, j->run.backend, &o, true, err) || hd_params_draw(&j->nmt->params, 1, err))
        return false;
    j->flops = hd_encdec_flops(j->nmt, (double)j->items, (double)j->length, (double)j->length);
    return !hd_optimizer_init(&j->opt, &j->nmt->params, &(hd_optimizer_opt){.kind = HD_OPT_ADAM}, err);
}

static bool setup_gpt(job *j, hd_err *err)
{
    hd_gpt_opt o = {.stack.pre_norm = true,
                    .stack.layers = 4,
                    .stack.heads = 4,
                    .stack.width = 128,
                    .vocab = 65,
                    .positions = 64,
                    .stack.eps = 1e-5f,
                    .stack.act = HD_gelu};
    j->items = 12, j->length = 64, j->vocab = o.vocab;
    if (hd_gpt_new(&j->gpt, j->run.backend, &o, true, err) || hd_params_draw(&j->gpt->params, 1, err))
        return false;
    j->flops = hd_gpt_flops(j->gpt, j->items, j->length);
    return !hd_optimizer_init(
        &j->opt, &j->gpt->params,
        &(hd_optimizer_opt){
            .kind = HD_OPT_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .decay = 0.1f, .clip = 1},
        err);
}

/* Pictures a second instead of tokens. */
static bool setup_vit(job *j, hd_err *err)
{
    const hd_classifier_opt o = hd_bench_vit_lite();
    j->items = 128, j->length = 1, j->vocab = o.classes;
    if (hd_bench_pictures_make(&j->pictures, j->run.backend, &o, j->items, err)) return false;
    j->flops = hd_classifier_flops(j->pictures.model, (double)j->items, 0);
    return !hd_optimizer_init(&j->opt, j->pictures.model->params,
                              &(hd_optimizer_opt){.kind = HD_OPT_ADAMW, .decay = 0.05f, .clip = 1}, err);
}

static double step(job *j)
{
    hd_run *r = &j->run;
    size_t rows = j->items * j->length;
    hd_loss_opt loss = {.coef = 1, .smoothing = j->nmt ? 0.1f : 0};
    r->now.number++;
    hd_run_begin(r, HD_TRAIN);
    const hd_seg *seg = hd_seg_of(r, j->len, j->items, NULL);
    const int32_t *a = hd_ints(r, j->ids[0], rows), *b = hd_ints(r, j->ids[1], rows),
                  *c = hd_ints(r, j->ids[2], rows);
    hd_tensor *l =
        j->pictures.model ? hd_bench_pictures_loss(r, &j->pictures, 0.1f)
        : j->gpt          ? hd_gpt_loss(r, j->gpt, hd_gpt_forward(r, j->gpt, a, seg, NULL), b, &loss)
                          : hd_encdec_loss(
                                r, j->nmt,
                                hd_encdec_decode(r, j->nmt, b, seg,
                                                 hd_encdec_encode(r, j->nmt, &(hd_items){.seg = seg, .ids = a}), NULL),
                                c, &loss);
    double total = hd_loss_total(r, l) / (double)rows;
    hd_backward(r);
    hd_optimizer_step(r, &j->opt, 1e-4, (double)rows, NULL, NULL);
    return total;
}

static bool make_tokens(job *j)
{
    srand(1);
    for (size_t i = 0; i < j->items; i++) j->len[i] = (int32_t)j->length;
    for (int k = 0; k < 3; k++) {
        j->ids[k] = malloc(j->items * j->length * sizeof(int32_t));
        if (!j->ids[k]) return false;
        for (size_t i = 0; i < j->items * j->length; i++) j->ids[k][i] = (int32_t)((size_t)rand() % j->vocab);
    }
    return true;
}

int main(int argc, char **argv)
{
    static job j;
    static double t[MOST_STEPS];
    hd_err err = {0};
    hd_backend *backend;
    if (argc != 4 && argc != 5)
        return stop("usage: bench_step tiny|base|rnn|gpt|vit THREADS STEPS [f32|bf16]"), 2;
    int steps = atoi(argv[3]);
    if (steps < 1 || steps > MOST_STEPS) return stop("between 1 and 1000 steps"), 2;
    hd_backend_opt opt = {.threads = atoi(argv[2]), .training = true};
    if (argc == 5 && !strcmp(argv[4], "bf16")) opt.precision = HD_PRECISION_BF16;
    if (hd_backend_new(&backend, "cpu", &opt, &err) || hd_run_init(&j.run, backend, &err))
        return stop(err.text), 1;
    bool ok = !strcmp(argv[1], "gpt")   ? setup_gpt(&j, &err)
              : !strcmp(argv[1], "vit") ? setup_vit(&j, &err)
              : !strcmp(argv[1], "rnn") ? setup_rnn(&j, &err)
                                        : setup_nmt(&j, !strcmp(argv[1], "base"), &err);
    if (!ok || !make_tokens(&j)) return stop(err.text), 1;
    double loss = 0;
    for (int s = -WARM; s < steps; s++) {
        double start = now();
        loss = step(&j);
        if (s >= 0) t[s] = now() - start;
        if (j.run.err.status) return stop(j.run.err.text), 1;
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double seconds = median(t, (size_t)steps), tokens = (double)(j.items * j.length);
    printf("%.6f %.0f %.1f %.0f loss %.4f\n", seconds, tokens / seconds, 3 * j.flops / seconds / 1e9,
           (double)use.ru_maxrss / 1024, loss);
    return 0;
}
