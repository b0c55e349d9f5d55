/* The lecture's character classifier in the program's own loop: one-hot letters, a simple recurrent network,
   the losses of a batch summed, their gradient clipped at 3, plain SGD. */
#include "check.h"
#include "scratch.h"

#include "base/file/folder.h"
#include "task/owned.h"
#include "task/session.h"

enum { FEW = 24, MANY = 400 };

static const double rate = 0.02;
static hd_backend *backend;
static hd_run run;

/* A beginning and an ending with 2 to 6 letters between, drawn; either alone leaves two languages. */
static void put_names(const char *path, int count, uint64_t seed)
{
    static const char *const beginnings[] = {"mac", "van"}, *const endings[] = {"ov", "ez"};
    hd_rng rng = hd_rng_make(seed, 4);
    FILE *f = fopen(path, "w");
    fputs("label\ttext\n", f);
    for (int k = 0; k < count; k++) {
        int language = count == FEW && k % 3 ? 0 : k % 4; /* few are of uneven classes: a large gradient */
        fprintf(f, "language%d\t%s", language, beginnings[language / 2]);
        for (int rest = 2 + (int)hd_rng_below(&rng, 5); rest; rest--)
            fputc('a' + (int)hd_rng_below(&rng, 26), f);
        fprintf(f, "%s\n", endings[language % 2]);
    }
    fclose(f);
}

static int prepare(void **state)
{
    if (scratch_make(state)) return -1;
    backend = backend_of("cpu", 1);
    run = run_on(backend);
    put_names(at("few.tsv"), FEW, 1), put_names(at("many.tsv"), MANY, 2);
    return 0;
}

static int finish(void **state)
{
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state) || hd_mem_now().blocks;
}

static const hd_session_hooks alone = {.threads = 1};

static hd_train_options loop_of(const char *table, const char *out, double lr, bool sum)
{
    hd_train_options o = plain_options(HD_TRAIN_CLASSIFY, out);
    o.train = one_text(table);
    o.unit = HD_TRAIN_CHAR, o.vocab_size = HD_TRAIN_ALL_PIECES;
    o.encoder = "rnn", o.layers = 1, o.max_length = 32, o.width = 16, o.one_hot = true;
    o.pool = 1 + HD_POOL_last;
    o.optimizer = HD_OPT_SGD, o.clip = 3, o.sum_loss = sum, o.lr = lr;
    o.batch_size = FEW, o.seed = 3, o.steps = 1, o.report_every = 1;
    return o;
}

static hd_model_folder *trained(const hd_train_options *o, const hd_session_hooks *hooks, hd_outcome *r)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    if (hd_folder_make(o->out, NULL, &err) || hd_session_train(r, hd_tasks[o->task], o, hooks, &err) ||
        folder_open(&l, o->out, "classify", backend, HD_WEIGHTS_BEST, &err))
        fail_msg("%s", err.text);
    return l;
}

/* The gradient of the sum of the losses: name after name, each as long as it is. */
static hd_classifier *sum_of_gradients(const hd_model_folder *begun)
{
    hd_err err = {0};
    hd_classifier *m = NULL;
    hd_labeled items = {0};
    hd_vocab labels = {0};
    hd_examples x = {0};
    hd_examples_opt e = hd_labeler_examples(&hd_model_folder_classifier(begun)->opt);
    if (hd_classifier_new(&m, backend, &hd_model_folder_classifier(begun)->opt, true, &err) ||
        hd_labeled_table(&items, &labels, at("few.tsv"), hd_labeled_name, &err) ||
        hd_examples_make(&x, &items, begun->tokenizer[0], &e, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < m->params->count; i++) {
        hd_param *to = m->params->list[i];
        if (to->name)
            hd_params_set(m->params, to,
                          hd_params_find(hd_model_folder_classifier(begun)->params, to->name)->t.data);
    }
    assert_int_equal(x.count, FEW);
    for (uint32_t i = 0; i < FEW; i++) {
        hd_class_batch b;
        hd_run_begin(&run, HD_TRAIN);
        hd_labeler_send(&run, &b, begun, &x, &i, 1, NULL);
        hd_classifier_loss(&run, m, &b, &(hd_loss_opt){.coef = 1});
        hd_backward(&run);
        assert_run_ok(&run);
    }
    hd_examples_release(&x), hd_labeled_release(&items), hd_vocab_release(&labels);
    return m;
}

/* A batch of all names, one update: w - rate * g * 3 / |g|, with g of the sum; without --sum-loss that of the
   mean, which is too small to be clipped. */
static void an_update_follows_the_clipped_gradient_of_the_sum(void **state)
{
    (void)state;
    hd_outcome r;
    const hd_train_options none = loop_of(at("few.tsv"), at("none"), 0, true);
    hd_model_folder *begun = trained(&none, &alone, &r);
    hd_classifier *m = sum_of_gradients(begun);
    double squares = 0;
    for (size_t i = 0; i < m->params->trainable; i++) squares += pow((double)m->params->grad[i], 2);
    assert_true(sqrt(squares) > 2 * 3 && sqrt(squares) / FEW < 3);
    for (int sum = 0; sum < 2; sum++) {
        const hd_train_options one = loop_of(at("few.tsv"), at("one%d", sum), rate, sum);
        hd_model_folder *l = trained(&one, &alone, &r);
        double factor = sum ? rate * 3 / sqrt(squares) : rate / FEW;
        for (size_t i = 0; i < m->params->count; i++) {
            const hd_param *p = m->params->list[i];
            if (!p->name) continue;
            const hd_real *now = hd_params_find(hd_model_folder_classifier(l)->params, p->name)->t.data,
                          *was = p->t.data, *g = p->grad.data;
            for (size_t k = 0; k < hd_count_of(&p->t); k++) /* float32 sums of some dozen numbers around 1 */
                if (!(fabs((double)now[k] - ((double)was[k] - factor * (double)g[k])) < 1e-6))
                    fail_msg("%s, number %zu: %g, expected %g", p->name, k, (double)now[k],
                             (double)was[k] - factor * (double)g[k]);
        }
        folder_free(l);
    }
    hd_classifier_free(m);
    folder_free(begun);
}

typedef struct reports {
    double first, last;
} reports;

static void note(void *context, const hd_news *n)
{
    reports *r = context;
    if (n->kind != HD_NEWS_REPORT) return;
    if (r->first <= 0) r->first = n->loss;
    r->last = n->loss;
}

/* Shuffled epochs in batches of 8; the mean loss of a name is told every 50 updates and falls. */
static void names_are_learned(void **state)
{
    (void)state;
    hd_outcome r;
    reports told = {0};
    hd_train_options o = loop_of(at("many.tsv"), at("learned"), rate, true);
    o.valid_fraction = 0.25, o.batch_size = 8;
    o.steps = 0, o.epochs = 30, o.report_every = 50;
    hd_session_hooks hooks = {.threads = 1, .tell = note, .context = &told};
    hd_model_folder *l = trained(&o, &hooks, &r);
    double accuracy = r.figure[0].value;
    print_message("mean loss %.3f at first, %.3f in the end; %.3f of %zu names never seen are told apart\n",
                  told.first, told.last, accuracy, r.judged);
    assert_true(told.first > 0.5 && told.first < 1.6); /* a name's, not a batch's: log 4 is 1.39 */
    assert_true(told.last < 0.2 * told.first && accuracy > 0.95 && r.judged >= 90);
    /* letters as they stand in the vocabulary are what enters, and nothing is learned of them */
    assert_null(hd_params_find(hd_model_folder_classifier(l)->params, "model.encoder.embed_tokens.weight"));
    const hd_param *in =
        hd_params_find(hd_model_folder_classifier(l)->params, "model.encoder.rnn.weight_ih_l0");
    assert_int_equal(hd_cols_of(&in->t), hd_tokenizer_size(l->tokenizer[0]));
    folder_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_update_follows_the_clipped_gradient_of_the_sum),
                                       cmocka_unit_test(names_are_learned)};
    return cmocka_run_group_tests(tests, prepare, finish);
}
