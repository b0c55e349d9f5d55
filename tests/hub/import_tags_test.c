/* Folders of BERT and RoBERTa for token classification become taggers that give the labels of transformers,
   and become the same folders again. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "task/label/labeler.h"

static void check_tags(const char *folder, int which)
{
    hd_err err = {0};
    hd_model_folder *f = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(PUBLISHED "tags.txt", "r")};
    assert_non_null(e.file);
    if (folder_open(&f, at("%s", folder), "tag", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    const hd_classifier *m = hd_model_folder_classifier(f);
    assert_int_equal(m->opt.pool, HD_POOL_each);
    assert_false(m->opt.bare);
    assert_true(f->start && f->end);
    int32_t id[32], type[32] = {0}, count = next_ids(&e, id);
    for (int i = 0; i < which; i++) {
        for (int32_t k = 0; k < count; k++) next(&e);
        count = next_ids(&e, id);
    }
    hd_run_begin(&r, HD_INFERENCE);
    const hd_class_batch batch = {.in.seg = hd_seg_of(&r, &count, 1, NULL),
                                  .in.ids = hd_ints(&r, id, (size_t)count),
                                  .in.type = hd_ints(&r, type, (size_t)count)};
    hd_real *logp = host_copy(&r, hd_classifier_logp(&r, m, &batch));
    check_logits(&e, logp, (size_t)count, 3, 1);
    free(logp);
    fclose(e.file);
    folder_free(f);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void tags_are_those_of_transformers(void **state)
{
    (void)state;
    size_t size;
    put_bert_tags("bert");
    put_roberta_tags("roberta");
    pass_well(hd_import, "bert", "bert.heed");
    pass_well(hd_import, "roberta", "roberta.heed");
    check_tags("bert.heed", 0);
    check_tags("roberta.heed", 1);
    char *names = get_file(at("bert.heed/labels.txt"), &size);
    assert_string_equal(names, "O\nB-PER\nI-PER\n");
    free(names);
    put_bert_with("left", BERT_PREFIX | BERT_TAGS | BERT_POOLER); /* which nothing reads */
    copy(at("bert/config.json"), at("left/config.json"));
    pass_well(hd_import, "left", "left.heed");
    check_tags("left.heed", 0);
}

/* The words of a line are cut as the text is: all but the first have a space before them. */
static void words_are_read_as_parts_of_a_text(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder *f = NULL;
    hd_backend *b = backend_of("cpu", 1);
    put_roberta_tags("words");
    pass_well(hd_import, "words", "words.heed");
    if (folder_open(&f, at("words.heed"), "tag", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    static const char text[] = "the cat sat on the mat";
    const hd_examples_opt o = hd_labeler_examples(&hd_model_folder_classifier(f)->opt);
    hd_labeled items = {0};
    hd_examples x = {0};
    hd_ids line = {0}, whole = {0};
    hd_special special = hd_tokenizer_special(f->tokenizer[0]);
    if (hd_labeler_take(&items, f, (hd_line){text, sizeof text - 1}, &err) ||
        hd_examples_make(&x, &items, f->tokenizer[0], &o, &err) ||
        hd_model_folder_encode(f, (hd_line){text, sizeof text - 1}, &line, &err) ||
        hd_tokenizer_encode_ids(f->tokenizer[0], text, sizeof text - 1, &whole, &err))
        fail_msg("%s", err.text);
    assert_int_equal(x.labels, 6);
    assert_int_equal(x.rows, whole.count + 2);
    assert_int_equal(x.id[0], special.start);
    assert_int_equal(x.id[x.rows - 1], special.end);
    assert_memory_equal(x.id + 1, whole.at, whole.count * sizeof *whole.at);
    assert_int_equal(line.count, x.rows);
    assert_memory_equal(line.at, x.id, x.rows * sizeof *x.id);
    hd_ids_release(&line), hd_ids_release(&whole);
    hd_examples_release(&x);
    hd_labeled_release(&items);
    folder_free(f);
    hd_backend_free(b);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const bert[] = {"vocab.txt", NULL}, *const roberta[] = {"tokenizer.json", NULL};
    check_round(put_bert_tags, bert);
    check_round(put_roberta_tags, roberta);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_roberta_tags, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_those_of_transformers),
        cmocka_unit_test(words_are_read_as_parts_of_a_text),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
