/* The table of one instruction set: every kernel of the list under its suffixed name. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/form/form.h"
#include "backend/cpu/product/tile.h"

#define X(name) hd_status KERNEL(name)(hd_backend *, const hd_##name##_args *);
HD_KERNEL_LIST(X)
#undef X

static void fill(hd_kernels *table)
{
#define X(name) table->name = KERNEL(name);
    HD_KERNEL_LIST(X)
#undef X
}

/* -- the set's own product as a form -- */

static size_t f32_size(size_t n, size_t k)
{
    return KERNEL(packed_size)(n, k) * sizeof(hd_real);
}

static void f32_pack(void *to, const hd_packing *b, size_t strip, size_t strip_end)
{
    KERNEL(pack)(to, b->b, b->stride, b->transposed, b->n, b->k, strip * STRIP, strip_end * STRIP);
}

static size_t f32_scratch(size_t k)
{
    (void)k;
    return KERNEL(panel_size)() * sizeof(hd_real);
}

static void f32_multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                         char *scratch)
{
    hd_product of = *p;
    if (p->weight) of.b = p->weight;
    KERNEL(product)(&of, row, row_end, strip, strip_end, (hd_real *)scratch);
}

static size_t f32_panels(size_t m, size_t k)
{
    return KERNEL(panels_size)(m, k) * sizeof(hd_real);
}

static void f32_pack_panels(void *to, const hd_product *p, size_t tile, size_t tile_end)
{
    KERNEL(pack_panels)(to, p, tile, tile_end);
}

#define HD_TEXT2(x) #x
#define HD_TEXT(x)  HD_TEXT2(x)
#if defined(__aarch64__)
#define ISA_NAME "neon"
#else
#define ISA_NAME HD_TEXT(HD_ISA)
#endif

static const hd_form f32 = {.name = ISA_NAME,
                            .stores = HD_REAL,
                            .strip = STRIP,
                            .rows = TILE_ROWS,
                            .size = f32_size,
                            .pack = f32_pack,
                            .scratch = f32_scratch,
                            .multiply = f32_multiply,
                            .panels = f32_panels,
                            .pack_panels = f32_pack_panels,
                            .trains = true};
extern const hd_form KERNEL(widened);
hd_status KERNEL(rescore)(hd_backend *, const hd_rescore_args *);

const hd_cpu_isa HD_PASTE(hd_cpu_isa_, HD_ISA) = {ISA_NAME, fill, &f32, &KERNEL(widened), KERNEL(rescore)};
