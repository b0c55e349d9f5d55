/* Bump arena with mark and rewind, over host or device memory: it never touches the bytes it hands out.
   It grows by chunks; a reset with more than one chunk joins them into one, so that from the second step on
   the same requests get the same addresses. */
#ifndef HD_BASE_ARENA_H
#define HD_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Where bytes come from: hd_mem for the host, a backend's memory otherwise. get returns NULL on failure. */
typedef struct hd_allocator {
    void *(*get)(void *context, size_t bytes);
    void (*put)(void *context, void *block, size_t bytes);
    void *context;
} hd_allocator;

extern const hd_allocator hd_allocator_host;

typedef struct hd_arena_chunk {
    char *base;
    size_t size;
    size_t before; /* bytes handed out from the chunks before this one, once it is in use */
} hd_arena_chunk;

enum { HD_ARENA_CHUNKS = 64 };

typedef struct hd_arena {
    hd_allocator source;
    size_t chunk_min; /* smallest chunk asked of the source */
    hd_arena_chunk chunk[HD_ARENA_CHUNKS];
    int chunks;  /* owned */
    int current; /* the one being filled */
    size_t used; /* bytes used in the current chunk */
    size_t peak; /* largest sum of bytes handed out at once */
    size_t puts; /* chunks returned so far: while it is unchanged, addresses are valid */
    struct hd_arena_end *ends;
} hd_arena;

typedef struct hd_arena_mark {
    int chunk;
    size_t used;
} hd_arena_mark;

void hd_arena_init(hd_arena *a, hd_allocator source, size_t chunk_min);
void hd_arena_release(hd_arena *a);             /* returns all chunks; the arena may be used again */
void *hd_arena_take(hd_arena *a, size_t bytes); /* HD_ALIGN-aligned, not cleared; NULL on failure */
/* In host memory, with an error instead of NULL alone: zeroed elements; a copy of bytes and a zero byte. */
void *hd_arena_array(hd_arena *a, size_t count, size_t size, hd_err *err);
char *hd_arena_copy(hd_arena *a, const char *bytes, size_t size, hd_err *err);
hd_arena_mark hd_arena_here(const hd_arena *a);
void hd_arena_rewind(hd_arena *a, hd_arena_mark m); /* frees everything taken since m */
/* Calls end(what) at the next reset or release, not at a rewind. False: no memory, and nothing was
   registered. For resources that belong to the arena's contents but were allocated elsewhere. */
bool hd_arena_at_end(hd_arena *a, void (*end)(void *what), void *what);
/* Rewinds to empty and joins the chunks; if that fails, later requests get new chunks. */
void hd_arena_reset(hd_arena *a);

#endif
