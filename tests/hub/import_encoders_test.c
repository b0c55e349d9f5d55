/* Folders of XLM-R, DistilBERT, ELECTRA and MPNet become BERTs that give the rows, logits and labels of
   transformers, and become the same folders again. published/make.py says what transformers saves and gives.
 */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "model/encoder/bert.h"
#include "model/encoder/classifier.h"
#include "task/masked/masked.h"

static void put_wordpiece(const char *folder)
{
    copy(HEED_SOURCE "/tests/text/published/bert/vocab.txt", at("%s/vocab.txt", folder));
}

/* BERT's special tokens are mere pieces of it. */
static void put_mpnet_pieces(const char *folder)
{
    static const char first[] = "<s>\n<pad>\n</s>\n<unk>\n", last[] = "<mask>\n";
    size_t size;
    char *bytes = get_file(HEED_SOURCE "/tests/text/published/bert/vocab.txt", &size);
    hd_text all = {0};
    hd_text_put(&all, first), hd_text_add(&all, bytes, size), hd_text_put(&all, last);
    put_bytes(at("%s/vocab.txt", folder), all.data, all.size);
    put_file(at("%s/tokenizer_config.json", folder),
             "{\"pad_token\": \"<pad>\", \"cls_token\": \"<s>\", \"sep_token\": {\"content\": \"</s>\"}, "
             "\"unk_token\": \"[UNK]\", \"mask_token\": \"<mask>\"}");
    hd_text_release(&all);
    free(bytes);
}

static void put_unigram(const char *folder)
{
    hd_text model = unigram_pieces(true);
    put_bytes(at("%s/sentencepiece.bpe.model", folder), model.data, model.size);
    hd_text_release(&model);
}

enum { BARE, WORDS, LABELS, PRETRAINING };

typedef struct family {
    const char *name, *title;
    void (*put_tokenizer)(const char *folder);
    const char *files[3]; /* of the tokenizer */
    int kinds;
    int32_t start, unk, end, mask;
} family;

static const family families[] = {
    {"xlm-roberta", "XLMRoberta", put_unigram, {"sentencepiece.bpe.model"}, 3, 0, 3, 2, 1001},
    {"distilbert", "DistilBert", put_wordpiece, {"vocab.txt"}, 3, 2, 1, 3, 4},
    {"electra", "Electra", put_wordpiece, {"vocab.txt"}, 4, 2, 1, 3, 4},
    {"mpnet", "MPNet", put_mpnet_pieces, {"vocab.txt", "tokenizer_config.json"}, 3, 0, 5, 2, 1504},
};

static const family *of;  /* what put_kind() puts */
static expected e;        /* its file, behind the kinds before it */
static char config[2048]; /* of what was put last */

/* The next kind of model in the file, but for what it gives. */
static void put_kind(const char *folder)
{
    store s = {.dtype = HD_F32};
    int count;
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    while (*fgets(config, sizeof config, e.file) == '\n') continue;
    put_file(at("%s/config.json", folder), config);
    assert_int_equal(fscanf(e.file, "%d", &count), 1);
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) {
        char name[128];
        size_t rows, cols;
        assert_int_equal(fscanf(e.file, "%127s %zu %zu", name, &rows, &cols), 3);
        add(&s, rows, cols, "%s", name);
    }
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
    of->put_tokenizer(folder);
}

static void begin(const family *f)
{
    char path[256];
    if (e.file) fclose(e.file);
    snprintf(path, sizeof path, PUBLISHED "%s.txt", f->name);
    of = f, e = (expected){.file = fopen(path, "r")};
    assert_non_null(e.file);
}

/* What the model gives for the ids in the file. */
static void check_kind(const char *folder, int kind)
{
    hd_err err = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    int32_t id[32], type[32] = {0}, place[32], one = 1, count = next_ids(&e, id);
    for (int32_t i = 0; i < count; i++) place[i] = i;
    if (hd_model_folder_open(&m, at("%s", folder), kind == LABELS ? "classify" : "mlm", b, HD_WEIGHTS_BEST,
                             &err))
        fail_msg("%s", err.text);
    hd_special special = hd_tokenizer_special(m.tokenizer[0]);
    assert_int_equal(special.start, of->start);
    assert_int_equal(special.unk, of->unk);
    assert_int_equal(special.end, of->end);
    assert_int_equal(hd_masked_id(m.tokenizer[0]), of->mask);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(&r, &count, 1, NULL), *items = hd_seg_of(&r, &one, 1, NULL);
    const int32_t *ids = hd_ints(&r, id, (size_t)count), *types = hd_ints(&r, type, (size_t)count);
    const hd_bert_batch batch = {.seg = seg,
                                 .ids = ids,
                                 .type = types,
                                 .place = hd_ints(&r, place, (size_t)count),
                                 .count = (size_t)count};
    const hd_class_batch labels = {.in.seg = seg, .in.ids = ids, .in.type = types, .items = items};
    hd_tensor *got = kind == LABELS  ? hd_classifier_logp(&r, hd_model_folder_classifier(&m), &labels)
                     : kind == WORDS ? hd_bert_logits(&r, hd_model_folder_bert(&m), &batch)
                                     : hd_bert_rows(&r, hd_model_folder_bert(&m),
                                                    &(hd_items){.seg = seg, .ids = ids, .type = types})
                                           .t;
    hd_real *values = host_copy(&r, got);
    check_logits(&e, values, kind == LABELS ? 1 : (size_t)count, hd_cols_of(got), kind == WORDS ? 37 : 1);
    free(values);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void all_kinds_give_what_transformers_gives(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        begin(&families[i]);
        for (int kind = 0; kind < of->kinds; kind++) {
            char from[32], to[32];
            snprintf(from, sizeof from, "%s.%d", of->name, kind);
            snprintf(to, sizeof to, "%s.%d.heed", of->name, kind);
            put_kind(from);
            pass_well(hd_import, from, to);
            check_kind(to, kind);
        }
    }
}

/* But the head of a discriminator, which is left out. */
static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        begin(&families[i]);
        for (int kind = 0; kind < PRETRAINING; kind++) {
            check_round(put_kind, of->files);
            int32_t ids[32], rows = kind == LABELS ? 1 : next_ids(&e, ids);
            if (kind == LABELS) next(&e);
            for (int32_t k = 0; k < rows; k++) next(&e);
        }
    }
}

/* As sentence-transformers saves it: config.json promises a head that the file does not have. */
static void a_sentence_model_may_lack_the_head(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    char text[2048];
    begin(&families[3]);
    put_kind("sentence");
    const char *kind = strstr(config, "MPNetModel");
    snprintf(text, sizeof text, "%.*sMPNetForMaskedLM%s", (int)(kind - config), config, kind + 10);
    put_file(at("sentence/config.json"), text);
    assert_int_not_equal(pass(hd_import, "sentence", "no", &err), HD_OK);
    if (!strstr(err.text, "lm_head")) fail_msg("%s", err.text);
    put_file(
        at("sentence/modules.json"),
        "[{\"idx\": 0, \"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}, {\"idx\": 1, "
        "\"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}, {\"idx\": 2, "
        "\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]");
    assert_int_equal(mkdir(at("sentence/1_Pooling"), 0777), 0);
    put_file(at("sentence/1_Pooling/config.json"),
             "{\"word_embedding_dimension\": 16, \"pooling_mode_mean_tokens\": true}");
    put_file(at("sentence/sentence_bert_config.json"), "{\"max_seq_length\": 12, \"do_lower_case\": false}");
    pass_well(hd_import, "sentence", "sentence.heed");
    check_kind("sentence.heed", BARE);
    if (hd_model_folder_open(&m, at("sentence.heed"), NULL, b, HD_WEIGHTS_BEST, &err))
        fail_msg("%s", err.text);
    assert_int_equal(m.pool, HD_POOLING_MEAN);
    assert_true(m.normalize);
    assert_int_equal(m.longest, 12);
    hd_model_folder_release(&m);
    hd_backend_free(b);
}

static void refuse(const char *name, const char *from, const char *to, const char *why)
{
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (!strcmp(families[i].name, name)) begin(&families[i]);
    put_kind("example");
    char *kept = strdup(config);
    assert_int_equal(hd_folder_remove(at("example"), NULL), HD_OK);
    begin(of);
    check_refused((publisher){put_kind, kept}, from, to, why);
    free(kept);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    refuse("distilbert", "\"n_heads\": 4", "\"n_heads\": 3", "a width of 16 cannot be split over 3 heads");
    refuse("distilbert", "DistilBertModel", "DistilBertForQuestionAnswering",
           "heed imports DistilBertModel, DistilBertForMaskedLM, DistilBertForSequenceClassification and ");
    refuse("distilbert", "\"dim\": 16", "\"dim\": 32", "embeddings.word_embeddings.weight");
    refuse("electra", "ElectraModel", "ElectraForMultipleChoice",
           "ElectraForMaskedLM, ElectraForPreTraining, ");
    refuse("electra", "\"embedding_size\": 8", "\"embedding_size\": 9", "word_embeddings");
    refuse("electra", "\"embedding_size\": 8", "\"embedding_size\": 0", "\"embedding_size\" is 0");
    refuse("mpnet", "\"relative_attention_num_buckets\": 32", "\"relative_attention_num_buckets\": 16",
           "\"relative_attention_num_buckets\" is not 32");
    refuse("xlm-roberta", "\"vocab_size\": 1002", "\"vocab_size\": 1001", "has 1002 pieces");
}

/* Its head has gelu whatever the blocks have. */
static void an_activation_that_the_head_lacks_is_refused(void **state)
{
    (void)state;
    static const char gelu[] = "\"hidden_act\": \"gelu\"";
    hd_err err = {0};
    char text[2048];
    begin(&families[3]);
    put_kind("tanh");
    const char *place = strstr(config, gelu);
    snprintf(text, sizeof text, "%.*s\"hidden_act\": \"tanh\"%s", (int)(place - config), config,
             place + sizeof gelu - 1);
    put_file(at("tanh/config.json"), text);
    pass_well(hd_import, "tanh", "tanh.heed");
    for (int i = 0, count = next_ids(&e, (int32_t[32]){0}); i < count; i++) next(&e);
    put_kind("head");
    place = strstr(config, gelu);
    snprintf(text, sizeof text, "%.*s\"hidden_act\": \"tanh\"%s", (int)(place - config), config,
             place + sizeof gelu - 1);
    put_file(at("head/config.json"), text);
    assert_int_equal(pass(hd_import, "head", "head.heed", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "\"hidden_act\" is not \"gelu\""));
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    begin(&families[3]);
    check_memory(put_kind, "memory", "memory.heed");
    begin(&families[0]);
    check_memory(put_kind, "memory0", "memory0.heed");
}

static int close_file(void **state)
{
    if (e.file) fclose(e.file);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_give_what_transformers_gives),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(a_sentence_model_may_lack_the_head),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(an_activation_that_the_head_lacks_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, close_file);
}
