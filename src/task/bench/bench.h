/* How fast a device is at heed's work: training steps, searches and encoders of fixed sizes on random tokens,
   beside the largest matrix product it can do. */
#ifndef HD_TASK_BENCH_BENCH_H
#define HD_TASK_BENCH_BENCH_H

#include "backend/backend.h"

typedef struct hd_bench_row {
    const char *name;
    const char *unit;     /* what the rate counts a second */
    double rate, seconds; /* seconds of a step or a search, the median */
    double flops;         /* of the matrix products, a second */
    size_t memory;        /* bytes on the device at most; 0: not known */
} hd_bench_row;

typedef struct hd_bench_opt {
    const char *only; /* rows whose name contains it; NULL: all that the device is for */
    int rounds;       /* timed repeats; 0: chosen by how long one takes */
    bool by_kernel;   /* also where the time of a training step goes */
    hd_status (*tell)(void *context, const hd_bench_row *row, hd_err *err); /* a failure ends it */
    hd_status (*tell_kernel)(void *context, const char *kernel, const hd_work *work, hd_err *err);
    void *context;
} hd_bench_opt;

/* Floating-point operations a second of a product of n x n matrices, the mean of some rounds. */
hd_status hd_bench_product(hd_backend *b, size_t n, int rounds, double *rate, hd_err *err);

/* Whether rows whose names contain `only` (NULL: all) train. */
bool hd_bench_trains(const char *only);

/* Rows that fit the device, in order; each is told when it is measured. *ceiling gets the rate of the largest
   product, before the first row is told. */
hd_status hd_bench(hd_backend *b, const hd_bench_opt *opt, double *ceiling, hd_err *err);

#endif
