/* Models of music: nats are those of single steps, windows are whole bars of varied pieces and follow from
   the number of the update, melodies are forced, and a model may see more than it learned with. */
#include "check.h"
#include "task/pieces.h"

#include "decode/peek.h"
#include "model/stepper.h"
#include "task/language/generate.h"

/* Log-probabilities of a piece, note after note from the one before the first. */
static double stepping(hd_run *r, const hd_model_folder *l, const int32_t *ids, size_t count)
{
    const hd_lm *m = hd_model_folder_lm(l);
    hd_err err = {0};
    hd_stepper s = {0};
    double nats = 0;
    int32_t end = HD_END_ID, one = 1, row = 0;
    if (m->type->stepper(&s, m, &end, &one, 1, 0, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        hd_real logp = 0;
        hd_run_begin(r, HD_INFERENCE);
        if (i) assert_int_equal(s.pick(r, s.context, &row, 1), HD_OK);
        hd_tensor *y = i ? s.step(r, s.context, &ids[i - 1], 1) : s.join(r, s.context, 1);
        assert_true(hd_peek(r, y, &row, &ids[i], 1, &logp));
        nats -= (double)logp;
    }
    hd_stepper_release(&s);
    return nats;
}

static void nats_are_those_of_single_steps(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (hd_gpt_position k = 0; k < HD_GPT_POSITIONS; k++) {
        hd_err err = {0};
        hd_model_folder *l = musician(b, 256, k, 0);
        hd_stream_text text = stream_of_pieces();
        hd_fluency f;
        double expected = 0;
        if (hd_language_judge(&f, &r, l, &text, &err)) fail_msg("%s", err.text);
        assert_int_equal(f.tokens, 4 * (steps[0] + steps[1] + steps[2])); /* no ends */
        for (size_t i = 0; i < PIECES; i++)
            expected += stepping(&r, l, text.ids + text.begin[i], 4 * steps[i]);
        if (fabs(f.nats - expected) > 1e-4 * expected) fail_msg("%.9g, not %.9g", f.nats, expected);
        hd_stream_text_release(&text);
        folder_free(l);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Nothing that is a bar further back than the model sees changes a probability, and windows begin with bars.
 */
static void long_pieces_are_judged_by_bars(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *l = musician(b, 144, HD_GPT_SINUSOIDAL, 0);
    hd_stream_text text = stream_of_pieces();
    hd_fluency f;
    if (hd_language_judge(&f, &r, l, &text, &err)) fail_msg("%s", err.text);
    double expected =
        stepping(&r, l, text.ids + text.begin[0], 20) + stepping(&r, l, text.ids + text.begin[2], 68);
    /* the long one: a window of 144, then the last 16 tokens behind half a window and what its bar has before
     */
    expected += stepping(&r, l, text.ids + text.begin[1], 144);
    hd_lm_batch batch;
    hd_run_begin(&r, HD_INFERENCE);
    hd_windows_send(&r, &batch, hd_model_folder_lm(l), &text, &(hd_window){text.begin[1] + 64, 96, 80}, NULL,
                    1);
    expected += hd_loss_total(&r, hd_model_folder_lm(l)->type->lm.loss(&r, hd_model_folder_lm(l), &batch,
                                                                       NULL, &(hd_loss_opt){.coef = 1}));
    if (fabs(f.nats - expected) > 1e-4 * expected) fail_msg("%.9g, not %.9g", f.nats, expected);
    hd_stream_text_release(&text);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* What is skipped is seen: both parts together are the whole. */
static void what_is_skipped_is_seen(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t context = 64; context <= 256; context *= 2) {
        hd_err err = {0};
        hd_model_folder *l = musician(b, context, HD_GPT_PERIODIC, 0);
        hd_stream_text text = stream_of_pieces();
        hd_fluency all, rest;
        if (hd_language_judge(&all, &r, l, &text, &err)) fail_msg("%s", err.text);
        text.skip = 30;
        if (hd_language_judge(&rest, &r, l, &text, &err)) fail_msg("%s", err.text);
        assert_int_equal(rest.tokens, all.tokens - 20 - 30 - 30);
        double first = 0;
        for (size_t i = 0; i < PIECES; i++)
            first += stepping(&r, l, text.ids + text.begin[i], i ? 30 : 4 * steps[i]);
        if (fabs(all.nats - rest.nats - first) > 1e-3)
            fail_msg("%zu: %.9g, not %.9g", context, all.nats - rest.nats, first);
        hd_stream_text_release(&text);
        folder_free(l);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void windows_are_bars_of_varied_pieces(void **state)
{
    (void)state;
    hd_stream_text text = stream_of_pieces();
    hd_music_windows m, again;
    hd_window w[4], x[4];
    hd_train_options o = {.seed = 7, .transpose = 2};
    assert_int_equal(hd_music_windows_init(&m, &text, HD_MUSIC_CHORALE, 64, NULL), HD_OK);
    assert_int_equal(hd_music_windows_init(&again, &text, HD_MUSIC_CHORALE, 64, NULL), HD_OK);
    assert_int_equal(m.items, 1 + 3 + 2);
    m.all = again.all = (hd_music_ranges){{0}, {127, 127, 127, 127}}; /* room for all */
    size_t seen[PIECES] = {0};
    for (uint64_t at = 0; at < 30; at++) {
        assert_int_equal(hd_music_windows_draw(&m, w, 2, at, 3, &o, NULL), HD_OK);
        if (at % 7 == 0) { /* the same without those before it */
            assert_int_equal(hd_music_windows_draw(&again, x, 2, at, 3, &o, NULL), HD_OK);
            assert_int_equal(m.text.count, again.text.count);
            assert_memory_equal(m.text.ids, again.text.ids, m.text.count * sizeof *m.text.ids);
        }
        for (size_t i = 0; i < 2; i++) { /* somewhere in a piece, a whole number of bars behind its front */
            size_t found = 0;
            for (size_t p = 0; p < PIECES; p++)
                for (size_t from = 0; from < 4 * steps[p] + 1; from += 64)
                    for (int by = -2; by <= 2; by++) {
                        const int32_t *ids = text.ids + text.begin[p] + from;
                        size_t left = 4 * steps[p] + 1 - from, n = left < 64 ? left : 64, k = 0;
                        while (k < n && m.text.ids[w[i].from + k] == ids[k] + (ids[k] == HD_END_ID ? 0 : by))
                            k++;
                        if (k == n && w[i].len == n) found++, seen[p]++;
                    }
            assert_int_equal(found, 1);
        }
    }
    assert_int_equal(seen[0], 10); /* once in an epoch */
    assert_int_equal(seen[1], 30);
    assert_int_equal(seen[2], 20);
    hd_music_windows_release(&m);
    hd_music_windows_release(&again);
    hd_stream_text_release(&text);
}

static void computed_positions_are_there(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    for (hd_gpt_position k = HD_GPT_SINUSOIDAL; k < HD_GPT_POSITIONS; k++) {
        hd_model_folder *l = musician(b, 64, k, 0);
        const hd_gpt *g = hd_model_folder_lm(l)->model;
        const hd_real *row = g->front.position->t.data;
        const size_t wide = 16;
        double bar = 0, next = 0; /* how far a row is from that of the next bar, and from the next row */
        for (size_t i = 0; i < 100 * wide; i++) {
            bar += fabs((double)(row[i] - row[i + 64 * wide]));
            next += fabs((double)(row[i] - row[i + wide]));
        }
        assert_int_equal(g->front.position->t.shape[0], 512);
        assert_true(next > 10);
        assert_true(k == HD_GPT_PERIODIC ? bar < 1e-3 : bar > 10);
        folder_free(l);
    }
    hd_backend_free(b);
}

static void forced_tokens_are_taken_and_none_ends(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *l = musician(b, 64, HD_GPT_SINUSOIDAL, 0);
    int32_t forced[200];
    hd_generated g[2] = {0};
    for (size_t i = 0; i < COUNT_OF(forced); i++) forced[i] = i % 4 ? -1 : HD_PITCH_ID + 60 + (int32_t)i / 40;
    hd_generate_opt o = {.tokens = 200, .temperature = 1, .seed = 3, .samples = 2, .ends = true};
    o.forced = forced, o.forced_count = COUNT_OF(forced);
    if (hd_generate(g, &r, l, &(hd_line){"", 0}, 1, &o, &err)) fail_msg("%s", err.text);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(g[k].tokens, 200);
        for (size_t i = 0; i < 200; i++) {
            int32_t id = g[k].ids.at[1 + i];
            assert_true(i % 4 || id == forced[i]);
            assert_int_not_equal(id, HD_END_ID);
        }
    }
    assert_memory_not_equal(g[0].ids.at, g[1].ids.at, 200 * sizeof(int32_t));
    hd_generated_release(&g[0]);
    hd_generated_release(&g[1]);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_model_may_see_more_than_it_learned_with(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *l = musician(b, 64, HD_GPT_SINUSOIDAL, 0);
    assert_int_equal(hd_language_set_context(l, 512, &err), HD_OK);
    assert_int_equal(hd_model_folder_lm(l)->opt.context, 512);
    assert_int_equal(hd_language_set_context(l, 513, &err), HD_EARG);
    assert_string_equal(err.text, "--context 513: the model sees at most 512 tokens");
    folder_free(l);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nats_are_those_of_single_steps),
        cmocka_unit_test(long_pieces_are_judged_by_bars),
        cmocka_unit_test(what_is_skipped_is_seen),
        cmocka_unit_test(windows_are_bars_of_varied_pieces),
        cmocka_unit_test(computed_positions_are_there),
        cmocka_unit_test(forced_tokens_are_taken_and_none_ends),
        cmocka_unit_test(a_model_may_see_more_than_it_learned_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
