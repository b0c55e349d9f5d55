/* The processes of a run in a build without MPI: only this one. */
#include "backend/ranks.h"

#include <stdlib.h>

int hd_rank(void)
{
    return 0;
}

int hd_ranks(void)
{
    return 1;
}

/* Each process would train its own model, all in the same folder. */
hd_status hd_ranks_begin(hd_err *err)
{
    const char *launched = getenv("OMPI_COMM_WORLD_SIZE");
    if (!launched) launched = getenv("PMI_SIZE");
    if (!launched || atoi(launched) < 2) return HD_OK;
    return hd_err_set(
        err, HD_EMISSING,
        "started as %d processes, but this build has no MPI: install libopenmpi-dev and build again",
        atoi(launched));
}

void hd_ranks_end(void) {}

hd_status hd_ranks_agree(hd_status s, double *sum, size_t count, hd_err *err)
{
    (void)sum, (void)count, (void)err;
    return s;
}

hd_status hd_ranks_share(void *data, size_t bytes, hd_err *err)
{
    (void)data, (void)bytes, (void)err;
    return HD_OK;
}

hd_status hd_ranks_sum(hd_real *x, size_t count)
{
    (void)x, (void)count;
    return HD_OK;
}

hd_status hd_ranks_sum_begin(hd_real *x, size_t count)
{
    (void)x, (void)count;
    return HD_OK;
}

hd_status hd_ranks_sum_end(void)
{
    return HD_OK;
}
