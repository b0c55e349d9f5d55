/* heed explain MODEL TEXT as a user meets it; the worked example has its test in tests/task. */
#include "check.h"
#include "cli/shell.h"
#include "task/small.h"
#include "task/speaker.h"

#include <jansson.h>

static void translator_folder(const char *path)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_translator *t = small_make(b, HD_TOKENISER_words, false, false);
    assert_int_equal(mkdir(path, 0777), 0);
    if (hd_translator_save(t, path, &err) || hd_translator_publish(t, path, &err)) fail_msg("%s", err.text);
    hd_translator_free(t);
    hd_backend_free(b);
}

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    translator_folder(at("m"));
    speaker_folder(at("gpt"), HD_LM_gpt, HD_TOKENISER_words);
    speaker_folder(at("ngram"), HD_LM_ngram, HD_TOKENISER_characters);
    assert_int_equal(mkdir(at("other"), 0777), 0);
    put_file(at("other/config.json"), "{\"format\": 1, \"task\": \"dance\"}");
    return 0;
}

static json_t *parsed(const char *command)
{
    json_error_t e;
    json_t *o = json_loads(must_run(command), JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", command, e.text);
    return o;
}

static void a_sentence_from_tokens_to_the_distribution(void **state)
{
    (void)state;
    const char *out = must_run("$HEED explain m 'a b' --step 2");
    static const char *const parts[] = {"</s> 3",
                                        "Translation, step by step",
                                        "enc.0.self.softmax",
                                        "dec.0.self.softmax",
                                        "dec.0.cross.softmax",
                                        "dec.0.ffn.relu",
                                        "dec.norm",
                                        "logits",
                                        "probs"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *found = strstr(out, parts[i]);
        if (!found) fail_msg("no '%s', or not in its place", parts[i]);
        out = found;
    }
    out = must_run("$HEED explain m 'a b' --step all");
    assert_non_null(strstr(out, "looks most at"));
    assert_null(strstr(out, "softmax"));
}

static void steps_heads_and_names_are_picked(void **state)
{
    (void)state;
    json_t *o = parsed("$HEED explain m 'a b' --step 2 --json --only '*.cross.*'");
    assert_int_equal(json_integer_value(json_object_get(o, "step")), 2);
    assert_int_equal(json_array_size(json_object_get(json_object_get(o, "tokens"), "read")), 2);
    const json_t *all = json_object_get(o, "matrices");
    const char *name;
    json_t *value;
    assert_true(json_object_size(all) >= 8);
    json_object_foreach((json_t *)all, name, value) assert_non_null(strstr(name, ".cross."));
    const json_t *w = json_object_get(all, "dec.0.cross.softmax"); /* heads, rows, source */
    assert_int_equal(json_array_size(w), 2);
    assert_int_equal(json_array_size(json_array_get(json_array_get(w, 1), 0)), 3);
    json_decref(o);
    const char *out = must_run("$HEED explain m 'a b' --head 2 --only '*.cross.softmax'");
    assert_non_null(strstr(out, "head 2 of 2"));
    out = must_run("$HEED explain m 'a b' --columns 2 --digits 4 --only dec.emb");
    assert_non_null(strstr(out, "… 14 more"));
}

static void a_prompt_and_the_token_after_it(void **state)
{
    (void)state;
    json_t *o = parsed("$HEED explain gpt 'the cat' --json");
    assert_string_equal(json_string_value(json_object_get(o, "model")), "gpt");
    assert_int_equal(json_array_size(json_object_get(o, "distribution")), 5);
    assert_null(json_object_get(o, "steps"));
    json_decref(o);
    o = parsed("$HEED explain ngram 'the c' --json");
    assert_int_equal(json_array_size(json_object_get(o, "shares")), 3);
    json_decref(o);
    assert_non_null(strstr(must_run("$HEED explain ngram 'the c'"), "How a got its probability"));
    assert_non_null(strstr(must_run("$HEED explain gpt ''"), "0.self.softmax"));
}

static void what_cannot_be_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED explain m", 2, "TEXT is missing");
    assert_fails("$HEED explain nowhere a", 1, "nowhere: there is no such folder");
    assert_fails("$HEED explain other a", 1, "\"dance\"|translators|language models");
    assert_fails("$HEED explain m ''", 1, "the sentence is empty");
    assert_fails("$HEED explain m \"$(printf 'a\\377')\"", 1, "not UTF-8");
    assert_fails("$HEED explain gpt \"$(printf 'a\\377')\"", 1, "not UTF-8");
    assert_fails("$HEED explain m 'a a a a a a a a a a a a a a a a a'", 1, "18 tokens|16");
    assert_fails("$HEED explain gpt 'a a a a a a a a a'", 1, "10 tokens|sees 8");
    assert_fails("$HEED explain m a --step 99", 1, "no step 99");
    assert_fails("$HEED explain m a --step 0", 2, "--step: '0'");
    assert_fails("$HEED explain m a --step 1x", 2, "--step: '1x'");
    assert_fails("$HEED explain m a --step all --only 'dec.*'", 2, "--step all|--only");
    assert_fails("$HEED explain gpt a --step 1", 2, "--step");
    assert_fails("$HEED explain m a --head 3", 2, "no head 3, the model has 2");
    assert_fails("$HEED explain m a --only nothing", 2, "no matrix matches 'nothing'");
    assert_fails("$HEED explain m a --train 3", 2, "--train|without MODEL");
    assert_fails("$HEED explain --head 1", 2, "--head needs MODEL");
    assert_fails("$HEED explain m a > /dev/full", 1, "write");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_from_tokens_to_the_distribution),
        cmocka_unit_test(steps_heads_and_names_are_picked),
        cmocka_unit_test(a_prompt_and_the_token_after_it),
        cmocka_unit_test(what_cannot_be_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
