/* heed info as a user meets it: the sheet of a model, and the devices, for people and for programs. */
#include "check.h"
#include "cli/shell.h"

#include <jansson.h>

static int make_model(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(out,
                 "$HEED corpus -q --pairs 100 --valid 0 --test 0 --out c && $HEED train -q $TINY --train "
                 "c/train.en c/train.de --steps 3 --out m");
}

static json_t *object_of(const char *command)
{
    json_error_t e;
    json_t *o = json_loads(must_run(command), JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(o)) fail_msg("%s: %s", command, e.text);
    return o;
}

static const char *text(const json_t *o, const char *key)
{
    const char *value = json_string_value(json_object_get(o, key));
    if (!value) fail_msg("no text %s", key);
    return value;
}

static long long number(const json_t *o, const char *key)
{
    if (!json_is_integer(json_object_get(o, key))) fail_msg("no number %s", key);
    return json_integer_value(json_object_get(o, key));
}

static void a_model_is_described(void **state)
{
    (void)state;
    json_t *o = object_of("$HEED info m --json --tensors");
    assert_string_equal(text(o, "model"), "transformer");
    assert_int_equal(number(o, "width"), 16);
    assert_int_equal(number(o, "steps"), 3);
    assert_true(json_is_true(json_object_get(o, "resumable")));
    size_t sum = 0, i;
    const char *name;
    json_t *shape, *side;
    json_object_foreach(json_object_get(o, "tensors"), name, shape)
    {
        size_t count = 1;
        json_array_foreach(shape, i, side) count *= (size_t)json_integer_value(side);
        sum += count;
    }
    assert_int_equal(number(o, "parameters"), sum);
    assert_null(json_object_get(o, "devices"));
    json_decref(o);
    const char *out = must_run("$HEED info m");
    if (!strstr(out, "model                 transformer\n") || !strstr(out, "steps                 3\n"))
        fail_msg("%s", out);
}

/* Of the cards of the machine nothing is known here but that each is named or says why not. */
static void devices_are_listed(void **state)
{
    (void)state;
    json_t *o = object_of("$HEED info --devices --json"), *d;
    size_t i;
    int cpus = 0, cudas = 0;
    char best[64] = "";
    json_array_foreach(json_object_get(o, "devices"), i, d)
    {
        const char *device = text(d, "device");
        bool usable = json_is_true(json_object_get(d, "usable"));
        bool cpu = !strcmp(device, "cpu");
        cpus += cpu, cudas += !cpu;
        if (!cpu) assert_string_equal(device, "cuda");
        if (cpu)
            assert_true(usable && number(d, "threads") > 0 && *text(d, "instruction_set") &&
                        number(d, "memory_free") > 0 && number(d, "memory_free") <= number(d, "memory"));
        if (!usable) assert_true(*text(d, "why"));
        if (usable && !cpu)
            assert_true(*text(d, "name") && *text(d, "compute_capability") && *text(d, "driver") &&
                        *text(d, "runtime") && number(d, "multiprocessors") > 0 &&
                        number(d, "memory_free") <= number(d, "memory"));
        if (usable && !best[0])
            snprintf(best, sizeof best, cpu ? "cpu" : "cuda %lld", cpu ? 0 : number(d, "number"));
    }
    assert_int_equal(cpus, 1);
    assert_true(cudas >= 1);
    assert_string_equal(text(o, "auto"), best);
    json_decref(o);

    /* hidden from it, a card is not there */
    const char *out = must_run("CUDA_VISIBLE_DEVICES= $HEED info --devices");
    const char *why =
        HEED_CUDA ? "not usable: no CUDA device was found: " : "not usable: this build is without CUDA\n";
    if (!strstr(out, " threads, ") || !strstr(out, why) || !strstr(out, "auto                  cpu\n"))
        fail_msg("%s", out);
    o = object_of("$HEED info m --devices --json"); /* both on one sheet */
    assert_int_equal(number(o, "width"), 16);
    assert_true(json_is_array(json_object_get(o, "devices")));
    json_decref(o);
}

/* DeepSeek-V3, of which there is only what config.json says. */
static const char V3[] =
    "{\"model_type\": \"deepseek_v3\", \"architectures\": [\"DeepseekV3ForCausalLM\"], \"hidden_size\": "
    "7168, "
    "\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, \"num_hidden_layers\": 61, "
    "\"num_attention_heads\": 128, \"num_key_value_heads\": 128, \"n_shared_experts\": 1, "
    "\"n_routed_experts\": 256, \"num_experts_per_tok\": 8, \"n_group\": 8, \"topk_group\": 4, "
    "\"first_k_dense_replace\": 3, \"moe_layer_freq\": 1, \"norm_topk_prob\": true, "
    "\"routed_scaling_factor\": 2.5, \"scoring_func\": \"sigmoid\", \"topk_method\": \"noaux_tc\", "
    "\"q_lora_rank\": 1536, \"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, "
    "\"v_head_dim\": 128, \"max_position_embeddings\": 163840, \"vocab_size\": 129280, \"rope_theta\": "
    "10000, "
    "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"original_max_position_embeddings\": 4096, "
    "\"beta_fast\": 32, \"beta_slow\": 1, \"mscale\": 1.0, \"mscale_all_dim\": 1.0}, "
    "\"quantization_config\": {\"quant_method\": \"fp8\"}, \"num_nextn_predict_layers\": 1}";

static void a_published_config_is_enough(void **state)
{
    (void)state;
    mkdir(at("v3"), 0755);
    put_file(at("v3/config.json"), V3);
    put_file(at("other.json"), V3);
    static const char *const ways[] = {"v3", "v3/", "v3/config.json", "other.json"};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char command[100];
        snprintf(command, sizeof command, "$HEED info %s --json", ways[i]);
        json_t *o = object_of(command);
        assert_string_equal(text(o, "published"), "deepseek_v3");
        assert_int_equal(number(o, "parameters"), 671026419200);
        assert_int_equal(number(o, "numbers in the cache"), 61 * 576);
        assert_int_equal(number(o, "cache bytes, bf16"), 70272);
        assert_int_equal(number(o, "ordinary cache, bf16"), 2 * 61 * 32768);
        const double ratio = json_number_value(json_object_get(o, "cache smaller by"));
        assert_true(ratio > 56.8 && ratio < 57);
        json_decref(o);
    }
    assert_fails("$HEED info v3 --verify", 1, "--verify checks models of heed|import it");
    put_file(at("odd.json"), "{\"model_type\": \"odd\"}");
    assert_fails("$HEED info odd.json", 1, "\"model_type\" is \"odd\"");
    put_file(at("cut.json"), "{\"model_type\": ");
    assert_fails("$HEED info cut.json", 1, "cut.json");
}

static void what_is_missing_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED info", 2, "heed info: MODEL is missing, or --devices");
    assert_fails("$HEED info --devices --tensors", 2, "heed info: MODEL is missing");
    assert_fails("$HEED info nowhere", 1, "heed info: nowhere");
    assert_fails("$HEED info nowhere --devices --json", 1, "heed info: nowhere");
    assert_fails("$HEED info m m", 2, "unexpected argument 'm'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_described),
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(a_published_config_is_enough),
        cmocka_unit_test(what_is_missing_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_model, scratch_remove);
}
