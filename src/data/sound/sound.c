/* Sounds in memory and in files, and which format a file has. */
#include "data/sound/sound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/sound/codec.h"

enum {
    PIECE = 1 << 18,  /* samples that are read at once */
    AROUND = 1 << 22, /* bytes */
};

#define FRAMES_MOST ((size_t)1 << 40) /* that a header may speak of */
#define LOUDEST     1e9f              /* beyond that the power of a frame overflows */

void hd_sound_release(hd_sound *s)
{
    hd_mem_free(s->sample);
    *s = (hd_sound){0};
}

/* -- formats -- */

typedef struct format {
    hd_status (*open)(hd_sound_file *f, const char *title, hd_err *err); /* NULL: not read here */
    const char *title, *magic;
    size_t at, size; /* of the magic */
} format;

#define FORMAT(open, title, magic, at)           \
    {                                            \
        open, title, magic, at, sizeof magic - 1 \
    }
static const format formats[] = {
    FORMAT(hd_sound_open_wav, "a WAV of a compressed kind", "WAVE", 8),
    FORMAT(hd_sound_open_sndfile, "a FLAC", "fLaC", 0),
    FORMAT(hd_sound_open_sndfile, "an OGG", "OggS", 0),
    FORMAT(hd_sound_open_sndfile, "an MP3", "ID3", 0),
    FORMAT(hd_sound_open_sndfile, "an AIFF", "FORM", 0),
    FORMAT(hd_sound_open_sndfile, "an AU file", ".snd", 0),
    FORMAT(hd_sound_open_sndfile, "a W64 file", "riff", 0),
    FORMAT(hd_sound_open_sndfile, "a CAF file", "caff", 0),
    FORMAT(NULL, "an MP4 or M4A file", "ftyp", 4),
    FORMAT(NULL, "a WebM or Matroska file", "\x1a\x45\xdf\xa3", 0),
    FORMAT(NULL, "an AMR file", "#!AMR", 0),
    FORMAT(NULL, "a WMA file", "\x30\x26\xb2\x75", 0),
    FORMAT(NULL, "a MIDI file (notes, not sound)", "MThd", 0),
};
static const format mp3 = FORMAT(hd_sound_open_sndfile, "an MP3", "", 0);
#undef FORMAT

/* RIFF and RF64 have little endian numbers; RIFX is for libsndfile. */
static bool little(const uint8_t *bytes)
{
    return !memcmp(bytes, "RIFF", 4) || !memcmp(bytes, "RF64", 4);
}

static const format *format_of(const uint8_t *bytes, size_t size)
{
    static const format rifx = {hd_sound_open_sndfile, "a WAV with big endian numbers", "", 0, 0};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        if (size < f->at + f->size || memcmp(bytes + f->at, f->magic, f->size)) continue;
        if (f->open != hd_sound_open_wav || little(bytes)) return f;
        if (!memcmp(bytes, "RIFX", 4)) return &rifx;
    }
    /* an MP3 without a title begins with a frame: eleven bits set, then a layer */
    if (size >= 4 && bytes[0] == 0xff && (bytes[1] & 0xe6) == 0xe2) return &mp3;
    return NULL;
}

/* -- files -- */

static hd_status check_header(const hd_sound_file *f, hd_err *err)
{
    if (f->rate < HD_SOUND_LEAST_RATE || f->rate > HD_SOUND_MOST_RATE)
        return hd_err_set(err, HD_EFORMAT, "%s: %d samples a second: a sound has between %d and %d", f->name,
                          f->rate, HD_SOUND_LEAST_RATE, HD_SOUND_MOST_RATE);
    if (f->channels < 1 || f->channels > HD_SOUND_MOST_CHANNELS)
        return hd_err_set(err, HD_EFORMAT, "%s: %d channels: a sound has between 1 and %d", f->name,
                          f->channels, HD_SOUND_MOST_CHANNELS);
    if (!f->count) return hd_err_set(err, HD_EFORMAT, "%s: no sample is in it", f->name);
    if (f->count > FRAMES_MOST)
        return hd_err_set(err, HD_EFORMAT, "%s: damaged: its header speaks of %zu samples", f->name,
                          f->count);
    return HD_OK;
}

static hd_status open_bytes(hd_sound_file *f, int rate, hd_err *err)
{
    const format *of = format_of(f->bytes, f->size);
    char what[HD_FILE_BEGINS];
    if (!of) {
        hd_file_begins(what, f->bytes, f->size);
        return hd_err_set(err, HD_EFORMAT, "%s: no sound in WAV, FLAC, OGG or MP3: %s", f->name, what);
    }
    if (!of->open)
        return hd_err_set(err, HD_EFORMAT, "%s: is %s, which heed does not read: convert it to WAV or FLAC",
                          f->name, of->title);
    hd_status s = of->open(f, of->title, err);
    if (!s) s = check_header(f, err);
    if (!s && rate && rate != f->rate) s = hd_resampler_new(&f->other, f->rate, rate, err);
    return s;
}

static hd_status open_either(hd_sound_file **out, const char *path, const void *bytes, size_t size, int rate,
                             hd_err *err)
{
    hd_sound_file *f = hd_mem_zero(sizeof *f);
    if (!f) return hd_err_nomem(err, sizeof *f);
    f->name = hd_mem_text(path);
    hd_status s = f->name ? HD_OK : hd_err_nomem(err, strlen(path));
    if (!s && !bytes) s = hd_map_open(&f->map, path, err);
    f->bytes = bytes ? bytes : f->map.data;
    f->size = bytes ? size : f->map.size;
    if (!s && rate && (rate < HD_SOUND_LEAST_RATE || rate > HD_SOUND_MOST_RATE))
        s = hd_err_set(err, HD_EARG, "%d samples a second: at least %d, at most %d", rate,
                       HD_SOUND_LEAST_RATE, HD_SOUND_MOST_RATE);
    if (!s) s = open_bytes(f, rate, err);
    if (s)
        hd_sound_file_close(f);
    else
        *out = f;
    return s;
}

hd_status hd_sound_file_open(hd_sound_file **out, const char *path, int rate, hd_err *err)
{
    return open_either(out, path, NULL, 0, rate, err);
}

hd_status hd_sound_file_over(hd_sound_file **out, const void *bytes, size_t size, const char *name, int rate,
                             hd_err *err)
{
    return open_either(out, name, bytes, size, rate, err);
}

void hd_sound_file_close(hd_sound_file *f)
{
    if (!f) return;
    if (f->codec) f->codec->close(f);
    hd_resampler_free(f->other);
    hd_map_close(&f->map);
    hd_mem_free(f->name);
    hd_mem_free(f);
}

int hd_sound_file_rate(const hd_sound_file *f)
{
    return f->other ? hd_resampler_rate(f->other) : f->rate;
}

size_t hd_sound_file_count(const hd_sound_file *f)
{
    return f->other ? hd_sound_resampled_count(f->count, f->rate, hd_resampler_rate(f->other)) : f->count;
}

const char *hd_sound_file_name(const hd_sound_file *f)
{
    return f->name;
}

/* Easy to get wrong: a page that is touched brings back others before it, up to the largest size of a page.
 */
void hd_sound_file_forget(const hd_sound_file *f, const uint8_t *bytes, size_t size)
{
    const size_t begin = (size_t)(bytes - f->bytes), before = begin < AROUND ? begin : AROUND;
    hd_map_forget(&f->map, bytes - before, before + size);
}

/* Samples as the file has them, in pieces: what was read is dropped from memory. */
static hd_status read_own(void *context, size_t from, size_t count, float *to, hd_err *err)
{
    hd_sound_file *f = context;
    hd_status s = HD_OK;
    for (size_t done = 0; !s && done < count; done += PIECE) {
        const size_t n = count - done < PIECE ? count - done : PIECE;
        s = f->codec->read(f, from + done, n, to + done, err);
        for (size_t i = done; !s && i < done + n; i++)
            if (!(fabsf(to[i]) <= LOUDEST))
                s = hd_err_set(err, HD_ENUMBER, "%s: sample %zu is %g: a sound lies between -1 and 1",
                               f->name, from + i, (double)to[i]);
    }
    return s;
}

hd_status hd_sound_file_read(hd_sound_file *f, size_t from, size_t count, float *to, hd_err *err)
{
    const size_t all = hd_sound_file_count(f);
    if (from > all || count > all - from)
        return hd_err_set(err, HD_EARG, "%s: samples %zu to %zu of %zu", f->name, from, from + count, all);
    if (!f->other) return read_own(f, from, count, to, err);
    return hd_resampler_run(f->other, &(hd_resampler_input){read_own, f, f->count}, from, count, to, err);
}

/* -- whole ones -- */

/* Memory grows with what was decoded, whatever the header says. */
static hd_status read_whole(hd_sound *out, hd_sound_file *f, hd_err *err)
{
    const size_t count = f->count;
    size_t room = 0;
    hd_status s = HD_OK;
    if (count > HD_SOUND_MOST_SAMPLES)
        return hd_err_set(err, HD_ELIMIT,
                          "%s: %zu samples; a sound in memory has at most %d: cut it into parts first",
                          f->name, count, HD_SOUND_MOST_SAMPLES);
    for (size_t done = 0; !s && done < count; done += PIECE) {
        const size_t n = count - done < PIECE ? count - done : PIECE;
        s = hd_mem_reserve(&out->sample, &room, done + n, sizeof *out->sample, err);
        if (!s) s = read_own(f, done, n, out->sample + done, err);
    }
    out->count = count;
    out->rate = f->rate;
    return s;
}

static hd_status read_closing(hd_sound *out, hd_sound_file *f, hd_status s, hd_err *err)
{
    *out = (hd_sound){0};
    if (s) return s;
    s = read_whole(out, f, err);
    hd_sound_file_close(f);
    if (s) hd_sound_release(out);
    return s;
}

hd_status hd_sound_read(hd_sound *out, const char *path, hd_err *err)
{
    hd_sound_file *f = NULL;
    hd_status s = hd_sound_file_open(&f, path, 0, err);
    return read_closing(out, f, s, err);
}

hd_status hd_sound_decode(hd_sound *out, const void *bytes, size_t size, const char *name, hd_err *err)
{
    hd_sound_file *f = NULL;
    hd_status s = hd_sound_file_over(&f, bytes, size, name, 0, err);
    return read_closing(out, f, s, err);
}
