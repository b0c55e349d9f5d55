/* The built program as a user meets it: pages, errors, exit statuses, colors. Commands run in the shell with
   $HEED as the program; what a verb computes is tested elsewhere. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/frame/verb_list.h"
#include "cli/command.h"
#include "heed.h"

enum { ROOM = 1 << 17 }; /* the completion of fish has 70,000 bytes */

static const char *const verbs[] = {
#define X(name, summary) #name,
    HD_VERB_LIST(X)
#undef X
        NULL,
};

/* Runs `heed --help` with stdout at `out`; returns what waitpid says. */
static int help_into(int out)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(out, STDOUT_FILENO);
        execl(HEED_PROGRAM, "heed", "--help", (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* Is every "--option" that help shows in `page` too, there with `before` in front of its name? */
static void assert_options_in(const char *help, const char *page, const char *before)
{
    int count = 0;
    for (const char *at = help; (at = strstr(at, "--")); count++) {
        char wanted[80];
        at += 2;
        int length = (int)strspn(at, "abcdefghijklmnopqrstuvwxyz-");
        snprintf(wanted, sizeof wanted, "%s%.*s", before, length, at);
        if (!has(page, wanted)) fail_msg("'%s' is missing in:\n%s", wanted, page);
    }
    assert_true(count >= 2);
}

/* Roff writes a dash to be copied as "\-". */
static void plain_dashes(char *page)
{
    char *to = page;
    for (const char *from = page; *from; from++)
        if (from[0] != '\\' || from[1] != '-') *to++ = *from;
    *to = 0;
}

static void version_is_that_of_the_header(void **state)
{
    (void)state;
    char out[ROOM], expected[64];
    snprintf(expected, sizeof expected, "heed %d.%d.%d\n", HEED_VERSION_MAJOR, HEED_VERSION_MINOR,
             HEED_VERSION_PATCH);
    assert_int_equal(command_run(out, ROOM, "$HEED --version"), 0);
    assert_int_equal(strncmp(out, expected, strlen(expected)), 0);
    assert_true(has(out, "instruction sets: "));
    assert_int_equal(strncmp(expected + 5, heed_version(), strlen(heed_version())), 0);
    assert_string_equal(heed_status_text(HEED_OK), "ok");
    assert_non_null(heed_status_text((heed_status)99));
}

static void help_names_every_verb(void **state)
{
    (void)state;
    char out[ROOM], same[ROOM];
    assert_int_equal(command_run(out, ROOM, "$HEED --help"), 0);
    assert_int_equal(command_run(same, ROOM, "$HEED help"), 0);
    assert_string_equal(out, same);
    for (int i = 0; verbs[i]; i++) assert_true(has(out, verbs[i]));
    assert_true(has(out, "--version"));
    assert_false(has(out, "--man-page")); /* hidden: for the build */
}

static void verbs_explain_themselves(void **state)
{
    (void)state;
    char out[ROOM], same[ROOM];
    for (int i = 0; verbs[i]; i++) {
        assert_int_equal(command_run(out, ROOM, "$HEED %s --help", verbs[i]), 0);
        assert_int_equal(command_run(same, ROOM, "$HEED help %s", verbs[i]), 0);
        assert_string_equal(out, same);
        assert_true(has(out, "--threads N") && has(out, "-q, --quiet") && has(out, "-v, --verbose"));
    }
    assert_int_equal(command_run(out, ROOM, "$HEED help explain"), 0);
    static const char *const options[] = {"--backward", "--train N", "--only PATTERN",
                                          "--digits N", "--json",    "(default 2)"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) assert_true(has(out, options[i]));
}

static void help_keeps_to_the_width(void **state)
{
    (void)state;
    char out[ROOM];
    static const struct {
        const char *columns;
        size_t most;
    } cases[] = {{"50", 50}, {"400", 100}, {"junk", 80}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(command_run(out, ROOM, "COLUMNS=%s $HEED help explain", cases[i].columns), 0);
        for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(strlen(line) <= cases[i].most);
    }
}

static void man_pages_hold_every_option(void **state)
{
    (void)state;
    char help[ROOM], page[ROOM];
    assert_int_equal(command_run(page, ROOM, "$HEED --man-page heed"), 0);
    for (int i = 0; verbs[i]; i++) assert_true(has(page, verbs[i]));
    for (int i = 0; verbs[i]; i++) {
        command_run(help, ROOM, "$HEED help %s", verbs[i]);
        assert_int_equal(command_run(page, ROOM, "$HEED --man-page %s", verbs[i]), 0);
        assert_true(has(page, ".TH HEED-") && has(page, ".SH NAME") && has(page, ".SH SYNOPSIS"));
        plain_dashes(page);
        assert_options_in(help, page, "--");
    }
}

static void completions_hold_every_option(void **state)
{
    (void)state;
    static const struct {
        const char *shell, *before;
    } cases[] = {{"bash", "--"}, {"zsh", "--"}, {"fish", " -l "}};
    char help[ROOM], page[ROOM];
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
        assert_int_equal(command_run(page, ROOM, "$HEED --completion %s", cases[s].shell), 0);
        for (int i = 0; verbs[i]; i++) {
            command_run(help, ROOM, "$HEED help %s", verbs[i]);
            assert_options_in(help, page, cases[s].before);
        }
    }
}

static void bash_completes(void **state)
{
    (void)state;
    static const struct {
        const char *words, *expected;
    } cases[] = {{"heed expl", "explain\n"},
                 {"heed --ver", "--version\n"},
                 {"heed explain --dig", "--digits\n"},
                 {"heed explain --digits \"\"", "\n"},
                 {"heed help ex", "explain export\n"}};
    char out[ROOM];
    assert_int_equal(command_run(out, ROOM, "$HEED --completion bash | bash -n 2>&1"), 0);
    assert_string_equal(out, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            command_run(out, ROOM,
                        "bash -c 'eval \"$($HEED --completion bash)\"; COMP_WORDS=(%s); "
                        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _heed; echo \"${COMPREPLY[@]}\"'",
                        cases[i].words),
            0);
        assert_string_equal(out, cases[i].expected);
    }
}

static void wrong_usage_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"", "heed: no verb given (try 'heed help')"},
        {"explian", "heed: unknown verb 'explian', did you mean 'explain'? (try 'heed help')"},
        {"qqqq", "heed: unknown verb 'qqqq' (try 'heed help')"},
        {"help qqqq", "heed: unknown verb 'qqqq' (try 'heed help')"},
        {"--verison", "heed: unknown option '--verison', did you mean '--version'? (try 'heed help')"},
        {"--completion tcsh", "heed: --completion: 'tcsh' is not one of bash, zsh, fish (try 'heed help')"},
        {"explain --trian 3",
         "heed explain: unknown option '--trian', did you mean '--train'? (try 'heed help explain')"},
        {"explain --back",
         "heed explain: unknown option '--back', did you mean '--backward'? (try 'heed help explain')"},
        {"explain -Z", "heed explain: unknown option '-Z' (try 'heed help explain')"},
        {"explain --train abc",
         "heed explain: --train: 'abc' is not a whole number (try 'heed help explain')"},
        {"explain --train=1.5",
         "heed explain: --train: '1.5' is not a whole number (try 'heed help explain')"},
        {"explain --train ''", "heed explain: --train: '' is not a whole number (try 'heed help explain')"},
        {"explain --train -1",
         "heed explain: --train: -1 is not between 0 and 100000 (try 'heed help explain')"},
        {"explain --digits 99999999999999999999",
         "heed explain: --digits: 99999999999999999999 is not between 1 and 9 (try 'heed help explain')"},
        {"explain --train", "heed explain: --train needs a value N (try 'heed help explain')"},
        {"explain --json=yes", "heed explain: --json takes no value (try 'heed help explain')"},
        {"explain model text more", "heed explain: unexpected argument 'more' (try 'heed help explain')"},
        {"explain a b -- --json", "heed explain: unexpected argument '--json' (try 'heed help explain')"},
        {"explain -qv", "heed explain: --quiet and --verbose exclude each other (try 'heed help explain')"},
    };
    char out[ROOM], expected[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(expected, sizeof expected, "%s\n", cases[i].message);
        assert_int_equal(command_run(out, ROOM, "$HEED %s 2>&1", cases[i].arguments), 2);
        assert_string_equal(out, expected);
    }
}

static void values_come_in_every_form(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(
        command_run(out, ROOM, "env -u ASAN_OPTIONS $HEED explain --train 3 --digits=4 --only 'dec.*' -qh"),
        0);
    assert_int_equal(command_run(out, ROOM, "$HEED explain -q -h --threads 0"), 0);
}

static void output_that_cannot_be_written_fails(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(command_run(out, ROOM, "$HEED --help 2>&1 >/dev/full"), 1);
    assert_string_equal(out, "heed: cannot write to standard output: No space left on device\n");
    assert_int_equal(command_run(out, ROOM, "$HEED --help 2>&1 >&-"), 1);
    assert_true(has(out, "cannot write to standard output"));
}

/* The signal is ignored here, as some parents leave it, and must end the program all the same. */
static void a_reader_that_leaves_is_no_error(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    int status = help_into(ends[1]);
    signal(SIGPIPE, SIG_DFL);
    close(ends[1]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

/* What `heed --help` writes on a terminal, in an environment changed by `name` = `value`. */
static void help_on_terminal(char out[ROOM], const char *name, const char *value)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal) | unlockpt(terminal), 0);
    int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(side >= 0);
    setenv(name, value, 1);
    int status = help_into(side); /* the page is shorter than the terminal's buffer */
    unsetenv(name);
    ssize_t size = 0, part;
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    while ((part = read(terminal, out + size, (size_t)(ROOM - 1 - size))) > 0) size += part;
    out[size] = 0;
    close(side);
    close(terminal);
    assert_int_equal(status, 0);
}

static void color_only_where_it_is_welcome(void **state)
{
    (void)state;
    char out[ROOM];
    unsetenv("NO_COLOR");
    help_on_terminal(out, "TERM", "xterm");
    assert_true(has(out, "\033[1m"));
    help_on_terminal(out, "NO_COLOR", "");
    assert_true(has(out, "\033[1m"));
    help_on_terminal(out, "NO_COLOR", "1");
    assert_true(has(out, "explain") && !has(out, "\033"));
    help_on_terminal(out, "TERM", "dumb");
    assert_true(has(out, "explain") && !has(out, "\033"));
    assert_int_equal(command_run(out, ROOM, "TERM=xterm $HEED --help"), 0);
    assert_true(has(out, "explain") && !has(out, "\033"));
}

int main(void)
{
    setenv("HEED", HEED_PROGRAM, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0",
           0); /* seconds a process on aarch64; one run below looks for them */
    unsetenv("COLUMNS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_that_of_the_header),
        cmocka_unit_test(help_names_every_verb),
        cmocka_unit_test(verbs_explain_themselves),
        cmocka_unit_test(help_keeps_to_the_width),
        cmocka_unit_test(man_pages_hold_every_option),
        cmocka_unit_test(completions_hold_every_option),
        cmocka_unit_test(bash_completes),
        cmocka_unit_test(wrong_usage_is_named),
        cmocka_unit_test(values_come_in_every_form),
        cmocka_unit_test(output_that_cannot_be_written_fails),
        cmocka_unit_test(a_reader_that_leaves_is_no_error),
        cmocka_unit_test(color_only_where_it_is_welcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
