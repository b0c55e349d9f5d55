/* Music as tokens: vocabularies, performances and chorales there and back, variations, sets of pieces. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/music/chorale.h"
#include "data/music/performance.h"
#include "data/music/set.h"
#include "scratch.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static void vocabularies_are_known_by_their_words(void **state)
{
    (void)state;
    static const struct {
        hd_music kind;
        const char *word;
        int32_t id;
    } cases[] = {
        {HD_MUSIC_CHORALE, "000", HD_PITCH_ID},
        {HD_MUSIC_CHORALE, "060", HD_PITCH_ID + 60},
        {HD_MUSIC_CHORALE, "rest", HD_REST_ID},
        {HD_MUSIC_PERFORMANCE, "off127", HD_OFF_ID + 127},
        {HD_MUSIC_PERFORMANCE, "on060", HD_ON_ID + 60},
        {HD_MUSIC_PERFORMANCE, "shift001", HD_SHIFT_ID},
        {HD_MUSIC_PERFORMANCE, "shift100", HD_SHIFT_ID + 99},
        {HD_MUSIC_PERFORMANCE, "velocity31", HD_VELOCITY_ID + 31},
    };
    for (hd_music kind = HD_MUSIC_NONE + 1; kind < HD_MUSICS; kind++) {
        hd_tokenizer *t = NULL;
        assert_int_equal(hd_music_tokenizer(&t, kind, NULL), HD_OK);
        assert_int_equal(hd_tokenizer_size(t), HD_SPECIALS + hd_music_size(kind));
        assert_int_equal(hd_music_of(t), kind);
        for (size_t i = 0; i < COUNT_OF(cases); i++)
            if (cases[i].kind == kind) assert_int_equal(hd_tokenizer_id(t, cases[i].word), cases[i].id);
        hd_ids ids = {0};
        assert_int_equal(hd_tokenizer_encode_ids(t, "060 rest on061", 14, &ids, NULL), HD_OK);
        assert_int_equal(ids.count, 3); /* words of the other kind are unknown */
        assert_int_equal(ids.at[0], kind == HD_MUSIC_CHORALE ? HD_PITCH_ID + 60 : HD_UNK_ID);
        hd_ids_release(&ids);
        hd_tokenizer_free(t);
    }
}

static hd_midi performed(const int32_t *ids, size_t count)
{
    hd_midi m;
    assert_int_equal(hd_performance_notes(&m, ids, count, NULL), HD_OK);
    return m;
}

/* By hand: 60 struck at 0 with velocity 66 (bin 16), 64 at 0.25 s, 60 released at 1.5 s, 64 at 1.51 s. */
static const int32_t by_hand[] = {HD_VELOCITY_ID + 16, HD_ON_ID + 60,    HD_SHIFT_ID + 24,
                                  HD_ON_ID + 64,       HD_SHIFT_ID + 99, HD_SHIFT_ID + 24,
                                  HD_OFF_ID + 60,      HD_SHIFT_ID,      HD_OFF_ID + 64};

static void performances_are_what_was_played(void **state)
{
    (void)state;
    hd_midi m = performed(by_hand, COUNT_OF(by_hand));
    hd_ids ids = {0};
    assert_int_equal(m.count, 2);
    assert_int_equal(m.note[0].velocity, 66);
    assert_float_equal(m.note[0].end, 1.5, 1e-9);
    assert_float_equal(m.note[1].begin, 0.25, 1e-9);
    assert_int_equal(hd_performance_tokens(&ids, &m, "x", NULL), HD_OK);
    assert_int_equal(ids.count, COUNT_OF(by_hand));
    assert_memory_equal(ids.at, by_hand, sizeof by_hand);
    hd_ids_release(&ids);
    hd_midi_release(&m);
}

/* A key that is struck again when it is released, and a lower one when a higher one is released. */
static void releases_come_before_strikes(void **state)
{
    (void)state;
    static const int32_t ids[] = {HD_VELOCITY_ID + 9, HD_ON_ID + 60, HD_SHIFT_ID + 9, HD_OFF_ID + 60,
                                  HD_ON_ID + 60,      HD_SHIFT_ID,   HD_OFF_ID + 60,  HD_ON_ID + 40,
                                  HD_SHIFT_ID + 4,    HD_OFF_ID + 40};
    hd_midi m = performed(ids, COUNT_OF(ids));
    hd_ids back = {0};
    assert_int_equal(m.count, 3);
    assert_int_equal(hd_performance_tokens(&back, &m, "x", NULL), HD_OK);
    assert_int_equal(back.count, COUNT_OF(ids));
    assert_memory_equal(back.at, ids, sizeof ids);
    hd_ids_release(&back);
    hd_midi_release(&m);
}

/* Any tokens give notes, and those notes give tokens that give the same notes. */
static void any_tokens_are_a_performance(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(3, 0);
    for (int turn = 0; turn < 50; turn++) {
        int32_t ids[400];
        for (size_t i = 0; i < COUNT_OF(ids); i++) ids[i] = (int32_t)hd_rng_below(&rng, HD_SPECIALS + 388);
        hd_midi a = performed(ids, COUNT_OF(ids)), b;
        hd_ids one = {0}, two = {0};
        assert_int_equal(hd_performance_tokens(&one, &a, "x", NULL), HD_OK);
        b = performed(one.at, one.count);
        assert_int_equal(hd_performance_tokens(&two, &b, "x", NULL), HD_OK);
        assert_int_equal(one.count, two.count);
        assert_memory_equal(one.at, two.at, one.count * sizeof *one.at);
        hd_ids_release(&one);
        hd_ids_release(&two);
        hd_midi_release(&a);
        hd_midi_release(&b);
    }
}

static const int32_t steps[] = {76, 67, 60, 48, 76, 67, 60, 48, 74, 67, -1, 55, 74, 65, 59, 55};

static void chorale_of_steps(int32_t *to)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++) to[i] = steps[i] < 0 ? HD_REST_ID : HD_PITCH_ID + steps[i];
}

static void chorales_are_four_tracks(void **state)
{
    (void)state;
    int32_t ids[COUNT_OF(steps)];
    hd_midi m;
    hd_ids back = {0}, melody = {0};
    hd_err err = {0};
    chorale_of_steps(ids);
    assert_int_equal(hd_chorale_notes(&m, ids, COUNT_OF(ids), NULL), HD_OK);
    assert_int_equal(m.tracks, 4);
    assert_int_equal(m.count, 2 + 2 + 2 + 2); /* equal neighbors are one note */
    assert_int_equal(hd_chorale_tokens(&back, &m, "x", NULL), HD_OK);
    assert_int_equal(back.count, COUNT_OF(ids));
    assert_memory_equal(back.at, ids, sizeof ids);
    assert_int_equal(hd_chorale_melody(&melody, &m, "x", NULL), HD_OK);
    assert_int_equal(melody.count, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(melody.at[i], ids[4 * i]);
    for (size_t i = 0; i < m.count; i++) /* the bass first; then the tenor above the alto */
        m.note[i].track = 3 - m.note[i].track,
        m.note[i].pitch = (uint8_t)(m.note[i].pitch + (m.note[i].track == 1) * 20);
    back.count = 0;
    assert_int_equal(hd_chorale_tokens(&back, &m, "x", NULL), HD_OK);
    assert_int_equal(back.at[0], ids[0]);
    assert_int_equal(back.at[2], ids[2] + 20);
    assert_int_equal(back.at[3], ids[3]);
    for (size_t i = 0; i < m.count; i++) m.note[i].track %= 3, m.note[i].channel %= 3;
    assert_int_equal(hd_chorale_tokens(&back, &m, "x.mid", &err), HD_EFORMAT);
    assert_string_equal(err.text,
                        "x.mid: a chorale has four parts, each a track or channel with notes, not 3");
    hd_ids_release(&back);
    hd_ids_release(&melody);
    hd_midi_release(&m);
}

/* 2,048 notes that sound from the first to the last of 100,000 sixteenths: more than anybody plays. */
static void notes_that_never_end_are_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_ids melody = {0};
    hd_midi m = {.tracks = 1, .quarter = 4};
    for (int i = 0; i < 2048; i++) {
        const hd_note n = {
            .off = 100000, .channel = (uint8_t)(i % 8), .pitch = (uint8_t)(i / 16), .velocity = 1};
        assert_int_equal(hd_midi_add(&m, &n, NULL), HD_OK);
    }
    assert_int_equal(hd_chorale_melody(&melody, &m, "x.mid", &err), HD_ELIMIT);
    assert_string_equal(err.text, "x.mid: 2048 notes at a time are too many");
    m.count = 1024;
    assert_int_equal(hd_chorale_melody(&melody, &m, "x.mid", &err), HD_OK);
    assert_int_equal(melody.count, 100000);
    hd_ids_release(&melody);
    hd_midi_release(&m);
}

static void variations_move_pitches_and_stretch_time(void **state)
{
    (void)state;
    hd_ids out = {0};
    assert_int_equal(hd_music_vary(&out, HD_MUSIC_PERFORMANCE, by_hand, COUNT_OF(by_hand),
                                   (hd_variation){.semitones = -2, .stretch = 1.04}, NULL),
                     HD_OK);
    hd_midi m = performed(out.at, out.count);
    assert_int_equal(m.note[0].pitch, 58);
    assert_int_equal(m.note[1].pitch, 62);
    assert_float_equal(m.note[1].begin, 0.26, 1e-9);
    assert_float_equal(m.note[0].end, 1.56, 1e-9);
    assert_float_equal(m.note[1].end, 1.57, 1e-9); /* 157.04 steps */
    hd_midi_release(&m);
    hd_music_ranges piece = hd_music_no_ranges(), all = {{57, 127, 127, 127}, {67, 0, 0, 0}};
    int seen[7] = {0};
    hd_music_widen(&piece, HD_MUSIC_PERFORMANCE, by_hand, COUNT_OF(by_hand));
    assert_int_equal(piece.low[0], 60);
    assert_int_equal(piece.high[0], 64);
    for (uint64_t n = 0; n < 200; n++) {
        hd_variation v = hd_music_draw(HD_MUSIC_PERFORMANCE, &piece, &all, 5, 0.05, 1, 2, n),
                     w = hd_music_draw(HD_MUSIC_PERFORMANCE, &piece, &all, 5, 0.05, 1, 2, n);
        assert_int_equal(v.semitones, w.semitones);
        assert_true(v.semitones >= -3 && v.semitones <= 3 && fabs(v.stretch - 1) <= 0.05);
        seen[v.semitones + 3]++;
    }
    for (int i = 0; i < 7; i++) assert_true(seen[i] > 10);
    for (uint64_t n = 0; n < 50; n++) /* no voice has room */
        assert_int_equal(hd_music_draw(HD_MUSIC_CHORALE, &piece, &piece, 5, 0, 1, 0, n).semitones, 0);
    hd_ids_release(&out);
}

/* -- sets -- */

static void chorales_in_json_have_parts(void **state)
{
    (void)state;
    hd_music_set set = {.kind = HD_MUSIC_CHORALE}, tail = {0};
    size_t count;
    bool there;
    put_file(at("a.json"), "{\"train\": [[[60, 55, 52, 48]], [[62, -1, 53, 50], [64, 60, 55, 48]]],"
                           " \"valid\": [[[1, 2, 3, 4]]]}");
    assert_int_equal(hd_music_set_add(&set, at("a.json"), "train", NULL), HD_OK);
    assert_int_equal(set.pieces, 2);
    const int32_t *piece = hd_music_set_piece(&set, 1, &count);
    assert_int_equal(count, 9);
    assert_int_equal(piece[1], HD_REST_ID);
    assert_int_equal(piece[8], HD_END_ID);
    assert_int_equal(hd_music_has_part(&there, at("a.json"), "valid", NULL), HD_OK);
    assert_true(there);
    assert_int_equal(hd_music_has_part(&there, at("a.json"), "test", NULL), HD_OK);
    assert_false(there);
    assert_int_equal(hd_music_set_split(&set, 0.1, &tail, NULL), HD_OK);
    assert_int_equal(set.pieces, 1);
    assert_int_equal(set.ids.count, 6);
    assert_int_equal(tail.pieces, 1);
    assert_int_equal(tail.ids.count, 10);
    hd_music_set_release(&set);
    hd_music_set_release(&tail);
}

static void bad_json_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"train\": [[[60, 55, 52]]]}", "piece 0: step 0 is not a list of four pitches"},
        {"{\"train\": [[[60, 55, 52, 128]]]}", "step 0: a pitch is a whole number"},
        {"{\"train\": [[[60, 55, 52, 1.5]]]}", "step 0: a pitch is a whole number"},
        {"{\"train\": [[]]}", "piece 0 is not a list of steps"},
        {"{\"train\": []}", "train: there is no piece"},
        {"[]", "the list: there is no piece"},
        {"{\"train\": 7}", "\"train\" is not a list of pieces"},
        {"{\"valid\": []}", "there is no \"train\" in it"},
        {"{\"train\": [", "bad.json"},
        {"hello", "neither a MIDI file nor chorales in JSON"},
        {"", "neither a MIDI file nor chorales in JSON"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_music_set set = {.kind = HD_MUSIC_CHORALE};
        hd_err err = {0};
        put_file(at("bad.json"), cases[i][0]);
        assert_int_not_equal(hd_music_set_add(&set, at("bad.json"), "train", &err), HD_OK);
        if (!strstr(err.text, cases[i][1])) fail_msg("'%s', not '%s'", err.text, cases[i][1]);
        hd_music_set_release(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabularies_are_known_by_their_words),
        cmocka_unit_test(performances_are_what_was_played),
        cmocka_unit_test(releases_come_before_strikes),
        cmocka_unit_test(any_tokens_are_a_performance),
        cmocka_unit_test(chorales_are_four_tracks),
        cmocka_unit_test(notes_that_never_end_are_refused),
        cmocka_unit_test(variations_move_pitches_and_stretch_time),
        cmocka_unit_test(chorales_in_json_have_parts),
        cmocka_unit_test(bad_json_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
