/* The lecture's name classifier and its loop: letters through a simple recurrent network, a linear layer on
   the last state; names of all lengths in shuffled batches, losses summed, gradients clipped at 3, SGD. */
#include "check.h"
#include "model/encoder/classifier.h"
#include "train/optimizer.h"

enum { LETTERS = 26, LANGUAGES = 4, NAMES = 400, BATCH = 8, LONGEST = 11, EPOCHS = 30 };

typedef struct name {
    int32_t letter[LONGEST], length, language;
} name;

static void append(name *n, const char *text)
{
    for (; *text; text++) n->letter[n->length++] = *text - 'a';
}

/* A beginning and an ending with 2 to 6 letters between, drawn; either alone leaves two languages. */
static void draw_names(name *names, size_t count, uint64_t seed)
{
    static const char *const beginnings[] = {"mac", "van"}, *const endings[] = {"ov", "ez"};
    hd_rng rng = hd_rng_make(seed, 4);
    for (size_t k = 0; k < count; k++) {
        name *n = &names[k];
        *n = (name){.language = (int32_t)(k % LANGUAGES)};
        append(n, beginnings[n->language / 2]);
        for (int32_t rest = 2 + (int32_t)hd_rng_below(&rng, 5); rest; rest--)
            n->letter[n->length++] = (int32_t)hd_rng_below(&rng, LETTERS);
        append(n, endings[n->language % 2]);
    }
}

typedef struct net {
    hd_backend *backend;
    hd_run run;
    hd_classifier *m;
    hd_optimizer optimizer;
} net;

/* Lives where it was opened. */
static void net_open(net *n)
{
    hd_err err = {0};
    hd_stages s;
    *n = (net){.backend = backend_of("cpu", 1)};
    n->run = run_on(n->backend);
    if (hd_stages_read(&s, "rnn", &err)) fail_msg("%s", err.text);
    const hd_classifier_opt o = {.body = {.stack.pre_norm = true,
                                          .encoder = hd_stages_resolved(&s, 1),
                                          .vocab = LETTERS,
                                          .positions = LONGEST,
                                          .stack.width = 16,
                                          .stack.inner = 1,
                                          .stack.heads = 1},
                                 .pool = HD_POOL_last,
                                 .classes = LANGUAGES};
    const hd_optimizer_opt sgd = {.kind = HD_OPT_SGD, .clip = 3};
    if (hd_classifier_new(&n->m, n->backend, &o, true, &err) || hd_params_draw(n->m->params, 1, &err) ||
        hd_optimizer_init(&n->optimizer, n->m->params, &sgd, &err))
        fail_msg("%s", err.text);
}

static void net_close(net *n)
{
    hd_optimizer_release(&n->optimizer);
    hd_classifier_free(n->m);
    hd_run_release(&n->run);
    hd_backend_free(n->backend);
}

static hd_class_batch batch_of(net *n, const name *names, size_t count)
{
    int32_t ids[NAMES * LONGEST], len[NAMES], target[NAMES];
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        len[i] = names[i].length, target[i] = names[i].language;
        for (int32_t j = 0; j < len[i]; j++) ids[rows++] = names[i].letter[j];
    }
    return (hd_class_batch){.in.seg = hd_seg_of(&n->run, len, count, NULL),
                            .in.ids = hd_ints(&n->run, ids, rows),
                            .target = hd_ints(&n->run, target, count)};
}

/* Adds to the gradients; the sum of the losses. */
static double back(net *n, const name *names, size_t count)
{
    hd_run_begin(&n->run, HD_TRAIN);
    const hd_class_batch b = batch_of(n, names, count);
    double loss = hd_loss_total(&n->run, hd_classifier_loss(&n->run, n->m, &b, &(hd_loss_opt){.coef = 1}));
    hd_backward(&n->run);
    assert_run_ok(&n->run);
    return loss;
}

static void a_batch_is_its_names_one_by_one(void **state)
{
    (void)state;
    static name names[BATCH];
    net n;
    double one_by_one = 0;
    draw_names(names, BATCH, 1);
    net_open(&n);
    hd_params *p = n.m->params;
    size_t bytes = p->trainable * sizeof *p->grad;
    for (size_t i = 0; i < BATCH; i++) one_by_one += back(&n, &names[i], 1);
    hd_real *sum = malloc(bytes);
    memcpy(sum, p->grad, bytes);
    memset(p->grad, 0, bytes);
    assert_true(fabs(back(&n, names, BATCH) - one_by_one) < 1e-5 * one_by_one);
    for (size_t i = 0; i < p->trainable; i++) /* float32 sums of some dozen numbers around 1 */
        assert_true(fabs((double)(p->grad[i] - sum[i])) < 1e-5);
    free(sum);
    net_close(&n);
}

/* One epoch of the lecture's loop; the mean loss of a name. */
static double epoch(net *n, name *names, hd_rng *rng)
{
    double loss = 0;
    for (size_t i = NAMES - 1; i; i--) {
        size_t j = hd_rng_below(rng, (uint32_t)i + 1);
        name kept = names[i];
        names[i] = names[j], names[j] = kept;
    }
    for (size_t i = 0; i < NAMES; i += BATCH) {
        loss += back(n, names + i, BATCH);
        assert_int_equal(hd_optimizer_step(&n->run, &n->optimizer, 0.15, BATCH, NULL, NULL), HD_OK);
    }
    return loss / NAMES;
}

static double accuracy(net *n, const name *names)
{
    size_t right = 0;
    hd_run_begin(&n->run, HD_INFERENCE);
    const hd_class_batch b = batch_of(n, names, NAMES);
    hd_real *logp = host_copy(&n->run, hd_classifier_logp(&n->run, n->m, &b));
    for (size_t i = 0; i < NAMES; i++) {
        int32_t best = 0;
        for (int32_t c = 1; c < LANGUAGES; c++)
            if (logp[i * LANGUAGES + (size_t)c] > logp[i * LANGUAGES + (size_t)best]) best = c;
        right += best == names[i].language;
    }
    free(logp);
    return (double)right / NAMES;
}

static void names_are_learned(void **state)
{
    (void)state;
    static name names[NAMES], unseen[NAMES];
    hd_rng rng = hd_rng_make(3, 4);
    double first = 0, last = 0;
    net n;
    draw_names(names, NAMES, 1), draw_names(unseen, NAMES, 2);
    net_open(&n);
    assert_true(accuracy(&n, unseen) < 0.6);
    for (int k = 0; k < EPOCHS; k++) {
        last = epoch(&n, names, &rng);
        if (!k) first = last;
        if (k % 5 == 4) print_message("epoch %d: mean loss %.4f\n", k + 1, last);
    }
    double share = accuracy(&n, unseen);
    print_message("of names never seen, %.3f are told apart\n", share);
    assert_true(last < 0.2 * first && share > 0.95);
    net_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_batch_is_its_names_one_by_one),
                                       cmocka_unit_test(names_are_learned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
