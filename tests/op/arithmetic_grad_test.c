/* Gradients of sums, products, elementwise functions, dropout and noise, in every shape that z may have. */
#include "op/gradient.h"

#define OP(name, value)                                                            \
    static hd_tensor *name(hd_run *r, hd_tensor *const *x, const gradient_case *c) \
    {                                                                              \
        (void)c;                                                                   \
        return value;                                                              \
    }
OP(add, hd_add(r, x[0], x[1]))
OP(sub, hd_sub(r, x[0], x[1]))
OP(mul, hd_mul(r, x[0], x[1]))
OP(add_itself, hd_mul(r, hd_add(r, x[0], x[0]), x[0]))
OP(mul_itself, hd_mul(r, hd_mul(r, x[0], x[0]), x[0]))

static hd_tensor *scale(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_scale(r, x[0], (float)c->n / 8);
}

/* The sum of two, each used again afterwards: the gradient of a sum is handed on, not copied, and must not be
 * shared by mistake. */
static hd_tensor *shared_sum(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *a = hd_mul(r, x[0], x[1]), *s = hd_add(r, a, x[1]), *t = hd_add(r, s, a);
    return hd_mul(r, hd_sub(r, t, s), hd_add(r, s, hd_scale(r, t, 0.5f)));
}

/* add and sub of a row that is also the left side of one: [1,C] */
static hd_tensor *rows_of_rows(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *z = hd_add(r, x[1], x[2]);
    return hd_sub(r, hd_mul(r, hd_add(r, x[0], z), z), z);
}

static hd_tensor *apply(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_apply(r, x[0], (hd_unary)c->n);
}

static hd_tensor *gated(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_gated(r, x[0], (hd_unary)c->n);
}

static hd_tensor *dropout(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t len[] = {3, 0, 4}, key[] = {17, 5, 900};
    const hd_seg *seg = c->n == 0 ? NULL : hd_seg_of(r, len, 3, c->n == 2 ? key : NULL);
    return hd_mul(r, hd_dropout(r, x[0], 0.3f, seg), hd_dropout(r, x[0], 0.5f, seg));
}

static hd_tensor *gumbel(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t len[] = {3, 0, 4};
    hd_tensor *y = hd_gumbel(r, x[0], c->n ? hd_seg_of(r, len, 3, NULL) : NULL);
    return hd_mul(r, y, hd_add(r, y, x[0]));
}

static const gradient_case cases[] = {
    CASE("add", add, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 4, 5))),
    CASE("add row", add, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 1, 5))),
    CASE("add, both one row", add, LEAVES_OF(LEAF("x", 1, 5), LEAF("z", 1, 5))),
    CASE("add, many rows to a row", add, LEAVES_OF(LEAF("x", 131, 3), LEAF("z", 1, 3))),
    CASE("add itself", add_itself, LEAVES_OF(LEAF("x", 4, 5))),
    CASE("sub", sub, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 4, 5))),
    CASE("sub row", sub, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 1, 5))),
    CASE("mul", mul, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 4, 5))),
    CASE("mul row", mul, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 1, 5))),
    CASE("mul column", mul, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 4, 1))),
    CASE("mul row of one", mul, LEAVES_OF(LEAF("x", 4, 1), LEAF("z", 1, 1))),
    CASE("mul column of one", mul, LEAVES_OF(LEAF("x", 1, 5), LEAF("z", 1, 1))),
    CASE("mul itself", mul_itself, LEAVES_OF(LEAF("x", 4, 5))),
    CASE("scale", scale, LEAVES_OF(LEAF("x", 4, 5)), .n = -13),
    CASE("scale by one", scale, LEAVES_OF(LEAF("x", 4, 5)), .n = 8),
    CASE("shared sum", shared_sum, LEAVES_OF(LEAF("x", 4, 5), LEAF("z", 4, 5))),
    CASE("rows of rows", rows_of_rows, LEAVES_OF(LEAF("x", 4, 5), LEAF("y", 1, 5), LEAF("z", 1, 5))),
    CASE("dropout", dropout, LEAVES_OF(LEAF("x", 7, 9))),
    CASE("dropout with segments", dropout, LEAVES_OF(LEAF("x", 7, 9)), .n = 1),
    CASE("dropout with keys", dropout, LEAVES_OF(LEAF("x", 7, 9)), .n = 2),
    CASE("gumbel", gumbel, LEAVES_OF(LEAF("x", 7, 9))),
    CASE("gumbel with segments", gumbel, LEAVES_OF(LEAF("x", 7, 9)), .n = 1),
    CASE("dropout wider than a run of the mask", dropout, LEAVES_OF(LEAF("x", 2, 133))),
};

static void arithmetic_follows_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

static void functions_follow_differences(void **state)
{
    (void)state;
    gradient_case unary[HD_UNARIES - 1];
    for (int f = 1; f < HD_UNARIES; f++) {
        filling fill = f == HD_relu ? ODD : f == HD_log ? POSITIVE : NORMAL;
        unary[f - 1] = (gradient_case)CASE(hd_unary_name((hd_unary)f), apply,
                                           LEAVES_OF(LEAF("x", 5, 11, .fill = fill)), .n = f);
    }
    check_gradients(unary, COUNT_OF(unary));
}

static void gates_follow_differences(void **state)
{
    (void)state;
    gradient_case gate[HD_UNARIES];
    for (int f = 0; f < HD_UNARIES; f++) {
        filling fill = f == HD_relu ? ODD : f == HD_log ? POSITIVE : NORMAL;
        gate[f] = (gradient_case)CASE(hd_unary_name((hd_unary)f), gated,
                                      LEAVES_OF(LEAF("x", 5, 14, .fill = fill)), .n = f);
    }
    check_gradients(gate, COUNT_OF(gate));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_follows_differences),
        cmocka_unit_test(functions_follow_differences),
        cmocka_unit_test(gates_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
