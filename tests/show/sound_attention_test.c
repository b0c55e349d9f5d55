/* Attention of small recognizers over sound: every kind of encoder, times and their names, rows that add up.
 */
#include "model/sound_toy.h"
#include "one_run.h"
#include "show/attention.h"

static const int32_t target[] = {3, 7, 5, ST_END};

static void every_letter_attends_to_times(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_err err = {0};
        hd_encdec *m = st_model(backend, k, 8, 1);
        hd_model model = {&hd_model_encdec, &m->params, m};
        hd_frames_host frames = st_sounds(3, 1);
        hd_attention_sound sound = {.frames = &frames, .seconds = 0.19};
        hd_attention_ask ask = {.sound = &sound,
                                .name = "a/b.wav",
                                .start = ST_START,
                                .target = target,
                                .targets = COUNT_OF(target),
                                .translation = {"xyz", 3}};
        hd_attention_maps a;
        if (hd_attention_collect(&a, &run, &model, &ask, &err))
            fail_msg("%s: %s", st_kinds[k].name, err.text);
        const hd_attention_part *p = &a.part[HD_ATTENTION_CROSS];
        assert_int_equal(a.targets, COUNT_OF(target));
        assert_true(a.sources == p->cols && a.scene.width == p->cols && a.scene.height == 1);
        assert_true(p->cols >= 2 && p->cols <= 19);
        assert_true(a.scene.seconds == 0.19 && a.scene.image.width == 19 && a.scene.image.height == ST_BINS);
        char last[32];
        snprintf(last, sizeof last, "%.2f s", 0.19 * (1 - 0.5 / (double)p->cols));
        assert_string_equal(a.source[a.sources - 1].piece, last);
        assert_string_equal(a.sentence, "a/b.wav");
        assert_string_equal(a.translation, "xyz");
        for (size_t i = 0; i < p->layers * p->heads * p->rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < p->cols; j++) sum += (double)p->weight[i * p->cols + j];
            assert_true(fabs(sum - 1) < 1e-5);
        }
        hd_attention_release(&a);
        hd_encdec_free(m);
    }
}

/* A prompt and padding are read but not shown: what is left are rows and columns of the whole. */
static void a_prompt_and_padding_are_not_shown(void **state)
{
    (void)state;
    static const int32_t whole[] = {4, 6, 3, 7, 5, ST_END};
    static const hd_attention_head aligned[] = {{0, 1}, {1, 0}, {1, 1}};
    enum { PROMPT = 2, HEARD = 11 };
    hd_err err = {0};
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        if (strcmp(st_kinds[k].name, "whisper")) continue;
        hd_encdec *m = st_model(backend, k, 8, 1);
        hd_model model = {&hd_model_encdec, &m->params, m};
        hd_frames_host frames = st_sounds(3, 1);
        hd_attention_sound all = {.frames = &frames, .seconds = 0.19},
                           part = {.frames = &frames, .seconds = 0.11, .begin = 30, .heard = HEARD};
        hd_attention_ask ask = {
            .sound = &all, .start = ST_START, .target = whole, .targets = COUNT_OF(whole)};
        hd_attention_maps a, b;
        hd_attention_map map;
        char title[120];
        if (hd_attention_collect(&a, &run, &model, &ask, &err)) fail_msg("%s", err.text);
        ask.sound = &part, ask.kinds = 1 << HD_ATTENTION_CROSS | 1 << HD_ATTENTION_DECODER;
        ask.prompt = (const int32_t[]){ST_START, 4}, ask.prompts = PROMPT, ask.start = 6;
        ask.target = whole + PROMPT, ask.targets = COUNT_OF(whole) - PROMPT;
        ask.aligned = aligned, ask.alignings = COUNT_OF(aligned);
        if (hd_attention_collect(&b, &run, &model, &ask, &err)) fail_msg("%s", err.text);
        const hd_attention_part *p = &a.part[HD_ATTENTION_CROSS], *q = &b.part[HD_ATTENTION_CROSS];
        assert_true(b.targets == COUNT_OF(whole) - PROMPT && q->rows == b.targets);
        assert_int_equal(q->cols, (HEARD + 1) / 2);
        assert_int_equal(b.scene.image.width, HEARD);
        assert_string_equal(b.source[0].piece, "30.01 s");
        assert_int_equal(b.part[HD_ATTENTION_ENCODER].layers, 0);
        for (size_t i = 0; i < q->layers * q->heads * q->rows * q->cols; i++) {
            size_t map_of = i / (q->rows * q->cols), row = i / q->cols % q->rows, col = i % q->cols;
            assert_true(q->weight[i] == p->weight[(map_of * p->rows + row + PROMPT) * p->cols + col]);
        }
        p = &a.part[HD_ATTENTION_DECODER], q = &b.part[HD_ATTENTION_DECODER];
        assert_true(q->cols == b.targets);
        assert_true(q->weight[q->cols] == p->weight[(PROMPT + 1) * p->cols + PROMPT]);

        assert_int_equal(hd_attention_map_of(&map, &b, &(hd_attention_pick){0}, &err), HD_OK);
        q = &b.part[HD_ATTENTION_CROSS];
        double mean = 0;
        for (size_t h = 0; h < COUNT_OF(aligned); h++)
            mean += (double)hd_attention_at(q, (size_t)aligned[h].layer, (size_t)aligned[h].head)[3] / 3;
        assert_true(fabs(mean - (double)map.weight[3]) < 1e-7);
        assert_string_equal(hd_attention_map_title(&map, title, sizeof title),
                            "Cross-attention, mean of 3 alignment heads");
        hd_attention_map_release(&map);
        assert_int_equal(hd_attention_map_of(&map, &b, &(hd_attention_pick){.layer = 1}, &err), HD_OK);
        assert_true(strstr(hd_attention_map_title(&map, title, sizeof title), "layer 1 of 2, mean of 2"));
        hd_attention_map_release(&map);
        hd_attention_release(&a);
        hd_attention_release(&b);
        ask.aligned = &(const hd_attention_head){2, 0}, ask.alignings = 1;
        assert_int_equal(hd_attention_collect(&b, &run, &model, &ask, &err), HD_EARG);
        assert_string_equal(err.text, "attention: there is no head 0 in layer 2");
        hd_encdec_free(m);
        return;
    }
    fail_msg("no kind is called whisper");
}

static void sound_and_text_are_not_mixed_up(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_encdec *m = st_model(backend, 3, 8, 1);
    hd_model model = {&hd_model_encdec, &m->params, m};
    hd_attention_ask ask = {
        .source = target, .sources = 4, .start = ST_START, .target = target, .targets = COUNT_OF(target)};
    hd_attention_maps a;
    assert_int_equal(hd_attention_collect(&a, &run, &model, &ask, &err), HD_EARG);
    assert_string_equal(err.text, "attention: the model reads nothing but sound");
    hd_encdec_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_letter_attends_to_times),
        cmocka_unit_test(a_prompt_and_padding_are_not_shown),
        cmocka_unit_test(sound_and_text_are_not_mixed_up),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
