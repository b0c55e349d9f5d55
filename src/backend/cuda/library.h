/* The libraries of CUDA beside its runtime: cuBLASLt and NCCL. Nothing is linked with them; each is a table
   of its functions, made from a list and filled when it is first used. */
#ifndef HD_BACKEND_CUDA_LIBRARY_H
#define HD_BACKEND_CUDA_LIBRARY_H

#include "backend/cuda/cuda.h"

/* In LIST(X): the members of a table; and their names, for hd_cuda_library. */
#define HD_LIBRARY_MEMBER(name) decltype(&::name) name;
#define HD_LIBRARY_NAME(name)   #name,

/* Fills the table `to` of the functions in `symbols`, which ends with NULL. HEED_CUDA_LIBRARIES in the
   environment replaces the search path. HD_EMISSING if the library is missing: `package` is what to install.
 */
hd_status hd_cuda_library(void *to, const char *name, const char *file, const char *package,
                          const char *const *symbols, hd_err *err);

#endif
