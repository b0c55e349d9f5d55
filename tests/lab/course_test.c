/* Courses: a weight that Adam moves by the rate of each update. */
#include "check.h"
#include "lab/course.h"
#include "op/op.h"

static double weight_of(const hd_params *p)
{
    hd_real w;
    p->backend->download(p->backend, &w, p->value, sizeof w);
    return (double)w;
}

/* One update of a loss whose gradient is always 1; how far the weight went. */
static double moved_by(hd_course *c, hd_params *p, double rate)
{
    hd_err err = {0};
    double before = weight_of(p);
    hd_run *r = hd_course_begin(c);
    hd_sum_loss(r, hd_linear(r, hd_ones(r, 1, 1), &p->list[0]->t, NULL, HD_IDENTITY), 1);
    if (hd_course_end(c, rate, 1, &err)) fail_msg("%s", err.text);
    return before - weight_of(p);
}

static void updates_are_those_of_adam_at_a_rate_that_falls(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_params p;
    hd_course c = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b);
    hd_params_init(&p, b);
    hd_param_add(&p, 1, 1, (hd_init){HD_INIT_NORMAL, 1, 0}, "w");
    if (hd_params_ready(&p, true, &err) || hd_course_open(&c, &run, &p, 7, &err)) fail_msg("%s", err.text);
    assert_true(fabs(weight_of(&p)) > 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(fabs(moved_by(&c, &p, 0.1) - 0.1) < 1e-5);
        assert_true(c.updates == i + 1 && run.now.number == i + 1 && run.now.seed == 7);
        assert_true(fabs(hd_course_falling(&c, 0.1, 4) - 0.1 * (4 - i) / 4) < 1e-12);
    }
    assert_int_equal(hd_optimizer_updates(&c.optimizer), 4);
    assert_int_equal(hd_course_renew(&c, &err), HD_OK);
    assert_int_equal(hd_optimizer_updates(&c.optimizer), 0);
    assert_true(fabs(moved_by(&c, &p, 0.1) - 0.1) < 1e-5);
    hd_course_close(&c);
    hd_course_close(&c);
    hd_params_release(&p);
    hd_run_release(&run);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_are_those_of_adam_at_a_rate_that_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
