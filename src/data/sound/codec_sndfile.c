/* FLAC, OGG, MP3 and whatever else libsndfile reads. The file is in memory (mapped), so libsndfile asks for
   its bytes here. Easy to get wrong: how many frames there are is what a header says until they are read. */
#include <sndfile.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/sound/codec.h"

enum {
    BUFFER = 1 << 16,      /* samples of all channels that are decoded at once */
    KEPT = 1 << 16,        /* samples that are kept: windows overlap */
    LEAD_IN = 1 << 14,     /* frames that are decoded and dropped behind a seek */
    OGG_LEAD_IN = 1 << 18, /* there a seek into the last page fails, as of libsndfile 1.2 */
};

typedef struct work {
    SNDFILE *file;
    const hd_sound_file *of;
    sf_count_t at; /* in the bytes */
    size_t lead_in;
    size_t decoded; /* frames: where libsndfile stands */
    float *buffer;  /* [BUFFER], at least a frame */
    float *kept;    /* [KEPT] the last of them, means of the channels: */
    size_t held;    /* how many */
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
    hd_sound_file_forget(w->of, w->of->bytes + w->at, (size_t)count);
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

static void keep(work *w, const float *sample, size_t count)
{
    if (count > KEPT) sample += count - KEPT, count = KEPT;
    const size_t before = w->held + count > KEPT ? KEPT - count : w->held;
    memmove(w->kept, w->kept + w->held - before, before * sizeof *w->kept);
    memcpy(w->kept + before, sample, count * sizeof *w->kept);
    w->held = before + count;
}

/* The next frames, at most `most`, into the mean of their channels at the beginning of the buffer. */
static hd_status decode(hd_sound_file *f, size_t most, size_t *count, hd_err *err)
{
    work *w = f->state;
    const size_t channels = (size_t)f->channels, want = most < BUFFER / channels ? most : BUFFER / channels;
    const sf_count_t got = sf_readf_float(w->file, w->buffer, (sf_count_t)want);
    if (got <= 0 || (size_t)got > want)
        return hd_err_set(err, HD_EFORMAT,
                          "%s: the file is cut short or damaged: %zu of %zu samples can be read", f->name,
                          w->decoded, f->count);
    for (size_t i = 0; channels > 1 && i < (size_t)got; i++) {
        float sum = 0;
        for (size_t c = 0; c < channels; c++) sum += w->buffer[i * channels + c];
        w->buffer[i] = sum / (float)channels;
    }
    *count = (size_t)got;
    w->decoded += *count;
    keep(w, w->buffer, *count);
    return HD_OK;
}

/* Formats with losses overlap their blocks: what is decoded right behind a seek is not what it is otherwise.
 */
static hd_status stand_before(hd_sound_file *f, size_t from, hd_err *err)
{
    work *w = f->state;
    const size_t begin = from > w->lead_in ? from - w->lead_in : 0;
    size_t count;
    hd_status s = HD_OK;
    if (from + w->held < w->decoded || begin > w->decoded) {
        if (sf_seek(w->file, (sf_count_t)begin, SEEK_SET) != (sf_count_t)begin)
            return hd_err_set(err, HD_EFORMAT, "%s: cannot be read from sample %zu on: %.150s", f->name,
                              begin, sf_strerror(w->file));
        w->decoded = begin, w->held = 0;
    }
    while (!s && w->decoded < from) s = decode(f, from - w->decoded, &count, err);
    return s;
}

static hd_status read_frames(hd_sound_file *f, size_t from, size_t count, float *to, hd_err *err)
{
    work *w = f->state;
    hd_status s = stand_before(f, from, err);
    if (s) return s;
    size_t done = w->decoded - from < count ? w->decoded - from : count, n;
    memcpy(to, w->kept + w->held - (w->decoded - from), done * sizeof *to);
    for (; !s && done < count; done += n) {
        s = decode(f, count - done, &n, err);
        if (s) break;
        memcpy(to + done, w->buffer, n * sizeof *to);
    }
    return s;
}

static void close_sndfile(hd_sound_file *f)
{
    work *w = f->state;
    if (!w) return;
    if (w->file) sf_close(w->file);
    hd_mem_free(w->buffer);
    hd_mem_free(w->kept);
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
    w->kept = hd_mem_new(KEPT * sizeof *w->kept);
    if (!w->buffer || !w->kept) return hd_err_nomem(err, BUFFER * sizeof *w->buffer);
    w->file = sf_open_virtual(&bytes, SFM_READ, &info, w);
    if (!w->file)
        return hd_err_set(err, HD_EFORMAT, "%s: is %s that libsndfile cannot read: %.150s", f->name, title,
                          sf_strerror(NULL));
    w->lead_in = (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_OGG ? OGG_LEAD_IN : LEAD_IN;
    f->channels = info.channels;
    f->rate = info.samplerate;
    f->count = info.frames > 0 ? (size_t)info.frames : 0;
    return HD_OK;
}
