/* Parameters: records of name, shape and storage. Values lie in one flat buffer, trainable ones first and
   ordered by group, so that the optimizer is one pass; gradients have a buffer of the same layout, only when
   training. A part is some rows of another parameter under a name of its own: q, k and v are one product in
   memory and three tensors in a file. */
#ifndef HD_NN_PARAM_H
#define HD_NN_PARAM_H

#include "backend/backend.h"
#include "base/rng.h"
#include "tensor/safetensors.h"

typedef enum hd_init_kind {
    HD_INIT_ZERO,
    HD_INIT_ONE,
    HD_INIT_NORMAL, /* standard deviation `scale` */
    HD_INIT_XAVIER, /* uniform, sqrt(6 / (fan in + fan out)) * scale */
    HD_INIT_TORCH,  /* PyTorch's default of nn.Linear: uniform, 1 / sqrt(fan in) * scale; a bias takes the fan
                       in from `fan` */
    HD_INIT_TABLE   /* filled by the model, e.g. sinusoids */
} hd_init_kind;

typedef struct hd_init {
    hd_init_kind kind;
    float scale; /* 0 counts as 1 */
    size_t fan;
} hd_init;

enum { HD_PARAM_MATRICES = 3 };

typedef struct hd_param {
    char *name;        /* in files; NULL: not in files */
    hd_tensor t, grad; /* value and gradient */
    hd_init init;
    struct hd_param *whole; /* part: of this one, from row `row` */
    size_t row;
    struct hd_param *part, *next;      /* the last of its parts; of a part, the one before it */
    struct hd_param *alias;            /* another name of this one */
    bool trainable, decay, transposed; /* transposed: files hold [in, out] */
    bool moving;                       /* not learned, but changed by training steps: running statistics */
    bool optional;                     /* optional in files: zeros if missing */
    bool fresh;                        /* not read from files: it stays unchanged */
    bool adapter;                      /* of what was added to another one (nn/block/lora.h) */
    bool grouped;                      /* read by grouped products alone, such as those of experts */
    bool product;                      /* of an owner: once prepared, only its form is read */
    bool table;                        /* rows of it are looked up or read again one by one */
    bool late;                         /* of an owner: it has no values yet, rows are in the file */
    const hd_entry *lies;              /* there */
    const hd_entry *scale, *columns;   /* of int8 (nn/weight/form.h); columns may be missing */
    const hd_entry *rest;              /* second lines of it, or NULL */
    bool fine;                         /* of an owner: it has these, where it becomes int8 */
    int rank;                          /* in files, where it is not that of t (hd_param_shape); else 0 */
    size_t shape[HD_RANK];
    int group;            /* learning-rate group */
    size_t at;            /* in the flat buffers */
    struct hd_lora *lora; /* what is added to it, one after the other (nn/block/lora.h); NULL: nothing */
    size_t matrix[HD_PARAM_MATRICES]; /* rows of the matrices that it has, one below the other, again and
                                         again to its end; see hd_param_matrices. 0: none */
} hd_param;

enum { HD_PARAM_GROUPS = 8 };

typedef struct hd_group { /* a range of the flat buffers that is updated alike */
    size_t begin, end;
    bool decay;
    bool small;   /* kept in bf16 alone */
    float factor; /* of the learning rate */
} hd_group;

/* Experts whose load is to be balanced: vectors of [E]. Behind each update `was` gets the load of it, which
   begins anew, and the bias, or NULL, moves against it by `rate`. */
typedef struct hd_balanced {
    hd_param *load, *was, *bias;
    float rate;
} hd_balanced;

/* Which of them files hold: all, or of a model that something was added to what it was, or what was added.
 */
typedef enum hd_file_part { HD_FILES_ALL, HD_FILES_BASE, HD_FILES_ADAPTER } hd_file_part;

typedef struct hd_params {
    hd_backend *backend;
    uint64_t serial; /* tells them apart from later ones at the same address; 0: released */
    hd_param **list;
    size_t count, room;
    uint32_t *slot; /* hash table of names: index + 1, 0 where empty; NULL: names are looked through */
    size_t slots;
    bool renamed;            /* ... since they are not what they were */
    hd_real *value, *grad;   /* flat, backend memory; value has none for small and fixed ones */
    uint16_t *shadow;        /* value in bf16 if the backend computes in it, read by products; or NULL */
    size_t total, trainable; /* numbers in value; in grad */
    size_t small, fixed;     /* numbers that are in `shadow` alone: the first, trainable ones, and the last */
    size_t moving;           /* numbers behind the trainable ones that training steps change */
    float factor[HD_PARAM_GROUPS];
    hd_group range[3 * HD_PARAM_GROUPS];
    size_t ranges;
    hd_balanced *balanced;
    size_t balances, balance_room;
    hd_file_part files;
    hd_use stays;         /* products may stay in the file until they are prepared for it; 0: none may */
    bool quantized;       /* there were weights of int8 in the file */
    hd_safetensors *file; /* where products lie; NULL: nowhere; owned */
    const char *prefix;   /* an optional prefix of all names in files; NULL: none; borrowed */
    hd_err err;           /* the first failure of the add calls */
} hd_params;

/* The number at a place that `shadow` does not have alone: places are the same in all buffers. */
static inline hd_real *hd_params_at(const hd_params *p, size_t at)
{
    return p->value + (at - p->small);
}

void hd_params_init(hd_params *p, hd_backend *backend);
void hd_params_release(hd_params *p);

/* Registers a parameter [rows, cols] (cols 0: a vector of rows). The record's address is stable. NULL on
 * failure, which stays in p->err. Names are printf-formatted. */
hd_param *hd_param_add(hd_params *p, size_t rows, size_t cols, hd_init init, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same without a name: in memory but not in files. */
hd_param *hd_param_hidden(hd_params *p, size_t rows, size_t cols, hd_init init);
/* A vector that training steps change themselves (hd_param.moving). */
hd_param *hd_param_moving(hd_params *p, size_t count, hd_init init, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
hd_param *hd_param_part(hd_params *p, hd_param *whole, size_t row, size_t rows, hd_init init,
                        const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A part for products only, not in files. */
hd_param *hd_param_view(hd_params *p, hd_param *whole, size_t row, size_t rows);
hd_param *hd_param_alias(hd_params *p, hd_param *of, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void hd_params_balance(hd_params *p, const hd_balanced *b);
/* The shape that it has in files, of as many numbers in the same order: [out, channels, height, width] of a
   convolution, whose t is [out, channels * height * width]. Accepts NULL. */
void hd_param_shape(hd_param *one, int rank, const size_t *shape);
/* Says that it is a matrix that maps rows to rows inside the model, neither a table nor an output layer: such
   ones may be learned in a way of their own (train/muon.h). It may be several, one below the other, of so
   many rows; those of 0 are none. Accepts NULL. */
void hd_param_matrices(hd_param *one, size_t first, size_t second, size_t third);
hd_param *hd_params_find(const hd_params *p, const char *name);
/* Takes `name`, of hd_mem_*; NULL: it is in no file. */
void hd_param_rename(hd_params *p, hd_param *one, char *name);

/* Glob patterns of names that are frozen in training; borrowed. */
typedef struct hd_frozen {
    const char *const *pattern;
    size_t count;
} hd_frozen;

/* Makes parameters whose name matches a pattern not trainable. Before hd_params_ready. Fails if a pattern
   matches none. */
hd_status hd_params_freeze(hd_params *p, hd_frozen frozen, hd_err *err);

/* Allocates the flat buffers and points every tensor into them. */
hd_status hd_params_ready(hd_params *p, bool training, hd_err *err);

/* Draws initial values of those that files hold: each from its own stream of the seed, so that adding one
   changes no other. */
bool hd_params_has(const hd_params *p, const hd_param *one); /* whether files hold it */
hd_status hd_params_draw(hd_params *p, uint64_t seed, hd_err *err);
/* To be called after values were changed by other means than the calls here and the update kernel. */
hd_status hd_params_renew(hd_params *p, hd_err *err);
/* host: dense rows, in memory order; one->t.data itself if the values were written there. */
hd_status hd_params_set(hd_params *p, hd_param *one, const hd_real *host);
hd_status hd_params_get(const hd_params *p, const hd_param *one, const hd_tensor *from,
                        hd_real *host);    /* from: &one->t or &one->grad */
size_t hd_params_size(const hd_params *p); /* numbers in files, tied ones once */

/* Files. Every named parameter that is not optional must be there with its shape, under its name or an
 * alias's, with or without the prefix. Names are saved without. */
hd_status hd_params_load(hd_params *p, const hd_safetensors *s, hd_err *err);
/* The same for weights in one or more files. */
hd_status hd_params_load_all(hd_params *p, const hd_safetensors *const *file, size_t files, hd_err *err);
hd_status hd_params_save(const hd_params *p, const char *path, const hd_meta *meta, size_t metas,
                         hd_err *err);

#endif
