/* Rows laid out step after step: every row is in one step, and comes back to where it was. */
#include "check.h"
#include "nn/unroll.h"

static void every_row_is_in_the_step_of_its_place_and_comes_back(void **state)
{
    (void)state;
    static const int32_t len[] = {3, 1, 0, 15};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_seg *seg = hd_seg_of(&r, len, COUNT_OF(len), NULL);
    const hd_unrolled *u = hd_unroll(&r, seg);
    assert_non_null(u);
    assert_true(u->steps == 15 && u->items == 4 && u->single->rows == 4 && u->single->longest == 1);
    size_t seen = 0;
    for (size_t t = 0; t < u->steps; t++)
        for (size_t i = 0; i < u->items; i++) {
            int32_t row = u->row[t * u->items + i];
            if (t >= (size_t)len[i]) {
                assert_int_equal(row, -1);
                continue;
            }
            assert_true(seg->item[row] == (int32_t)i && seg->pos[row] == (int32_t)t);
            assert_int_equal(u->place[row], t * u->items + i);
            seen++;
        }
    assert_int_equal(seen, seg->rows);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Filled up to bounds: rows of no item have no place. */
static void rows_of_no_item_are_left_out(void **state)
{
    (void)state;
    static const int32_t len[] = {2, 3};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_unrolled *u =
        hd_unroll(&r, hd_seg_within(&r, len, 2, NULL, (hd_bounds){.items = 4, .rows = 9, .longest = 8}));
    assert_non_null(u);
    assert_true(u->steps == 8 && u->items == 4);
    for (size_t k = 0; k < 9; k++) assert_true((u->place[k] >= 0) == (k < 5));
    for (size_t k = 0; k < 32; k++)
        assert_true((u->row[k] >= 0) == (k % 4 < 2 && k / 4 < (size_t)len[k % 4]));
    hd_run_release(&r);
    hd_backend_free(b);
}

static void one_row_an_item_is_one_step_as_it_lies(void **state)
{
    (void)state;
    static const int32_t len[] = {1, 1, 1};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_seg *seg = hd_seg_of(&r, len, 3, NULL);
    const hd_unrolled *u = hd_unroll(&r, seg);
    assert_true(u && u->steps == 1 && u->single == seg && !u->row);
    seg->steps = u;
    assert_ptr_equal(hd_unroll(&r, seg), u); /* laid out once */
    assert_null(hd_unroll(&r, NULL));
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_the_step_of_its_place_and_comes_back),
        cmocka_unit_test(rows_of_no_item_are_left_out),
        cmocka_unit_test(one_row_an_item_is_one_step_as_it_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
