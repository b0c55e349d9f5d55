/* Every option of blocks does something: a model that learns with it is not the one that learns without. What
   each does is tested by numbers elsewhere (tests/model/llama_test.c, experts_test.c). */
#include "cli/small_text.h"

#define SMALL                                                                                              \
    "--device cpu --train t --unit char --layers 2 --width 16 --heads 2 --context 16 --batch-size 4 --lr " \
    "0.01 --warmup 1 --steps 3 --valid-fraction 0.2 --threads 1 "

/* Trains with `common`, and with that and each of the others in turn. */
static void assert_each_counts(const char *common, const char *const *options)
{
    char line[1024];
    snprintf(line, sizeof line, "rm -rf a; $HEED train -q --task lm " SMALL "%s --out a", common);
    must_run(line);
    for (; *options; options++) {
        snprintf(line, sizeof line,
                 "rm -rf b; $HEED train -q --task lm " SMALL "%s %s --out b && ! cmp -s a/model.safetensors "
                 "b/model.safetensors || { echo '%s does nothing'; exit 1; }",
                 common, *options, *options);
        must_run(line);
    }
}

static void blocks(void **state)
{
    (void)state;
    assert_each_counts("--model llama",
                       (const char *const[]){"--norm-kind layer", "--ffn plain", "--activation gelu",
                                             "--bias all", "--bias qkv", "--kv-heads 1", "--head-width 4",
                                             "--qk-norm head", "--qk-norm whole", "--rope-theta 100",
                                             "--sliding-window 4", "--score-cap 0.1", "--logit-cap 0.5",
                                             "--position-kind none", NULL});
    assert_each_counts("--model llama --sliding-window 4", (const char *const[]){"--window-every 2", NULL});
    assert_each_counts("--model llama --bias all", (const char *const[]){"--bias qkv", NULL});
}

static void latent_vectors(void **state)
{
    (void)state;
    assert_each_counts("--model deepseek",
                       (const char *const[]){"--latent-rank 6", "--query-rank 6", "--nope-width 6",
                                             "--rope-width 2", "--value-width 4", NULL});
}

static void experts(void **state)
{
    (void)state;
    assert_each_counts("--model moe --experts 4 --balance none",
                       (const char *const[]){"--experts 8", "--experts-used 1", "--shared-experts 1",
                                             "--expert-width 8", "--dense-layers 1", "--experts-every 2",
                                             "--router sigmoid", "--router-raw", "--router-scale 2",
                                             "--router-bias", "--expert-groups 2", NULL});
    assert_each_counts("--model moe --experts 4 --expert-groups 2 --balance none",
                       (const char *const[]){"--expert-groups-used 2", NULL});
    assert_each_counts("--model moe --experts 4 --balance sequence",
                       (const char *const[]){"--balance-loss 0.5", "--balance loss", "--balance both", NULL});
    assert_each_counts("--model moe --experts 4",
                       (const char *const[]){"--balance-rate 0.1", "--balance none", NULL});
}

static void muon(void **state)
{
    (void)state;
    assert_each_counts("--model llama", (const char *const[]){"--optimizer muon", NULL});
    assert_each_counts("--model llama --optimizer muon",
                       (const char *const[]){"--muon-momentum 0.5", "--muon-lr 0.5", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(latent_vectors),
        cmocka_unit_test(experts),
        cmocka_unit_test(muon),
    };
    return cmocka_run_group_tests(tests, small_text, scratch_remove);
}
