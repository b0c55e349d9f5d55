/* The processes of a run with a CUDA card each, through NCCL: process 0 makes an id, the others get it,
   and from then on gradients are summed from card to card. Easy to get wrong: creating the communicator waits
   for all processes, so a process that cannot take part must report it before. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/library.h"
#include "backend/ranks.h"

#define NCCL_LIST(X)         \
    X(ncclAllReduce)         \
    X(ncclCommAbort)         \
    X(ncclCommDestroy)       \
    X(ncclCommGetAsyncError) \
    X(ncclCommInitRank)      \
    X(ncclGetErrorString)    \
    X(ncclGetLastError)      \
    X(ncclGetUniqueId)

struct hd_cuda_nccl {
    NCCL_LIST(HD_LIBRARY_MEMBER)
    cudaStream_t beside;               /* sums that go on beside the backward pass */
    cudaEvent_t marked[HD_RANKS_SUMS]; /* on the instance's stream: the numbers are complete */
    cudaEvent_t summed;                /* on the other one */
};

static hd_status load(hd_cuda *c, hd_err *err)
{
    static const char *const names[] = {NCCL_LIST(HD_LIBRARY_NAME) NULL};
    char file[32];
    snprintf(file, sizeof file, "libnccl.so.%d", NCCL_MAJOR);
    c->nccl = (struct hd_cuda_nccl *)hd_mem_zero(sizeof *c->nccl);
    if (!c->nccl) return hd_err_nomem(err, sizeof *c->nccl);
    return hd_cuda_library(c->nccl, "NCCL, which sums over several cards,", file, "libnccl2", names, err);
}

static hd_status refuse(const hd_cuda *c, hd_err *err, const char *what, ncclResult_t e)
{
    if (e == ncclSuccess) return HD_OK;
    const char *more = c->nccl->ncclGetLastError(NULL);
    return hd_err_set(err, HD_EDEVICE, "%s: NCCL says %s%s%s", what, c->nccl->ncclGetErrorString(e),
                      more && *more ? ": " : "", more ? more : "");
}

static hd_status add_up(hd_cuda *c, hd_real *x, size_t count, cudaStream_t on)
{
    ncclResult_t e = ncclSuccess;
    ncclResult_t asked = c->nccl->ncclCommGetAsyncError(c->all, &e); /* of an earlier sum */
    if (asked != ncclSuccess) e = asked;
    if (e == ncclSuccess) e = c->nccl->ncclAllReduce(x, x, count, ncclFloat, ncclSum, c->all, on);
    if (e == ncclSuccess) return HD_OK;
    hd_err said = {HD_OK};
    refuse(c, &said, "the sum of the gradients over the processes", e);
    snprintf(c->base.error, sizeof c->base.error, "%.191s", said.text);
    return HD_EDEVICE;
}

/* A whole number that no other card has, 53 bits of it. */
static double number_of(const cudaDeviceProp *card)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof card->uuid.bytes; i++)
        h = (h ^ (uint8_t)card->uuid.bytes[i]) * 1099511628211u;
    return (double)(h >> 11);
}

/* All processes exchange the numbers of their cards, a few at a time, as sums in which only one adds to
   each entry. */
static hd_status check_card(const hd_cuda *c, hd_err *err)
{
    cudaDeviceProp card;
    cudaError_t e = cudaGetDeviceProperties(&card, c->device);
    if (e != cudaSuccess) return hd_err_set(err, HD_EDEVICE, "the CUDA device: %s", cudaGetErrorString(e));
    double mine = number_of(&card);
    int sharing = 0;
    for (int first = 0; first < c->base.ranks; first += HD_RANKS_NUMBERS) {
        double heard[HD_RANKS_NUMBERS] = {0};
        int at = c->base.rank - first, count = c->base.ranks - first;
        if (count > HD_RANKS_NUMBERS) count = HD_RANKS_NUMBERS;
        if (at >= 0 && at < count) heard[at] = mine;
        hd_status s = hd_ranks_agree(HD_OK, heard, (size_t)count, err);
        for (int i = 0; i < count; i++) sharing += heard[i] == mine;
        if (s) return s;
    }
    return sharing < 2 ? HD_OK
                       : hd_err_set(err, HD_ELIMIT,
                                    "%d processes share this card: NCCL needs one card for each (%s; start "
                                    "fewer, or give --device cpu)",
                                    sharing, card.name);
}

/* -- sums beside the backward pass -- */

static hd_status sum_failed(hd_cuda *c, cudaError_t e)
{
    return e == cudaSuccess ? HD_OK : hd_cuda_fail(c, "the sum of the gradients", cudaGetErrorString(e));
}

/* In a step that is captured the mark becomes part of it: an event that every replay records anew, and that
   other streams wait for. */
static hd_status sum_mark(hd_backend *b, size_t which)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    unsigned how = c->capturing ? cudaEventRecordExternal : cudaEventRecordDefault;
    return sum_failed(c, cudaEventRecordWithFlags(c->nccl->marked[which], c->stream, how));
}

static hd_status sum_begin(hd_backend *b, size_t which, hd_real *x, size_t count)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    hd_status s = sum_failed(c, cudaStreamWaitEvent(c->nccl->beside, c->nccl->marked[which], 0));
    hd_status summed = add_up(c, x, count, c->nccl->beside); /* the others wait for it, whatever failed */
    return s ? s : summed;
}

static hd_status sum_end(hd_backend *b)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    cudaError_t e = cudaEventRecord(c->nccl->summed, c->nccl->beside);
    if (e == cudaSuccess) e = cudaStreamWaitEvent(c->stream, c->nccl->summed, 0);
    return sum_failed(c, e);
}

/* Of the highest priority: the blocks of a sum are few, and would wait behind those of the backward pass. */
static hd_status open_beside(hd_cuda *c, hd_err *err)
{
    struct hd_cuda_nccl *n = c->nccl;
    int least, greatest;
    cudaError_t e = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (e == cudaSuccess) e = cudaStreamCreateWithPriority(&n->beside, cudaStreamNonBlocking, greatest);
    for (int i = 0; i < HD_RANKS_SUMS && e == cudaSuccess; i++)
        e = cudaEventCreateWithFlags(&n->marked[i], cudaEventDisableTiming);
    if (e == cudaSuccess) e = cudaEventCreateWithFlags(&n->summed, cudaEventDisableTiming);
    if (e != cudaSuccess) return hd_err_set(err, HD_EDEVICE, "the CUDA device: %s", cudaGetErrorString(e));
    hd_backend *b = &c->base;
    b->rank_sum_mark = sum_mark, b->rank_sum_begin = sum_begin, b->rank_sum_end = sum_end;
    return HD_OK;
}

static void close_beside(struct hd_cuda_nccl *n)
{
    for (int i = 0; i < HD_RANKS_SUMS; i++)
        if (n->marked[i]) cudaEventDestroy(n->marked[i]);
    if (n->summed) cudaEventDestroy(n->summed);
    if (n->beside) cudaStreamDestroy(n->beside);
}

/* -- meeting and parting -- */

/* HEED_NCCL=1 lets a process alone go this way too: that is how it is tested on one card. */
hd_status hd_cuda_meet(hd_backend *b, hd_err *err)
{
    hd_cuda *c = (hd_cuda *)b;
    const char *asked = getenv("HEED_NCCL");
    if (b->ranks < 2 && (!asked || strcmp(asked, "1"))) return HD_OK;
    hd_cuda_here here(c->device);
    ncclUniqueId id;
    memset(&id, 0, sizeof id);
    hd_status s = load(c, err);
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = check_card(c, err);
    if (!s && !b->rank) s = refuse(c, err, "the processes cannot meet", c->nccl->ncclGetUniqueId(&id));
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = hd_ranks_share(&id, sizeof id, err);
    if (s) return s;
    s = refuse(c, err, "the processes cannot meet",
               c->nccl->ncclCommInitRank(&c->all, b->ranks, id, b->rank));
    if (s) c->all = NULL;
    if (!s) s = open_beside(c, err);
    return hd_ranks_agree(s, NULL, 0, err);
}

hd_status hd_cuda_rank_sum(hd_backend *b, hd_real *x, size_t count)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!c->all || !count) return HD_OK;
    hd_cuda_here here(c->device);
    return add_up(c, x, count, c->stream);
}

void hd_cuda_part(hd_cuda *c)
{
    ncclResult_t e = ncclSuccess;
    if (c->all && c->nccl->ncclCommGetAsyncError(c->all, &e) == ncclSuccess && e == ncclSuccess)
        c->nccl->ncclCommDestroy(c->all);
    else if (c->all)
        c->nccl->ncclCommAbort(c->all); /* the others may not answer any more */
    if (c->nccl) close_beside(c->nccl);
    hd_mem_free(c->nccl);
    c->all = NULL, c->nccl = NULL;
}
