/* Verbs that read lines: as many answers as lines, whatever is in them; an output that cannot be written ends
   the work and says why; someone at a terminal is told what to type. */
#include <poll.h>
#include <pty.h>

#include "check.h"
#include "base/file/lines.h"
#include "cli/kinds.h"

/* Every verb that answers lines: how it is called, and how many lines it writes for one that it can answer.
 */
static const struct {
    const char *command, *good;
    int each;          /* lines for a good line */
    const char *json;  /* the option, or NULL: it has none */
    const char *await; /* what a terminal is told */
} verbs[] = {
    {"$HEED classify classifier -d cpu", "the cat", 1, "--json", "type a line to classify, Ctrl-D to end"},
    {"$HEED tag tagger -d cpu", "cat", 2, "--json", "type a sentence to tag, Ctrl-D to end"},
    {"$HEED fill bert -d cpu --top 1", "the [MASK]", 1, "--json",
     "type a line with [MASK] in it, Ctrl-D to end"},
    {"$HEED embed bert -d cpu", "the cat", 1, "--json", "type a line to turn into a vector, Ctrl-D to end"},
    {"$HEED generate gpt -d cpu - --tokens 3 --vote", "the", 1, "--json",
     "type a prompt to continue, Ctrl-D to end"},
    {"$HEED rank gpt -d cpu --moses", "1 ||| the", 1, "--json",
     "type lines ID ||| HYPOTHESIS, Ctrl-D to end"},
    {"$HEED translate translator -d cpu", "the cat", 1, "--json", "type a line to translate, Ctrl-D to end"},
    {"$HEED tokenize bert", "the cat", 1, "--json", "type a line to tokenize, Ctrl-D to end"},
    {"$HEED perplexity gpt -d cpu", "the cat", 1, NULL, "type a text to measure, Ctrl-D to end"},
    {"$HEED score --ref text", "the cat", 1, NULL, "type translations, one line for each reference"},
};

enum { LINE_VERBS = 8 }; /* those that answer each line */

static int lines_in(const char *file)
{
    char *bytes = get_file(file, NULL);
    int n = 0;
    for (const char *c = bytes; *c; c++) n += *c == '\n';
    free(bytes);
    return n;
}

static void run_it(size_t verb, const char *option, const char *input, int status)
{
    char command[300], out[SHELL_ROOM];
    snprintf(command, sizeof command, "%s %s < %s > out 2> err", verbs[verb].command, option, input);
    int got = shell(out, command);
    char *err = get_file(at("err"), NULL);
    if (got != status) fail_msg("%s: status %d: %s", command, got, err);
    free(err);
}

static void assert_err_says(size_t verb, const char *text)
{
    char *err = get_file(at("err"), NULL);
    if (!strstr(err, text)) fail_msg("%s: '%s' does not say '%s'", verbs[verb].command, err, text);
    free(err);
}

/* good, not UTF-8, good, one byte too long, good. */
static void put_lines(const char *good)
{
    size_t longest = HD_LINE_LONGEST + 1;
    char *line = malloc(longest + 2);
    memset(line, 'a', longest);
    strcpy(line + longest, "\n");
    FILE *f = fopen(at("in"), "w");
    assert_non_null(f);
    fprintf(f, "%s\n\xff\xfe\n%s\n", good, good);
    assert_int_equal(fwrite(line, 1, longest + 1, f), longest + 1);
    fprintf(f, "%s\n", good);
    assert_int_equal(fclose(f), 0);
    free(line);
}

static void every_line_has_its_answer_whatever_is_in_it(void **state)
{
    (void)state;
    for (size_t v = 0; v < LINE_VERBS; v++) {
        put_lines(verbs[v].good);
        run_it(v, "", "in", 1);
        if (lines_in(at("out")) != 3 * verbs[v].each + 2)
            fail_msg("%s: %d lines", verbs[v].command, lines_in(at("out")));
        assert_err_says(v, "standard input:2: ");
        assert_err_says(v, strstr(verbs[v].command, "--moses") ? "not 'ID ||| HYPOTHESIS' with a number as ID"
                                                               : "not UTF-8: byte 0xff at offset 0: ");
        assert_err_says(v, "standard input:4: the line is longer than 16777216 bytes: ");
        assert_err_says(v, "heed: error: 2 of 5 lines could not be ");
        run_it(v, verbs[v].json, "in", 1);
        char *out = get_file(at("out"), NULL);
        int errors = 0;
        for (const char *at_error = out; (at_error = strstr(at_error, "\"error\": \"")); at_error++) errors++;
        if (errors != 2 || lines_in(at("out")) != 5) fail_msg("%s --json: '%s'", verbs[v].command, out);
        free(out);
    }
}

/* Several files are read as one; a message names the file and its line, JSON the line of all. */
static void files_follow_the_model(void **state)
{
    (void)state;
    char command[300], out[SHELL_ROOM];
    for (size_t v = 0; v < LINE_VERBS; v++) {
        if (strstr(verbs[v].command, "fill")) continue; /* its operands are texts */
        snprintf(command, sizeof command, "printf '%s\\n' > a; printf '%s\\n\\377\\n' > b", verbs[v].good,
                 verbs[v].good);
        must_run(command);
        snprintf(command, sizeof command, "cat a b | %s %s > one 2> err; %s a b %s > two 2> err; cmp one two",
                 verbs[v].command, verbs[v].json, verbs[v].command, verbs[v].json);
        if (strstr(command, "generate gpt -d cpu - --tokens 3 --vote a b"))
            snprintf(command, sizeof command,
                     "cat a b | %s --json > one 2> err; $HEED generate gpt -d cpu a b --tokens 3 --vote "
                     "--json > two 2> err; cmp one two",
                     verbs[v].command);
        assert_prints(command, 0, "");
        assert_err_says(v, "b:2: ");
        assert_prints("grep -c '\"line\": 3, .*\"error\": ' two", 0, "1\n");
    }
    assert_fails("echo the | $HEED embed bert -d cpu - -", 1, "standard input can be read only once");
    assert_int_equal(shell(out, "$HEED tokenize bert a nowhere"), 1);
    assert_non_null(strstr(out, "the cat\n")); /* what was read before is answered */
    assert_non_null(strstr(out, "nowhere: cannot open"));
}

/* What only one verb can be asked. */
static void a_question_that_has_no_answer_does_not_end_the_run(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    assert_int_equal(
        shell(out, "printf 'no mask\\nthe [MASK]\\n' | $HEED fill bert -d cpu --top 1 | cut -c1"), 0);
    assert_non_null(strstr(out, "standard input:1: there is no [MASK] in the text: write it where a word is "
                                "missing: answered with an empty line"));
    assert_non_null(strstr(out, "1 of 2 lines could not be answered"));
    assert_non_null(strstr(out, "\n\n1\n"));
    assert_int_equal(
        shell(out, "printf '3 ||| a\\nb\\n2 ||| c\\n4 ||| d\\n' | $HEED rank gpt -d cpu --moses"), 1);
    static const char *const said[] = {"standard input:2: not 'ID ||| HYPOTHESIS' with a number as ID",
                                       "standard input:3: id 2 comes after 3: ids must not decrease",
                                       "2 of 4 lines could not be scored",
                                       "\nb ||| -inf\n2 ||| c ||| -inf\n4 |||"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
    assert_int_equal(
        shell(out, "printf '1 ||| der cat\\n9 ||| der dog\\n' | $HEED rank translator -d cpu --source "
                   "text --first 1 > out; wc -l < out"),
        0);
    assert_int_equal(
        shell(out, "head -2 text > two; printf '1 ||| der\\n9 ||| der\\n' | $HEED rank translator -d cpu "
                   "--source two"),
        1);
    assert_non_null(strstr(out, "standard input:2: no source 9: two has 2 lines, counted from 1"));
    assert_non_null(strstr(out, "\n9 ||| der ||| -inf\n"));
}

static void texts_that_cannot_be_measured_leave_the_others_what_they_are(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    put_file(at("bad"), "\xff\n");
    assert_int_equal(
        shell(out, "$HEED perplexity gpt -d cpu text bad nowhere text > out; cat out | sed 's/:.*//'"), 0);
    assert_non_null(strstr(out, "bad:1: not UTF-8"));
    assert_non_null(strstr(out, "nowhere: cannot open: No such file or directory"));
    assert_non_null(strstr(out, "2 of 4 files could not be measured\ntext\n\n\ntext\n"));
    assert_fails("$HEED perplexity gpt -d cpu bad", 1, "bad:1: not UTF-8");
}

/* A line at a time, as someone who types it would, without the last end of a line. */
static void lines_up_to_the_limit_are_read(void **state)
{
    (void)state;
    assert_prints("head -c 16777216 /dev/zero | tr '\\0' 'a' | $HEED tokenize bert | wc -l", 0, "1\n");
    assert_prints("$HEED help tokenize | tr -s ' \\n' '  ' | grep -o 'A line has at most 16 MiB'", 0,
                  "A line has at most 16 MiB\n");
}

/* -- output -- */

static void put_many(size_t verb)
{
    FILE *f = fopen(at("in"), "w");
    assert_non_null(f);
    for (int i = 0; i < 20000; i++) fprintf(f, "%s\n", verbs[verb].good);
    assert_int_equal(fclose(f), 0);
}

/* At once: not one more line is read after the failure than are answered together. */
static void an_output_that_cannot_be_written_says_why_and_ends_the_work(void **state)
{
    (void)state;
    static const char *const others[] = {
        "$HEED info bert",
        "$HEED info bert --json",
        "$HEED explain",
        "$HEED explain bert 'the'",
        "$HEED embed bert --nearest the",
        "$HEED perplexity gpt text",
        "$HEED compare gpt text",
        "$HEED score --ref text text",
        "$HEED help train",
        "$HEED classify classifier --confusion labels.tsv",
        "$HEED --completion bash",
        "$HEED train --task lm --model gpt --train text --width 16 --heads 2 --dry-run",
        "$HEED score --ref text text --sentence",
        "$HEED generate gpt --tokens 30"};
    for (size_t v = 0; v < LINE_VERBS; v++) {
        char command[300];
        put_many(v);
        snprintf(command, sizeof command, "%s < in > /dev/full", verbs[v].command);
        assert_fails(command, 1, "cannot write to standard output: No space left on device");
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char command[300];
        snprintf(command, sizeof command, "%s -q > /dev/full", others[i]);
        if (strstr(others[i], "--completion")) snprintf(command, sizeof command, "%s > /dev/full", others[i]);
        assert_fails(command, 1, "cannot write to standard output: No space left on device");
    }
}

/* An endless input: a verb that goes on working never ends. */
static void the_failure_ends_the_reading(void **state)
{
    (void)state;
    for (size_t v = 0; v < LINE_VERBS; v++) {
        if (strstr(verbs[v].command, "rank")) continue; /* it may sort all lines of a group */
        char command[300];
        snprintf(command, sizeof command, "yes '%s' | timeout 60 %s > /dev/full", verbs[v].good,
                 verbs[v].command);
        assert_fails(command, 1, "cannot write to standard output: No space left on device");
    }
}

/* -- terminals -- */

/* Runs a command on a terminal of its own, waits until it says `awaited`, then ends the input. */
static void on_a_terminal(const char *command, const char *awaited)
{
    char said[8192] = "", line[600];
    size_t size = 0;
    int terminal;
    snprintf(line, sizeof line, "cd %s && %s", scratch, command);
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (!child) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    struct pollfd file = {.fd = terminal, .events = POLLIN};
    while (!strstr(said, awaited) && size + 1 < sizeof said && poll(&file, 1, 60000) > 0) {
        ssize_t got = read(terminal, said + size, sizeof said - 1 - size);
        if (got <= 0) break;
        said[size += (size_t)got] = 0;
    }
    bool found = strstr(said, awaited);
    assert_int_equal(write(terminal, "\x04", 1), 1);
    while (read(terminal, line, sizeof line) > 0) continue; /* until it has ended */
    close(terminal);
    waitpid(child, NULL, 0);
    if (!found) fail_msg("%s says '%s'", command, said);
}

static void someone_at_a_terminal_is_told_what_is_awaited(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT_OF(verbs); v++) on_a_terminal(verbs[v].command, verbs[v].await);
    on_a_terminal("$HEED compare gpt -", "type a text to measure, Ctrl-D to end");
    on_a_terminal("$HEED train --task lm --train - --steps 1 --out x",
                  "type a text to learn from, Ctrl-D to end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_has_its_answer_whatever_is_in_it),
        cmocka_unit_test(files_follow_the_model),
        cmocka_unit_test(a_question_that_has_no_answer_does_not_end_the_run),
        cmocka_unit_test(texts_that_cannot_be_measured_leave_the_others_what_they_are),
        cmocka_unit_test(lines_up_to_the_limit_are_read),
        cmocka_unit_test(an_output_that_cannot_be_written_says_why_and_ends_the_work),
        cmocka_unit_test(the_failure_ends_the_reading),
        cmocka_unit_test(someone_at_a_terminal_is_told_what_is_awaited),
    };
    return cmocka_run_group_tests(tests, kinds_make, scratch_remove);
}
