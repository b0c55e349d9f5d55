/* Batches of sounds and SpecAugment: every sound once in an epoch, similar lengths together, the same bytes
   for any number of threads and after a jump; failures are told by the call that needs the sound. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"
#include "sounds.h"

#include "data/sound/loader.h"

enum { SOUNDS = 60, FRAMES = 400 };

static hd_sound_set sounds;

static int make_sounds(void **state)
{
    char *text = calloc(1, 4000);
    hd_err err = {0};
    if (scratch_make(state)) return -1;
    for (int i = 0; i < SOUNDS; i++) {
        const size_t count = (size_t)(700 + 97 * (i * 37 % SOUNDS));
        float *noise = malloc(count * sizeof *noise);
        double *value = malloc(count * sizeof *value);
        fill_noise(noise, count);
        for (size_t n = 0; n < count; n++) value[n] = (double)noise[n] * (i + 1) / (SOUNDS + 1);
        made_wav w = make_wav(&(wav_kind){1, 16, 1, i % 3 ? 8000 : 11025, 0}, value, count);
        put_bytes(at("%d.wav", i), w.bytes, w.size);
        snprintf(text + strlen(text), 4000 - strlen(text), "%d.wav\tsound %d\n", i, i);
        free(w.bytes), free(noise), free(value);
    }
    put_bytes(at("list.tsv"), text, strlen(text));
    free(text);
    return hd_sound_set_open(&sounds, at("list.tsv"), false, &err) ? -1 : 0;
}

static int drop_sounds(void **state)
{
    hd_sound_set_release(&sounds);
    return scratch_remove(state);
}

static const hd_spec_augment masks = {
    .warp = 5, .bins = 8, .bin_masks = 2, .frames = 20, .frame_masks = 2, .share = 0.15};

static hd_sound_loader_opt usual(int threads)
{
    return (hd_sound_loader_opt){.set = &sounds,
                                 .features = hd_features_usual(HD_FEATURES_LOG_MEL, 8000),
                                 .augment = &masks,
                                 .seed = 7,
                                 .frames = FRAMES,
                                 .threads = threads};
}

static hd_sound_loader *loader_of(hd_sound_loader_opt o)
{
    hd_err err = {0};
    hd_sound_loader *l = NULL;
    if (hd_sound_loader_new(&l, &o, &err)) fail_msg("%s", err.text);
    return l;
}

static uint64_t hash_of(uint64_t h, const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < size; i++) h = (h ^ b[i]) * 0x100000001b3u;
    return h;
}

/* The next batch of the source, whole, as a number. */
static uint64_t next_batch(hd_sound_loader *l, const hd_sound_batch **out, hd_position *after)
{
    hd_err err = {0};
    hd_source *s = hd_sound_loader_source(l);
    if (s->next(s, after, &err) || hd_sound_loader_get(l, 0, hd_sound_loader_now(l)->items, out, &err))
        fail_msg("%s", err.text);
    const hd_sound_batch *b = *out;
    uint64_t h = hash_of(1, b->which, b->items * sizeof *b->which);
    h = hash_of(h, b->frames, b->items * sizeof *b->frames);
    return hash_of(h, b->value, b->rows * b->mels * sizeof *b->value);
}

static void an_epoch_has_every_sound_once_and_lengths_are_similar(void **state)
{
    hd_sound_loader *l = loader_of(usual(2));
    (void)state;
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        int seen[SOUNDS] = {0};
        size_t spread = 0, batches = hd_sound_loader_batches(l, epoch);
        hd_position after;
        const hd_sound_batch *b;
        assert_true(batches > 3);
        for (size_t n = 0; n < batches; n++) {
            next_batch(l, &b, &after);
            size_t rows = 0;
            int32_t least = INT32_MAX, most = 0;
            for (size_t i = 0; i < b->items; i++) {
                seen[b->which[i]]++;
                rows += (size_t)b->frames[i];
                least = b->frames[i] < least ? b->frames[i] : least;
                most = b->frames[i] > most ? b->frames[i] : most;
            }
            assert_int_equal(rows, b->rows);
            assert_true(rows <= FRAMES);
            spread += (size_t)(most - least);
        }
        assert_int_equal(after.epoch, epoch + 1);
        assert_int_equal(after.batch, 0);
        for (size_t i = 0; i < SOUNDS; i++) assert_int_equal(seen[i], 1);
        assert_true(spread <= 75); /* sorted: the spreads of all batches are parts of one range */
    }
    hd_sound_loader_free(l);
}

static void values_are_the_features_of_the_sound(void **state)
{
    hd_sound_loader_opt o = usual(2);
    hd_err err = {0};
    hd_position after;
    const hd_sound_batch *b;
    (void)state;
    o.augment = NULL;
    hd_sound_loader *l = loader_of(o);
    next_batch(l, &b, &after);
    for (size_t i = 0, row = 0; i < b->items; row += (size_t)b->frames[i++]) {
        hd_sound s;
        float *y = malloc((size_t)b->frames[i] * 40 * sizeof *y);
        assert_int_equal(hd_sound_set_sound(&sounds, b->which[i], 8000, &s, &err), HD_OK);
        assert_int_equal(hd_features_frames(&o.features, s.count), b->frames[i]);
        assert_int_equal(hd_features_of(y, &o.features, s.sample, s.count, &err), HD_OK);
        assert_memory_equal(y, b->value + row * 40, (size_t)b->frames[i] * 40 * sizeof *y);
        hd_sound_release(&s);
        free(y);
    }
    hd_sound_loader_free(l);
}

static void bytes_do_not_depend_on_threads_or_on_what_is_ahead(void **state)
{
    const int threads[] = {-1, 1, 2, 3, 4};
    uint64_t want[40];
    (void)state;
    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        hd_sound_loader_opt o = usual(threads[t]);
        hd_position after;
        const hd_sound_batch *b;
        o.ahead = t;
        hd_sound_loader *l = loader_of(o);
        for (size_t n = 0; n < COUNT_OF(want); n++) {
            const uint64_t got = next_batch(l, &b, &after);
            if (!t) want[n] = got;
            assert_true(got == want[n]);
        }
        assert_true(after.epoch > 0);
        assert_true(want[0] != want[1]);
        hd_sound_loader_free(l);
    }
}

static void a_resumed_run_goes_on_with_the_same_batches(void **state)
{
    enum { ALL = 30 };
    hd_position after[ALL], now;
    uint64_t want[ALL];
    const hd_sound_batch *b;
    hd_err err = {0};
    hd_sound_loader *l = loader_of(usual(2));
    (void)state;
    for (int n = 0; n < ALL; n++) want[n] = next_batch(l, &b, &after[n]);
    for (int from = ALL - 2; from > 0; from -= 5) { /* back and forth in one loader */
        hd_source *s = hd_sound_loader_source(l);
        assert_int_equal(s->seek(s, after[from - 1], &err), HD_OK);
        for (int n = from; n < ALL && n < from + 3; n++) assert_true(next_batch(l, &b, &now) == want[n]);
    }
    hd_sound_loader_free(l);
    l = loader_of(usual(1)); /* and in another process */
    hd_source *s = hd_sound_loader_source(l);
    assert_int_equal(s->seek(s, after[17], &err), HD_OK);
    assert_true(next_batch(l, &b, &now) == want[18]);
    assert_int_equal(s->seek(s, (hd_position){0, 100000}, &err), HD_EARG);
    hd_sound_loader_free(l);
}

/* A number for each sound of an epoch. */
static void hash_epoch(uint64_t *to, hd_sound_loader *l)
{
    const hd_sound_batch *b;
    hd_position after = {0};
    for (uint64_t begun = after.epoch, first = 1; first || after.epoch == begun; first = 0) {
        next_batch(l, &b, &after);
        begun = hd_sound_loader_now(l)->at.epoch;
        for (size_t i = 0, row = 0; i < b->items; row += (size_t)b->frames[i++])
            to[b->which[i]] = hash_of(1, b->value + row * b->mels, (size_t)b->frames[i] * b->mels * 4);
    }
}

static void augmentation_differs_in_each_epoch(void **state)
{
    uint64_t first[SOUNDS], second[SOUNDS], other[SOUNDS];
    hd_sound_loader_opt o = usual(2);
    (void)state;
    hd_sound_loader *l = loader_of(o);
    hash_epoch(first, l);
    hash_epoch(second, l);
    hd_sound_loader_free(l);
    o.seed = 8;
    l = loader_of(o);
    hash_epoch(other, l);
    hd_sound_loader_free(l);
    for (size_t i = 0; i < SOUNDS; i++) assert_true(first[i] != second[i] && first[i] != other[i]);
}

static void parts_are_parts_of_the_batch(void **state)
{
    hd_sound_loader *l = loader_of(usual(2));
    hd_err err = {0};
    hd_position after;
    const hd_sound_batch *b;
    (void)state;
    next_batch(l, &b, &after);
    const size_t items = b->items, rows = b->rows;
    assert_true(items > 2);
    size_t seen = 0;
    for (size_t i = 0; i < items; i++) {
        assert_int_equal(hd_sound_loader_get(l, i, i + 1, &b, &err), HD_OK);
        assert_int_equal(b->rows, b->frames[0]);
        assert_int_equal(b->which[0], hd_sound_loader_now(l)->which[i]);
        seen += b->rows;
    }
    assert_int_equal(seen, rows);
    assert_int_equal(hd_sound_loader_get(l, items, items, &b, &err), HD_OK);
    assert_int_equal(b->rows, 0);
    assert_int_equal(hd_sound_loader_get(l, 0, items + 1, &b, &err), HD_EARG);
    hd_sound_loader_free(l);
}

static void processes_share_a_batch(void **state)
{
    hd_sound_loader *alone = loader_of(usual(-1)), *part[3];
    hd_position after;
    const hd_sound_batch *b;
    (void)state;
    for (int r = 0; r < 3; r++) {
        hd_sound_loader_opt o = usual(-1);
        o.rank = r, o.ranks = 3;
        part[r] = loader_of(o);
    }
    for (int n = 0; n < 4; n++) {
        next_batch(alone, &b, &after);
        size_t items = 0, rows = 0;
        for (int r = 0; r < 3; r++) {
            const hd_sound_batch *mine;
            next_batch(part[r], &mine, &after);
            assert_int_equal(hd_sound_loader_now(part[r])->total_items, b->items);
            assert_int_equal(hd_sound_loader_now(part[r])->total_frames, b->rows);
            if (mine->items) assert_int_equal(mine->which[0], b->which[r]);
            items += mine->items, rows += mine->rows;
        }
        assert_int_equal(items, b->items);
        assert_int_equal(rows, b->rows);
    }
    hd_sound_loader_free(alone);
    for (int r = 0; r < 3; r++) hd_sound_loader_free(part[r]);
}

static void evaluation_sees_each_sound_in_one_pass(void **state)
{
    hd_sound_loader_opt o = usual(2);
    hd_err err = {0};
    const hd_sound_batch *b;
    int seen[SOUNDS] = {0};
    (void)state;
    o.in_order = true, o.augment = NULL;
    hd_sound_loader *l = loader_of(o);
    for (int pass = 0; pass < 2; pass++)
        for (size_t n = 0; n < hd_sound_loader_batches(l, 0); n++) {
            assert_int_equal(hd_sound_loader_go(l, (hd_position){0, n}, &err), HD_OK);
            assert_int_equal(hd_sound_loader_get(l, 0, hd_sound_loader_now(l)->items, &b, &err), HD_OK);
            for (size_t i = 0; i < b->items; i++) seen[b->which[i]]++;
        }
    for (size_t i = 0; i < SOUNDS; i++) assert_int_equal(seen[i], 2);
    hd_sound_loader_free(l);
}

static void a_sound_that_is_gone_is_told_where_it_is_needed(void **state)
{
    hd_sound_loader *l = loader_of(usual(2));
    hd_err err = {0};
    hd_position after = {0};
    const hd_sound_batch *b;
    bool told = false;
    (void)state;
    assert_int_equal(rename(at("7.wav"), at("away")), 0);
    for (size_t n = 0; n < hd_sound_loader_batches(l, 0); n++) {
        hd_source *s = hd_sound_loader_source(l);
        bool has = false;
        assert_int_equal(s->next(s, &after, &err), HD_OK);
        const hd_sound_share *now = hd_sound_loader_now(l);
        for (size_t i = 0; i < now->items; i++) has = has || now->which[i] == 7;
        hd_status got = hd_sound_loader_get(l, 0, now->items, &b, &err);
        assert_int_equal(got, has ? HD_EFILE : HD_OK);
        if (has) assert_non_null(strstr(err.text, "7.wav"));
        told = told || has;
    }
    assert_true(told);
    hd_sound_loader_free(l);
    assert_int_equal(rename(at("8.wav"), at("7.wav")), 0); /* another length */
    err = (hd_err){0};
    hd_sound s;
    assert_int_equal(hd_sound_set_sound(&sounds, 7, 8000, &s, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "has another length than before"));
    assert_int_equal(rename(at("7.wav"), at("8.wav")), 0);
    assert_int_equal(rename(at("away"), at("7.wav")), 0);
}

static void sounds_too_long_for_a_batch_are_named(void **state)
{
    hd_sound_loader_opt o = usual(1);
    hd_sound_loader *l = NULL;
    hd_err err = {0};
    (void)state;
    o.frames = 20;
    assert_int_equal(hd_sound_loader_new(&l, &o, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, ".wav: "));
    o = usual(1), o.features.kind = HD_FEATURES_KALDI, o.features.window = 1000, err = (hd_err){0};
    assert_int_equal(hd_sound_loader_new(&l, &o, &err), HD_EFORMAT);
    o = usual(1), o.frames = 0, err = (hd_err){0};
    assert_int_equal(hd_sound_loader_new(&l, &o, &err), HD_EARG);
    o = usual(1), o.ranks = 2, o.rank = 2, err = (hd_err){0};
    assert_int_equal(hd_sound_loader_new(&l, &o, &err), HD_EARG);
    assert_null(l);
}

static void every_failed_allocation_is_told(void **state)
{
    const size_t blocks = hd_mem_now().blocks;
    hd_status s = HD_ENOMEM;
    size_t n = 0;
    (void)state;
    while (s) {
        const hd_sound_loader_opt o = usual(-1);
        hd_sound_loader *l = NULL;
        const hd_sound_batch *b;
        hd_err err = {0};
        hd_mem_fail_at(++n);
        s = hd_sound_loader_new(&l, &o, &err);
        if (!s) s = hd_sound_loader_go(l, (hd_position){0}, &err);
        if (!s) s = hd_sound_loader_get(l, 0, 2, &b, &err);
        hd_mem_fail_at(0);
        assert_true(!s || s == HD_ENOMEM);
        hd_sound_loader_free(l);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 30);
}

/* -- SpecAugment -- */

static void masks_are_a_function_of_the_key(void **state)
{
    enum { T = 100, M = 40 };
    static float first[T * M], other[T * M];
    const hd_spec_augment o = {.bins = 8, .bin_masks = 1, .frames = 30, .frame_masks = 1, .share = 0.1};
    hd_err err = {0};
    size_t bins = 0, frames = 0, most_bins = 0, most_frames = 0;
    (void)state;
    for (uint64_t key = 0; key < 500; key++) {
        for (int i = 0; i < T * M; i++) first[i] = (float)(i % 2 ? 1 : -1) * (1 + (float)i);
        memcpy(other, first, sizeof first);
        assert_int_equal(hd_spec_augment_apply(&o, first, T, M, key, &err), HD_OK);
        assert_int_equal(hd_spec_augment_apply(&o, other, T, M, key, &err), HD_OK);
        assert_memory_equal(first, other, sizeof first);
        size_t across = 0, along = 0; /* bins that are masked everywhere, frames that are */
        for (int m = 0; m < M; m++) {
            bool all = true;
            for (int t = 0; t < T; t++) all = all && fabsf(first[t * M + m] - 1) < 1.5f;
            across += all;
        }
        for (int t = 0; t < T; t++) {
            bool all = true;
            for (int m = 0; m < M; m++) all = all && fabsf(first[t * M + m] - 1) < 1.5f;
            along += all;
        }
        bins += across, frames += along;
        most_bins = across > most_bins ? across : most_bins;
        most_frames = along > most_frames ? along : most_frames;
    }
    assert_int_equal(most_bins, 8);                    /* F */
    assert_int_equal(most_frames, 10);                 /* p of T */
    assert_true(bins > 500 * 3 && bins < 500 * 5);     /* 4 on average */
    assert_true(frames > 500 * 4 && frames < 500 * 6); /* 5 on average */
}

static void a_warp_keeps_the_ends_and_the_order(void **state)
{
    enum { T = 50 };
    const hd_spec_augment o = {.warp = 10};
    hd_err err = {0};
    double moved = 0;
    (void)state;
    for (uint64_t key = 0; key < 50; key++) {
        float x[T];
        for (int t = 0; t < T; t++) x[t] = (float)t;
        assert_int_equal(hd_spec_augment_apply(&o, x, T, 1, key, &err), HD_OK);
        assert_float_equal(x[0], 0, 1e-6f);
        assert_float_equal(x[T - 1], T - 1, 1e-4f);
        for (int t = 1; t < T; t++) assert_true(x[t] >= x[t - 1]);
        for (int t = 1; t < T; t++) moved = fmax(moved, fabs((double)x[t] - t));
    }
    assert_true(moved > 5 && moved < 10.001);
    float few[5] = {1, 2, 3, 4, 5}; /* too short to be warped */
    assert_int_equal(hd_spec_augment_apply(&o, few, 5, 1, 1, &err), HD_OK);
    assert_float_equal(few[2], 3, 0);
}

static void impossible_masks_are_refused(void **state)
{
    const hd_spec_augment bad[] = {{.warp = -1},          {.bins = -1},   {.frames = -1}, {.bin_masks = -1},
                                   {.frame_masks = 1001}, {.share = 1.5}, {.share = NAN}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        assert_int_equal(hd_spec_augment_check(&bad[i], &err), HD_EARG);
    }
    assert_false(hd_spec_augment_any(&(hd_spec_augment){.bins = 5}));
    assert_true(hd_spec_augment_any(&masks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_has_every_sound_once_and_lengths_are_similar),
        cmocka_unit_test(values_are_the_features_of_the_sound),
        cmocka_unit_test(bytes_do_not_depend_on_threads_or_on_what_is_ahead),
        cmocka_unit_test(a_resumed_run_goes_on_with_the_same_batches),
        cmocka_unit_test(augmentation_differs_in_each_epoch),
        cmocka_unit_test(parts_are_parts_of_the_batch),
        cmocka_unit_test(processes_share_a_batch),
        cmocka_unit_test(evaluation_sees_each_sound_in_one_pass),
        cmocka_unit_test(a_sound_that_is_gone_is_told_where_it_is_needed),
        cmocka_unit_test(sounds_too_long_for_a_batch_are_named),
        cmocka_unit_test(every_failed_allocation_is_told),
        cmocka_unit_test(masks_are_a_function_of_the_key),
        cmocka_unit_test(a_warp_keeps_the_ends_and_the_order),
        cmocka_unit_test(impossible_masks_are_refused),
    };
    return outcome(cmocka_run_group_tests(tests, make_sounds, drop_sounds));
}
