/* --heads and heed heads as a user meets them. */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"
#include "task/speaker.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    translating_folder(at("t"));
    speaker_folder(at("g"), HD_LM_gpt, HD_TOKENIZER_words);
    speaker_folder(at("n"), HD_LM_ngram, HD_TOKENIZER_words);
    put_file(at("src"), "a b c\nd e\nf g h a\n");
    put_file(at("tgt"), "A B C\nD E\nF G H A\n");
    put_file(at("text"), speaker_text);
    must_run("paste src tgt > pairs");
    return 0;
}

/* The same bytes with factors of 1, others with 0. */
static void assert_listens(const char *command, const char *all)
{
    char line[512];
    snprintf(line, sizeof line,
             "%s > plain; %s --heads '%s=1' | cmp - plain; %s --heads '%s=0' | cmp -s - plain; echo $?",
             command, command, all, command, all);
    assert_prints(line, 0, "1\n");
}

static void verbs_take_factors(void **state)
{
    (void)state;
    assert_listens("$HEED translate t src --beam 2 --scores --max-length 8", "*.*.self.*");
    assert_listens("$HEED translate t pairs --force --scores", "dec.*.cross.*");
    assert_listens("$HEED rank t pairs", "enc.0.self.*");
    assert_listens("$HEED rank g text", "0.self.*");
    assert_listens("$HEED perplexity g text", "dec.*.self.*");
    assert_listens("$HEED generate g --prompt 'the cat' --tokens 12 --seed 1 --json", "*.self.*");
    assert_listens("$HEED explain t 'a b'", "enc.0.self.0");
    assert_prints(
        "$HEED translate t src --max-length 5 --attention a.json > /dev/null; $HEED translate t src "
        "--max-length 5 --attention b.json --heads 'enc.0.self.*=0' > /dev/null; cmp -s a.json "
        "b.json; echo $?",
        0, "1\n");
}

static void what_is_wrong_is_said_with_what_there_is(void **state)
{
    (void)state;
    assert_fails("$HEED translate t src --heads enc.9.self.0=0", 2,
                 "--heads: the model has no head enc.9.self.0: its heads are enc.0|counted from 0");
    assert_fails("$HEED rank t pairs --heads enc.0.self.0=nan", 2, "not a finite number");
    assert_fails("$HEED explain t 'a b' --heads enc.0", 2, "'enc.0' is not HEAD=FACTOR");
    assert_fails("$HEED perplexity n text --heads 0.self.0=0", 2, "ngram has no attention heads");
    assert_fails("$HEED heads t", 2, "--valid is required");
    assert_fails("$HEED heads n --valid text", 1, "has no attention heads");
    assert_fails("$HEED heads g --valid text --metric bleu", 1, "BLEU is of translations");
    assert_fails("$HEED heads g --valid text src", 1, "reads one text");
    assert_fails("$HEED heads g --valid text --gradient --precision int8", 1, "precision f32");
}

static json_t *object_of(const char *command)
{
    json_error_t e;
    json_t *o = json_loads(must_run(command), JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(o)) fail_msg("%s: %s", command, e.text);
    return o;
}

static double number(const json_t *o, const char *key)
{
    if (!json_is_number(json_object_get(o, key))) fail_msg("no %s", key);
    return json_number_value(json_object_get(o, key));
}

/* Each head's loss is what perplexity says with that head off. */
static void differences_are_those_of_perplexity(void **state)
{
    (void)state;
    char command[200];
    json_t *o = object_of("$HEED heads g --valid text --json --gradient"), *one;
    size_t i;
    double last = INFINITY;
    assert_true(json_array_size(json_object_get(o, "heads")) > 1);
    assert_true(fabs(number(o, "correlation")) <= 1);
    json_array_foreach(json_object_get(o, "heads"), i, one)
    {
        snprintf(command, sizeof command, "$HEED perplexity g text --json --heads %s=0",
                 json_string_value(json_object_get(one, "head")));
        json_t *p = object_of(command);
        double loss = -number(p, "logprob") / number(p, "token_count");
        assert_true(fabs(loss - number(one, "without")) < 1e-6);
        assert_true(fabs(number(one, "without") - number(o, "all") - number(one, "difference")) < 1e-7);
        assert_true(number(one, "difference") <= last);
        assert_true(number(one, "gradient") > 0);
        assert_true(fabs(number(one, "slope")) <= number(one, "gradient") + 1e-9);
        last = number(one, "difference");
        json_decref(p);
    }
    json_decref(o);
}

static void a_translator_has_a_table_and_a_picture(void **state)
{
    (void)state;
    assert_prints("$HEED heads t --valid src tgt --plot h.svg > a; head -c 4 a; echo; "
                  "$HEED heads t --valid pairs | cmp - a; grep -c 'all heads: loss' a; "
                  "grep -o 'cross-attention' h.svg | head -1; grep -o 'head 0' h.svg | wc -l",
                  0, "head\n1\ncross-attention\n3\n");
    assert_prints("$HEED heads t --valid src tgt --metric bleu | tail -1 | cut -c1-16", 0,
                  "all heads: BLEU \n");
    /* once all are off, none makes a difference */
    assert_prints("$HEED heads t --valid src tgt --heads '*.*.*.*=0' > b; test $(wc -l < b) = $(wc -l < a); "
                  "sed '1d;$d' b | grep -v '+0.0000$'",
                  1, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_take_factors),
        cmocka_unit_test(what_is_wrong_is_said_with_what_there_is),
        cmocka_unit_test(differences_are_those_of_perplexity),
        cmocka_unit_test(a_translator_has_a_table_and_a_picture),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
