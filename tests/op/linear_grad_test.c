/* Gradients of linear maps: every activation with and without bias, both orientations, one tensor in two
 * places. */
#include "op/gradient.h"

static hd_tensor *linear(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_linear(r, x[0], x[1], c->leaf[2].name ? x[2] : NULL, (hd_unary)c->n);
}

static hd_tensor *matmul(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_matmul(r, x[0], x[1]);
}

/* x x^T: a product with itself on both sides */
static hd_tensor *gram(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_linear(r, x[0], x[0], NULL, HD_IDENTITY);
}

static hd_tensor *two_layers(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *h = hd_linear(r, x[0], x[1], x[2], HD_gelu);
    return hd_matmul(r, hd_add(r, h, hd_linear(r, h, x[3], NULL, HD_tanh)), x[1]);
}

/* Two parts at columns of their own. */
static hd_tensor *low_rank(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    const hd_low_rank part[] = {{hd_scale(r, hd_linear(r, x[0], x[3], NULL, HD_IDENTITY), 1.5f), x[4], 0},
                                {hd_linear(r, x[0], x[5], NULL, HD_IDENTITY), x[6], 4}};
    return hd_linear_low_rank(r, x[0], x[1], x[2], part, 2);
}

/* Arguments of relu away from its corner, of log above zero: five columns of odd numbers give an odd sum. */
static gradient_case with_activation(const char *name, int act, bool bias)
{
    filling fill = act == HD_relu ? ODD : act == HD_log ? POSITIVE : NORMAL;
    gradient_case c = {.name = name,
                       .build = linear,
                       .n = act,
                       .leaf = {LEAF("x", 6, 5, .fill = fill), LEAF("w", 4, 5, .fill = fill)}};
    if (bias) c.leaf[2] = (leaf)LEAF("bias", 1, 4, .fill = act == HD_relu ? EVEN : fill);
    return c;
}

static void linear_follows_differences(void **state)
{
    (void)state;
    gradient_case cases[2 * HD_UNARIES];
    char name[2 * HD_UNARIES][64];
    for (int f = 0; f < HD_UNARIES; f++)
        for (int bias = 0; bias < 2; bias++) {
            snprintf(name[2 * f + bias], sizeof *name, "linear %s%s", hd_unary_name((hd_unary)f),
                     bias ? " bias" : "");
            cases[2 * f + bias] = with_activation(name[2 * f + bias], f, bias);
        }
    check_gradients(cases, COUNT_OF(cases));
}

static const gradient_case products[] = {
    CASE("linear one row", linear, LEAVES_OF(LEAF("x", 1, 7), LEAF("w", 3, 7), LEAF("bias", 1, 3)),
         .n = HD_gelu),
    CASE("linear one column", linear, LEAVES_OF(LEAF("x", 5, 1), LEAF("w", 1, 1), LEAF("bias", 1, 1)),
         .n = HD_tanh),
    CASE("linear beyond one tile", linear, LEAVES_OF(LEAF("x", 70, 3), LEAF("w", 26, 3), LEAF("bias", 1, 26)),
         .n = HD_sigmoid),
    CASE("linear deeper than a block of k", linear,
         LEAVES_OF(LEAF("x", 2, 515), LEAF("w", 2, 515, .fill = SMALL), LEAF("bias", 1, 2)), .n = HD_silu),
    CASE("matmul", matmul, LEAVES_OF(LEAF("x", 6, 5), LEAF("w", 5, 4))),
    CASE("matmul one column", matmul, LEAVES_OF(LEAF("x", 6, 5), LEAF("w", 5, 1))),
    CASE("matmul beyond one tile", matmul, LEAVES_OF(LEAF("x", 30, 3), LEAF("w", 3, 27))),
    CASE("gram", gram, LEAVES_OF(LEAF("x", 6, 5))),
    CASE("low rank", low_rank,
         LEAVES_OF(LEAF("x", 6, 5), LEAF("w", 7, 5), LEAF("bias", 1, 7), LEAF("a", 2, 5), LEAF("b", 3, 2),
                   LEAF("a of the other", 2, 5), LEAF("b of the other", 3, 2))),
    CASE("two layers, weight twice", two_layers,
         LEAVES_OF(LEAF("x", 5, 4), LEAF("w", 6, 4), LEAF("bias", 1, 6), LEAF("u", 6, 6))),
};

static void products_follow_differences(void **state)
{
    (void)state;
    check_gradients(products, COUNT_OF(products));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_follows_differences),
        cmocka_unit_test(products_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
