/* Attention of a recurrent decoder: one look at the rows of a memory for every query. All kinds of scores,
   over all rows or over a window around a position (Luong's local attention). */
#ifndef HD_NN_LOOK_H
#define HD_NN_LOOK_H

#include "nn/layer.h"

/* X(name, the score of a query q and a key k) */
#define HD_SCORING_LIST(X)             \
    X(additive, "v . tanh(W q + U k)") \
    X(dot, "q . k")                    \
    X(scaled, "q . k / sqrt(width)")   \
    X(bilinear, "(W q) . k")           \
    X(mlp, "v . tanh(M tanh(W q + U k) + b): a deeper network over both")

#define X(name, text) HD_SCORING_##name,
typedef enum hd_scoring { HD_SCORING_LIST(X) HD_SCORINGS } hd_scoring;
#undef X

/* X(NAME, name, which keys are seen) */
#define HD_LOCALITY_LIST(X)                                                         \
    X(GLOBAL, "global", "all keys")                                                 \
    X(MONOTONE, "local-m", "those within a window around the query's own position") \
    X(PREDICTED, "local-p", "those within a window around a predicted place, the nearer the more")

#define X(NAME, name, text) HD_LOCALITY_##NAME,
typedef enum hd_locality { HD_LOCALITY_LIST(X) HD_LOCALITIES } hd_locality;
#undef X

extern const char *const hd_scoring_names[HD_SCORINGS + 1], *const hd_locality_names[HD_LOCALITIES + 1];

typedef struct hd_look_opt {
    size_t query, memory; /* columns of queries and of the memory */
    size_t width;         /* of queries and keys once they are mapped */
    int heads;
    hd_scoring score;
    hd_locality locality;
    int window;
    size_t positions; /* local-m: most positions */
    bool project;     /* keys and values are maps of the memory, not the memory itself */
    float dropout;    /* of the weights */
    bool gate;        /* contexts are multiplied by sigmoid(w . query + b), a number for each */
    size_t weighed;   /* most rows of a memory whose weights can be had while training; 0: they cannot */
    bool summed;      /* the weights that can be had are sums: of all rows up to each one */
    const char *name; /* "model.decoder.attention" */
} hd_look_opt;

typedef struct hd_look {
    hd_look_opt opt;
    hd_dense q, k, v;     /* w NULL: used unchanged */
    hd_param *score;      /* additive, mlp: v */
    hd_dense hidden;      /* mlp: M and b */
    hd_dense place, sure; /* local-p: the place is length * sigmoid(sure . tanh(place q)) */
    hd_param *places;     /* local-m: [positions, 1], 0, 1, 2, ... */
    hd_dense gate;        /* w NULL: none */
    hd_param *marks;      /* [weighed, weighed]: row i has a 1 in column i; sums: from there on */
    size_t out;           /* columns of a context */
} hd_look;

/* A failure stays in p->err. */
hd_look hd_look_make(hd_params *p, const hd_look_opt *o);
hd_status hd_look_fill(hd_params *p, const hd_look *l, hd_err *err); /* once the parameters are ready */

/* The memory as queries see it. */
typedef struct hd_seen {
    hd_rows k, v;
    hd_tensor *length; /* local-p: [N, 1] */
    hd_tensor *marks;  /* [R, L]: of a row that of its position, L the longest item; NULL: none */
} hd_seen;

enum { HD_LOOK_SLOTS = 2 }; /* FIXED */
/* slot: NULL, or the first of HD_LOOK_SLOTS; memory is not read once they hold it. */
hd_seen hd_look_memory(hd_run *r, const hd_look *l, hd_rows memory, hd_slot *slot);
/* The positions of rows as hd_look_of takes them, [rows, 1]; NULL unless they are needed. */
hd_tensor *hd_look_places(hd_run *r, const hd_look *l, const int32_t *pos, size_t rows);
/* The contexts of rows of queries [Rq, query]; places: theirs. The mlp score takes one query per item. The
   weights of keys by their position, or their sums, [Rq, L], go into *weights where the memory has marks,
   else NULL. */
hd_tensor *hd_look_of(hd_run *r, const hd_look *l, hd_rows q, const hd_seen *m, hd_tensor *places,
                      hd_tensor **weights);

#endif
