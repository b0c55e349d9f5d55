/* A gpt with relative attention as a user meets it: trained, interrupted, described, and asked for more than
   its context; what does not go with it. */
#include "cli/small_text.h"

#define TRAIN                                                                                               \
    "$HEED train -q --task lm --model gpt --train t --unit char --layers 1 --width 16 --heads 2 --context " \
    "16 "                                                                                                   \
    "--batch-size 4 --dropout 0.1 --relative 9 --local-block 6 --warmup 3 --schedule constant "

static int make_text(void **state)
{
    if (small_text(state)) return -1;
    must_run(TRAIN "--steps 20 --out m");
    return 0;
}

static void a_run_that_was_interrupted_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        char line[512];
        snprintf(line, sizeof line,
                 TRAIN "--steps 20 --threads %d --out m%d && cmp m/model.safetensors "
                       "m%d/model.safetensors",
                 threads, threads, threads);
        must_run(line);
    }
    must_run(TRAIN "--steps 8 --out r");
    must_run("$HEED train -q --resume --steps 20 --out r && cmp m/model.safetensors r/model.safetensors");
}

static void it_is_described(void **state)
{
    (void)state;
    const char *out = must_run("$HEED info m");
    assert_non_null(strstr(out, "relative distances    9"));
    assert_non_null(strstr(out, "local blocks          6"));
    assert_non_null(strstr(out, "positions             none"));
    assert_non_null(strstr(must_run("$HEED explain m 'the c'"), "q_i e_(i-j)"));
}

/* It writes on beyond its context without reading anything again. */
static void it_goes_on_beyond_its_context(void **state)
{
    (void)state;
    char long_text[SHELL_ROOM];
    snprintf(long_text, sizeof long_text, "%s",
             must_run("$HEED generate m --prompt 'the' --tokens 60 --greedy"));
    const char *part = must_run("$HEED generate m --prompt 'the' --tokens 20 --greedy");
    assert_memory_equal(part, long_text, 20);
}

static void what_does_not_go_with_it_is_said(void **state)
{
    (void)state;
    assert_prints(
        "$HEED train --task lm --model lstm --train t --relative 4 --steps 1 --out x 2>&1 | grep -c "
        "'needs transformer layers'",
        0, "1\n");
    assert_prints("$HEED export m x 2>&1 | grep -c 'has relative attention'", 0, "1\n");
    assert_prints("$HEED train --task lm --from m --train t --relative 4 --steps 1 --out x 2>&1 | grep -c -e "
                  "'--relative'",
                  0, "1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_was_interrupted_gives_the_same_bytes),
        cmocka_unit_test(it_is_described),
        cmocka_unit_test(it_goes_on_beyond_its_context),
        cmocka_unit_test(what_does_not_go_with_it_is_said),
    };
    return cmocka_run_group_tests(tests, make_text, scratch_remove);
}
