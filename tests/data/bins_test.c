/* Bins of a pen: every offset has one, every place in one has that one, and areas make densities. */
#include "check.h"
#include "base/rng.h"
#include "data/strokes/bins.h"

static const hd_pen_bins all[] = {{48, 20, 0.2f, 19.8f}, {1, 2, 0.5f, 1}, {7, 3, 0.1f, 100}};

static void a_place_in_a_bin_is_in_it(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(1, 2);
    for (size_t k = 0; k < COUNT_OF(all); k++)
        for (size_t i = 0; i < 4 * hd_pen_bins_count(&all[k]); i++) {
            int32_t bin = (int32_t)(i % hd_pen_bins_count(&all[k]));
            double at[2], out = i < hd_pen_bins_count(&all[k]) ? 0.5 : hd_rng_unit(&rng);
            hd_pen_bin_place(&all[k], bin, 0.001 + 0.998 * out, 0.001 + 0.998 * hd_rng_unit(&rng), at);
            assert_int_equal(hd_pen_bin_of(&all[k], at, hd_pen_bin_lifts(bin)), bin);
        }
}

static void directions_turn_from_right_to_down(void **state)
{
    (void)state;
    const hd_pen_bins b = {4, 2, 1, 2};
    static const double at[][2] = {{1.5, 0}, {0, 1.5}, {-1.5, 0}, {0, -1.5}};
    for (int i = 0; i < 4; i++) {
        double middle[2];
        assert_int_equal(hd_pen_bin_of(&b, at[i], false), 2 * (4 + i));
        assert_int_equal(hd_pen_bin_of(&b, at[i], true), 2 * (4 + i) + 1);
        hd_pen_bin_place(&b, 2 * (4 + i), 0.5, 0.5, middle);
        /* along a direction it goes straight; the middle of 1 to 4 of the square of the length is 2.5 */
        for (int a = 0; a < 2; a++) assert_true(fabs(middle[a] - at[i][a] / 1.5 * sqrt(2.5)) < 1e-9);
    }
}

static void what_is_far_is_in_the_last_ring(void **state)
{
    (void)state;
    const hd_pen_bins *b = &all[0];
    const double far[] = {1e6, 0}, edge[] = {(double)b->farthest * 0.999, 0}, zero[] = {0, 0};
    assert_int_equal(hd_pen_bin_of(b, far, false), hd_pen_bin_of(b, edge, false));
    assert_int_equal(hd_pen_bin_of(b, zero, true), 1);
}

/* Of points anywhere in the disk alike, -ln of (probability of the bin / its area) is ln of the area of the
   disk, which is what a density of them has. */
static void areas_make_densities(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        const hd_pen_bins *b = &all[k];
        double whole = 3.14159265358979 * (double)b->farthest * (double)b->farthest, sum = 0, nats = 0;
        for (size_t i = 0; i < hd_pen_bins_count(b); i += 2) sum += hd_pen_bin_area(b, (int32_t)i);
        for (size_t i = 0; i < hd_pen_bins_count(b); i += 2) {
            double area = hd_pen_bin_area(b, (int32_t)i), p = area / whole;
            nats += p * (-log(p) + log(area));
        }
        assert_true(fabs(sum / whole - 1) < 1e-6);
        assert_true(fabs(nats - log(whole)) < 1e-6);
    }
}

static void they_reach_as_far_as_the_data(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_strokes s = {0};
    hd_pen_scale scale;
    hd_pen_bins b;
    const hd_pen_point line[] = {
        {0, 0, false}, {1, 2, false}, {3, 1, true}, {40, -30, false}, {41, -30, true}};
    assert_int_equal(hd_strokes_add(&s, (hd_line){"a", 1}, line, 5, &err), HD_OK);
    assert_int_equal(hd_pen_scale_measure(&scale, &s, &err), HD_OK);
    assert_int_equal(hd_pen_bins_measure(&b, &scale, &s, &err), HD_OK);
    double most = hypot(37 / (double)scale.deviation[0], 31 / (double)scale.deviation[1]);
    assert_true((double)b.farthest > most && (double)b.farthest < 1.01 * most);
    assert_int_equal(hd_pen_bin_behind(&b, &scale, line + 2) / 2 / b.directions, b.lengths - 1);
    hd_strokes_release(&s);
    static const hd_pen_bins bad[] = {
        {0, 3, 1, 2}, {3, 1, 1, 2}, {3, 3, 0, 2}, {3, 3, 2, 2}, {3, 3, 1, INFINITY}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) assert_int_equal(hd_pen_bins_check(&bad[i], &err), HD_EARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_in_a_bin_is_in_it),
        cmocka_unit_test(directions_turn_from_right_to_down),
        cmocka_unit_test(what_is_far_is_in_the_last_ring),
        cmocka_unit_test(areas_make_densities),
        cmocka_unit_test(they_reach_as_far_as_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
