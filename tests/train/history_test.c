/* The log of a run, read back: which lines count, what the axes are, and what a kill may leave. */
#include "check.h"
#include "scratch.h"

#include "train/log/history.h"

static const char log_text[] =
    "{\"step\":10,\"kind\":\"train\",\"time\":600.0,\"loss\":4.0,\"epoch\":0,\"rate\":0.1}\n"
    "{\"step\":20,\"kind\":\"train\",\"time\":660.0,\"loss\":2.0,\"epoch\":1,\"rate\":0.2}\n"
    "{\"step\":20,\"kind\":\"valid\",\"time\":670.0,\"loss\":3.0,\"bleu\":12.5}\n"
    "{\"step\":30,\"kind\":\"train\",\"time\":720.0,\"loss\":null,\"epoch\":1,\"rate\":0.3}\n"
    "{\"step\":40,\"kind\":\"train\",\"time\":780.0,\"loss\":1.0,\"epoch\":2,\"rate\":0.4}\n";

static const char *folder_with(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s", at("%s", name));
    mkdir(path, 0777);
    mkdir(at("%s/train", name), 0777);
    put_file(at("%s/train/log.jsonl", name), text);
    return path;
}

static hd_history read_back(const char *folder, const char *kind, const char *field, hd_history_axis axis)
{
    hd_history h;
    hd_err err = {0};
    if (hd_history_read(&h, folder, kind, field, axis, &err)) fail_msg("%s", err.text);
    return h;
}

static void values_of_a_field_over_each_axis(void **state)
{
    (void)state;
    const char *folder = folder_with("run", log_text);
    static const double loss[] = {4, 2, (double)NAN, 1};
    static const double x[][4] = {[HD_HISTORY_STEPS] = {10, 20, 30, 40},
                                  [HD_HISTORY_EPOCHS] = {0.5, 1, 1.5, 2}, /* 20 steps each */
                                  [HD_HISTORY_MINUTES] = {0, 1, 2, 3}};
    for (int axis = HD_HISTORY_STEPS; axis <= HD_HISTORY_MINUTES; axis++) {
        hd_history h = read_back(folder, "train", "loss", (hd_history_axis)axis);
        assert_int_equal(h.count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_true(fabs(h.x[i] - x[axis][i]) < 1e-12);
            assert_true(isnan(loss[i]) ? isnan(h.y[i]) : h.y[i] == loss[i]);
        }
        hd_history_release(&h);
    }
    hd_history h = read_back(folder, "valid", "bleu", HD_HISTORY_STEPS);
    assert_true(h.count == 1 && h.x[0] == 20 && h.y[0] == 12.5);
    hd_history_release(&h);
    h = read_back(folder, "train", "bleu", HD_HISTORY_STEPS);
    assert_int_equal(h.count, 0);
    hd_history_release(&h);
    char fields[64];
    assert_string_equal(hd_history_fields(folder, fields, sizeof fields), "loss, epoch, rate, bleu");
}

/* Sums of 1, 1/2 (and 1/4) weights: by hand. What is no number is passed over. */
static void smoothing_is_a_mean_that_forgets(void **state)
{
    (void)state;
    hd_history h = read_back(folder_with("smooth", log_text), "train", "loss", HD_HISTORY_STEPS);
    hd_history_smooth(&h, 0.5);
    assert_true(fabs(h.y[0] - 4) < 1e-12);
    assert_true(fabs(h.y[1] - (2 * 2 + 4) / 3.0) < 1e-12);
    assert_true(isnan(h.y[2]));
    assert_true(fabs(h.y[3] - (4 * 1 + 2 * 2 + 4) / 7.0) < 1e-12);
    hd_history_release(&h);
    h = read_back(at("smooth"), "train", "loss", HD_HISTORY_STEPS);
    hd_history_smooth(&h, 0);
    assert_true(h.y[1] == 2 && h.y[3] == 1);
    hd_history_release(&h);
}

static void a_torn_last_line_does_not_count_and_others_are_named(void **state)
{
    (void)state;
    hd_history h = read_back(
        folder_with("torn", "{\"step\":1,\"kind\":\"train\",\"time\":1,\"loss\":4.0}\n{\"step\":2,\"ki"),
        "train", "loss", HD_HISTORY_STEPS);
    assert_int_equal(h.count, 1);
    hd_history_release(&h);
    hd_err err = {0};
    assert_int_equal(hd_history_read(&h, folder_with("bad", "{\"step\":1}\nnonsense\n{\"step\":2}\n"),
                                     "train", "loss", HD_HISTORY_STEPS, &err),
                     HD_EFORMAT);
    assert_non_null(strstr(err.text, "bad/train/log.jsonl:2: is not a line of a training log"));
    err = (hd_err){0};
    assert_int_equal(hd_history_read(&h, at("torn"), "train", "loss", HD_HISTORY_EPOCHS, &err), HD_EARG);
    assert_non_null(strstr(err.text, "less than an epoch"));
    assert_int_equal(hd_history_read(&h, at("nowhere"), "train", "loss", HD_HISTORY_STEPS, &err), HD_EFILE);
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    const char *folder = folder_with("memory", log_text);
    hd_status s = HD_ENOMEM;
    for (size_t n = 1; s; n++) {
        hd_history h;
        hd_err err = {0};
        size_t before = hd_mem_now().blocks;
        hd_mem_fail_at(n);
        s = hd_history_read(&h, folder, "train", "loss", HD_HISTORY_STEPS, &err);
        hd_mem_fail_at(0);
        assert_true(!s || s == HD_ENOMEM);
        hd_history_release(&h);
        assert_int_equal(hd_mem_now().blocks, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_a_field_over_each_axis),
        cmocka_unit_test(smoothing_is_a_mean_that_forgets),
        cmocka_unit_test(a_torn_last_line_does_not_count_and_others_are_named),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
