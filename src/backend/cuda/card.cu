/* The CUDA cards of this machine: which of them there are, which can be used, which of those a process takes,
   and which one is current. Easy to get wrong: cudaSetDevice begins to use a card, which takes memory of it.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/gemm.h"
#include "backend/ranks.h"

enum { WHY = sizeof((hd_device *)NULL)->why, OLDEST_SUPPORTED = 80 };

/* Compute capabilities that there is machine code for, from the oldest on, 80 for 8.0; of the oldest there is
   PTX, too, which later cards compile at first use (cmake/cuda.cmake). */
#define X(arch) arch,
static const int built[] = {HD_CUDA_ARCHS};
#undef X

/* The newest machine code that runs on such a card; 0: none. */
static int code_for(int capability)
{
    int best = 0;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        if (built[i] <= capability && built[i] / 10 == capability / 10) best = built[i];
    return best;
}

bool hd_cuda_has_warpgroups(int major, int minor)
{
    return 10 * major + minor == 90 && code_for(90) == 90;
}

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
    if (10 * card->major + card->minor >= built[0]) return true;
    int n = snprintf(why, WHY,
                     "this build has kernels for compute capability %d.%d and newer, the card has %d.%d",
                     built[0] / 10, built[0] % 10, card->major, card->minor);
    if (n < WHY && 10 * card->major + card->minor >= OLDEST_SUPPORTED)
        snprintf(why + n, (size_t)(WHY - n), ": build with -DHEED_CUDA_ARCH=%d%d, or give --device cpu",
                 card->major, card->minor);
    else if (n < WHY)
        snprintf(why + n, (size_t)(WHY - n), ", which is too old: give --device cpu");
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
    hd_cuda_here here(d->number);
    if (cudaSetDevice(d->number) != cudaSuccess || cudaMemGetInfo(&d->left, &d->memory) != cudaSuccess) {
        snprintf(d->why, sizeof d->why, "CUDA says %s", cudaGetErrorString(cudaGetLastError()));
        d->left = d->memory = 0;
    }
}

static void describe_kernels(hd_device *d)
{
    int capability = 10 * d->major + d->minor, code = code_for(capability);
    if (capability < built[0])
        snprintf(d->kernels, sizeof d->kernels, "none");
    else if (!code)
        snprintf(d->kernels, sizeof d->kernels, "compiled at first use, from those for %d.%d", built[0] / 10,
                 built[0] % 10);
    else
        snprintf(d->kernels, sizeof d->kernels, "for %d.%d%s", code / 10, code % 10,
                 hd_cuda_has_warpgroups(d->major, d->minor) ? " with warpgroups" : "");
}

extern "C" void hd_backend_list_cuda(hd_device_fn *tell, void *context)
{
    hd_device none = {};
    int count = count_cards(none.why);
    none.backend = "cuda";
    cudaDriverGetVersion(&none.driver);
    cudaRuntimeGetVersion(&none.runtime);
    if (!count) {
        tell(context, &none);
        return;
    }
    for (int i = 0; i < count; i++) {
        cudaDeviceProp card;
        hd_device d = none;
        d.number = i;
        if (cudaGetDeviceProperties(&card, i) != cudaSuccess) {
            snprintf(d.why, sizeof d.why, "CUDA says %s", cudaGetErrorString(cudaGetLastError()));
        } else {
            snprintf(d.name, sizeof d.name, "%.127s", card.name);
            d.units = card.multiProcessorCount, d.major = card.major, d.minor = card.minor;
            d.memory = card.totalGlobalMem;
            describe_kernels(&d);
            hd_err missing = {HD_OK};
            if (is_usable(&card, d.why) && hd_cuda_gemm_missing(&missing))
                snprintf(d.why, sizeof d.why, "%.319s", missing.text);
            if (!d.why[0]) ask_memory(&d);
        }
        tell(context, &d);
    }
}

/* -- the current card -- */

/* Whether this process has begun to use a card; true where that cannot be asked. */
static bool is_in_use(int device)
{
    CUresult (*state)(CUdevice, unsigned *, int *) = NULL;
    unsigned flags = 0;
    int active = 0;
#if CUDART_VERSION >= 12050
    cudaError_t e = cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", (void **)&state, 7000,
                                                     cudaEnableDefault);
#else
    cudaError_t e = cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", (void **)&state, cudaEnableDefault);
#endif
    if (e != cudaSuccess || !state || state((CUdevice)device, &flags, &active) != CUDA_SUCCESS) return true;
    return active;
}

hd_cuda_here::hd_cuda_here(int number) : device(number), was(number)
{
    if (cudaGetDevice(&was) != cudaSuccess) was = device;
    if (was != device) cudaSetDevice(device);
}

/* A thread that never chose a card counts as being on card 0: nothing is begun there only to go back. */
hd_cuda_here::~hd_cuda_here()
{
    if (was != device && is_in_use(was)) cudaSetDevice(was);
}
