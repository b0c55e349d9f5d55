/* Products of a few rows (few.cu) for gemm.cu. */
#ifndef HD_BACKEND_CUDA_FEW_H
#define HD_BACKEND_CUDA_FEW_H

#include "backend/cuda/device.h"

enum { FEW_ROWS = 4 };

typedef struct few_of { /* y [m,n] = act(a [m,k] b [n,k]^T + bias); of `count`, steps as hd_gemm_args has them
                         */
    mat y, bias;
    const bf16 *a, *b;
    size_t a_stride, b_stride, y_step, a_step, b_step;
    int m, n, k, count, act;
} few_of;

/* False: it is not done, for rows do not begin where eight numbers can be read at once. */
bool hd_cuda_few(hd_cuda *c, const few_of *p);

#endif
