/* Positions: sinusoids in the layouts in use. */
#ifndef HD_NN_POSITION_H
#define HD_NN_POSITION_H

#include "tensor/tensor.h"

typedef struct hd_sinusoid {
    bool halves; /* all sines, then all cosines (Marian, fairseq); otherwise sine and cosine in turn (the
                    paper) */
    double base; /* 0: 10000 */
    int first;   /* index of the first frequency: 0 in the paper, 1 in one of the lectures */
    int offset;  /* position of row 0 */
} hd_sinusoid;

/* out [rows, cols]: frequencies base^(-2i/cols), computed in double. */
void hd_sinusoid_fill(hd_real *out, size_t rows, size_t cols, const hd_sinusoid *s);

/* out [cols, cols], cols even: the matrix M with p(t + by) = M p(t) for all t. Rows of positions are
   shifted by the product with its transpose. */
void hd_sinusoid_shift(hd_real *out, size_t cols, double by, const hd_sinusoid *s);

#endif
