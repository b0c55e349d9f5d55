/* Tables of text: every column is as wide as its widest cell, the first ones flush left. */
#include "check.h"

#include "view/draw/table.h"

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    static const char *const cells[] = {"model", "n", "a", "1,000", "größer", "7"};
    hd_table t = {.columns = 2, .left = 1};
    hd_text out = {0};
    for (size_t i = 0; i < COUNT_OF(cells); i++) hd_table_add(&t, cells[i]);
    hd_table_write(&out, &t);
    assert_string_equal(out.data, "model       n\n"
                                  "a       1,000\n"
                                  "größer      7\n");
    hd_text_release(&out);
}

static void lack_of_memory_stays_in_the_text(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks, missed = 1;
    for (size_t n = 1; missed; n++) {
        hd_table t = {.columns = 1};
        hd_text out = {0};
        hd_mem_fail_at(n);
        hd_table_add(&t, "cell");
        hd_table_write(&out, &t);
        hd_mem_fail_at(0);
        missed = out.missed;
        hd_text_release(&out);
        assert_int_equal(hd_mem_now().blocks, blocks);
        assert_in_range(n, 1, 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(lack_of_memory_stays_in_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
