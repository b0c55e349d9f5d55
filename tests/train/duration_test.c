/* The time of a run: kept as it was saved, and nothing where the file is not one. */
#include "check.h"
#include "scratch.h"

#include "train/duration.h"

static void what_is_saved_comes_back(void **state)
{
    (void)state;
    static const double seconds[] = {0, 0.0014, 59.9996, 123456.789, NAN};
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        hd_err err = {0};
        hd_duration d = {seconds[i], i % 2};
        if (hd_duration_save(scratch, &d, &err)) fail_msg("%s", err.text);
        hd_duration back = hd_duration_load(scratch);
        assert_true(isnan(seconds[i]) ? isnan(back.seconds) : fabs(back.seconds - seconds[i]) <= 0.0005001);
        assert_int_equal(back.finished, d.finished);
    }
}

static void what_cannot_be_read_is_not_known(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{}", "[1]", "{\"seconds\": -1, \"finished\": 1}", "{\"seconds\": \"7\"}", "{\"seconds\": 7"};
    mkdir(at("train"), 0777);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        put_file(at("train/time.json"), texts[i]);
        hd_duration d = hd_duration_load(scratch);
        assert_true(isnan(d.seconds) && !d.finished);
    }
    assert_true(isnan(hd_duration_load(at("nowhere")).seconds));
    hd_err err = {0};
    assert_int_equal(hd_duration_save(at("nowhere"), &(hd_duration){1, true}, &err), HD_EFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_comes_back),
        cmocka_unit_test(what_cannot_be_read_is_not_known),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
