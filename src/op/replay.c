/* The table of captured steps. A capture is invalid once memory that it uses was returned, which the arena
   counts; and it belongs to its owner and to the address in step memory where it began. */
#include "op/replay.h"

#include "base/mem.h"

enum { MOST = 96 };

typedef struct kept {
    uint64_t owner, shape;
    hd_arena_mark begin;
    uint64_t used; /* when it was last used, to find the one to replace */
    void *graph;   /* NULL: seen once, not captured */
    size_t moves;
    bool has_result;
    hd_tensor result;
    hd_arena_mark end;
} kept;

struct hd_graphs {
    hd_backend *backend;
    kept at[MOST];
    size_t count;
    uint64_t clock;
    kept *open; /* being captured */
};

void hd_graphs_free(hd_run *r)
{
    hd_backend *b = r->backend;
    if (!r->graphs) return;
    for (size_t i = 0; i < r->graphs->count; i++) b->forget(b, r->graphs->at[i].graph);
    if (b->gone_context == r->graphs) b->gone = NULL, b->gone_context = NULL;
    hd_mem_free(r->graphs);
    r->graphs = NULL;
}

/* hd_backend's gone: the memory that the owner's steps use is about to be released. */
static void drop(void *graphs, uint64_t owner)
{
    struct hd_graphs *g = graphs;
    size_t left = 0;
    for (size_t i = 0; i < g->count; i++)
        if (g->at[i].owner == owner)
            g->backend->forget(g->backend, g->at[i].graph);
        else
            g->at[left++] = g->at[i];
    g->count = left;
}

static bool begin(hd_run *r)
{
    if (r->graphs) return true;
    r->graphs = hd_mem_zero(sizeof *r->graphs);
    if (!r->graphs) return false; /* then without */
    r->graphs->backend = r->backend;
    r->backend->gone = drop, r->backend->gone_context = r->graphs;
    return true;
}

static kept *find(const hd_run *r, uint64_t owner, uint64_t shape)
{
    hd_arena_mark here = hd_arena_here(&r->step);
    for (size_t i = 0; i < r->graphs->count; i++) {
        kept *k = &r->graphs->at[i];
        if (k->owner == owner && k->shape == shape && k->begin.chunk == here.chunk &&
            k->begin.used == here.used)
            return k;
    }
    return NULL;
}

/* Changes when step memory was returned; the pool of gradients keeps its own (hd_pool.keep). */
static size_t moves_of(const hd_run *r)
{
    return r->step.puts;
}

/* Factors of heads are sent while the step runs, and are others in the next. */
bool hd_can_capture(const hd_run *r)
{
    return r->backend->capture && !r->probe && !r->heads;
}

bool hd_replay(hd_run *r, uint64_t owner, uint64_t shape, hd_tensor **result)
{
    if (!hd_can_capture(r) || r->err.status || !r->graphs) return false;
    kept *k = find(r, owner, shape);
    if (!k || !k->graph || k->moves != moves_of(r)) return false;
    if (result && k->has_result) {
        *result = hd_host_take(r, sizeof **result);
        if (!*result) return true;
        **result = k->result;
    }
    k->used = ++r->graphs->clock;
    hd_arena_rewind(&r->step, k->end);
    hd_status s = r->backend->replay(r->backend, k->graph);
    if (s) hd_call_failed(r, s, "replay");
    return true;
}

/* A slot for a new shape: a free one, or the least recently used. */
static kept *place_for(hd_run *r)
{
    struct hd_graphs *g = r->graphs;
    if (g->count < MOST) return &g->at[g->count++];
    kept *oldest = &g->at[0];
    for (size_t i = 1; i < MOST; i++)
        if (g->at[i].used < oldest->used) oldest = &g->at[i];
    r->backend->forget(r->backend, oldest->graph);
    return oldest;
}

void hd_capture(hd_run *r, uint64_t owner, uint64_t shape)
{
    if (!hd_can_capture(r) || r->err.status || !begin(r)) return;
    kept *k = find(r, owner, shape);
    if (!k) {
        k = place_for(r);
        *k = (kept){
            .owner = owner, .shape = shape, .begin = hd_arena_here(&r->step), .used = ++r->graphs->clock};
        return;
    }
    k->used = ++r->graphs->clock;
    r->backend->forget(r->backend, k->graph);
    k->graph = NULL;
    k->moves = moves_of(r);
    hd_status s = r->backend->capture(r->backend);
    if (s)
        hd_call_failed(r, s, "capture");
    else
        r->graphs->open = k;
}

void hd_captured(hd_run *r, const hd_tensor *result)
{
    kept *k = r->graphs ? r->graphs->open : NULL;
    if (!k) return;
    r->graphs->open = NULL;
    k->graph = r->backend->captured(r->backend);
    k->has_result = result;
    if (result) k->result = *result;
    k->end = hd_arena_here(&r->step);
    hd_status s = k->graph ? r->backend->replay(r->backend, k->graph) : HD_EDEVICE;
    if (s && !r->err.status) hd_call_failed(r, s, "capture");
    if (r->err.status) {
        r->backend->forget(r->backend, k->graph);
        k->graph = NULL;
    }
}
