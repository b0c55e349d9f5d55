/* libFuzzer target: any bytes as a WAV file. Easy to get wrong: few mutated files keep sizes that fit, so
   half of the inputs are the format and the samples of a file that is put together around them; and an
   allocation fails now and then. Files that libsndfile would read are another library's. */
#include "../data/sounds.h"
#include "data/sound/features.h"
#include "data/sound/sound.h"
#include "fuzz.h"

enum { MEMORY = 1 << 26, MOST = 4096, MELS = 8, FRAMES = 1024 };

static volatile float sink; /* keeps the reads from being removed */

static void must_be(hd_status s, const hd_err *err)
{
    MUST(!s || (err->status == s && err->text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || s == HD_ELIMIT || s == HD_ENOMEM || s == HD_ENUMBER);
}

/* Pieces of the file at a rate are the whole; `whole` is at its own. */
static void read_pieces(const uint8_t *bytes, size_t size, const hd_sound *whole, int rate)
{
    hd_err err = {0};
    hd_sound_file *f = NULL;
    float piece[64];
    hd_status s = hd_sound_file_over(&f, bytes, size, "fuzz", rate, &err);
    must_be(s, &err);
    if (s) return;
    const size_t count = hd_sound_file_count(f);
    MUST(count == hd_sound_resampled_count(whole->count, whole->rate, rate ? rate : whole->rate));
    for (size_t from = 0; from < count && from < 640; from += 61) {
        const size_t n = count - from < 64 ? count - from : 64;
        s = hd_sound_file_read(f, from, n, piece, &err);
        must_be(s, &err);
        if (s) break;
        for (size_t i = 0; i < n; i++) {
            sink += piece[i];
            MUST(rate || piece[i] == whole->sample[from + i]);
        }
    }
    hd_sound_file_close(f);
}

static hd_features *features[HD_FEATURES_KINDS]; /* made once: their matrices cost more than a file */

static void make_features(void)
{
    for (int i = 0; i < HD_FEATURES_KINDS; i++) {
        hd_features_opt o = hd_features_usual((hd_features_kind)i, 1000);
        o.mels = MELS, o.chunk = 0;
        MUST(!hd_features_new(&features[i], &o, NULL));
    }
}

static void read_features(const hd_sound *sound)
{
    static float out[FRAMES * MELS];
    hd_err err = {0};
    const hd_features *f = features[sound->count % HD_FEATURES_KINDS];
    const size_t frames = hd_features_frames(hd_features_options(f), sound->count);
    if (!frames || frames > FRAMES) return;
    hd_status s = hd_features_make(f, out, sound->sample, sound->count, &err);
    must_be(s, &err);
    for (size_t i = 0; !s && i < frames * MELS; i++) MUST(out[i] - out[i] == 0); /* finite */
}

static void read_sound(const uint8_t *bytes, size_t size, size_t fail_at)
{
    hd_err err = {0};
    hd_sound sound;
    const size_t blocks = hd_mem_now().blocks;
    if (size < 12 || (memcmp(bytes, "RIFF", 4) && memcmp(bytes, "RF64", 4)) || memcmp(bytes + 8, "WAVE", 4))
        return;
    hd_mem_fail_at(fail_at);
    hd_status s = hd_sound_decode(&sound, bytes, size, "fuzz", &err);
    if (s == HD_EMISSING) s = HD_EFORMAT, err.status = s; /* of a build without libsndfile */
    hd_mem_fail_at(0);
    MUST(!sound.sample == (s != HD_OK));
    must_be(s, &err);
    if (!s) {
        MUST(sound.count && sound.rate >= HD_SOUND_LEAST_RATE && sound.rate <= HD_SOUND_MOST_RATE);
        for (size_t i = 0; i < sound.count; i++) MUST(sound.sample[i] - sound.sample[i] == 0);
        read_pieces(bytes, size, &sound, 0);
        if (size % 8 == 0) read_pieces(bytes, size, &sound, 16000);
        read_features(&sound);
    }
    hd_sound_release(&sound);
    MUST(hd_mem_now().blocks == blocks);
}

/* A file whose kind, sizes and samples are the input. */
static void read_made(const uint8_t *input, size_t size)
{
    static const int bits[] = {8, 16, 24, 32, 64, 12, 20, 0}, rates[] = {8000, 16000, 44100, 1000, 96000, 7};
    if (size < 8 || size > MOST) return;
    const wav_kind k = {input[0] % 4 == 3  ? 2
                        : input[0] % 4 < 2 ? 1
                                           : 3,
                        bits[input[1] % 8], 1 + input[2] % 5, rates[input[3] % 6], input[4] % 2};
    made_wav w = make_wav(&k, NULL, 0);
    MUST(w.bytes);
    w.bytes = realloc(w.bytes, w.size + size);
    MUST(w.bytes);
    memcpy(w.bytes + w.size, input + 8, size - 8);
    const uint32_t said = input[5] % 4 == 0   ? 0
                          : input[5] % 4 == 1 ? UINT32_MAX
                          : input[5] % 4 == 2 ? (uint32_t)size - 8
                                              : (uint32_t)input[6] * 257;
    set_number(&w, w.data - 4, said, 4);
    w.size += size - 8;
    uint8_t *copy = malloc(w.size); /* of its own, so that a read past its end is seen */
    MUST(copy);
    memcpy(copy, w.bytes, w.size);
    read_sound(copy, w.size, input[7] % 8 == 1 ? 1 + input[7] / 8u : 0);
    free(copy);
    free(w.bytes);
}

static void write_seed(const char *to, const wav_kind *k, int number)
{
    double value[24];
    char name[32];
    hd_err err = {0};
    for (int i = 0; i < 24; i++) value[i] = (i * 7 % 13 - 6) / 8.0;
    made_wav w = make_wav(k, value, 24 / (size_t)k->channels);
    snprintf(name, sizeof name, "seed-%d.wav", number);
    MUST(!hd_path(path, to, name, &err));
    FILE *f = fopen(path, "wb");
    MUST(f && fwrite(w.bytes, 1, w.size, f) == w.size);
    MUST(!fclose(f));
    free(w.bytes);
}

int LLVMFuzzerInitialize(int *count, char ***given)
{
    static const wav_kind kinds[] = {{1, 8, 1, 8000, 0},  {1, 16, 1, 16000, 0}, {1, 24, 2, 44100, 0},
                                     {1, 32, 1, 8000, 1}, {3, 32, 1, 16000, 0}, {3, 64, 2, 16000, 1}};
    const char *to = first_folder(*count, *given);
    for (int i = 0; to && i < 6; i++) write_seed(to, &kinds[i], i);
    make_features();
    hd_mem_limit(MEMORY);
    return 0;
}

/* Its last byte says in which way it is tried. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (!size) return 0;
    const unsigned how = input[size - 1] % 4u, number = input[size - 1] / 4u;
    if (how < 2)
        read_made(input, size);
    else
        read_sound(input, size, how == 3 ? 1 + number % 16 : 0);
    return 0;
}
