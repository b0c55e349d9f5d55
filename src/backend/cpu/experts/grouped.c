/* Products of segments of rows, an expert's weight each: experts with rows become parts, parts become units
   of rows and strips that workers take in turn. An element is one chain over k as in gemm, so units change
   no bit. Weights are packed some at a time, so that a layer of many experts needs no copy of all. */
#include "backend/cpu/form/form.h"
#include "backend/cpu/vector.h"

enum {
    ROWS = 120,        /* of a unit: whole tiles for all instruction sets */
    PACKED = 16 << 20, /* numbers packed at a time; one part at least */
    UNITS = 4,         /* for each worker at least, where there are so many strips */
};

typedef struct part { /* the product of an expert */
    hd_product p;
    hd_packing b; /* to be packed from here; NULL: it is as it shall be */
    void *to;
    size_t packed; /* numbers of room */
} part;

typedef struct unit {
    const part *of;
    size_t row, row_end, strip, strip_end;
} unit;

typedef struct grouping {
    hd_cpu *cpu;
    const hd_form *form;
    part *part;
    unit *unit;
    hd_real *room;
    size_t parts, units, strip, strips; /* columns of a strip; strips of a part */
} grouping;

static void pack_units(void *arg, size_t begin, size_t end, int worker)
{
    const grouping *g = arg;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        const part *t = &g->part[i / g->strips];
        if (t->b.b) g->form->pack(t->to, &t->b, i % g->strips, i % g->strips + 1);
    }
}

static void multiply_units(void *arg, size_t begin, size_t end, int worker)
{
    const grouping *g = arg;
    char *panel = g->cpu->scratch + (size_t)worker * g->cpu->scratch_each;
    for (size_t i = begin; i < end; i++) {
        const unit *u = &g->unit[i];
        g->form->multiply(&u->of->p, u->row, u->row_end, u->strip, u->strip_end, panel);
    }
}

static size_t blocks_of(const part *t)
{
    return (t->p.m + ROWS - 1) / ROWS;
}

/* Cuts parts [first, end) into units. Few blocks of rows are cut by strips, too. */
static void make_units(grouping *g, size_t first, size_t end)
{
    size_t blocks = 0, wanted = UNITS * (size_t)hd_team_size(g->cpu->team);
    for (size_t i = first; i < end; i++) blocks += blocks_of(&g->part[i]);
    size_t cuts = blocks < wanted ? (wanted + blocks - 1) / blocks : 1;
    if (cuts > g->strips) cuts = g->strips;
    g->units = 0;
    for (size_t i = first; i < end; i++)
        for (size_t row = 0; row < g->part[i].p.m; row += ROWS)
            for (size_t c = 0; c < cuts; c++) {
                size_t till = row + ROWS < g->part[i].p.m ? row + ROWS : g->part[i].p.m;
                g->unit[g->units++] =
                    (unit){&g->part[i], row, till, c * g->strips / cuts, (c + 1) * g->strips / cuts};
            }
}

/* Packs and multiplies all parts, as many at a time as there is room for. */
static void run(grouping *g)
{
    for (size_t first = 0; first < g->parts;) {
        size_t end = first, used = 0;
        do {
            part *t = &g->part[end++];
            if (t->b.b) t->p.weight = t->to = g->room + used;
            used += t->packed;
        } while (end < g->parts && used + g->part[end].packed <= PACKED);
        grouping now = *g;
        now.part += first;
        if (used) hd_team_run(g->cpu->team, (end - first) * g->strips, 1, pack_units, &now);
        make_units(g, first, end);
        hd_team_run(g->cpu->team, g->units, 1, multiply_units, g);
        first = end;
    }
}

/* Room for the parts of all experts, their units and the packed numbers, which are `packed` together and
   `largest` at most in one part. */
static bool take_room(grouping *g, size_t experts, size_t blocks, size_t packed, size_t largest)
{
    size_t cuts = UNITS * (size_t)hd_team_size(g->cpu->team), room = packed < PACKED ? packed : PACKED;
    if (room < largest) room = largest;
    size_t reals = (room + 15) / 16 * 16 * sizeof(hd_real), parts = experts * sizeof *g->part;
    char *at = hd_cpu_shared(g->cpu, reals + parts + (blocks + 2 * cuts) * sizeof *g->unit);
    if (!at) return false;
    g->room = (hd_real *)at, g->part = (part *)(at + reals), g->unit = (unit *)(at + reals + parts);
    return true;
}

/* -- rows times weights -- */

/* Numbers of room for b [k, n] in the form, so that the next begins at a line of memory. */
static size_t packed_of(const grouping *g, size_t n, size_t k)
{
    return (g->form->size(n, k) + 63) / 64 * 64 / sizeof(hd_real);
}

/* How expert e's weight is read by its rows; true if it is to be packed. */
static bool weight_of(const grouping *g, part *t, const hd_grouped_args *a, size_t e)
{
    const void *prepared = a->each && a->b_transposed ? a->each[e]->prepared : NULL;
    size_t rows = a->b_transposed ? t->p.n : t->p.k;
    const hd_real *w = hd_row(a->b, e * rows);
    t->p.b_depth = t->p.k;
    if (prepared)
        t->p.weight = prepared;
    else if (a->b_transposed && g->form->stores == HD_REAL && KERNEL(as_it_lies)(t->p.m, t->p.k))
        t->p.b = w, t->p.b_stride = a->b->stride;
    else
        t->b = (hd_packing){
            .b = w, .stride = a->b->stride, .n = t->p.n, .k = t->p.k, .transposed = a->b_transposed};
    return t->b.b;
}

static part part_of(const hd_grouped_args *a, size_t e)
{
    size_t from = (size_t)a->begin[e];
    return (part){.p = {.c = hd_row(a->y, from),
                        .c_stride = a->y->stride,
                        .a = hd_row(a->a, from),
                        .a_stride = a->a->stride,
                        .m = (size_t)a->begin[e + 1] - from,
                        .n = hd_cols_of(a->y),
                        .k = hd_cols_of(a->a),
                        .add = a->add,
                        .finish = KERNEL(finish)}};
}

hd_status KERNEL(grouped)(hd_backend *backend, const hd_grouped_args *a)
{
    grouping g = {.cpu = (hd_cpu *)backend};
    size_t n = hd_cols_of(a->y), k = hd_cols_of(a->a), blocks = 0, many = 0;
    bool prepared = a->each && a->b_transposed && a->each[0]->prepared; /* all or none are */
    g.form = prepared ? g.cpu->form : g.cpu->unprepared;
    const size_t each = packed_of(&g, n, k);
    g.strip = g.form->strip, g.strips = (n + g.strip - 1) / g.strip;
    for (size_t e = 0; e < a->experts; e++) {
        part t = part_of(a, e);
        blocks += blocks_of(&t);
        many += t.p.m && weight_of(&g, &t, a, e);
    }
    if (!blocks || !n) return HD_OK;
    if (!hd_cpu_scratch(g.cpu, g.form->scratch(k)) ||
        !take_room(&g, a->experts, blocks, many * each, many ? each : 0))
        return HD_ENOMEM;
    for (size_t e = 0; e < a->experts; e++) {
        part t = part_of(a, e);
        if (!t.p.m) continue;
        if (weight_of(&g, &t, a, e)) t.packed = each;
        g.part[g.parts++] = t;
    }
    run(&g);
    return HD_OK;
}

/* -- gradients of weights: the inner dimension is an expert's rows -- */

hd_status KERNEL(grouped_outer)(hd_backend *backend, const hd_grouped_outer_args *a)
{
    grouping g = {.cpu = (hd_cpu *)backend};
    size_t m = hd_cols_of(a->a), n = hd_cols_of(a->b), packed = 0, largest = 0, blocks = 0, deepest = 0;
    g.form = g.cpu->unprepared, g.strip = g.form->strip, g.strips = (n + g.strip - 1) / g.strip;
    for (size_t e = 0; e < a->experts; e++) {
        size_t k = (size_t)(a->begin[e + 1] - a->begin[e]), one = packed_of(&g, n, k);
        packed += one, blocks += (m + ROWS - 1) / ROWS;
        if (one > largest) largest = one, deepest = k;
    }
    if (!packed || !m) return HD_OK;
    if (!hd_cpu_scratch(g.cpu, g.form->scratch(deepest)) ||
        !take_room(&g, a->experts, blocks, packed, largest))
        return HD_ENOMEM;
    for (size_t e = 0; e < a->experts; e++) {
        size_t from = (size_t)a->begin[e], k = (size_t)a->begin[e + 1] - from;
        if (!k) continue;
        g.part[g.parts++] = (part){.p = {.c = hd_row(a->y, e * m),
                                         .c_stride = a->y->stride,
                                         .a = hd_row(a->a, from),
                                         .a_stride = a->a->stride,
                                         .a_transposed = true,
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .b_depth = k,
                                         .add = true,
                                         .finish = KERNEL(finish)},
                                   .b = {.b = hd_row(a->b, from), .stride = a->b->stride, .n = n, .k = k},
                                   .packed = packed_of(&g, n, k)};
    }
    run(&g);
    return HD_OK;
}
