/* Learning rates by step. Easy to get wrong: the first step is 1, the warm-up ends on the peak, and nothing
 * moves after the last step. */
#include "check.h"
#include "train/schedule.h"

/* A handful of double operations: a few units of 1e-16. */
#define TOLERANCE 1e-14

static void assert_rate(const hd_schedule *s, uint64_t step, double expected)
{
    double rate = hd_schedule_rate(s, step);
    if (!(fabs(rate - expected) <= TOLERANCE * fabs(expected)))
        fail_msg("schedule %d, step %llu: %.17g, expected %.17g", (int)s->kind, (unsigned long long)step,
                 rate, expected);
}

static void every_schedule_rises_in_a_straight_line_to_the_peak(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_SCHEDULES; kind++) {
        hd_schedule s = {
            .kind = (hd_schedule_kind)kind, .peak = 0.25, .warmup = 8, .steps = 40, .floor = 0.1};
        for (uint64_t t = 0; t <= 8; t++) assert_rate(&s, t, 0.25 * (double)t / 8);
        assert_true(hd_schedule_rate(&s, 0) == 0);
        assert_true(hd_schedule_rate(&s, 8) == 0.25); /* exactly: no jump between the two branches */
    }
}

static void a_schedule_without_warmup_begins_at_its_peak(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_SCHEDULES; kind++) {
        hd_schedule s = {.kind = (hd_schedule_kind)kind, .peak = 0.25, .steps = 40};
        assert_rate(&s, 0, 0.25);
        assert_true(isfinite(hd_schedule_rate(&s, 1)));
    }
    assert_rate(&(hd_schedule){.kind = HD_SCHEDULE_inverse_sqrt, .peak = 0.25}, 1, 0.25);
    assert_rate(&(hd_schedule){.kind = HD_SCHEDULE_inverse_sqrt, .peak = 0.25}, 100, 0.025);
}

static void constant_stays_at_the_peak(void **state)
{
    (void)state;
    hd_schedule s = {.kind = HD_SCHEDULE_constant, .peak = 3e-4, .warmup = 10, .steps = 20};
    static const uint64_t steps[] = {10, 11, 20, 21, 1000000};
    for (size_t i = 0; i < COUNT_OF(steps); i++) assert_rate(&s, steps[i], 3e-4);
}

static void inverse_sqrt_is_the_formula_of_the_paper(void **state)
{
    (void)state;
    static const struct {
        double width, warmup;
    } cases[] = {{512, 4000}, {256, 8000}, {32, 1}};
    static const uint64_t steps[] = {1, 2, 100, 3999, 4000, 4001, 8000, 100000, 10000000};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        double d = cases[c].width, w = cases[c].warmup;
        hd_schedule s = {.kind = HD_SCHEDULE_inverse_sqrt, .peak = 1 / sqrt(d * w), .warmup = (uint64_t)w};
        for (size_t i = 0; i < COUNT_OF(steps); i++) {
            double t = (double)steps[i];
            assert_rate(&s, steps[i], pow(d, -0.5) * fmin(pow(t, -0.5), t * pow(w, -1.5)));
        }
    }
}

static void cosine_is_half_a_wave_from_the_peak_to_the_floor(void **state)
{
    (void)state;
    hd_schedule s = {.kind = HD_SCHEDULE_cosine, .peak = 2, .warmup = 100, .steps = 499, .floor = 0.25};
    assert_rate(&s, 100, 2);
    assert_rate(&s, 200, 2 * (0.25 + 0.75 * (1 + sqrt(0.5)) / 2)); /* a quarter of the way: cos 45 degrees */
    assert_rate(&s, 300, 2 * 0.625);
    assert_rate(&s, 400, 2 * (0.25 + 0.75 * (1 - sqrt(0.5)) / 2));
    assert_rate(&s, 500, 0.5);
    assert_rate(&s, 501, 0.5);
    assert_rate(&s, UINT64_MAX, 0.5);
}

static void linear_is_a_line_from_the_peak_to_the_floor(void **state)
{
    (void)state;
    hd_schedule s = {.kind = HD_SCHEDULE_linear, .peak = 2, .warmup = 100, .steps = 499, .floor = 0.25};
    static const struct {
        uint64_t step;
        double rate;
    } cases[] = {{100, 2},   {101, 2 - 1.5 / 400}, {200, 1.625},     {300, 1.25}, {499, 0.5 + 1.5 / 400},
                 {500, 0.5}, {501, 0.5},           {UINT64_MAX, 0.5}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) assert_rate(&s, cases[i].step, cases[i].rate);
    s.floor = 0;
    assert_true(hd_schedule_rate(&s, 500) == 0);
}

/* As transformers and PyTorch count: the rate is 0 once all updates are done, not at the last one. */
static void the_last_update_of_a_schedule_still_learns(void **state)
{
    (void)state;
    hd_schedule s = {.kind = HD_SCHEDULE_linear, .peak = 3, .steps = 2};
    assert_rate(&s, 1, 2);
    assert_rate(&s, 2, 1);
    assert_true(hd_schedule_rate(&s, 3) == 0);
    s.kind = HD_SCHEDULE_cosine;
    assert_rate(&s, 2, 3 * 0.25); /* (1 + cos 120 degrees) / 2 */
    s.warmup = s.steps = 4;       /* the whole run is the warm-up */
    assert_rate(&s, 4, 3);
}

static void a_last_step_inside_the_warmup_falls_to_the_floor_after_it(void **state)
{
    (void)state;
    for (int kind = HD_SCHEDULE_cosine; kind <= HD_SCHEDULE_linear; kind++) {
        hd_schedule s = {.kind = (hd_schedule_kind)kind, .peak = 1, .warmup = 10, .steps = 5, .floor = 0.5};
        assert_rate(&s, 9, 0.9);
        assert_rate(&s, 10, 1);
        assert_rate(&s, 11, 0.5);
        assert_rate(&s, 12, 0.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_rises_in_a_straight_line_to_the_peak),
        cmocka_unit_test(a_schedule_without_warmup_begins_at_its_peak),
        cmocka_unit_test(constant_stays_at_the_peak),
        cmocka_unit_test(inverse_sqrt_is_the_formula_of_the_paper),
        cmocka_unit_test(cosine_is_half_a_wave_from_the_peak_to_the_floor),
        cmocka_unit_test(linear_is_a_line_from_the_peak_to_the_floor),
        cmocka_unit_test(the_last_update_of_a_schedule_still_learns),
        cmocka_unit_test(a_last_step_inside_the_warmup_falls_to_the_floor_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
