/* heed tokenize as a user meets it: pieces, ids, JSON, and back; and what is said of broken lines. */
#include "check.h"
#include "cli/shell.h"
#include "task/speaker.h"

#define PUBLISHED HEED_SOURCE "/tests/text/published/"

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    setenv("P", PUBLISHED, 1);
    speaker_folder(at("m"), HD_LM_ngram, HD_TOKENIZER_characters);
    return 0;
}

static void pieces_ids_and_objects(void **state)
{
    (void)state;
    assert_prints("printf 'the cat\\n\\nhello\\n' | $HEED tokenize $P/bert", 0, "the cat\n\nhello\n");
    assert_prints("printf 'the cat' | $HEED tokenize $P/gpt2 | tr ' ' '\\n' | head -1", 0, "the\n");
    assert_prints(
        "echo 'The [MASK] é' | $HEED tokenize $P/bert/vocab.txt --json --specials", 0,
        must_run("printf '{\"tokens\": [\"[CLS]\", \"the\", \"[MASK]\", \"e\", \"[SEP]\"], \"ids\": [2, "
                 "%d, 4, %d, 3], \"offsets\": [[0, 0], [0, 3], [4, 10], [11, 12], [0, 0]], \"types\": "
                 "[0, 0, 0, 0, 0]}\\n' $(($(grep -nx the $P/bert/vocab.txt | cut -d: -f1) - 1)) "
                 "$(($(grep -nx e $P/bert/vocab.txt | cut -d: -f1) - 1))"));
    assert_prints("printf 'a\\n' | $HEED tokenize $P/gpt2 --json", 0,
                  must_run("printf '{\"tokens\": [\"a\"], \"ids\": [%d], \"offsets\": [[0, 1]]}\\n' $(tr ',' "
                           "'\\n' <$P/gpt2/vocab.json | grep '\"a\":' | cut -d: -f2)"));
}

static void a_model_of_heed_has_a_tokenizer_too(void **state)
{
    (void)state;
    assert_prints("echo 'the cat' | $HEED tokenize m", 0, "t h e \\x20 c a t\n");
    assert_prints("echo 'the cat' | $HEED tokenize m | $HEED tokenize m --decode", 0, "the cat\n");
    assert_prints("echo 'the' | $HEED tokenize m/tokenizer.txt --ids | $HEED tokenize m --decode --json", 0,
                  "{\"text\": \"the\"}\n");
}

/* A bert has [MASK] behind the last of its tokenizer's pieces. */
/* As on the slide: 20 tokens of every sentence, the rest of them padding that a mask tells apart and no text
 * has. */
static void lines_are_padded_to_twenty_tokens(void **state)
{
    (void)state;
    assert_prints(
        "printf 'the cat sat\\n\\nthe\\n' | $HEED tokenize bert --pad 20 | awk '{ print NF, $3, $4, $20 }'",
        0, "20 sat <pad> <pad>\n20 <pad> <pad> <pad>\n20 <pad> <pad> <pad>\n");
    assert_prints("echo 'the cat' | $HEED tokenize bert --pad 4 --json | grep -o '\"mask.*'", 0,
                  "\"mask\": [1, 1, 0, 0]}\n");
    assert_prints(
        "echo 'the cat' | $HEED tokenize bert --pad 5 --specials > padded; cat padded; $HEED tokenize "
        "bert --decode < padded",
        0, "<s> the cat </s> <pad>\nthe cat\n");
    assert_prints("printf 'the cat sat\\nthe\\n' | $HEED tokenize bert --pad 2 2> told", 1, "\nthe <pad>\n");
    assert_prints("grep -c ':1: 3 tokens, more than --pad 2' told", 0, "1\n");
    assert_fails("echo a | $HEED tokenize $P/gpt2/vocab.json --pad 4", 1, "has no padding token");
    assert_fails("echo 1 | $HEED tokenize bert --pad 4 --decode", 2, "--pad and --decode exclude each other");
}

static void specials_are_what_the_model_gets(void **state)
{
    (void)state;
    must_run(
        "printf 'the cat sat\\na dog ran\\n' > text; printf 'text\\tlabel\\nthe cat\\tc\\na dog\\td\\nthe "
        "dog\\td\\na cat\\tc\\n' > labels.tsv; $HEED train -q --task mlm --unit word --train text --layers 1 "
        "--width 8 --heads 2 --context 8 --steps 1 --device cpu --out bert; $HEED train -q --task classify "
        "--from bert --train labels.tsv --steps 1 --batch-size 2 --device cpu --out labels");
    assert_prints("echo 'the [MASK] sat' | $HEED tokenize bert --specials", 0, "<s> the [MASK] sat </s>\n");
    assert_prints("echo 'the [MASK]' | $HEED tokenize bert --specials --ids | awk '{ print $1, $3, $4 }'", 0,
                  must_run("echo 2 $(wc -l < bert/tokenizer.txt) 3"));
    assert_prints("echo 'the [MASK] sat' | $HEED tokenize bert --specials --json | grep -o '\"offsets.*'", 0,
                  "\"offsets\": [[0, 0], [0, 3], [4, 10], [11, 14], [0, 0]], \"types\": [0, 0, 0, 0, 0]}\n");
    assert_prints(
        "echo 'the [MASK] sat' | $HEED tokenize bert --specials --ids | $HEED tokenize bert --decode; "
        "echo 'the [MASK] sat' | $HEED tokenize bert --specials | $HEED tokenize bert --decode",
        0, "the sat\nthe sat\n");
    assert_prints("echo 'the cat' | $HEED tokenize labels --specials", 0, "<s> the cat </s>\n");
    assert_prints("echo 'the the the the the the the the the' | $HEED tokenize labels --specials | wc -w", 0,
                  "8\n");
}

static void tokens_come_back_as_text(void **state)
{
    (void)state;
    assert_prints("printf '%s\\n' 'naïve  中 \\ x' '' >in", 0, "");
    assert_prints("$HEED tokenize $P/gpt2 <in | $HEED tokenize $P/gpt2 --decode | cmp - in", 0, "");
    assert_prints("$HEED tokenize $P/gpt2 --ids <in | $HEED tokenize $P/gpt2 --decode --ids | cmp - in", 0,
                  "");
    /* numbers are ids unless they are said to be pieces */
    assert_prints("echo 2026 | $HEED tokenize $P/bert | $HEED tokenize $P/bert --decode --pieces", 0,
                  "2026\n");
    assert_prints("echo 4 4 | $HEED tokenize $P/bert --decode", 0, "\n");
    assert_prints("printf 'a\\0\"b\\n' | $HEED tokenize $P/gpt2 | $HEED tokenize $P/gpt2 --decode --json", 0,
                  "{\"text\": \"a\\u0000\\\"b\"}\n");
}

static void broken_lines_are_told_and_the_rest_goes_on(void **state)
{
    (void)state;
    assert_prints("printf 'the\\na\\377b\\ncat\\n' | $HEED tokenize $P/bert", 1,
                  "heed: warning: standard input:2: not UTF-8: byte 0xff at offset 1: answered with an empty "
                  "line\nthe\n\ncat\nheed: error: 1 of 3 lines could not be tokenized\n");
    assert_prints("printf 'the\\n\\377\\n' | $HEED tokenize $P/bert --json 2>/dev/null | tail -1", 0,
                  "{\"line\": 2, \"error\": \"not UTF-8: byte 0xff at offset 0\"}\n");
    assert_prints("printf '4 99999\\n4\\n' | $HEED tokenize $P/bert --decode", 1,
                  "heed: warning: standard input:1: '99999' is not an id of the vocabulary, which has 1500: "
                  "answered with an "
                  "empty line\n\n\nheed: error: 1 of 2 lines could not be decoded\n");
    assert_prints("printf 'the qqqq\\n' | $HEED tokenize $P/bert --decode", 1,
                  "heed: warning: standard input:1: 'qqqq' is not a token of the vocabulary, which has 1500: "
                  "answered with an "
                  "empty line\n\nheed: error: 1 of 1 lines could not be decoded\n");
}

static void what_is_no_tokenizer_is_refused(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    static const struct {
        const char *command;
        int status;
        const char *says;
    } cases[] = {
        {"$HEED tokenize", 2, "MODEL"},
        {"$HEED tokenize nothing </dev/null", 1, "nothing: there is no such file or folder"},
        {"mkdir e; $HEED tokenize e </dev/null", 1, "e: no tokenizer in the folder: tokenizer.json, "},
        {"$HEED tokenize m --ids --json </dev/null", 2, "--ids and --json exclude each other"},
        {"$HEED tokenize m --pieces </dev/null", 2, "--pieces needs --decode"},
        {"mkdir u; echo '{\"model\": {\"type\": \"Unigram\"}}' >u/tokenizer.json; $HEED tokenize u "
         "</dev/null",
         1, "u/tokenizer.json: no pre_tokenizer: Metaspace is expected"},
        {"echo '{\"model\": {\"type\": \"WordLevel\"}}' >u/tokenizer.json; $HEED tokenize u </dev/null", 1,
         "u/tokenizer.json: model \"WordLevel\" of tokenizer.json is not known"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int status = shell(out, cases[i].command);
        if (status != cases[i].status || !strstr(out, cases[i].says))
            fail_msg("%s: status %d: %s", cases[i].command, status, out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_ids_and_objects),
        cmocka_unit_test(a_model_of_heed_has_a_tokenizer_too),
        cmocka_unit_test(specials_are_what_the_model_gets),
        cmocka_unit_test(lines_are_padded_to_twenty_tokens), /* by the models made there */
        cmocka_unit_test(tokens_come_back_as_text),
        cmocka_unit_test(broken_lines_are_told_and_the_rest_goes_on),
        cmocka_unit_test(what_is_no_tokenizer_is_refused),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
