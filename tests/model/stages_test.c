/* Stages as text: what is read, what is written, what is refused and how. */
#include "check.h"
#include "model/stages.h"

static void what_is_read_is_written_again(void **state)
{
    (void)state;
    static const char *const texts[] = {"transformer",
                                        "none",
                                        "conv",
                                        "conv3:2",
                                        "conv5+bi-gru:2",
                                        "rnn",
                                        "gru:2",
                                        "bi-lstm:16",
                                        "bi-gru:1+transformer:4",
                                        "transformer:1000+transformer:1000+transformer:1000+transformer:1000",
                                        "bi-rnn+gru+lstm:3+transformer"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        hd_stages s;
        hd_err err = {0};
        char text[HD_STAGES_TEXT];
        if (hd_stages_read(&s, texts[i], &err)) fail_msg("%s", err.text);
        assert_string_equal(hd_stages_text(&s, text), texts[i]);
    }
}

static void every_part_of_a_stage_is_read(void **state)
{
    (void)state;
    hd_stages s;
    hd_err err = {0};
    assert_int_equal(hd_stages_read(&s, "bi-gru:2+lstm+transformer:3", &err), HD_OK);
    assert_int_equal(s.count, 3);
    assert_true(s.at[0].kind == HD_STAGE_gru && s.at[0].both_ways && s.at[0].layers == 2);
    assert_true(s.at[1].kind == HD_STAGE_lstm && !s.at[1].both_ways && !s.at[1].layers);
    assert_true(s.at[2].kind == HD_STAGE_transformer && s.at[2].layers == 3);
    assert_true(hd_stages_have(&s, HD_STAGE_lstm) && !hd_stages_have(&s, HD_STAGE_rnn));
    assert_true(hd_stage_cell(&s.at[0]) == HD_GRU && hd_stage_cell(&s.at[1]) == HD_LSTM);
    assert_true(hd_stage_recurs(&s.at[0]) && !hd_stage_recurs(&s.at[2]));
}

static void what_is_left_open_is_filled_in(void **state)
{
    (void)state;
    hd_stages s = {0}, full = hd_stages_resolved(&s, 6);
    hd_err err = {0};
    assert_true(hd_stages_have(&s, HD_STAGE_transformer) && full.count == 1 && full.at[0].layers == 6);
    assert_int_equal(hd_stages_read(&s, "gru+transformer:2", &err), HD_OK);
    full = hd_stages_resolved(&s, 5);
    assert_true(full.at[0].layers == 5 && full.at[1].layers == 2);
    assert_int_equal(hd_stages_read(&s, "none", &err), HD_OK);
    full = hd_stages_resolved(&s, 5);
    assert_int_equal(full.at[0].layers, 0);
}

static void what_is_no_stage_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "\"\" is not a stage"},
        {"gur", "\"gur\" is not a stage"},
        {"gru+", "\"\" is not a stage"},
        {"+gru", "\"\" is not a stage"},
        {"GRU", "\"GRU\" is not a stage"},
        {"gru:", "\"gru:\" is not a stage"},
        {"gru:0", "\"gru:0\" is not a stage"},
        {"gru:-1", "is not a stage"},
        {"gru:1001", "is not a stage"},
        {"gru:99999999999999999999", "is not a stage"},
        {"gru:2x", "is not a stage"},
        {"gru:2:3", "is not a stage"},
        {"bi-", "is not a stage"},
        {"bi-none", "is not a stage"},
        {"bi-transformer", "is not a stage"},
        {"bi-bi-gru", "is not a stage"},
        {"none:1", "is not a stage"},
        {"none3", "is not a stage"},
        {"gru3", "is not a stage"},
        {"conv1", "is not a stage"},
        {"conv4", "is not a stage"},
        {"conv33", "is not a stage"},
        {"conv3x", "is not a stage"},
        {"bi-conv", "is not a stage"},
        {"none+gru", "none stands alone"},
        {"gru+gru+gru+gru+gru", "more than 4 stages"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_stages s;
        hd_err err = {0};
        if (hd_stages_read(&s, cases[i].text, &err) != HD_EARG || !strstr(err.text, cases[i].says))
            fail_msg("'%s': '%s'", cases[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_written_again),
        cmocka_unit_test(every_part_of_a_stage_is_read),
        cmocka_unit_test(what_is_left_open_is_filled_in),
        cmocka_unit_test(what_is_no_stage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
