/* Texts that join while others are written, with prompts that are read in pieces, are those that each would
   be alone, bit for bit. */
#include "check.h"

#include "task/language/writer.h"
#include "task/speaker.h"

enum { ASKS = 60, SAMPLES = 3 };

typedef struct ask {
    hd_line prompt;
    hd_generate_opt opt;
    hd_generated alone[SAMPLES], out[SAMPLES];
    bool dropped, done;
} ask;

static ask all[ASKS];

static void note(void *tag)
{
    ask *a = tag;
    assert_false(a->done || a->dropped);
    a->done = true;
}

static void lay_out(hd_run *r, const hd_model_folder *f)
{
    static const char *const text[] = {"the cat",
                                       "",
                                       "a dog sat on the log",
                                       "where is the dog? the dog is on the log",
                                       "the mat,",
                                       "the cat sat on the mat\nthe dog sat"};
    hd_err err = {0};
    for (size_t i = 0; i < ASKS; i++) {
        ask *a = &all[i];
        const char *t = text[i % COUNT_OF(text)];
        *a = (ask){.prompt = {t, strlen(t)}};
        a->opt = (hd_generate_opt){.tokens = 1 + i * 7 % 25,
                                   .temperature = i % 3 ? 0.9f : 0,
                                   .top_p = i % 4 ? 0 : 0.9f,
                                   .repetition = i % 5 ? 0 : 1.3f,
                                   .seed = i,
                                   .samples = 1 + i % SAMPLES};
        if (hd_generate(a->alone, r, f, &a->prompt, 1, &a->opt, &err)) fail_msg("%s", err.text);
    }
}

static void assert_same(const hd_generated *a, const hd_generated *b)
{
    assert_int_equal(a->tokens, b->tokens);
    assert_int_equal(a->text.size, b->text.size);
    if (a->text.size) assert_memory_equal(a->text.data, b->text.data, a->text.size);
    assert_memory_equal(&a->logp, &b->logp, sizeof a->logp);
}

/* How asks come and go: one by one every few turns; every `drop`th is dropped two turns later; each rests for
   three turns of 3 * `rest`, unless that is 0. */
typedef struct traffic {
    size_t piece, every, drop, rest;
    bool share;
} traffic;

static void let_rest(hd_writer *w, const traffic *t, size_t turn, size_t asks)
{
    hd_err err = {0};
    for (size_t i = 0; t->rest && i < asks; i++)
        if (hd_writer_rest(w, &all[i], (turn / 3 + i) % t->rest == 0, &err)) fail_msg("%s", err.text);
}

static void run_writer(hd_lm_kind kind, traffic t)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *f = speaker(b, kind, HD_TOKENIZER_words);
    const hd_lm *m = hd_model_folder_lm(f);
    hd_stepper stepper = {0};
    hd_writer *w = NULL;
    size_t next = 0;
    lay_out(&r, f);
    assert_int_equal(m->type->stepper(&stepper, m, NULL, NULL, 0, 0, &err), HD_OK);
    const hd_writer_opt o = {.seats = 8, .piece = t.piece, .share = t.share, .penalize = true};
    assert_int_equal(hd_writer_new(&w, &r, f, &stepper, &o, &err), HD_OK);
    for (size_t turn = 0; next < ASKS || hd_writer_count(w); turn++) {
        if (turn % t.every == 0 && next < ASKS) {
            ask *a = &all[next++];
            const hd_writer_ask asks = {
                .prompt = &a->prompt, .prompts = 1, .opt = &a->opt, .out = a->out, .done = note, .tag = a};
            if (hd_writer_add(w, &asks, &err)) fail_msg("%s", err.text);
        }
        ask *left = next > 2 && t.drop && next % t.drop == 0 ? &all[next - 2] : NULL;
        if (left && !left->done && !left->dropped) left->dropped = true, hd_writer_drop(w, left);
        let_rest(w, &t, turn, next);
        if (hd_writer_turn(w, &err)) fail_msg("%s", err.text);
        assert_true(turn < 10000);
    }
    size_t dropped = 0;
    for (size_t i = 0; i < ASKS; i++) {
        ask *a = &all[i];
        dropped += a->dropped;
        assert_true(a->done || a->dropped);
        for (size_t j = 0; j < SAMPLES; j++) {
            if (a->done) assert_same(&a->alone[j], &a->out[j]);
            hd_generated_release(&a->alone[j]);
            hd_generated_release(&a->out[j]);
        }
    }
    assert_true(!t.drop || dropped);
    hd_writer_free(w);
    folder_free(f);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void whoever_joins_is_written_as_alone(void **state)
{
    (void)state;
    run_writer(HD_LM_gpt, (traffic){.every = 2});
    run_writer(HD_LM_lstm, (traffic){.every = 1, .drop = 3});
    run_writer(HD_LM_ngram, (traffic){.every = 3, .drop = 2});
}

/* Texts are longer than what the model sees at once: what one had forgotten stays so. */
static void whoever_rests_is_written_as_without(void **state)
{
    (void)state;
    run_writer(HD_LM_gpt, (traffic){.every = 1, .rest = 2});
    run_writer(HD_LM_gpt, (traffic){.every = 1, .rest = 2, .piece = 3, .share = true});
    run_writer(HD_LM_gpt, (traffic){.every = 2, .rest = 4, .piece = 1, .drop = 3});
    run_writer(HD_LM_lstm, (traffic){.every = 1, .rest = 3});
    run_writer(HD_LM_ngram, (traffic){.every = 1, .rest = 2});
    run_writer(HD_LM_ffnn, (traffic){.every = 1, .rest = 2});
}

static void prompts_in_pieces_are_read_as_whole_ones(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 9; piece += 2) {
        run_writer(HD_LM_gpt, (traffic){.piece = piece, .every = 1});
        run_writer(HD_LM_gpt, (traffic){.piece = piece, .every = 3, .drop = 3});
    }
}

/* A long prompt takes turns, in which another text goes on. */
static void long_prompts_take_turns(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *f = speaker(b, HD_LM_gpt, HD_TOKENIZER_words);
    const hd_lm *m = hd_model_folder_lm(f);
    hd_stepper stepper = {0};
    hd_writer *w = NULL;
    ask slow = {.prompt = {"the cat sat on the mat", 22}, .opt = {.tokens = 1}},
        quick = {.prompt = {"the", 3}, .opt = {.tokens = 4}};
    assert_int_equal(m->type->stepper(&stepper, m, NULL, NULL, 0, 0, &err), HD_OK);
    assert_int_equal(hd_writer_new(&w, &r, f, &stepper, &(hd_writer_opt){.piece = 1}, &err), HD_OK);
    ask *both[] = {&slow, &quick};
    for (int i = 0; i < 2; i++) {
        const hd_writer_ask asks = {.prompt = &both[i]->prompt,
                                    .prompts = 1,
                                    .opt = &both[i]->opt,
                                    .out = both[i]->out,
                                    .done = note,
                                    .tag = both[i]};
        assert_int_equal(hd_writer_add(w, &asks, &err), HD_OK);
    }
    int turns = 0;
    for (; !slow.done; turns++) assert_int_equal(hd_writer_turn(w, &err), HD_OK);
    assert_true(quick.done);
    assert_in_range(turns, 6, 8);
    hd_writer_free(w);
    for (int i = 0; i < 2; i++) hd_generated_release(&both[i]->out[0]);
    folder_free(f);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- texts that begin alike -- */

static char shared_text[16][400];

/* Prompts of about 20 to 70 tokens that are the same up to a place that differs. */
static hd_line shared_prompt(size_t i)
{
    char *to = shared_text[i % 16];
    *to = 0;
    for (size_t k = 0; k < 5 + i % 3 * 4; k++)
        strcat(to, k == i % 5 * 2 + 3 ? "where is the dog? " : "the cat sat on the mat, ");
    return (hd_line){to, strlen(to)};
}

/* Turns until an ask is written. */
static size_t turns_of(hd_writer *w, ask *a)
{
    hd_err err = {0};
    size_t turns = 0;
    const hd_writer_ask asks = {
        .prompt = &a->prompt, .prompts = 1, .opt = &a->opt, .out = a->out, .done = note, .tag = a};
    if (hd_writer_add(w, &asks, &err)) fail_msg("%s", err.text);
    for (; !a->done; turns++)
        if (hd_writer_turn(w, &err)) fail_msg("%s", err.text);
    return turns;
}

static void texts_that_begin_alike_share_what_was_read(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *f = speaker_seeing(b, HD_LM_gpt, HD_TOKENIZER_words, 96);
    const hd_lm *m = hd_model_folder_lm(f);
    hd_stepper stepper = {0};
    hd_writer *w = NULL;
    assert_int_equal(m->type->stepper(&stepper, m, NULL, NULL, 0, 0, &err), HD_OK);
    const hd_writer_opt o = {.seats = 8, .piece = 4, .share = true, .penalize = true};
    assert_int_equal(hd_writer_new(&w, &r, f, &stepper, &o, &err), HD_OK);
    /* the second time nothing but the last block is read */
    ask again[2] = {{.prompt = shared_prompt(2), .opt = {.tokens = 3}},
                    {.prompt = shared_prompt(2), .opt = {.tokens = 3}}};
    size_t first = turns_of(w, &again[0]), second = turns_of(w, &again[1]);
    assert_true(first > 15);
    assert_in_range(second, 3, 7);
    assert_same(&again[0].out[0], &again[1].out[0]);
    for (size_t i = 0; i < ASKS; i++) { /* many, one by one and side by side, more than are kept */
        ask *a = &all[i];
        *a =
            (ask){.prompt = shared_prompt(i),
                  .opt = {.tokens = 2 + i * 5 % 40, .temperature = 1, .seed = i, .samples = 1 + i % SAMPLES}};
        const hd_writer_ask asks = {
            .prompt = &a->prompt, .prompts = 1, .opt = &a->opt, .out = a->out, .done = note, .tag = a};
        if (hd_generate(a->alone, &r, f, &a->prompt, 1, &a->opt, &err) || hd_writer_add(w, &asks, &err))
            fail_msg("%s", err.text);
        for (size_t k = 0; k < i % 7; k++)
            if (hd_writer_turn(w, &err)) fail_msg("%s", err.text);
    }
    while (hd_writer_count(w))
        if (hd_writer_turn(w, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < ASKS * SAMPLES; i++) {
        assert_same(&all[i / SAMPLES].alone[i % SAMPLES], &all[i / SAMPLES].out[i % SAMPLES]);
        hd_generated_release(&all[i / SAMPLES].alone[i % SAMPLES]);
        hd_generated_release(&all[i / SAMPLES].out[i % SAMPLES]);
    }
    for (int i = 0; i < 2; i++) hd_generated_release(&again[i].out[0]);
    hd_writer_free(w);
    folder_free(f);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_joins_is_written_as_alone),
        cmocka_unit_test(whoever_rests_is_written_as_without),
        cmocka_unit_test(prompts_in_pieces_are_read_as_whole_ones),
        cmocka_unit_test(long_prompts_take_turns),
        cmocka_unit_test(texts_that_begin_alike_share_what_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
