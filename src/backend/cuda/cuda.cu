/* The CUDA backend: its instance, memory, transfers and graphs. Everything that computes is in the files
   beside this one. Transfers go through one ring of pinned memory, so that the host does not wait for an
   upload; easy to get wrong: a slot in the ring may be reused only when its copy is done. */
#include "backend/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/gemm.h"
#include "backend/ranks.h"

enum { RING = 16 << 20, SCRATCH = 8 << 20, LARGE = 256 << 20 };

struct hd_cuda_block {
    struct hd_cuda_block *next;
    void *block;
    size_t size;
};

/* -- failures -- */

static hd_status keep_error(hd_cuda *c, const char *where, cudaError_t e)
{
    if (e == cudaSuccess) return HD_OK;
    snprintf(c->base.error, sizeof c->base.error, "%s: CUDA says %s", where, cudaGetErrorString(e));
    return e == cudaErrorMemoryAllocation ? HD_ENOMEM : HD_EDEVICE;
}

hd_status hd_cuda_fail(hd_cuda *c, const char *kernel, const char *what)
{
    snprintf(c->base.error, sizeof c->base.error, "%s: %s", kernel, what);
    return HD_EDEVICE;
}

hd_status hd_cuda_done(hd_cuda *c, const char *kernel)
{
    if (c->base.error[0]) return HD_EDEVICE; /* an earlier call failed without a message */
    return keep_error(c, kernel, cudaGetLastError());
}

/* -- memory -- */

static double gib(size_t bytes)
{
    return (double)bytes / (1 << 30);
}

/* Sizes in sixteenths of powers of two, so that blocks of nearly the same size can stand in for each other.
 */
static size_t rounded(size_t bytes)
{
    size_t grain = 512;
    while (32 * grain <= bytes) grain *= 2;
    return bytes ? (bytes + grain - 1) / grain * grain : grain;
}

/* An idle block of just this size; of several the one with the lowest address, so that the same requests get
 * the same addresses and captured steps stay good. */
static void *take_idle(hd_cuda *c, size_t size)
{
    struct hd_cuda_block **best = NULL;
    for (struct hd_cuda_block **at = &c->idle; *at; at = &(*at)->next)
        if ((*at)->size == size && (!best || (*at)->block < (*best)->block)) best = at;
    if (!best) return NULL;
    struct hd_cuda_block *found = *best;
    void *block = found->block;
    *best = found->next;
    hd_mem_free(found);
    return block;
}

static void free_list(struct hd_cuda_block **list)
{
    while (*list) {
        struct hd_cuda_block *next = (*list)->next;
        if ((*list)->block) cudaFree((*list)->block);
        hd_mem_free(*list);
        *list = next;
    }
}

static void *cuda_alloc(hd_backend *b, size_t bytes)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    size_t size = rounded(bytes);
    void *block = take_idle(c, size);
    if (!block && cudaMalloc(&block, size) != cudaSuccess) {
        cudaGetLastError();
        free_list(&c->idle);
        block = NULL;
        if (cudaMalloc(&block, size) != cudaSuccess) {
            size_t left = 0, all = 0;
            cudaGetLastError();
            cudaMemGetInfo(&left, &all);
            snprintf(
                b->error, sizeof b->error,
                "out of memory on the device: %.3f GiB asked, %.3f of %.1f GiB left, %.3f in use by this run",
                gib(bytes), gib(left), gib(all), gib(b->used));
            return NULL;
        }
    }
    b->used += size;
    if (b->used > b->peak) b->peak = b->used;
    return block;
}

/* Blocks wait for the next request: work on the stream that still uses one comes before its next use. */
static void cuda_release(hd_backend *b, void *block, size_t bytes)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (!block) return;
    b->used -= rounded(bytes);
    struct hd_cuda_block *idle = bytes <= LARGE ? (struct hd_cuda_block *)hd_mem_zero(sizeof *idle) : NULL;
    if (!idle) {
        cudaFree(block);
        return;
    }
    *idle = (struct hd_cuda_block){c->idle, block, rounded(bytes)};
    c->idle = idle;
}

void *hd_cuda_scratch(hd_cuda *c, size_t bytes)
{
    if (bytes <= c->scratch_size) return c->scratch;
    size_t size = c->scratch_size ? 2 * c->scratch_size : SCRATCH;
    while (size < bytes) size *= 2;
    struct hd_cuda_block *old = (struct hd_cuda_block *)hd_mem_zero(sizeof *old);
    void *block = old ? cuda_alloc(&c->base, size) : NULL;
    if (!block) {
        hd_mem_free(old);
        return NULL;
    }
    *old = (struct hd_cuda_block){c->old, c->scratch, c->scratch_size};
    c->old = old;
    c->scratch = (char *)block;
    c->scratch_size = size;
    return block;
}

/* -- transfers -- */

/* A place for `bytes` in the ring; at most half of it. */
static char *ring_take(hd_cuda *c, size_t bytes)
{
    bytes = (bytes + 63) / 64 * 64;
    if (c->ring_at + bytes > RING) {
        keep_error(c, "transfer", cudaStreamSynchronize(c->stream));
        c->ring_at = 0;
    }
    char *at = c->ring + c->ring_at;
    c->ring_at += bytes;
    return at;
}

static void cuda_upload(hd_backend *b, void *to, const void *from, size_t bytes)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (c->capturing) {
        hd_cuda_fail(c, "upload", "inside a step that is being captured");
        return;
    }
    for (size_t at = 0; at < bytes; at += RING / 4) {
        size_t n = bytes - at < RING / 4 ? bytes - at : RING / 4;
        char *way = ring_take(c, n);
        memcpy(way, (const char *)from + at, n);
        keep_error(c, "upload", cudaMemcpyAsync((char *)to + at, way, n, cudaMemcpyHostToDevice, c->stream));
    }
}

static void cuda_download(hd_backend *b, void *to, const void *from, size_t bytes)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (c->capturing) {
        hd_cuda_fail(c, "download", "inside a step that is being captured");
        return;
    }
    for (size_t at = 0; at < bytes; at += RING / 4) {
        size_t n = bytes - at < RING / 4 ? bytes - at : RING / 4;
        char *way = ring_take(c, n);
        keep_error(c, "download",
                   cudaMemcpyAsync(way, (const char *)from + at, n, cudaMemcpyDeviceToHost, c->stream));
        keep_error(c, "download", cudaStreamSynchronize(c->stream));
        memcpy((char *)to + at, way, n);
    }
}

static void cuda_copy(hd_backend *b, void *to, const void *from, size_t bytes)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (bytes) keep_error(c, "copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, c->stream));
}

static void cuda_clear(hd_backend *b, void *block, size_t bytes)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (bytes) keep_error(c, "clear", cudaMemsetAsync(block, 0, bytes, c->stream));
}

/* Weights get their bf16 copy from the parameters that own them: there is no other form. */
static hd_status cuda_prepare(hd_backend *b, hd_tensor *w, hd_use use)
{
    (void)b, (void)w, (void)use;
    return HD_OK;
}

static void cuda_unprepare(hd_backend *b, hd_tensor *w)
{
    (void)b, (void)w;
}

/* -- graphs -- */

static hd_status cuda_capture(hd_backend *b)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    hd_status s = keep_error(c, "capture", cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeRelaxed));
    c->capturing = !s;
    return s;
}

static void *cuda_captured(hd_backend *b)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    c->capturing = false;
    hd_status s = keep_error(c, "capture", cudaStreamEndCapture(c->stream, &graph));
    if (!s && graph) s = keep_error(c, "capture", cudaGraphInstantiate(&ready, graph, 0));
    if (graph) cudaGraphDestroy(graph);
    return s ? NULL : ready;
}

static hd_status cuda_replay(hd_backend *b, void *graph)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    return keep_error(c, "replay", cudaGraphLaunch((cudaGraphExec_t)graph, c->stream));
}

static void cuda_forget(hd_backend *b, void *graph)
{
    hd_cuda_here here(((hd_cuda *)b)->device);
    if (graph) cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

/* -- the instance -- */

static void cuda_free(hd_backend *b)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (c->stream) cudaStreamSynchronize(c->stream);
    hd_cuda_part(c);
    hd_cuda_gemm_free(c->gemm);
    free_list(&c->old);
    free_list(&c->idle);
    if (c->scratch) cudaFree(c->scratch);
    if (c->ring) cudaFreeHost(c->ring);
    if (c->stream) cudaStreamDestroy(c->stream);
    hd_mem_free(c);
}

static hd_status open_device(hd_cuda *c, hd_err *err)
{
    cudaDeviceProp card;
    cudaError_t e = cudaSetDevice(c->device);
    if (e == cudaSuccess) e = cudaGetDeviceProperties(&card, c->device);
    if (e == cudaSuccess) e = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    if (e == cudaSuccess) e = cudaHostAlloc((void **)&c->ring, RING, cudaHostAllocDefault);
    if (e != cudaSuccess) return hd_err_set(err, HD_EDEVICE, "the CUDA device: %s", cudaGetErrorString(e));
    c->processors = card.multiProcessorCount;
    c->warpgroups = hd_cuda_has_warpgroups(card.major, card.minor);
    snprintf(c->base.detail, sizeof c->base.detail, "cuda, %.40s, %s", card.name,
             c->base.compute == HD_BF16 ? "bf16" : "f32");
    return hd_cuda_gemm_new(&c->gemm, err);
}

extern "C" hd_status hd_backend_new_cuda(hd_backend **out, const hd_backend_opt *opt, hd_err *err)
{
    int device = 0;
    if (opt && opt->precision == HD_PRECISION_INT8)
        return hd_err_set(err, HD_EMISSING, "int8 is for the CPU: give --device cpu, or --precision bf16");
    if (opt && opt->like)
        device = ((const hd_cuda *)opt->like)->device;
    else if (hd_status none = hd_cuda_card(&device, err))
        return none;
    hd_cuda *c = (hd_cuda *)hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(err, sizeof *c);
    hd_backend *b = &c->base;
    c->device = device;
    hd_cuda_here here(c->device);
    b->name = "cuda";
    b->compute = opt && opt->precision == HD_PRECISION_F32 ? HD_F32 : HD_BF16;
    b->logits = HD_CARD_LOGITS;
    b->alloc = cuda_alloc, b->release = cuda_release;
    b->upload = cuda_upload, b->download = cuda_download, b->copy = cuda_copy, b->clear = cuda_clear;
    b->prepare = cuda_prepare, b->unprepare = cuda_unprepare;
    b->capture = cuda_capture, b->captured = cuda_captured, b->replay = cuda_replay, b->forget = cuda_forget;
    b->meet = hd_cuda_meet, b->rank_sum = hd_cuda_rank_sum, b->free = cuda_free;
    b->rank = hd_rank(), b->ranks = hd_ranks();
    b->watch = hd_cuda_watch;
    hd_cuda_kernels(&b->kernel, false);
    hd_status s = open_device(c, err);
    /* data that the other one has sent, usually weights, must be visible to this one's stream, too */
    if (!s && opt && opt->like &&
        keep_error(c, "wait", cudaStreamSynchronize(((const hd_cuda *)opt->like)->stream)))
        s = hd_err_set(err, HD_EDEVICE, "%s", b->error);
    if (s)
        cuda_free(b);
    else
        *out = b;
    return s;
}
