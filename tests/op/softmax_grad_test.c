/* Gradients of softmax over rows and over segments, and of reductions. Segments are empty, leave rows out, or
 * overlap. */
#include "op/gradient.h"

static const int32_t len[] = {4, 0, 1, 3},
                     begin_gaps[] = {1, 5, 6, 8};   /* of 12 rows: 0, 5, 7 and 11 belong to nobody */
static const int32_t begin_shared[] = {0, 2, 2, 5}; /* of 8 rows: several owners */

static hd_tensor *softmax(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return c->n ? hd_log_softmax(r, x[0]) : hd_softmax(r, x[0]);
}

static hd_tensor *segment_softmax(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    bool gaps = hd_rows_of(x[0]) == 12;
    const hd_seg *seg = gaps ? seg_at(r, begin_gaps, len, 4, 12, false) : hd_seg_of(r, len, 4, NULL);
    return c->n ? hd_segment_log_softmax(r, x[0], seg) : hd_segment_softmax(r, x[0], seg);
}

static hd_tensor *reduce(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const hd_seg *seg = hd_rows_of(x[0]) == 12 ? seg_at(r, begin_gaps, len, 4, 12, false)
                                               : seg_at(r, begin_shared, len, 4, 8, true);
    hd_tensor *y = hd_reduce(r, x[0], seg, (hd_reduction)c->n);
    return hd_mul(r, y, y);
}

static const gradient_case cases[] = {
    CASE("softmax", softmax, LEAVES_OF(LEAF("x", 4, 7))),
    CASE("log softmax", softmax, LEAVES_OF(LEAF("x", 4, 7)), .n = 1),
    CASE("segment softmax", segment_softmax, LEAVES_OF(LEAF("x", 8, 3))),
    CASE("segment log softmax", segment_softmax, LEAVES_OF(LEAF("x", 8, 3)), .n = 1),
    CASE("segment softmax with gaps", segment_softmax, LEAVES_OF(LEAF("x", 12, 3))),
    CASE("segment log softmax with gaps", segment_softmax, LEAVES_OF(LEAF("x", 12, 3)), .n = 1),
    CASE("sum", reduce, LEAVES_OF(LEAF("x", 12, 5)), .n = HD_SUM),
    CASE("mean", reduce, LEAVES_OF(LEAF("x", 12, 5)), .n = HD_MEAN),
    CASE("max", reduce, LEAVES_OF(LEAF("x", 12, 5, .fill = DISTINCT)), .n = HD_MAX),
    CASE("first", reduce, LEAVES_OF(LEAF("x", 12, 5)), .n = HD_FIRST),
    CASE("last", reduce, LEAVES_OF(LEAF("x", 12, 5)), .n = HD_LAST),
    CASE("sum of overlapping segments", reduce, LEAVES_OF(LEAF("x", 8, 5)), .n = HD_SUM),
    CASE("mean of overlapping segments", reduce, LEAVES_OF(LEAF("x", 8, 5)), .n = HD_MEAN),
    CASE("max of overlapping segments", reduce, LEAVES_OF(LEAF("x", 8, 5, .fill = DISTINCT)), .n = HD_MAX),
    CASE("last of overlapping segments", reduce, LEAVES_OF(LEAF("x", 8, 5)), .n = HD_LAST),
};

static void softmax_and_reductions_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_and_reductions_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
