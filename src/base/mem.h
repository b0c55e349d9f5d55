/* The only malloc and free of heed. Counts, limits, and fails the n-th call on request, so that tests can
   walk through every allocation. The counters are the one process-wide state in the library. */
#ifndef HD_BASE_MEM_H
#define HD_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define HD_ALIGN 64 /* of every block: one cache line, the widest vector */

/* Blocks are HD_ALIGN-aligned. NULL on failure; a size of 0 gives a unique block. */
void *hd_mem_new(size_t bytes);
void *hd_mem_zero(size_t bytes);
void *hd_mem_array(size_t count, size_t size); /* zeroed; NULL when count*size overflows */
void *hd_mem_grow(void *block, size_t bytes);  /* as realloc; the old block stays valid on failure */
void hd_mem_free(void *block);                 /* accepts NULL */
/* Sets bytes of a block to zero. Whole pages of many bytes go back to the system until they are touched
   again, so that it also drops what nobody reads any more. */
void hd_mem_clear(void *from, size_t bytes);
char *hd_mem_text(const char *text); /* a copy, to be freed */

/* Room for `need` elements of `size` bytes in a list that grows: `list` is the address of the pointer to
   them, `room` how many fit; it at least doubles when the list grows. Both are unchanged after a failure. */
hd_status hd_mem_reserve(void *list, size_t *room, size_t need, size_t size, hd_err *err);

typedef struct hd_mem_stat {
    size_t used;   /* bytes in live blocks */
    size_t peak;   /* largest `used` since the last hd_mem_peak_reset */
    size_t blocks; /* live blocks */
    size_t calls;  /* allocations requested since the start */
} hd_mem_stat;

hd_mem_stat hd_mem_now(void);
void hd_mem_peak_reset(void);
void hd_mem_limit(size_t bytes); /* allocations that would exceed it fail; 0 lifts the limit */
void hd_mem_fail_at(size_t n);   /* the n-th allocation from now fails, once; 0 disarms */

/* For programs, at their start: freed blocks of up to 16 MiB stay the process's, up to 128 MiB of them.
   Threads that decode pictures would otherwise have every block cleared by the system again. */
void hd_mem_keep_freed(void);
/* For programs that run for long, at their start and when they have freed much: it goes back to the system,
   and so does what is freed from now on. */
void hd_mem_return_freed(void);

/* a*b, or false on overflow. */
bool hd_size_mul(size_t a, size_t b, size_t *product);

#endif
