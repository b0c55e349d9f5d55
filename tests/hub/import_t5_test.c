/* Folders of T5 become translators that give the logits of transformers and find what it finds, and become
   the same folders again. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "unseal.h"

static void t5_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_t5("t5");
    pass_well(hd_import, "t5", "t5.heed");
    check_translator("t5.heed", "t5.txt", 29);
    put_t5_gated("t5-gated");
    pass_well(hd_import, "t5-gated", "t5-gated.heed");
    check_translator("t5-gated.heed", "t5-gated.txt", 29);
}

/* The keys of one version of transformers or another, and a table that old files have. */
static void an_output_layer_of_its_own_is_found_in_the_file(void **state)
{
    (void)state;
    store s = {.dtype = HD_F32};
    put_t5_gated("newer");
    put_file(at("newer/config.json"),
             T5_CONFIG("\"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": true, "
                       "\"scale_decoder_outputs\": false"));
    add_t5(&s, true);
    add(&s, T5_BUCKETS, T5_HEADS, "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
    save(&s, 0, s.count, at("newer/model.safetensors"));
    store_release(&s);
    pass_well(hd_import, "newer", "newer.heed");
    check_translator("newer.heed", "t5-gated.txt", 29);
}

/* The arithmetic is T5's, but gated and with an output layer of its own where config.json is silent. */
static void an_mt5_is_a_t5_with_other_defaults(void **state)
{
    (void)state;
    static const char silent[] = T5_CONFIG("\"use_cache\": true");
    const char *type = strstr(silent, "\"t5\"");
    char config[4096];
    assert_non_null(type);
    snprintf(config, sizeof config, "%.*s\"mt5\"%s", (int)(type - silent), silent, type + 4);
    put_t5_gated("mt5");
    put_file(at("mt5/config.json"), config);
    pass_well(hd_import, "mt5", "mt5.heed");
    check_translator("mt5.heed", "t5-gated.txt", 29);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"spiece.model", NULL};
    check_round(put_t5, files);
    check_round(put_t5_gated, files);
}

static void what_no_t5_has_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"num_buckets\": 8", "num_buckets\": 0", "\"relative_attention_num_buckets\" is 0"},
        {"num_buckets\": 8", "num_buckets\": 3", "config.json: relative positions have 4 to 1024 buckets"},
        {"num_buckets\": 8", "num_buckets\": 1025", "config.json: relative positions have 4 to 1024 buckets"},
        {"num_buckets\": 8", "num_buckets\": 24", "and reach farther than half of them"},
        {"num_buckets\": 8", "num_buckets\": 10", "relative_attention_bias.weight"},
        {"max_distance\": 12", "max_distance\": 4", "4 to 1024 buckets"},
        {"max_distance\": 12", "max_distance\": -1", "\"relative_attention_max_distance\" is -1"},
        {"num_heads\": 4", "num_heads\": 0", "\"num_heads\" is 0"},
        {"num_heads\": 4", "num_heads\": 3", "SelfAttention.q.weight"},
        {"d_kv\": 6", "d_kv\": 0", "\"d_kv\" is 0"},
        {"d_kv\": 6", "d_kv\": 1048576", "4 heads of 1048576 columns"},
        {"d_kv\": 6", "d_kv\": 100000", "config.json describes a model of"},
        {"d_kv\": 6", "d_kv\": 7", "SelfAttention.q.weight"},
        {"d_ff\": 40", "d_ff\": 41", "DenseReluDense.w"},
        {"\"relu\"", "\"swoosh\"", "there is no activation \"swoosh\""},
        {"\"relu\"", "\"gated-\"", "there is no activation \"\""},
        {"\"relu\"", "7", "\"feed_forward_proj\""},
        {"\"relu\"", "\"gated-silu\"", "wi.weight"},
        {"\"relu\"", "\"relu\", \"tie_word_embeddings\": false", "lm_head.weight"},
        {"vocab_size\": 1108", "vocab_size\": 1099",
         "spiece.model: has 1100 pieces, but \"vocab_size\" in config.json is 1099"},
        {"vocab_size\": 1108", "vocab_size\": 1109", "shared.weight"},
        {"\"num_layers\": 2", "\"num_layers\": 3", "encoder.block.2"},
        {"\"num_decoder_layers\": 3, ", "", "decoder.block.2"},
        {"is_encoder_decoder\": true", "is_encoder_decoder\": false", "\"is_encoder_decoder\" is false"},
        {"eos_token_id\": 1", "eos_token_id\": 2", "\"eos_token_id\" is not 1"},
        {"start_token_id\": 0", "start_token_id\": 1", "\"decoder_start_token_id\" is not 0"},
        {"1e-06", "-1", "\"layer_norm_epsilon\""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_t5, t5_config}, bad[i].from, bad[i].to, bad[i].why);
}

/* What heed wrote of one may be spoiled, too. */
static void a_spoiled_t5_is_not_opened(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"vocab\": 1108", "\"vocab\": 1000",
         "spiece.model: has 1100 pieces, but \"vocab\" in config.json is 1000"},
        {"\"buckets\": 8", "\"buckets\": 2", "\"buckets\" is 2"},
        {"\"reach\": 12", "\"reach\": 4", "reach farther than half"},
        {"\"head_width\": 6", "\"head_width\": 0", "\"head_width\" is 0"},
        {"\"head_width\": 6", "\"head_width\": 1048576", "4 heads of 1048576 columns"},
        {"\"gated\": false", "\"gated\": true", "wi_0.weight"},
        {"\"model\": \"t5\"", "\"model\": \"t6\"", "\"model\" is \"t6\""},
    };
    put_t5("sound");
    pass_well(hd_import, "sound", "spoiled");
    unseal(at("spoiled"));
    char *all = get_file(at("spoiled/config.json"), NULL), config[2048];
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_model_folder *t = NULL;
        const char *place = strstr(all, bad[i].from);
        if (!place) fail_msg("no '%s' in %s", bad[i].from, all);
        snprintf(config, sizeof config, "%.*s%s%s", (int)(place - all), all, bad[i].to,
                 place + strlen(bad[i].from));
        put_file(at("spoiled/config.json"), config);
        assert_int_equal(folder_open(&t, at("spoiled"), "translate", b, HD_WEIGHTS_BEST, &err), HD_EFORMAT);
        if (!strstr(err.text, bad[i].why)) fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
    }
    free(all);
    hd_backend_free(b);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_t5, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_gives_the_logits_of_transformers),
        cmocka_unit_test(an_output_layer_of_its_own_is_found_in_the_file),
        cmocka_unit_test(an_mt5_is_a_t5_with_other_defaults),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_no_t5_has_is_refused),
        cmocka_unit_test(a_spoiled_t5_is_not_opened),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
