/* A cpu backend that captures as a device does: the kernels called meanwhile are written down, with copies of
   what describes their tensors, and do not run before they are replayed. So captured steps, batches filled up
   and caches with spare places can be tested where there is no device. Memory given back is handed out again
   by size, lowest address first, as on the device, and holds NaN: what is used too late is found out. */
#ifndef RECORDER_H
#define RECORDER_H

#include "check.h"

/* The descriptions each kernel is handed: T a tensor, S segments, P pixels, A attention. */
/* clang-format off */
#define RECORDED_gemm                 T(y) T(a) T(b) T(bias) T(before) S(draw.seg)
#define RECORDED_column_sum           T(y) T(x)
#define RECORDED_unary                T(y) T(x)
#define RECORDED_unary_back           T(dx) T(dy) T(kept) S(draw.seg)
#define RECORDED_gate                 T(y) T(x) T(z)
#define RECORDED_gate_back            T(dx) T(dz) T(dy) T(x) T(z)
#define RECORDED_mix                  T(y) T(x) T(z)
#define RECORDED_mul                  T(y) T(x) T(z)
#define RECORDED_dropout              T(y) T(x) S(draw.seg)
#define RECORDED_gumbel               T(y) T(x) S(draw.seg)
#define RECORDED_gather               T(y) T(x)
#define RECORDED_scatter              T(y) T(x)
#define RECORDED_append               T(y) T(x) S(from)
#define RECORDED_fold                 T(y) T(x) S(to) S(from)
#define RECORDED_refold
#define RECORDED_sine                 T(y) T(x) T(dx) T(dy)
#define RECORDED_rotate               T(x)
#define RECORDED_transpose            T(y) T(x)
#define RECORDED_regrid
#define RECORDED_lead
#define RECORDED_pixels               T(y) P(in) S(to)
#define RECORDED_patches              T(y) T(x) S(to) S(from)
#define RECORDED_patches_back         T(dx) T(dy) S(to) S(from)
#define RECORDED_pool                 T(y) T(which) T(x) S(to) S(from)
#define RECORDED_pool_back            T(dx) T(dy) T(which) S(to) S(from)
#define RECORDED_norm                 T(y) T(sum) T(stat) T(x) T(branch) T(gain) T(bias) S(draw.seg)
#define RECORDED_norm_back \
    T(dx) T(dbranch) T(dgain) T(dbias) T(dy) T(dsum) T(sum) T(stat) T(gain) S(draw.seg)
#define RECORDED_group_norm \
    T(y) T(before) T(x) T(add) T(gain) T(bias) T(stat) T(mean) T(variance) S(seg)
#define RECORDED_group_norm_back      T(dx) T(dgain) T(dbias) T(dz) T(x) T(gain) T(stat) S(seg)
#define RECORDED_softmax              T(y) T(x)
#define RECORDED_softmax_back         T(dx) T(dy) T(y)
#define RECORDED_segment_softmax      T(y) T(x) S(seg)
#define RECORDED_segment_softmax_back T(dx) T(dy) T(y) S(seg)
#define RECORDED_reduce               T(y) T(which) T(x) S(seg)
#define RECORDED_reduce_back          T(dx) T(dy) T(which) S(seg)
#define RECORDED_top                  T(ids) T(values) T(x)
#define RECORDED_sample               T(ids) T(logp) T(x) S(draw.seg)
#define RECORDED_cross_entropy        T(loss) T(logp) T(dx) T(x) T(weight)
#define RECORDED_distance             T(loss) T(dx) T(dtarget) T(x) T(target) T(weight)
#define RECORDED_ctc \
    T(loss) T(logp) T(of.x) T(of.forward) T(of.lse) T(of.weight) S(of.seg) S(of.labels)
#define RECORDED_ctc_back             T(dx) T(of.x) T(of.forward) T(of.lse) T(of.weight) S(of.seg) S(of.labels)
#define RECORDED_mixture              T(loss) T(dx) T(x) T(target) T(weight)
#define RECORDED_window               T(y) T(kappa) T(last) T(w.p) T(w.text) T(w.start) S(w.seg) S(w.of)
#define RECORDED_window_back \
    T(dp) T(dtext) T(dstart) T(dy) T(dlast) T(kappa) T(w.p) T(w.text) T(w.start) S(w.seg) S(w.of)
#define RECORDED_total                T(y) T(x)
#define RECORDED_attend               T(y) T(q) T(k) T(v) T(lse) T(raw) T(scaled) T(masked) T(weights) A(at)
#define RECORDED_attend_back \
    T(dq) T(dk) T(dv) T(dadditive) T(dtable) T(dcenter) T(dragged) T(dgate) T(dy) T(y) T(q) \
    T(k) T(v) T(lse) A(at)
#define RECORDED_recur                T(y) T(last) T(kept) T(z) T(re.w) T(re.bias) T(re.start) S(re.seg)
#define RECORDED_recur_back \
    T(dz) T(dn) T(before) T(dstart) T(dy) T(dlast) T(y) T(kept) T(re.w) T(re.bias) T(re.start) S(re.seg)
#define RECORDED_route                T(ids) T(weights) T(scores) T(logits) T(bias)
#define RECORDED_route_back           T(dlogits) T(dweights) T(ids) T(weights) T(scores)
#define RECORDED_dispatch             T(ids) T(load)
#define RECORDED_combine              T(y) T(x) T(weights)
#define RECORDED_combine_back         T(dx) T(dweights) T(dy) T(x) T(weights)
#define RECORDED_grouped              T(y) T(a) T(b)
#define RECORDED_grouped_outer        T(y) T(a) T(b)
#define RECORDED_balance              T(bias) T(load) T(was)
#define RECORDED_square_sum
#define RECORDED_clip
#define RECORDED_update
#define RECORDED_moment
#define RECORDED_unit                 T(y)
#define RECORDED_descend              T(x)
#define RECORDED_average
#define RECORDED_cast
/* clang-format on */

enum { RECORDER_COPY = HD_KERNELS, RECORDER_CLEAR, RECORDER_BOUNDS, RECORDER_ALIVE, RECORDERS = 16 };

typedef struct recorder_kept { /* a block of a recording; also an idle block of memory */
    struct recorder_kept *next;
    size_t size;
    void *block;
} recorder_kept;

typedef struct recording {
    recorder_kept *kept;
    struct {
        int what; /* hd_kernel_id, or one of the above */
        const void *args;
    } * call;
    size_t calls, room;
} recording;

typedef struct recorder_move {
    void *to;
    const void *from;
    size_t bytes;
} recorder_move;

typedef struct recorder {
    hd_backend *backend;
    hd_backend was; /* its functions before */
    recording *open;
    recorder_kept *idle;
} recorder;

static recorder recorders[RECORDERS];

static recorder *recorder_of(const hd_backend *b)
{
    for (int i = 0; i < RECORDERS; i++)
        if (recorders[i].backend == b) return &recorders[i];
    fail_msg("no recorder");
    return NULL;
}

static void *recorder_keep(recording *g, const void *what, size_t size)
{
    if (!what) return NULL;
    recorder_kept *k = malloc(sizeof *k);
    *k = (recorder_kept){g->kept, size, malloc(size)};
    g->kept = k;
    return memcpy(k->block, what, size);
}

static void recorder_add(recording *g, int what, const void *args)
{
    if (g->calls == g->room) g->call = realloc(g->call, (g->room += 256) * sizeof *g->call);
    g->call[g->calls].what = what, g->call[g->calls++].args = args;
}

static const hd_tensor *recorder_tensor(recording *g, const hd_tensor *t)
{
    const hd_tensor *k = recorder_keep(g, t, sizeof *t);
    if (k) recorder_add(g, RECORDER_ALIVE, k);
    return k;
}

/* Whatever a captured step names must still be there. */
static bool recorder_alive(hd_backend *b, const hd_tensor *t)
{
    for (const recorder_kept *k = recorder_of(b)->idle; k; k = k->next)
        if ((char *)t->data >= (char *)k->block && (char *)t->data < (char *)k->block + k->size) {
            snprintf(b->error, sizeof b->error, "replay: a tensor of %zu x %zu lies in memory given back",
                     hd_rows_of(t), hd_cols_of(t));
            return false;
        }
    return true;
}

static const hd_seg *recorder_seg(recording *g, const hd_seg *s)
{
    hd_seg *k = recorder_keep(g, s, sizeof *s);
    if (!k) return NULL;
    k->host_len = k->host_grid = NULL; /* not for kernels */
    recorder_add(g, RECORDER_BOUNDS, k);
    return k;
}

/* What the host knew of segments when they were captured must hold whenever they are replayed. */
static bool recorder_within(hd_backend *b, const hd_seg *s)
{
    for (size_t i = 0; i < s->items; i++) {
        size_t len = (size_t)s->len[i], end = (size_t)s->begin[i] + len;
        if (len <= s->longest && (!len || end <= s->rows)) continue;
        snprintf(b->error, sizeof b->error,
                 "replay: item %zu has %zu rows up to %zu; captured with at most %zu up to %zu", i, len, end,
                 s->longest, s->rows);
        return false;
    }
    return true;
}

#define T(f) k->f = recorder_tensor(g, k->f);
#define S(f) k->f = recorder_seg(g, k->f);
#define P(f) k->f = recorder_keep(g, k->f, sizeof *k->f);
#define A(f) k->f = recorder_attention(g, k->f);
static const hd_attention *recorder_attention(recording *g, const hd_attention *a)
{
    hd_attention *k = recorder_keep(g, a, sizeof *a);
    T(additive) T(table) T(center) T(ragged) T(gate) S(qseg) S(kseg) S(draw.seg) return k;
}

#define X(name)                                                                \
    static hd_status recorder_##name(hd_backend *b, const hd_##name##_args *a) \
    {                                                                          \
        recorder *c = recorder_of(b);                                          \
        recording *g = c->open;                                                \
        if (!g) return c->was.kernel.name(b, a);                               \
        hd_##name##_args *k = recorder_keep(g, a, sizeof *a);                  \
        RECORDED_##name recorder_add(g, HD_KERNEL_##name, k);                  \
        return HD_OK;                                                          \
    }
HD_KERNEL_LIST(X)
#undef X
#undef T
#undef S
#undef P
#undef A

static void recorder_copy(hd_backend *b, void *to, const void *from, size_t bytes)
{
    recorder *c = recorder_of(b);
    recorder_move m = {to, from, bytes};
    if (c->open)
        recorder_add(c->open, RECORDER_COPY, recorder_keep(c->open, &m, sizeof m));
    else
        c->was.copy(b, to, from, bytes);
}

static void recorder_clear(hd_backend *b, void *block, size_t bytes)
{
    recorder *c = recorder_of(b);
    recorder_move m = {block, NULL, bytes};
    if (c->open)
        recorder_add(c->open, RECORDER_CLEAR, recorder_keep(c->open, &m, sizeof m));
    else
        c->was.clear(b, block, bytes);
}

static void recorder_transfer(hd_backend *b, void *to, const void *from, size_t bytes)
{
    recorder *c = recorder_of(b);
    if (c->open)
        snprintf(b->error, sizeof b->error, "transfer: inside a step that is being captured");
    else
        c->was.upload(b, to, from, bytes);
}

static hd_status recorder_capture(hd_backend *b)
{
    recorder_of(b)->open = calloc(1, sizeof(recording));
    return HD_OK;
}

static void *recorder_captured(hd_backend *b)
{
    recorder *c = recorder_of(b);
    recording *g = c->open;
    c->open = NULL;
    return g;
}

static hd_status recorder_replay(hd_backend *b, void *graph)
{
    recorder *c = recorder_of(b);
    const recording *g = graph;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < g->calls; i++) {
        const void *args = g->call[i].args;
        const recorder_move *m = args;
        switch (g->call[i].what) {
#define X(name)                          \
    case HD_KERNEL_##name:               \
        s = c->was.kernel.name(b, args); \
        break;
            HD_KERNEL_LIST(X)
#undef X
        case RECORDER_COPY:
            c->was.copy(b, m->to, m->from, m->bytes);
            break;
        case RECORDER_BOUNDS:
            if (!recorder_within(b, args)) s = HD_EDEVICE;
            break;
        case RECORDER_ALIVE:
            if (!recorder_alive(b, args)) s = HD_EDEVICE;
            break;
        default:
            c->was.clear(b, m->to, m->bytes);
        }
    }
    return s;
}

static void recorder_drop(recorder_kept **list)
{
    while (*list) {
        recorder_kept *next = (*list)->next;
        free((*list)->block);
        free(*list);
        *list = next;
    }
}

static void recorder_forget(hd_backend *b, void *graph)
{
    recording *g = graph;
    (void)b;
    if (!g) return;
    recorder_drop(&g->kept);
    free(g->call);
    free(g);
}

static size_t recorder_size(size_t bytes)
{
    return bytes / 512 * 512 + 512;
}

static void *recorder_alloc(hd_backend *b, size_t bytes)
{
    recorder *c = recorder_of(b);
    size_t size = recorder_size(bytes);
    recorder_kept **best = NULL;
    for (recorder_kept **at = &c->idle; *at; at = &(*at)->next)
        if ((*at)->size == size && (!best || (*at)->block < (*best)->block)) best = at;
    if (!best) {
        void *block = c->was.alloc(b, size);
        return block ? memset(block, 0xFF, size) : NULL;
    }
    recorder_kept *found = *best;
    void *block = found->block;
    *best = found->next;
    free(found);
    return block;
}

static void recorder_release(hd_backend *b, void *block, size_t bytes)
{
    recorder *c = recorder_of(b);
    if (!block) return;
    recorder_kept *k = malloc(sizeof *k);
    *k = (recorder_kept){c->idle, recorder_size(bytes), memset(block, 0xFF, recorder_size(bytes))};
    c->idle = k;
}

static void recorder_free(hd_backend *b)
{
    recorder *c = recorder_of(b);
    while (c->idle) {
        recorder_kept *k = c->idle;
        c->idle = k->next;
        c->was.release(b, k->block, k->size);
        free(k);
    }
    void (*was)(hd_backend *) = c->was.free;
    *c = (recorder){0};
    was(b);
}

/* Makes b, a cpu backend that nothing was taken from yet, capture. */
CHECK_UNUSED static void recorder_attach(hd_backend *b)
{
    recorder *c = recorder_of(NULL);
    *c = (recorder){.backend = b, .was = *b};
#define X(name) b->kernel.name = recorder_##name;
    HD_KERNEL_LIST(X)
#undef X
    b->alloc = recorder_alloc, b->release = recorder_release;
    b->upload = b->download = recorder_transfer;
    b->copy = recorder_copy, b->clear = recorder_clear;
    b->capture = recorder_capture, b->captured = recorder_captured;
    b->replay = recorder_replay, b->forget = recorder_forget;
    b->free = recorder_free;
}

#endif
