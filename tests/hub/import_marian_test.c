/* Folders of MarianMT become translators that give the logits of transformers and find what it finds, and
   become the same folders again. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"

static void check_marian_folder(const char *folder)
{
    check_translator(folder, "marian.txt", 3);
}

static void marian_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_marian("marian");
    pass_well(hd_import, "marian", "marian.heed");
    check_marian_folder("marian.heed");
}

static void tables_of_marian_may_be_apart(void **state)
{
    (void)state;
    char config[1024];
    put_marian_with("apart", true);
    snprintf(config, sizeof config, "{\"share_encoder_decoder_embeddings\": false, %s", marian_config + 1);
    put_file(at("apart/config.json"), config);
    pass_well(hd_import, "apart", "apart.heed");
    check_marian_folder("apart.heed");
    pass_well(hd_export, "apart.heed", "apart.out"); /* which holds lm_head.weight, too */
    pass_well(hd_import, "apart.out", "apart.again");
    assert_same_file(at("apart.heed/model.safetensors"), at("apart.again/model.safetensors"));
}

static void vectors_of_marian_may_be_as_they_are(void **state)
{
    (void)state;
    char config[1024];
    const char *place = strstr(marian_config, "\"scale_embedding\": true, ");
    put_marian("as-is");
    snprintf(config, sizeof config, "%.*s%s", (int)(place - marian_config), marian_config, place + 25);
    put_file(at("as-is/config.json"), config); /* true is not the default */
    pass_well(hd_import, "as-is", "as-is.heed");
    check_translator("as-is.heed", "marian-unscaled.txt", 3);
    pass_well(hd_export, "as-is.heed", "as-is.out");
    pass_well(hd_import, "as-is.out", "as-is.again");
    check_translator("as-is.again", "marian-unscaled.txt", 3);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"vocab.json", "source.spm", "target.spm", NULL};
    check_round(put_marian, files);
}

static void what_heed_does_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"decoder_ffn_dim\": 40", "\"decoder_ffn_dim\": 20", "\"decoder_ffn_dim\" 20"},
        {"\"encoder_layers\": 2", "\"encoder_layers\": 100", "config.json describes a model of"},
        {"\"vocab_size\": 64", "\"vocab_size\": 65",
         "vocab.json: has 64 pieces, but \"vocab_size\" in config.json is 65"},
        {"\"pad_token_id\": 63", "\"pad_token_id\": 62", "\"pad_token_id\" is not 63"},
        {"\"decoder_layers\": 2", "\"decoder_layers\": 3", "model.decoder.layers.2"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_marian, marian_config}, bad[i].from, bad[i].to, bad[i].why);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_marian, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marian_gives_the_logits_of_transformers),
        cmocka_unit_test(tables_of_marian_may_be_apart),
        cmocka_unit_test(vectors_of_marian_may_be_as_they_are),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_heed_does_not_have_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
