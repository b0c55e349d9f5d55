/* The CUDA cards of this machine: which of them there are, which can be used, and which of those a process
   takes. Easy to get wrong: kernels built for sm_90a run on compute capability 9.0 alone, no older and no
   newer one. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/cuda.h"
#include "backend/ranks.h"

enum { MAJOR = 9, MINOR = 0, WHY = 192 };

/* Cards there are; 0 with why. */
static int count_cards(char why[WHY])
{
    int count = 0, driver = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e == cudaSuccess && count) return count;
    cudaDriverGetVersion(&driver);
    cudaGetLastError();
    snprintf(why, WHY, "no CUDA device was found: %s",
             !driver            ? "there is no NVIDIA driver"
             : e == cudaSuccess ? "there is none"
                                : cudaGetErrorString(e));
    return 0;
}

static bool is_usable(const cudaDeviceProp *card, char why[WHY])
{
    if (card->major == MAJOR && card->minor == MINOR) return true;
    snprintf(why, WHY, "heed's kernels are for compute capability %d.%d, this card has %d.%d", MAJOR, MINOR,
             card->major, card->minor);
    return false;
}

/* Launchers number the processes of a machine: Open MPI; Slurm; Hydra (MPICH, Intel); others. */
static int place_on_machine(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",    "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_RANK",  "PALS_LOCAL_RANKID"};
    if (hd_ranks() < 2) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *place = getenv(names[i]);
        if (place) return atoi(place) > 0 ? atoi(place) : 0;
    }
    return hd_rank();
}

hd_status hd_cuda_card(int *number, hd_err *err)
{
    char why[WHY] = "";
    cudaDeviceProp card;
    int count = count_cards(why), usable = 0, place = place_on_machine();
    for (int i = 0; i < count; i++)
        if (cudaGetDeviceProperties(&card, i) == cudaSuccess) usable += is_usable(&card, why);
    if (!usable) {
        cudaGetLastError();
        return hd_err_set(err, HD_EMISSING, "%s", why[0] ? why : "the CUDA devices cannot be asked");
    }
    place %= usable;
    for (int i = 0; i < count; i++)
        if (cudaGetDeviceProperties(&card, i) == cudaSuccess && is_usable(&card, why) && !place--)
            *number = i;
    return HD_OK;
}

/* Asking for its memory begins to use a card, which takes a moment and some of that memory. */
static void ask_memory(hd_device *d)
{
    if (cudaSetDevice(d->number) != cudaSuccess || cudaMemGetInfo(&d->left, &d->memory) != cudaSuccess) {
        snprintf(d->why, sizeof d->why, "CUDA says %s", cudaGetErrorString(cudaGetLastError()));
        d->left = d->memory = 0;
    }
}

extern "C" void hd_backend_list_cuda(hd_device_fn *tell, void *context)
{
    hd_device none = {};
    int count = count_cards(none.why), before = 0;
    none.backend = "cuda";
    cudaDriverGetVersion(&none.driver);
    cudaRuntimeGetVersion(&none.runtime);
    if (!count) {
        tell(context, &none);
        return;
    }
    cudaGetDevice(&before);
    for (int i = 0; i < count; i++) {
        cudaDeviceProp card;
        hd_device d = none;
        d.number = i;
        if (cudaGetDeviceProperties(&card, i) != cudaSuccess) {
            snprintf(d.why, sizeof d.why, "CUDA says %s", cudaGetErrorString(cudaGetLastError()));
        } else {
            snprintf(d.name, sizeof d.name, "%s", card.name);
            d.units = card.multiProcessorCount, d.major = card.major, d.minor = card.minor;
            d.memory = card.totalGlobalMem;
            if (is_usable(&card, d.why)) ask_memory(&d);
        }
        tell(context, &d);
    }
    cudaSetDevice(before);
}
