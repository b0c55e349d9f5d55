/* Matrix products through cuBLASLt: the state that gemm.cu keeps between calls. */
#ifndef HD_BACKEND_CUDA_GEMM_H
#define HD_BACKEND_CUDA_GEMM_H

#include "backend/cuda/cuda.h"

/* HD_EMISSING, naming what is missing, if cuBLASLt cannot be loaded. */
hd_status hd_cuda_gemm_missing(hd_err *err);
hd_status hd_cuda_gemm_new(struct hd_cuda_gemm **out, hd_err *err);
void hd_cuda_gemm_free(struct hd_cuda_gemm *g); /* accepts NULL */

#endif
