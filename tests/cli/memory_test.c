/* The program out of memory: whatever it was about to do, it says just that, once, and ends with status 1.
   The n-th allocation is failed from outside, in every verb and for n all over the run. */
#include "check.h"
#include "cli/kinds.h"
#include "outcome.h"

#define TRAIN                                                                                        \
    "$HEED train -q --device cpu --threads 1 --width 16 --batch-size 8 --steps 2 --overwrite --out " \
    "new "

enum { POINTS = 24 }; /* tried of each command, about; all of them were tried once */

static const char *const commands[] = {
    "echo the cat | $HEED classify classifier -d cpu --threads 1",
    "echo the cat | $HEED tag tagger -d cpu --threads 1",
    "echo 'the [MASK]' | $HEED fill bert -d cpu --threads 1",
    "echo the cat | $HEED embed bert -d cpu --threads 1",
    "$HEED generate gpt -d cpu --threads 1 --tokens 3 --prompt the --stop x",
    "echo '1 ||| the' | $HEED rank gpt -d cpu --threads 1 --moses",
    "echo the cat | $HEED translate translator -d cpu --threads 1",
    "echo the cat | $HEED tokenize bert",
    "echo the cat | $HEED tokenize bert --decode",
    "echo the cat | $HEED tokenize gpt/tokenizer.txt",
    "$HEED perplexity gpt -d cpu --threads 1 text",
    "$HEED explain bert the --threads 1",
    "$HEED info bert",
    "$HEED score --ref text text",
    "rm -rf exported; $HEED export bert exported -q",
    TRAIN "--task lm --model gpt --heads 2 --train text --unit char --layers 1 --context 64",
    TRAIN "--task classify --train labels.tsv --unit char",
    TRAIN "--task tag --train tags.tsv",
    TRAIN "--task mlm --train text --unit word --layers 1 --heads 2 --context 16",
    "$HEED train -q $TINY --threads 1 --train text other --steps 2 --overwrite --out new",
};

/* Runs a command with an allocation that fails; what it prints on stderr into `said`, on stdout into `out`.
   GLib, which Pango brings, makes its slices by the same function as heed its memory unless told not to, and
   aborts where one fails. */
static int run_failing(const char *command, const char *variable, unsigned long n, char out[SHELL_ROOM],
                       char **said)
{
    char line[700];
    snprintf(line, sizeof line,
             "export G_SLICE=always-malloc LD_PRELOAD=%s FAIL_COUNT=count %s=%lu; { %s; } 2> said",
             HEED_FAIL_MEMORY, variable, n, command);
    int status = shell(out, line);
    *said = get_file(at("said"), NULL);
    return status;
}

/* How many allocations a run makes that does not fail. */
static unsigned long count_in(const char *command, bool objects, char plain[SHELL_ROOM])
{
    unsigned long n[2] = {0, 0};
    char *said;
    if (run_failing(command, "FAIL_MEMORY", 0, plain, &said)) fail_msg("%s: %s", command, said);
    char *count = get_file(at("count"), NULL);
    assert_int_equal(sscanf(count, "%lu %lu", &n[0], &n[1]), 2);
    free(count);
    free(said);
    return n[objects];
}

static bool is_one_line(const char *said)
{
    const char *end = strchr(said, '\n');
    return end && !end[1];
}

/* It ends well where the memory was for something that it can do without: then the answer is the same. */
static void assert_says_so(const char *command, unsigned long n, const char *plain)
{
    char out[SHELL_ROOM], *said;
    int status = run_failing(command, "FAIL_MEMORY", n, out, &said);
    bool fails = status == 1 && is_one_line(said) && strstr(said, "out of memory");
    if (!fails && (status || strcmp(out, plain)))
        fail_msg("%s: allocation %lu fails: status %d, says '%s'", command, n, status, said);
    free(said);
}

static void every_verb_says_that_it_is_out_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        char plain[SHELL_ROOM];
        unsigned long all = count_in(commands[i], false, plain), step = all / POINTS + 1;
        assert_true(all > 10);
        for (unsigned long n = 1 + i % step; n <= all; n += step) assert_says_so(commands[i], n, plain);
    }
}

/* Those that were reported as something else: all of their points. */
static void what_was_said_wrongly_is_said_right(void **state)
{
    (void)state;
    static const char *const once[] = {"echo ab | $HEED tokenize gpt/tokenizer.txt", "$HEED info bert",
                                       "$HEED explain bert the --threads 1"};
    for (size_t i = 0; i < COUNT_OF(once); i++) {
        char plain[SHELL_ROOM];
        unsigned long all = count_in(once[i], false, plain);
        for (unsigned long n = 1; n <= all && n < 40; n++) assert_says_so(once[i], n, plain);
    }
}

/* SentencePiece does not survive every failure inside it: its own crash is accepted, a wrong word is not. */
static void subwords_say_so_as_far_as_their_library_survives(void **state)
{
    (void)state;
    static const char *const command =
        "$HEED train -q --task lm --model gpt --train text --unit subword --vocab-size 280 "
        "--device cpu --threads 1 --width 16 --heads 2 --layers 1 --context 64 --steps "
        "2 --overwrite --out new";
    char plain[SHELL_ROOM], out[SHELL_ROOM], *said;
    unsigned long all = count_in(command, true, plain), survived = 0, tried = 0;
    if (!all) leave_out("no allocation of C++ goes through the library that fails them here");
    for (unsigned long n = 1; n <= all; n += all / 100 + 1, tried++) {
        int status = run_failing(command, "FAIL_NEW", n, out, &said);
        bool crashed = status < 0 || status > 128;
        if (!crashed && status && (status != 1 || !strstr(said, "out of memory")))
            fail_msg("allocation %lu of C++ fails: status %d, says '%s'", n, status, said);
        survived += !crashed;
        free(said);
    }
    assert_true(survived > tried / 2);
}

/* The sanitizers want to be loaded first. */
static int make(void **state)
{
#if HEED_SANITIZED
    (void)state;
    exit(77);
#else
    return kinds_make(state);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_says_that_it_is_out_of_memory),
        cmocka_unit_test(what_was_said_wrongly_is_said_right),
        cmocka_unit_test(subwords_say_so_as_far_as_their_library_survives),
    };
    return outcome(cmocka_run_group_tests(tests, make, scratch_remove));
}
