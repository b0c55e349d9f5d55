/* The run context: one per thread. Holds the backend, the memory of the current step, the tape, the probe
   and the first error. Ops take it first, return NULL on failure and pass NULL on, so that a model is written
   without checks and its caller checks `err` once per step. Four lifetimes: model (parameters, caches), step
   (arenas here), gradient (the pool here), scratch (inside one kernel). */
#ifndef HD_OP_RUN_H
#define HD_OP_RUN_H

#include <stdatomic.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/pool.h"

typedef struct hd_node hd_node;
typedef struct hd_probe hd_probe;
typedef struct hd_heads hd_heads;
typedef struct hd_grad_watch hd_grad_watch;

typedef struct hd_run {
    hd_backend *backend;
    hd_err err;
    hd_log log;
    hd_arena host;        /* descriptions: tensors, nodes, segments; until the next hd_run_begin */
    hd_arena step;        /* activations in backend memory; released in reverse order by hd_backward */
    hd_pool grads;        /* gradients of activations */
    hd_step *block;       /* the step block, in backend memory */
    hd_step now;          /* its host copy, sent by hd_run_begin */
    hd_node *last;        /* newest node of the tape */
    hd_grad_watch *watch; /* of the parameters' gradients; NULL: not watched */
    bool taping;          /* record for backward */
    bool training;        /* dropout draws */
    bool captures;        /* training steps are captured (replay.h) where the backend can */
    bool counting;        /* loads of experts are counted, though nothing is learned */
    uint32_t draws;       /* ops that drew in this step */
    const hd_probe *probe;
    const atomic_bool *halt;  /* once it is true, what was to be the next step fails with HD_ESTOPPED; NULL */
    hd_heads *heads;          /* factors of attention heads (nn/block/heads.h); NULL: none */
    char scope[192];          /* of the layer being run; only kept with a probe or factors of heads */
    bool again;               /* a recomputed function runs a second time: a probe already has its values */
    uint64_t steps;           /* begun so far */
    struct hd_graphs *graphs; /* captured steps (replay.c); NULL: none yet */
} hd_run;

typedef enum hd_mode { HD_INFERENCE, HD_TRAIN } hd_mode;

hd_status hd_run_init(hd_run *r, hd_backend *backend, hd_err *err); /* the caller keeps the backend */
void hd_run_release(hd_run *r);

/* Starts a step: frees everything of the last one and sends r->now to the step block. */
void hd_run_begin(hd_run *r, hd_mode mode);

/* Copies the failure of the step, if there was one, to err. */
hd_status hd_run_status(const hd_run *r, hd_err *err);

/* Records the first failure with the op's message; returns NULL for the op to return. */
void *hd_fail(hd_run *r, hd_status s, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Step memory. */
void *hd_host_take(hd_run *r, size_t bytes);            /* zeroed host memory */
void *hd_step_take(hd_run *r, size_t bytes);            /* backend memory, not cleared */
hd_tensor *hd_new(hd_run *r, size_t rows, size_t cols); /* an activation, not cleared: of the compute type */
hd_tensor *hd_new_reals(hd_run *r, size_t rows, size_t cols); /* hd_real: statistics, losses */
hd_tensor *hd_new_ints(hd_run *r, size_t rows, size_t cols);  /* int32 */
/* The shape of x; its type, too, unless x is a parameter. */
hd_tensor *hd_like(hd_run *r, const hd_tensor *x);
hd_dtype hd_type_like(const hd_run *r, const hd_tensor *x);
/* A parameter that ops read as it is, and not in the compute type; its gradient is the parameter's. */
hd_tensor *hd_reals_of(hd_run *r, const hd_tensor *param);
hd_tensor *hd_new_of(hd_run *r, hd_dtype dtype, size_t rows, size_t cols);
void hd_clear(hd_run *r, const hd_tensor *dense);
hd_tensor *hd_ones(hd_run *r, size_t rows, size_t cols);
hd_tensor *hd_from(hd_run *r, size_t rows, size_t cols,
                   const hd_real *host); /* a copy in backend memory; wants no gradient */
int32_t *hd_ints(hd_run *r, const int32_t *host, size_t count); /* a copy in backend memory */
/* The ids of `live` rows in backend memory, padded to `rows` with -1, which is no id. */
int32_t *hd_ids_within(hd_run *r, const int32_t *ids, size_t live, size_t rows);
bool hd_read(hd_run *r, const hd_tensor *t,
             hd_real *host); /* rows follow each other in host; false after a failure */
/* The same for the output of a model: fails if a number is NaN or infinite. */
bool hd_read_output(hd_run *r, const hd_tensor *t, hd_real *host);
void *hd_fail_number(hd_run *r); /* hd_fail for output that is not a number */
void hd_send_block(hd_run *r);   /* r->now to the step block */

/* Segments of the given lengths, one after the other; with item and pos. `key`: NULL, or the items' numbers
 * for random draws. */
hd_seg *hd_seg_of(hd_run *r, const int32_t *len, size_t items, const int32_t *key);

/* The sizes a batch is padded to, so that few shapes are captured: with rows that belong to no item, and
   empty items. */
typedef struct hd_bounds {
    size_t items, rows, longest;
} hd_bounds;
/* The bounds of a batch that is trained on; its exact sizes where such steps are not captured. */
hd_bounds hd_bounds_of(const hd_run *r, const int32_t *len, size_t items);
/* The same in a training step; otherwise its exact sizes. */
hd_bounds hd_bounds_now(const hd_run *r, const int32_t *len, size_t items);
/* Whether what is sent in this step is filled up so. */
bool hd_fills_now(const hd_run *r);
hd_seg *hd_seg_within(hd_run *r, const int32_t *len, size_t items, const int32_t *key, hd_bounds bounds);

/* Segments of height * width rows each, the cells of a grid; size [items, 2] in host memory. */
hd_seg *hd_grid_of(hd_run *r, const int32_t *size, size_t items, const int32_t *key);
hd_seg *hd_grid_within(hd_run *r, const int32_t *size, size_t items, const int32_t *key, hd_bounds bounds);
/* The segments of a window's places on the grids of `from`; a failure names the op. Computed by the backend
   from what it has, so that a captured step may do it. */
hd_seg *hd_grid_under(hd_run *r, const char *op, const hd_seg *from, const hd_grid_window *window);

/* The segments of rows that are k rows of `from` each. Computed by the backend, too. */
hd_seg *hd_seg_folded(hd_run *r, const hd_seg *from, int k);

/* Lengths of the segments in host memory; NULL on failure. Read back from the backend only if the segments
   do not have them. */
const int32_t *hd_seg_lens(hd_run *r, const hd_seg *seg);

/* Whether the rows of seg are rows of x, or with `all` (draws need the item of each row) exactly those;
   seg may be NULL. A failure names the op. */
bool hd_seg_fits(hd_run *r, const char *op, const hd_tensor *x, const hd_seg *seg, bool all);

/* A tensor and the segments of its rows: the input and output of layers. */
typedef struct hd_rows {
    hd_tensor *t;
    const hd_seg *seg;
} hd_rows;

static inline hd_rows hd_rows_with(hd_rows like, hd_tensor *t)
{
    return (hd_rows){t, like.seg};
}

/* The draw of the next op; p counts only while training. */
hd_draw hd_draw_next(hd_run *r, float p, const hd_seg *seg);

/* Calls a kernel unless an error is pending, and keeps its failure. */
#define HD_CALL(r, name, ...)                                                                               \
    do {                                                                                                    \
        if (!(r)->err.status) {                                                                             \
            hd_status s_ = (r)->backend->kernel.name((r)->backend, &(const hd_##name##_args){__VA_ARGS__}); \
            if (s_) hd_call_failed(r, s_, #name);                                                           \
        }                                                                                                   \
    } while (0)
void hd_call_failed(hd_run *r, hd_status s, const char *kernel);

#endif
