/* Folders of Pegasus become translators that give the logits of transformers and find what it finds, and
   become the same folders again. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"

static void pegasus_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_pegasus("pegasus");
    pass_well(hd_import, "pegasus", "pegasus.heed");
    check_translator("pegasus.heed", "pegasus.txt", 3);
    pass_well(hd_export, "pegasus.heed", "pegasus.out");
    pass_well(hd_import, "pegasus.out", "pegasus.again");
    check_translator("pegasus.again", "pegasus.txt", 3);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"tokenizer.txt", NULL};
    check_round(put_pegasus, files);
}

static void what_heed_does_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"encoder_attention_heads\": 4", "\"encoder_attention_heads\": 2",
         "\"encoder_attention_heads\" is 2"},
        {"\"vocab_size\": 64", "\"vocab_size\": 65",
         "tokenizer.txt: has 64 pieces, but \"vocab_size\" in config.json is 65"},
        {"\"eos_token_id\": 3", "\"eos_token_id\": 1", "\"eos_token_id\" is not 3"},
        {"\"decoder_start_token_id\": 2", "\"decoder_start_token_id\": 0",
         "\"decoder_start_token_id\" is not 2"},
        {"\"scale_embedding\": true", "\"tie_word_embeddings\": false", "\"tie_word_embeddings\" is false"},
        {"\"scale_embedding\": true", "\"decoder_vocab_size\": 63",
         "\"decoder_vocab_size\" is not \"vocab_size\""},
        {"\"words\"}", "\"runes\"}", "there is no tokenizer \"runes\""},
        {"{\"tokenizer\": \"words\"}", "{\"longest\": 33, \"tokenizer\": \"words\"}", "\"longest\" is 33"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_pegasus, pegasus_config}, bad[i].from, bad[i].to, bad[i].why);
}

/* A SentencePiece model alone has other ids than a Pegasus takes them for. */
static void spiece_model_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_text model = unigram_model();
    put_pegasus("pieces");
    assert_int_equal(remove(at("pieces/tokenizer.txt")), 0);
    put_bytes(at("pieces/spiece.model"), model.data, model.size);
    hd_text_release(&model);
    assert_int_equal(pass(hd_import, "pieces", "refused", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "spiece.model does not say the ids of \"pegasus\""));
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_pegasus, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pegasus_gives_the_logits_of_transformers),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_heed_does_not_have_is_refused),
        cmocka_unit_test(spiece_model_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
