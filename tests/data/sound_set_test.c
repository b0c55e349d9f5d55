/* Sets of sounds: lists, folders, what is invalid, parts. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"
#include "sounds.h"

#include "data/sound/set.h"

/* A sound of so many samples at 8 kHz. */
static void put_sound(const char *name, size_t samples)
{
    double *value = calloc(samples + 1, sizeof *value);
    for (size_t i = 0; i < samples; i++) value[i] = (double)(i % 7) / 8;
    made_wav w = make_wav(&(wav_kind){1, 16, 1, 8000, 0}, value, samples);
    put_bytes(at("%s", name), w.bytes, w.size);
    free(w.bytes);
    free(value);
}

static void put_text(const char *name, const char *text)
{
    put_bytes(at("%s", name), text, strlen(text));
}

static void put_folder(const char *name)
{
    assert_int_equal(mkdir(at("%s", name), 0700), 0);
}

static void assert_list_refused(const char *text, bool skip, hd_status want, const char *says)
{
    hd_err err = {0};
    hd_sound_set s;
    const size_t blocks = hd_mem_now().blocks;
    put_text("list.tsv", text);
    hd_status got = hd_sound_set_open(&s, at("list.tsv"), skip, &err);
    if (got != want || !strstr(err.text, says)) fail_msg("status %d, \"%s\"", (int)got, err.text);
    assert_int_equal(s.count, 0);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void a_list_names_files_beside_it(void **state)
{
    hd_err err = {0};
    hd_sound_set s;
    hd_sound sound;
    (void)state;
    put_text("list.tsv", "\xef\xbb\xbf"
                         "a.wav\t one  two \r\n\n  \nin/b.wav\tthree\n"); /* as an editor may */
    if (hd_sound_set_open(&s, at("list.tsv"), false, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.text[0].text, "one  two");
    assert_string_equal(s.text[1].text, "three");
    assert_string_equal(hd_sound_set_name(&s, 1), "in/b.wav");
    assert_int_equal(s.samples[0], 100);
    assert_int_equal(s.rate[1], 8000);
    assert_int_equal(hd_sound_set_samples(&s, 1, 16000), 400);
    if (hd_sound_set_sound(&s, 1, 16000, &sound, &err)) fail_msg("%s", err.text);
    assert_int_equal(sound.count, 400);
    assert_int_equal(sound.rate, 16000);
    hd_sound_release(&sound);
    const uint64_t hash = s.hash;
    hd_sound_set_release(&s);
    put_text("list.tsv", "a.wav\tone  two\nin/b.wav\tthree!\n");
    assert_int_equal(hd_sound_set_open(&s, at("list.tsv"), false, &err), HD_OK);
    assert_true(hash != s.hash);
    hd_sound_set_release(&s);
    put_text("list.tsv", "a.wav\nin/b.wav\n");
    assert_int_equal(hd_sound_set_open(&s, at("list.tsv"), false, &err), HD_OK);
    assert_null(s.text);
    hd_sound_set_release(&s);
}

static void lists_with_mistakes_name_the_line(void **state)
{
    (void)state;
    assert_list_refused("", false, HD_EFORMAT, "list.tsv: there is no sound in it");
    assert_list_refused("a.wav\tone\nno.wav\ttwo\n", false, HD_EFILE, "list.tsv:2: ");
    assert_list_refused("no.wav\ttwo\n", false, HD_EFILE, "names are relative to the folder of the list");
    assert_list_refused("a.wav\tone\nin/b.wav\n", false, HD_EFORMAT, "list.tsv:2: there is no text, unlike");
    assert_list_refused("a.wav\nin/b.wav\tb\n", false, HD_EFORMAT, "list.tsv:2: there is a text, unlike");
    assert_list_refused("a.wav\tone\na.wav\tone\n", false, HD_EFORMAT, "the sound a.wav is there before");
    assert_list_refused("a.wav\t  \n", false, HD_EFORMAT, "list.tsv:1: a.wav: no text");
    assert_list_refused("\ttext\n", false, HD_EFORMAT, "the name of the sound has 0 bytes");
    assert_list_refused("a.wav\t\xff\n", false, HD_EFORMAT, "list.tsv");
    assert_list_refused("empty.wav\tx\n", false, HD_EFORMAT, "empty.wav: no sound in WAV");
    assert_list_refused("short.wav\tx\nempty.wav\ty\n", true, HD_EFORMAT, "none of its 2 sounds can be read");
}

static void invalid_sounds_can_be_left_out(void **state)
{
    hd_err err = {0};
    hd_sound_set s;
    (void)state;
    put_text("list.tsv", "empty.wav\tx\na.wav\tone\nshort.wav\ty\nno.wav\tz\nin/b.wav\t\n");
    if (hd_sound_set_open(&s, at("list.tsv"), true, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.skipped, 4);
    assert_string_equal(s.text[0].text, "one");
    hd_sound_set_release(&s);
}

static void a_folder_has_texts_beside_its_sounds(void **state)
{
    hd_err err = {0};
    hd_sound_set s;
    (void)state;
    put_folder("all"), put_folder("all/deep");
    put_sound("all/b.wav", 50), put_text("all/b.txt", "the b\nof it\n");
    put_sound("all/a.x.wav", 60), put_text("all/a.x.txt", "a");
    put_sound("all/deep/c.wav", 70), put_text("all/deep/c.txt", "c\n");
    put_text("all/readme.txt", "no sound"), put_text("all/.hidden", "no sound");
    if (hd_sound_set_open(&s, at("all"), false, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 3);
    assert_string_equal(hd_sound_set_name(&s, 0), "a.x.wav");
    assert_string_equal(s.text[1].text, "the b of it");
    assert_string_equal(hd_sound_set_name(&s, 2), "deep/c.wav");
    hd_sound_set_release(&s);
    put_sound("all/d.wav", 50);
    assert_int_equal(hd_sound_set_open(&s, at("all"), false, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "all/d.wav: there is no text for it: d.txt is missing"));
    assert_int_equal(hd_sound_set_open(&s, at("all"), true, &err), HD_OK);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.skipped, 1);
    hd_sound_set_release(&s);
    put_folder("none");
    err = (hd_err){0};
    assert_int_equal(hd_sound_set_open(&s, at("none"), false, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "there is no sound in it"));
}

/* 40 sounds in a list, in their order or the other way round. */
static hd_sound_set forty(bool backwards)
{
    char text[4000] = "";
    hd_err err = {0};
    hd_sound_set s;
    for (int i = 0; i < 40; i++) {
        const int n = backwards ? 39 - i : i;
        put_sound(at("%d.wav", n) + strlen(scratch) + 1, (size_t)(300 + n));
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d.wav\ttext %d\n", n, n);
    }
    put_text("forty.tsv", text);
    if (hd_sound_set_open(&s, at("forty.tsv"), false, &err)) fail_msg("%s", err.text);
    return s;
}

static void a_split_does_not_depend_on_the_order(void **state)
{
    hd_err err = {0};
    hd_sound_set a = forty(false), b = forty(true), held_a, held_b;
    (void)state;
    if (hd_sound_set_split(&a, 0.2, 5, &held_a, &err) || hd_sound_set_split(&b, 0.2, 5, &held_b, &err))
        fail_msg("%s", err.text);
    assert_int_equal(a.count, 32);
    assert_int_equal(held_a.count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(hd_sound_set_name(&held_a, i), hd_sound_set_name(&held_b, 7 - i));
        assert_string_equal(held_a.text[i].text, held_b.text[7 - i].text);
        assert_int_equal(held_a.samples[i], held_b.samples[7 - i]);
    }
    hd_sound_set_release(&a), hd_sound_set_release(&b);
    hd_sound_set_release(&held_a), hd_sound_set_release(&held_b);
}

static void sounds_that_do_not_fit_are_left_out(void **state)
{
    hd_err err = {0};
    hd_sound_set s = forty(false); /* 300 .. 339 samples at 8 kHz */
    hd_features_opt o = hd_features_usual(HD_FEATURES_KALDI, 8000);
    (void)state;
    o.window = 310, o.hop = 10;
    assert_int_equal(hd_sound_set_limit(&s, &o, 2, false, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "0.wav: too short"));
    assert_int_equal(s.count, 40);
    err = (hd_err){0};
    assert_int_equal(hd_sound_set_limit(&s, &o, 2, true, &err), HD_OK); /* 310 .. 329 samples */
    assert_int_equal(s.count, 20);
    assert_int_equal(s.skipped, 20);
    assert_string_equal(s.text[0].text, "text 10");
    assert_int_equal(hd_sound_set_limit(&s, &o, 1, false, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "20.wav: too long: 2 frames, at most 1"));
    hd_sound_set_release(&s);
}

static void every_failed_allocation_is_told(void **state)
{
    const size_t blocks = hd_mem_now().blocks;
    hd_status s = HD_ENOMEM;
    size_t n = 0;
    (void)state;
    put_text("list.tsv", "a.wav\tone\nin/b.wav\ttwo\n");
    while (s) {
        hd_err err = {0};
        hd_sound_set set = {0}, held = {0};
        hd_mem_fail_at(++n);
        s = hd_sound_set_open(&set, at("list.tsv"), true, &err);
        if (!s) s = hd_sound_set_split(&set, 0.5, 1, &held, &err);
        hd_mem_fail_at(0);
        assert_true(!s || s == HD_ENOMEM);
        hd_sound_set_release(&set);
        hd_sound_set_release(&held);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 20);
}

static int make_sounds(void **state)
{
    if (scratch_make(state)) return -1;
    put_sound("a.wav", 100);
    put_folder("in");
    put_sound("in/b.wav", 200);
    put_text("empty.wav", "");
    put_text("short.wav", "RIFF\x40\0\0\0WAVE");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_names_files_beside_it),
        cmocka_unit_test(lists_with_mistakes_name_the_line),
        cmocka_unit_test(invalid_sounds_can_be_left_out),
        cmocka_unit_test(a_folder_has_texts_beside_its_sounds),
        cmocka_unit_test(a_split_does_not_depend_on_the_order),
        cmocka_unit_test(sounds_that_do_not_fit_are_left_out),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return outcome(cmocka_run_group_tests(tests, make_sounds, scratch_remove));
}
