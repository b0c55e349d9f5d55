/* Folders of RoBERTa become BERTs that give the rows, logits and labels of transformers, and become the same
   folders again. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "task/label/labeler.h"
#include "task/masked/masked.h"

static expected open_expected(void)
{
    expected e = {.file = fopen(PUBLISHED "roberta.txt", "r")};
    assert_non_null(e.file);
    return e;
}

static void check_rows(const char *folder, bool headless)
{
    hd_err err = {0};
    hd_model_folder *m = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = open_expected();
    if (folder_open(&m, at("%s", folder), "mlm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_model_folder_bert(m)->opt.headless, headless);
    assert_int_equal(hd_model_folder_bert(m)->opt.positions, 22);
    int32_t id[32], type[32] = {0}, place[32], count = next_ids(&e, id);
    for (int32_t i = 0; i < count; i++) place[i] = i;
    hd_run_begin(&r, HD_INFERENCE);
    const hd_bert_batch batch = {.seg = hd_seg_of(&r, &count, 1, NULL),
                                 .ids = hd_ints(&r, id, (size_t)count),
                                 .type = hd_ints(&r, type, (size_t)count),
                                 .place = hd_ints(&r, place, (size_t)count),
                                 .count = (size_t)count};
    hd_real *rows = host_copy(
                &r, hd_bert_rows(&r, hd_model_folder_bert(m),
                                 &(hd_items){.seg = batch.seg, .ids = batch.ids, .type = batch.type})
                        .t),
            *logits = headless ? NULL : host_copy(&r, hd_bert_logits(&r, hd_model_folder_bert(m), &batch));
    check_logits(&e, rows, (size_t)count, WIDE, 1);
    if (!headless) check_logits(&e, logits, (size_t)count, hd_model_folder_bert(m)->opt.vocab, 37);
    free(rows), free(logits);
    fclose(e.file);
    folder_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void rows_and_logits_are_those_of_transformers(void **state)
{
    (void)state;
    put_roberta("words");
    put_bare_roberta("bare");
    pass_well(hd_import, "words", "words.heed");
    pass_well(hd_import, "bare", "bare.heed");
    check_rows("words.heed", false);
    check_rows("bare.heed", true);
}

static void check_labels(const char *folder)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = open_expected();
    if (folder_open(&l, at("%s", folder), "classify", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_true(l->pairs);
    int32_t id[32], type[32] = {0}, one = 1, count = next_ids(&e, id);
    for (int32_t i = 0; i < 2 * count; i++) next(&e);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_class_batch batch = {.in.seg = hd_seg_of(&r, &count, 1, NULL),
                                  .items = hd_seg_of(&r, &one, 1, NULL),
                                  .in.ids = hd_ints(&r, id, (size_t)count),
                                  .in.type = hd_ints(&r, type, (size_t)count)};
    hd_real *logp = host_copy(&r, hd_classifier_logp(&r, hd_model_folder_classifier(l), &batch));
    check_logits(&e, logp, 1, 3, 1);
    free(logp);
    fclose(e.file);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void labels_are_those_of_transformers(void **state)
{
    (void)state;
    put_roberta_labels("labels");
    pass_well(hd_import, "labels", "labels.heed");
    check_labels("labels.heed");
    put_roberta_with("left", "RobertaForSequenceClassification", BERT_PREFIX | BERT_POOLER | BERT_LABELS);
    pass_well(hd_import, "left", "left.heed");
    check_labels("left.heed");
}

/* As the tokenizer has it, and so does a line with <mask>. */
static void the_mask_takes_the_spaces_before_it(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    hd_ids ids = {0}, same = {0};
    static const char text[] = "the cat  [MASK] is", own[] = "the cat  <mask> is";
    if (hd_tokenizer_open(&t, HD_TOKENIZER_bpe, HEED_SOURCE "/tests/text/published/roberta/tokenizer.json",
                          &err) ||
        hd_masked_encode(t, (hd_line){text, sizeof text - 1}, &ids, &err) ||
        hd_masked_encode(t, (hd_line){own, sizeof own - 1}, &same, &err))
        fail_msg("%s", err.text);
    assert_int_equal(ids.count, same.count);
    assert_memory_equal(ids.at, same.at, ids.count * sizeof *ids.at);
    hd_ids_release(&ids), hd_ids_release(&same);
    hd_tokenizer_free(t);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"tokenizer.json", NULL};
    check_round(put_roberta, files);
    check_round(put_bare_roberta, files);
    check_round(put_roberta_labels, files);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    static const char pad[] = "\"pad_token_id\": 1";
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"max_position_embeddings\": 24", "\"max_position_embeddings\": 4",
         "\"max_position_embeddings\" is 4"},
        {"\"max_position_embeddings\": 24", "\"max_position_embeddings\": 25", "position_embeddings"},
        {"\"type_vocab_size\": 1", "\"type_vocab_size\": 2", "token_type_embeddings"},
        {"702", "701", "has 702 pieces, but \"vocab_size\" in config.json is 701"},
        {pad, "\"pad_token_id\": -1", "\"pad_token_id\" is -1"},
        {pad, "\"architectures\": [\"RobertaForMultipleChoice\"]",
         "RobertaModel, RobertaForMaskedLM, RobertaForSequenceClassification and "
         "RobertaForTokenClassification"},
        {pad, "\"architectures\": [\"BertForMaskedLM\"]", "\"BertForMaskedLM\""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_roberta, roberta_config}, bad[i].from, bad[i].to, bad[i].why);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_roberta, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_logits_are_those_of_transformers),
        cmocka_unit_test(labels_are_those_of_transformers),
        cmocka_unit_test(the_mask_takes_the_spaces_before_it),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
