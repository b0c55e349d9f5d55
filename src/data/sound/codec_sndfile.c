/* FLAC, OGG, MP3 and whatever else libsndfile reads. The file is in memory (mapped), so libsndfile asks for
   its bytes here. Easy to get wrong: how many frames there are is what a header says until they are read. */
#include <sndfile.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/sound/codec.h"

enum { BUFFER = 1 << 16 }; /* samples of all channels that are decoded at once */

typedef struct work {
    SNDFILE *file;
    const hd_sound_file *of;
    sf_count_t at;  /* in the bytes */
    size_t decoded; /* frames: where libsndfile stands */
    float *buffer;  /* [BUFFER], at least a frame */
} work;

static sf_count_t length_of(void *context)
{
    const work *w = context;
    return (sf_count_t)w->of->size;
}

static sf_count_t seek(sf_count_t offset, int whence, void *context)
{
    work *w = context;
    const sf_count_t size = (sf_count_t)w->of->size, from = whence == SEEK_SET   ? 0
                                                            : whence == SEEK_CUR ? w->at
                                                                                 : size;
    if (offset > size - from || offset < -from) return -1;
    return w->at = from + offset;
}

static sf_count_t read_bytes(void *to, sf_count_t count, void *context)
{
    work *w = context;
    const sf_count_t left = (sf_count_t)w->of->size - w->at;
    if (count > left) count = left;
    if (count <= 0) return 0;
    memcpy(to, w->of->bytes + w->at, (size_t)count);
    hd_map_forget(&w->of->map, w->of->bytes + w->at, (size_t)count);
    w->at += count;
    return count;
}

static sf_count_t write_bytes(const void *from, sf_count_t count, void *context)
{
    (void)from, (void)count, (void)context;
    return 0;
}

static sf_count_t tell(void *context)
{
    const work *w = context;
    return w->at;
}

static hd_status read_frames(hd_sound_file *f, size_t from, size_t count, float *to, hd_err *err)
{
    work *w = f->state;
    const size_t channels = (size_t)f->channels, most = BUFFER / channels;
    if (w->decoded != from && sf_seek(w->file, (sf_count_t)from, SEEK_SET) != (sf_count_t)from)
        return hd_err_set(err, HD_EFORMAT, "%s: cannot be read from sample %zu on: %s", f->name, from,
                          sf_strerror(w->file));
    w->decoded = from;
    for (size_t done = 0; done < count;) {
        size_t want = count - done < most ? count - done : most;
        sf_count_t got = sf_readf_float(w->file, w->buffer, (sf_count_t)want);
        if (got <= 0 || (size_t)got > want)
            return hd_err_set(err, HD_EFORMAT,
                              "%s: the file is cut short or damaged: %zu of %zu samples can be read", f->name,
                              from + done, f->count);
        for (size_t i = 0; i < (size_t)got; i++) {
            float sum = 0;
            for (size_t c = 0; c < channels; c++) sum += w->buffer[i * channels + c];
            to[done + i] = channels > 1 ? sum / (float)channels : sum;
        }
        done += (size_t)got;
        w->decoded += (size_t)got;
    }
    return HD_OK;
}

static void close_sndfile(hd_sound_file *f)
{
    work *w = f->state;
    if (!w) return;
    if (w->file) sf_close(w->file);
    hd_mem_free(w->buffer);
    hd_mem_free(w);
}

static const hd_sound_codec codec = {.read = read_frames, .close = close_sndfile};

hd_status hd_sound_open_sndfile(hd_sound_file *f, const char *title, hd_err *err)
{
    static SF_VIRTUAL_IO bytes = {length_of, seek, read_bytes, write_bytes, tell};
    SF_INFO info = {0};
    work *w = f->state = hd_mem_zero(sizeof *w);
    f->codec = &codec;
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->of = f;
    w->buffer = hd_mem_new(BUFFER * sizeof *w->buffer);
    if (!w->buffer) return hd_err_nomem(err, BUFFER * sizeof *w->buffer);
    w->file = sf_open_virtual(&bytes, SFM_READ, &info, w);
    if (!w->file)
        return hd_err_set(err, HD_EFORMAT, "%s: is %s that libsndfile cannot read: %.150s", f->name, title,
                          sf_strerror(NULL));
    f->channels = info.channels;
    f->rate = info.samplerate;
    f->count = info.frames > 0 ? (size_t)info.frames : 0;
    return HD_OK;
}
