/* Average precision against pycocotools 2.0 (tests/metric/detection_check.py), and small cases by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "base/mem.h"
#include "metric/detection.h"

static uint32_t seed;

static int draw(int n)
{
    seed = (seed * 1103515245u + 12345u) & 0x7fffffffu;
    return (int)(seed >> 8) % n;
}

static void add(hd_detection *d, bool truth, hd_detection_box box)
{
    hd_err err = {0};
    if ((truth ? hd_detection_add_truth : hd_detection_add_found)(d, &box, &err)) fail_msg("%s", err.text);
}

static void add_near(hd_detection *d, hd_detection_box b)
{
    double x = b.x + draw(9) - 4, y = b.y + draw(9) - 4;
    double w = fmax(1, b.width + draw(9) - 4), h = fmax(1, b.height + draw(9) - 4);
    size_t label = draw(8) ? b.label : (size_t)draw(3);
    add(d, false, (hd_detection_box){b.picture, label, x, y, w, h, .score = draw(20) / 20.0});
}

static void add_anywhere(hd_detection *d, size_t picture, int label, double side, double most)
{
    size_t is = label < 0 ? (size_t)draw(3) : (size_t)label;
    double x = draw(200), y = draw(150);
    add(d, false, (hd_detection_box){picture, is, x, y, side, side, .score = draw(20) / most});
}

static void fill(hd_detection *d)
{
    seed = 12345;
    for (size_t picture = 0; picture < 12; picture++) {
        for (int n = 3 + draw(6); n; n--) {
            hd_detection_box b = {.picture = picture};
            b.x = draw(200), b.y = draw(150), b.width = 10 + draw(60), b.height = 10 + draw(60);
            b.label = (size_t)draw(3), b.crowd = draw(12) == 0;
            add(d, true, b);
            for (int k = draw(4); k; k--) add_near(d, b);
        }
        for (int n = draw(4); n; n--) add_anywhere(d, picture, -1, 20, 20);
    }
    for (int n = 0; n < 130; n++) add_anywhere(d, 3, 1, 30, 40);
}

static void expect(hd_detection_score is, const double expected[3])
{
    const double of[3] = {is.ap, is.ap50, is.ap75};
    for (int i = 0; i < 3; i++)
        if (!(fabs(of[i] - expected[i]) < 1e-12))
            fail_msg("%d: %.15g, expected %.15g", i, of[i], expected[i]);
}

static void precision_is_that_of_pycocotools(void **state)
{
    (void)state;
    static const double all[3] = {0.154554186954092, 0.368440215882769, 0.0727992510660356},
                        by[3][3] = {{0.179765953154365, 0.452620017540508, 0.0949736277975624},
                                    {0.181780828926019, 0.414289819879771, 0.0494967326612705},
                                    {0.102115778781892, 0.238410810228028, 0.0739273927392739}};
    hd_detection *d = NULL;
    hd_detection_score mean, of[4];
    assert_int_equal(hd_detection_new(&d, 4, NULL), HD_OK);
    fill(d);
    for (int twice = 0; twice < 2; twice++) { /* asking changes nothing */
        assert_int_equal(hd_detection_finish(d, &mean, of, NULL), HD_OK);
        expect(mean, all);
        for (int k = 0; k < 3; k++) expect(of[k], by[k]);
        assert_true(isnan(of[3].ap) && !of[3].truths);
    }
    hd_detection_free(d);
}

static void a_second_box_of_one_object_is_wrong(void **state)
{
    (void)state;
    hd_detection *d = NULL;
    hd_detection_score is;
    assert_int_equal(hd_detection_new(&d, 1, NULL), HD_OK);
    add(d, true, (hd_detection_box){0, 0, 10, 10, 20, 20, .score = 0});
    add(d, true, (hd_detection_box){1, 0, 10, 10, 20, 20, .score = 0});
    add(d, false, (hd_detection_box){0, 0, 10, 10, 20, 20, .score = 0.9});
    add(d, false, (hd_detection_box){0, 0, 11, 10, 20, 20, .score = 0.8});
    add(d, false, (hd_detection_box){1, 0, 10, 10, 20, 20, .score = 0.7});
    assert_int_equal(hd_detection_finish(d, &is, NULL, NULL), HD_OK);
    /* recall 0.5 at precision 1, then 2 of 3 */
    assert_true(fabs(is.ap50 - (51 + 50 * 2.0 / 3) / 101) < 1e-12);
    hd_detection_free(d);
}

static void nothing_is_no_number_and_a_bad_class_is_refused(void **state)
{
    (void)state;
    hd_detection *d = NULL;
    hd_detection_score is;
    hd_err err = {0};
    assert_int_equal(hd_detection_new(&d, 2, NULL), HD_OK);
    assert_int_equal(hd_detection_finish(d, &is, NULL, NULL), HD_OK);
    assert_true(isnan(is.ap));
    assert_int_equal(hd_detection_add_truth(d, &(hd_detection_box){.label = 2}, &err), HD_EARG);
    hd_detection_free(d);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        hd_detection *d = NULL;
        hd_detection_score is;
        const hd_detection_box b = {0, 0, 1, 1, 2, 2, .score = 1};
        hd_mem_fail_at(n);
        hd_status s = hd_detection_new(&d, 1, NULL);
        if (!s) s = hd_detection_add_truth(d, &b, NULL);
        if (!s) s = hd_detection_add_found(d, &b, NULL);
        if (!s) s = hd_detection_finish(d, &is, NULL, NULL);
        assert_true(!s || s == HD_ENOMEM);
        hd_mem_fail_at(0);
        hd_detection_free(d);
        if (!s) return;
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precision_is_that_of_pycocotools),
        cmocka_unit_test(a_second_box_of_one_object_is_wrong),
        cmocka_unit_test(nothing_is_no_number_and_a_bad_class_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
