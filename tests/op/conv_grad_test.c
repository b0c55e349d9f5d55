/* Gradients of convolution and pooling: windows of all shapes on batches of different grids, some empty, with
   rows of no item. */
#include "op/gradient.h"

typedef struct grids {
    int32_t size[6];
    size_t fill; /* rows of no item behind the three */
    hd_conv_opt conv;
    hd_pool_opt pool;
} grids;

static hd_rows cells(hd_run *r, hd_tensor *x, const grids *g)
{
    if (!g->fill) return (hd_rows){x, hd_grid_of(r, g->size, 3, NULL)};
    size_t rows = g->fill;
    for (int i = 0; i < 6; i += 2) rows += (size_t)(g->size[i] * g->size[i + 1]);
    return (hd_rows){x, hd_grid_within(r, g->size, 3, NULL, (hd_bounds){4, rows, 64})};
}

static hd_tensor *conv(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const grids *g = c->opt;
    return hd_conv(r, cells(r, x[0], g), x[1], c->n ? x[2] : NULL, &g->conv).t;
}

static hd_tensor *pool(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const grids *g = c->opt;
    hd_tensor *y = hd_pool_grid(r, cells(r, x[0], g), &g->pool).t;
    return y ? hd_mul(r, y, y) : NULL;
}

/* The result of one is read by the next: gradients of inputs that others use, too. */
static hd_tensor *chain(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const grids *g = c->opt;
    hd_rows in = cells(r, x[0], g), h = hd_conv(r, in, x[1], x[2], &g->conv);
    h = hd_rows_with(h, hd_add(r, h.t, in.t));
    h = hd_pool_grid(r, h, &g->pool);
    return hd_conv(r, h, x[1], NULL, &g->conv).t;
}

#define SIZES            \
    {                    \
        4, 5, 0, 0, 3, 2 \
    }
#define ROWS 26
static const grids same = {SIZES, 0, .conv = {{3, 3}, {1, 1}, {1, 1}, HD_IDENTITY}},
                   filled = {SIZES, 5, .conv = {{3, 3}, {2, 2}, {1, 1}, HD_tanh}},
                   wide = {SIZES, 0, .conv = {{1, 3}, {1, 2}, {0, 1}, HD_gelu}},
                   tall = {SIZES, 0, .conv = {{3, 2}, {3, 1}, {2, 0}, HD_relu}},
                   apart = {SIZES, 0,
                            .conv = {{2, 2}, {3, 3}, {0, 0}, HD_IDENTITY}}, /* cells that none sees */
    far = {SIZES, 0, .conv = {{2, 2}, {1, 1}, {3, 2}, HD_IDENTITY}},        /* windows in the padding */
    single = {SIZES, 0, .conv = {{1, 1}, {2, 2}, {0, 0}, HD_silu}},
                   linear = {SIZES, 0, .conv = {{1, 1}, {1, 1}, {0, 0}, HD_sigmoid}},
                   most = {SIZES, 0, .pool = {{3, 3}, {2, 2}, {1, 1}, HD_GRID_MAX}},
                   most_apart = {SIZES, 3, .pool = {{2, 1}, {3, 2}, {0, 0}, HD_GRID_MAX}},
                   most_over = {SIZES, 0, .pool = {{3, 2}, {1, 1}, {1, 1}, HD_GRID_MAX}},
                   mean = {SIZES, 0, .pool = {{3, 3}, {2, 2}, {1, 1}, HD_GRID_MEAN}},
                   mean_over = {SIZES, 4, .pool = {{2, 2}, {1, 1}, {1, 1}, HD_GRID_MEAN}},
                   both = {SIZES,
                           0,
                           .conv = {{3, 3}, {1, 1}, {1, 1}, HD_tanh},
                           {{2, 2}, {1, 1}, {0, 0}, HD_GRID_MEAN}};

#define CONV(name_, grids_, fill_, channels_, out_, cells_)                                \
    CASE(name_, conv,                                                                      \
         LEAVES_OF(LEAF("x", ROWS + fill_, channels_), LEAF("w", out_, channels_ *cells_), \
                   LEAF("b", 1, out_)),                                                    \
         .opt = &grids_, .n = 1)
#define POOL(name_, grids_, fill_, channels_) \
    CASE(name_, pool, LEAVES_OF(LEAF("x", ROWS + fill_, channels_, .fill = DISTINCT)), .opt = &grids_)

static const gradient_case cases[] = {
    CONV("conv 3 x 3", same, 0, 3, 2, 9),
    CASE("conv without a bias", conv, LEAVES_OF(LEAF("x", ROWS, 2), LEAF("w", 2, 18)), .opt = &same),
    CASE("conv of constants", conv,
         LEAVES_OF(LEAF("x", ROWS, 2, .fixed = true), LEAF("w", 2, 18), LEAF("b", 1, 2)), .opt = &same,
         .n = 1),
    CASE("conv with constants", conv, LEAVES_OF(LEAF("x", ROWS, 2), LEAF("w", 2, 18, .fixed = true)),
         .opt = &same),
    CONV("conv with stride 2, tanh, filled up", filled, 5, 2, 3, 9),
    CONV("conv 1 x 3, gelu", wide, 0, 2, 2, 3),
    CASE("conv 3 x 2, relu", conv,
         LEAVES_OF(LEAF("x", ROWS, 1, .fill = ODD), LEAF("w", 2, 6, .fill = EVEN),
                   LEAF("b", 1, 2, .fill = ODD)),
         .opt = &tall, .n = 1),
    CONV("conv with gaps", apart, 0, 2, 2, 4),
    CONV("conv far into the padding", far, 0, 1, 2, 4),
    CONV("conv 1 x 1 with stride 2", single, 0, 3, 2, 1),
    CONV("conv 1 x 1", linear, 0, 3, 2, 1),
    CONV("conv of 19 channels", same, 0, 19, 1, 9),
    POOL("max", most, 0, 3),
    POOL("max of many channels", most, 0, 17),
    POOL("max with gaps, filled up", most_apart, 3, 2),
    POOL("max of windows that overlap", most_over, 0, 2),
    POOL("mean", mean, 0, 3),
    POOL("mean of windows that overlap, filled up", mean_over, 4, 17),
    CASE("conv, sum, pool, conv", chain, LEAVES_OF(LEAF("x", ROWS, 2), LEAF("w", 2, 18), LEAF("b", 1, 2)),
         .opt = &both),
};

static void windows_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
