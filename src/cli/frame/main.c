/* The program: finds the verb, fills its options, runs it, and sees to it that what was printed has arrived.
   Exit status: 0 success, 1 failure, 2 wrong usage, 128 + n stopped by signal n. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "backend/ranks.h"
#include "cli/frame/page.h"

enum { TEXTS = 4096 }; /* bytes to begin with for the structs of a call and the texts of a file of options */

struct program {
    bool help, version;
    const char *man_page;
    int completion; /* a shell; -1: not asked for */
};

static const hd_option program_options[] = {
    {"help", 'h', NULL, NULL, "show this help", HD_FLAG_INTO(struct program, help)},
    {"version", 'V', NULL, NULL, "show the version, the compiler and the processor's instruction sets",
     HD_FLAG_INTO(struct program, version)},
    {"man-page", 0, "VERB", NULL, "write a manual page", .hidden = true,
     HD_TEXT_INTO(struct program, man_page)},
    {"completion", 0, "SHELL", NULL, "write a completion script", .hidden = true,
     HD_CHOICE_INTO(struct program, completion, hd_shells)},
    {0},
};

static const hd_usage program_usage = {
    .operands = "VERB ...",
    .about = "heed trains, runs and explains attention models.\n"
             "'heed help VERB' shows what a verb does and all its options.",
    .options = program_options,
};

const hd_verb hd_program = {"heed", "train, run and explain attention models", &program_usage};

/* A closed stdin, stdout or stderr would become the next file opened, and messages would go into that file.
   Each is filled with one that refuses the use it is meant for. */
static void fill_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) return;
}

/* Output may fail as late as now: a disk is full. */
static int finish(int status)
{
    bool failed = ferror(stdout);
    errno = 0;
    if (fclose(stdout)) failed = true;
    if (!failed) return status;
    fprintf(stderr, "heed: cannot write to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status ? status : HD_EXIT_FAILURE;
}

/* "MODEL is missing": the first operand that is not given. */
static hd_status misses(const char *operands, int given, hd_err *err)
{
    for (; given; given--) operands += strcspn(operands, " ") + 1;
    return hd_err_set(err, HD_EARG, "%.*s is missing", (int)strcspn(operands, " "), operands);
}

static hd_status check_usage(const hd_verb *v, const hd_command *c, hd_err *err)
{
    const hd_usage *u = v->usage;
    if (c->common.quiet && c->common.verbose)
        return hd_err_set(err, HD_EARG, "--quiet and --verbose exclude each other");
    if (c->operands.count < u->least) return misses(u->operands, c->operands.count, err);
    if (c->operands.count > u->most)
        return hd_err_set(err, HD_EARG, "unexpected argument '%s'", c->operands.word[u->most]);
    return HD_OK;
}

static hd_status read_options(hd_command *c, const hd_option_set *set, hd_arena *texts, hd_err *err)
{
    hd_status s = hd_option_parse(set, &c->operands, false, err);
    if (s || c->common.help) return s; /* who asks for help gets it, whatever is in a file */
    s = hd_config_read(set, texts, err);
    return s ? s : check_usage(c->verb, c, err);
}

/* Runs c with the options that words and a file give. */
static int run_command(hd_command *c, void *options, hd_given *given, hd_arena *texts)
{
    const hd_option *own = c->verb->usage->options;
    const hd_option_set common = {hd_common_options, &c->common, given + hd_option_count(own), NULL},
                        set = {own, options, given, &common};
    hd_err err = {0};
    hd_status s = read_options(c, &set, texts, &err);
    if (s == HD_EFILE || s == HD_ENOMEM) return hd_command_fail(c, &err);
    if (s) return hd_verb_misused(c->verb, &err);
    if (c->common.help)
        return hd_page_help(&c->out, c->verb, &set, &err) ? hd_verb_misused(c->verb, &err) : HD_EXIT_OK;
    c->options = options;
    c->set = &set;
    c->log = hd_terminal_log(&c->err, c->common.quiet ? HD_ERROR : c->common.verbose ? HD_DEBUG : HD_INFO);
    return hd_command_run(c);
}

/* Of several processes the first alone prints: the streams of the others lead nowhere. All end together, so
   that a launcher that sees one end badly finds nobody still at work. */
static int run_together(hd_command *c, void *options, hd_given *given, hd_arena *texts)
{
    hd_err err = {0};
    FILE *nowhere = NULL;
    if (hd_ranks_begin(&err)) return hd_command_fail(c, &err);
    if (hd_rank()) nowhere = fopen("/dev/null", "w");
    if (nowhere) c->out = c->err = hd_terminal_of(nowhere);
    int status = run_command(c, options, given, texts);
    if (!status && hd_ranks_agree(HD_OK, NULL, 0, &err)) status = hd_command_fail(c, &err);
    if (nowhere) fclose(nowhere);
    hd_ranks_end();
    return status;
}

static int run_verb(const hd_verb *v, hd_words words, bool help)
{
    const hd_usage *u = v->usage;
    size_t rows = hd_option_count(u->options) + hd_option_count(hd_common_options);
    hd_command plain = {0};
    hd_err err = {0};
    hd_arena memory; /* of this call, and of what a file of options says */
    hd_arena_init(&memory, hd_allocator_host, TEXTS);
    hd_command *own = u->call ? hd_arena_array(&memory, 1, u->call, &err) : NULL, *c = own ? own : &plain;
    void *options = hd_arena_array(&memory, 1, u->size, &err);
    hd_given *given = hd_arena_array(&memory, rows, sizeof *given, &err);
    c->verb = v, c->operands = words, c->common.help = help;
    c->out = hd_terminal_of(stdout), c->err = hd_terminal_of(stderr);
    int status = err.status   ? hd_command_fail(c, &err)
                 : u->spreads ? run_together(c, options, given, &memory)
                              : run_command(c, options, given, &memory);
    hd_arena_release(&memory);
    return status;
}

static int write_man_page(const hd_terminal *to, const char *name)
{
    hd_err err = {0};
    const hd_verb *v = strcmp(name, hd_program.name) ? hd_verb_find(name, &err) : &hd_program;
    if (!v) return hd_verb_misused(&hd_program, &err);
    return hd_page_man(to, v, &err) ? hd_verb_misused(v, &err) : HD_EXIT_OK;
}

/* 'heed help VERB ...' is 'heed VERB --help ...'. */
static int run_named_verb(hd_words words)
{
    hd_err err = {0};
    bool help = words.count > 1 && !strcmp(words.word[0], "help") && words.word[1][0] != '-';
    const hd_verb *v = hd_verb_find(words.word[help], &err);
    if (!v) return hd_verb_misused(&hd_program, &err);
    return run_verb(v, (hd_words){words.word + 1 + help, words.count - 1 - help}, help);
}

static int run_program(hd_words words)
{
    struct program p = {.completion = -1};
    const hd_option_set set = {.table = program_options, .into = &p};
    hd_err err = {0};
    if (hd_option_parse(&set, &words, true, &err)) return hd_verb_misused(&hd_program, &err);
    hd_terminal out = hd_terminal_of(stdout);
    if (p.help)
        return hd_page_help(&out, &hd_program, NULL, &err) ? hd_verb_misused(&hd_program, &err) : HD_EXIT_OK;
    if (p.version)
        hd_page_version(stdout);
    else if (p.completion >= 0)
        hd_page_completion(&out, p.completion);
    else if (p.man_page)
        return write_man_page(&out, p.man_page);
    else if (words.count)
        return run_named_verb(words);
    else {
        hd_err_set(&err, HD_EARG, "no verb given");
        return hd_verb_misused(&hd_program, &err);
    }
    return HD_EXIT_OK;
}

int main(int argc, char **argv)
{
    /* What is printed piece by piece, as help is, fits in: then a failure comes with the last write, which
       says why. Verbs with more to say ask at once (hd_command_put). */
    static char buffer[1 << 16];
    hd_mem_keep_freed();
    fill_standard_files();
    if (!isatty(STDOUT_FILENO)) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    /* A reader that goes away ends us without a word; a parent may have left the signal ignored. */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows beyond a limit (ulimit -f) is a failed write */
    return finish(run_program((hd_words){argv + 1, argc > 1 ? argc - 1 : 0}));
}
