/* Folders of Llama, Mistral, Qwen and Gemma become models that give the logits of transformers and write what
   it writes by greedy search, and become the same folders again. What is expected comes from
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

static void what_is_not_supported_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"LlamaForCausalLM", "LlamaForSequenceClassification", "heed imports LlamaForCausalLM"},
        {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"odd\"", "no activation \"odd\""},
        {"\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"longrope\"}", "longrope"},
        {"\"mlp_bias\": false", "\"mlp_bias\": true", "\"mlp_bias\" without \"attention_bias\""},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", ""},
        {"\"vocab_size\": 512", "\"vocab_size\": 100", "vocab_size"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        char name[16], text[2048];
        snprintf(name, sizeof name, "bad%zu", i);
        put_decoder(&shapes[0], name);
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
        cmocka_unit_test(what_is_not_supported_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
