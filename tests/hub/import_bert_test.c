/* Folders of BERT become models that give the rows, logits and labels of transformers, and become the same
   folders again. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "task/label/labeler.h"
#include "task/masked/masked.h"

/* The rows of a pair of texts, then what its head says, then what its pooler does, as far as it has them. */
static void check_bert(const char *folder, bool headless, bool pooler)
{
    hd_err err = {0};
    hd_model_folder *m = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(PUBLISHED "bert.txt", "r")};
    assert_non_null(e.file);
    if (folder_open(&m, at("%s", folder), "mlm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_model_folder_bert(m)->opt.headless, headless);
    assert_int_equal(hd_model_folder_bert(m)->opt.pooler, pooler);
    int32_t id[32], type[32], place[32], count = next_ids(&e, id);
    assert_int_equal(next_ids(&e, type), count);
    for (int32_t i = 0; i < count; i++) place[i] = i;
    hd_run_begin(&r, HD_INFERENCE);
    const hd_bert_batch batch = {.seg = hd_seg_of(&r, &count, 1, NULL),
                                 .ids = hd_ints(&r, id, (size_t)count),
                                 .type = hd_ints(&r, type, (size_t)count),
                                 .place = hd_ints(&r, place, (size_t)count),
                                 .count = (size_t)count};
    hd_rows x = hd_bert_rows(&r, hd_model_folder_bert(m),
                             &(hd_items){.seg = batch.seg, .ids = batch.ids, .type = batch.type});
    hd_real *rows = host_copy(&r, x.t),
            *pooled = pooler ? host_copy(&r, hd_bert_pooled(&r, hd_model_folder_bert(m), x)) : NULL,
            *logits = headless ? NULL : host_copy(&r, hd_bert_logits(&r, hd_model_folder_bert(m), &batch));
    check_logits(&e, rows, (size_t)count, WIDE, 1);
    if (pooler)
        check_logits(&e, pooled, 1, WIDE, 1);
    else
        next(&e);
    if (!headless) check_logits(&e, logits, (size_t)count, hd_model_folder_bert(m)->opt.vocab, 37);
    free(rows), free(pooled), free(logits);
    fclose(e.file);
    folder_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void bert_gives_the_rows_and_logits_of_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int parts;
    } cases[] = {
        {"bert", "bert.heed", BERT_PREFIX | BERT_HEAD | BERT_POOLER | BERT_FOLLOWS},
        {"plain", "plain.heed", BERT_PREFIX | BERT_HEAD},
        {"bare", "bare.heed", BERT_POOLER},
        {"rows", "rows.heed", 0},
        {"old", "old.heed", BERT_PREFIX | BERT_HEAD | BERT_POOLER | BERT_OLD_NAMES},
        {"older", "older.heed", BERT_OLD_NAMES},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_bert_with(cases[i].from, cases[i].parts);
        pass_well(hd_import, cases[i].from, cases[i].to);
        check_bert(cases[i].to, !(cases[i].parts & BERT_HEAD), cases[i].parts & BERT_POOLER);
    }
}

/* What a head says of a pair, behind what bert.txt has of rows, pooled and words: log-probabilities of three
   labels, then a number. */
static void check_labels(const char *folder, bool number)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(PUBLISHED "bert.txt", "r")};
    assert_non_null(e.file);
    if (folder_open(&l, at("%s", folder), "classify", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    int32_t id[32], type[32], one = 1, count = next_ids(&e, id);
    assert_int_equal(next_ids(&e, type), count);
    for (int32_t i = 0; i < 2 * count + 1 + number; i++) next(&e);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_class_batch batch = {.in.seg = hd_seg_of(&r, &count, 1, NULL),
                                  .items = hd_seg_of(&r, &one, 1, NULL),
                                  .in.ids = hd_ints(&r, id, (size_t)count),
                                  .in.type = hd_ints(&r, type, (size_t)count)};
    const hd_classifier *m = hd_model_folder_classifier(l);
    bool many = l->task->id == HD_TRAIN_MULTILABEL; /* whose answers are logits */
    hd_tensor *y =
        many ? hd_log_softmax(&r, hd_classifier_answer(&r, m, &batch)) : hd_classifier_logp(&r, m, &batch);
    hd_real *logp = host_copy(&r, y);
    check_logits(&e, logp, 1, hd_model_folder_classifier(l)->opt.classes, 1);
    assert_int_equal(e.count, number ? 1 : 3);
    assert_int_equal(hd_model_folder_classifier(l)->opt.head == &hd_head_number, number);
    free(logp);
    fclose(e.file);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void labels_of_bert_are_those_of_transformers(void **state)
{
    (void)state;
    char config[1024];
    put_bert_labels("labels");
    pass_well(hd_import, "labels", "labels.heed");
    check_labels("labels.heed", false);
    size_t size;
    char *names = get_file(at("labels.heed/labels.txt"), &size);
    assert_string_equal(names, "bad\nso so\ngood \"one\"\n");
    free(names);
    for (int old = 0; old < 2; old++) { /* one label is a number, whether it has a name or not */
        const char *from = old ? "number" : "named", *to = old ? "number.heed" : "named.heed";
        put_bert_with(from, (old ? BERT_OLD_NAMES : BERT_PREFIX) | BERT_POOLER | BERT_NUMBER);
        snprintf(config, sizeof config, "{\"architectures\": [\"BertForSequenceClassification\"], %s, %s",
                 old ? "\"num_labels\": 1"
                     : "\"id2label\": {\"0\": \"score\"}, \"problem_type\": \"regression\"",
                 bert_config + 1);
        put_file(at("%s/config.json", from), config);
        pass_well(hd_import, from, to);
        check_labels(to, true);
    }
    put_bert_labels("many");
    snprintf(config, sizeof config, "{\"problem_type\": \"multi_label_classification\", %s%s",
             labels_config + 1, bert_config + 1);
    put_file(at("many/config.json"), config);
    pass_well(hd_import, "many", "many.heed");
    check_labels("many.heed", false);
    pass_well(hd_export, "named.heed", "named.out");
    pass_well(hd_import, "named.out", "named.again");
    static const char *const model[] = {"config.json", "model.safetensors", "vocab.txt", NULL};
    for (const char *const *name = model; *name; name++)
        assert_same_file(at("named.heed/%s", *name), at("named.again/%s", *name));
}

/* Rows that no piece has change no other logit and are never filled in. */
static void bert_may_be_padded(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder *m = NULL;
    hd_filled f = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    char config[1024];
    const char *size = strstr(bert_config, "1500");
    snprintf(config, sizeof config, "%.*s2500%s", (int)(size - bert_config), bert_config, size + 4);
    put_bert("padded");
    pad_bert("padded", BERT_PREFIX | BERT_HEAD | BERT_POOLER, 1000);
    put_file(at("padded/config.json"), config);
    pass_well(hd_import, "padded", "padded.heed");
    check_bert("padded.heed", false, true);
    pass_well(hd_export, "padded.heed", "padded.out");
    pass_well(hd_import, "padded.out", "padded.again");
    assert_same_file(at("padded.heed/config.json"), at("padded.again/config.json"));
    if (folder_open(&m, at("padded.again"), "mlm", b, HD_WEIGHTS_BEST, &err) ||
        hd_masked_fill(&f, &r, m, (hd_line){"the [MASK]", 10}, 5000, &err))
        fail_msg("%s", err.text);
    assert_int_equal(f.top, BERT_VOCAB - 5);
    for (size_t i = 0; i < f.top; i++) assert_non_null(hd_masked_piece(m->tokenizer[0], f.choice[i].id));
    hd_filled_release(&f);
    folder_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- there and back -- */

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"vocab.txt", NULL};
    check_round(put_bert, files);
    check_round(put_bare_bert, files);
    check_round(put_bert_labels, files);
}

/* One as `heed train` makes it, whose tokenizer is no BERT's. */
static void what_was_trained_here_comes_back(void **state)
{
    (void)state;
    hd_err err = {0};
    speaker_lines lines = {speaker_text};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder m = {0};
    hd_bert *bert = NULL;
    if (hd_tokenizer_train(&m.tokenizer[0], HD_TOKENIZER_sentencepiece, (hd_feed){speaker_next, &lines},
                           &(hd_tokenizer_opt){.vocab = 310}, &err))
        fail_msg("%s", err.text);
    const hd_bert_opt opt = {.stack.layers = 1,
                             .stack.heads = 2,
                             .stack.width = 8,
                             .positions = 16,
                             .vocab = hd_masked_vocab(m.tokenizer[0])};
    assert_int_equal(mkdir(at("own"), 0777), 0);
    if (hd_bert_new(&bert, b, &opt, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(&m, HD_TRAIN_MLM, hd_bert_model(bert));
    if (hd_params_draw(&bert->params, 3, &err) || hd_model_folder_write(&m, at("own"), &err))
        fail_msg("%s", err.text);
    pass_well(hd_export, "own", "own.out");
    pass_well(hd_import, "own.out", "own.again");
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.model", NULL};
    assert_same_files("own", "own.again", files);
    hd_model_folder_release(&m);
    hd_backend_free(b);
}

/* -- what is refused -- */

static void of_bert_too(void **state)
{
    (void)state;
    static const char pad[] = "\"pad_token_id\": 0", eps[] = "\"layer_norm_eps\": 0.001";
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0", "\"num_hidden_layers\" is 0"},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "bert.encoder.layer.2."},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "tensor \"bert.encoder.layer.1."},
        {"\"num_attention_heads\": 4", "\"num_attention_heads\": 3", "cannot be split over 3 heads"},
        {"\"hidden_size\": 16", "\"hidden_size\": 9000000000000000000",
         "\"hidden_size\" is 9000000000000000000"},
        {"\"hidden_size\": 16", "\"hidden_size\": 32", "bert.embeddings.word_embeddings.weight"},
        {"\"hidden_size\": 16", "\"hidden_size\": 1048576", "config.json describes a model of"},
        {"\"intermediate_size\": 40", "\"intermediate_size\": 41", "intermediate.dense"},
        {"\"max_position_embeddings\": 24", "\"max_position_embeddings\": 25", "position_embeddings"},
        {"\"type_vocab_size\": 3", "\"type_vocab_size\": 2", "token_type_embeddings"},
        {"\"type_vocab_size\": 3", "\"type_vocab_size\": 0", "\"type_vocab_size\" is 0"},
        {"1500", "1499", "vocab.txt: has 1500 pieces, but \"vocab_size\" in config.json is 1499"},
        {"1500", "2525", "vocab.txt: has 1500 pieces, but \"vocab_size\" in config.json is 2525"},
        {"1500", "1501", "word_embeddings"},
        {"gelu_new", "swoosh", "there is no activation \"swoosh\""},
        {eps, "\"layer_norm_eps\": 0", "\"layer_norm_eps\" is 0"},
        {eps, "\"layer_norm_eps\": \"x\"", "\"layer_norm_eps\" is not a number"},
        {"\"hidden_dropout_prob\": 0.25", "\"hidden_dropout_prob\": 1.5", "\"hidden_dropout_prob\" is 1.5"},
        {pad, "\"position_embedding_type\": \"relative_key\"",
         "\"position_embedding_type\" is \"relative_key\""},
        {pad, "\"is_decoder\": true", "\"is_decoder\" is true"},
        {pad, "\"add_cross_attention\": true", "\"add_cross_attention\" is true"},
        {pad, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\" is false"},
        {pad, "\"architectures\": [\"BertForQuestionAnswering\"]", "\"BertForQuestionAnswering\""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_bert, bert_config}, bad[i].from, bad[i].to, bad[i].why);
    check_refused((publisher){put_bare_bert, bert_config}, pad, "\"architectures\": [\"BertForMaskedLM\"]",
                  "cls.predictions.transform.dense.weight");
}

static void labels_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char three[] = "\"0\": \"bad\", \"2\": \"good \\\"one\\\"\", \"1\": \"so so\"",
                      pad[] = "\"pad_token_id\": 0";
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {three, "\"0\": \"a\", \"1\": \"b\"", "classifier.weight"},
        {three, "\"0\": \"a\", \"1\": \"b\", \"3\": \"c\"", "no label of the number \"2\""},
        {three, "\"0\": \"a\", \"1\": 7, \"2\": \"c\"", "no label of the number \"1\""},
        {three, "\"0\": \"a\", \"1\": \"a\", \"2\": \"c\"", "the label \"a\" twice"},
        {three, "\"0\": \"a\", \"1\": \"\", \"2\": \"c\"", "the label of \"1\" is empty"},
        {three, "\"0\": \"a\", \"1\": \"b\\nc\", \"2\": \"c\"", "not a line of text"},
        {pad, "\"problem_type\": \"ranking\"",
         "\"problem_type\" is \"ranking\": with 3 labels heed has \"single_label_classification\" or "
         "\"multi_label_classification\""},
        {pad, "\"problem_type\": \"regression\"", "\"problem_type\" is \"regression\""},
    };
    char config[1024];
    snprintf(config, sizeof config, "%s%s", labels_config, bert_config + 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_bert_labels, config}, bad[i].from, bad[i].to, bad[i].why);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_bert, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bert_gives_the_rows_and_logits_of_transformers),
        cmocka_unit_test(labels_of_bert_are_those_of_transformers),
        cmocka_unit_test(bert_may_be_padded),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(of_bert_too),
        cmocka_unit_test(labels_that_are_none_are_refused),
        cmocka_unit_test(what_was_trained_here_comes_back),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
