/* Texts of many threads in one engine, each with options of its own: to the byte those of hd_generate,
   whatever else is being written. */
#include "check.h"

#include <pthread.h>

#include "base/system/clock.h"
#include "scratch.h"
#include "serve/engine/models.h"
#include "task/speaker.h"
#include "serve/waiter.h"

enum { THREADS = 4, ROUNDS = 10, CASES = 12, TEXTS = 6 };

static const hd_lm_kind kinds[] = {HD_LM_gpt, HD_LM_lstm, HD_LM_ngram, HD_LM_ffnn};
static char folder[COUNT_OF(kinds)][HD_PATH];

static int begin(void **state)
{
    if (scratch_make(state)) return -1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        snprintf(folder[i], HD_PATH, "%s/%zu", scratch, i);
        speaker_folder(folder[i], kinds[i], HD_TOKENIZER_words);
    }
    return 0;
}

/* -- what is asked, and what a run of it alone gives -- */

typedef struct request {
    hd_line prompt[2];
    size_t prompts;
    hd_generate_opt opt;
    hd_generated alone[TEXTS];
} request;

static const char *const stops[] = {"dog", "\n\n"};
static request requests[CASES];

static void lay_out(const char *path)
{
    static const char *const text[] = {"the cat", "", "a dog sat on the",
                                       "the mat, the log and the cat are here"};
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder f = {0};
    if (hd_model_folder_open(&f, path, "lm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < CASES; i++) {
        request *q = &requests[i];
        *q = (request){.prompts = 1 + i % 2};
        for (size_t j = 0; j < 2; j++) {
            const char *t = text[(i + j) % COUNT_OF(text)];
            q->prompt[j] = (hd_line){t, strlen(t)};
        }
        q->opt = (hd_generate_opt){.tokens = 1 + 5 * i % 23,
                                   .temperature = i % 3 ? 0.5f + (float)i / 6 : 0,
                                   .top_k = i % 4 == 1 ? 3 : 0,
                                   .top_p = i % 4 == 2 ? 0.8f : 0,
                                   .repetition = i % 5 == 3 ? 1.5f : 0,
                                   .seed = i,
                                   .samples = 1 + i % 3,
                                   .scores = i % 2,
                                   .likeliest = i % 4,
                                   .stop = stops,
                                   .stops = i % 3};
        if (hd_generate(q->alone, &r, &f, q->prompt, q->prompts, &q->opt, &err)) fail_msg("%s", err.text);
    }
    hd_model_folder_release(&f);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void forget_requests(void)
{
    for (size_t i = 0; i < CASES; i++)
        for (size_t j = 0; j < TEXTS; j++) hd_generated_release(&requests[i].alone[j]);
}

static int differs(const hd_generated *a, const hd_generated *b, const hd_generate_opt *o)
{
    int wrong = a->tokens != b->tokens || a->stopped != b->stopped || a->text.size != b->text.size ||
                memcmp(&a->logp, &b->logp, sizeof a->logp) || a->ids.count != b->ids.count;
    if (!wrong && a->text.size) wrong = memcmp(a->text.data, b->text.data, a->text.size) != 0;
    if (!wrong) wrong = memcmp(a->ids.at, b->ids.at, a->ids.count * sizeof *a->ids.at) != 0;
    for (size_t i = 0; !wrong && o->scores && i < a->tokens * (1 + o->likeliest); i++)
        wrong = a->said[i].id != b->said[i].id || memcmp(&a->said[i].logp, &b->said[i].logp, sizeof(float));
    return wrong;
}

/* -- engines -- */

static hd_engine_opt options_of(const char *path)
{
    return (hd_engine_opt){.name = "m",
                           .folder = path,
                           .device = "cpu",
                           .threads = 1,
                           .queue_tokens = 100000,
                           .translate = {.batch = 10}};
}

static hd_engine *engine_of(hd_engine_opt o)
{
    hd_err err = {0};
    hd_engine *e = NULL;
    if (hd_engine_new(&e, &o, &err) || hd_engine_ready(e, &err)) fail_msg("%s", err.text);
    return e;
}

static hd_generate_job job_of(const request *q, hd_generated *out, waiter *w)
{
    return (hd_generate_job){
        .job = {.kind = HD_JOB_GENERATE, .tokens = 10, .done = wake, .context = w},
        .prompt = q->prompt,
        .prompts = q->prompts,
        .opt = q->opt,
        .said = {true, true, true, true, true, true, true, true},
        .out = out,
    };
}

typedef struct caller {
    hd_engine *engine;
    unsigned number;
    int wrong;
} caller;

/* Asks again and again, and now and then leaves; what differs from what was written alone is counted. */
static void *ask_on(void *context)
{
    caller *c = context;
    for (unsigned i = 0; i < ROUNDS; i++) {
        waiter w = WAITER;
        atomic_bool left = false;
        const request *q = &requests[(c->number * 5 + i * 7) % CASES];
        hd_generated out[TEXTS] = {0};
        hd_generate_job j = job_of(q, out, &w);
        double retry = 0;
        j.job.cancel = &left;
        if (!hd_engine_submit(c->engine, &j.job, &retry)) {
            c->wrong++;
            continue;
        }
        if (i % 4 == 3) atomic_store(&left, true);
        await(&w, 1);
        if (i % 4 != 3) c->wrong += j.job.end != HD_JOB_DONE;
        for (size_t k = 0; j.job.end == HD_JOB_DONE && k < q->prompts * q->opt.samples; k++)
            c->wrong += differs(&q->alone[k], &out[k], &q->opt);
        for (size_t k = 0; k < TEXTS; k++) hd_generated_release(&out[k]);
    }
    return NULL;
}

static void texts_of_many_threads_are_those_of_each_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        pthread_t thread[THREADS];
        caller c[THREADS];
        lay_out(folder[k]);
        hd_engine *e = engine_of(options_of(folder[k]));
        for (unsigned i = 0; i < THREADS; i++) {
            c[i] = (caller){e, i, 0};
            assert_int_equal(pthread_create(&thread[i], NULL, ask_on, &c[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(thread[i], NULL);
            assert_int_equal(c[i].wrong, 0);
        }
        hd_engine_load l = hd_engine_now(e);
        assert_int_equal(l.waiting + l.running + l.refused + l.waiting_tokens, 0);
        hd_engine_free(e);
        forget_requests();
    }
}

static void who_leaves_or_is_late_frees_the_seats(void **state)
{
    (void)state;
    waiter w = WAITER;
    atomic_bool left = false;
    double retry;
    hd_engine *e = engine_of(options_of(folder[0]));
    const request endless = {
        .prompt = {{"the", 3}}, .prompts = 1, .opt = {.tokens = 100000000, .samples = 4}};
    const request brief = {.prompt = {{"the", 3}}, .prompts = 1, .opt = {.tokens = 3, .samples = 1}};
    hd_generated out[3][4] = {0};
    hd_generate_job a = job_of(&endless, out[0], &w), b = job_of(&endless, out[1], &w),
                    c = job_of(&brief, out[2], &w);
    a.job.cancel = &left, b.job.deadline = hd_seconds() + 0.02;
    assert_true(hd_engine_submit(e, &a.job, &retry));
    assert_true(hd_engine_submit(e, &b.job, &retry));
    assert_true(hd_engine_submit(e, &c.job, &retry)); /* is done beside them, or after the late one */
    await(&w, 2);
    assert_int_equal(b.job.end, HD_JOB_LATE);
    assert_int_equal(c.job.end, HD_JOB_DONE);
    double from = hd_seconds();
    atomic_store(&left, true);
    await(&w, 3);
    assert_true(hd_seconds() - from < (HEED_SANITIZED ? 5 : 0.1));
    assert_int_equal(a.job.end, HD_JOB_CANCELED);
    hd_engine_free(e);
    for (size_t i = 0; i < 12; i++) hd_generated_release(&out[i / 4][i % 4]);
}

static void wrong_options_fail_alone(void **state)
{
    (void)state;
    waiter w = WAITER;
    double retry;
    hd_engine *e = engine_of(options_of(folder[0]));
    const request wrong = {
        .prompt = {{"the", 3}}, .prompts = 1, .opt = {.tokens = 3, .temperature = -1, .samples = 1}};
    const request right = {.prompt = {{"the", 3}}, .prompts = 1, .opt = {.tokens = 3, .samples = 1}};
    hd_generated out[2] = {0};
    hd_generate_job a = job_of(&right, &out[0], &w), b = job_of(&wrong, &out[1], &w);
    assert_true(hd_engine_submit(e, &a.job, &retry));
    assert_true(hd_engine_submit(e, &b.job, &retry));
    await(&w, 2);
    assert_int_equal(a.job.end, HD_JOB_DONE);
    assert_int_equal(b.job.end, HD_JOB_FAILED);
    assert_int_equal(b.job.err.status, HD_EARG);
    hd_engine_free(e);
    hd_generated_release(&out[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_many_threads_are_those_of_each_alone),
        cmocka_unit_test(who_leaves_or_is_late_frees_the_seats),
        cmocka_unit_test(wrong_options_fail_alone),
    };
    return cmocka_run_group_tests(tests, begin, scratch_remove);
}
