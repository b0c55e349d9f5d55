/* heed translate as a user meets it: as many lines out as in, each the same whatever surrounds it, bad ones
   alone lost, and what is refused. */
#include "check.h"
#include "cli/shell.h"

#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>

#define TRANSLATE "$HEED translate -d cpu m -q "

enum { LINES = 30 };

static int make_model(void **state)
{
    if (scratch_make(state)) return -1;
    char out[SHELL_ROOM];
    int s = shell(
        out, "$HEED corpus -q --pairs 300 --valid 20 --test 30 --out c && "
             "$HEED train -q $TINY --train c/train.en c/train.de --valid c/valid.en c/valid.de --dropout 0 "
             "--attention-dropout 0 --micro-batches 1 --width 32 --ffn-size 64 --lr 0.02 --valid-every 50 "
             "--save-every 50 --steps 220 --out m && $HEED translate -d cpu m <c/test.en >clean.de");
    if (s) print_error("%s\n", out);
    return s;
}

/* ---- lines ---- */

static void as_many_lines_come_out_as_go_in(void **state)
{
    (void)state;
    assert_prints("wc -l <clean.de; sort -u clean.de | wc -l | { read n; [ $n -gt 5 ] && echo varied; }", 0,
                  "30\nvaried\n");
    assert_prints(
        "i=0; while read -r l; do i=$((i + 1)); echo \"$l\" | $HEED translate -d cpu m; done <c/test.en | "
        "cmp - clean.de",
        0, "");
    assert_prints("printf '' | $HEED translate -d cpu m | wc -c", 0, "0\n");
    assert_prints("printf '\\n\\n' | $HEED translate -d cpu m", 0, "\n\n");
    assert_prints("printf 'I saw it .' | $HEED translate -d cpu m | wc -l", 0,
                  "1\n"); /* the last line needs no end */
    assert_prints("sed 's/$/\\r/' c/test.en | $HEED translate -d cpu m | cmp - clean.de", 0, "");
    assert_prints("$HEED translate -d cpu m c/test.en | cmp - clean.de; gzip -c c/test.en | $HEED "
                  "translate -d cpu "
                  "m | cmp - clean.de",
                  0, "");
}

/* Between any two good lines a bad one; what comes out of the good ones is what came out without. */
static void bad_lines_cost_nobody_else(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    must_run("{ sed -n 1,4p c/test.en; printf '\\374ber\\n'; sed -n 5,8p c/test.en; printf 'a\\0b\\n'; sed "
             "-n 9,12p c/test.en; "
             "printf '\\n'; sed -n 13,16p c/test.en; printf '     \\n'; sed -n 17,20p c/test.en; "
             "head -c 1048576 /dev/zero | tr '\\0' x; printf '\\n'; sed -n 21,24p c/test.en; "
             "i=0; while [ $i -lt 300 ]; do printf 'I saw the dog . '; i=$((i + 1)); done; printf '\\n'; sed "
             "-n '25,$p' c/test.en; } >mixed");
    int status = shell(out, "$HEED translate -d cpu m <mixed >mixed.de");
    assert_int_equal(status, 1);
    assert_string_equal(
        out,
        "heed: warning: standard input:5: not UTF-8: byte 0xfc at offset 0: answered with an empty line\n"
        "heed: warning: standard input:10: a zero byte at offset 1: is this a text file?: "
        "answered with an empty line\n"
        "heed: error: 2 of 36 lines could not be translated\n");
    assert_prints("wc -l <mixed.de; sed '5d;10d;15d;20d;25d;30d' mixed.de | cmp - clean.de; sed -n "
                  "'5p;10p;15p;20p' mixed.de",
                  0, "36\n\n\n\n\n");
    assert_prints(
        "$HEED translate -d cpu m --json <mixed 2>/dev/null | sed -n 's/^{\"line\": 30,.*\"parts\": "
        "\\([0-9]*\\),.*/\\1/p' | "
        "{ read n; [ $n = 300 ] && echo all; }",
        0, "all\n"); /* 300 sentences */
    assert_prints("$HEED translate -d cpu m --json <mixed 2>/dev/null | wc -l", 0, "36\n");
}

static void too_long_lines_are_split_cut_or_skipped(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    must_run("{ head -1 c/test.en; i=0; while [ $i -lt 30 ]; do printf 'I saw the dog . '; i=$((i + 1)); "
             "done; echo; tail -1 c/test.en; } >long");
    assert_int_equal(shell(out, "$HEED translate -d cpu m --sentences keep --long split <long >split.de"), 0);
    assert_string_equal(out, "");
    assert_int_equal(shell(out, "$HEED translate -d cpu m --sentences keep --long truncate <long >cut.de"),
                     0);
    assert_string_equal(out, "heed: warning: standard input:2: too long: only its beginning is translated\n");
    assert_int_equal(shell(out, "$HEED translate -d cpu m --sentences keep --long skip <long >skip.de"), 1);
    assert_string_equal(
        out, "heed: warning: standard input:2: longer than the model can take: answered with an empty line\n"
             "heed: error: 1 of 3 lines could not be translated\n");
    assert_prints("for f in split cut skip; do wc -l <$f.de; head -1 $f.de | cmp - clean.de 2>&1 | grep -v "
                  "EOF; tail -1 $f.de >last; "
                  "tail -1 clean.de | cmp - last; done; sed -n 2p skip.de",
                  0, "3\n3\n3\n\n");
    must_run("[ $(sed -n 2p split.de | wc -w) -gt $(sed -n 2p cut.de | wc -w) ] && [ $(sed -n 2p cut.de | wc "
             "-w) -gt 0 ]");
    assert_fails("echo 'a b c' | $HEED translate -d cpu m --max-source 2 --long skip -q >/dev/null", 1,
                 "1 of 1 lines");
}

/* A line of twelve sentences gives twelve, each what it gives alone; white space between them stays, an empty
   line is one. */
static void every_sentence_of_a_line_is_translated(void **state)
{
    (void)state;
    must_run(
        "head -12 c/test.en | tr '\\n' ' ' | sed 's/ $//' >twelve; echo >>twelve; head -12 clean.de | tr "
        "'\\n' ' ' | sed 's/ $//' >twelve.de; echo >>twelve.de");
    assert_prints("$HEED translate -d cpu m <twelve | cmp - twelve.de; "
                  "$HEED translate -d cpu m --sentences split <twelve | cmp - twelve.de; "
                  "$HEED translate -d cpu m --sentences split --long skip <twelve | cmp - twelve.de",
                  0, "");
    assert_prints("$HEED translate -d cpu m --sentences keep <twelve | cmp -s - twelve.de || echo other", 0,
                  "other\n");
    assert_prints("{ sed -n 1p c/test.en | tr '\\n' ' '; printf '\\t '; sed -n 2p c/test.en; echo; sed -n 3p "
                  "c/test.en; } | $HEED translate -d cpu m >gaps; "
                  "{ sed -n 1p clean.de | tr '\\n' ' '; printf '\\t '; sed -n 2p clean.de; echo; sed -n 3p "
                  "clean.de; } | cmp - gaps",
                  0, "");
    assert_fails("$HEED translate -d cpu m --sentences both", 2, "both");
}

static json_t *json_line(FILE *f);
static double number_of(const json_t *o, const char *key);
static const char *text_of(const json_t *o, const char *key);

/* The parts of a line in JSON: texts that lie in order within those of the line, and scores that make its
 * own.
 */
static void json_tells_the_parts_of_a_line(void **state)
{
    (void)state;
    must_run(
        "head -3 c/test.en | tr '\\n' ' ' >three; echo >>three; $HEED translate -d cpu m --json --n-best 4 "
        "<three >three.json");
    FILE *f = fopen(at("three.json"), "r");
    assert_non_null(f);
    json_t *o = json_line(f), *h;
    const json_t *sources = json_object_get(o, "part_sources");
    const char *source = text_of(o, "source");
    size_t i;
    assert_true(number_of(o, "parts") == 3);
    assert_int_equal(json_array_size(sources), 3);
    for (i = 0; i < 3; i++)
        assert_non_null(source = strstr(source, json_string_value(json_array_get(sources, i))));
    assert_int_equal(json_array_size(json_object_get(o, "hypotheses")), 4);
    double before = 0;
    json_array_foreach(json_object_get(o, "hypotheses"), i, h)
    {
        const json_t *parts = json_object_get(h, "parts");
        const char *text = text_of(h, "text");
        double score = 0, tokens = 0;
        assert_int_equal(json_array_size(parts), 3);
        for (size_t k = 0; k < 3; k++) {
            const json_t *p = json_array_get(parts, k);
            assert_non_null(text = strstr(text, text_of(p, "text")));
            score += number_of(p, "score") / 3, tokens += number_of(p, "token_count");
        }
        assert_true(fabs(score - number_of(h, "score")) < 1e-12);
        assert_true(tokens == (double)json_array_size(json_object_get(h, "tokens")));
        assert_true(!i || number_of(h, "score") <= before);
        before = number_of(h, "score");
    }
    json_decref(o);
    fclose(f);
}

/* Finds the words of a part that got less than a tenth in a list, from `named` on; returns how many of the
   list are found then. */
static size_t count_skipped(const json_t *part, const json_t *list, size_t named)
{
    const json_t *cross = json_object_get(json_object_get(part, "attention"), "cross"),
                 *tokens = json_object_get(part, "source_tokens");
    size_t layers = json_array_size(cross), heads = json_array_size(json_array_get(cross, 0));
    for (size_t j = 0; j < json_array_size(tokens); j++) {
        const char *token = json_string_value(json_array_get(tokens, j));
        double sum = 0;
        for (size_t l = 0; l < layers; l++)
            for (size_t h = 0; h < heads; h++) {
                const json_t *m = json_array_get(json_array_get(cross, l), h);
                for (size_t i = 0; i < json_array_size(m); i++)
                    sum += json_number_value(json_array_get(json_array_get(m, i), j));
            }
        sum /= (double)(layers * heads);
        if (sum >= 0.1 || (!isalpha((unsigned char)*token) && strcmp(token, "<unk>"))) continue;
        assert_true(fabs(number_of(json_array_get(list, named++), "coverage") - sum) <
                    1e-5); /* six digits, sums of floats */
    }
    return named;
}

/* Words that a translation of all sentences at once leaves out are named with their line; in JSON with their
   coverage, recomputed here from the attention. */
static void skipped_words_are_warned_of(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    must_run("{ head -4 c/test.en | tr '\\n' ' '; echo; sed -n 5p c/test.en; } >four");
    must_run(
        "$HEED translate -d cpu m --sentences keep --warn-skipped --json --max-length 3 --attention w.json "
        "<four 2>warned >skip.json; grep -q '^heed: warning: standard input:1: hardly any attention to ' "
        "warned");
    assert_int_equal(shell(out, "$HEED translate -d cpu m --sentences keep --max-length 3 <four >/dev/null"),
                     0);
    assert_string_equal(out, ""); /* unless asked for */
    FILE *f = fopen(at("skip.json"), "r");
    json_t *o = json_line(f), *maps = json_load_file(at("w.json"), 0, NULL);
    const json_t *parts = json_object_get(maps, "sentences"), *list = json_object_get(o, "skipped");
    size_t named = 0;
    assert_true(json_array_size(list) > 0);
    for (size_t i = 0; i + 1 < json_array_size(parts); i++) /* the last is the second line */
        named = count_skipped(json_array_get(parts, i), list, named);
    assert_int_equal(named, json_array_size(list));
    json_decref(o);
    json_decref(maps);
    fclose(f);
    must_run("for c in fixed attention; do $HEED train -q --task translate --tokenizer words --width 16 "
             "--train c/train.en c/train.de --encoder gru --decoder gru --decoder-context $c --steps 1 --out "
             "$c; done");
    assert_fails("$HEED translate -d cpu fixed --warn-skipped <four", 1, "the model has no cross-attention");
    must_run("$HEED translate -d cpu attention --sentences keep --warn-skipped --max-length 1 --json <four "
             "2>warned | "
             "grep -q '\"skipped\": \\[{' && grep -q 'input:1: hardly' warned");
}

/* BLEU in training is of whole lines, also where they hold two sentences: the pairs are what is learned. */
static void bleu_in_training_is_of_whole_lines(void **state)
{
    (void)state;
    must_run(
        "mkdir two; for f in train.en train.de valid.en valid.de; do paste -d' ' - - <c/$f >two/$f; done; "
        "$HEED train -q $TINY --train two/train.en two/train.de --valid two/valid.en two/valid.de --width "
        "32 --ffn-size 64 --dropout 0 --attention-dropout 0 --micro-batches 1 --lr 0.02 --valid-every 150 "
        "--save-every 150 --steps 150 --out two/m");
    must_run("for s in keep split; do $HEED translate -d cpu two/m --beam 1 --sentences $s <two/valid.en "
             ">two/$s; $HEED score -m bleu --digits 4 --ref two/valid.de two/$s | sed 's/.* = \\([0-9.]*\\) "
             ".*(BP.*/\\1/' >two/$s.bleu; done; sed -n 's/.*\"bleu\":\\([0-9.]*\\),.*/\\1/p' "
             "two/m/train/log.jsonl | tail -1 | xargs printf '%.4f\\n' >two/trained");
    assert_prints("cmp two/trained two/keep.bleu; cmp -s two/keep.bleu two/split.bleu || echo other", 0,
                  "other\n");
}

/* ---- the same bits ---- */

static void neighbors_batches_and_threads_change_nothing(void **state)
{
    (void)state;
    static const char *const searches[] = {"", "--beam 1", "--beam 4 --n-best 3",
                                           "--sample --n-best 2 --seed 5"};
    for (size_t i = 0; i < COUNT_OF(searches); i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "T='$HEED translate -d cpu m --json %s'; eval $T <c/test.en >all.json; "
                 "for o in '--batch 1' '--batch 64' '--threads 1' '--threads 2 --batch 7'; do eval $T $o "
                 "<c/test.en | cmp - all.json; done; "
                 "sed '2,$d' all.json >one.json; head -1 c/test.en | eval $T | cmp - one.json",
                 searches[i]);
        assert_prints(command, 0, "");
    }
    /* by its number in the input a line gets its draws, wherever a batch begins, or what is read at once */
    must_run(
        "i=0; while [ $i -lt 100 ]; do cat c/test.en; i=$((i + 1)); done >many; $HEED translate -d cpu m "
        "--sample --batch 1000 <many >a && $HEED translate -d cpu m --sample --batch 3 <many | cmp - a && "
        "{ head -7 many; sleep 0.3; tail -n +8 many; } | $HEED translate -d cpu m --sample | cmp - a && "
        "[ $(wc -l <a) = 3000 ]");
}

static void samples_follow_the_seed(void **state)
{
    (void)state;
    assert_prints("for s in 1 1 2; do $HEED translate -d cpu m --sample --seed $s <c/test.en >sample.$((n = "
                  "n + 1)); done; "
                  "cmp sample.1 sample.2; cmp -s sample.1 sample.3 || echo others",
                  0, "others\n");
    assert_prints("$HEED translate -d cpu m --sample --temperature 0 <c/test.en >cold; $HEED translate -d "
                  "cpu m --beam 1 "
                  "<c/test.en | cmp - cold; "
                  "$HEED translate -d cpu m --sample --top-k 1 <c/test.en | cmp - cold",
                  0, "");
}

/* ---- what is written ---- */

static json_t *json_line(FILE *f)
{
    static char line[SHELL_ROOM];
    json_error_t e;
    if (!fgets(line, sizeof line, f)) return NULL;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", e.text, line);
    return o;
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v)) fail_msg("%s is no number", key);
    return json_number_value(v);
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (!text) fail_msg("%s is no text", key);
    return text;
}

static void json_lines_say_everything(void **state)
{
    (void)state;
    must_run("{ cat c/test.en; printf '\\374\\n\\n\"\\\\\\t/ \\001 \\303\\274\\n'; } >odd; $HEED translate "
             "-d cpu m "
             "--json --beam 4 --n-best 3 <odd >odd.json 2>/dev/null; [ $? = 1 ]");
    FILE *f = fopen(at("odd.json"), "r");
    assert_non_null(f);
    int line = 0;
    for (json_t *o; (o = json_line(f)); json_decref(o)) {
        const json_t *list = json_object_get(o, "hypotheses");
        bool bad = ++line == LINES + 1, empty = line == LINES + 2;
        assert_true(number_of(o, "line") == line);
        assert_int_equal(json_is_null(json_object_get(o, "source")), bad);
        assert_int_equal(json_array_size(list), bad || empty ? 0 : 3);
        if (bad) assert_string_equal(text_of(o, "error"), "not UTF-8: byte 0xfc at offset 0");
        if (line == LINES + 3) assert_string_equal(text_of(o, "source"), "\"\\\t/ \001 ü");
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *h = json_array_get(list, i), *logp = json_object_get(h, "token_logprobs");
            double sum = 0;
            text_of(h, "text");
            for (size_t k = 0; k < json_array_size(logp); k++)
                sum += json_number_value(json_array_get(logp, k));
            assert_int_equal(json_array_size(json_object_get(h, "tokens")), json_array_size(logp));
            assert_true(fabs(sum - number_of(h, "logprob")) < 1e-4);
            assert_true(fabs(sum / (double)json_array_size(logp) - number_of(h, "score")) < 1e-5);
            if (!i) continue;
            const json_t *before = json_array_get(list, i - 1);
            bool finished = json_is_true(json_object_get(h, "finished"));
            if (finished == json_is_true(json_object_get(before, "finished")))
                assert_true(number_of(h, "score") <= number_of(before, "score"));
            else
                assert_false(finished); /* those that came to an end are before the others */
            for (size_t k = 0; k < i; k++)
                assert_false(json_equal(json_object_get(h, "tokens"),
                                        json_object_get(json_array_get(list, k), "tokens")));
        }
    }
    assert_int_equal(line, LINES + 3);
    fclose(f);
}

static void n_best_lists_and_scores(void **state)
{
    (void)state;
    assert_prints(
        "$HEED translate -d cpu m --n-best 3 <c/test.en | cut -d' ' -f1 | uniq -c | awk '{print $1, $2}' | "
        "head -3; "
        "$HEED translate -d cpu m --n-best 3 <c/test.en | awk -F ' \\\\|\\\\|\\\\| ' 'NF != 3' | wc -l",
        0, "3 1\n3 2\n3 3\n0\n");
    assert_prints(
        "$HEED translate -d cpu m --n-best 2 <c/test.en | sed -n 'p;n' | sed 's/^[0-9]* ||| //; s/ ||| "
        ".*//' | cmp - clean.de",
        0, "");
    assert_prints(
        "$HEED translate -d cpu m --scores <c/test.en | cut -f1 | cmp - clean.de; $HEED translate -d cpu m "
        "--scores <c/test.en | cut -f2 | grep -cv '^-[0-9]*\\.[0-9]\\{6\\}$'",
        1, "0\n");
}

static void a_given_beginning_begins_the_translation(void **state)
{
    (void)state;
    must_run("head -30 c/train.de | cut -d' ' -f1-2 >begin; paste c/test.en begin | $HEED translate -d cpu m "
             "--prefix >prefix.de");
    assert_prints("wc -l <prefix.de; cut -d' ' -f1-2 prefix.de | cmp - begin", 0, "30\n");
    assert_prints("$HEED translate -d cpu m --prefix <c/test.en | cmp - clean.de", 0,
                  ""); /* no beginning: as without */
    assert_prints("$HEED translate -d cpu m --force --scores -q <c/test.en >forced 2>/dev/null", 1,
                  ""); /* but a whole one must be */
    /* one far too long takes nothing with it */
    must_run("{ head -1 c/test.en | tr -d '\\n'; printf '\\t'; i=0; while [ $i -lt 200 ]; do printf 'der '; "
             "i=$((i + 1)); done; echo; sed -n 2p c/test.en; } >far");
    assert_prints("$HEED translate -d cpu m --prefix <far 2>&1 >far.de", 1,
                  "heed: warning: standard input:1: the given beginning is longer than a translation may "
                  "become: answered with an empty line\n"
                  "heed: error: 1 of 2 lines could not be translated\n");
    assert_prints("sed -n 1p far.de; sed -n 2p far.de >second; sed -n 2p clean.de | cmp - second", 0, "\n");
}

static void a_forced_translation_has_the_score_it_was_found_with(void **state)
{
    (void)state;
    must_run("$HEED translate -d cpu m --json <c/test.en >found.json; paste c/test.en clean.de | $HEED "
             "translate -d cpu m "
             "--force --json >forced.json");
    FILE *x = fopen(at("found.json"), "r"), *y = fopen(at("forced.json"), "r");
    assert_true(x && y);
    int finished = 0;
    for (int i = 0; i < LINES; i++) {
        json_t *a = json_line(x), *b = json_line(y);
        const json_t *f = json_array_get(json_object_get(a, "hypotheses"), 0),
                     *g = json_array_get(json_object_get(b, "hypotheses"), 0);
        if (json_is_true(json_object_get(f, "finished"))) {
            finished++;
            assert_string_equal(text_of(f, "text"), text_of(g, "text"));
            assert_true(fabs(number_of(f, "score") - number_of(g, "score")) < 1e-5);
            assert_true(fabs(number_of(f, "logprob") - number_of(g, "logprob")) < 1e-5 * 30);
        }
        json_decref(a);
        json_decref(b);
    }
    assert_in_range(finished, LINES / 2, LINES);
    fclose(x);
    fclose(y);
}

/* Reads a line of at most a minute's waiting. */
static void wait_for_line(int from, char *line, size_t room)
{
    size_t size = 0;
    do {
        struct pollfd file = {.fd = from, .events = POLLIN};
        if (poll(&file, 1, 60000) != 1) fail_msg("nothing comes back");
        ssize_t got = read(from, line + size, room - 1 - size);
        if (got <= 0) fail_msg("the other side is gone");
        size += (size_t)got;
    } while (line[size - 1] != '\n');
    line[size] = 0;
}

static void translations_come_while_the_input_pauses(void **state)
{
    (void)state;
    static const char *const lines[] = {"I saw the dog .\n", "\n", "She saw it .\n"};
    int in[2], out[2];
    assert_true(!pipe(in) && !pipe(out));
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        execl(HEED_PROGRAM, "heed", "translate", at("m"), (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char line[4096];
        size_t half = strlen(lines[i]) / 2; /* half a line is none yet */
        assert_int_equal(write(in[1], lines[i], half), half);
        usleep(20000);
        assert_int_equal(write(in[1], lines[i] + half, strlen(lines[i]) - half), strlen(lines[i]) - half);
        wait_for_line(out[0], line, sizeof line);
        assert_int_equal(strlen(line) > 1, strlen(lines[i]) > 1);
    }
    close(in[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(out[0]);
}

/* ---- what is refused ---- */

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    must_run("mkdir none && cp -r m cut; truncate -s 5000 cut/model.safetensors; cp -r m words; head -50 "
             "m/tokenizer.txt >words/tokenizer.txt; "
             "cp -r m newer; sed -i 's/\"format\": 1/\"format\": 2/' newer/config.json; cp -r m bare; rm "
             "bare/model.safetensors; "
             "cp -r m untrained; rm -r untrained/train; cp -r m torn; truncate -s 100 torn/config.json");
    assert_fails("$HEED translate -d cpu nowhere <c/test.en", 1, "nowhere: there is no such folder");
    assert_fails("$HEED translate -d cpu clean.de <c/test.en", 1,
                 "clean.de: is a file, not the folder of a model");
    assert_fails("$HEED translate -d cpu none <c/test.en", 1,
                 "none: holds no model (no config.json): `heed train` makes one");
    assert_fails("$HEED translate -d cpu cut <c/test.en", 1, "cut/model.safetensors: ");
    assert_fails("$HEED translate -d cpu words <c/test.en", 1,
                 "words/tokenizer.txt: was changed since heed wrote it");
    assert_fails("$HEED translate -d cpu newer <c/test.en", 1,
                 "newer/config.json: \"format\" is of a newer heed: this one reads format 1");
    assert_fails("$HEED translate -d cpu bare <c/test.en", 1,
                 "bare/model.safetensors: missing: training has not saved a model yet");
    assert_fails("$HEED translate -d cpu untrained --checkpoint last <c/test.en", 1,
                 "untrained/train/current: ");
    assert_fails("$HEED translate -d cpu torn <c/test.en", 1, "torn/config.json:");
    assert_fails("$HEED translate -d cpu m nothing", 1, "nothing: cannot open: No such file");
    assert_fails("$HEED translate -d cpu m c", 1, "c: is a folder, not a file");
    assert_fails("$HEED translate -d cpu m --input c/test.en", 2, "--input is gone: give files after MODEL");
    assert_fails("$HEED translate -d cpu", 2, "MODEL is missing");
    assert_fails("$HEED translate -d cpu m --prefix --force", 2, "--prefix and --force exclude each other");
    assert_fails("$HEED translate -d cpu m --n-best 6", 2, "--n-best 6 is more than --beam 5");
    assert_fails("$HEED translate -d cpu m --sample --exhaustive", 2,
                 "--sample and --exhaustive exclude each other");
    assert_fails("$HEED translate -d cpu m --exhaustive", 2, "--exhaustive needs --max-length");
    assert_fails("$HEED translate -d cpu m --beem 3", 2, "unknown option '--beem', did you mean '--beam'?");
    assert_fails("$HEED translate -d cpu m <c/test.en >/dev/full", 1,
                 "heed translate: cannot write to standard output: No space left on device");
}

static void the_last_checkpoint_can_be_used(void **state)
{
    (void)state;
    must_run("cp -r m newest; truncate -s 9 newest/model.safetensors; $HEED translate -d cpu newest "
             "--checkpoint last "
             "<c/test.en >last.de");
    must_run("cp m/train/$(cat m/train/current)/average.safetensors newest/model.safetensors; $HEED "
             "translate -d cpu "
             "newest <c/test.en | cmp - last.de");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_lines_come_out_as_go_in),
        cmocka_unit_test(bad_lines_cost_nobody_else),
        cmocka_unit_test(too_long_lines_are_split_cut_or_skipped),
        cmocka_unit_test(every_sentence_of_a_line_is_translated),
        cmocka_unit_test(json_tells_the_parts_of_a_line),
        cmocka_unit_test(skipped_words_are_warned_of),
        cmocka_unit_test(bleu_in_training_is_of_whole_lines),
        cmocka_unit_test(neighbors_batches_and_threads_change_nothing),
        cmocka_unit_test(samples_follow_the_seed),
        cmocka_unit_test(json_lines_say_everything),
        cmocka_unit_test(n_best_lists_and_scores),
        cmocka_unit_test(a_given_beginning_begins_the_translation),
        cmocka_unit_test(a_forced_translation_has_the_score_it_was_found_with),
        cmocka_unit_test(translations_come_while_the_input_pauses),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(the_last_checkpoint_can_be_used),
    };
    return cmocka_run_group_tests(tests, make_model, scratch_remove);
}
