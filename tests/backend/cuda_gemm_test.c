/* The matrix product on the device against the cpu: all four forms, with what is fused into it, and the types
   that meet in training: bf16 activations, f32 weights with a shadow, f32 gradients of weights. */
#include "backend/pair.h"

typedef struct form {
    size_t m, n, k;
    bool at, bt, add, bias, before;
    hd_unary act;
    float drop;
    bool seg;
} form;

typedef struct kinds {
    const char *name;
    int y, a, b;
} kinds;

/* ROUND: f32 with values that bf16 can hold, since the device may multiply those either way. */
static const kinds plain = {"activations", ACT, ACT, ACT}, weight = {"weight", ACT, ACT, PARAM},
                   gradient = {"gradient", REAL, ACT, ACT}, reals = {"reals", REAL, ROUND, ROUND},
                   constant = {"constant", ACT, ROUND, PARAM}, logits = {"f32 of a weight", REAL, ACT, PARAM};

/* bf16: a function may be applied to the product after it was rounded; its slope times its argument is at
   most a few times the value. */
static double allowed(const pair *p, const form *f, const twin *t)
{
    return p->bf16 && f->act != HD_IDENTITY ? 2 * TOLERANCE_BF16 : tolerance_of(p, t);
}

static void check_form(pair *p, form f, kinds k)
{
    begin_case(p, "%s %zux%zux%zu at %d bt %d add %d bias %d before %d %s drop %g seg %d", k.name, f.m, f.n,
               f.k, f.at, f.bt, f.add, f.bias, f.before, hd_unary_name(f.act), (double)f.drop, f.seg);
    double spread = 1 / sqrt((double)f.k); /* sums of about 1: exp stays small */
    float *av = normals(p, f.m * f.k, 1), *bv = normals(p, f.n * f.k, spread), *cv = normals(p, f.n, 1);
    for (size_t i = 0; f.act == HD_log && i < f.m * f.k; i++) av[i] = fabsf(av[i]) + 0.1f;
    for (size_t i = 0; f.act == HD_log && i < f.n * f.k; i++) bv[i] = fabsf(bv[i]) + 0.1f;
    for (size_t i = 0; f.act == HD_log && i < f.n; i++) cv[i] = fabsf(cv[i]);
    twin *a = twin_from(p, "a", f.at ? f.k : f.m, f.at ? f.m : f.k, k.a, av),
         *b = twin_from(p, "b", f.bt ? f.n : f.k, f.bt ? f.k : f.n, k.b, bv),
         *bias = f.bias ? twin_from(p, "bias", 1, f.n, REAL | FLAT, cv) : NULL,
         *y = twin_result(p, "y", f.m, f.n, k.y, f.add),
         *before = f.before ? twin_result(p, "before", f.m, f.n, k.y, false) : NULL;
    int32_t some = (int32_t)f.m / 2, len[] = {some, 0, (int32_t)f.m - some};
    twin_seg *seg = f.seg ? seg_from(p, len, 3, KEYS) : NULL;
    RUN_ON(p, 0, gemm, .y = ON(y), .a = ON(a), .b = ON(b), .bias = ON(bias), .before = ON(before),
           .a_transposed = f.at, .b_transposed = f.bt, .add = f.add, .act = f.act);
    if (f.drop > 0) RUN_ON(p, 0, dropout, .y = ON(y), .x = ON(y), .draw = DRAW(p, f.drop, seg));
    RUN_ON(p, 1, gemm, .y = ON(y), .a = ON(a), .b = ON(b), .bias = ON(bias), .before = ON(before),
           .a_transposed = f.at, .b_transposed = f.bt, .add = f.add, .act = f.act,
           .draw = DRAW(p, f.drop, seg));
    compare(p, y,
            (close_enough){.tolerance = allowed(p, &f, y), .zeros = f.drop > 0 && f.act == HD_IDENTITY});
    check(p, before);
}

static const size_t edges[] = {1, 3, 7, 8, 17, 64, 65, 100, 257};

static void all_forms(void **state)
{
    pair *p = pair_of(state);
    const kinds some[] = {plain, gradient, reals};
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(edges); i++)
            for (int t = 0; t < 8; t++) {
                size_t m = edges[i], n = edges[(i + 2) % COUNT_OF(edges)],
                       k = edges[(i + 5) % COUNT_OF(edges)];
                form f = {.m = m, .n = n, .k = k, .at = t & 1, .bt = t >> 1 & 1, .add = t >> 2};
                for (size_t j = 0; j < (p->bf16 ? COUNT_OF(some) : 1); j++) check_form(p, f, some[j]);
                f.m = k, f.n = m, f.k = n;
                check_form(p, f, plain);
            }
    pair_done(p);
}

/* The first of so many matrices, with its shadow. */
static hd_tensor first_of(const hd_tensor *b, size_t count)
{
    hd_tensor one = hd_view_rows(b, 0, hd_rows_of(b) / count);
    one.prepared = b->prepared;
    return one;
}

/* Several products whose matrices lie beside or below each other, as those of heads do. */
static void several(void **state)
{
    pair *p = pair_of(state);
    const size_t shapes[][4] = {
        {1, 24, 8, 3}, {1, 512, 128, 16}, {5, 64, 40, 4}, {33, 7, 20, 2}, {2, 16, 16, 1}};
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int bt = 0; bt < 2; bt++)
                for (int shadow = 0; shadow < 2; shadow++) {
                    size_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2], count = shapes[i][3];
                    begin_case(p, "%zu of %zux%zux%zu bt %d shadow %d", count, m, n, k, bt, shadow);
                    twin *a = twin_normal(p, "a", m, count * k, ACT, 1),
                         *b = twin_normal(p, "b", count * (bt ? n : k), bt ? k : n, shadow ? PARAM : ROUND,
                                          1 / sqrt((double)k)),
                         *y = twin_result(p, "y", m, count * n, ACT, false);
                    RUN(p, gemm, .y = (hd_tensor[]){hd_view_cols(ON(y), 0, n)},
                        .a = (hd_tensor[]){hd_view_cols(ON(a), 0, k)},
                        .b = (hd_tensor[]){first_of(ON(b), count)}, .b_transposed = bt, .count = count,
                        .y_step = n, .a_step = k, .b_step = b->on[side].stride * (bt ? n : k));
                    check(p, y);
                }
    pair_done(p);
}

static void with_bias_function_and_before(void **state)
{
    pair *p = pair_of(state);
    const size_t shapes[][3] = {{1, 8, 8}, {7, 17, 33}, {33, 64, 40}, {64, 257, 24}, {130, 96, 64}};
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int act = 0; act < HD_UNARIES; act++)
                for (int how = 0; how < 4; how++) {
                    form f = {.m = shapes[i][0],
                              .n = shapes[i][1],
                              .k = shapes[i][2],
                              .bt = true,
                              .bias = how & 1,
                              .before = how & 2,
                              .act = (hd_unary)act};
                    check_form(p, f, plain);
                    if (p->bf16) check_form(p, f, weight);
                    if (p->bf16 && !act) check_form(p, f, logits), check_form(p, f, constant);
                }
    pair_done(p);
}

static void with_dropout(void **state)
{
    pair *p = pair_of(state);
    const size_t shapes[][3] = {{1, 8, 8}, {7, 17, 33}, {33, 64, 40}, {130, 257, 24}};
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int act = 0; act < HD_UNARIES; act++)
                for (int how = 0; how < 8; how++) {
                    form f = {.m = shapes[i][0],
                              .n = shapes[i][1],
                              .k = shapes[i][2],
                              .bt = true,
                              .bias = how & 1,
                              .before = hd_unary_keeps_x((hd_unary)act) && how & 2,
                              .act = (hd_unary)act,
                              .drop = how & 1 ? 0.1f : 0.5f,
                              .seg = how & 4};
                    check_form(p, f, p->bf16 && how & 2 ? weight : plain);
                }
    pair_done(p);
}

/* Forward, gradient of x and gradient of w, as linear.c asks for them. */
static void as_a_layer_does(void **state)
{
    pair *p = pair_of(state);
    static const struct {
        size_t rows, in, out;
    } layers[] = {{1, 64, 64},       {5, 20, 33},       {40, 64, 256},    {64, 257, 64},
                  {1, 512, 512},     {8, 512, 1536},    {300, 512, 512},  {1000, 512, 2048},
                  {1537, 2048, 512}, {777, 1024, 3072}, {300, 512, 32768}};
    enum { LARGE = 4 };
    for (p->layout = 0; p->layout < 2; p->layout++)
        for (size_t i = 0; i < COUNT_OF(layers); i++) {
            size_t rows = layers[i].rows, in = layers[i].in, out = layers[i].out;
            if (i >= LARGE && (small_only() || p->layout)) continue;
            kinds w = p->bf16 ? weight : plain, g = p->bf16 ? gradient : plain;
            check_form(p, (form){.m = rows, .n = out, .k = in, .bt = true, .bias = true}, w);
            check_form(
                p,
                (form){.m = rows, .n = out, .k = in, .bt = true, .bias = true, .act = HD_relu, .drop = 0.1f},
                w);
            check_form(
                p,
                (form){
                    .m = rows, .n = out, .k = in, .bt = true, .bias = true, .act = HD_gelu, .before = true},
                w);
            check_form(p, (form){.m = rows, .n = in, .k = out}, w);
            check_form(p, (form){.m = rows, .n = in, .k = out, .add = true}, w);
            check_form(p, (form){.m = out, .n = in, .k = rows, .at = true, .add = true}, g);
            check_form(p, (form){.m = in, .n = out, .k = rows, .at = true, .add = true}, g);
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(all_forms), PAIR_TEST(several), PAIR_TEST(with_bias_function_and_before),
          PAIR_TEST(with_dropout), PAIR_TEST(as_a_layer_does))
