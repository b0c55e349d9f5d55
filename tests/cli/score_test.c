/* heed score as a user meets it: pages, JSON, sentences, comparisons, and what is said when something is
 * wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "data/image/image.h"
#include "heed.h"
#include "outcome.h"

enum { ROOM = 1 << 16 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static char folder[] = "/tmp/heed-score-XXXXXX";

static bool put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    return f && fputs(text, f) >= 0 && !fclose(f);
}

static int make_files(void **state)
{
    (void)state;
    char out[ROOM];
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    bool made =
        put("ref", "The dog bit the man.\nIt was not unexpected.\nThe man bit him first.\n") &&
        put("ref2", "The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.") &&
        put("a", "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n") &&
        put("b", "The dog bit a man.\r\nIt was not so surprising.\r\nThe man had bitten him first.\r\n") &&
        put("short", "The dog bit the man.\nIt wasn't surprising.\n") && put("empty", "") &&
        put("bad", "x\n\377\nz\n") && put("src", "a b\nc d e\nf g h i j\n") &&
        put("captions", "a.png#0\tA dog runs .\na.png#1\tA brown dog is running .\nb.png#0\tTwo men talk .\n"
                        "b.png#1\tMen talking\nb.png#2\tTwo men are talking outside\n") &&
        put("a.tsv", "a.png\ta brown dog runs\nfolder/b.png\ttwo men are talking .\n") &&
        put("labels", "x/1.png\tcat\nx/2.png\tdog\nx/3.png\tcat\nx/4.png\tfox\nx/5.png\towl\n"
                      "x/6.png\tant\nx/7.png\tbee\n") &&
        put("answers", "x/1.png\tcat\t0.9\tdog\t0.1\tfox\t0\towl\t0\tant\t0\n"
                       "x/2.png\tcat\t0.6\tdog\t0.4\tfox\t0\towl\t0\tant\t0\n"
                       "x/3.png\tcat\t0.9\tdog\t0.1\tfox\t0\towl\t0\tant\t0\n"
                       "x/4.png\tyak\t0.9\tdog\t0.1\tfox\t0\towl\t0\tant\t0\n");
    return !made || command_run(out, ROOM, "gzip -k ref");
}

static int remove_files(void **state)
{
    (void)state;
    char out[ROOM];
    return chdir("/") || command_run(out, ROOM, "rm -r %s", folder);
}

/* "%V" stands for the version. */
static void assert_page(const char *page, const char *expected)
{
    char whole[4096] = "";
    size_t used = 0;
    for (const char *c = expected; *c; c++) {
        if (c[0] == '%' && c[1] == 'V') {
            used += (size_t)snprintf(whole + used, sizeof whole - used, "heed-%s", heed_version());
            c++;
        } else {
            whole[used++] = *c;
            whole[used] = 0;
        }
    }
    assert_string_equal(page, whole);
}

static const char one_page[] =
    "        BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:%V = 48.5 82.4/50.0/45.5/37.5 "
    "(BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)\n"
    "      chrF2|nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:%V = 59.7\n"
    "    chrF2++|nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no|version:%V = 59.2\n"
    "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:%V = 40.0\n";

static void a_system_is_scored(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "$HEED score --ref ref --ref ref2 <a", "cat a | $HEED score -r ref.gz -r ref2",
        "$HEED score -r ref --ref=ref2 a", "$HEED score -r - -r ref2 a <ref",
        "gzip -c a | $HEED score -r ref -r ref2 -"};
    char out[ROOM];
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        assert_int_equal(command_run(out, ROOM, "%s 2>&1", commands[i]), 0);
        assert_page(out, one_page);
    }
}

static void options_change_the_score(void **state)
{
    (void)state;
    static const struct {
        const char *options, *page;
    } cases[] = {
        {"-m ter", "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:%V = 50.0\n"},
        {"-m chrf2 --digits 4", "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:%V = 50.0431\n"},
        {"-m chrf2++ -l --digits 2",
         "chrF2++|nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:no|version:%V = 51.73\n"},
        {"-m bleu --lowercase --tokenize char --digits 3",
         "BLEU|nrefs:1|case:lc|eff:no|tok:char|smooth:exp|version:%V = 51.563 72.4/54.5/46.2/38.8 "
         "(BP = 1.000 ratio = 1.094 hyp_len = 58 ref_len = 53)\n"},
        {"-m bleu -s --digits 4", "100.0000\n14.7940\n15.6197\n"},
        {"-m ter,bleu --sentence", "100.0\t0.0\n14.8\t75.0\n15.6\t80.0\n"},
    };
    char out[ROOM];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(command_run(out, ROOM, "$HEED score -r ref %s <a 2>&1", cases[i].options), 0);
        assert_page(out, cases[i].page);
    }
}

/* The number behind "key": in a JSON object. */
static double number_of(const char *json, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(json, quoted);
    assert_non_null(at);
    return strtod(at + strlen(quoted), NULL);
}

static void json_has_every_digit(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        double score;
    } expected[] = {{"bleu", 48.530827009929865},
                    {"chrf2", 59.72751782684763},
                    {"chrf2++", 59.15310444399262},
                    {"ter", 40}};
    char out[ROOM];
    assert_int_equal(command_run(out, ROOM, "$HEED score -r ref -r ref2 --json <a"), 0);
    for (size_t i = 0; i < COUNT_OF(expected); i++) /* another C library may have another last bit */
        assert_true(fabs(number_of(out, expected[i].key) / expected[i].score - 1) < 1e-14);
    const char *signature = strstr(out, ", \"signature\": ");
    assert_non_null(signature);
    assert_page(signature,
                ", \"signature\": {\"bleu\": \"nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:%V\", "
                "\"chrf2\": \"nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:%V\", "
                "\"chrf2++\": \"nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no|version:%V\", "
                "\"ter\": \"nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:%V\"}}\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score -r ref -r ref2 -m ter -s --json <a"), 0);
    assert_string_equal(out, "{\"ter\": 0}\n{\"ter\": 75}\n{\"ter\": 54.54545454545454}\n");
}

static void systems_are_compared(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(command_run(out, ROOM, "$HEED score -r ref -r ref2 a b -b 1000 -m bleu,ter"), 0);
    assert_page(out,
                "BLEU|nrefs:2|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:%V\n"
                "  a  48.5 (μ = 47.0 ± 46.8)\n"
                "  b  37.7 (μ = 37.4 ± 17.4)  -10.8 (95 %: -71.1 to +37.4, p = 0.1728)\n"
                "TER|nrefs:2|bs:1000|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:%V\n"
                "  a  40.0 (μ = 41.2 ± 37.5)\n"
                "  b  33.3 (μ = 34.0 ± 15.9)  -6.7 (95 %: -25.0 to +18.2, p = 0.3347)\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score -r ref -r ref2 a b -m ter"), 0);
    assert_page(out, "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:%V\n"
                     "  a  40.0\n  b  33.3  -6.7\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score -r ref -r ref2 a -m chrf2 -b 1000"), 0);
    assert_page(out, "chrF2|nrefs:2|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no|version:%V = "
                     "59.7 (μ = 60.3 ± 32.3)\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score -r ref a a --json -b 99 --seed 7 -m ter"), 0);
    assert_non_null(strstr(out, "{\"systems\": [{\"name\": \"a\", \"ter\": 50.0, "));
    assert_non_null(
        strstr(out, "\"difference\": {\"mean\": 0.0, \"low\": 0.0, \"high\": 0.0}, \"p\": 0.01}"));
    assert_non_null(strstr(out, "\"ter\": \"nrefs:1|bs:99|seed:7|"));
}

static void lengths_have_scores_of_their_own(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(command_run(out, ROOM,
                                 "$HEED score -r ref -r ref2 a b --source src --by-length "
                                 "--buckets 1-2,3-9,10- -m ter --plot l.svg"),
                     0);
    assert_page(out, "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:%V\n"
                     "words  sentences     a     b\n"
                     "1-2            1   0.0  18.2\n"
                     "3-9            2  63.2  42.1\n"
                     "10-            0     -     -\n"
                     "all            3  40.0  33.3\n");
    assert_int_equal(
        command_run(out, ROOM, "grep -c '<line' l.svg; grep -o '>TER by source length<\\|>n = 2<' l.svg"), 0);
    assert_string_equal(out, "4\n>TER by source length<\n>TER by source length<\n>n = 2<\n");
    /* of one bucket what the same lines have as a corpus; without --metric that is BLEU alone */
    assert_int_equal(
        command_run(out, ROOM,
                    "for f in ref a; do tail -2 $f >$f.long; done; $HEED score -r ref.long a.long "
                    "-m bleu --json; $HEED score -r ref a --source src --by-length --json --buckets 3-9 "
                    "2>warning; cat warning"),
        0);
    double whole = number_of(out, "bleu");
    const char *lengths = strstr(out, "{\"buckets\": [{\"from\": 3, \"to\": 9, \"sentences\": 2, ");
    assert_non_null(lengths);
    assert_true(fabs(number_of(lengths, "bleu") / whole - 1) < 1e-14);
    assert_non_null(strstr(lengths, ", \"outside\": 1, \"systems\": [{\"name\": \"a\", \"bleu\": "));
    assert_null(strstr(lengths, "chrf"));
    assert_non_null(strstr(lengths, "heed: warning: 1 of 3 sentences are outside all --buckets\n"));
}

/* Of seven words one is wrong and one is missing. */
static void transcripts_are_scored_by_file(void **state)
{
    (void)state;
    char out[ROOM];
    put("said", "a.wav\tThe cat sat.\nb/c.wav#1\tOne two, three four\n");
    put("heard", "/far/b/c.wav#1\tone too three\nx/a.wav\tthe cat sat\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score --task transcribe --ref said heard"), 0);
    assert_non_null(strstr(out, "WER|nrefs:1|case:lc|punct:no|version:"));
    assert_non_null(strstr(out, " = 28.6 substitutions = 1 deletions = 1 insertions = 0 length = 7\n"));
    assert_non_null(strstr(out, " = 20.7 substitutions = 1 deletions = 5 insertions = 0 length = 29\n"));
    assert_int_equal(command_run(out, ROOM,
                                 "cut -f2 said >said.txt; printf 'the cat sat\none too three\n' | "
                                 "$HEED score --ref said.txt --metric wer --sentence"),
                     0);
    assert_string_equal(out, "0.0\n50.0\n");
}

/* Expected by tests/metric/captions_check.py. */
static void captions_are_scored_by_picture(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(
        command_run(out, ROOM, "$HEED score --task caption --ref captions a.tsv 2>&1 | sed 's/.* = //'"), 0);
    assert_string_equal(out, "100.0\n100.0\n90.9\n78.3\n94.0\n384.0\n");
    assert_int_equal(
        command_run(out, ROOM, "$HEED score --task caption --ref captions a.tsv --metric cider --shuffle"),
        0);
    assert_non_null(strstr(out, "CIDEr-D|nrefs:var|case:lc|tok:ptb|sigma:6|version:heed-"));
    assert_non_null(strstr(out, " = 0.0\n"));
    assert_int_equal(command_run(out, ROOM,
                                 "head -1 a.tsv > one.tsv; $HEED score --task caption --ref captions one.tsv "
                                 "2>&1 >/dev/null"),
                     0);
    assert_string_equal(out, "heed: warning: one.tsv has captions of 1 of the 2 pictures of --ref\n");
}

static void labels_are_scored_with_those_behind(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(command_run(out, ROOM, "$HEED score -q --task classify --ref labels answers | tail -1"),
                     0);
    assert_string_equal(
        out, "accuracy 50.00 % (2 of 4), macro-F1 20.00 %, Matthews 0.2582, top-5 accuracy 100.00 %\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score -q --task classify --ref labels answers --json"), 0);
    assert_non_null(strstr(out, "\"top5_accuracy\": 1,"));
    assert_non_null(strstr(out, "(other)"));
    assert_int_equal(
        command_run(out, ROOM,
                    "cut -f1-3 answers | head -3 > first; $HEED score -q --task classify --ref labels "
                    "first --plot c.svg && grep -c '<svg' c.svg"),
        0);
    assert_null(strstr(out, "top-5"));
    assert_null(strstr(out, "(other)"));
}

/* One of two objects is found, and something where nothing is. */
static void boxes_are_scored_in_three_forms(void **state)
{
    (void)state;
    char out[ROOM];
    uint8_t pixel[100 * 100] = {0};
    const hd_image im = {100, 100, 1, pixel};
    if (hd_image_write_png(&im, "p.png", NULL)) leave_out("no libpng");
    assert_true(put("boxes.csv", "image,split,label,xmin,ymin,xmax,ymax\np.png,test,a,10,10,30,30\n"
                                 "p.png,test,a,50,50,70,90\np.png,train,b,1,1,9,9\n") &&
                put("boxes.json",
                    "{\"images\": [{\"id\": 7, \"file_name\": \"p.png\", \"width\": 100, \"height\": 100}],"
                    "\"categories\": [{\"id\": 3, \"name\": \"a\"}], \"annotations\": ["
                    "{\"id\": 1, \"image_id\": 7, \"category_id\": 3, \"bbox\": [10, 10, 20, 20]},"
                    "{\"id\": 2, \"image_id\": 7, \"category_id\": 3, \"bbox\": [50, 50, 20, 40]}]}") &&
                put("found.jsonl", "{\"file\": \"x/p.png\", \"objects\": ["
                                   "{\"label\": \"a\", \"score\": 0.9, \"box\": [10, 10, 30, 30]},"
                                   "{\"label\": \"a\", \"score\": 0.8, \"box\": [0, 60, 30, 99]}]}\n") &&
                put("found.csv", "image,label,score,xmin,ymin,xmax,ymax\np.png,a,0.9,10,10,30,30\n"
                                 "p.png,a,0.8,0,60,30,99\n") &&
                put("found.json",
                    "[{\"image_id\": 7, \"category_id\": 3, \"bbox\": [10, 10, 20, 20], \"score\": 0.9},"
                    "{\"image_id\": 7, \"category_id\": 3, \"bbox\": [0, 60, 30, 39], \"score\": 0.8}]"));
    static const char *const arguments[] = {"--ref boxes.csv --split test found.jsonl",
                                            "--ref boxes.csv --split test found.csv",
                                            "--ref boxes.json found.json"};
    for (size_t i = 0; i < COUNT_OF(arguments); i++) { /* recalls 0 to 0.5 at precision 1: 51 of 101 */
        assert_int_equal(command_run(out, ROOM, "$HEED score --task detect %s 2>&1", arguments[i]), 0);
        assert_string_equal(out, "class     boxes     found      AP    AP50    AP75\n"
                                 "a             2         2    50.5    50.5    50.5\n"
                                 "all           2         2    50.5    50.5    50.5\n");
    }
    assert_int_equal(
        command_run(out, ROOM, "$HEED score --task detect --ref boxes.csv --split train found.csv --json"),
        0);
    assert_non_null(strstr(out, "\"ap\": 0,"));
    assert_int_equal(command_run(out, ROOM, "$HEED score --task detect --ref boxes.csv found.json 2>&1"), 1);
    assert_string_equal(out,
                        "heed score: found.json: COCO's results need --ref in COCO's form, not boxes.csv\n");
    assert_int_equal(
        command_run(out, ROOM,
                    "sed s/30/nan/ found.csv > nan.csv; $HEED score --task detect --ref boxes.csv "
                    "nan.csv 2>&1"),
        1);
    assert_string_equal(out, "heed score: nan.csv:2: a box or its score is not a number\n");
}

static void failures_are_named(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *arguments, *message;
    } cases[] = {
        {1, "--ref ref short", "short has 2 lines, ref has 3"},
        {1, "--ref ref --ref short a", "a has 3 lines, short has 2"},
        {1, "--ref ref a short", "a has 3 lines, short has 2"},
        {1, "--ref ref <short", "standard input has 2 lines, ref has 3"},
        {1, "--ref empty <empty", "standard input has no lines"},
        {1, "--ref ref <empty", "standard input has 0 lines, ref has 3"},
        {1, "--ref none a", "none: cannot open: No such file or directory"},
        {1, "--ref ref .", ".: is a folder, not a file"},
        {1, "--ref ref bad", "bad:2: not UTF-8: byte 0xff at offset 0"},
        {1, "--ref bad a", "bad:2: not UTF-8: byte 0xff at offset 0"},
        {2, "a", "--ref is required: the reference translations (try 'heed help score')"},
        {2, "--ref -", "standard input can be read only once (try 'heed help score')"},
        {2, "--ref ref --metric blue",
         "--metric: 'blue' is not one of chrf, bleu, chrf2, chrf2++, ter, bleu-1, "
         "bleu-2, bleu-3, bleu-4, rouge-l, cider-d, wer, cer (try 'heed help score')"},
        {2, "--ref ref --metric bleu,",
         "--metric: '' is not one of chrf, bleu, chrf2, chrf2++, ter, bleu-1, bleu-2, bleu-3, bleu-4, "
         "rouge-l, "
         "cider-d, wer, cer (try 'heed help score')"},
        {2, "--ref ref --tokenize zh",
         "--tokenize: 'zh' is not one of 13a, intl, char, none, ptb (try 'heed help score')"},
        {2, "--ref ref a b --sentence", "--sentence scores one system (try 'heed help score')"},
        {2, "--ref ref --sentence -b 5",
         "--sentence and --bootstrap exclude each other (try 'heed help score')"},
        {1, "--ref ref a --source short --by-length", "a has 3 lines, short has 2"},
        {2, "--ref ref a --by-length",
         "--by-length needs --source: the source sentences (try 'heed help score')"},
        {2, "--ref ref a --source src", "--source needs --by-length (try 'heed help score')"},
        {2, "--ref ref a --buckets 1-", "--buckets needs --by-length (try 'heed help score')"},
        {2, "--ref ref a --source src --by-length --buckets 5-1",
         "--buckets: '5-1' is not a list of ranges: write them as '1-9,10-14,15-' (try 'heed help score')"},
        {2, "--ref ref a --source src --by-length -m ter,bleu --plot l.svg",
         "--plot draws one metric: choose it with --metric (try 'heed help score')"},
        {2, "--ref ref a --source src --by-length -b 5",
         "--by-length and --bootstrap exclude each other (try 'heed help score')"},
        {2, "--ref ref --source - --by-length",
         "standard input can be read only once (try 'heed help score')"},
        {1, "--ref ref a --source src --by-length --plot l.gif",
         "l.gif: a plot file must end in .svg, .png or .pdf"},
        {2, "$(printf -- '--ref ref %.0s' $(seq 65))",
         "--ref: given more than 64 times (try 'heed help score')"},
        {2, "--ref ref a --metric cider --sentence",
         "--sentence: cider-d weighs words by all references (try 'heed help score')"},
        {2, "--task caption --ref captions a.tsv --lowercase",
         "--lowercase does not go with --task caption (try 'heed help score')"},
        {2, "--ref ref a --shuffle", "--shuffle does not go with --task translate (try 'heed help score')"},
        {2, "--task classify --ref labels a b", "--task classify scores one file (try 'heed help score')"},
        {1, "--task caption --ref captions ref", "ref:1: not NAME<tab>CAPTION"},
        {2, "--task transcribe --ref captions a.tsv --shuffle",
         "--shuffle does not go with --task transcribe (try 'heed help score')"},
        {1, "--task transcribe --ref said ref", "ref:1: not FILE<tab>TEXT"},
        {1, "--task transcribe --ref said labels", "labels: --ref said has no transcript of 'x/1.png'"},
        {1, "--task caption --ref captions labels", "labels: --ref captions has no caption of 'x/1.png'"},
        {1, "--task caption --ref captions captions",
         "captions has 5 captions of 2 pictures: give one of each"},
        {1, "--task classify --ref labels a.tsv", "a.tsv:1: --ref has no label of 'a.png'"},
        {1, "--task classify --ref ref a.tsv", "ref:1: not FILE<tab>LABEL"},
        {2, "--ref ref --hyp a", "--hyp is gone: give the translations as FILE (try 'heed help score')"},
        {2, "--ref ref $(seq 65)", "unexpected argument '65' (try 'heed help score')"},
    };
    char out[ROOM], expected[256];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(expected, sizeof expected, "heed score: %s\n", cases[i].message);
        assert_int_equal(command_run(out, ROOM, "$HEED score %s 2>&1", cases[i].arguments), cases[i].status);
        assert_string_equal(out, expected);
    }
}

static void tokenized_text_is_warned_about(void **state)
{
    (void)state;
    char out[ROOM];
    command_run(out, ROOM, "for i in $(seq 100); do echo 'a b .'; done >tokenized");
    assert_int_equal(command_run(out, ROOM, "$HEED score -m bleu -r tokenized <tokenized 2>&1 >/dev/null"),
                     0);
    assert_string_equal(out, "heed: warning: 100 lines end in ' .', as tokenized text does: BLEU needs text "
                             "that is not tokenized\n");
    assert_int_equal(command_run(out, ROOM, "$HEED score -q -r tokenized <tokenized 2>&1 >/dev/null"), 0);
    assert_string_equal(out, "");
    assert_int_equal(
        command_run(out, ROOM, "head -99 tokenized >fewer; $HEED score -r fewer <fewer 2>&1 >/dev/null"), 0);
    assert_string_equal(out, "");
}

static void nothing_leaks(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(
        command_run(out, ROOM, "env -u ASAN_OPTIONS $HEED score -r ref.gz -r ref2 a b -b 10 --json"), 0);
    assert_int_equal(
        command_run(out, ROOM, "env -u ASAN_OPTIONS $HEED score -r ref a --source src --by-length --json"),
        0);
    assert_int_equal(command_run(out, ROOM, "env -u ASAN_OPTIONS $HEED score -r ref -r bad a 2>&1"), 1);
}

int main(void)
{
    setenv("HEED", HEED_PROGRAM, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0",
           0); /* seconds a process on aarch64; one run above looks for them */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_system_is_scored),
        cmocka_unit_test(options_change_the_score),
        cmocka_unit_test(json_has_every_digit),
        cmocka_unit_test(systems_are_compared),
        cmocka_unit_test(lengths_have_scores_of_their_own),
        cmocka_unit_test(captions_are_scored_by_picture),
        cmocka_unit_test(transcripts_are_scored_by_file),
        cmocka_unit_test(labels_are_scored_with_those_behind),
        cmocka_unit_test(boxes_are_scored_in_three_forms),
        cmocka_unit_test(failures_are_named),
        cmocka_unit_test(tokenized_text_is_warned_about),
        cmocka_unit_test(nothing_leaks),
    };
    return outcome(cmocka_run_group_tests(tests, make_files, remove_files));
}
