/* Sounds that libsndfile reads: written by it, read whole, in pieces and cut short. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"
#include "sounds.h"

#include "data/sound/sound.h"

#if HEED_SNDFILE
#include <sndfile.h>

enum { FRAMES = 400000, RATE = 16000 };

static const struct {
    const char *name;
    int format;
    double error; /* of a sample; 0: exact */
} kinds[] = {
    {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 0},
    {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 0},
    {"u-law.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 0.02},
    {"big.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, 0},
    {"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.1},
    {"a.mp3", 0x230000 | 0x82, 0.1}, /* SF_FORMAT_MPEG, SF_FORMAT_MPEG_LAYER_III of libsndfile 1.1 */
};

/* A tone in the left channel, half as loud in the right one. */
static double tone(size_t i)
{
    return 0.75 * 0.5 * sin(2 * M_PI * 440 * (double)i / RATE);
}

static bool write_sound(const char *path, int format)
{
    SF_INFO info = {.samplerate = RATE, .channels = 2, .format = format};
    static float value[2 * FRAMES];
    for (size_t i = 0; i < FRAMES; i++) { /* whole numbers of 16 bits: exact where nothing is lost */
        const double whole = rint(tone(i) / 0.75 * 16384);
        value[2 * i] = (float)(whole / 16384), value[2 * i + 1] = (float)(whole / 32768);
    }
    SNDFILE *f = sf_format_check(&info) ? sf_open(path, SFM_WRITE, &info) : NULL;
    if (!f) return false;
    assert_int_equal(sf_writef_float(f, value, FRAMES), FRAMES);
    sf_close(f);
    return true;
}

/* A decoder that begins in the middle may round otherwise. */
static void assert_piece(hd_sound_file *f, const hd_sound *whole, size_t from, double error)
{
    hd_err err = {0};
    float piece[1000];
    if (hd_sound_file_read(f, from, COUNT_OF(piece), piece, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(piece); i++)
        assert_true(fabs((double)piece[i] - (double)whole->sample[from + i]) <= error);
}

static void every_format_is_read_whole_and_in_pieces(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        hd_err err = {0};
        hd_sound s;
        hd_sound_file *f = NULL;
        double worst = 0;
        if (!write_sound(at("%s", kinds[k].name), kinds[k].format)) {
            print_message("%s: not written by this libsndfile\n", kinds[k].name);
            continue;
        }
        if (hd_sound_read(&s, at("%s", kinds[k].name), &err)) fail_msg("%s", err.text);
        assert_int_equal(s.rate, RATE);
        assert_true(s.count >= FRAMES && s.count < FRAMES + 3000); /* MP3 has whole frames */
        for (size_t i = 0; i + 3000 < FRAMES; i++) {
            const double want = rint(tone(i) / 0.75 * 16384) / 16384 * 0.75;
            worst = fmax(worst, fabs((double)s.sample[i] - want));
        }
        if (worst > kinds[k].error + 1e-6) fail_msg("%s: a sample is off by %f", kinds[k].name, worst);
        if (hd_sound_file_open(&f, at("%s", kinds[k].name), 0, &err)) fail_msg("%s", err.text);
        assert_int_equal(hd_sound_file_count(f), s.count);
        for (size_t from = s.count - 1000; from > 70000; from -= 69777) /* back: each is a seek */
            assert_piece(f, &s, from, kinds[k].error > 0 ? 1e-6 : 0);
        for (size_t from = 0; from < 150000; from += 700) /* windows that overlap */
            assert_piece(f, &s, from, kinds[k].error > 0 ? 1e-6 : 0);
        hd_sound_file_close(f);
        hd_sound_release(&s);
    }
}

static void a_file_cut_anywhere_is_refused_or_shorter(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        size_t size;
        if (!write_sound(at("%s", kinds[k].name), kinds[k].format)) continue;
        char *bytes = get_file(at("%s", kinds[k].name), &size);
        for (size_t cut = 4; cut < size; cut += size / 12 + 1) {
            hd_err err = {0};
            hd_sound s;
            char *copy = malloc(cut); /* of its own, so that a read past its end is seen */
            memcpy(copy, bytes, cut);
            const size_t blocks = hd_mem_now().blocks;
            hd_status got = hd_sound_decode(&s, copy, cut, "x", &err);
            assert_true(got == HD_OK || (got == HD_EFORMAT && err.text[0]));
            if (!got) assert_true(s.count && s.count <= FRAMES + 3000);
            hd_sound_release(&s);
            assert_int_equal(hd_mem_now().blocks, blocks);
            free(copy);
        }
        free(bytes);
    }
}

#else

static void every_format_is_read_whole_and_in_pieces(void **state)
{
    (void)state;
    leave_out("this heed is built without libsndfile");
}

static void a_file_cut_anywhere_is_refused_or_shorter(void **state)
{
    (void)state;
    leave_out("this heed is built without libsndfile");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_read_whole_and_in_pieces),
        cmocka_unit_test(a_file_cut_anywhere_is_refused_or_shorter),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
