/* The CUDA backend's instance and what its kernel files share on the host side. Every kernel of the table
   is hd_cuda_NAME in one of the .cu files beside this one; all work goes to the instance's one stream, so no
   other synchronization is needed; only sums over processes have their own stream (ranks_nccl.cu). */
#ifndef HD_BACKEND_CUDA_CUDA_H
#define HD_BACKEND_CUDA_CUDA_H

#include <cuda_runtime.h>

extern "C" {
#include "backend/backend.h"
#include "base/mem.h"
}

typedef struct hd_cuda {
    hd_backend base;
    cudaStream_t stream;
    int device, processors;     /* number of the card; its multiprocessors */
    bool warpgroups;            /* it multiplies by warpgroups: attend/group.h */
    struct hd_cuda_gemm *gemm;  /* gemm.cu's own: cuBLASLt and its chosen algorithms */
    struct hd_cuda_block *idle; /* released blocks, to be handed out again */
    struct hd_cuda_block *old;  /* scratch blocks that were too small: graphs may still use them */
    char *scratch;
    size_t scratch_size;
    char *ring; /* pinned host memory that uploads and downloads go through */
    size_t ring_at;
    bool capturing;
    struct hd_cuda_clock *clock; /* times kernels while it is not NULL (clock.cu) */
    struct hd_cuda_nccl *nccl;   /* the library's functions, once they are needed (ranks_nccl.cu) */
    struct ncclComm *all;        /* the processes that compute together; NULL: alone (ranks_nccl.cu) */
} hd_cuda;

/* `bytes` of device scratch, 256-aligned, good until the next kernel of the table begins. NULL on failure. */
void *hd_cuda_scratch(hd_cuda *c, size_t bytes);

/* The status of the launches since the last call; keeps the device's message with the kernel's name. */
hd_status hd_cuda_done(hd_cuda *c, const char *kernel);
hd_status hd_cuda_fail(hd_cuda *c, const char *kernel, const char *what);

#ifdef __cplusplus
extern "C" {
#endif
#define X(name) hd_status hd_cuda_##name(hd_backend *, const hd_##name##_args *);
HD_KERNEL_LIST(X)
#undef X
#ifdef __cplusplus
}
#endif

/* The kernels themselves, or each between two events while it is watched (clock.cu). */
void hd_cuda_kernels(hd_kernels *table, bool timed);
void hd_cuda_watch(hd_backend *b, hd_work *by_kernel);

/* The card this process is to take; HD_EMISSING says why there is none. */
hd_status hd_cuda_card(int *number, hd_err *err);
/* Whether a card of this compute capability multiplies by warpgroups in this build. */
bool hd_cuda_has_warpgroups(int major, int minor);

/* Makes a card current for this thread and restores the previous one at the end of the block: the host
   program may use other cards. Everything that uses a card begins with it. */
typedef struct hd_cuda_here {
    int device, was;
    explicit hd_cuda_here(int number);
    ~hd_cuda_here();
} hd_cuda_here;

/* hd_backend's meet and rank_sum, and the end of meet. */
hd_status hd_cuda_meet(hd_backend *b, hd_err *err);
hd_status hd_cuda_rank_sum(hd_backend *b, hd_real *x, size_t count);
void hd_cuda_part(hd_cuda *c);

/* Blocks for n units of work, `each` to a block. */
static inline unsigned hd_blocks(size_t n, size_t each)
{
    return (unsigned)((n + each - 1) / each);
}

#endif
