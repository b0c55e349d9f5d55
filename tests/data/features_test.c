/* Features of sounds: against transformers' extractors, in pieces against the whole, and of sounds that have
   next to nothing in them. */
#include "check.h"
#include "outcome.h"
#include "sounds.h"

#include "data/sound/features.h"

enum { NOISE = 40000 };

static float *noise_of(size_t count)
{
    float *x = malloc(count * sizeof *x);
    fill_noise(x, count);
    for (size_t i = 0; i < count; i++) x[i] *= 0.3f;
    return x;
}

static float *features_of(const hd_features_opt *o, const float *sample, size_t count, size_t *frames)
{
    hd_err err = {0};
    *frames = hd_features_frames(o, count);
    float *out = malloc((*frames * (size_t)o->mels + 1) * sizeof *out);
    if (hd_features_of(out, o, sample, count, &err)) fail_msg("%s", err.text);
    return out;
}

/* The reference's golden numbers: six places. */
static void whispers_golden_signal(void **state)
{
    float x[16000];
    size_t frames;
    (void)state;
    for (int i = 0; i < 16000; i++)
        x[i] = (float)(.5 * sin(2 * M_PI * 440 * i / 16000) + .1 * sin(2 * M_PI * 3000 * i / 16000));
    const hd_features_opt o = hd_features_usual(HD_FEATURES_WHISPER, 16000);
    float *y = features_of(&o, x, 16000, &frames);
    assert_int_equal(frames, 3000);
    assert_float_equal(y[0], .988746, 2e-6);
    assert_float_equal(y[10], 1.337244, 2e-6);
    assert_float_equal(y[50 * 80 + 10], 1.348738, 2e-6);
    assert_float_equal(y[50 * 80 + 40], -.561796, 2e-6);
    assert_float_equal(y[2999 * 80], -.561796, 2e-6);
    free(y);
}

/* Noise through WhisperFeatureExtractor, Speech2TextFeatureExtractor (without torchaudio, in double) and
   audio_utils.spectrogram of transformers 5.22: five or six places. */
static void transformers_extractors(void **state)
{
    static const struct {
        hd_features_kind kind;
        int rate, mels, normalize;
        size_t frames;
        struct {
            size_t frame, bin;
            double value;
        } at[4];
    } cases[] = {
        {HD_FEATURES_WHISPER,
         16000,
         80,
         0,
         3000,
         {{0, 0, .400465}, {0, 10, .528319}, {50, 10, .740107}, {50, 40, .800963}}},
        {HD_FEATURES_WHISPER,
         16000,
         128,
         0,
         3000,
         {{0, 0, .324706}, {0, 10, .598346}, {50, 10, .671996}, {50, 40, .635495}}},
        {HD_FEATURES_KALDI, 16000, 80, 0, 248, {{0, 0, 15.23638}, {1, 40, 22.09074}, {247, 79, 25.91878}}},
        {HD_FEATURES_KALDI, 16000, 80, 1, 248, {{0, 0, .60129}, {1, 40, -.34070}, {247, 79, .42875}}},
        {HD_FEATURES_LOG_MEL, 8000, 40, 0, 500, {{0, 0, -5.07681}, {3, 7, -4.38153}, {499, 39, -2.95085}}},
        {HD_FEATURES_LOG_MEL, 16000, 40, 0, 250, {{0, 0, -2.81389}, {3, 7, -1.67163}, {249, 39, -2.29716}}},
    };
    float *x = noise_of(NOISE);
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t frames;
        hd_features_opt o = hd_features_usual(cases[i].kind, cases[i].rate);
        o.mels = cases[i].mels, o.normalize = cases[i].normalize;
        float *y = features_of(&o, x, NOISE, &frames);
        assert_int_equal(frames, cases[i].frames);
        for (size_t k = 0; k < 4 && cases[i].at[k].value != 0; k++) {
            const double got = (double)y[cases[i].at[k].frame * (size_t)o.mels + cases[i].at[k].bin];
            if (!(fabs(got - cases[i].at[k].value) < 2e-5))
                fail_msg("case %zu: %f instead of %f", i, got, cases[i].at[k].value);
        }
        free(y);
    }
    free(x);
}

static void normalized_bins_have_mean_0_and_deviation_1(void **state)
{
    size_t frames;
    float *x = noise_of(NOISE);
    (void)state;
    for (int kind = HD_FEATURES_KALDI; kind <= HD_FEATURES_LOG_MEL; kind++) {
        const hd_features_opt o = hd_features_usual((hd_features_kind)kind, 16000);
        const size_t mels = (size_t)o.mels;
        assert_true(o.normalize);
        float *y = features_of(&o, x, NOISE, &frames);
        for (size_t m = 0; m < mels; m += 13) {
            double sum = 0, square = 0;
            for (size_t t = 0; t < frames; t++)
                sum += (double)y[t * mels + m], square += (double)y[t * mels + m] * (double)y[t * mels + m];
            assert_true(fabs(sum / (double)frames) < 1e-6);
            assert_true(fabs(square / (double)frames - 1) < 1e-5);
        }
        free(y);
        float silence[16000] = {0};
        y = features_of(&o, silence, 16000, &frames);
        for (size_t i = 0; i < frames * mels; i++) assert_float_equal(y[i], 0, 0);
        free(y);
    }
    free(x);
}

/* Normalized together, bins keep what sets them apart: a hum that never changes is still there. */
static void bins_that_are_normalized_together_differ(void **state)
{
    size_t frames;
    float hum[8000];
    hd_features_opt o = hd_features_usual(HD_FEATURES_LOG_MEL, 16000);
    const size_t mels = (size_t)o.mels;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hum); i++) hum[i] = (float)(0.3 * sin(0.1 * (double)i));
    o.together = true;
    float *y = features_of(&o, hum, COUNT_OF(hum), &frames);
    double sum = 0, square = 0, most = 0, least = 0;
    for (size_t i = 0; i < frames * mels; i++) sum += (double)y[i], square += (double)y[i] * (double)y[i];
    assert_true(fabs(sum) < 1e-5 * (double)(frames * mels));
    assert_true(fabs(square / (double)(frames * mels) - 1) < 1e-5);
    for (size_t m = 0; m < mels; m++) { /* of the frame in the middle */
        const double x = (double)y[frames / 2 * mels + m];
        most = x > most ? x : most, least = x < least ? x : least;
    }
    assert_true(most - least > 2);
    free(y);
}

/* Nothing is more than 8 decades below the largest, so that zeros do not outweigh the rest. */
static void zeros_of_a_file_are_quiet_but_no_more(void **state)
{
    size_t frames;
    float tone[16000] = {0};
    hd_features_opt o = hd_features_usual(HD_FEATURES_LOG_MEL, 16000);
    (void)state;
    for (size_t i = 0; i < 1000; i++) tone[i] = (float)(0.9 * sin(0.1 * (double)i));
    o.normalize = false;
    float *raw = features_of(&o, tone, COUNT_OF(tone), &frames);
    o.normalize = o.together = true;
    float *y = features_of(&o, tone, COUNT_OF(tone), &frames);
    const size_t n = frames * (size_t)o.mels;
    double largest = -100, sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, (double)raw[i]);
    const double least = largest - 8 * log(10);
    for (size_t i = 0; i < n; i++) sum += fmax((double)raw[i], least);
    for (size_t i = 0; i < n; i++) square += pow(fmax((double)raw[i], least) - sum / (double)n, 2);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((fmax((double)raw[i], least) - sum / (double)n) / sqrt(square / (double)n) -
                         (double)y[i]) < 1e-4);
    free(raw), free(y);
}

/* Any frames, of memory or of a file, are the bytes that the whole has. */
static void parts_are_the_whole(void **state)
{
    enum { COUNT = 30000, TOTAL = 40000, MELS = 23 };
    float *x = noise_of(COUNT);
    double *value = malloc(COUNT * sizeof *value);
    (void)state;
    for (size_t i = 0; i < COUNT; i++) value[i] = (double)x[i];
    made_wav w = make_wav(&(wav_kind){3, 32, 1, 16000, 0}, value, COUNT);
    for (int kind = 0; kind < HD_FEATURES_KINDS; kind++) {
        hd_err err = {0};
        hd_features *f = NULL;
        hd_sound_file *file = NULL;
        hd_features_opt o = hd_features_usual((hd_features_kind)kind, 16000);
        o.mels = MELS, o.chunk = 0;
        const size_t frames = hd_features_frames(&o, TOTAL);
        float *whole = malloc(frames * MELS * sizeof *whole), part[71 * MELS];
        assert_int_equal(hd_features_new(&f, &o, &err), HD_OK);
        assert_int_equal(hd_sound_file_over(&file, w.bytes, w.size, "a.wav", 16000, &err), HD_OK);
        const hd_features_input memory = {.sample = x, .count = COUNT, .total = TOTAL},
                                from = {.file = file, .count = COUNT, .total = TOTAL};
        assert_int_equal(hd_features_part(f, whole, &memory, 0, frames, &err), HD_OK);
        for (size_t first = 0, turn = 0; first < frames; first += 67, turn++) {
            const size_t n = frames - first < 71 ? frames - first : 71;
            assert_int_equal(hd_features_part(f, part, turn % 2 ? &from : &memory, first, n, &err), HD_OK);
            assert_memory_equal(part, whole + first * MELS, n * MELS * sizeof *part);
        }
        hd_sound_file_close(file);
        hd_features_free(f);
        free(whole);
    }
    free(w.bytes);
    free(value);
    free(x);
}

static void short_sounds_have_features_or_are_refused(void **state)
{
    const float one[1] = {0.5f};
    size_t frames;
    hd_err err = {0};
    (void)state;
    hd_features_opt o = hd_features_usual(HD_FEATURES_LOG_MEL, 16000);
    o.normalize = false;
    float *y = features_of(&o, one, 1, &frames), constant[400];
    assert_int_equal(frames, 1);
    for (int i = 0; i < 400; i++) constant[i] = 0.5f;
    float *z = features_of(&o, constant, 160, &frames); /* one sample, reflected, is a constant */
    assert_int_equal(frames, 1);
    assert_memory_equal(y, z, 40 * sizeof *y);
    free(y);
    free(z);
    o = hd_features_usual(HD_FEATURES_WHISPER, 16000);
    y = features_of(&o, one, 1, &frames);
    assert_int_equal(frames, 3000);
    for (size_t i = 0; i < frames * 80; i++) assert_true(isfinite(y[i]));
    free(y);
    o.chunk = 0;
    assert_int_equal(hd_features_frames(&o, 159), 0);
    o = hd_features_usual(HD_FEATURES_KALDI, 16000);
    assert_int_equal(hd_features_frames(&o, 400), 1);
    assert_int_equal(hd_features_frames(&o, 399), 0);
    assert_int_equal(hd_features_of(constant, &o, constant, 399, &err), HD_EARG);
    assert_non_null(strstr(err.text, "a sound of 399 samples is too short: a frame needs 400"));
}

static void a_long_sound_is_cut_to_the_chunk(void **state)
{
    size_t frames, same;
    float *x = noise_of(NOISE);
    (void)state;
    hd_features_opt o = hd_features_usual(HD_FEATURES_WHISPER, 16000);
    o.chunk = 1;
    float *y = features_of(&o, x, NOISE, &frames), *z = features_of(&o, x, 16000, &same);
    assert_int_equal(frames, 100);
    assert_int_equal(same, 100);
    assert_memory_equal(y, z, 100 * 80 * sizeof *y);
    free(y);
    free(z);
    free(x);
}

static void impossible_options_are_refused(void **state)
{
    const hd_features_opt usual = hd_features_usual(HD_FEATURES_LOG_MEL, 16000);
    hd_features_opt bad[14];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) bad[i] = usual;
    bad[0].rate = 999, bad[1].rate = 768001, bad[2].window = 1, bad[3].window = 4097, bad[4].hop = 0;
    bad[5].hop = 65537, bad[6].mels = 0, bad[7].mels = 513, bad[8].low = -1, bad[9].low = 8000;
    bad[10].high = 8001, bad[11].chunk = -1, bad[12].chunk = 1e9, bad[13].low = NAN;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_features *f = NULL;
        if (hd_features_new(&f, &bad[i], &err) != HD_EARG) fail_msg("case %zu is taken", i);
        assert_null(f);
    }
    for (int kind = 0; kind < HD_FEATURES_KINDS; kind++)
        assert_int_equal(hd_features_kind_of(hd_features_name((hd_features_kind)kind)), kind);
    assert_int_equal(hd_features_kind_of("mfcc"), HD_FEATURES_KINDS);
}

static void every_failed_allocation_is_told(void **state)
{
    float x[1000] = {0}, y[100 * 40];
    const hd_features_opt o = hd_features_usual(HD_FEATURES_LOG_MEL, 8000);
    const size_t blocks = hd_mem_now().blocks;
    hd_status s = HD_ENOMEM;
    size_t n = 0;
    (void)state;
    while (s) {
        hd_err err = {0};
        hd_mem_fail_at(++n);
        s = hd_features_of(y, &o, x, 1000, &err);
        hd_mem_fail_at(0);
        assert_true(!s || s == HD_ENOMEM);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whispers_golden_signal),
        cmocka_unit_test(transformers_extractors),
        cmocka_unit_test(normalized_bins_have_mean_0_and_deviation_1),
        cmocka_unit_test(bins_that_are_normalized_together_differ),
        cmocka_unit_test(zeros_of_a_file_are_quiet_but_no_more),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(short_sounds_have_features_or_are_refused),
        cmocka_unit_test(a_long_sound_is_cut_to_the_chunk),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
