/* MIDI files: what is read is what the bytes say, what is written reads back, and hostile files are refused.
 */
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
#include "data/music/midi.h"

#define HEAD(format, tracks, division) "MThd\0\0\0\6\0" format "\0" tracks division
#define TRACK(length)                  "MTrk\0\0\0" length
#define END                            "\0\xff\x2f\0"
#define BYTES(text)                    (const uint8_t *)(text), sizeof(text) - 1

static hd_midi parsed(const uint8_t *bytes, size_t size)
{
    hd_midi m;
    hd_err err = {0};
    if (hd_midi_parse(&m, bytes, size, "x.mid", &err)) fail_msg("%s", err.text);
    return m;
}

static void assert_note(const hd_note *n, int pitch, int velocity, uint32_t on, uint32_t off, double begin,
                        double end)
{
    assert_int_equal(n->pitch, pitch);
    assert_int_equal(n->velocity, velocity);
    assert_int_equal(n->on, on);
    assert_int_equal(n->off, off);
    assert_float_equal(n->begin, begin, 1e-12);
    assert_float_equal(n->end, end, 1e-12);
}

/* Two strikes and two releases under one status, the releases as strikes of velocity 0. */
static void running_status_repeats_the_last(void **state)
{
    (void)state;
    hd_midi m =
        parsed(BYTES(HEAD("\0", "\1", "\0\x60") TRACK("\x12") "\0\x90\x3c\x40\x60\x3e\x50\0\x3c\0\x81\x40"
                                                              "\x3e\0" END));
    assert_int_equal(m.count, 2);
    assert_int_equal(m.quarter, 0x60);
    assert_note(&m.note[0], 60, 64, 0, 96, 0, 0.5);
    assert_note(&m.note[1], 62, 80, 96, 288, 0.5, 1.5);
    hd_midi_release(&m);
}

/* The tempo of the first track, which changes in the middle of a note of the second. */
static void tempi_hold_for_all_tracks(void **state)
{
    (void)state;
    hd_midi m =
        parsed(BYTES(HEAD("\1", "\2", "\0\x0a") TRACK("\x12") "\0\xff\x51\3\x0f\x42\x40"   /* 1 s */
                                                              "\x14\xff\x51\3\x03\xd0\x90" /* 0.25 s */
                     END TRACK("\x0c") "\x0a\x91\x3c\x40\x14\x81\x3c\x40" END));
    assert_int_equal(m.tracks, 2);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.note[0].track, 1);
    assert_int_equal(m.note[0].channel, 1);
    assert_note(&m.note[0], 60, 64, 10, 30, 1, 2.25);
    hd_midi_release(&m);
}

static void the_pedal_holds_notes(void **state)
{
    (void)state;
    hd_midi m = parsed(BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\x17") "\0\xb0\x40\x7f\0\x90\x3c\x40\x0a\x3c\0"
                                                                      "\x0a\xb0\x40\0\0\x90\x3e\x40" END));
    assert_int_equal(m.count, 2);
    assert_note(&m.note[0], 60, 64, 0, 20, 0, 1);
    assert_note(&m.note[1], 62, 64, 20, 21, 1, 1.05); /* ends with the track, and lasts a tick */
    hd_midi_release(&m);
}

static void frames_of_film_count_seconds(void **state)
{
    (void)state; /* 25 frames a second, 40 ticks a frame */
    hd_midi m = parsed(BYTES(HEAD("\0", "\1", "\xe7\x28") TRACK("\x0c") "\0\x90\x3c\x40\x64\x80\x3c\0" END));
    assert_note(&m.note[0], 60, 64, 0, 100, 0, 0.1);
    hd_midi_release(&m);
}

static void what_is_not_notes_is_skipped(void **state)
{
    (void)state;
    hd_midi m = parsed(BYTES(HEAD("\0", "\1", "\0\x0a") "XFIH\0\0\0\2ab" TRACK(
        "\x21") "\0\xff\3\2hi\0\xf0\3\1\2\xf7\0\xc0\x05\0\xe0\1\2\0\xd0\1"
                "\0\x90\x3c\x40\x0a\x3c\0" END));
    assert_int_equal(m.count, 1);
    hd_midi_release(&m);
}

/* Random notes, of one track or several: the same after writing and reading. */
static void written_notes_read_back(void **state)
{
    (void)state;
    for (uint32_t tracks = 1; tracks <= 3; tracks += 2) {
        hd_midi m = {.tracks = tracks, .quarter = 480}, back;
        hd_rng rng = hd_rng_make(5, tracks);
        uint32_t end[3][HD_PITCHES] = {{0}};
        hd_text bytes = {0};
        for (int i = 0; i < 2000; i++) {
            uint32_t t = hd_rng_below(&rng, tracks), p = hd_rng_below(&rng, HD_PITCHES);
            uint32_t on = end[t][p] + hd_rng_below(&rng, 3), off = on + 1 + hd_rng_below(&rng, 100000);
            end[t][p] = off;
            hd_note n = {.on = on,
                         .off = off,
                         .track = t,
                         .channel = (uint8_t)t,
                         .pitch = (uint8_t)p,
                         .velocity = (uint8_t)(1 + hd_rng_below(&rng, 127))};
            assert_int_equal(hd_midi_add(&m, &n, NULL), HD_OK);
        }
        hd_midi_sort(&m);
        hd_midi_put(&bytes, &m, &(hd_midi_score){.tempo = 500000, .program = 3});
        back = parsed((const uint8_t *)bytes.data, bytes.size);
        assert_int_equal(back.count, m.count);
        assert_int_equal(back.tracks, tracks);
        for (size_t i = 0; i < m.count; i++) {
            hd_note *a = &m.note[i], *b = &back.note[i];
            assert_note(b, a->pitch, a->velocity, a->on, a->off, a->on / 960.0, a->off / 960.0);
            assert_int_equal(a->track, b->track);
        }
        hd_midi_release(&m);
        hd_midi_release(&back);
        hd_text_release(&bytes);
    }
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const uint8_t *bytes;
        size_t size;
        const char *why;
    } cases[] = {
        {BYTES(""), "not a MIDI file"},
        {BYTES("RIFF\0\0\0\0RMID........"), "not a MIDI file"},
        {BYTES(HEAD("\2", "\1", "\0\x0a")), "format 2"},
        {BYTES(HEAD("\0", "\1", "\0\0")), "no ticks"},
        {BYTES(HEAD("\0", "\1", "\xe7\0")), "no ticks"},
        {BYTES(HEAD("\0", "\1", "\0\x0a")), "ends after 0 of 1 tracks"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\x7f") END), "longer than the file"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\2") "\0\x90"), "middle of an event"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\5") "\xff\xff\xff\xff\x7f"), "more than four bytes"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\3") "\0\x3c\x40"), "without a status"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\4") "\0\x90\x80\x40"), "above 127"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\2") "\0\xf4"), "that files do not have"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\5") "\0\xff\1\x40x"), "longer than its track"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK("\7") "\0\xff\x51\3\0\0\0"), "a tempo of 0"},
        {BYTES(HEAD("\0", "\1", "\0\x0a") TRACK(
             "\x23") "\xff\xff\xff\x7f\x90\x3c\x40\xff\xff\xff\x7f\x3c\x40\xff\xff\xff\x7f\x3c\x40"
                     "\xff\xff\xff\x7f\x3c\x40\xff\xff\xff\x7f\x3c\x40" END),
         "too long"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_midi m;
        hd_err err = {0};
        size_t blocks = hd_mem_now().blocks;
        assert_int_not_equal(hd_midi_parse(&m, cases[i].bytes, cases[i].size, "x.mid", &err), HD_OK);
        if (strncmp(err.text, "x.mid: ", 7) || !strstr(err.text, cases[i].why))
            fail_msg("case %zu: '%s', not '%s'", i, err.text, cases[i].why);
        assert_null(m.note);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_status_repeats_the_last), cmocka_unit_test(tempi_hold_for_all_tracks),
        cmocka_unit_test(the_pedal_holds_notes),           cmocka_unit_test(frames_of_film_count_seconds),
        cmocka_unit_test(what_is_not_notes_is_skipped),    cmocka_unit_test(written_notes_read_back),
        cmocka_unit_test(hostile_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
