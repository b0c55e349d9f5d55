/* Gradients of ops that move rows. Indices repeat, leave rows out and point outside. */
#include "op/gradient.h"

static const int32_t index7[] = {2, 0, 2, -1,
                                 3, 9, 2}; /* row 1 is never read, -1 and 9 are no rows of [4, C] */

static hd_tensor *gather(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_gather(r, x[0], hd_ints(r, index7, 7), 7, (float)c->n / 4);
}

static hd_tensor *gather_add(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t first[] = {1, 1, 0, 2, 1, 0, 2};
    (void)c;
    hd_tensor *y = hd_embed(r, x[0], hd_ints(r, first, 7), 7, 1.5f);
    return hd_gather_add(r, y, x[1], hd_ints(r, index7, 7));
}

static hd_tensor *gather_add_to_leaf(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_gather_add(r, x[0], x[1], hd_ints(r, index7, 7));
}

/* Where y is a view, its sum is no view but has the view's distance between rows; its gradient has not. */
static hd_tensor *slice_of_gather_add(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *y = hd_gather_add(r, x[0], x[1], hd_ints(r, index7, 7)),
              *part = hd_slice_rows(r, hd_slice_cols(r, y, 1, 3), 2, 4);
    return hd_mul(r, part, hd_slice_rows(r, hd_slice_cols(r, y, 0, 3), 3, 4));
}

static hd_tensor *scatter(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_scatter(r, x[0], hd_ints(r, index7, 7), 5);
}

static hd_tensor *concat_rows(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_concat_rows(r, (hd_tensor *const[]){x[0], x[1], x[0], x[2]}, 4);
}

static hd_tensor *concat_cols(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_concat_cols(r, (hd_tensor *const[]){x[0], x[1], x[0], x[2]}, 4);
}

static hd_tensor *concat_many(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_tensor *part[40];
    for (int i = 0; i < c->n; i++) part[i] = x[i % 3];
    return hd_concat_rows(r, part, (size_t)c->n);
}

static hd_tensor *concat_one(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return c->n ? hd_concat_cols(r, x, 1) : hd_concat_rows(r, x, 1);
}

/* Overlapping views of a product, views of views, and the product itself. */
static hd_tensor *slices(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *p = hd_matmul(r, x[0], x[1]); /* [5,6] */
    hd_tensor *left = hd_slice_cols(r, p, 0, 4), *right = hd_slice_cols(r, p, 2, 4);
    hd_tensor *inner = hd_slice_rows(r, hd_slice_cols(r, left, 1, 3), 2, 2),
              *low = hd_slice_rows(r, right, 3, 2);
    hd_tensor *a = hd_mul(r, left, right), *b = hd_mul(r, inner, hd_slice_cols(r, low, 0, 3));
    return hd_concat_cols(
        r, (hd_tensor *const[]){hd_slice_rows(r, a, 1, 2), hd_mul(r, b, b), hd_slice_rows(r, p, 0, 2)}, 3);
}

/* A view goes through an op that hands its gradient on instead of copying. */
static hd_tensor *slice_of_sum(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *p = hd_add(r, x[0], x[1]), *a = hd_slice_rows(r, p, 1, 3),
              *s = hd_add(r, a, hd_slice_rows(r, p, 0, 3));
    return hd_add(r, hd_mul(r, s, hd_slice_rows(r, x[0], 2, 3)), a);
}

static hd_tensor *broadcast(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t len[] = {3, 0, 1, 2}, begin[] = {1, 4, 6, 7};
    const hd_seg *seg = c->n ? seg_at(r, begin, len, 4, 10, false) : hd_seg_of(r, len, 4, NULL);
    hd_tensor *y = hd_broadcast(r, x[0], seg);
    return hd_mul(r, y, y);
}

static hd_tensor *fold(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t len[] = {5, 0, 1, 4};
    hd_rows y = hd_fold(r, (hd_rows){x[0], hd_seg_of(r, len, 4, NULL)}, c->n);
    return y.t ? hd_mul(r, y.t, y.t) : NULL;
}

static hd_tensor *fold_twice(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t len[] = {5, 0, 1, 4};
    return hd_fold(r, hd_fold(r, (hd_rows){x[0], hd_seg_of(r, len, 4, NULL)}, c->n), 2).t;
}

static const gradient_case cases[] = {
    CASE("gather", gather, LEAVES_OF(LEAF("x", 4, 5)), .n = 4),
    CASE("gather scaled", gather, LEAVES_OF(LEAF("x", 4, 5)), .n = 9),
    CASE("gather, wide rows", gather, LEAVES_OF(LEAF("x", 4, 37)), .n = 4),
    CASE("gather_add", gather_add, LEAVES_OF(LEAF("y", 3, 5), LEAF("x", 4, 5))),
    CASE("gather_add to a leaf", gather_add_to_leaf, LEAVES_OF(LEAF("y", 7, 5), LEAF("x", 4, 5))),
    CASE("slice of gather_add", slice_of_gather_add, LEAVES_OF(LEAF("y", 7, 5), LEAF("x", 4, 5))),
    CASE("scatter", scatter, LEAVES_OF(LEAF("x", 7, 5))),
    CASE("concat many rows", concat_many, LEAVES_OF(LEAF("x", 2, 5), LEAF("y", 1, 5), LEAF("z", 3, 5)),
         .n = 40),
    CASE("concat rows", concat_rows, LEAVES_OF(LEAF("x", 2, 5), LEAF("y", 1, 5), LEAF("z", 3, 5))),
    CASE("concat cols", concat_cols, LEAVES_OF(LEAF("x", 4, 2), LEAF("y", 4, 1), LEAF("z", 4, 5))),
    CASE("concat rows of one part", concat_one, LEAVES_OF(LEAF("x", 2, 5)), .n = 0),
    CASE("concat cols of one part", concat_one, LEAVES_OF(LEAF("x", 2, 5)), .n = 1),
    CASE("slices used twice", slices, LEAVES_OF(LEAF("x", 5, 3), LEAF("y", 3, 6))),
    CASE("slice of a sum", slice_of_sum, LEAVES_OF(LEAF("x", 5, 3), LEAF("y", 5, 3))),
    CASE("broadcast", broadcast, LEAVES_OF(LEAF("x", 4, 3))),
    CASE("broadcast with gaps", broadcast, LEAVES_OF(LEAF("x", 4, 3)), .n = 1),
    CASE("fold by 1", fold, LEAVES_OF(LEAF("x", 10, 3)), .n = 1),
    CASE("fold by 2", fold, LEAVES_OF(LEAF("x", 10, 3)), .n = 2),
    CASE("fold by 3", fold, LEAVES_OF(LEAF("x", 10, 3)), .n = 3),
    CASE("fold by 3, then by 2", fold_twice, LEAVES_OF(LEAF("x", 10, 3)), .n = 3),
};

static void rows_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
