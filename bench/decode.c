/* Times search with random weights: bench_decode base greedy|beamN|sampleN|shareN BATCH THREADS
   [f32|bf16|int8]. Sources of 25 tokens, 25 tokens out and no early end. Prints one line: seconds for a
   batch, the median of some rounds, tokens/s, the MiB that were in use at most beyond the model, processor
   seconds for a batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "clock.h"
#include "precision.h"
#include "decode/search.h"
#include "model/prepare.h"

enum { LENGTH = 25, MOST_BATCH = 1024, ROUNDS = 5 };

static int stop(const char *text, int status)
{
    fprintf(stderr, "bench_decode: %s\n", text);
    return status;
}

static hd_status decode(hd_run *r, const hd_encdec *m, size_t batch, const hd_search_opt *o, hd_err *err)
{
    static int32_t ids[MOST_BATCH * LENGTH], len[MOST_BATCH];
    hd_stepper s = {0};
    hd_found *f = NULL;
    for (size_t i = 0; i < batch * LENGTH; i++) ids[i] = (int32_t)(i * 7919 % m->opt.source_vocab);
    for (size_t i = 0; i < batch; i++) len[i] = LENGTH;
    hd_status st = hd_encdec_stepper(&s, m, ids, len, batch, 1, err);
    if (!st) st = hd_search(&f, r, &s, o, err);
    hd_found_free(f);
    hd_stepper_release(&s);
    return st;
}

/* greedy, beamN, sampleN, which draws from all tokens, or shareN, which draws from nine tenths of the mass.
 */
static bool read_kind(const char *text, hd_search_opt *o)
{
    size_t n = 1;
    if (sscanf(text, "beam%zu", &n) == 1)
        o->kind = HD_SEARCH_BEAM;
    else if (sscanf(text, "sample%zu", &n) == 1)
        o->kind = HD_SEARCH_SAMPLE;
    else if (sscanf(text, "share%zu", &n) == 1)
        o->kind = HD_SEARCH_SAMPLE, o->top_p = 0.9f;
    else if (strcmp(text, "greedy"))
        return false;
    o->beam = o->best = n;
    return n > 0;
}

int main(int argc, char **argv)
{
    hd_search_opt o = {.end = -1, .max_length = LENGTH, .temperature = 1, .seed = 1, .unscored = true};
    int precision = argc > 5 ? precision_of(argv[5]) : HD_PRECISION_F32;
    if (argc < 5 || argc > 6 || strcmp(argv[1], "base") || !read_kind(argv[2], &o) || precision < 0)
        return stop("usage: bench_decode base greedy|beamN|sampleN|shareN BATCH THREADS [f32|bf16|int8]", 2);
    int batch = atoi(argv[3]), threads = atoi(argv[4]);
    if (batch < 1 || batch > MOST_BATCH || threads < 1)
        return stop("BATCH from 1 to 1024, THREADS from 1", 2);
    hd_encdec_opt size = {.encoder_layers = 6,
                          .decoder_layers = 6,
                          .stack.heads = 8,
                          .stack.width = 512,
                          .stack.inner = 2048,
                          .source_vocab = 16000,
                          .target_vocab = 16000,
                          .tied = true,
                          .stack.eps = 1e-5f,
                          .stack.act = HD_relu,
                          .positions = 512};
    hd_err err = {0};
    hd_backend *backend = NULL;
    hd_mem_keep_freed(); /* as the program does */
    hd_encdec *m = NULL;
    hd_run r = {0};
    hd_status s = hd_backend_new(
        &backend, "cpu", &(hd_backend_opt){.threads = threads, .precision = (hd_precision)precision}, &err);
    if (!s) s = hd_run_init(&r, backend, &err);
    if (!s) s = hd_encdec_new(&m, backend, &size, false, &err);
    if (!s) s = hd_params_draw(&m->params, 1, &err);
    if (!s) s = hd_encdec_prepare(m, HD_DECODING, &err);
    double t[ROUNDS];
    double busy = 0;
    size_t used = hd_mem_now().used;
    hd_mem_peak_reset();
    for (int i = -1; !s && i < ROUNDS; i++) { /* one to warm up */
        double start = now();
        if (!i) busy = (double)clock();
        s = decode(&r, m, (size_t)batch, &o, &err);
        if (i >= 0) t[i] = now() - start;
    }
    if (s) return stop(err.text, 1);
    double seconds = median(t, ROUNDS);
    busy = ((double)clock() - busy) / CLOCKS_PER_SEC / ROUNDS;
    printf("%.6f %.0f %.1f %.4f\n", seconds, batch * LENGTH / seconds,
           (double)(hd_mem_now().peak - used) / (1 << 20), busy);
    hd_encdec_free(m);
    hd_run_release(&r);
    hd_backend_free(backend);
    return 0;
}
