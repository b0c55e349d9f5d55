/* What is said of any number of labels: figures by hand, and what is sent of them. */
#include "check.h"
#include "scratch.h"

#include "task/label/labeler.h"

enum { ITEMS = 3, CLASSES = 2, FIGURES = 4 };

/* The first item has the first label, the second both, the third none. */
static int32_t label[] = {0, 0, 1};
static size_t first[] = {0, 1, 3, 3}, begin[] = {0, 1, 2, 3}, second[] = {1, 1, 1};
static int32_t id[] = {5, 6, 7}, row[] = {0, 0, 0};
static double value[] = {0, 0, 0};
static const hd_examples x = {.count = ITEMS,
                              .rows = 3,
                              .labels = 3,
                              .id = id,
                              .begin = begin,
                              .second = second,
                              .label = label,
                              .value = value,
                              .row = row,
                              .first = first};

static void check(const hd_real logit[ITEMS][CLASSES], const double wanted[FIGURES])
{
    static const char *const names[FIGURES] = {"micro_f1", "macro_f1", "exact_match", "average_precision"};
    hd_err err = {0};
    const hd_label_kind *kind = hd_label_kind_of(HD_TRAIN_MULTILABEL);
    double guess[ITEMS * CLASSES] = {0}, loss = 0;
    hd_judging j = {.x = &x, .classes = CLASSES, .answers = ITEMS, .guess = guess};
    hd_judged found = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        kind->hear(&j, i, logit[i]);
        for (size_t k = 0; k < CLASSES; k++) {
            bool truth = i == 1 || (i == 0 && k == 0);
            loss += log(1 + exp(truth ? -(double)logit[i][k] : (double)logit[i][k])) / CLASSES;
        }
    }
    assert_true(fabs(j.loss - loss) < 1e-6); /* logits are f32 */
    if (kind->judge(&found, &j, &err)) fail_msg("%s", err.text);
    for (int k = 0; k < FIGURES; k++) {
        assert_string_equal(found.figure[k].name, names[k]);
        if (fabs(found.figure[k].value - wanted[k]) > 1e-12)
            fail_msg("%s is %.9g, not %.9g", names[k], found.figure[k].value, wanted[k]);
    }
}

static void figures_are_those_by_hand(void **state)
{
    (void)state;
    /* the first label of all three items is guessed, the second of none */
    check((const hd_real[ITEMS][CLASSES]){{2, -1}, {1, -2}, {3, -3}},
          (const double[]){4.0 / 6, 0.4, 1.0 / 3, ((1.0 / 2 + 2.0 / 3) / 2 + 1.0 / 2) / 2});
    /* all is right */
    check((const hd_real[ITEMS][CLASSES]){{2, -1}, {1, 2}, {-3, -3}}, (const double[]){1, 1, 1, 1});
    /* one probability for all: they have one place, whatever their order */
    check((const hd_real[ITEMS][CLASSES]){{-1, -1}, {-1, -1}, {-1, -1}},
          (const double[]){0, 0, 1.0 / 3, (2.0 / 3 + 1.0 / 3) / 2});
}

static void a_loss_far_from_the_truth_is_finite(void **state)
{
    (void)state;
    const hd_label_kind *kind = hd_label_kind_of(HD_TRAIN_MULTILABEL);
    double guess[ITEMS * CLASSES] = {0};
    hd_judging j = {.x = &x, .classes = CLASSES, .answers = ITEMS, .guess = guess};
    kind->hear(&j, 0, (const hd_real[]){-1000, 1000});
    assert_true(fabs(j.loss - 1000) < 1e-6);
    assert_true(guess[0] <= 0 && guess[1] >= 1);
}

static void every_label_is_sent(void **state)
{
    (void)state;
    static const uint32_t which[] = {2, 1, 0};
    static const hd_real truth[] = {0, 0, 1, 1, 1, 0};
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_run r = {0};
    hd_classifier m = {.opt = {.body = {.type = &hd_model_bert}, .classes = CLASSES}};
    const hd_model_folder f = {.task = &hd_task_folders[HD_TRAIN_MULTILABEL], .model.self = &m};
    hd_class_batch batch;
    if (hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = 1}, &err) || hd_run_init(&r, b, &err))
        fail_msg("%s", err.text);
    hd_run_begin(&r, HD_TRAIN);
    hd_labeler_send(&r, &batch, &f, &x, which, ITEMS, &(hd_train_options){.label_smoothing = 0.2});
    assert_int_equal(r.err.status, 0);
    for (size_t i = 0; i < COUNT_OF(truth); i++) {
        double wanted = truth[i] > 0 ? 0.9 : 0.1;
        assert_true(fabs((double)((const hd_real *)batch.value->data)[i] - wanted) < 1e-7);
    }
    hd_labeler_send(&r, &batch, &f, &x, which, ITEMS, NULL);
    assert_int_equal(r.err.status, 0);
    assert_memory_equal(batch.value->data, truth, sizeof truth);
    for (size_t i = 0; i < ITEMS; i++)
        assert_true(fabs((double)((const hd_real *)batch.weight->data)[i] - 0.5) < 1e-7);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Reads a table, keeps it and judges. */
static hd_status everything(hd_err *err)
{
    const hd_label_kind *kind = hd_label_kind_of(HD_TRAIN_MULTILABEL);
    double guess[ITEMS * CLASSES] = {0};
    const hd_judging j = {.x = &x, .classes = CLASSES, .answers = ITEMS, .guess = guess};
    hd_judged found = {0};
    hd_labeled items = {0};
    hd_vocab labels = {0};
    hd_text kept = {0};
    hd_status s = hd_label_kind_read(kind, &items, &labels, at("sets.tsv"), err);
    for (size_t i = 0; !s && i < items.count; i++)
        kind->put_labels(&kept, &items, i, &labels), hd_text_put(&kept, ";");
    if (!s) s = hd_text_status(&kept, err);
    if (!s) assert_string_equal(kept.data, "a,b;;b,c;a,b;");
    if (!s) s = kind->judge(&found, &j, err);
    hd_text_release(&kept);
    hd_labeled_release(&items);
    hd_vocab_release(&labels);
    return s;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_status s = HD_ENOMEM;
    long n = 0;
    put_file(at("sets.tsv"), "text\tlabel\nx\tb, a\ny\t\nz\tb,c\nw\t a,b \n");
    while (s && n++ < 400) {
        size_t blocks = hd_mem_now().blocks;
        hd_err err = {0};
        hd_mem_fail_at((uint64_t)n);
        s = everything(&err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 10, 399);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_by_hand),
        cmocka_unit_test(a_loss_far_from_the_truth_is_finite),
        cmocka_unit_test(every_label_is_sent),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
