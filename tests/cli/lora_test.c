/* LoRA as a user meets it: trained on a model of every kind, stopped, resumed, merged, exported, imported and
   asked; files that are missing or damaged; what each option does. */
#include "check.h"
#include "cli/shell.h"

#define SIZES                                                                                          \
    "--device cpu --unit char --layers 2 --width 16 --heads 2 --context 64 --batch-size 4 --warmup 3 " \
    "--schedule constant "
#define TUNE                                                                                                \
    "$HEED train -q --task lm --device cpu --batch-size 4 --warmup 3 --schedule constant --lr 0.01 --lora " \
    "4 "

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    put_file(at("t"), "the cat sat\na dog ran on\nthe cat sat on the dog\na cat ran\na dog sat on the cat\n");
    put_file(at("d.jsonl"), "{\"messages\": [{\"role\": \"user\", \"content\": \"cat\"}, {\"role\": "
                            "\"assistant\", \"content\": \"dog\"}]}\n"
                            "{\"messages\": [{\"role\": \"user\", \"content\": \"dog\"}, {\"role\": "
                            "\"assistant\", \"content\": \"a cat\"}]}\n");
    must_run("for m in gpt llama moe deepseek; do $HEED train -q --task lm --model $m --train t " SIZES
             "--steps 20 --out $m || exit 1; done");
    must_run(TUNE "--from llama --train t --steps 12 --out a");
    return 0;
}

static void every_kind_learns_and_its_base_stays(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gpt", "llama", "moe", "deepseek"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        char line[SHELL_ROOM];
        setenv("M", kinds[i], 1);
        must_run("rm -rf b k f; cp -r $M k; " TUNE
                 "--from $M --train t --valid-fraction 0.2 --steps 20 --out b && diff -r $M k");
        must_run("test ! -e b/model.safetensors && $HEED merge b f && test ! -e f/adapter_config.json");
        snprintf(line, sizeof line, "%s", must_run("$HEED perplexity b t"));
        assert_string_equal(line, must_run("$HEED perplexity f t"));
        assert_string_not_equal(line, must_run("$HEED perplexity $M t"));
        must_run(
            "$HEED generate b --prompt the --tokens 4 --greedy && $HEED info b | grep -q 'adapter  *LoRA'");
    }
}

static void a_run_that_was_interrupted_gives_the_same_bytes(void **state)
{
    (void)state;
    static const char *const kinds[] = {"--from llama", "--from moe --ema 0.9",
                                        "--from gpt --lora-dropout 0.2",
                                        "--from deepseek --optimizer muon --micro-batches 2"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        char line[1024];
        snprintf(line, sizeof line,
                 "rm -rf w r; " TUNE "%s --train t --steps 20 --threads 1 --out w && " TUNE
                 "%s --train t --steps 20 --threads 3 --minutes 1e-9 --out r",
                 kinds[i], kinds[i]);
        must_run(line);
        must_run("$HEED train -q --resume --steps 7 --out r && $HEED train -q --resume --steps 20 --out r");
        must_run("cmp w/adapter_model.safetensors r/adapter_model.safetensors && diff -r w/train/step-20 "
                 "r/train/step-20");
    }
}

static void dialogues_and_rewards_are_learned(void **state)
{
    (void)state;
    must_run("rm -rf c; " TUNE
             "--from llama --train d.jsonl --steps 4 --out c && echo cat | $HEED chat c --greedy");
    put_file(at("p"), "the c\tat\na d\tog\n");
    must_run("rm -rf w r; R=\"$HEED train -q --task reward --from llama --lora 2 --prompts p "
             "--valid-fraction 0 --reward exact "
             "--batch-size 2 --group-size 4 --tokens 4 --warmup 1 --schedule constant --kl 0.1\"; "
             "$R --steps 6 --out w && $R --steps 3 --out r && $HEED train -q --resume --steps 6 --out r && "
             "cmp w/adapter_model.safetensors r/adapter_model.safetensors && test ! -e "
             "w/train/reference.safetensors");
    must_run("$HEED generate w --prompt the --tokens 4 --greedy");
}

/* Each changes what is learned, and how much of it. */
static void every_option_does_something(void **state)
{
    (void)state;
    static const char *const others[] = {"--lora-alpha 4", "--lora-dropout 0.5",
                                         "--lora-targets q_proj,v_proj", "--lora 2"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char line[512];
        snprintf(line, sizeof line, "rm -rf o; " TUNE "--from llama --train t --steps 12 %s --out o",
                 others[i]);
        must_run(line);
        assert_int_not_equal(
            shell((char[SHELL_ROOM]){0}, "cmp -s a/adapter_model.safetensors o/adapter_model.safetensors"),
            0);
    }
    must_run(
        "grep -q '\"lora_alpha\": 8.0' a/adapter_config.json && grep -q '\"r\": 2' o/adapter_config.json");
    must_run("rm -rf o; " TUNE
             "--from llama --train t --steps 2 --lora-targets q_proj,v_proj --lora-alpha 3 --out o");
    must_run("grep -q '\"lora_alpha\": 3.0' o/adapter_config.json && $HEED info o | grep -q 'targets  "
             "*q_proj,v_proj'");
    assert_string_equal(must_run("$HEED info o --tensors | grep -c lora_A.weight"), "4\n");
}

static void adapters_of_peft_come_and_go(void **state)
{
    (void)state;
    must_run("rm -rf e i j; $HEED export a e --base some/model && ls e | tr '\\n' ' ' > n");
    assert_prints("cat n", 0, "adapter_config.json adapter_model.safetensors ");
    must_run("grep -q 'some/model' e/adapter_config.json && cmp a/adapter_model.safetensors "
             "e/adapter_model.safetensors");
    must_run("$HEED import e i --base llama && cmp a/adapter_model.safetensors i/adapter_model.safetensors");
    char line[SHELL_ROOM];
    snprintf(line, sizeof line, "%s", must_run("$HEED perplexity a t"));
    assert_string_equal(line, must_run("$HEED perplexity i t"));
    assert_fails("$HEED import e j", 1, "e: an adapter of peft: give --base");
    assert_fails("$HEED import e j --base gpt", 1, "no linear layer is called 'q_proj'");
    assert_fails("$HEED import e j --base a", 1, "an adapter itself");
    assert_fails("cp -r e g; sed -i 's/\"bias\": \"none\"/\"bias\": \"all\"/' g/adapter_config.json; $HEED "
                 "import g j --base llama",
                 1, "g/adapter_config.json|\"bias\" is not \"none\"");
    assert_fails("sed -i 's/\"all\"/\"none\"/; s/\"LORA\"/\"IA3\"/' g/adapter_config.json; $HEED import g j "
                 "--base llama",
                 1, "\"peft_type\" is \"IA3\"");
    assert_fails("sed -i 's/\"IA3\"/\"LORA\"/; s/\"r\": 4/\"r\": 5/' g/adapter_config.json; $HEED import g j "
                 "--base llama",
                 1, "g/adapter_model.safetensors|lora_A.weight");
    assert_fails("sed -i 's/\"r\": 5/\"r\": 4, \"use_dora\": true/' g/adapter_config.json; $HEED import g j "
                 "--base llama",
                 1, "\"use_dora\" is set");
    assert_fails(
        "rm -r g; cp -r e g; sed -i '/\"q_proj\",/d' g/adapter_config.json; $HEED import g j --base llama", 1,
        "is of no layer that the targets name");
    assert_fails("$HEED export llama j --base x", 1, "--base is for adapters");
    must_run("test ! -e j");
}

static void what_is_missing_or_damaged_is_said(void **state)
{
    (void)state;
    assert_fails("mv llama l; $HEED generate a --prompt x; s=$?; mv l llama; exit $s", 1,
                 "a: an adapter of the model|llama, which is missing|adapter_config.json");
    assert_fails("mv llama l; $HEED train -q --resume --steps 20 --out a; s=$?; mv l llama; exit $s", 1,
                 "which is missing");
    assert_fails(
        "mv llama l; cp -r gpt llama; $HEED generate a --prompt x; s=$?; rm -r llama; mv l llama; exit $s", 1,
        "not the weights that the adapter a was made with");
    must_run("rm -rf h; cp -r a h; mv llama l; cp -r l h/base; sed -i 's|_or_path\": \".*\"|_or_path\": "
             "\"base\"|' h/adapter_config.json; "
             "$HEED generate h --prompt the --tokens 2; s=$?; mv l llama; exit $s");
    assert_fails("rm -rf h; cp -r a h; rm h/adapter_config.json; $HEED generate h --prompt x", 1,
                 "h/adapter_config.json: missing");
    assert_fails("rm -rf h; cp -r a h; rm h/adapter_model.safetensors; $HEED generate h --prompt x", 1,
                 "h/adapter_model.safetensors: missing");
    assert_fails(
        "rm -rf h; cp -r a h; truncate -s 700 h/adapter_model.safetensors; $HEED generate h --prompt x", 1,
        "h/adapter_model.safetensors");
    assert_fails("rm -rf h; cp -r a h; echo '{' > h/adapter_config.json; $HEED info h", 1,
                 "h/adapter_config.json");
    assert_fails("rm -rf h o; cp -r a h; " TUNE "--lora 2 --from llama --train t --steps 2 --out o; cp "
                 "o/adapter_model.safetensors h; $HEED generate h --prompt x",
                 1, "h/adapter_model.safetensors|lora_A.weight");
    assert_fails("$HEED merge llama x", 1, "llama: not an adapter");
    assert_fails("$HEED train -q --task lm --from a --train t --steps 2 --out x", 1,
                 "an adapter: `heed merge");
    assert_fails(TUNE "--from a --train t --steps 2 --out x", 1, "an adapter: `heed merge");
    assert_fails("$HEED train -q --task lm --lora 4 --train t --steps 2 --out x", 2, "--lora needs --from");
    assert_fails("$HEED train -q --task lm --from llama --lora-alpha 4 --train t --steps 2 --out x", 2,
                 "--lora-alpha needs --lora");
    assert_fails(
        "$HEED train -q --task lm --from llama --lora 2 --lora-targets q,k_proj --train t --steps 2 --out x",
        1, "no linear layer is called 'q'");
    must_run("$HEED train -q --task lm --model rnn --train t --unit char --width 8 --layers 1 --steps 2 "
             "--out rnn");
    assert_fails("$HEED train -q --task lm --from rnn --lora 2 --train t --steps 2 --out x", 1,
                 "LoRA needs Transformer blocks");
    must_run("test ! -e x");
}

static double megabytes(const char *options)
{
    char line[512];
    snprintf(line, sizeof line,
             "$HEED train --task lm --from wide --train t --steps 1 --dry-run --device cuda --precision "
             "bf16 %s 2>/dev/null | sed -n 's/^memory *\\([0-9.]*\\) MiB.*/\\1/p'",
             options);
    return atof(must_run(line));
}

/* Weights of a base that stays are in bf16 alone on a card, others where it is asked for. */
static void weights_in_bf16_take_less_memory(void **state)
{
    (void)state;
    must_run("$HEED train -q --task lm --model llama --train t --unit char --layers 2 --width 128 --heads 2 "
             "--context 16 --device cpu --steps 1 --out wide");
    double all = megabytes(""), small = megabytes("--weights bf16"), lora = megabytes("--lora 1");
    print_message("%.1f MiB, in bf16 %.1f, LoRA %.1f\n", all, small, lora);
    assert_true(lora > 0 && lora < small && small < all);
    assert_fails(
        "$HEED train -q --task lm --from llama --train t --steps 1 --device cpu --weights bf16 --out x", 1,
        "--weights bf16 needs --device cuda");
    assert_fails("$HEED train -q --task lm --from llama --train t --steps 1 --device cuda --precision bf16 "
                 "--weights bf16 --ema 0.9 --dry-run",
                 1, "leave out --ema");
    must_run("test ! -e x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_learns_and_its_base_stays),
        cmocka_unit_test(a_run_that_was_interrupted_gives_the_same_bytes),
        cmocka_unit_test(dialogues_and_rewards_are_learned),
        cmocka_unit_test(every_option_does_something),
        cmocka_unit_test(adapters_of_peft_come_and_go),
        cmocka_unit_test(what_is_missing_or_damaged_is_said),
        cmocka_unit_test(weights_in_bf16_take_less_memory),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
