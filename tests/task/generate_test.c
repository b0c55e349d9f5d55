/* Generation: the same tokens as search finds, told as text while they come, beyond what a model sees, and up
   to a stop. */
#include "check.h"
#include "task/language/generate.h"
#include "task/speaker.h"

typedef struct scene {
    hd_backend *backend;
    hd_run run;
    hd_model_folder *language;
} scene;

static scene scene_of(hd_lm_kind kind, hd_tokenizer_kind unit)
{
    scene s = {.backend = backend_of("cpu", 1)};
    s.run = run_on(s.backend);
    s.language = speaker(s.backend, kind, unit);
    return s;
}

static void scene_end(scene *s)
{
    folder_free(s->language);
    hd_run_release(&s->run);
    hd_backend_free(s->backend);
}

static hd_line line_of(const char *text)
{
    return (hd_line){text, strlen(text)};
}

static void write_on(scene *s, hd_generated *out, const char *prompt, hd_generate_opt o)
{
    hd_err err = {0};
    const hd_line line = line_of(prompt);
    if (hd_generate(out, &s->run, s->language, &line, 1, &o, &err)) fail_msg("%s", err.text);
}

static const char *text_of(const hd_generated *g)
{
    return g->text.size ? g->text.data : "";
}

/* What hd_search finds for the same prompt, as text: ends of lines are characters of a text of characters. */
static void search(scene *s, char text[][256], const char *prompt, const hd_generate_opt *o)
{
    const hd_tokenizer *t = s->language->tokenizer[0];
    hd_special special = hd_tokenizer_special(t);
    const int32_t banned[] = {special.pad, special.unk, special.start};
    hd_search_opt ask = {.kind = o->temperature > 0 ? HD_SEARCH_SAMPLE : HD_SEARCH_GREEDY,
                         .best = o->samples,
                         .end = -1,
                         .max_length = o->tokens,
                         .banned = banned,
                         .banned_count = 3,
                         .temperature = o->temperature,
                         .top_k = o->top_k,
                         .top_p = o->top_p,
                         .seed = o->seed,
                         .key = &o->key};
    hd_ids ids = {0};
    hd_err err = {0};
    hd_stepper stepper;
    hd_found *found = NULL;
    hd_ids_reserve(&ids, 1, &err);
    ids.at[ids.count++] = special.end;
    assert_int_equal(hd_tokenizer_encode_ids(t, prompt, strlen(prompt), &ids, &err), HD_OK);
    int32_t len = (int32_t)ids.count;
    const hd_lm *m = hd_model_folder_lm(s->language);
    assert_int_equal(m->type->stepper(&stepper, m, ids.at, &len, 1, 0, &err), HD_OK);
    if (hd_search(&found, &s->run, &stepper, &ask, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < hd_found_count(found, 0); i++) {
        const hd_guess *g = &hd_found_at(found, 0)[i];
        size_t at = 0;
        for (size_t j = 0; j < g->length; j++)
            at += (size_t)snprintf(text[i] + at, 256 - at, "%s",
                                   g->ids[j] == special.end ? "\n" : hd_tokenizer_piece(t, g->ids[j]));
    }
    hd_found_free(found);
    hd_stepper_release(&stepper);
    hd_ids_release(&ids);
}

static void tokens_are_those_of_search(void **state)
{
    (void)state;
    static const hd_generate_opt cases[] = {
        {.tokens = 60, .temperature = 0, .samples = 1},
        {.tokens = 60, .temperature = 1, .samples = 3, .seed = 5},
        {.tokens = 60, .temperature = 0.7f, .top_k = 4, .samples = 2, .seed = 6, .key = 11},
        {.tokens = 60, .temperature = 1.3f, .top_p = 0.9f, .samples = 2, .seed = 7},
    };
    scene s = scene_of(HD_LM_ngram, HD_TOKENIZER_characters);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char expected[3][256] = {""};
        hd_generated g[3] = {0};
        search(&s, expected, "the d", &cases[i]);
        write_on(&s, g, "the d", cases[i]);
        for (size_t j = 0; j < cases[i].samples; j++) {
            assert_string_equal(text_of(&g[j]), expected[j]);
            assert_int_equal(g[j].tokens, 60);
            assert_true(g[j].logp < 0 && !g[j].stopped);
            hd_generated_release(&g[j]);
        }
    }
    scene_end(&s);
}

static void a_sample_does_not_depend_on_the_others(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_LM_KINDS; kind++) { /* 40 tokens: five times what gpt sees */
        scene s = scene_of((hd_lm_kind)kind, HD_TOKENIZER_characters);
        hd_generated one[1] = {0}, four[4] = {0};
        hd_generate_opt o = {.tokens = 40, .temperature = 1, .seed = 3};
        write_on(&s, one, "a cat", o);
        o.samples = 4;
        write_on(&s, four, "a cat", o);
        if (strcmp(text_of(one), text_of(four)))
            fail_msg("%s: '%s' and '%s'", hd_lm_names[kind], text_of(one), text_of(four));
        assert_int_equal(one->tokens, 40);
        assert_string_not_equal(text_of(&four[0]), text_of(&four[1]));
        hd_generated_release(one);
        for (int i = 0; i < 4; i++) hd_generated_release(&four[i]);
        scene_end(&s);
    }
}

/* Prompts of all lengths, some longer than gpt sees, two samples of each, some of which stop early: as if
   each prompt were alone. */
static void a_prompt_does_not_depend_on_the_others(void **state)
{
    (void)state;
    static const char *const prompts[] = {"a cat",    "",  "the mat, the log and the cat are here",
                                          "the\ndog", "a", "where is"};
    enum { PROMPTS = COUNT_OF(prompts), SAMPLES = 2 };
    static const char *const stop[] = {"t"};
    hd_line lines[PROMPTS];
    for (size_t i = 0; i < PROMPTS; i++) lines[i] = line_of(prompts[i]);
    for (int kind = 0; kind < HD_LM_KINDS; kind++)
        for (size_t stops = 0; stops < 2; stops++) {
            scene s = scene_of((hd_lm_kind)kind, HD_TOKENIZER_characters);
            hd_err err = {0};
            hd_generated all[PROMPTS * SAMPLES] = {0};
            hd_generate_opt o = {.tokens = 40,
                                 .temperature = 1,
                                 .seed = 3,
                                 .key = 5,
                                 .samples = SAMPLES,
                                 .stop = stop,
                                 .stops = stops};
            if (hd_generate(all, &s.run, s.language, lines, PROMPTS, &o, &err)) fail_msg("%s", err.text);
            for (size_t p = 0; p < PROMPTS; p++, o.key++) {
                hd_generated alone[SAMPLES] = {0};
                write_on(&s, alone, prompts[p], o);
                for (size_t i = 0; i < SAMPLES; i++) {
                    hd_generated *g = &all[p * SAMPLES + i];
                    if (strcmp(text_of(g), text_of(&alone[i])) || g->tokens != alone[i].tokens ||
                        g->logp != alone[i].logp || g->stopped != alone[i].stopped)
                        fail_msg("%s, '%s': '%s', alone '%s'", hd_lm_names[kind], prompts[p], text_of(g),
                                 text_of(&alone[i]));
                    hd_generated_release(g);
                    hd_generated_release(&alone[i]);
                }
            }
            scene_end(&s);
        }
}

typedef struct listener {
    hd_text told;
    size_t calls, longest;
    bool deaf;
} listener;

static hd_status hear(void *context, size_t sample, const char *text, size_t size, hd_err *err)
{
    listener *l = context;
    (void)sample;
    l->calls++;
    if (size > l->longest) l->longest = size;
    hd_text_add(&l->told, text, size);
    return l->deaf ? hd_err_set(err, HD_EFILE, "nobody listens") : HD_OK;
}

static void a_stop_ends_a_text_and_is_never_told(void **state)
{
    (void)state;
    static const struct {
        const char *stop[2];
        size_t stops;
    } cases[] = {{{"\n"}, 1}, {{"sat on"}, 1}, {{"zzz", "the log"}, 2}, {{"dog", "do"}, 2}, {{"on the "}, 1}};
    scene s = scene_of(HD_LM_ngram, HD_TOKENIZER_characters);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        listener ear = {0};
        hd_generated all = {0}, g = {0};
        hd_generate_opt o = {.tokens = 300, .temperature = 0.8f, .seed = 2};
        write_on(&s, &all, "the ", o);
        o.stop = cases[i].stop, o.stops = cases[i].stops, o.tell = hear, o.context = &ear;
        write_on(&s, &g, "the ", o);
        const char *end = NULL;
        for (size_t j = 0; j < cases[i].stops; j++) {
            const char *at = strstr(text_of(&all), cases[i].stop[j]);
            if (at && (!end || at < end)) end = at;
        }
        assert_non_null(end); /* otherwise the case shows nothing */
        assert_true(g.stopped && g.tokens < 300);
        assert_int_equal(g.text.size, end - text_of(&all));
        assert_memory_equal(text_of(&g), text_of(&all), g.text.size);
        assert_int_equal(ear.told.size, g.text.size);
        assert_memory_equal(ear.told.data ? ear.told.data : "", text_of(&g), g.text.size);
        hd_text_release(&ear.told);
        hd_generated_release(&g);
        hd_generated_release(&all);
    }
    scene_end(&s);
}

static void text_is_told_while_it_comes(void **state)
{
    (void)state;
    scene s = scene_of(HD_LM_ngram, HD_TOKENIZER_words);
    listener ear = {0};
    hd_generated g = {0};
    hd_generate_opt o = {.tokens = 50, .temperature = 1, .seed = 4, .tell = hear, .context = &ear};
    write_on(&s, &g, "the cat", o);
    assert_string_equal(ear.told.data, text_of(&g));
    assert_int_equal(ear.calls, 50);
    assert_true(ear.longest <= 6); /* " where" */
    hd_text_release(&ear.told);
    hd_generated_release(&g);

    hd_err err = {0};
    const hd_line the = line_of("the");
    ear = (listener){.deaf = true};
    assert_int_equal(hd_generate(&g, &s.run, s.language, &the, 1, &o, &err), HD_EFILE);
    assert_string_equal(err.text, "nobody listens");
    assert_int_equal(ear.calls, 1);
    hd_text_release(&ear.told);
    hd_generated_release(&g);
    scene_end(&s);
}

/* Words are joined by a blank, but not where a line begins or the prompt has one already. */
static void words_are_joined_to_the_prompt(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"the cat sat on the", " "}, {"the cat sat on the ", "l"}, {"the cat\n", "t"}, {"", "t"}};
    scene s = scene_of(HD_LM_ngram, HD_TOKENIZER_words);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_generated g = {0};
        write_on(&s, &g, cases[i][0], (hd_generate_opt){.tokens = 30});
        if (text_of(&g)[0] != cases[i][1][0]) fail_msg("'%s' goes on '%s'", cases[i][0], text_of(&g));
        assert_null(strstr(text_of(&g), "  "));
        assert_null(strstr(text_of(&g), " \n"));
        assert_null(strstr(text_of(&g), "\n "));
        assert_null(strstr(text_of(&g), "<"));
        hd_generated_release(&g);
    }
    scene_end(&s);
}

/* A long prompt is read from where the model sees it. */
static void a_prompt_may_be_longer_than_what_a_model_sees(void **state)
{
    (void)state;
    scene s = scene_of(HD_LM_gpt, HD_TOKENIZER_characters);
    hd_generated a = {0}, b = {0};
    hd_generate_opt o = {.tokens = 30, .temperature = 1, .seed = 9};
    write_on(&s, &a, "a dog sat on the log", o); /* the last eight are the same */
    write_on(&s, &b, "the cat and the log", o);
    assert_string_equal(text_of(&a), text_of(&b));
    hd_generated_release(&a);
    hd_generated_release(&b);
    scene_end(&s);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const char *nothing = "";
    const hd_line a = line_of("a");
    const hd_generate_opt cases[] = {{.tokens = 1, .temperature = -1},
                                     {.tokens = 1, .temperature = NAN},
                                     {.tokens = 1, .top_p = 2},
                                     {.tokens = 1, .stop = &nothing, .stops = 1}};
    scene s = scene_of(HD_LM_ngram, HD_TOKENIZER_words);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_generated g = {0};
        assert_int_equal(hd_generate(&g, &s.run, s.language, &a, 1, &cases[i], &err), HD_EARG);
        hd_generated_release(&g);
    }
    assert_int_equal(hd_generate(NULL, &s.run, s.language, NULL, 0, &(hd_generate_opt){.tokens = 1}, NULL),
                     HD_EARG);
    scene_end(&s);
}

/* Every token has the same logits wherever it stands: -9, but those of three letters. */
static void give_logits(scene *s, hd_real a, hd_real b, hd_real c)
{
    hd_params *p = hd_model_folder_lm(s->language)->params;
    const hd_tokenizer *t = s->language->tokenizer[0];
    hd_real *bias = malloc(hd_tokenizer_size(t) * sizeof *bias);
    for (size_t i = 0; i < hd_tokenizer_size(t); i++) bias[i] = -9;
    bias[hd_tokenizer_id(t, "a")] = a, bias[hd_tokenizer_id(t, "d")] = b, bias[hd_tokenizer_id(t, "c")] = c;
    assert_int_equal(hd_params_set(p, hd_params_find(p, "features.bias"), bias), HD_OK);
    free(bias);
}

/* Positive logits are divided, negative ones multiplied; it counts once however often a token was there. With
   log-probabilities in the place of logits the first text would be "daaa". */
static void repetition_costs_what_transformers_takes(void **state)
{
    (void)state;
    static const struct {
        hd_real logit[3];
        float penalty;
        const char *text;
    } cases[] = {
        {{2, 1.5f, 1.05f}, 2, "dcaa"},   /* a 1; d 1.5: d 0.75; c 1.05: c 0.525; a 1 */
        {{-1, -1.5f, -1.8f}, 2, "dcaa"}, /* a -2; d -1.5: d -3; c -1.8: c -3.6; a -2 */
        {{2, 1.5f, 1.05f}, 1.2f, "aaaa"}, {{2, 1.5f, -1.05f}, 0.5f, "aaaa"},
        {{2, 1.5f, 1.05f}, 1, "aaaa"},    {{2, 1.5f, 1.05f}, 0, "aaaa"},
    };
    scene s = scene_of(HD_LM_maxent, HD_TOKENIZER_characters);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_generated g = {0};
        const hd_real *z = cases[i].logit;
        give_logits(&s, z[0], z[1], z[2]);
        write_on(&s, &g, "a", (hd_generate_opt){.tokens = 4, .repetition = cases[i].penalty});
        assert_string_equal(text_of(&g), cases[i].text);
        double sum = 0, all = log(exp((double)z[0]) + exp((double)z[1]) + exp((double)z[2]) +
                                  ((double)hd_tokenizer_size(s.language->tokenizer[0]) - 3) * exp(-9.0));
        for (const char *c = text_of(&g); *c; c++) sum += (double)z[*c == 'a' ? 0 : *c == 'd' ? 1 : 2] - all;
        assert_true(fabs(g.logp - sum) < 1e-4); /* of the model as it is */
        hd_generated_release(&g);
    }
    scene_end(&s);
}

/* The same tokens as by the whole logits of a model, read anew after every token and treated by hand. Side by
   side with another prompt, since rows are chosen then. */
static void repetition_is_of_the_logits_of_every_model(void **state)
{
    (void)state;
    enum { TOKENS = 5 };
    for (int kind = HD_LM_maxent; kind < HD_LM_KINDS; kind++) {
        scene s = scene_of((hd_lm_kind)kind, HD_TOKENIZER_characters);
        const hd_tokenizer *t = s.language->tokenizer[0];
        const hd_lm *m = hd_model_folder_lm(s.language);
        size_t v = hd_tokenizer_size(t);
        hd_special special = hd_tokenizer_special(t);
        hd_ids ids = {0};
        hd_err err = {0};
        char expected[64] = "";
        assert_int_equal(hd_ids_reserve(&ids, 1, &err), HD_OK);
        ids.at[ids.count++] = special.end;
        assert_int_equal(hd_tokenizer_encode_ids(t, "a", 1, &ids, &err), HD_OK);
        for (int i = 0; i < TOKENS; i++) {
            hd_stepper stepper;
            int32_t len = (int32_t)ids.count, best = -1;
            assert_int_equal(m->type->stepper(&stepper, m, ids.at, &len, 1, 0, &err), HD_OK);
            assert_non_null(stepper.raw);
            *stepper.raw = true;
            hd_run_begin(&s.run, HD_INFERENCE);
            hd_real *z = host_copy(&s.run, stepper.join(&s.run, stepper.context, 1));
            for (size_t k = 0; k < v; k++) {
                for (size_t j = 1; j < ids.count; j++)
                    if (ids.at[j] == (int32_t)k) {
                        z[k] = z[k] < 0 ? z[k] * 1.7f : z[k] / 1.7f;
                        break;
                    }
                bool banned =
                    (int32_t)k == special.pad || (int32_t)k == special.unk || (int32_t)k == special.start;
                if (!banned && (best < 0 || z[k] > z[best])) best = (int32_t)k;
            }
            free(z);
            hd_stepper_release(&stepper);
            assert_int_equal(hd_ids_reserve(&ids, 1, &err), HD_OK);
            ids.at[ids.count++] = best;
            strcat(expected, best == special.end ? "\n" : hd_tokenizer_piece(t, best));
        }
        hd_generated g[2] = {0};
        const hd_line prompts[] = {line_of("the"), line_of("a")};
        hd_generate_opt o = {.tokens = TOKENS, .repetition = 1.7f};
        assert_int_equal(hd_generate(g, &s.run, s.language, prompts, 2, &o, &err), HD_OK);
        if (strcmp(text_of(&g[1]), expected))
            fail_msg("%s: '%s', not '%s'", hd_lm_names[kind], text_of(&g[1]), expected);
        for (int i = 0; i < 2; i++) hd_generated_release(&g[i]);
        hd_ids_release(&ids);
        scene_end(&s);
    }
}

static void every_failed_allocation_is_an_error(void **state)
{
    (void)state;
    scene s = scene_of(HD_LM_gpt, HD_TOKENIZER_characters);
    hd_generate_opt o = {.tokens = 20, .temperature = 1, .samples = 2, .repetition = 1.2f};
    size_t calls = 0, start = 0;
    for (size_t n = 0; n <= calls; n++) {
        hd_generated g[4] = {0};
        hd_err err = {0};
        size_t before = hd_mem_now().calls;
        hd_mem_fail_at(n);
        const hd_line prompts[] = {line_of("the"), line_of("a mat")};
        hd_status st = hd_generate(g, &s.run, s.language, prompts, 2, &o, &err);
        hd_mem_fail_at(0);
        if (!n) {
            assert_int_equal(st, HD_OK);
            calls = hd_mem_now().calls - before;
        } else if (st && st != HD_ENOMEM) {
            fail_msg("allocation %zu of %zu: %s", n, calls, err.text);
        }
        for (int i = 0; i < 4; i++) hd_generated_release(&g[i]);
        if (n < 2)
            start = hd_mem_now().blocks; /* the run keeps some */
        else if (hd_mem_now().blocks > start + 2)
            fail_msg("allocation %zu of %zu: %zu blocks leaked", n, calls, hd_mem_now().blocks - start);
    }
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_those_of_search),
        cmocka_unit_test(a_sample_does_not_depend_on_the_others),
        cmocka_unit_test(a_prompt_does_not_depend_on_the_others),
        cmocka_unit_test(a_stop_ends_a_text_and_is_never_told),
        cmocka_unit_test(text_is_told_while_it_comes),
        cmocka_unit_test(words_are_joined_to_the_prompt),
        cmocka_unit_test(a_prompt_may_be_longer_than_what_a_model_sees),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(repetition_costs_what_transformers_takes),
        cmocka_unit_test(repetition_is_of_the_logits_of_every_model),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
