/* The folder of a classifier or tagger, hostile ones too; what is asked of it does not depend on what is
   asked beside it; and a label that hangs on both neighbours is learned by an encoder that sees both. */
#include "check.h"
#include "scratch.h"

#include "base/folder.h"
#include "task/label_train.h"
#include "task/language.h"

static hd_backend *backend;
static hd_run run;

static hd_label_train_opt small_opt(hd_label_task task, const char *stages, const char *out)
{
    hd_err err = {0};
    hd_stages s;
    if (hd_stages_read(&s, stages, &err)) fail_msg("%s", err.text);
    return (hd_label_train_opt){
        .task = task,
        .train = task == HD_TAG ? at("tags") : at("table.tsv"),
        .valid_fraction = 0.2,
        .kind = HD_TOKENISER_words,
        .model = {.encoder = hd_stages_resolved(&s, 1),
                  .pool = task == HD_TAG ? HD_POOL_each : HD_POOL_mean,
                  .positions = 32,
                  .width = 16,
                  .inner = 32,
                  .heads = 2,
                  .act = HD_gelu},
        .optimiser = {.kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f},
        .batch = 8,
        .parts = 1,
        .device = "cpu",
        .threads = 1,
        .trainer = {.folder = out,
                    .seed = 3,
                    .schedule = {HD_SCHEDULE_constant, 0.01, 5, 0, 0},
                    .steps = 20,
                    .report_every = 10}};
}

static hd_label_result train(const hd_label_train_opt *o)
{
    hd_err err = {0};
    hd_label_result r;
    if (hd_folder_make(o->trainer.folder, NULL, &err) || hd_label_train(&r, o, &err))
        fail_msg("%s", err.text);
    return r;
}

/* Sentences of x and y whose labels say whether both neighbours are x; there is one on either side of all. */
static void put_tags(const char *path, int sentences)
{
    hd_rng rng = hd_rng_make(5, 5);
    FILE *f = fopen(path, "w");
    for (int s = 0; s < sentences; s++) {
        int n = 4 + (int)hd_rng_below(&rng, 5);
        char word[16];
        for (int i = 0; i < n; i++) word[i] = hd_rng_below(&rng, 2) ? 'x' : 'y';
        for (int i = 0; i < n; i++) {
            char left = i ? word[i - 1] : 'x', right = i + 1 < n ? word[i + 1] : 'x';
            fprintf(f, "%c\t%s\n", word[i], left == 'x' && right == 'x' ? "between" : "other");
        }
        fputc('\n', f);
    }
    fclose(f);
}

static int prepare(void **state)
{
    if (scratch_make(state)) return -1;
    backend = backend_of("cpu", 1);
    run = run_on(backend);
    put_tags(at("tags"), 250);
    FILE *f = fopen(at("table.tsv"), "w");
    fputs("label\ttext\n", f);
    for (int i = 0; i < 60; i++)
        fprintf(f, "%s\t%s thing number %d\n", i % 2 ? "good" : "bad", i % 2 ? "fine" : "foul", i);
    fclose(f);
    return 0;
}

static int finish(void **state)
{
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state) || hd_mem_now().blocks;
}

/* -- learning -- */

static void labels_that_hang_on_both_neighbours_need_both_directions(void **state)
{
    (void)state;
    static const struct {
        const char *stages;
        double least, most;
    } cases[] = {{"none", 0.5, 0.75}, {"gru", 0.65, 0.88}, {"bi-gru", 0.97, 1}, {"bi-lstm", 0.97, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_label_train_opt o = small_opt(HD_TAG, cases[i].stages, at("tagger-%zu", i));
        o.trainer.steps = 350;
        hd_label_result r = train(&o);
        print_message("%-8s %.3f\n", cases[i].stages, r.accuracy);
        if (!(r.accuracy >= cases[i].least && r.accuracy <= cases[i].most))
            fail_msg("%s: accuracy %g", cases[i].stages, r.accuracy);
    }
}

static void every_encoder_learns_a_class(void **state)
{
    (void)state;
    static const char *const stages[] = {"rnn", "gru", "bi-lstm", "transformer", "none"};
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        hd_label_train_opt o = small_opt(HD_CLASSIFY, stages[i], at("class-%zu", i));
        o.trainer.steps = 60;
        hd_label_result r = train(&o);
        if (!(r.accuracy > 0.95 && r.macro_f1 > 0.95)) fail_msg("%s: accuracy %g", stages[i], r.accuracy);
        assert_int_equal(r.judged, 12);
    }
}

/* -- folders -- */

static void assert_refused(const char *folder, const char *from, const char *to, const char *says)
{
    hd_err err = {0};
    hd_labeller *l = NULL;
    char *text = get_file(at("%s/config.json", folder), NULL), changed[4096];
    char *place = strstr(text, from);
    if (!place) fail_msg("there is no %s in %s", from, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
    put_file(at("%s/config.json", folder), changed);
    hd_status s = hd_labeller_open(&l, at("%s", folder), HD_CLASSIFY, backend, &err);
    put_file(at("%s/config.json", folder), text);
    free(text);
    if (!s || !strstr(err.text, says)) fail_msg("%s -> %s: '%s' does not say '%s'", from, to, err.text, says);
}

static void hostile_folders_are_refused(void **state)
{
    (void)state;
    hd_label_train_opt o = small_opt(HD_CLASSIFY, "transformer", at("m"));
    train(&o);
    hd_err err = {0};
    hd_labeller *l = NULL;
    if (hd_labeller_open(&l, at("m"), HD_CLASSIFY, backend, &err)) fail_msg("%s", err.text);
    assert_string_equal(hd_vocab_piece(&l->labels, 0), "bad");
    hd_labeller_free(l);
    assert_int_equal(hd_labeller_open(&l, at("m"), HD_TAG, backend, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "this is a classifier, which `heed classify` reads"));
    assert_refused("m", "\"classify\"", "\"lm\"", "this is a language model, which `heed generate` reads");
    assert_refused("m", "\"classify\"", "\"dance\"", "\"task\" is \"dance\"");
    assert_refused("m", "\"classify\"", "\"tag\"", "\"pool\" is \"mean\"");
    assert_refused("m", "\"format\": 1", "\"format\": 2", "newer heed");
    assert_refused("m", "\"transformer:1\"", "\"transformer\"", "without its layers");
    assert_refused("m", "\"transformer:1\"", "\"elman\"", "\"elman\" is no stage");
    assert_refused("m", "\"transformer:1\"", "\"rnn:999\"", "recurrent layers");
    assert_refused("m", "\"mean\"", "\"median\"", "there is no pool \"median\"");
    assert_refused("m", "\"heads\": 2", "\"heads\": 3", "split over 3 heads");
    assert_refused("m", "\"heads\": 2", "\"heads\": \"2\"", "\"heads\" is not a whole number");
    assert_refused("m", "\"width\": 16", "\"wide\": 16", "\"width\" is missing");
    assert_refused("m", "\"width\": 16", "\"width\": 99999999", "which no model has");
    assert_refused("m", "\"classes\": 2", "\"classes\": 3", "labels.txt has 2");
    assert_refused("m", "\"gelu\"", "\"gulp\"", "there is no activation");
    assert_refused("m", "\"words\"", "\"letters\"", "there is no tokeniser");
    assert_refused("m", "\"dropout\": 0", "\"dropout\": -1", "\"dropout\" is -1");
    put_file(at("m/labels.txt"), "bad\nbad\n");
    assert_refused("m", "\"width\"", "\"width\"", "labels.txt:2");
    put_file(at("m/labels.txt"), "bad\ngood\n");
    assert_int_equal(unlink(at("m/model.safetensors")), 0);
    assert_refused("m", "\"width\"", "\"width\"", "the training saved no model yet");
}

static void a_new_run_leaves_nothing_of_another(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_label_train_opt o = small_opt(HD_CLASSIFY, "gru", at("gone"));
    train(&o);
    assert_true(is_there(at("gone/labels.txt")) && is_there(at("gone/" HD_HELD_OUT)));
    if (hd_language_remove(at("gone"), &err)) fail_msg("%s", err.text);
    assert_int_equal(entries_in(at("gone")), 0);
}

/* -- memory -- */

static hd_status ask_all(hd_err *err)
{
    hd_labeller *l = NULL;
    hd_labelled x = {0};
    hd_examples e = {0};
    hd_judged j = {0};
    hd_run r = {0};
    hd_backend *b = NULL; /* of its own: one keeps what it needed once */
    hd_status s = hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = 1}, err);
    if (!s) s = hd_labeller_open(&l, at("asked"), HD_CLASSIFY, b, err);
    if (!s) s = hd_run_init(&r, b, err);
    if (!s) s = hd_labelled_table(&x, &l->labels, at("table.tsv"), err);
    hd_examples_opt o = s ? (hd_examples_opt){0} : hd_labeller_examples(&l->model->opt);
    if (!s) s = hd_examples_make(&e, &x, l->tokeniser, &o, err);
    if (!s) s = hd_labeller_judge(&j, &r, l, &e, err);
    hd_confusion_release(&j.confusion);
    hd_examples_release(&e);
    hd_labelled_release(&x);
    hd_run_release(&r);
    hd_labeller_free(l);
    hd_backend_free(b);
    return s;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_label_train_opt o = small_opt(HD_CLASSIFY, "bi-rnn", at("asked"));
    o.trainer.steps = 2;
    train(&o);
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        s = ask_all(&err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 30, 2000);
}

static void a_run_that_lacks_memory_says_so_and_leaves_none(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks;
    hd_label_train_opt o = small_opt(HD_CLASSIFY, "gru", at("poor"));
    hd_err made = {0};
    o.trainer.steps = 2;
    hd_folder_make(at("poor"), NULL, &made);
    size_t n = 1;
    for (hd_status s = HD_ENOMEM; s; n += n < 60 ? 1 : 13) { /* every one would take a while */
        hd_err err = {0};
        hd_label_result r;
        hd_mem_fail_at(n);
        s = hd_label_train(&r, &o, &err);
        hd_mem_fail_at(0);
        if (s && !err.status) fail_msg("%zu: nothing is said", n);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 60, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_hang_on_both_neighbours_need_both_directions),
        cmocka_unit_test(every_encoder_learns_a_class),
        cmocka_unit_test(hostile_folders_are_refused),
        cmocka_unit_test(a_new_run_leaves_nothing_of_another),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(a_run_that_lacks_memory_says_so_and_leaves_none),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
