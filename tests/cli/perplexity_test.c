/* heed perplexity as a user meets it: numbers equal to those of the model, for people and for programs. */
#include "check.h"
#include "cli/shell.h"
#include "task/speaker.h"

#include <jansson.h>

static const char heard[] = "the cat is on the log\n\na zebra sat\n"; /* 35 characters; no z in the model */
static double nats;

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    speaker_folder(at("m"), HD_LM_ngram, HD_TOKENIZER_characters);
    speaker_folder(at("g"), HD_LM_gpt, HD_TOKENIZER_characters);
    put_file(at("t"), heard);
    put_file(at("empty"), "");
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *l = speaker(b, HD_LM_ngram, HD_TOKENIZER_characters);
    hd_ids ids = speaker_ids(l->tokenizer[0], heard);
    nats = -hd_model_folder_lm(l)->type->lm.score(hd_model_folder_lm(l), ids.at, ids.count);
    hd_ids_release(&ids);
    folder_free(l);
    hd_backend_free(b);
    return 0;
}

static json_t *object_of(const char *command)
{
    json_error_t e;
    json_t *o = json_loads(must_run(command), JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(o)) fail_msg("%s: %s", command, e.text);
    return o;
}

static void numbers_are_those_of_the_model(void **state)
{
    (void)state;
    json_t *o = object_of("$HEED perplexity m --json < t");
    assert_int_equal(json_integer_value(json_object_get(o, "token_count")), 35);
    assert_int_equal(json_integer_value(json_object_get(o, "characters")), 35);
    assert_int_equal(json_integer_value(json_object_get(o, "unknown")), 2); /* z and b */
    double perplexity = json_number_value(json_object_get(o, "perplexity"));
    double bits = json_number_value(json_object_get(o, "bits_per_character"));
    assert_true(fabs(perplexity / exp(nats / 35) - 1) < 1e-6);
    assert_true(fabs(bits / (nats / 35 / log(2)) - 1) < 1e-6);
    assert_null(json_object_get(o, "text"));
    json_decref(o);
    char line[128];
    snprintf(line, sizeof line, "35 tokens, perplexity %.6g, %.4f bits per character; 2 tokens are <unk>\n",
             perplexity, bits);
    assert_prints("$HEED perplexity m < t", 0, line);
}

static void every_text_has_its_line(void **state)
{
    (void)state;
    const char *out = must_run("printf 'the\\n' | $HEED perplexity g t - --json");
    assert_non_null(strstr(out, ", \"file\": \"t\"}\n{\"token_count\": 4, "));
    assert_non_null(strstr(out, ", \"file\": \"-\"}\n"));
    out = must_run("gzip -k t; $HEED perplexity m t t.gz");
    assert_memory_equal(out, "t: 35 tokens", 12);
    assert_non_null(strstr(out, "\nt.gz: 35 tokens"));
}

static void what_cannot_be_measured_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED perplexity", 2, "heed perplexity: ");
    assert_fails("$HEED perplexity nowhere < t", 1, "heed perplexity: nowhere");
    assert_fails("$HEED perplexity m nowhere", 1, "nowhere");
    assert_fails("$HEED perplexity m < empty", 1, "standard input|no text");
    assert_fails("$HEED perplexity m empty", 1, "empty|no text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_model),
        cmocka_unit_test(every_text_has_its_line),
        cmocka_unit_test(what_cannot_be_measured_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
