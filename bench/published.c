/* Times models of published sizes with random weights: bench_published gpt2|bert BATCH THREADS
   [f32|bf16|int8]. gpt2 (124 million numbers) goes on greedily for 64 tokens behind prompts of 32; bert
   (base) makes a vector of each sentence of 32 tokens, the mean of its rows. Prints one line: seconds for a
   batch, the median of some rounds, tokens/s (of bert: tokens read), processor seconds for a batch, and peak
   memory in MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "clock.h"
#include "precision.h"
#include "decode/search.h"
#include "model/prepare.h"

enum { LENGTH = 32, TOKENS = 64, MOST_BATCH = 256, ROUNDS = 3 };

typedef struct job {
    hd_run run;
    hd_gpt *gpt;
    hd_bert *bert;
    size_t batch;
    int32_t ids[MOST_BATCH * LENGTH], type[MOST_BATCH * LENGTH], len[MOST_BATCH];
} job;

static int stop(const char *text, int status)
{
    fprintf(stderr, "bench_published: %s\n", text);
    return status;
}

/* Small numbers of both signs: to draw so many properly would take longer than the rest. */
static hd_status fill(hd_params *p, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < p->count; i++) {
        size_t count = hd_count_of(&p->list[i]->t);
        hd_real *x = p->list[i]->alias ? NULL : hd_mem_array(count, sizeof *x);
        if (!x && !p->list[i]->alias) return hd_err_nomem(err, count * sizeof *x);
        for (size_t k = 0; x && k < count; k++) x[k] = 4e-5f * (float)((int)(k * 7919 % 1009) - 504);
        if (x) s = hd_params_set(p, p->list[i], x);
        hd_mem_free(x);
    }
    return s;
}

static hd_status setup(job *j, bool gpt, hd_err *err)
{
    hd_gpt_opt g = {.stack.pre_norm = true,
                    .stack.layers = 12,
                    .stack.heads = 12,
                    .stack.width = 768,
                    .vocab = 50257,
                    .positions = 1024,
                    .stack.eps = 1e-5f,
                    .stack.act = HD_gelu_tanh};
    hd_bert_opt b = {.stack.layers = 12,
                     .stack.heads = 12,
                     .stack.width = 768,
                     .vocab = 30522,
                     .positions = 512,
                     .headless = true};
    hd_status s = gpt ? hd_gpt_new(&j->gpt, j->run.backend, &g, false, err)
                      : hd_bert_new(&j->bert, j->run.backend, &b, false, err);
    if (!s) s = fill(gpt ? &j->gpt->params : &j->bert->params, err);
    if (!s)
        s = gpt ? hd_gpt_prepare(j->gpt, HD_PREDICTING, err) : hd_bert_prepare(j->bert, HD_PREDICTING, err);
    for (size_t i = 0; i < j->batch * LENGTH; i++)
        j->ids[i] = (int32_t)(i * 7919 % (gpt ? g.vocab : b.vocab));
    for (size_t i = 0; i < j->batch; i++) j->len[i] = LENGTH;
    return s;
}

static hd_status go_on(job *j, hd_err *err)
{
    hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = TOKENS, .unscored = true};
    hd_stepper s = {0};
    hd_found *f = NULL;
    hd_status st = hd_gpt_stepper(&s, j->gpt, j->ids, j->len, j->batch, err);
    if (!st) st = hd_search(&f, &j->run, &s, &o, err);
    hd_found_free(f);
    hd_stepper_release(&s);
    return st;
}

static hd_status embed(job *j, hd_err *err)
{
    static hd_real out[MOST_BATCH * 768];
    hd_run *r = &j->run;
    size_t rows = j->batch * LENGTH;
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, j->len, j->batch, NULL);
    hd_rows x = hd_bert_rows(
        r, j->bert,
        &(hd_items){.seg = seg, .ids = hd_ints(r, j->ids, rows), .type = hd_ints(r, j->type, rows)});
    hd_tensor *y = hd_reduce(r, x.t, seg, HD_MEAN);
    if (!y || r->err.status) return hd_err_set(err, r->err.status, "%s", r->err.text);
    r->backend->download(r->backend, out, y->data, j->batch * 768 * sizeof *out);
    return HD_OK;
}

int main(int argc, char **argv)
{
    static job j;
    bool gpt = argc > 1 && !strcmp(argv[1], "gpt2");
    int precision = argc > 4 ? precision_of(argv[4]) : HD_PRECISION_F32;
    if (argc < 4 || argc > 5 || (!gpt && strcmp(argv[1], "bert") != 0) || precision < 0)
        return stop("usage: bench_published gpt2|bert BATCH THREADS [f32|bf16|int8]", 2);
    int batch = atoi(argv[2]), threads = atoi(argv[3]);
    if (batch < 1 || batch > MOST_BATCH || threads < 1) return stop("BATCH from 1 to 256, THREADS from 1", 2);
    hd_err err = {0};
    hd_backend *backend = NULL;
    hd_mem_keep_freed(); /* as the program does */
    j.batch = (size_t)batch;
    hd_backend_opt opt = {.threads = threads, .precision = (hd_precision)precision};
    hd_status s = hd_backend_new(&backend, "cpu", &opt, &err);
    if (!s) s = hd_run_init(&j.run, backend, &err);
    if (!s) s = setup(&j, gpt, &err);
    double t[ROUNDS], busy = 0;
    for (int i = -1; !s && i < ROUNDS; i++) { /* one to warm up */
        double start = now();
        if (!i) busy = (double)clock();
        s = gpt ? go_on(&j, &err) : embed(&j, &err);
        if (i >= 0) t[i] = now() - start;
    }
    if (s) return stop(err.text, 1);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double seconds = median(t, ROUNDS);
    busy = ((double)clock() - busy) / CLOCKS_PER_SEC / ROUNDS;
    printf("%.6f %.1f %.3f %.0f\n", seconds, batch * (gpt ? TOKENS : LENGTH) / seconds, busy,
           (double)use.ru_maxrss / 1024);
    hd_gpt_free(j.gpt);
    hd_bert_free(j.bert);
    hd_run_release(&j.run);
    hd_backend_free(backend);
    return 0;
}
