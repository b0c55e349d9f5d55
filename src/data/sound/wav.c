/* WAV: PCM and float, also of over 4 GiB (RF64). Easy to get wrong: programs that write into a pipe do not
   know the size and put a huge one or 0, which is right to read to the end, while any other size beyond the
   end is a file that is cut short. */
#include <string.h>

#include "base/mem.h"
#include "data/sound/codec.h"

enum { PCM = 1, FLOAT = 3, EXTENSIBLE = 0xFFFE, FORMAT_BYTES = 16, EXTENSIBLE_BYTES = 40 };

#define PIPED 0x7FFFF000u /* sizes from here on are those of programs that did not know */

typedef struct wav wav;

struct wav {
    const uint8_t *data;
    size_t block; /* bytes of a frame */
    int channels;
    void (*mean)(const wav *w, size_t from, size_t count, float *to);
};

static uint32_t u16(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8;
}

static uint32_t u32(const uint8_t *b)
{
    return u16(b) | u16(b + 2) << 16;
}

static uint64_t u64(const uint8_t *b)
{
    return u32(b) | (uint64_t)u32(b + 4) << 32;
}

static float f32(const uint8_t *b)
{
    uint32_t bits = u32(b);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double f64(const uint8_t *b)
{
    uint64_t bits = u64(b);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/*     name, format, bytes, value of the bytes at b */
#define SAMPLE_LIST(X)                                                                     \
    X(u8, PCM, 1, (float)(b[0] - 128) * 0x1p-7f)                                           \
    X(s16, PCM, 2, (float)(int16_t)u16(b) * 0x1p-15f)                                      \
    X(s24, PCM, 3, (float)((int32_t)(u16(b) << 8 | (uint32_t)b[2] << 24) >> 8) * 0x1p-23f) \
    X(s32, PCM, 4, (float)(int32_t)u32(b) * 0x1p-31f)                                      \
    X(f32, FLOAT, 4, f32(b))                                                               \
    X(f64, FLOAT, 8, (float)f64(b))

#define X(name, format, bytes, value)                                           \
    static void mean_##name(const wav *w, size_t from, size_t count, float *to) \
    {                                                                           \
        const uint8_t *b = w->data + from * w->block;                           \
        for (size_t i = 0; i < count; i++) {                                    \
            float sum = 0;                                                      \
            for (int c = 0; c < w->channels; c++, b += bytes) sum += value;     \
            to[i] = w->channels > 1 ? sum / (float)w->channels : sum;           \
        }                                                                       \
    }
SAMPLE_LIST(X)
#undef X

static const struct {
    uint32_t format, bytes;
    void (*mean)(const wav *w, size_t from, size_t count, float *to);
} samples[] = {
#define X(name, format, bytes, value) {format, bytes, mean_##name},
    SAMPLE_LIST(X)
#undef X
};

static hd_status read_frames(hd_sound_file *f, size_t from, size_t count, float *to, hd_err *err)
{
    const wav *w = f->state;
    (void)err;
    w->mean(w, from, count, to);
    hd_sound_file_forget(f, w->data + from * w->block, count * w->block);
    return HD_OK;
}

static void close_wav(hd_sound_file *f)
{
    hd_mem_free(f->state);
}

static const hd_sound_codec codec = {.read = read_frames, .close = close_wav};

/* -- the header -- */

/* What was found on the way to the samples. */
typedef struct chunks {
    const uint8_t *format, *data;
    size_t format_size;
    uint64_t data_size;  /* as the header has it */
    uint64_t large_size; /* of the data in RF64; 0: not known */
} chunks;

static hd_status cut_short(const hd_sound_file *f, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT, "%s: no sample is in it: the file is cut short or damaged", f->name);
}

/* Up to the samples, or the end. */
static hd_status walk(const hd_sound_file *f, chunks *found, hd_err *err)
{
    for (size_t at = 12; f->size - at >= 8;) {
        const uint8_t *chunk = f->bytes + at;
        size_t size = u32(chunk + 4), left = f->size - at - 8;
        if (!memcmp(chunk, "data", 4)) {
            found->data = chunk + 8;
            found->data_size = size;
            return HD_OK;
        }
        if (size > left) return cut_short(f, err);
        if (!memcmp(chunk, "fmt ", 4)) found->format = chunk + 8, found->format_size = size;
        if (!memcmp(chunk, "ds64", 4) && size >= 24) found->large_size = u64(chunk + 16);
        if (size == left) break;
        at += 8 + size + size % 2;
        if (at > f->size) break;
    }
    return cut_short(f, err);
}

/* Bytes of samples that are there. */
static hd_status measure(const hd_sound_file *f, const chunks *found, size_t *bytes, hd_err *err)
{
    const size_t left = f->size - (size_t)(found->data - f->bytes);
    uint64_t said = found->data_size;
    if (said == UINT32_MAX && found->large_size) said = found->large_size;
    if (said <= left && said) {
        *bytes = (size_t)said;
    } else if (!said || (said >= PIPED && said <= UINT32_MAX)) {
        *bytes = left;
    } else {
        return hd_err_set(err, HD_EFORMAT,
                          "%s: the file is cut short: it has %zu of the %ju bytes of samples that its header "
                          "speaks of: copy it again",
                          f->name, left, (uintmax_t)said);
    }
    return HD_OK;
}

/* The format behind "extensible": its number is the first part of a GUID. */
static uint32_t format_of(const chunks *found)
{
    static const uint8_t rest[14] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
    uint32_t format = u16(found->format);
    if (format != EXTENSIBLE || found->format_size < EXTENSIBLE_BYTES) return format;
    return memcmp(found->format + 26, rest, sizeof rest) ? format : u16(found->format + 24);
}

/* Chooses what reads the samples; *known is false where only a library might. */
static hd_status choose(hd_sound_file *f, wav *w, const chunks *found, bool *known, hd_err *err)
{
    if (found->format_size < FORMAT_BYTES)
        return hd_err_set(err, HD_EFORMAT, "%s: damaged WAV: its format has %zu bytes", f->name,
                          found->format_size);
    const uint32_t format = format_of(found), channels = u16(found->format + 2),
                   rate = u32(found->format + 4), block = u16(found->format + 12),
                   bits = u16(found->format + 14), bytes = (bits + 7) / 8;
    f->channels = (int)channels;
    f->rate = rate <= INT32_MAX ? (int)rate : INT32_MAX;
    *known = format == PCM || format == FLOAT;
    if (!*known) return HD_OK;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (samples[i].format == format && samples[i].bytes == bytes) w->mean = samples[i].mean;
    if (!w->mean)
        return hd_err_set(err, HD_EFORMAT,
                          "%s: a WAV of %u bits, %s: heed reads whole numbers of 8, 16, 24 and 32 bits and "
                          "floats of 32 and 64",
                          f->name, (unsigned)bits, format == PCM ? "whole numbers" : "floats");
    if (!channels || block != channels * bytes)
        return hd_err_set(err, HD_EFORMAT, "%s: damaged WAV: %u channels of %u bits in %u bytes", f->name,
                          (unsigned)channels, (unsigned)bits, (unsigned)block);
    w->channels = f->channels;
    w->block = block;
    return HD_OK;
}

hd_status hd_sound_open_wav(hd_sound_file *f, const char *title, hd_err *err)
{
    chunks found = {0};
    wav w = {0};
    bool known = false;
    size_t bytes = 0;
    hd_status s = walk(f, &found, err);
    if (!s && !found.format)
        s = hd_err_set(err, HD_EFORMAT, "%s: damaged WAV: no format before the samples", f->name);
    if (!s) s = choose(f, &w, &found, &known, err);
    if (!s && !known) return hd_sound_open_sndfile(f, title, err);
    if (!s) s = measure(f, &found, &bytes, err);
    if (s) return s;
    w.data = found.data;
    f->count = bytes / w.block;
    f->codec = &codec;
    f->state = hd_mem_new(sizeof w);
    if (!f->state) return hd_err_nomem(err, sizeof w);
    *(wav *)f->state = w;
    return HD_OK;
}
