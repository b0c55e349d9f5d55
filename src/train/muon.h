/* Muon: matrices of products move by a direction whose singular values are all near 1, which five products
   make of the momentum. All other parameters move by AdamW. */
#ifndef HD_TRAIN_MUON_H
#define HD_TRAIN_MUON_H

#include "nn/param.h"
#include "op/run.h"

typedef struct hd_muon_opt {
    float momentum;
    float ratio; /* its learning rate over that of AdamW */
    float decay;
} hd_muon_opt;

typedef struct hd_muon_matrix {
    size_t at, rows, cols; /* in the flat buffers */
    float factor;          /* of the learning rate, of its group */
    bool decay;
} hd_muon_matrix;

typedef struct hd_muon {
    hd_muon_opt opt;
    hd_params *params;
    hd_muon_matrix *matrix; /* in their order in the flat buffers */
    size_t matrices;
    size_t most, square;     /* numbers of the largest, and of the larger of its products with itself */
    hd_real *direction;      /* [most] */
    void *x, *mixed;         /* [most] each, in the backend's compute type */
    void *by_itself, *twice; /* [square] each */
    double *sum;
} hd_muon;

/* HD_EARG where no parameter is such a matrix. */
hd_status hd_muon_init(hd_muon *m, hd_params *params, const hd_muon_opt *opt, hd_err *err);
void hd_muon_release(hd_muon *m); /* accepts {0} */
/* Numbers of its matrices before place `at` of the flat buffers; 0 of {0}. */
size_t hd_muon_before(const hd_muon *m, size_t at);
/* Moves one matrix and clears its gradient. first: its momentum. */
void hd_muon_step(hd_run *r, const hd_muon *m, const hd_muon_matrix *one, hd_real *first);

#endif
