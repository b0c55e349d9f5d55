/* What heed embed says of words, as a user meets it: the lectures' "apple", a fruit or a firm, in a model
   that has learned both from a text; neighbors and sums in a table; and what does not fit, said in one line.
 */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"
#include "task/speaker.h"

#include <jansson.h>

enum { SENTENCES = 6 };

/* Sentences of two senses. The words around differ, and others than "apple" stand in its place: pear and plum
   in one, acme and orbit in the other. Those that are asked with are not among them. */
#define CORPUS                                                                                 \
    "awk 'BEGIN { srand(1); "                                                                  \
    "split(\"apple pear plum\", F); split(\"i she we\", W); split(\"ate bought cooked\", A); " \
    "split(\"red sweet green ripe\", J); split(\"sugar cream honey\", S); "                    \
    "split(\"apple acme orbit\", C); split(\"shares profits phones sales\", P); "              \
    "split(\"rose fell grew\", V); split(\"today again quickly\", T); "                        \
    "for (i = 0; i < 400; i++) { "                                                             \
    "print W[r(3)], A[r(3)], \"a\", J[r(4)], F[r(3)], \"with\", S[r(3)]; "                     \
    "print P[r(4)], \"of the firm\", C[r(3)], V[r(3)], T[r(3)] } } "                           \
    "function r(n) { return 1 + int(n * rand()) }' | grep -vxFf asked > text"

static const char asked[] = "i ate a red apple with sugar\n"
                            "she cooked a green apple with cream\n"
                            "we bought a ripe apple with honey\n"
                            "shares of the firm apple rose today\n"
                            "phones of the firm apple fell again\n"
                            "sales of the firm apple grew quickly\n";

static int make_models(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    put_file(at("asked"), asked);
    translating_folder(at("t"));
    speaker_folder(at("ngram"), HD_LM_ngram, HD_TOKENIZER_words);
    speaker_folder(at("gpt"), HD_LM_gpt, HD_TOKENIZER_words);
    int status =
        shell(out, CORPUS "; $HEED train -q --task mlm --device cpu --train text --unit word --layers 2 "
                          "--width 32 --heads 2 --context 16 --batch-size 16 --steps 500 --lr 0.004 "
                          "--warmup 20 --dropout 0 --out bert");
    if (status) print_message("%s", out);
    return status;
}

static json_t *object_of(const char *command)
{
    json_error_t e;
    json_t *o = json_loads(must_run(command), JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", command, e.text);
    return o;
}

static double cosine_of(json_t *o, size_t i, size_t k)
{
    return json_number_value(json_array_get(json_array_get(json_object_get(o, "cosines"), i), k));
}

static void a_word_has_the_vector_of_its_sense(void **state)
{
    (void)state;
    json_t *o = object_of("$HEED embed bert --similar apple --json --device cpu < asked");
    double within = 1, across = -1;
    assert_int_equal(json_integer_value(json_object_get(o, "layer")), 2);
    assert_int_equal(json_array_size(json_object_get(o, "cosines")), SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++)
        for (size_t k = 0; k < SENTENCES; k++) {
            double c = cosine_of(o, i, k);
            assert_true(fabs(c - cosine_of(o, k, i)) < 1e-8 && (i != k || fabs(c - 1) < 1e-8));
            if (i / 3 == k / 3)
                within = fmin(within, c);
            else
                across = fmax(across, c);
        }
    print_message("within at least %.2f, across at most %.2f\n", within, across);
    assert_true(within > across + 0.1); /* the lectures' are 0.71 and 0.53 */
    json_decref(o);
}

static void in_the_table_a_word_is_a_word(void **state)
{
    (void)state;
    json_t *o = object_of("$HEED embed bert --similar apple --json --layer 0 < asked");
    assert_int_equal(json_integer_value(json_object_get(o, "layer")), 0);
    for (size_t i = 0; i < SENTENCES; i++)
        for (size_t k = 0; k < SENTENCES; k++) assert_true(fabs(cosine_of(o, i, k) - 1) < 1e-8);
    json_decref(o);
}

static void people_get_a_table_and_a_picture(void **state)
{
    (void)state;
    assert_prints("printf 'an apple\\nsweet\\napple of the apple\\n' | $HEED embed bert -l 0 --similar apple "
                  "--plot s.svg 2> said; cat said; grep -c '</svg>' s.svg",
                  0,
                  "   1  line 1: an [apple]\n"
                  "   2  line 3: [apple] of the apple\n"
                  "   3  line 3: apple of the [apple]\n"
                  "\n"
                  "         1     2     3\n"
                  "   1  1.00  1.00  1.00\n"
                  "   2  1.00  1.00  1.00\n"
                  "   3  1.00  1.00  1.00\n"
                  "heed: warning: standard input:2: the word is not in it: left out\n"
                  "1\n");
    assert_fails("echo sweet | $HEED embed bert --similar apple -q", 1, "no line has the word 'apple'");
    assert_fails("$HEED embed bert --similar apple < /dev/null", 1, "no line has the word 'apple'");
}

static void layers_are_counted_from_the_table_on(void **state)
{
    (void)state;
    assert_prints(
        "for m in bert gpt t; do n=$([ $m = bert ] && echo 2 || echo 1); "
        "echo 'the cat' | $HEED embed $m > a; echo 'the cat' | $HEED embed $m --layer $n | cmp - a; "
        "echo 'the cat' | $HEED embed $m --layer -1 | cmp - a; "
        "echo 'the cat' | $HEED embed $m --layer 0 | cmp -s - a; echo $?; done",
        0, "1\n1\n1\n");
    assert_prints(
        "echo 'a apple' | $HEED embed bert -p first > a; echo 'a apple' | $HEED embed bert -p cls | cmp - a",
        0, "");
    assert_fails("echo a | $HEED embed bert --layer 3", 2, "there is no layer 3|the model has 2");
    assert_fails("echo a | $HEED embed gpt --layer 2", 2, "there is no layer 2|the model has 1");
    assert_fails("echo a | $HEED embed bert --layer -2", 2, "--layer");
    assert_fails("echo a | $HEED embed bert --pool pooler", 2, "there is no pooler in this model");
    assert_fails("echo a | $HEED embed ngram --layer 0", 1, "ngram has no embedding table");
}

/* Words that stand in each other's place have come near to each other. */
static void neighbors_are_words_of_a_kind(void **state)
{
    (void)state;
    assert_prints(
        "$HEED embed bert --nearest pear --top 2 | awk '{ print $2 }' | sort | tr '\\n' ' '; "
        "$HEED embed bert --layer 0 --nearest pear -k 1000 | wc -l | tr -d ' '; wc -l < bert/tokenizer.txt "
        "| tr -d ' '",
        0, "apple plum 32\n37\n");
    json_t *o = object_of("$HEED embed bert --analogy 'plum - apple + orbit' --json --top 3");
    assert_string_equal(json_string_value(json_object_get(o, "analogy")), "plum - apple + orbit");
    json_t *all = json_object_get(o, "neighbors");
    assert_int_equal(json_array_size(all), 3);
    double before = 1;
    for (size_t i = 0; i < 3; i++) {
        json_t *n = json_array_get(all, i);
        double c = json_number_value(json_object_get(n, "cosine"));
        assert_true(c <= before && c > -1);
        before = c;
        assert_string_equal(json_string_value(json_object_get(n, "token")),
                            json_string_value(json_object_get(n, "text")));
    }
    json_decref(o);
}

static void what_does_not_go_together_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED embed bert --similar a --nearest b", 2, "exclude each other");
    assert_fails("$HEED embed bert --similar ' '", 2, "--similar: there is no word");
    assert_fails("$HEED embed bert --nearest ''", 2, "--nearest: there is no word");
    assert_fails("$HEED embed bert --nearest pear --layer 1", 2, "layer 0");
    assert_fails("$HEED embed bert --nearest pear asked", 2, "--nearest reads no lines: leave out asked");
    assert_fails("$HEED embed bert --nearest pear --pool max", 2, "--pool");
    assert_fails("$HEED embed bert --similar pear --normalize", 2, "--normalize");
    assert_fails("$HEED embed bert --similar pear --top 3", 2, "--top");
    assert_fails("$HEED embed bert --plot a.svg < asked", 2, "--plot");
    assert_fails("$HEED embed bert --similar pear --plot a.gif < asked", 1, "a.gif");
    assert_fails("$HEED embed bert --analogy 'king man'", 2, "--analogy: 'man' is where a + or - should be");
    assert_fails("$HEED embed bert --analogy 'pear - unicorn'", 1, "no pieces for 'unicorn'");
    assert_fails("$HEED embed ngram --nearest cat", 1, "ngram");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_has_the_vector_of_its_sense),
        cmocka_unit_test(in_the_table_a_word_is_a_word),
        cmocka_unit_test(people_get_a_table_and_a_picture),
        cmocka_unit_test(layers_are_counted_from_the_table_on),
        cmocka_unit_test(neighbors_are_words_of_a_kind),
        cmocka_unit_test(what_does_not_go_together_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
