/* A backend: memory, transfers and one struct of kernels. An instance belongs to one run context (its threads
   or stream, its scratch); memory of one instance may be read by another of the same kind. */
#ifndef HD_BACKEND_BACKEND_H
#define HD_BACKEND_BACKEND_H

#include "backend/kernel.h"
#include "base/arena.h"
#include "base/system/team.h"

/* backends in order of preference: "auto" is the first with a usable device */
#ifdef HD_WITH_CUDA
#define HD_BACKEND_LIST(X) X(cuda) X(cpu) X(null)
#else
#define HD_BACKEND_LIST(X) X(cpu) X(null)
#endif

typedef struct hd_backend hd_backend;

/* The use of a weight; HD_PREDICTING and HD_DECODING round it if the backend's `weights` are bf16 or int8. */
typedef enum hd_use {
    HD_TRAINING,   /* unprepared: it may change */
    HD_PREDICTING, /* in products; unprepared if there is nothing to round */
    HD_DECODING,   /* in products with few rows, again and again: packed once */
    HD_RECURRING   /* only in recur: packed once, never rounded */
} hd_use;

typedef struct hd_kernels {
#define X(name) hd_status (*name)(hd_backend *, const hd_##name##_args *);
    HD_KERNEL_LIST(X)
#undef X
} hd_kernels;

/* Kernels by number, for statistics of each. */
typedef enum hd_kernel_id {
#define X(name) HD_KERNEL_##name,
    HD_KERNEL_LIST(X)
#undef X
        HD_KERNELS
} hd_kernel_id;
extern const char *const hd_kernel_names[HD_KERNELS];

typedef struct hd_work {
    size_t calls;
    double seconds, flops, bytes; /* minimum of bytes read and written; 0: unknown */
} hd_work;

/* A weight [out,in] of whole numbers of 8 bits. */
typedef struct hd_int8_weight {
    const int8_t *const *row;  /* its rows, of -127 to 127; NULL: those of the tensor are to be rounded */
    const float *scale;        /* of each row */
    const float *columns;      /* factors of the columns (tensor/int8.h), or NULL */
    bool fine;                 /* rows have second lines */
    const int8_t *const *rest; /* these, where `row` is known and fine */
} hd_int8_weight;

/* Most columns of a weight in int8: sums of more might leave 32 bits. */
enum { HD_INT8_DEPTH = 128 * 1024 };

/* Bytes of logits that a card holds at a time. */
#define HD_CARD_LOGITS ((size_t)2 << 30)

struct hd_backend {
    const char *name;
    char detail[64];   /* "cpu, 2 threads, neon" */
    bool dry;          /* kernels do nothing and memory is not real: sizes only */
    size_t used, peak; /* bytes allocated now and at most; not counted by the cpu */
    hd_dtype compute;  /* of activations: HD_REAL or HD_BF16 */
    hd_dtype
        weights; /* HD_BF16, HD_I8: `prepare` rounds weights for products, though activations are HD_REAL */
    bool small_weights; /* while training, matrices of blocks are kept in bf16 alone, if `compute` is that */
    size_t logits;      /* bytes of logits that are worth holding at a time */
    char error[192];    /* message of a failed kernel, transfer or allocation; "" once reported */
    hd_kernels kernel;
    hd_team *team; /* threads that may read and write its memory, if that is host memory; otherwise NULL */

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
    /* The same where `weights` are int8 and rows and factors are known; where rows are, w has no data, and
       they have at most HD_INT8_DEPTH numbers. NULL if not supported. */
    hd_status (*prepare_int8)(hd_backend *b, hd_tensor *w, const hd_int8_weight *q);
    /* A model has weights of int8: `weights` become that, unless another precision was asked for. Returns
       whether they are. NULL if not supported. */
    bool (*take_int8)(hd_backend *b);
    /* Of y [R,V] = x w^T + bias, w in a form that rounds: makes the 16 best of each row, and whatever might
       be among them, those of w as it is. NULL if there is no such form. */
    hd_status (*rescore)(hd_backend *b, const hd_rescore_args *a);
    /* Takes some columns of each row. NULL if not supported. */
    hd_status (*narrow)(hd_backend *b, const hd_narrow_args *a);

    /* Records the kernels called until `captured` instead of running them; `captured` returns the graph,
       or NULL on failure. replay runs it, any number of times, with the recorded addresses. capture is NULL
       if the backend cannot do it. No uploads or downloads in between. */
    hd_status (*capture)(hd_backend *b);
    void *(*captured)(hd_backend *b);
    hd_status (*replay)(hd_backend *b, void *graph);
    void (*forget)(hd_backend *b, void *graph); /* accepts NULL */

    /* Called with the serial number of parameters or an optimizer that are being released: no captured
       step that reads them is replayed again. Set by the owner of captured steps of this instance; NULL:
       there are none. */
    void (*gone)(void *context, uint64_t serial);
    void *gone_context;

    /* Times every kernel into by_kernel [HD_KERNELS] until it is called with NULL; nothing is captured
       meanwhile. NULL if not supported. */
    void (*watch)(hd_backend *b, hd_work *by_kernel);

    /* Sums count numbers over all processes; does nothing in a single process. meet, which may be NULL, is
       called once by each, when all have an instance of this kind. */
    hd_status (*meet)(hd_backend *b, hd_err *err);
    hd_status (*rank_sum)(hd_backend *b, hd_real *x, size_t count);
    /* The same in the background: sums that were begun, in the same order by all processes, are complete
       for work after rank_sum_end. NULL: not supported, or a single process. If work is queued, rank_sum_mark
       marks the point of the queue at which the numbers of sum `which`, below HD_RANKS_SUMS, are complete,
       also each time a captured step is replayed, and the sum starts after the last mark; it is NULL if work
       is done at once. No sum may be begun while a step is captured. */
    hd_status (*rank_sum_mark)(hd_backend *b, size_t which);
    hd_status (*rank_sum_begin)(hd_backend *b, size_t which, hd_real *x, size_t count);
    hd_status (*rank_sum_end)(hd_backend *b);
    int rank, ranks;

    void (*free)(hd_backend *b);
};

typedef enum hd_precision {
    HD_PRECISION_AUTO,
    HD_PRECISION_F32,
    HD_PRECISION_BF16,
    HD_PRECISION_INT8
} hd_precision;
extern const char *const hd_precision_names[]; /* in that order; ends with NULL */
hd_precision hd_precision_of(const hd_backend *b); /* what it computes with, never AUTO */

typedef struct hd_backend_opt {
    int threads;            /* cpu: < 1 means all cores */
    hd_precision precision; /* of activations, on the cpu of weights in products; AUTO: the fastest type
                               of the device, f32 on the cpu */
    bool training; /* weights will change: on the cpu all products are in `precision`, not those of weights
                      alone */
    const hd_backend *like;   /* uses the same card as this one; NULL: its own */
    const struct hd_log *log; /* gets a warning about a device that "auto" had to skip; may be NULL */
} hd_backend_opt;

/* If several processes run together, all of them call it and get the same kind. */
hd_status hd_backend_new(hd_backend **out, const char *name, const hd_backend_opt *opt, hd_err *err);
/* Another instance that can use b's memory: on the same device, with the same precision. */
hd_status hd_backend_again(hd_backend **out, const hd_backend *b, int threads, hd_err *err);
void hd_backend_free(hd_backend *b); /* accepts NULL */
hd_allocator hd_backend_allocator(hd_backend *b);
void hd_backend_gone(hd_backend *b, uint64_t serial);
hd_status hd_backend_nomem(hd_backend *b, size_t bytes, hd_err *err); /* with the backend's message */

/* A device. Unknown values are 0. */
typedef struct hd_device {
    const char *backend; /* the name to ask for it by */
    int number;          /* among those of its backend */
    char name[128];      /* of the card; of the instruction set */
    int units;           /* multiprocessors; threads */
    int major, minor;    /* compute capability */
    size_t left, memory; /* bytes of its own memory: free now, and all */
    int driver, runtime; /* versions of CUDA, 13000 for 13.0 */
    char kernels[64];    /* the build's code for it: "for 8.0" */
    char why[320];       /* why it cannot be used; "" if it can */
} hd_device;

typedef void hd_device_fn(void *context, const hd_device *d);

/* Reports every device, and for backends without one the reason; in order of preference: "auto" is the
   first usable one. */
void hd_backend_list(hd_device_fn *tell, void *context);
/* The first usable device of the backend of this name, or of any for "auto"; false where there is none. */
bool hd_backend_find(hd_device *out, const char *name);

#define X(name)                                                                                \
    hd_status hd_backend_new_##name(hd_backend **out, const hd_backend_opt *opt, hd_err *err); \
    void hd_backend_list_##name(hd_device_fn *tell, void *context);
HD_BACKEND_LIST(X)
#undef X

/* Bucket of the relative position key - query, shared by all backends: exact up to half of the buckets of its
   side, then logarithmic up to `reach` (T5's rule; one-sided tables give keys after the query bucket 0). */
int hd_relative_bucket(int distance, int buckets, bool both_ways, int reach);

#endif
