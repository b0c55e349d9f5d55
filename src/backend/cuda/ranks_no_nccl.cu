/* The processes of a run with a CUDA card each in a build without NCCL: they cannot sum anything. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"

hd_status hd_cuda_meet(hd_backend *b, hd_err *err)
{
    const char *asked = getenv("HEED_NCCL");
    if (b->ranks < 2 && (!asked || strcmp(asked, "1"))) return HD_OK;
    return hd_err_set(err, HD_ELIMIT,
                      "processes that train together on CUDA cards need NCCL, which this build is without: "
                      "install libnccl-dev and build anew, or give --device cpu");
}

hd_status hd_cuda_rank_sum(hd_backend *b, hd_real *x, size_t count)
{
    (void)b, (void)x, (void)count;
    return HD_OK;
}

void hd_cuda_part(hd_cuda *c)
{
    (void)c;
}
