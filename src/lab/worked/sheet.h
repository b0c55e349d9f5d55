/* A sheet: an example of a lecture that is worked through, every number of the engine set beside the
   lecture's. */
#ifndef HD_LAB_WORKED_SHEET_H
#define HD_LAB_WORKED_SHEET_H

#include "op/op.h"
#include "view/paper/paper.h"

typedef struct hd_sheet {
    hd_paper *to;
    hd_run *run;
    const char *only; /* a pattern of names; NULL: all are shown */
    int digits;       /* decimals */
    size_t matches;   /* names that match */
    /* of the example */
    const char *example;
    size_t numbers; /* that were compared */
    double gap;     /* the largest difference, of numbers above 1 as a share of them */
} hd_sheet;

typedef struct hd_sheet_matrix {
    const char *name;    /* "gru.enc.output" */
    const char *formula; /* right of the "="; NULL: it was given */
    size_t rows, cols;
    const char *const *row, *const *col; /* names; NULL: numbers */
} hd_sheet_matrix;

/* An example begins: what it is called, and what happens in it. */
void hd_sheet_begin(hd_sheet *s, const char *example, const char *about);
/* Whether a part of that name is shown. */
bool hd_sheet_wants(hd_sheet *s, const char *name);
/* Numbers that the example begins with. */
void hd_sheet_given(hd_sheet *s, const char *name, size_t rows, size_t cols, const double *x);
/* What the engine computed, and what the lecture has there. */
void hd_sheet_compare(hd_sheet *s, const hd_sheet_matrix *m, const double *found, const double *lecture);
/* The same of a tensor. */
void hd_sheet_compare_tensor(hd_sheet *s, const hd_sheet_matrix *m, const hd_tensor *found,
                             const double *lecture);
/* The example ends: whether all numbers are the lecture's. */
hd_status hd_sheet_end(hd_sheet *s, hd_err *err);

/* -- the examples -- */

typedef hd_status hd_sheet_example(hd_sheet *s, hd_err *err);
hd_sheet_example hd_worked_cell, hd_worked_scores, hd_worked_bahdanau, hd_worked_gru; /* lecture 000 */
hd_sheet_example hd_worked_contexts, hd_worked_search, hd_worked_gumbel, hd_worked_positions,
    hd_worked_polls; /* lecture 004 */

#endif
