/* Sounds in files: every kind of WAV against the numbers it was made of; broken, foreign and hostile files;
   pieces against the whole; resampling against torchaudio's rule. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"
#include "sounds.h"

#include "data/sound/sound.h"

static const wav_kind kinds[] = {
    {1, 8, 1, 8000, 0},   {1, 16, 1, 8000, 0},   {1, 24, 1, 44100, 0}, {1, 32, 1, 16000, 0},
    {3, 32, 1, 16000, 0}, {3, 64, 1, 16000, 0},  {1, 8, 2, 8000, 0},   {1, 16, 2, 48000, 0},
    {1, 24, 3, 16000, 0}, {1, 16, 6, 16000, 1},  {3, 32, 2, 16000, 1}, {1, 32, 2, 96000, 1},
    {1, 24, 8, 16000, 1}, {1, 16, 1, 768000, 0},
};

/* Numbers that 8 bits hold exactly. */
static const double steps[] = {0.5,  -1,        0.25,      -0.125, 0,     0.75,
                               -0.5, 0.9921875, 0.0078125, -0.25,  0.375, -0.75};

static double mean_at(const double *value, size_t i, int channels)
{
    double sum = 0;
    for (int c = 0; c < channels; c++) sum += value[i * (size_t)channels + (size_t)c];
    return sum / channels;
}

static void every_kind_of_wav_is_the_mean_of_its_channels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const wav_kind *k = &kinds[i];
        const size_t frames = COUNT_OF(steps) / (size_t)k->channels;
        made_wav w = make_wav(k, steps, frames);
        hd_err err = {0};
        hd_sound s;
        if (hd_sound_decode(&s, w.bytes, w.size, "a.wav", &err)) fail_msg("kind %zu: %s", i, err.text);
        assert_int_equal(s.count, frames);
        assert_int_equal(s.rate, k->rate);
        for (size_t n = 0; n < frames; n++) /* of three channels the mean is rounded */
            assert_float_equal(s.sample[n], mean_at(steps, n, k->channels), k->channels == 3 ? 1e-7f : 0);
        hd_sound_release(&s);
        free(w.bytes);
    }
}

static void assert_refused(const made_wav *w, size_t size, hd_status want, const char *says)
{
    hd_err err = {0};
    hd_sound s;
    const size_t blocks = hd_mem_now().blocks;
    hd_status got = hd_sound_decode(&s, w->bytes, size, "x.wav", &err);
    if (got != want || !strstr(err.text, says) || strncmp(err.text, "x.wav: ", 7))
        fail_msg("status %d, \"%s\" instead of \"%s\"", (int)got, err.text, says);
    assert_null(s.sample);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    made_wav w = make_wav(&kinds[1], steps, COUNT_OF(steps));
    assert_refused(&w, 0, HD_EFORMAT, "no sound in WAV, FLAC, OGG or MP3: it is empty");
    for (size_t size = 12; size < w.data; size++)
        assert_refused(&w, size, HD_EFORMAT, "the file is cut short");
    for (size_t size = w.data; size < w.size; size++)
        assert_refused(&w, size, HD_EFORMAT, "bytes of samples that its header speaks of");
    free(w.bytes);
}

static void hostile_headers_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
        int bytes;
        const char *says;
    } cases[] = {
        {16, 0xFFFFFFF0, 4, "cut short"},
        {16, 2, 4, "the file is cut short or damaged"},
        {22, 0, 2, "damaged WAV: 0 channels"},
        {22, 65535, 2, "damaged WAV: 65535 channels"},
        {24, 0, 4, "0 samples a second"},
        {24, 0xFFFFFFFF, 4, "samples a second: a sound has"},
        {32, 0, 2, "in 0 bytes"},
        {34, 20, 2, "damaged WAV: 1 channels of 20 bits"},
        {34, 40, 2, "a WAV of 40 bits"},
        {34, 0, 2, "a WAV of 0 bits"},
        {20, 3, 2, "a WAV of 16 bits, floats"},
        {40, 1000, 4, "cut short: it has 24 of the 1000"},
        {40, 0x7FFFEFFF, 4, "cut short"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        made_wav w = make_wav(&kinds[1], steps, COUNT_OF(steps));
        set_number(&w, cases[i].at, cases[i].value, cases[i].bytes);
        assert_refused(&w, w.size, HD_EFORMAT, cases[i].says);
        free(w.bytes);
    }
    made_wav w = make_wav(&kinds[1], steps, 0);
    assert_refused(&w, w.size, HD_EFORMAT, "no sample is in it");
    free(w.bytes);
    w = make_wav(&(wav_kind){1, 16, 1025, 8000, 0}, (double[1025]){0}, 1);
    assert_refused(&w, w.size, HD_EFORMAT, "1025 channels");
    free(w.bytes);
}

static void samples_that_are_no_numbers_are_refused(void **state)
{
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e30};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        made_wav w = make_wav(&kinds[4], (double[]){0, bad[i], 0}, 3);
        assert_refused(&w, w.size, HD_ENUMBER, "sample 1 is ");
        free(w.bytes);
    }
}

/* Who writes into a pipe does not know how much will come. */
static void sizes_of_pipes_mean_all_that_is_there(void **state)
{
    const uint64_t sizes[] = {0, 0x7FFFF000, 0x7FFFFFFF, 0xFFFFFFFF};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        made_wav w = make_wav(&kinds[1], steps, COUNT_OF(steps));
        hd_err err = {0};
        hd_sound s;
        set_number(&w, w.data - 4, sizes[i], 4);
        if (hd_sound_decode(&s, w.bytes, w.size - 1, "a.wav", &err)) fail_msg("%s", err.text);
        assert_int_equal(s.count, COUNT_OF(steps) - 1); /* the last is not whole */
        hd_sound_release(&s);
        free(w.bytes);
    }
}

static void one_sample_and_other_chunks_are_read(void **state)
{
    hd_err err = {0};
    hd_sound s;
    (void)state;
    made_wav w = make_wav(&kinds[1], steps, 1);
    /* a chunk of odd size before the samples */
    memmove(w.bytes + w.data + 4, w.bytes + w.data - 8, w.size - w.data + 8);
    memcpy(w.bytes + w.data - 8, "LIST\3\0\0\0abc", 12);
    w.size += 12;
    if (hd_sound_decode(&s, w.bytes, w.size, "a.wav", &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 1);
    assert_float_equal(s.sample[0], 0.5, 0);
    hd_sound_release(&s);
    free(w.bytes);
}

static void large_files_have_their_size_elsewhere(void **state)
{
    hd_err err = {0};
    hd_sound s;
    (void)state;
    made_wav from = make_wav(&kinds[1], steps, COUNT_OF(steps)), w = {.bytes = malloc(256)};
    put_name(&w, "RF64"), put_number(&w, UINT32_MAX, 4), put_name(&w, "WAVE");
    put_name(&w, "ds64"), put_number(&w, 28, 4), put_number(&w, from.size + 28, 8);
    put_number(&w, COUNT_OF(steps) * 2, 8), put_number(&w, COUNT_OF(steps), 8), put_number(&w, 0, 4);
    memcpy(w.bytes + w.size, from.bytes + 12, from.size - 12);
    w.size += from.size - 12;
    set_number(&w, 48 + from.data - 12 - 4, UINT32_MAX, 4);
    if (hd_sound_decode(&s, w.bytes, w.size, "a.wav", &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, COUNT_OF(steps));
    assert_float_equal(s.sample[2], 0.25, 0);
    hd_sound_release(&s);
    set_number(&w, 28, 1ull << 50, 8);
    assert_refused(&w, w.size, HD_EFORMAT, "cut short");
    free(w.bytes);
    free(from.bytes);
}

static void other_files_are_named(void **state)
{
    static const struct {
        const char *bytes, *says;
    } cases[] = {
        {"\0\0\0\x20"
         "ftypM4A ",
         "an MP4 or M4A file, which heed does not read: convert it"},
        {"MThd....", "a MIDI file"},
        {"hello, world", "it begins with \"hello, world\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        made_wav w = {.bytes = (uint8_t *)(uintptr_t)cases[i].bytes};
        assert_refused(&w, i ? strlen(cases[i].bytes) : 12, HD_EFORMAT, cases[i].says);
    }
    made_wav w = {.bytes = (uint8_t *)"fLaC\0\0\0\x22oooooooooooooooooo"};
    assert_refused(&w, 26, HEED_SNDFILE ? HD_EFORMAT : HD_EMISSING,
                   HEED_SNDFILE ? "is a FLAC that libsndfile cannot read"
                                : "is a FLAC, and this heed was built without libsndfile: install it");
}

/* -- pieces -- */

static void pieces_are_the_whole_at_any_rate(void **state)
{
    enum { FRAMES = 5000 };
    const int rates[] = {0, 16000, 8000, 11025, 44100, 22050};
    double *value = malloc(FRAMES * sizeof *value);
    float *noise = malloc(FRAMES * sizeof *noise), piece[700];
    (void)state;
    fill_noise(noise, FRAMES);
    for (size_t i = 0; i < FRAMES; i++) value[i] = (double)noise[i];
    made_wav w = make_wav(&(wav_kind){3, 32, 1, 22050, 0}, value, FRAMES);
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        hd_err err = {0};
        hd_sound_file *f = NULL;
        hd_sound own, whole;
        assert_int_equal(hd_sound_decode(&own, w.bytes, w.size, "a.wav", &err), HD_OK);
        assert_int_equal(hd_sound_resampled(&whole, &own, rates[i] ? rates[i] : 22050, &err), HD_OK);
        assert_int_equal(hd_sound_file_over(&f, w.bytes, w.size, "a.wav", rates[i], &err), HD_OK);
        assert_int_equal(hd_sound_file_count(f), whole.count);
        assert_int_equal(hd_sound_file_rate(f), whole.rate);
        for (size_t from = 0; from < whole.count; from += 613) {
            size_t n = whole.count - from < 700 ? whole.count - from : 700;
            if (hd_sound_file_read(f, from, n, piece, &err)) fail_msg("%s", err.text);
            assert_memory_equal(piece, whole.sample + from, n * sizeof *piece);
        }
        assert_int_equal(hd_sound_file_read(f, whole.count, 1, piece, &err), HD_EARG);
        hd_sound_file_close(f);
        hd_sound_release(&own);
        hd_sound_release(&whole);
    }
    free(w.bytes);
    free(noise);
    free(value);
}

/* Samples at the ends and in the middle, the sum and the sum of squares of what the formula gives in double
   (torch, the kernel as torchaudio builds it). Floats have 1e-7 of values up to 1, 36 of them in a sum. */
static void resampling_is_torchaudios(void **state)
{
    static const struct {
        int from, to;
        size_t count, becomes;
        double at[5], sum, square;
    } cases[] = {
        {8000, 16000, 50, 100, {0.296830, -0.178697, -0.117770, 0.806218, 0.425070}, 5.15728, 23.47288},
        {44100, 16000, 300, 109, {0.045875, -0.191528, 0.417716, 0.144793, 0.335703}, -0.19920, 10.73614},
        {16000, 8000, 101, 51, {0.108362, -0.204502, 0.396857, -0.024232, 0.023802}, -0.91968, 5.68822},
        {22050, 16000, 77, 56, {0.057760, -0.009451, 0.441587, -0.053831, -0.546387}, -1.59811, 10.25286},
        {48000, 44100, 64, 59, {0.188623, -0.206717, -0.432943, -0.409169, 0.703757}, -0.32044, 14.00320},
        {16000, 16001, 40, 41, {0.296830, -0.374019, -0.488538, 0.436400, -0.000320}, 0.47371, 9.59253},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        float noise[300];
        hd_err err = {0};
        hd_sound in = {noise, cases[i].count, cases[i].from}, out;
        fill_noise(noise, in.count);
        if (hd_sound_resampled(&out, &in, cases[i].to, &err)) fail_msg("%s", err.text);
        assert_int_equal(out.count, cases[i].becomes);
        const size_t at[5] = {0, 1, out.count / 2, out.count - 2, out.count - 1};
        double sum = 0, square = 0;
        for (size_t n = 0; n < out.count; n++)
            sum += (double)out.sample[n], square += (double)out.sample[n] * (double)out.sample[n];
        for (size_t n = 0; n < 5; n++) assert_float_equal(out.sample[at[n]], cases[i].at[n], 2e-6);
        assert_float_equal(sum, cases[i].sum, 2e-5);
        assert_float_equal(square, cases[i].square, 2e-5);
        hd_sound_release(&out);
    }
}

static void rates_out_of_range_are_refused(void **state)
{
    float one = 0.5f;
    hd_sound in = {&one, 1, 8000}, out;
    (void)state;
    const int rates[] = {999, 768001, 0, -1};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        hd_err err = {0};
        assert_int_equal(hd_sound_resampled(&out, &in, rates[i], &err), HD_EARG);
        assert_null(out.sample);
    }
    hd_err err = {0};
    assert_int_equal(hd_sound_resampled(&out, &in, 16000, &err), HD_OK);
    assert_int_equal(out.count, 2);
    hd_sound_release(&out);
}

static void every_failed_allocation_is_told(void **state)
{
    (void)state;
    made_wav w = make_wav(&kinds[1], steps, COUNT_OF(steps));
    const size_t blocks = hd_mem_now().blocks;
    hd_status s = HD_ENOMEM;
    size_t n = 0;
    while (s) {
        hd_err err = {0};
        hd_sound own = {0}, other = {0};
        hd_mem_fail_at(++n);
        s = hd_sound_decode(&own, w.bytes, w.size, "a.wav", &err);
        if (!s) s = hd_sound_resampled(&other, &own, 16000, &err);
        hd_mem_fail_at(0);
        assert_true(!s || s == HD_ENOMEM);
        hd_sound_release(&own);
        hd_sound_release(&other);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 5);
    free(w.bytes);
}

/* A sound of that many samples, all but the first and the last of which are a hole in the file. */
static const char *put_long(const char *name, size_t count, int rate)
{
    made_wav w = make_wav(&(wav_kind){1, 16, 1, rate, 0}, steps, 1);
    set_number(&w, w.data - 4, count * 2, 4);
    const char *path = at("%s", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w.bytes, 1, w.size, file), w.size);
    assert_int_equal(fseeko(file, (off_t)(w.data + count * 2 - 1), SEEK_SET), 0);
    assert_int_equal(fputc(0x40, file), 0x40);
    fclose(file);
    free(w.bytes);
    return path;
}

static void an_hour_is_read_in_little_memory(void **state)
{
    float piece[4096];
    hd_err err = {0};
    hd_sound_file *f = NULL;
    (void)state;
    const char *path = put_long("hour.wav", (size_t)3600 * 48000, 48000);
    const size_t used = hd_mem_now().used;
    hd_mem_peak_reset();
    if (hd_sound_file_open(&f, path, 16000, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_sound_file_count(f), (size_t)3600 * 16000);
    for (size_t from = 0; from < hd_sound_file_count(f); from += 7200000)
        assert_int_equal(hd_sound_file_read(f, from, 4096, piece, &err), HD_OK);
    assert_int_equal(hd_sound_file_read(f, hd_sound_file_count(f) - 4, 4, piece, &err), HD_OK);
    assert_true(piece[3] > 0.05f);
    assert_true(hd_mem_now().peak - used < (1 << 20));
    hd_sound_file_close(f);
    remove(path);
}

/* Pages of this process that are in memory. */
static long resident(void)
{
    long all, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &here) != 2) here = 0;
    if (f) fclose(f);
    return here;
}

/* Pages of the file do not pile up in the process. */
static void what_was_read_of_a_file_is_forgotten(void **state)
{
    enum { COUNT = 600 * 16000 };
    static float piece[29000];
    hd_err err = {0};
    hd_sound_file *f = NULL;
    (void)state;
    const char *path = put_long("long.wav", COUNT, 16000); /* 19 MB */
    if (hd_sound_file_open(&f, path, 0, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_sound_file_read(f, 0, 29000, piece, &err), HD_OK);
    const long before = resident();
    for (size_t from = 0; from + 29000 < COUNT; from += 28000)
        assert_int_equal(hd_sound_file_read(f, from, 29000, piece, &err), HD_OK);
    /* a sanitizer keeps a shadow of all that was ever read */
    assert_true(HEED_SANITIZED || (resident() - before) * sysconf(_SC_PAGESIZE) < (4 << 20));
    hd_sound_file_close(f);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_wav_is_the_mean_of_its_channels),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(samples_that_are_no_numbers_are_refused),
        cmocka_unit_test(sizes_of_pipes_mean_all_that_is_there),
        cmocka_unit_test(one_sample_and_other_chunks_are_read),
        cmocka_unit_test(large_files_have_their_size_elsewhere),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(pieces_are_the_whole_at_any_rate),
        cmocka_unit_test(resampling_is_torchaudios),
        cmocka_unit_test(rates_out_of_range_are_refused),
        cmocka_unit_test(every_failed_allocation_is_told),
        cmocka_unit_test(an_hour_is_read_in_little_memory),
        cmocka_unit_test(what_was_read_of_a_file_is_forgotten),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
