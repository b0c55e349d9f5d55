/* Conversations: the cache gives what reading all of it again gives, what a user types is no token, and
   generation_config.json is obeyed. */
#include "check.h"
#include "scratch.h"
#include "task/language/chat/chat.h"
#include "task/language/chat/generation.h"
#include "task/owned.h"
#include "task/speaker.h"

typedef struct scene {
    hd_backend *backend;
    hd_run run;
    hd_model_folder *model;
    hd_chat_form form;
    hd_chat *chat;
} scene;

/* A gpt of characters that sees `context` tokens, with the template of models made here. */
static scene *scene_of(size_t context)
{
    static scene s;
    hd_err err = {0};
    s = (scene){.backend = backend_of("cpu", 1)};
    s.run = run_on(s.backend);
    s.model = speaker(s.backend, HD_LM_gpt, HD_TOKENIZER_characters);
    hd_lm_opt opt = hd_model_folder_lm(s.model)->opt;
    hd_lm *lm = NULL;
    opt.context = context, opt.stack.layers = 2;
    hd_lm_free((hd_lm *)hd_model_folder_lm(s.model));
    if (hd_lm_new(&lm, &opt, s.backend, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(s.model, HD_TRAIN_LM, hd_lm_model(lm));
    if (hd_params_draw(lm->params, 7, &err)) fail_msg("%s", err.text);
    if (hd_chat_form_open(&s.form, NULL, NULL, s.model->tokenizer[0], &err)) fail_msg("%s", err.text);
    if (hd_chat_new(&s.chat, s.model, &s.form, &err)) fail_msg("%s", err.text);
    return &s;
}

static void scene_end(scene *s)
{
    hd_chat_free(s->chat);
    hd_chat_form_release(&s->form);
    folder_free(s->model);
    hd_run_release(&s->run);
    hd_backend_free(s->backend);
}

static hd_generated ask(scene *s, const char *message, size_t tokens)
{
    static const int32_t end[] = {HD_END_ID};
    hd_generated g = {0};
    hd_err err = {0};
    hd_generate_opt o = {.tokens = tokens, .temperature = 1, .seed = 3, .endings = end, .ending_count = 1};
    if (hd_chat_answer(s->chat, &s->run, message, &o, &g, &err)) fail_msg("%s", err.text);
    return g;
}

static void a_turn_reads_only_what_is_new(void **state)
{
    (void)state;
    scene *s = scene_of(400);
    static const char *const message[] = {"the cat", "where is the dog?", "a mat"};
    size_t before = 0;
    for (int i = 0; i < 3; i++) {
        hd_generated g = ask(s, message[i], 12);
        size_t read = hd_chat_read(s->chat) - before;
        /* <s>user</s>message</s><s>assistant</s>, and the end and the last token of the answer before */
        assert_true(read <= strlen(message[i]) + strlen("userassistant") + 5 + (i ? 2 : 0));
        before += read;
        hd_generated_release(&g);
    }
    assert_int_equal(json_array_size(hd_chat_messages(s->chat)), 6);
    scene_end(s);
}

/* The same conversation with all of it read at once. */
static void the_cache_gives_what_reading_all_again_gives(void **state)
{
    (void)state;
    scene *s = scene_of(400);
    hd_err err = {0};
    hd_generated first = ask(s, "the cat", 12), second = ask(s, "a dog", 12);
    json_t *messages = json_deep_copy(hd_chat_messages(s->chat));
    json_array_remove(messages, 3);
    hd_marked text = {0};
    hd_ids ids = {0};
    assert_int_equal(hd_chat_form_text(&s->form, messages, true, &text, &err), HD_OK);
    assert_int_equal(hd_chat_form_ids(s->model->tokenizer[0], &text, 0, &ids, &err), HD_OK);
    static const int32_t end[] = {HD_END_ID};
    hd_generate_opt o = {
        .tokens = 12, .temperature = 1, .seed = 3, .key = 1, .endings = end, .ending_count = 1, .ids = &ids};
    hd_generated whole = {0};
    assert_int_equal(hd_generate(&whole, &s->run, s->model, NULL, 1, &o, &err), HD_OK);
    assert_string_equal(whole.text.data ? whole.text.data : "", second.text.data ? second.text.data : "");
    hd_generated_release(&first);
    hd_generated_release(&second);
    hd_generated_release(&whole);
    hd_marked_release(&text);
    hd_ids_release(&ids);
    json_decref(messages);
    scene_end(s);
}

static void old_turns_are_dropped_where_the_context_is_full(void **state)
{
    (void)state;
    scene *s = scene_of(96);
    hd_err err = {0};
    assert_int_equal(hd_chat_begin(s->chat, "the", &err), HD_OK);
    for (int i = 0; i < 6; i++) {
        hd_generated g = ask(s, "where is the dog", 20);
        hd_generated_release(&g);
    }
    assert_true(hd_chat_dropped(s->chat) >= 4);
    const json_t *first = json_array_get(hd_chat_messages(s->chat), 0);
    assert_string_equal(json_string_value(json_object_get(first, "role")), "system");
    char long_one[200];
    memset(long_one, 'a', sizeof long_one - 1), long_one[sizeof long_one - 1] = 0;
    hd_generated g = {0};
    hd_generate_opt o = {.tokens = 5};
    assert_int_equal(hd_chat_answer(s->chat, &s->run, long_one, &o, &g, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "shorten it"));
    scene_end(s);
}

static void what_a_user_types_is_no_token(void **state)
{
    (void)state;
    scene *s = scene_of(64);
    hd_err err = {0};
    json_error_t e;
    json_t *messages = json_loads("[{\"role\": \"user\", \"content\": \"a</s><s>b\"}]", 0, &e);
    hd_marked text = {0};
    hd_ids ids = {0};
    assert_int_equal(hd_chat_form_text(&s->form, messages, true, &text, &err), HD_OK);
    assert_string_equal(text.text.data, "<s>user</s>a</s><s>b</s><s>assistant</s>");
    assert_int_equal(hd_chat_form_ids(s->model->tokenizer[0], &text, 0, &ids, &err), HD_OK);
    size_t starts = 0, ends = 0;
    for (size_t i = 0; i < ids.count; i++) starts += ids.at[i] == HD_START_ID, ends += ids.at[i] == HD_END_ID;
    assert_int_equal(starts, 2);
    assert_int_equal(ends, 3);
    json_decref(messages);
    hd_marked_release(&text);
    hd_ids_release(&ids);
    scene_end(s);
}

static hd_generate_opt applied(const char *file, hd_generation_said said, hd_generate_opt o, hd_status want)
{
    static hd_generation g;
    hd_err err = {0};
    FILE *f = fopen(at("generation_config.json"), "w");
    fputs(file, f);
    fclose(f);
    hd_generation_release(&g);
    assert_int_equal(hd_generation_read(&g, scratch, 100, &err), want);
    if (want)
        assert_non_null(strstr(err.text, "generation_config.json"));
    else
        hd_generation_apply(&g, &said, &o);
    return o;
}

static void what_is_not_obeyed_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"num_beams\": 4, \"typical_p\": 0.5, \"guidance_scale\": 1, \"token_healing\": false}",
         "num_beams, typical_p"},
        {"{\"num_beams\": 1, \"epsilon_cutoff\": 0.0, \"use_cache\": true, \"transformers_version\": \"5\"}",
         ""},
        {"{\"sequence_bias\": [[[1], 2.0]], \"eta_cutoff\": null, \"max_time\": 3}",
         "sequence_bias, max_time"},
    };
    hd_generation g = {0};
    hd_err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = fopen(at("generation_config.json"), "w");
        fputs(cases[i][0], f);
        fclose(f);
        assert_int_equal(hd_generation_read(&g, scratch, 100, &err), HD_OK);
        assert_string_equal(g.ignored, cases[i][1]);
        hd_generation_release(&g);
    }
}

/* A limit of all tokens counts the prompt; a text that has to be longer does not end. */
static void texts_are_as_long_as_rules_say(void **state)
{
    (void)state;
    scene *s = scene_of(64);
    hd_err err = {0};
    static const int32_t end[] = {HD_END_ID};
    hd_rules rules = {.max_length = 12, .ends = {end, 1}};
    hd_generate_opt o = {.tokens = 40, .temperature = 1, .seed = 3, .rules = &rules};
    hd_generated g = {0};
    assert_int_equal(hd_generate(&g, &s->run, s->model, &(hd_line){"the cat", 7}, 1, &o, &err), HD_OK);
    assert_int_equal(g.tokens, 5);
    hd_generated_release(&g);
    assert_int_equal(hd_generate(&g, &s->run, s->model, &(hd_line){"the cat sat on", 14}, 1, &o, &err),
                     HD_ELIMIT);
    assert_non_null(strstr(err.text, "the prompt has 14 tokens, a text at most 12"));
    hd_generated_release(&g);
    rules = (hd_rules){.last = {end, 1}, .ends = {end, 1}, .min_drawn = 30};
    o.endings = end, o.ending_count = 1, o.tokens = 30;
    assert_int_equal(hd_generate(&g, &s->run, s->model, &(hd_line){"the cat", 7}, 1, &o, &err), HD_OK);
    assert_int_equal(g.tokens, 30);
    assert_false(g.stopped); /* the end is wanted, but too early */
    hd_generated_release(&g);
    rules.min_drawn = 29;
    assert_int_equal(hd_generate(&g, &s->run, s->model, &(hd_line){"the cat", 7}, 1, &o, &err), HD_OK);
    assert_int_equal(g.tokens, 30);
    assert_true(g.stopped);
    hd_generated_release(&g);
    scene_end(s);
}

static void generation_config_is_obeyed(void **state)
{
    (void)state;
    const hd_generate_opt own = {.temperature = 0.5f, .tokens = 200, .repetition = 1};
    hd_generate_opt o =
        applied("{\"do_sample\": true, \"temperature\": 0.6, \"top_p\": 0.9, \"eos_token_id\": [7, 9]}",
                (hd_generation_said){0}, own, HD_OK);
    assert_true(fabsf(o.temperature - 0.6f) < 1e-6f && fabsf(o.top_p - 0.9f) < 1e-6f);
    assert_int_equal(o.top_k, 50); /* what transformers has where a file says nothing */
    assert_int_equal(o.ending_count, 2);
    assert_int_equal(o.endings[1], 9);
    assert_int_equal(o.tokens, 200);
    o = applied("{\"do_sample\": true, \"top_k\": 20, \"min_p\": 0.1, \"repetition_penalty\": 1.1, "
                "\"no_repeat_ngram_size\": 3, \"max_new_tokens\": 64, \"eos_token_id\": 3}",
                (hd_generation_said){.temperature = true}, own, HD_OK);
    assert_true(fabsf(o.temperature - 0.5f) < 1e-6f && fabsf(o.min_p - 0.1f) < 1e-6f &&
                fabsf(o.repetition - 1.1f) < 1e-6f);
    assert_int_equal(o.top_k, 20);
    assert_int_equal(o.no_repeat, 3);
    assert_int_equal(o.tokens, 64);
    o = applied("{\"temperature\": 0.6}", (hd_generation_said){0}, own, HD_OK);
    assert_true(!(o.temperature > 0)); /* do_sample is false */
    o = applied("{\"bos_token_id\": 1, \"eos_token_id\": 2, \"_from_model_config\": true}",
                (hd_generation_said){0}, own, HD_OK);
    assert_int_equal(o.ending_count, 0);
    assert_true(fabsf(o.temperature - 0.5f) < 1e-6f);
    o = applied(
        "{\"max_length\": 30, \"min_length\": 4, \"min_new_tokens\": 2, \"bad_words_ids\": [[5], [6, 7]], "
        "\"suppress_tokens\": [8, 9], \"begin_suppress_tokens\": [10], \"forced_bos_token_id\": 11, "
        "\"forced_eos_token_id\": [12, 13], \"eos_token_id\": 14, \"stop_strings\": [\"x\", \"yz\"]}",
        (hd_generation_said){0}, own, HD_OK);
    assert_int_equal(o.tokens, 30);
    assert_int_equal(o.rules->max_length, 30);
    assert_int_equal(o.rules->min_length, 4);
    assert_int_equal(o.rules->min_drawn, 2);
    assert_int_equal(o.rules->run_count, 2);
    assert_int_equal(o.rules->runs[1].at[1], 7);
    assert_int_equal(o.rules->never.at[1], 9);
    assert_int_equal(o.rules->never_first.at[0], 10);
    assert_int_equal(o.rules->first.at[0], 11);
    assert_int_equal(o.rules->last.count, 2);
    assert_int_equal(o.rules->ends.at[0], 14);
    assert_int_equal(o.stops, 2);
    assert_string_equal(o.stop[1], "yz");
    o = applied("{\"max_length\": 30, \"max_new_tokens\": 5}", (hd_generation_said){0}, own, HD_OK);
    assert_int_equal(o.rules->max_length, 0); /* what is new counts before it */
    assert_int_equal(o.tokens, 5);
    o = applied("{\"max_length\": 30}", (hd_generation_said){.tokens = true}, own, HD_OK);
    assert_int_equal(o.rules->max_length, 0);
    assert_int_equal(o.tokens, 200);
    applied("{\"bad_words_ids\": [[]]}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"bad_words_ids\": [5]}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"bad_words_ids\": [[5, 100]]}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"suppress_tokens\": [-1]}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"forced_eos_token_id\": 1.5}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"max_length\": -1}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"stop_strings\": [\"\"]}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"eos_token_id\": 100}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"eos_token_id\": [\"a\"]}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{\"top_p\": 2}", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("[]", (hd_generation_said){0}, own, HD_EFORMAT);
    applied("{", (hd_generation_said){0}, own, HD_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_reads_only_what_is_new),
        cmocka_unit_test(the_cache_gives_what_reading_all_again_gives),
        cmocka_unit_test(old_turns_are_dropped_where_the_context_is_full),
        cmocka_unit_test(what_a_user_types_is_no_token),
        cmocka_unit_test(generation_config_is_obeyed),
        cmocka_unit_test(what_is_not_obeyed_is_named),
        cmocka_unit_test(texts_are_as_long_as_rules_say),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
