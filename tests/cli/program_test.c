/* The program around a verb of the test's own: files of options, marks of what was given, exit statuses, and
   pages of options that take two values. The sources of the program are included, with another list of verbs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define HD_CLI_FRAME_VERB_LIST_H
#define HD_VERB_LIST(X) X(toy, "play") X(game, "win or lose") X(help, "show help")

#include "cli/frame/option.c"
#include "cli/frame/config.c"
#include "cli/frame/attending.c"
#include "cli/frame/input.c"
#include "cli/frame/machine.c"
#include "cli/frame/names.c"
#include "cli/frame/terminal.c"
#include "cli/frame/verb.c"
#include "cli/verb/version.c"
#include "cli/frame/completion.c"
#include "cli/frame/help.c"
#define show_verbs    man_show_verbs
#define show_examples man_show_examples
#include "cli/frame/man.c"
#define main program_main
#include "cli/frame/main.c"
#undef main

#include <sys/wait.h>

enum { ROOM = 1 << 15, WORDS = 16 };

struct toy {
    hd_texts train;
    int64_t steps;
    double lr;
    bool fast;
    const char *name, *config;
};

static const hd_option toy_options[] = {
    {"train", 't', "FILE", NULL, "what to learn", HD_FILES_AT_ONCE_INTO(struct toy, train, 2)},
    {"steps", 0, "N", "10", "how long", HD_LONG_INTO(struct toy, steps, 1, 9007199254740992)},
    {"lr", 0, "RATE", "0.5", "how fast", HD_FLOAT_INTO(struct toy, lr, 0, 1)},
    {"fast", 0, NULL, NULL, "hurry", HD_FLAG_INTO(struct toy, fast)},
    {"name", 0, "NAME", NULL, "of the toy", HD_TEXT_INTO(struct toy, name)},
    {HD_CONFIG_NAME, 0, "FILE", NULL, HD_CONFIG_HELP, HD_FILE_INTO(struct toy, config)},
    {0},
};

/* Prints its options; those given have a star. */
static hd_status run_toy(hd_command *c, hd_err *err)
{
    (void)err;
    const struct toy *o = c->options;
    fprintf(c->out.file, "train%s", hd_command_given(c, "train") ? "*" : "");
    for (int i = 0; i < o->train.count; i++) fprintf(c->out.file, " %s", o->train.text[i]);
    fprintf(
        c->out.file, ", steps%s %lld, lr%s %g, fast%s %d, name%s %s, threads%s %d, nothing%s, %d operands\n",
        hd_command_given(c, "steps") ? "*" : "", (long long)o->steps, hd_command_given(c, "lr") ? "*" : "",
        o->lr, hd_command_given(c, "fast") ? "*" : "", o->fast, hd_command_given(c, "name") ? "*" : "",
        o->name ? o->name : "-", hd_command_given(c, "threads") ? "*" : "", c->common.threads,
        hd_command_given(c, "nothing") ? "*" : "", c->operands.count);
    return HD_OK;
}

/* Takes operands and does not say so: no file is completed but an option's. */
const hd_usage hd_verb_toy = {
    .most = 2, .about = "Plays.", .options = toy_options, .size = sizeof(struct toy), .run = run_toy};

/* Does what its operand says, and counts in a struct of its own what is called. */
typedef struct game {
    hd_command command;
    int checked, played;
} game;

static hd_status check_game(hd_command *c, hd_err *err)
{
    ((game *)c)->checked++;
    return strcmp(c->operands.word[0], "refuse") ? HD_OK : hd_err_set(err, HD_EARG, "refused");
}

static hd_status run_game(hd_command *c, hd_err *err)
{
    const char *what = c->operands.word[0];
    ((game *)c)->played++;
    c->misused = !strcmp(what, "misuse");
    c->exit = strcmp(what, "exit") ? HD_EXIT_OK : 7;
    return strcmp(what, "fail") && !c->misused ? HD_OK : hd_err_set(err, HD_EARG, "lost");
}

static void release_game(hd_command *c)
{
    fprintf(c->out.file, "checked %d, played %d\n", ((game *)c)->checked, ((game *)c)->played);
}

const hd_usage hd_verb_game = {
    .operands = "WHAT",
    .least = 1,
    .most = 1,
    .about = "Plays a game.",
    .options = hd_no_options,
    .call = sizeof(game),
    .check = check_game,
    .run = run_game,
    .release = release_game,
};

static char path[] = "/tmp/heed-program-test-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* Runs the program with the words of `line`, "@" being the file with `config` in it; what it prints on either
   stream is in out. */
static int run(char out[ROOM], const char *line, const char *config)
{
    char copy[256], *word[WORDS] = {"heed"};
    int count = 1, status;
    FILE *file = fopen(path, "w"), *printed = tmpfile();
    assert_true(file && printed);
    fputs(config, file);
    assert_int_equal(fclose(file), 0);
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) word[count++] = strcmp(w, "@") ? w : path;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(fileno(printed), STDOUT_FILENO);
        dup2(fileno(printed), STDERR_FILENO);
        size_t before = hd_mem_now().blocks;
        status = program_main(count, word);
        _exit(hd_mem_now().blocks == before ? status : 100);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    rewind(printed);
    size_t size = fread(out, 1, ROOM - 1, printed);
    out[size] = 0;
    fclose(printed);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void options_come_from_line_and_file(void **state)
{
    (void)state;
    static const struct {
        const char *line, *file, *expected;
    } cases[] = {
        {"toy", "", "train, steps 10, lr 0.5, fast 0, name -, threads 0, nothing, 0 operands\n"},
        {"toy --config @", "", "train, steps 10, lr 0.5, fast 0, name -, threads 0, nothing, 0 operands\n"},
        {"toy --config @ --train a b c", "lr: 0.25\ntrain: [x, y]\nfast: yes\nname: n m\nthreads: 3\n",
         "train* a b, steps 10, lr* 0.25, fast* 1, name* n m, threads* 3, nothing, 1 operands\n"},
        {"toy x --threads 2 --no-fast --config @ --steps 5000000000 y", "threads: 1\nfast: true\ntrain: z\n",
         "train* z, steps* 5000000000, lr 0.5, fast* 0, name -, threads* 2, nothing, 2 operands\n"},
    };
    char out[ROOM];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(run(out, cases[i].line, cases[i].file), HD_EXIT_OK);
        assert_string_equal(out, cases[i].expected);
    }
}

static void assert_says(const char *line, const char *config, int status, const char *format)
{
    char out[ROOM], expected[512];
    assert_int_equal(run(out, line, config), status);
    snprintf(expected, sizeof expected, format, path);
    assert_string_equal(out, expected);
}

static void a_call_is_checked_run_and_released(void **state)
{
    (void)state;
    assert_says("game win", "", HD_EXIT_OK, "checked 1, played 1\n");
    assert_says("game exit", "", 7, "checked 1, played 1\n");
    assert_says("game fail", "", HD_EXIT_FAILURE, "heed game: lost\nchecked 1, played 1\n");
    assert_says("game misuse", "", HD_EXIT_USAGE,
                "heed game: lost (try 'heed help game')\nchecked 1, played 1\n");
    assert_says("game refuse", "", HD_EXIT_USAGE,
                "heed game: refused (try 'heed help game')\nchecked 1, played 0\n");
    assert_says("game", "", HD_EXIT_USAGE, "heed game: WHAT is missing (try 'heed help game')\n");
}

static void a_wrong_file_is_wrong_usage_and_an_unreadable_one_a_failure(void **state)
{
    (void)state;
    assert_says("toy --config @", "\nstep: 3", HD_EXIT_USAGE,
                "heed toy: %s:2: unknown option 'step', did you mean 'steps'? (try 'heed help toy')\n");
    assert_says("toy --config @", "steps: 0", HD_EXIT_USAGE,
                "heed toy: %s:1: steps: 0 is not between 1 and 9007199254740992 (try 'heed help toy')\n");
    assert_says("toy --config @", "- steps", HD_EXIT_USAGE,
                "heed toy: %s:1: holds a list; write 'option: value' lines (try 'heed help toy')\n");
    assert_says("toy --config @/x", "", HD_EXIT_FAILURE,
                "heed toy: @/x: cannot open: No such file or directory\n");
    assert_says("toy --config @ --quiet", "verbose: true", HD_EXIT_USAGE,
                "heed toy: --quiet and --verbose exclude each other (try 'heed help toy')\n");
    assert_says("help --config @", "", HD_EXIT_USAGE,
                "heed help: unknown option '--config' (try 'heed help help')\n");
    assert_says("toy --train a --train b", "", HD_EXIT_USAGE,
                "heed toy: --train: given twice; its values follow one another: -t, --train FILE [FILE] (try "
                "'heed help toy')\n");
}

static void help_is_shown_whatever_the_file_says(void **state)
{
    (void)state;
    char out[ROOM];
    assert_int_equal(run(out, "toy --config @ --help", "]"), HD_EXIT_OK);
    assert_non_null(strstr(out, "  -t, --train FILE [FILE]  what to learn\n"));
    assert_non_null(strstr(out, "      --config FILE "));
    assert_int_equal(run(out, "--man-page toy", ""), HD_EXIT_OK);
    assert_non_null(strstr(out, "\\fB\\-\\-train\\fR \\fIFILE\\fR [\\fIFILE\\fR]\n"));
}

/* What bash offers for the last of these words, in a folder where only one.en and two.de are. In order: a
   folder has none of its own. */
static void assert_completes(const char *words, const char *expected)
{
    char out[ROOM], command[512];
    assert_int_equal(run(out, "--completion bash", ""), HD_EXIT_OK);
    FILE *script = fopen(path, "w");
    assert_non_null(script);
    fputs(out, script);
    assert_int_equal(fclose(script), 0);
    snprintf(command, sizeof command,
             "d=$(mktemp -d) && cd $d && touch one.en two.de && bash -c '. %s; compopt() { :; }; "
             "COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _heed; echo $(printf \"%%s\\n\" "
             "\"${COMPREPLY[@]}\" | sort)'; rm -r $d",
             path, words);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    out[fread(out, 1, ROOM - 1, from)] = 0;
    assert_int_equal(pclose(from), 0);
    assert_string_equal(out, expected);
}

static void bash_completes_both_files(void **state)
{
    (void)state;
    assert_completes("heed toy --train \"\"", "one.en two.de\n");
    assert_completes("heed toy --train one.en t", "two.de\n");
    assert_completes("heed toy -t one.en o", "one.en\n");
    assert_completes("heed toy --config o", "one.en\n");
    assert_completes("heed toy --train one.en --st", "--steps\n");
    assert_completes("heed h", "help\n");
}

int main(void)
{
    unsetenv("COLUMNS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_from_line_and_file),
        cmocka_unit_test(a_call_is_checked_run_and_released),
        cmocka_unit_test(a_wrong_file_is_wrong_usage_and_an_unreadable_one_a_failure),
        cmocka_unit_test(help_is_shown_whatever_the_file_says),
        cmocka_unit_test(bash_completes_both_files),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
