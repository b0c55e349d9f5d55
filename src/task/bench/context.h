/* Writing behind a long text, for benchmarks: the cache holds rows of random numbers, as if the text had been
   read. */
#ifndef HD_TASK_BENCH_CONTEXT_H
#define HD_TASK_BENCH_CONTEXT_H

#include "model/lm/gpt.h"
#include "model/stepper_parts.h"

typedef struct hd_bench_context {
    hd_stepping *stepping; /* NULL: none */
} hd_bench_context;

/* Behind `seen` tokens. The model must outlive it. */
hd_status hd_bench_context_make(hd_bench_context *c, hd_run *r, const hd_gpt *m, size_t seen, hd_err *err);
void hd_bench_context_release(hd_bench_context *c); /* accepts {0} */

/* So many tokens more, one after the other. */
hd_status hd_bench_context_write(hd_bench_context *c, hd_run *r, size_t tokens, hd_err *err);

#endif
