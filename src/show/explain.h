/* One step of the lecture's Transformer with everything in it, and its training. The numbers are the engine's
   own: a probe collects what the model's forward pass offers. */
#ifndef HD_SHOW_EXPLAIN_H
#define HD_SHOW_EXPLAIN_H

#include "show/lecture.h"

enum { HD_EXPLAIN_ANSWER = 6 }; /* most tokens of a greedy answer */

typedef struct hd_explain_opt {
    bool backward; /* also the gradients of the mean loss */
    int train;     /* steps of Adam (rate 0.01) on both pairs, from the lecture's weights */
} hd_explain_opt;

typedef struct hd_explain_matrix {
    const hd_lecture_matrix *of;
    size_t rows, cols; /* a bias is one row, mean and SD are one column */
    hd_real *value;    /* [rows, cols] */
    hd_real *gradient; /* the same; NULL unless it is a parameter and backward was asked for */
} hd_explain_matrix;

typedef struct hd_explain_token { /* one target row */
    int32_t target, predicted;
    double loss; /* cross-entropy */
} hd_explain_token;

typedef struct hd_explain_step { /* one step of training */
    double loss;                 /* mean over the tokens of both pairs, before the update */
    int32_t answer[HD_LECTURE_PAIRS][HD_EXPLAIN_ANSWER]; /* greedy, after it; -1 behind the end */
    bool right[HD_LECTURE_PAIRS];                        /* the answer is the target followed by <EOS> */
} hd_explain_step;

typedef struct hd_explain {
    hd_explain_matrix *matrix; /* in the lecture's order */
    size_t matrices;
    hd_explain_token token[HD_LECTURE_LENGTH];
    double loss; /* mean of the tokens' */
    bool backward;
    hd_explain_step *step; /* NULL without training */
    size_t steps;
} hd_explain;

hd_status hd_explain_run(hd_explain **out, hd_backend *backend, const hd_explain_opt *opt, hd_err *err);
void hd_explain_free(hd_explain *x); /* accepts NULL and half-built */

const hd_explain_matrix *hd_explain_find(const hd_explain *x, const char *name); /* NULL when there is none */

/* Length of all gradients together. */
double hd_explain_norm(const hd_explain *x);

/* First step (1, 2, ...) after which both answers are right; 0 when there is none. */
size_t hd_explain_first_right(const hd_explain *x);

/* The words of a greedy answer, without its <EOS>, into buf; returns buf. */
const char *hd_explain_words(const int32_t answer[HD_EXPLAIN_ANSWER], char *buf, size_t size);

#endif
