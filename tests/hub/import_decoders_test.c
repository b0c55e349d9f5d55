/* Folders of Llama, Mistral, Qwen, Gemma and DeepSeek become models that give the logits of transformers and
   write what it writes by greedy search, and become the same folders again. What is expected comes from
   published/make_decoders.py, which draws the same weights. */
#include "check.h"
#include "scratch.h"

#include "hub/decoders.h"

static void decoders_give_the_logits_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        char here[64];
        print_message("%s\n", shapes[i].name);
        put_decoder(&shapes[i], shapes[i].name);
        snprintf(here, sizeof here, "%s.heed", shapes[i].name);
        pass_well(hd_import, shapes[i].name, here);
        check_decoder(here, shapes[i].name);
    }
}

/* The folder comes back: imported again it is the same model, and config.json has both forms of positions. */
static void decoders_go_there_and_back(void **state)
{
    (void)state;
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json", NULL};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        char here[64], out[64], again[64];
        snprintf(here, sizeof here, "%s.heed", shapes[i].name);
        snprintf(out, sizeof out, "%s.out", shapes[i].name);
        snprintf(again, sizeof again, "%s.again", shapes[i].name);
        pass_well(hd_export, here, out);
        assert_same_tensors(at("%s/model.safetensors", shapes[i].name), at("%s/model.safetensors", out));
        pass_well(hd_import, out, again);
        assert_same_files(here, again, files);
        check_decoder(again, shapes[i].name);
        char *config = get_file(at("%s/config.json", out), &(size_t){0});
        assert_non_null(strstr(config, "\"rope_theta\": "));
        assert_non_null(strstr(config, "\"rope_parameters\": "));
        free(config);
    }
}

static const struct shape *shape_called(const char *name)
{
    size_t i = 0;
    while (strcmp(shapes[i].name, name)) i++;
    return &shapes[i];
}

/* DeepSeek-V3 has a layer that predicts one more token, which the model itself does not run. */
static void layers_that_look_ahead_are_left_out(void **state)
{
    (void)state;
    const struct shape *d = shape_called("deepseek_v3");
    store s = {0};
    put_decoder(d, "ahead");
    put_weights(&s, d);
    put_layer(&s, d, d->layers);
    put(&s, WIDTH, 2 * WIDTH, "model.layers.%zu.eh_proj.weight", d->layers);
    save(&s, 0, s.count, at("ahead/model.safetensors"));
    store_release(&s);
    pass_well(hd_import, "ahead", "ahead.heed");
    check_decoder("ahead.heed", d->name);
}

static void what_is_not_supported_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *family, *from, *to, *message;
    } cases[] = {
        {"llama", "LlamaForCausalLM", "LlamaForSequenceClassification", "heed imports LlamaForCausalLM"},
        {"llama", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"odd\"", "no activation \"odd\""},
        {"llama", "\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"longrope\"}", "longrope"},
        {"llama", "\"mlp_bias\": false", "\"mlp_bias\": true", "\"mlp_bias\" without \"attention_bias\""},
        {"llama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", ""},
        {"llama", "\"vocab_size\": 512", "\"vocab_size\": 100", "vocab_size"},
        {"deepseek_v3", "\"attention_bias\": false", "\"attention_bias\": true",
         "latent attention has no biases"},
        {"deepseek_v3", "\"num_key_value_heads\": 4", "\"num_key_value_heads\": 2", "num_key_value_heads"},
        {"deepseek_v2", "\"moe_layer_freq\": 1", "\"moe_layer_freq\": 2", "moe_layer_freq"},
        {"deepseek_v2", "\"group_limited_greedy\"", "\"noaux_tc\"", "\"topk_method\" is \"noaux_tc\""},
        {"deepseek_v3", "\"sigmoid\"", "\"softmax\"", "\"scoring_func\" is \"softmax\""},
        {"deepseek_v3", "\"topk_group\": 2", "\"topk_group\": 5", "5 of 4 groups"},
        {"deepseek_v3", "\"num_nextn_predict_layers\": 1",
         "\"quantization_config\": {\"quant_method\": \"fp8\"}",
         "\"quantization_config\": heed reads weights in f32"},
        {"deepseek_v3", "\"kv_lora_rank\": 16", "\"kv_lora_rank\": 0", "kv_lora_rank"},
        {"deepseek_v3", "\"qk_rope_head_dim\": 8", "\"qk_rope_head_dim\": 7", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        char name[16], text[2048];
        snprintf(name, sizeof name, "bad%zu", i);
        put_decoder(shape_called(cases[i].family), name);
        char *config = get_file(at("%s/config.json", name), &(size_t){0}),
             *found = strstr(config, cases[i].from);
        assert_non_null(found);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(found - config), config, cases[i].to,
                 found + strlen(cases[i].from));
        put_file(at("%s/config.json", name), text);
        free(config);
        assert_int_not_equal(pass(hd_import, name, "bad.heed", &err), HD_OK);
        if (!strstr(err.text, cases[i].message)) fail_msg("'%s' has no '%s'", err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoders_give_the_logits_of_transformers),
        cmocka_unit_test(decoders_go_there_and_back),
        cmocka_unit_test(layers_that_look_ahead_are_left_out),
        cmocka_unit_test(what_is_not_supported_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
