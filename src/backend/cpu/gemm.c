/* The product over threads: b is packed once (or was, by prepare), then workers take pieces of the
   rows, or of the columns when there are fewer rows, so that each strip of b is read by one of them. For few
   rows packing all of b is not worth it: they read the weights unpacked. No element is ever summed by two
   workers. */
#include <stdio.h>

#include "backend/cpu/form/form.h"
#include "backend/cpu/vector.h"
#include "base/mem.h"

typedef struct job {
    hd_product p;
    hd_packing b;          /* to be packed from here */
    void *packed, *panels; /* of b, of a */
    const hd_form *form;
    size_t tiles, strips; /* of rows and of columns: what workers share */
    bool by_rows;
    hd_cpu *cpu;
    size_t threads;
} job;

static void pack_part(void *arg, size_t begin, size_t end, int worker)
{
    job *j = arg;
    (void)worker;
    j->form->pack(j->packed, &j->b, begin, end);
}

static void panels_part(void *arg, size_t begin, size_t end, int worker)
{
    job *j = arg;
    (void)worker;
    j->form->pack_panels(j->panels, &j->p, begin, end);
}

static void multiply_part(void *arg, size_t begin, size_t end, int worker)
{
    job *j = arg;
    char *panel = j->cpu->scratch + (size_t)worker * j->cpu->scratch_each;
    size_t row = 0, row_end = j->p.m;
    if (j->by_rows) {
        row = begin * j->form->rows, row_end = end * j->form->rows < j->p.m ? end * j->form->rows : j->p.m;
        begin = 0, end = j->strips;
    }
    j->form->multiply(&j->p, row, row_end, begin, end, panel);
}

enum { FEW_TILES = 40 };          /* whose panels stay in caches */
static const double UNEVEN = 0.1; /* what the workers may lose for reading b once */

/* -- few rows with a b [K,N] as it lies: each number is the chain over k that the product makes -- */

enum { LYING_ROWS = 2, LYING = 8 }; /* vectors of columns that go together */

static bool lies(const hd_gemm_args *g)
{
    return !g->b_transposed && !g->a_transposed && hd_rows_of(g->y) <= LYING_ROWS &&
           hd_cols_of(g->y) % VL == 0 && !g->add && !g->bias && !g->before && g->act == HD_IDENTITY;
}

INLINE void row_columns(const job *j, const hd_real *a, hd_real *c, size_t from, int vectors)
{
    vec sum[LYING];
    const hd_real *b = j->b.b + from;
    for (int i = 0; i < vectors; i++) sum[i] = hd_set(0);
    for (size_t k = 0; k < j->p.k; k++, b += j->b.stride) {
        vec x = hd_spread(a[k]);
        for (int i = 0; i < vectors; i++) sum[i] = hd_fma(hd_load(b + (size_t)i * VL), x, sum[i]);
    }
    for (int i = 0; i < vectors; i++) hd_store(c + from + (size_t)i * VL, sum[i]);
}

/* Units are LYING vectors of columns. */
static void rows_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const size_t last = end * LYING * VL < j->p.n ? end * LYING * VL : j->p.n;
    (void)worker;
    for (size_t row = 0; row < j->p.m; row++) {
        const hd_real *a = j->p.a + row * j->p.a_stride;
        hd_real *c = j->p.c + row * j->p.c_stride;
        size_t from = begin * LYING * VL;
        for (; from + LYING * VL <= last; from += LYING * VL) row_columns(j, a, c, from, LYING);
        for (; from < last; from += VL) row_columns(j, a, c, from, 1);
    }
}

static void multiply_rows(job *j)
{
    const size_t units = (j->p.n + LYING * VL - 1) / (LYING * VL), work = LYING * VL * j->p.m * (j->p.k + 1);
    hd_team_run(j->cpu->team, units, 1 + 16 * HD_GRAIN / work, rows_part, j);
}

/* The share of the workers' time that is lost when `units` equal pieces are distributed whole. */
static double idle_share(const job *j, size_t units)
{
    const size_t most = (units + j->threads - 1) / j->threads;
    return (double)(most * j->threads - units) / (double)(most * j->threads);
}

/* Columns of a worker's share. */
static size_t share_of(const job *j)
{
    return (j->strips + j->threads - 1) / j->threads * j->form->strip;
}

static bool rows_lie(const job *j, size_t columns)
{
    return j->form->stores == HD_REAL && KERNEL(rows_lie)(&j->p, columns);
}

/* Whether neither a nor b is packed: each lies as a tile reads it. */
static bool both_lie(const job *j, const hd_gemm_args *g)
{
    return !g->b_transposed && KERNEL(both_lie)(&j->p, j->b.stride);
}

/* Whether b is read as it lies, in place or packed strip by strip by who multiplies it. Workers share the
   columns then, unless a lies, too. */
static bool b_lies(const job *j, const hd_gemm_args *g)
{
    if (j->p.weight || !j->b.stride || j->form->stores != HD_REAL) return false;
    if (both_lie(j, g)) return true;
    return (!g->b_transposed || !g->a_transposed) && KERNEL(as_it_lies)(j->p.m, j->p.k) &&
           (j->tiles < j->threads || idle_share(j, j->strips) <= idle_share(j, j->tiles) + UNEVEN);
}

/* Rows, unless columns are shared more evenly by far: a worker's rows stay in its cache, and so do their
   sums. A few rows go by columns, which all workers can share, and so do rows that are packed once for all,
   where there are fewer of them than columns: each worker then reads its part of b instead of all. */
static bool rows_are_shared(const job *j)
{
    const bool columns = j->form->panels && j->tiles <= FEW_TILES && j->p.m <= j->p.n && j->threads > 1;
    return j->tiles >= j->threads &&
           idle_share(j, j->tiles) <= idle_share(j, j->strips) + (columns ? -UNEVEN : UNEVEN);
}

/* How the workers share it. */
static void split(job *j, const hd_gemm_args *g)
{
    j->threads = (size_t)hd_team_size(j->cpu->team);
    j->tiles = (j->p.m + j->form->rows - 1) / j->form->rows;
    j->strips = (j->p.n + j->form->strip - 1) / j->form->strip;
    if (b_lies(j, g)) j->p.b = j->b.b, j->p.b_stride = j->b.stride, j->p.b_across = !g->b_transposed;
    j->by_rows = (!j->p.b_stride || both_lie(j, g)) && rows_are_shared(j);
}

/* Packs what is to be packed: b, unless it was prepared or is read as it lies, and a for workers that share
   the columns. */
static bool pack(job *j)
{
    const size_t panels = j->by_rows || j->tiles < 2 || !j->form->panels || rows_lie(j, share_of(j))
                              ? 0
                              : j->form->panels(j->p.m, j->p.k);
    /* also for few rows: strips are read one after the other */
    const size_t b = j->p.weight || j->p.b_stride ? 0 : j->form->size(j->p.n, j->p.k),
                 begin = (b + HD_ALIGN - 1) / HD_ALIGN * HD_ALIGN;
    char *room = b + panels ? hd_cpu_shared(j->cpu, begin + panels) : NULL;
    if (b + panels && !room) return false;
    if (b) {
        j->p.weight = j->packed = room;
        hd_team_run(j->cpu->team, j->strips, 1 + 4 * HD_GRAIN / (j->form->strip * (j->p.k + 1)), pack_part,
                    j);
    }
    if (panels) {
        j->p.panels = j->panels = room + begin;
        hd_team_run(j->cpu->team, j->tiles, 1 + 4 * HD_GRAIN / (j->form->rows * (j->p.k + 1)), panels_part,
                    j);
    }
    return true;
}

/* Tiles or strips that a worker takes at once, at least. */
static size_t grain_of(const job *j)
{
    const size_t work = (j->by_rows ? j->form->rows * j->p.n : j->form->strip * j->p.m) * (j->p.k + 1),
                 units = j->by_rows ? j->tiles : j->strips, share = (units + j->threads - 1) / j->threads,
                 grain = 1 + 16 * HD_GRAIN / work;
    /* each piece packs all rows again, or reads all of b, or takes less of each row of it than lies together
     */
    const bool whole =
        j->by_rows ? j->p.b_stride : !j->panels && (!rows_lie(j, share_of(j)) || j->p.b_across);
    return whole && grain < share ? share : grain;
}

/* Of a model that only runs there is nothing but the form of a weight (nn/weight/form.h). */
static hd_status refuse(hd_backend *backend)
{
    snprintf(backend->error, sizeof backend->error,
             "this needs weights in f32, which are gone: --precision f32 keeps them");
    return HD_EARG;
}

static hd_status multiply(hd_backend *backend, const hd_gemm_args *g)
{
    hd_cpu *cpu = (hd_cpu *)backend;
    job j = {.cpu = cpu};
    j.p = (hd_product){.c = g->y->data,
                       .c_stride = g->y->stride,
                       .a = g->a->data,
                       .a_stride = g->a->stride,
                       .a_transposed = g->a_transposed,
                       .m = hd_rows_of(g->y),
                       .n = hd_cols_of(g->y),
                       .k = g->a_transposed ? hd_rows_of(g->a) : hd_cols_of(g->a),
                       .add = g->add,
                       .bias = g->bias ? g->bias->data : NULL,
                       .act = g->act,
                       .finish = KERNEL(finish)};
    j.p.b_depth = j.p.k;
    j.b = (hd_packing){g->b->data, g->b->stride, j.p.n, j.p.k, .transposed = g->b_transposed};
    if (g->before) j.p.before = g->before->data, j.p.before_stride = g->before->stride;
    if (!j.p.m || !j.p.n) return HD_OK;
    if (!g->b->data && j.p.k && (!g->b->prepared || !g->b_transposed)) return refuse(backend);
    if (lies(g) && cpu->unprepared->stores == HD_REAL && g->draw.p <= 0) return multiply_rows(&j), HD_OK;
    if (g->b_transposed && (!g->a_transposed || cpu->form->trains)) j.p.weight = g->b->prepared;
    j.form = j.p.weight ? cpu->form : cpu->unprepared;
    split(&j, g);
    if (!hd_cpu_scratch(cpu, j.form->scratch(j.p.k)) || !pack(&j)) return HD_ENOMEM;
    hd_team_run(cpu->team, j.by_rows ? j.tiles : j.strips, grain_of(&j), multiply_part, &j);
    if (g->draw.p <= 0) return HD_OK;
    return backend->kernel.dropout(backend, &(hd_dropout_args){.y = g->y, .x = g->y, .draw = g->draw});
}

static hd_tensor moved(const hd_tensor *t, size_t by)
{
    hd_tensor m = *t;
    m.data = (hd_real *)t->data + by;
    m.prepared = NULL; /* it has a form of its own */
    return m;
}

hd_status KERNEL(gemm)(hd_backend *backend, const hd_gemm_args *g)
{
    hd_status s = HD_OK;
    if (g->count < 2) return multiply(backend, g);
    for (size_t i = 0; !s && i < g->count; i++) {
        hd_tensor y = moved(g->y, i * g->y_step), a = moved(g->a, i * g->a_step),
                  b = moved(g->b, i * g->b_step);
        hd_gemm_args one = *g;
        one.y = &y, one.a = &a, one.b = &b;
        s = multiply(backend, &one);
    }
    return s;
}
