/* Model folders made before options, keys and files were renamed: they open, answer as they did,
   and resume to the bytes the program of then gave. legacy/NAME.txt is such a folder, as base64 of a tar.gz;
   "HERE" in its training.yml stands for where the data lies. */
#include "check.h"
#include "cli/shell.h"
#include "outcome.h"

#ifdef __aarch64__
#define BASE_ISA "neon"
#else
#define BASE_ISA "base"
#endif
#if defined __aarch64__ && !defined __clang__ && !HEED_SANITIZED
#define RECORDED 1
#else
#define RECORDED 0
#endif

/* Digests that the program which wrote the folders gave, with the base instruction set: of what a model
   answers, and of the weights and moments of the resumed run. */
static const struct {
    const char *name, *ask, *answer, *weights;
} runs[] = {
    {"translate", "$HEED translate translate --stop proven --scores --n-best 2 <c/test.en",
     "94727e39c70de4c2", "c305544ebcd992b0"},
    {"recurrent",
     "$HEED translate recurrent --stop proven --beam 3 --scores <c/test.en; $HEED embed recurrent <c/test.en",
     "51fb75130f906458", "7022953015e84d77"},
    {"lm", "$HEED generate lm --prompt 'the ' --tokens 20; $HEED rank lm <text.txt", "20e914d3ad73e3b7",
     "04d5403224f04b74"},
    {"words", "$HEED generate words --prompt 'the ' --tokens 20; $HEED tokenize words --ids <text.txt",
     "18542c650527e899", "dc6c90aeea1d1b90"},
    {"mlm", "$HEED fill mlm 'the [MASK] is here'; $HEED embed mlm --long cut <text.txt", "8d3b7c5825ae9c7a",
     "87cbb3938b49e2ca"},
    {"classify", "$HEED classify classify --top 2 <text.txt", "8ef77be5000e1028", "c8d09cd765ee240d"},
    {"ngram", "$HEED generate ngram --prompt 'the ' --tokens 20; $HEED rank ngram <text.txt",
     "1d00439439fd7706", NULL},
};

static int unpack(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    setenv("HEED_ISA", BASE_ISA, 1);
    char out[SHELL_ROOM];
    int status =
        shell(out, "set -e; for f in " HEED_SOURCE "/tests/cli/legacy/*.txt; do base64 -d $f | tar xz; done; "
                   "sed -i \"s:\\\"HERE/:\\\"$PWD/:g\" */training.yml");
    if (status) fprintf(stderr, "%s", out);
    return status;
}

static void assert_digest(const char *what, const char *command, const char *expected)
{
    char line[1024];
    snprintf(line, sizeof line, "set -e; { %s; } 2>/dev/null | sha256sum | cut -c1-16", command);
    const char *out = must_run(line);
    if (RECORDED && strncmp(out, expected, strlen(expected))) fail_msg("%s: %snot %s", what, out, expected);
}

static void they_answer_as_they_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        char command[512];
        snprintf(command, sizeof command, "$HEED info %s --verify", runs[i].name);
        must_run(command);
        snprintf(command, sizeof command, "{ %s; } >/dev/null", runs[i].ask);
        must_run(command);
        assert_digest(runs[i].name, runs[i].ask, runs[i].answer);
    }
}

static void they_resume_to_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        char command[512];
        if (!runs[i].weights) continue; /* done in one sitting */
        snprintf(command, sizeof command, "$HEED train -q --resume --steps 12 --out %s", runs[i].name);
        must_run(command);
        snprintf(command, sizeof command,
                 "cat %s/train/step-12/weights.safetensors %s/train/step-12/moments.safetensors",
                 runs[i].name, runs[i].name);
        assert_digest(runs[i].name, command, runs[i].weights);
    }
    if (!RECORDED) leave_out("digests are recorded for aarch64 and gcc alone");
}

/* What training.yml holds begins another run, and the old name of an option is answered with the new one. */
static void old_names_of_options(void **state)
{
    (void)state;
    must_run(
        "$HEED train -q --config recurrent/training.yml --steps 2 --out again && grep -q '^tokenizer: words' "
        "again/training.yml && test -e again/tokenizer.txt");
    must_run("$HEED train -q --overwrite --config lm/training.yml --steps 2 --out mlm && $HEED generate mlm");
    assert_fails("$HEED train --tokeniser words", 2, "--tokeniser is now called --tokenizer");
    assert_fails("$HEED train --optimiser=sgd", 2, "--optimiser is now called --optimizer");
    assert_fails("$HEED translate again --tokeniser words", 2, "unknown option '--tokeniser'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_answer_as_they_did),
        cmocka_unit_test(they_resume_to_the_same_bytes),
        cmocka_unit_test(old_names_of_options),
    };
    return outcome(cmocka_run_group_tests(tests, unpack, scratch_remove));
}
