/* The walk over time that recurrent cells share, forward and back: items by falling length, their lanes, and
   how a step's product and rows go to workers. Everything is in the shared block, which no other kernel may
   ask for meanwhile. */
#ifndef HD_BACKEND_CPU_WALK_H
#define HD_BACKEND_CPU_WALK_H

#include "backend/cpu/product/product.h"
#include "backend/cpu/vector.h"

typedef struct lane lane;

typedef struct walk {
    hd_cpu *cpu;
    const void *args; /* of the kernel */
    const hd_recurrence *re;
    void (*run)(lane *l);
    size_t width, gates, lanes;
    const hd_real *packed; /* w for the products */
    int32_t *order;        /* [items]: by falling length */
    hd_real *zeros;        /* [width] */
    hd_real *rows;         /* [items, (2 + gates) * width]: of all lanes */
} walk;

/* Items l, l + lanes, ... of the order: each lane has its share of long ones. */
struct lane {
    const walk *walk;
    size_t number, items, active; /* active: the first so many are still going at `time` */
    size_t time;
    hd_real *h, *c, *gates; /* [items, width] twice, [items, gates * width] */
    hd_product product;
    hd_real *panel;
    bool shared; /* the workers share its steps */
};

INLINE size_t lane_item(const lane *l, size_t i)
{
    return (size_t)l->walk->order[l->number + i * l->walk->lanes];
}
INLINE size_t lane_length(const lane *l, size_t i)
{
    return (size_t)l->walk->re->seg->len[lane_item(l, i)];
}
/* The row that item i of the lane has at a time that it lives to see. */
INLINE size_t lane_row(const lane *l, size_t i, size_t time)
{
    size_t item = lane_item(l, i), begin = (size_t)l->walk->re->seg->begin[item];
    return begin + (l->walk->re->reverse ? (size_t)l->walk->re->seg->len[item] - 1 - time : time);
}

/* How many items live at l->time; when it rises, from all of them on, or falls. */
INLINE size_t lane_active(lane *l)
{
    while (l->active && lane_length(l, l->active - 1) <= l->time) l->active--;
    while (l->active < l->items && lane_length(l, l->active) > l->time) l->active++;
    return l->active;
}

/* n columns of a state from column `from` on; zeros where it has none. */
INLINE void lane_state(hd_real *to, const hd_tensor *state, size_t item, size_t from, size_t n)
{
    if (state && from < hd_cols_of(state))
        memcpy(to, hd_row(state, item) + from, n * sizeof *to);
    else
        memset(to, 0, n * sizeof *to);
}

static void lane_strips(void *arg, size_t begin, size_t end, int worker)
{
    const lane *l = arg;
    const hd_cpu *cpu = l->walk->cpu;
    hd_real *panel = (hd_real *)(cpu->scratch + (size_t)worker * cpu->scratch_each);
    KERNEL(product)(&l->product, 0, l->active, begin, end, panel);
}

/* The product of the active rows. */
static void lane_multiply(lane *l)
{
    size_t strip = KERNEL(strip)(), strips = (l->product.n + strip - 1) / strip;
    l->product.m = l->active;
    if (l->shared)
        hd_team_run(l->walk->cpu->team, strips, 1 + 16 * HD_GRAIN / (strip * l->active * (l->product.k + 1)),
                    lane_strips, l);
    else
        KERNEL(product)(&l->product, 0, l->active, 0, strips, l->panel);
}

/* fn(lane, begin, end, worker) for the active rows. */
static void lane_rows(lane *l, hd_team_fn *fn)
{
    size_t grain = 1 + HD_GRAIN / (8 * l->walk->gates * l->walk->width);
    if (l->shared)
        hd_team_run(l->walk->cpu->team, l->active, grain, fn, l);
    else
        fn(l, 0, l->active, 0);
}

static void walk_lanes(void *arg, size_t begin, size_t end, int worker)
{
    const walk *w = arg;
    size_t items = w->re->seg->items, n = w->width;
    for (size_t number = begin; number < end; number++) {
        size_t before = number * (items / w->lanes) + (number < items % w->lanes ? number : items % w->lanes);
        lane l = {.walk = w, .number = number, .shared = w->lanes == 1};
        l.items = items / w->lanes + (number < items % w->lanes);
        l.h = w->rows + before * (2 + w->gates) * n;
        l.c = l.h + l.items * n, l.gates = l.c + l.items * n;
        l.panel = (hd_real *)(w->cpu->scratch + (size_t)worker * w->cpu->scratch_each);
        l.active = l.items;
        w->run(&l);
    }
}

typedef struct packing {
    const walk *w;
    hd_real *to;
    bool back;
} packing;

static void walk_pack(void *arg, size_t begin, size_t end, int worker)
{
    const packing *p = arg;
    const hd_tensor *w = p->w->re->w;
    size_t strip = KERNEL(strip)(), wide = p->w->gates * p->w->width;
    (void)worker;
    KERNEL(pack)
    (p->to, w->data, w->stride, !p->back, p->back ? p->w->width : wide, p->back ? wide : p->w->width,
     begin * strip, end * strip);
}

/* Stable counting sort; `count` has longest + 2 places. */
static void walk_sort(const walk *w, int32_t *count)
{
    const hd_seg *seg = w->re->seg;
    memset(count, 0, (seg->longest + 2) * sizeof *count);
    for (size_t i = 0; i < seg->items; i++) count[seg->longest - (size_t)seg->len[i] + 1]++;
    for (size_t i = 0; i <= seg->longest; i++) count[i + 1] += count[i];
    for (size_t i = 0; i < seg->items; i++)
        w->order[count[seg->longest - (size_t)seg->len[i]]++] = (int32_t)i;
}

/* Runs all lanes. back: the products are with w, else with its transpose. */
static hd_status walk_run(walk *w, bool back)
{
    const hd_seg *seg = w->re->seg;
    size_t strip = KERNEL(strip)(), threads = (size_t)hd_team_size(w->cpu->team);
    w->width = hd_cols_of(w->re->w), w->gates = hd_cell_gates(w->re->cell);
    size_t wide = w->gates * w->width, out = back ? w->width : wide, in = back ? wide : w->width;
    bool packed = w->re->w->prepared && !back;
    size_t weights = packed ? 0 : (KERNEL(packed_size)(out, in) + 15) / 16 * 16,
           zeros = (w->width + 15) / 16 * 16, rows = seg->items * (2 + w->gates) * w->width;
    if (!seg->items || !w->width) return HD_OK;
    if (!hd_cpu_scratch(w->cpu, KERNEL(panel_size)() * sizeof(hd_real))) return HD_ENOMEM;
    hd_real *room = (hd_real *)hd_cpu_shared(w->cpu, (weights + zeros + rows) * sizeof(hd_real) +
                                                         (seg->items + seg->longest + 2) * sizeof(int32_t));
    if (!room) return HD_ENOMEM;
    packing p = {w, room, back};
    w->packed = packed ? w->re->w->prepared : room;
    w->zeros = room + weights, w->rows = w->zeros + zeros;
    memset(w->zeros, 0, zeros * sizeof *w->zeros);
    w->order = (int32_t *)(w->rows + rows);
    if (!packed)
        hd_team_run(w->cpu->team, (out + strip - 1) / strip, 1 + 4 * HD_GRAIN / (strip * (in + 1)), walk_pack,
                    &p);
    walk_sort(w, w->order + seg->items);
    /* a lane fills at least a tile of rows; otherwise its products are shared, which costs two meetings a
     * step */
    w->lanes = seg->items >= threads * KERNEL(tile_rows)() ? threads : 1;
    if (w->lanes > 1)
        hd_team_run(w->cpu->team, w->lanes, 1, walk_lanes, w);
    else
        walk_lanes(w, 0, 1, 0);
    return HD_OK;
}

#endif
