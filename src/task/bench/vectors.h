/* Vectors of sentences, for benchmarks: a BERT reads them, and each gets the mean of its rows. */
#ifndef HD_TASK_BENCH_VECTORS_H
#define HD_TASK_BENCH_VECTORS_H

#include "model/encoder/bert.h"

typedef struct hd_bench_vectors {
    hd_bert *model; /* NULL: none */
    hd_real *vectors;
    int32_t *type;
} hd_bench_vectors;

hd_status hd_bench_vectors_make(hd_bench_vectors *v, hd_backend *b, int layers, int heads, size_t width,
                                size_t vocab, hd_err *err);
void hd_bench_vectors_release(hd_bench_vectors *v); /* accepts {0} */

/* Sentences item after item. */
hd_status hd_bench_vectors_run(hd_bench_vectors *v, hd_run *r, const int32_t *ids, const int32_t *len,
                               size_t items, hd_err *err);
double hd_bench_vectors_flops(const hd_bench_vectors *v, double items, double length);

#endif
