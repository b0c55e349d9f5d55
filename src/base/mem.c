/* The only malloc and free of heed. A head in front of each block keeps its size, so that free can count it
   down. Easy to get wrong: the block itself is allocated to the exact byte, never rounded up, so that
   sanitizers see an overrun of one. */
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEAD = HD_ALIGN, /* a whole cache line, so that the block after it stays aligned */
    PAGES = 1 << 20, /* bytes that are worth asking the system for pages: of zeros, or large ones */
};

static struct {
    atomic_size_t used, peak, blocks, calls;
    atomic_size_t limit;   /* 0: none */
    atomic_size_t fail_in; /* calls until one fails; 0: none */
} total;

static size_t *head_of(void *block)
{
    return (size_t *)(void *)((char *)block - HEAD);
}

static bool must_fail(void)
{
    size_t n = atomic_load(&total.fail_in);
    while (n && !atomic_compare_exchange_weak(&total.fail_in, &n, n - 1)) {
    }
    return n == 1;
}

/* Adds to `used` before allocating, so that two threads cannot exceed the limit together. */
static bool reserve(size_t bytes)
{
    size_t limit = atomic_load(&total.limit), used = atomic_load(&total.used);
    do {
        if (limit && (bytes > limit || used > limit - bytes)) return false;
    } while (!atomic_compare_exchange_weak(&total.used, &used, used + bytes));
    return true;
}

static void note_peak(void)
{
    size_t used = atomic_load(&total.used), peak = atomic_load(&total.peak);
    while (used > peak && !atomic_compare_exchange_weak(&total.peak, &peak, used)) {
    }
}

/* Large pages for a block: reading weights of many MiB waits for the table of small ones. Only a hint: where
   the system has no large pages or spares none, the block is what it is without. */
static void ask_large_pages(void *block, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)block / page * page,
                    end = ((uintptr_t)block + bytes + page - 1) / page * page;
    madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

void *hd_mem_new(size_t bytes)
{
    atomic_fetch_add(&total.calls, 1);
    if (must_fail() || bytes > PTRDIFF_MAX - HEAD || !reserve(bytes)) return NULL;
    void *head;
    if (posix_memalign(&head, HD_ALIGN, HEAD + bytes)) {
        atomic_fetch_sub(&total.used, bytes);
        return NULL;
    }
    if (bytes >= PAGES) ask_large_pages(head, HEAD + bytes);
    *(size_t *)head = bytes;
    atomic_fetch_add(&total.blocks, 1);
    note_peak();
    return (char *)head + HEAD;
}

void hd_mem_clear(void *from, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)from,
                    first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
    if (bytes < PAGES || madvise((void *)first, last - first, MADV_DONTNEED)) {
        memset(from, 0, bytes);
        return;
    }
    memset(from, 0, first - begin);
    memset((void *)last, 0, begin + bytes - last);
}

void *hd_mem_zero(size_t bytes)
{
    void *block = hd_mem_new(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void *hd_mem_array(size_t count, size_t size)
{
    size_t bytes;
    return hd_size_mul(count, size, &bytes) ? hd_mem_zero(bytes) : NULL;
}

/* Always moves the block: there is no aligned realloc, and both blocks exist while the bytes are copied,
   as counted. */
void *hd_mem_grow(void *block, size_t bytes)
{
    void *grown = hd_mem_new(bytes);
    if (!grown || !block) return grown;
    size_t old = *head_of(block);
    memcpy(grown, block, old < bytes ? old : bytes);
    hd_mem_free(block);
    return grown;
}

hd_status hd_mem_reserve(void *list, size_t *room, size_t need, size_t size, hd_err *err)
{
    size_t more = 2 * *room > 64 ? 2 * *room : 64, bytes;
    void *block;
    if (need <= *room) return HD_OK;
    if (more < need) more = need;
    memcpy(&block, list, sizeof block); /* reading it as a void ** would break aliasing rules */
    void *grown = hd_size_mul(more, size, &bytes) ? hd_mem_grow(block, bytes) : NULL;
    if (!grown) return hd_err_nomem(err, more * size);
    memcpy(list, &grown, sizeof grown);
    *room = more;
    return HD_OK;
}

void hd_mem_free(void *block)
{
    if (!block) return;
    atomic_fetch_sub(&total.used, *head_of(block));
    atomic_fetch_sub(&total.blocks, 1);
    free(head_of(block));
}

char *hd_mem_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = hd_mem_new(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

hd_mem_stat hd_mem_now(void)
{
    return (hd_mem_stat){.used = atomic_load(&total.used),
                         .peak = atomic_load(&total.peak),
                         .blocks = atomic_load(&total.blocks),
                         .calls = atomic_load(&total.calls)};
}

void hd_mem_peak_reset(void)
{
    atomic_store(&total.peak, atomic_load(&total.used));
}

void hd_mem_limit(size_t bytes)
{
    atomic_store(&total.limit, bytes);
}

void hd_mem_fail_at(size_t n)
{
    atomic_store(&total.fail_in, n);
}

void hd_mem_keep_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

void hd_mem_return_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
    malloc_trim(0);
#endif
}

bool hd_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}
