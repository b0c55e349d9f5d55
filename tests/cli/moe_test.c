/* A model with experts as a user meets it: trained, interrupted, described, continued and asked; what does
   not go with it. */
#include "cli/small_text.h"

#define TRAIN                                                                                                \
    "$HEED train -q --task lm --model moe --device cpu --train t --unit char --layers 2 --width 16 --heads " \
    "2 --context 16 --batch-size 4 --dropout 0.1 --warmup 3 --schedule constant --experts 6 "                \
    "--valid-fraction 0.2 --valid-every 8 --report-every 5 "
#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "

static int make_text(void **state)
{
    if (small_text(state)) return -1;
    must_run(TRAIN "--shared-experts 1 --steps 20 --out m");
    return 0;
}

static void a_run_that_was_interrupted_gives_the_same_bytes(void **state)
{
    (void)state;
    static const char *const kinds[] = {"--balance bias --balance-rate 0.01", "--balance loss",
                                        "--balance both --router sigmoid --micro-batches 2",
                                        "--balance sequence"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        char line[1024];
        snprintf(line, sizeof line,
                 "rm -rf w r; " TRAIN "%s --steps 20 --threads 1 --out w && " TRAIN
                 "%s --steps 20 --threads 3 --minutes 1e-9 --out r",
                 kinds[i], kinds[i]);
        must_run(line);
        must_run("$HEED train -q --resume --steps 7 --out r && $HEED train -q --resume --steps 20 --out r");
        assert_prints(SAME "same w r", 0, "");
    }
}

static void loads_are_reported(void **state)
{
    (void)state;
    must_run(
        "grep '\"kind\":\"train_experts\"' m/train/log.jsonl | grep '\"max_violation\":' | grep -q layer_2");
    must_run("grep -q '\"kind\":\"valid_experts\"' m/train/log.jsonl");
    assert_non_null(
        strstr(must_run("rm -rf v; $HEED train --task lm --model moe --train t --unit char --layers 1 "
                        "--width 16 --heads 2 --context 16 --steps 4 --report-every 2 --out v 2>&1"),
               "MaxVio "));
}

static void it_is_described(void **state)
{
    (void)state;
    const char *out = must_run("$HEED info m");
    assert_non_null(strstr(out, "experts               6"));
    assert_non_null(strstr(out, "experts used          2"));
    assert_non_null(strstr(out, "shared experts        1"));
    assert_non_null(strstr(out, "expert size           24")); /* of 64 / 3 */
    assert_non_null(strstr(must_run("$HEED info m --tensors"), "mlp.experts.5.down_proj.weight"));
    assert_non_null(strstr(must_run("$HEED explain m 'the c'"), "softmax(norm W_r)"));
    must_run("$HEED generate m --prompt the --tokens 4 --greedy --attention a.json");
    must_run("grep -q '\"experts\":\\[{\"layer\":1,\"count\":6,\"used\":\\[\\[\\[' a.json");
}

static void it_goes_on_and_writes(void **state)
{
    (void)state;
    must_run("rm -rf f; $HEED train -q --task lm --from m --train t --steps 5 --out f && $HEED info f");
    const char *many = must_run("$HEED generate m --prompt the --tokens 12 --greedy");
    char kept[SHELL_ROOM];
    snprintf(kept, sizeof kept, "%s", many);
    assert_string_equal(kept, must_run("$HEED generate m --prompt the --tokens 12 --greedy --threads 1"));
    must_run("$HEED perplexity m t");
}

static void presets_are_as_much_work_as_their_twin(void **state)
{
    (void)state;
    char one[SHELL_ROOM];
    snprintf(one, sizeof one, "%s",
             must_run("$HEED train --task lm --preset moe-nano --unit char --train t --dry-run --out d"));
    assert_non_null(strstr(one, "expert-width"));
    must_run("$HEED train --task lm --preset moe-124m --unit char --train t --dry-run --out d");
}

static void what_does_not_go_with_it_is_said(void **state)
{
    (void)state;
    assert_fails(TRAIN "--experts-used 7 --out x", 2, "7 of 6 experts");
    assert_fails(TRAIN "--expert-groups 4 --out x", 2, "groups of 6 experts");
    assert_fails("$HEED train -q --task lm --model llama --train t --unit char --experts 4 --out x", 2,
                 "--experts needs --model moe");
    assert_fails("$HEED train -q --task lm --from m --train t --experts 4 --out x", 2, "--experts");
    assert_fails("$HEED train -q --resume --out m --balance loss", 2, "--balance was bias");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_was_interrupted_gives_the_same_bytes),
        cmocka_unit_test(loads_are_reported),
        cmocka_unit_test(it_is_described),
        cmocka_unit_test(it_goes_on_and_writes),
        cmocka_unit_test(presets_are_as_much_work_as_their_twin),
        cmocka_unit_test(what_does_not_go_with_it_is_said),
    };
    return cmocka_run_group_tests(tests, make_text, scratch_remove);
}
