/* heed.h on a device: it translates what the cpu would, near enough for bf16; the same lines give the same
   bits in any context, also in two at once that share one model. HEED_PAIR_DEVICE=cpu tries out the test
   itself. */
#include <pthread.h>

#include "api/subject.h"
#include "device.h"

enum { THREADS = 2, ROUNDS = 6 };

/* A log-probability of a token in bf16: logits around 1 rounded by 2^-9, through two layers. */
#define TOLERANCE 0.1

static const char *const lines[] = {
    "i ate an apple .",
    "are you tired ?",
    "the dog barks ; we are tired .",
    "you ate it , too .",
    "too tired",
    "",
    "you",
    "we are tired . the dog ate an apple , too ; you are an apple . are we tired ?",
    "the dog",
    "i ate it ; i ate it ; i ate it ."};
enum { LINES = COUNT_OF(lines) };

static heed_model *model; /* on the device */

static heed_status open_on(heed_model **out, const char *folder, const char *device, heed_error *error)
{
    heed_model_options o;
    heed_model_options_init(&o, sizeof o);
    o.device = device;
    return heed_model_open(out, folder, &o, error);
}

static int open_both(void **state)
{
    heed_error error;
    if (open_subject(state)) return -1;
    const subject *s = *state;
    if (!open_on(&model, s->folder, device_is_cpu() ? "cpu" : device_name(), &error)) return 0;
    fprintf(stderr, "%s\n", error.text);
    return -1;
}

static int close_both(void **state)
{
    heed_model_free(model);
    return close_subject(state);
}

static heed_translate_options kind_of_options(int kind)
{
    heed_translate_options o = options_of();
    if (kind == 1) o.beam = 1;
    if (kind == 2) o.beam = o.n_best = 4, o.batch = 7; /* so few side by side that there are many searches */
    if (kind == 3) o.search = HEED_SEARCH_SAMPLE, o.n_best = 3;
    return o;
}
enum { KINDS = 4 };

/* What the cpu says is handed to the device to be scored. */
static void a_device_thinks_of_translations_as_the_cpu_does(void **state)
{
    subject *s = *state;
    heed_context *c = context_of(model, 1);
    heed_translate_options whole = options_of(); /* a line with a prefix is not split */
    whole.sentences = HEED_SENTENCES_KEEP;
    heed_results *cpu = translate(s->context, lines, LINES, &whole);
    const char *said[LINES];
    size_t same = 0;
    double worst = 0;
    heed_translate_options force = options_of();
    for (size_t i = 0; i < LINES; i++) said[i] = cpu->translation[i]->text;
    force.prefix = said, force.force = true;
    heed_results *scored = translate(s->context, lines, LINES, &force),
                 *there = translate(c, lines, LINES, &force), *own = translate(c, lines, LINES, &whole);
    for (size_t i = 0; i < LINES; i++) {
        const heed_translation *a = scored->translation[i], *b = there->translation[i];
        assert_int_equal(b->status, HEED_OK);
        assert_int_equal(a->count, b->count);
        same += !strcmp(own->translation[i]->text, said[i]);
        for (size_t k = 0; k < a->count; k++) {
            assert_int_equal(a->hypothesis[k]->length, b->hypothesis[k]->length);
            for (size_t t = 0; t < a->hypothesis[k]->length; t++) {
                double x = (double)a->hypothesis[k]->token_log_probability[t],
                       y = (double)b->hypothesis[k]->token_log_probability[t];
                if (!(fabs(x - y) <= TOLERANCE))
                    fail_msg("line %zu token %zu: %.4f, expected %.4f", i, t, y, x);
                worst = fmax(worst, fabs(x - y));
            }
        }
    }
    print_message("%zu of %d translations are the cpu's; log-probabilities off by %.1e\n", same, (int)LINES,
                  worst);
    assert_true(same >= LINES / 4);
    heed_results_free(cpu), heed_results_free(scored), heed_results_free(there), heed_results_free(own);
    heed_context_free(c);
}

static void a_context_gives_the_same_bits_again_and_again(void **state)
{
    (void)state;
    heed_context *c = context_of(model, 1);
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            heed_translate_options o = kind_of_options(kind);
            heed_context *fresh = context_of(model, 1);
            heed_results *a = translate(fresh, lines, LINES, &o), *b = translate(c, lines, LINES, &o);
            assert_same(a, b);
            heed_results_free(a), heed_results_free(b);
            heed_context_free(fresh);
        }
    heed_context_free(c);
}

/* -- threads -- */

typedef struct job {
    heed_results *results[ROUNDS][KINDS];
    bool failed;
    heed_error error;
} job;

/* Without checks of cmocka's, which belong to the main thread. */
static void *work(void *arg)
{
    job *j = arg;
    heed_context *c = NULL;
    heed_context_options o;
    heed_context_options_init(&o, sizeof o);
    o.threads = 1;
    j->failed = heed_context_new(&c, model, &o, &j->error);
    for (int i = 0; i < ROUNDS; i++)
        for (int kind = 0; !j->failed && kind < KINDS; kind++) {
            heed_translate_options t = kind_of_options(kind);
            j->failed = heed_translate(c, lines, LINES, &t, &j->results[i][kind], &j->error);
        }
    heed_context_free(c);
    return NULL;
}

static void two_contexts_in_two_threads_share_a_model(void **state)
{
    (void)state;
    static job alone, j[THREADS];
    pthread_t thread[THREADS];
    work(&alone);
    if (alone.failed) fail_msg("%s", alone.error.text);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, &j[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (j[i].failed) fail_msg("thread %d: %s", i, j[i].error.text);
    for (int n = 0; n < ROUNDS; n++)
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < THREADS; i++) {
                assert_same(alone.results[0][k], j[i].results[n][k]);
                heed_results_free(j[i].results[n][k]);
            }
            if (n) heed_results_free(alone.results[n][k]);
        }
    for (int k = 0; k < KINDS; k++) heed_results_free(alone.results[0][k]);
}

/* -- attention -- */

static heed_status rows_sum_to_one(void *user, const heed_attention *a)
{
    double *worst = user;
    for (size_t i = 0; i < a->layers * a->heads * a->rows; i++) {
        double sum = 0;
        for (size_t k = 0; k < a->cols; k++) sum += (double)a->weight[i * a->cols + k];
        if (!(fabs(sum - 1) <= *worst)) *worst = fabs(sum - 1);
    }
    return HEED_OK;
}

static void attention_is_handed_out(void **state)
{
    (void)state;
    heed_context *c = context_of(model, 1);
    heed_translate_options o = options_of();
    double worst = -1;
    o.attention = rows_sum_to_one, o.attention_user = &worst;
    heed_results *r = translate(c, lines, LINES, &o);
    print_message("rows of attention off 1 by %.1e\n", worst);
    assert_true(worst >= 0 && worst <= 0.02); /* bf16 weights, each rounded by 2^-9 */
    heed_results_free(r);
    heed_context_free(c);
}

static void a_device_that_is_not_there_is_missing(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_model *m = NULL;
    assert_int_equal(open_on(&m, s->folder, "abacus", &error), HEED_EMISSING);
    assert_non_null(strstr(error.text, "abacus"));
    assert_null(m);
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_thinks_of_translations_as_the_cpu_does),
        cmocka_unit_test(a_context_gives_the_same_bits_again_and_again),
        cmocka_unit_test(two_contexts_in_two_threads_share_a_model),
        cmocka_unit_test(attention_is_handed_out),
        cmocka_unit_test(a_device_that_is_not_there_is_missing),
    };
    return finish(cmocka_run_group_tests(tests, open_both, close_both));
}
