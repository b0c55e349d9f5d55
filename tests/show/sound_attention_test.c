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
        hd_attention_sound sound = {&frames, 0.19};
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
        cmocka_unit_test(sound_and_text_are_not_mixed_up),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
