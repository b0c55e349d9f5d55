/* The error of boxes is that of transformers' generalized_box_iou, also where they touch, are apart or have
 * no area. */
#include "backend/box.h"

#include "check.h"

static const struct {
    double x[4], t[4], error;
} cases[] = {
    {{.5, .5, .2, .4}, {.5, .5, .2, .4}, 0},          /* equal */
    {{.5, .5, .4, .4}, {.6, .55, .4, .2}, .76666667}, /* overlap */
    {{.5, .5, .8, .8}, {.4, .6, .1, .2}, .96875},     /* one in the other */
    {{.2, .2, .2, .2}, {.8, .7, .2, .4}, 1.8125},     /* apart */
    {{.2, .5, .2, .2}, {.4, .5, .2, .2}, 1},          /* a common side */
    {{.2, .2, .2, .2}, {.4, .4, .2, .2}, 1.5},        /* a common corner */
    {{.5, .5, 0, .4}, {.5, .5, .2, .2}, 1.5},         /* no width */
    {{.1, .5, 0, 0}, {.5, .5, .2, .2}, 1.6},          /* a point */
    {{.1, .2, 0, 0}, {.5, .6, 0, 0}, 2},              /* two points: there 0 / 0 */
    {{.1, .2, 0, 0}, {.1, .2, 0, 0}, 1},              /* the same point */
};

static void boxes_err_as_in_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double dx[4], dt[4];
        assert_true(fabs(hd_box_error_of(cases[i].x, cases[i].t, dx, dt) - cases[i].error) < 1e-8);
        assert_true(fabs(hd_box_error_of(cases[i].t, cases[i].x, NULL, NULL) - cases[i].error) < 1e-8);
        for (int k = 0; k < 4; k++) assert_true(isfinite(dx[k]) && isfinite(dt[k]));
    }
}

static void a_row_of_weight_0_is_not_read(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_real x[] = {NAN, 0, 0, 0, .5f, .5f, .2f, .2f}, t[] = {.5f, .5f, .2f, .2f, .5f, .5f, .2f, .2f},
                  w[] = {0, 2};
    hd_loss_opt o = {.coef = 1, .weight = hd_from(&r, 2, 1, w)};
    hd_real *box = host_copy(&r, hd_box_error(&r, hd_from(&r, 2, 4, x), hd_from(&r, 2, 4, t), &o)),
            *apart = host_copy(&r, hd_absolute_error(&r, hd_from(&r, 2, 4, x), hd_from(&r, 2, 4, t), &o));
    assert_true(box[0] == 0 && fabs((double)box[1]) < 1e-6);
    assert_true(apart[0] == 0 && apart[1] == 0);
    free(box), free(apart);
    assert_null(hd_box_error(&r, hd_from(&r, 4, 2, x), hd_from(&r, 4, 2, t), &(hd_loss_opt){.coef = 1}));
    assert_int_equal(r.err.status, HD_ESHAPE);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_err_as_in_transformers),
        cmocka_unit_test(a_row_of_weight_0_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
