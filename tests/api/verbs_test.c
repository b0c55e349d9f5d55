/* The functions of heed.h beside heed_translate, against those behind them; what ends a call early; what is
   asked of a model that cannot do it. */
#include "check.h"
#include "scratch.h"

#include <pthread.h>

#include "api/subject.h"
#include "show/embed.h"
#include "task/language/generate.h"
#include "task/rank.h"
#include "task/speaker.h"

static heed_model *speaking, *talking; /* the second has a chat template */
static heed_context *speaker_context, *talker_context;

static const char *const prompts[] = {"the cat", "", "a dog and"};
enum { PROMPTS = 3 };

static int open_all(void **state)
{
    heed_error error;
    if (open_subject(state) || scratch_make(state)) return -1;
    speaker_folder(at("gpt"), HD_LM_gpt, HD_TOKENIZER_words);
    if (heed_model_open(&speaking, at("gpt"), NULL, &error)) return -1;
    speaker_context = context_of(speaking, 1);
    static const char form[] = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}the";
    speaker_folder(at("talk"), HD_LM_gpt, HD_TOKENIZER_words);
    put_bytes(at("talk/chat_template.jinja"), form, strlen(form));
    if (heed_model_open(&talking, at("talk"), NULL, &error)) return -1;
    talker_context = context_of(talking, 1);
    return 0;
}

static int close_all(void **state)
{
    heed_context_free(speaker_context);
    heed_model_free(speaking);
    heed_context_free(talker_context);
    heed_model_free(talking);
    return close_subject(state) || scratch_remove(NULL) ? -1 : 0;
}

static heed_generate_options generate_options(void)
{
    heed_generate_options o;
    heed_generate_options_init(&o, sizeof o);
    o.tokens = 12, o.samples = 2, o.seed = 5;
    return o;
}

static heed_texts *generate(const heed_generate_options *o)
{
    heed_error error;
    heed_texts *t = NULL;
    if (heed_generate(speaker_context, prompts, PROMPTS, o, &t, &error)) fail_msg("%s", error.text);
    assert_int_equal(t->count, PROMPTS * o->samples);
    return t;
}

/* -- what they find -- */

static void texts_are_those_of_the_task(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b);
    hd_model_folder f = {0};
    hd_generated made[2 * PROMPTS] = {0};
    hd_line line[PROMPTS];
    heed_generate_options o = generate_options();
    const char *stop[] = {"sat"};
    o.temperature = 0.7, o.top_k = 9, o.first_prompt = 4, o.stop = stop, o.stops = 1;
    const hd_generate_opt opt = {.tokens = 12,
                                 .temperature = 0.7f,
                                 .top_k = 9,
                                 .repetition = 1,
                                 .seed = 5,
                                 .key = 4,
                                 .samples = 2,
                                 .stop = stop,
                                 .stops = 1};
    heed_texts *t = generate(&o);
    for (size_t i = 0; i < PROMPTS; i++) line[i] = (hd_line){prompts[i], strlen(prompts[i])};
    if (hd_model_folder_open(&f, at("gpt"), "lm", b, HD_WEIGHTS_BEST, &err) ||
        hd_generate(made, &run, &f, line, PROMPTS, &opt, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < t->count; i++) {
        const heed_text *x = t->text[i];
        assert_string_equal(x->text, made[i].text.data ? made[i].text.data : "");
        assert_int_equal(x->size, made[i].text.size);
        assert_int_equal(x->tokens, made[i].tokens);
        assert_int_equal(x->stopped, made[i].stopped);
        assert_memory_equal(&x->log_probability, &made[i].logp, sizeof(double));
        assert_int_equal(x->length, made[i].ids.count);
        assert_memory_equal(x->id, made[i].ids.at, x->length * sizeof *x->id);
        hd_generated_release(&made[i]);
    }
    heed_texts_free(t);
    hd_model_folder_release(&f);
    hd_run_release(&run);
    hd_backend_free(b);
}

/* By the template, and no longer than the model's context of 8 tokens. */
static void answers_are_those_of_the_task(void **state)
{
    (void)state;
    hd_err err = {0};
    heed_error error;
    heed_texts *t = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b);
    hd_model_folder f = {0};
    hd_generated made[2] = {0};
    hd_ids ids = {0};
    static const heed_message said[] = {{"dog", "sat on"}, {"cat", "the"}};
    heed_generate_options o = generate_options();
    if (heed_chat(talker_context, said, 2, &o, &t, &error)) fail_msg("%s", error.text);
    assert_int_equal(t->count, 2);
    static const char text[] = "dog sat on cat the the";
    if (hd_model_folder_open(&f, at("talk"), "lm", b, HD_WEIGHTS_BEST, &err) ||
        hd_tokenizer_encode_ids(f.tokenizer[0], text, sizeof text - 1, &ids, &err))
        fail_msg("%s", err.text);
    const int32_t end = hd_tokenizer_special(f.tokenizer[0]).end;
    const hd_generate_opt opt = {.tokens = 3,
                                 .temperature = 1,
                                 .seed = 5,
                                 .samples = 2,
                                 .ids = &ids,
                                 .endings = &end,
                                 .ending_count = 1};
    if (hd_generate(made, &run, &f, NULL, 1, &opt, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < 2; i++) {
        const heed_text *x = t->text[i];
        assert_string_equal(x->text, made[i].text.data ? made[i].text.data : "");
        assert_int_equal(x->length, made[i].ids.count);
        assert_memory_equal(x->id, made[i].ids.at, x->length * sizeof *x->id);
        hd_generated_release(&made[i]);
    }
    heed_texts_free(t);
    hd_ids_release(&ids);
    hd_model_folder_release(&f);
    hd_run_release(&run);
    hd_backend_free(b);
}

static void conversations_that_make_no_sense_are_refused(void **state)
{
    const subject *s = *state;
    static const heed_message good = {"user", "the"}, none = {"user", NULL}, bad = {"\xff", "the"},
                              longer = {"user", "the the the the the the the the the"};
    heed_error error;
    heed_texts *t = NULL;
    assert_int_equal(heed_chat(speaker_context, &good, 1, NULL, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "no chat template"));
    assert_int_equal(heed_chat(s->context, &good, 1, NULL, &t, &error), HEED_EARG);
    assert_int_equal(heed_chat(talker_context, &none, 1, NULL, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "content is NULL"));
    assert_int_equal(heed_chat(talker_context, &bad, 1, NULL, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "role is not UTF-8"));
    assert_int_equal(heed_chat(talker_context, &longer, 1, NULL, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "shorten them"));
    assert_int_equal(heed_chat(talker_context, NULL, 0, NULL, &t, &error), HEED_EARG);
    assert_int_equal(heed_chat(talker_context, NULL, 1, NULL, &t, &error), HEED_EARG);
    assert_null(t);
}

typedef struct told {
    hd_text text[2 * PROMPTS];
    size_t calls, most; /* calls after which it stops */
} told;

static heed_status listen(void *user, size_t which, const char *text, size_t size)
{
    told *t = user;
    hd_text_add(&t->text[which], text, size);
    return t->most && ++t->calls == t->most ? HEED_ELIMIT : HEED_OK;
}

static void texts_are_told_while_they_come(void **state)
{
    (void)state;
    told heard = {0};
    heed_error error;
    heed_texts *none = NULL;
    heed_generate_options o = generate_options();
    o.tell = listen, o.tell_user = &heard;
    heed_texts *t = generate(&o);
    for (size_t i = 0; i < t->count; i++)
        assert_string_equal(t->text[i]->text, heard.text[i].data ? heard.text[i].data : "");
    heed_texts_free(t);
    heard.most = 3;
    assert_int_equal(heed_generate(speaker_context, prompts, PROMPTS, &o, &none, &error), HEED_ELIMIT);
    assert_null(none);
    assert_int_equal(heard.calls, 3);
    for (size_t i = 0; i < 2 * PROMPTS; i++) hd_text_release(&heard.text[i]);
}

static void vectors_and_scores_are_those_of_the_task(void **state)
{
    (void)state;
    hd_err err = {0};
    heed_error error;
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b);
    hd_model_folder f = {0};
    hd_embeddings e = {0};
    hd_verdict v[PROMPTS];
    hd_line line[PROMPTS];
    heed_vectors *vectors = NULL;
    heed_verdicts *verdicts = NULL;
    heed_embed_options o;
    heed_embed_options_init(&o, sizeof o);
    o.pooling = HEED_POOLING_LAST, o.normalize = true;
    for (size_t i = 0; i < PROMPTS; i++) line[i] = (hd_line){prompts[i], strlen(prompts[i])};
    if (heed_embed(speaker_context, prompts, PROMPTS, &o, &vectors, &error)) fail_msg("%s", error.text);
    if (heed_score(speaker_context, NULL, prompts, PROMPTS, &verdicts, &error)) fail_msg("%s", error.text);
    if (hd_model_folder_open(&f, at("gpt"), "lm", b, HD_WEIGHTS_BEST, &err) ||
        hd_embed_lines(&e, &run, &f, line, PROMPTS,
                       &(hd_embed_opt){.pool = HD_POOLING_LAST, .normalize = true, .cut = true}, &err) ||
        hd_rank_judge(v, &run, &f, NULL, line, PROMPTS, &(hd_rank_opt){0}, &err))
        fail_msg("%s", err.text);
    assert_int_equal(vectors->width, e.width);
    for (size_t i = 0; i < PROMPTS; i++) {
        const heed_vector *x = vectors->vector[i];
        assert_int_equal(x->tokens, e.of[i].tokens);
        assert_int_equal(!x->value, !e.of[i].vectors);
        for (size_t k = 0; x->value && k < e.width; k++)
            assert_true(!memcmp(&x->value[k], &(float){(float)e.of[i].vector[k]}, sizeof(float)));
        assert_int_equal(verdicts->verdict[i]->tokens, v[i].tokens);
        assert_memory_equal(&verdicts->verdict[i]->log_probability, &v[i].logp, sizeof(double));
    }
    heed_vectors_free(vectors);
    heed_verdicts_free(verdicts);
    hd_embeddings_release(&e);
    hd_model_folder_release(&f);
    hd_run_release(&run);
    hd_backend_free(b);
}

static void translations_are_scored(void **state)
{
    const subject *s = *state;
    const char *const source[] = {"are you tired ?"}, *const text[] = {"bist du müde ?"};
    heed_error error;
    heed_verdicts *v = NULL;
    heed_translate_options o = options_of();
    o.prefix = text, o.force = true;
    if (heed_score(s->context, source, text, 1, &v, &error)) fail_msg("%s", error.text);
    heed_results *r = translate(s->context, source, 1, &o);
    assert_int_equal(v->verdict[0]->status, HEED_OK);
    assert_true(fabs(v->verdict[0]->log_probability - r->translation[0]->hypothesis[0]->log_probability) <
                1e-5);
    assert_int_equal(v->verdict[0]->tokens, r->translation[0]->hypothesis[0]->length);
    heed_results_free(r);
    heed_verdicts_free(v);
    assert_int_equal(heed_score(s->context, NULL, text, 1, &v, &error), HEED_EARG);
}

static void tokens_are_cut_and_joined(void **state)
{
    const subject *s = *state;
    static const char text[] = "der Hund bellt .";
    heed_error error;
    heed_tokens *t = NULL;
    char back[64];
    size_t size = 0;
    if (heed_tokenize(s->model, HEED_SIDE_TARGET, text, sizeof text - 1, &t, &error))
        fail_msg("%s", error.text);
    assert_int_equal(t->length, 4);
    assert_string_equal(t->token[1], "Hund");
    assert_int_equal(t->begin[1], 4);
    assert_int_equal(t->end[1], 8);
    assert_int_equal(
        heed_detokenize(s->model, HEED_SIDE_TARGET, t->id, t->length, back, sizeof back, &size, &error),
        HEED_OK);
    assert_string_equal(back, text);
    assert_int_equal(size, sizeof text - 1);
    assert_int_equal(heed_detokenize(s->model, HEED_SIDE_TARGET, t->id, t->length, back, 5, &size, NULL), 0);
    assert_string_equal(back, "der ");
    assert_int_equal(size, sizeof text - 1);
    assert_int_equal(heed_tokenize(s->model, (heed_side)2, text, 1, &t, &error), HEED_EARG);
    heed_tokens_free(t);
}

/* -- what ends or changes a call -- */

static void *stop_soon(void *context)
{
    struct timespec a_while = {0, 20000000};
    nanosleep(&a_while, NULL);
    heed_context_stop(context);
    return NULL;
}

/* It would write for minutes. The context can be used again, and writes what it wrote before. */
static void a_call_is_stopped_from_another_thread(void **state)
{
    (void)state;
    pthread_t thread;
    heed_error error;
    heed_texts *none = NULL;
    heed_generate_options o = generate_options(), endless = o;
    endless.tokens = 100000000;
    heed_texts *before = generate(&o);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, speaker_context), 0);
    assert_int_equal(heed_generate(speaker_context, prompts, 1, &endless, &none, &error), HEED_ESTOPPED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(none);
    heed_texts *after = generate(&o);
    for (size_t i = 0; i < before->count; i++)
        assert_string_equal(before->text[i]->text, after->text[i]->text);
    heed_texts_free(before);
    heed_texts_free(after);
}

static double probability_of(const subject *s)
{
    static const char *const line[] = {"the dog barks ; we are tired ."};
    heed_results *r = translate(s->context, line, 1, NULL);
    double p = r->translation[0]->hypothesis[0]->log_probability;
    heed_results_free(r);
    return p;
}

static void heads_have_factors_until_they_are_taken_back(void **state)
{
    const subject *s = *state;
    heed_error error;
    double plain = probability_of(s);
    assert_int_equal(heed_context_heads(s->context, "enc.0.self.1=0,dec.*.cross.*=0.5", &error), HEED_OK);
    double changed = probability_of(s);
    assert_true(memcmp(&plain, &changed, sizeof plain));
    assert_int_equal(heed_context_heads(s->context, "enc.7.self.1=0", &error), HEED_EARG);
    assert_non_null(strstr(error.text, "enc.7.self.1"));
    double again = probability_of(s);
    assert_memory_equal(&changed, &again, sizeof again);
    assert_int_equal(heed_context_heads(s->context, NULL, &error), HEED_OK);
    again = probability_of(s);
    assert_memory_equal(&plain, &again, sizeof again);
}

/* -- what is refused -- */

static void models_say_what_they_cannot_do(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_texts *texts = NULL;
    heed_answers *answers = NULL;
    heed_results *results = NULL;
    assert_int_equal(heed_generate(s->context, prompts, 1, NULL, &texts, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "heed translate"));
    assert_int_equal(heed_translate(speaker_context, prompts, 1, NULL, &results, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "heed generate"));
    assert_int_equal(heed_fill(speaker_context, prompts, 1, 3, &answers, &error), HEED_EARG);
    assert_int_equal(heed_classify(speaker_context, prompts, 1, 3, &answers, &error), HEED_EARG);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff"};
    static const char *const empty[] = {""};
    heed_error error;
    heed_texts *t = NULL;
    heed_generate_options o = generate_options();
    o.samples = 0;
    assert_int_equal(heed_generate(speaker_context, prompts, 1, &o, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "samples"));
    o = generate_options(), o.top_p = 1.5;
    assert_int_equal(heed_generate(speaker_context, prompts, 1, &o, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "top_p"));
    o = generate_options(), o.stop = empty, o.stops = 1;
    assert_int_equal(heed_generate(speaker_context, prompts, 1, &o, &t, &error), HEED_EARG);
    assert_int_equal(heed_generate(speaker_context, bad, 1, NULL, &t, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "UTF-8"));
    assert_int_equal(heed_generate(NULL, prompts, 1, NULL, &t, &error), HEED_EARG);
    assert_int_equal(heed_generate(speaker_context, NULL, 1, NULL, &t, &error), HEED_EARG);
    assert_int_equal(heed_generate(speaker_context, prompts, 1, NULL, NULL, &error), HEED_EARG);
}

/* Each allocation of a call fails once: it says so, and nothing is left behind. */
static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    heed_generate_options o = generate_options();
    o.tokens = 3, o.samples = 1;
    static const heed_message said = {"cat", "the"};
    for (int verb = 0; verb < 4; verb++) {
        heed_status s = HEED_ENOMEM;
        for (size_t n = 1; s; n++) {
            heed_texts *t = NULL;
            heed_vectors *x = NULL;
            heed_verdicts *v = NULL;
            hd_mem_fail_at(n);
            s = verb == 0   ? heed_generate(speaker_context, prompts, 1, &o, &t, NULL)
                : verb == 1 ? heed_embed(speaker_context, prompts, 1, NULL, &x, NULL)
                : verb == 2 ? heed_chat(talker_context, &said, 1, &o, &t, NULL)
                            : heed_score(speaker_context, NULL, prompts, 1, &v, NULL);
            hd_mem_fail_at(0);
            heed_texts_free(t);
            heed_vectors_free(x);
            heed_verdicts_free(v);
            if (s && s != HEED_ENOMEM) fail_msg("verb %d: %s", verb, heed_status_text(s));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_those_of_the_task),
        cmocka_unit_test(answers_are_those_of_the_task),
        cmocka_unit_test(conversations_that_make_no_sense_are_refused),
        cmocka_unit_test(texts_are_told_while_they_come),
        cmocka_unit_test(vectors_and_scores_are_those_of_the_task),
        cmocka_unit_test(translations_are_scored),
        cmocka_unit_test(tokens_are_cut_and_joined),
        cmocka_unit_test(a_call_is_stopped_from_another_thread),
        cmocka_unit_test(heads_have_factors_until_they_are_taken_back),
        cmocka_unit_test(models_say_what_they_cannot_do),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };
    return finish(cmocka_run_group_tests(tests, open_all, close_all));
}
