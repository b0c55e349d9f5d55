/* One model, many threads: the same bits as one thread, and no order of freeing matters. */
#include <pthread.h>

#include "api/subject.h"

enum { THREADS = 3, ROUNDS = 4 };

static const char *const lines[] = {"i ate an apple .", "are you tired ?", "the dog barks ; we are tired .",
                                    "you ate it , too .", "too tired"};
enum { LINES = COUNT_OF(lines) };

typedef struct job {
    heed_model *model;
    int threads;
    heed_translate_options options;
    heed_results *results[ROUNDS];
    bool failed;
    float weights; /* sum of what the attention function was given */
} job;

static heed_status add_up(void *user, const heed_attention *a)
{
    float *sum = user;
    for (size_t i = 0; i < a->layers * a->heads * a->rows * a->cols; i++) *sum += a->weight[i];
    return HEED_OK;
}

/* Without checks of cmocka's, which belong to the main thread. */
static void *work(void *arg)
{
    job *j = arg;
    heed_context *c = NULL;
    heed_context_options o;
    heed_context_options_init(&o, sizeof o);
    o.threads = j->threads;
    j->options.attention = add_up, j->options.attention_user = &j->weights;
    j->failed = heed_context_new(&c, j->model, &o, NULL);
    for (int i = 0; !j->failed && i < ROUNDS; i++)
        j->failed = heed_translate(c, lines, LINES, &j->options, &j->results[i], NULL);
    heed_context_free(c);
    return NULL;
}

static void threads_give_the_bits_of_one(void **state)
{
    subject *s = *state;
    heed_translate_options o[2] = {options_of(), options_of()};
    o[0].n_best = 4;
    o[1].search = HEED_SEARCH_SAMPLE, o[1].n_best = 3;
    for (int k = 0; k < 2; k++) {
        pthread_t thread[THREADS];
        job j[THREADS], alone = {.model = s->model, .threads = 1, .options = o[k]};
        work(&alone);
        for (int i = 0; i < THREADS; i++) {
            j[i] = (job){.model = s->model, .threads = 1 + i % 2, .options = o[k]};
            assert_int_equal(pthread_create(&thread[i], NULL, work, &j[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < THREADS; i++) {
            assert_false(j[i].failed);
            assert_true(j[i].weights == alone.weights && alone.weights > 0);
            for (int n = 0; n < ROUNDS; n++) {
                assert_same(j[i].results[n], alone.results[0]);
                heed_results_free(j[i].results[n]);
            }
        }
        for (int n = 0; n < ROUNDS; n++) heed_results_free(alone.results[n]);
    }
}

static void *open_and_use(void *arg)
{
    job *j = arg;
    const subject *s = (const void *)j->model; /* only the folder is of use here */
    j->model = NULL;
    j->failed = heed_model_open(&j->model, s->folder, NULL, NULL);
    if (!j->failed) work(j);
    heed_model_free(j->model);
    return NULL;
}

static void models_open_in_threads(void **state)
{
    subject *s = *state;
    pthread_t thread[2];
    job j[2];
    for (int i = 0; i < 2; i++) {
        j[i] = (job){.model = (void *)s, .threads = 1, .options = options_of()};
        assert_int_equal(pthread_create(&thread[i], NULL, open_and_use, &j[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) assert_false(j[i].failed);
    for (int n = 0; n < ROUNDS; n++) {
        assert_same(j[0].results[n], j[1].results[n]);
        heed_results_free(j[0].results[n]);
        heed_results_free(j[1].results[n]);
    }
}

static void a_model_lives_as_long_as_its_contexts_and_results(void **state)
{
    const subject *s = *state;
    heed_model *m = NULL;
    size_t before = hd_mem_now().blocks;
    assert_int_equal(heed_model_open(&m, s->folder, NULL, NULL), HEED_OK);
    heed_context *c = context_of(m, 2);
    heed_model_free(m);
    heed_results *r = translate(c, lines, LINES, NULL), *same = translate(s->context, lines, LINES, NULL);
    heed_context_free(c);
    assert_same(r, same);
    assert_string_equal(r->translation[0]->source_token[1], "ate");
    heed_results_free(r);
    heed_results_free(same);
    assert_true(hd_mem_now().blocks <= before + 4); /* the other context's arenas may have grown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_give_the_bits_of_one),
        cmocka_unit_test(models_open_in_threads),
        cmocka_unit_test(a_model_lives_as_long_as_its_contexts_and_results),
    };
    return finish(cmocka_run_group_tests(tests, open_subject, close_subject));
}
