/* A backend: memory, transfers and one struct of kernels. An instance belongs to one run context (its threads
   or stream, its scratch); memory of one instance may be read by another of the same kind. */
#ifndef HD_BACKEND_BACKEND_H
#define HD_BACKEND_BACKEND_H

#include "backend/kernel.h"
#include "base/arena.h"

/* backends in order of preference */
#define HD_BACKEND_LIST(X) X(cpu) X(null)

typedef struct hd_backend hd_backend;

typedef enum hd_use { HD_TRAINING, HD_DECODING } hd_use; /* of a weight: plain, or packed once for few rows */

typedef struct hd_kernels {
#define X(name) hd_status (*name)(hd_backend *, const hd_##name##_args *);
    HD_KERNEL_LIST(X)
#undef X
} hd_kernels;

struct hd_backend {
    const char *name;
    char detail[64]; /* "cpu, 2 threads, neon" */
    bool dry;        /* kernels do nothing and memory is not real: sizes only */
    size_t peak;     /* dry: most bytes allocated at once */
    hd_kernels kernel;

    /* Memory and transfers, in order with the kernels. alloc returns NULL on failure. */
    void *(*alloc)(hd_backend *b, size_t bytes);
    void (*release)(hd_backend *b, void *block, size_t bytes);
    void (*upload)(hd_backend *b, void *to, const void *from, size_t bytes);
    void (*download)(hd_backend *b, void *to, const void *from,
                     size_t bytes);                                        /* returns when `to` is filled */
    void (*copy)(hd_backend *b, void *to, const void *from, size_t bytes); /* both in backend memory */
    void (*clear)(hd_backend *b, void *block, size_t bytes);

    /* Gives weight w [out,in] the backend's own form for products x w^T; undone by unprepare, which accepts
     * any w. */
    hd_status (*prepare)(hd_backend *b, hd_tensor *w, hd_use use);
    void (*unprepare)(hd_backend *b, hd_tensor *w);

    /* Sums count numbers over all processes; alone it does nothing. */
    hd_status (*rank_sum)(hd_backend *b, hd_real *x, size_t count);
    int rank, ranks;

    void (*free)(hd_backend *b);
};

typedef struct hd_backend_opt {
    int threads; /* cpu: < 1 means all cores */
} hd_backend_opt;

hd_status hd_backend_new(hd_backend **out, const char *name, const hd_backend_opt *opt, hd_err *err);
void hd_backend_free(hd_backend *b); /* accepts NULL */
hd_source hd_backend_source(hd_backend *b);

#define X(name) hd_status hd_backend_new_##name(hd_backend **out, const hd_backend_opt *opt, hd_err *err);
HD_BACKEND_LIST(X)
#undef X

/* Bucket of the relative position key - query, shared by all backends: exact up to half of the buckets of its
   side, then logarithmic up to `reach` (T5's rule; one-sided tables give keys after the query bucket 0). */
int hd_relative_bucket(int distance, int buckets, bool both_ways, int reach);

#endif
