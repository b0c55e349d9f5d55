/* heed embed as a user meets it: a vector for each line, in order, for people and for programs. */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"
#include "show/embed.h"
#include "task/speaker.h"

#include <jansson.h>

enum { WIDTH = 16, LINES = 4 };

static const char *const lines[LINES] = {"a b c", "", "d", "c \"b\" a"};
static hd_real vector[LINES][WIDTH]; /* means, by the task */

static int make_models(void **state)
{
    hd_err err = {0};
    if (scratch_make(state)) return -1;
    shell_prepare();
    translating_folder(at("t"));
    speaker_folder(at("lstm"), HD_LM_lstm, HD_TOKENIZER_words);
    speaker_folder(at("gpt"), HD_LM_gpt, HD_TOKENIZER_characters);
    speaker_folder(at("ngram"), HD_LM_ngram, HD_TOKENIZER_words);
    put_file(at("in"), "a b c\n\nd\nc \"b\" a\n");
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder m;
    hd_embeddings e;
    hd_line line[LINES];
    for (size_t i = 0; i < LINES; i++) line[i] = line_of(lines[i]);
    if (hd_model_folder_open(&m, at("t"), NULL, b, HD_WEIGHTS_BEST, &err) ||
        hd_embed_lines(&e, &r, &m, line, LINES, &(hd_embed_opt){0}, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < LINES; i++)
        if (e.of[i].vectors) memcpy(vector[i], e.of[i].vector, sizeof vector[i]);
    hd_embeddings_release(&e);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
    return 0;
}

static void a_line_of_numbers_for_each_line(void **state)
{
    (void)state;
    char out[SHELL_ROOM], *at = out;
    snprintf(out, sizeof out, "%s", must_run("$HEED embed t --device cpu < in"));
    for (size_t i = 0; i < LINES; i++) {
        for (size_t c = 0; *lines[i] && c < WIDTH; c++) {
            float v = strtof(at, &at);
            assert_memory_equal(&v, &vector[i][c], sizeof v); /* 9 digits give a float back */
            assert_int_equal(*at, c + 1 < WIDTH ? ' ' : '\n');
        }
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(*at, 0);
    assert_prints("$HEED embed t < in > a; gzip -kf in; $HEED embed t in.gz --threads 1 | cmp - a", 0, "");
}

static void json_names_what_it_holds(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    snprintf(out, sizeof out, "%s", must_run("$HEED embed t --json --device cpu < in"));
    size_t i = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"), i++) {
        json_error_t e;
        json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e), *v = json_object_get(o, "vector");
        assert_int_equal(json_object_size(o), 2);
        assert_string_equal(json_string_value(json_object_get(o, "text")), lines[i]);
        assert_true(json_is_null(v) == !*lines[i]);
        assert_int_equal(json_array_size(v), *lines[i] ? WIDTH : 0);
        for (size_t c = 0; c < json_array_size(v); c++)
            assert_true(fabs(json_number_value(json_array_get(v, c)) - (double)vector[i][c]) < 1e-7);
        json_decref(o);
    }
    assert_int_equal(i, LINES);
}

static void tokens_have_their_own(void **state)
{
    (void)state;
    json_error_t e;
    json_t *o = json_loads(must_run("echo 'a b' | $HEED embed t --pool none --json"), 0, &e);
    static const char *const token[] = {"a", "b", "</s>"};
    assert_int_equal(json_array_size(json_object_get(o, "tokens")), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(json_string_value(json_array_get(json_object_get(o, "tokens"), i)), token[i]);
        assert_int_equal(json_array_size(json_array_get(json_object_get(o, "vectors"), i)), WIDTH);
    }
    json_decref(o);
    assert_prints("$HEED embed t --pool none < in > a; wc -l < a; grep -c '^$' a", 0, "16\n4\n");
    assert_prints("echo 'the cat' | $HEED embed lstm --pool none --json | grep -o '\"tokens.*\\], \"v'", 0,
                  "\"tokens\": [\"the\", \"cat\"], \"v\n");
}

static void vectors_can_be_1_long(void **state)
{
    (void)state;
    assert_prints(
        "for m in t lstm gpt; do for p in mean max last first; do echo 'a mat' | $HEED embed $m -p $p "
        "--normalize | awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; printf \"%d %.4f\\n\", NF, "
        "s }'; done; done | sort -u",
        0, "16 1.0000\n");
}

static void bad_lines_leave_empty_ones(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    assert_int_equal(
        shell(out, "printf 'a\\n\\377\\nb\\n' | $HEED embed t 2> said | awk '{ print NF }'; cat said"), 0);
    assert_memory_equal(out, "16\n0\n16\n", 8);
    assert_non_null(
        strstr(out, "standard input:2: not UTF-8: byte 0xff at offset 0: answered with an empty line"));
    assert_non_null(strstr(out, "1 of 3 lines could not be read"));
    assert_int_equal(shell(out, "echo 'the cat sat' | $HEED embed gpt -q --json"), 1); /* 8 positions */
    assert_non_null(
        strstr(out, "\"text\": \"the cat sat\", \"line\": 1, \"error\": \"longer than the model can take\", "
                    "\"vector\": null}"));
    assert_int_equal(shell(out, "echo 'the cat sat' | $HEED embed gpt -q --long cut"), 0);
    assert_prints("$HEED embed t < /dev/null", 0, "");
}

static void what_cannot_be_read_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED embed", 2, "heed embed: ");
    assert_fails("$HEED embed t --pool sum < in", 2, "--pool|'sum' is not one of");
    assert_fails("$HEED embed ngram < in", 1, "ngram|gru|or a translator");
    assert_fails("$HEED embed nowhere < in", 1, "nowhere: there is no such folder");
    assert_fails("$HEED embed t nowhere", 1, "nowhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_numbers_for_each_line), cmocka_unit_test(json_names_what_it_holds),
        cmocka_unit_test(tokens_have_their_own),           cmocka_unit_test(vectors_can_be_1_long),
        cmocka_unit_test(bad_lines_leave_empty_ones),      cmocka_unit_test(what_cannot_be_read_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
