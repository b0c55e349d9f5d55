/* A file of sound as windows read it. */
#include "task/transcribe/whisper/file.h"

#include <math.h>

#include "base/mem.h"

enum { PIECE = 1000 }; /* frames at a time */

static hd_features_input input_of(const hd_whisper_file *f)
{
    return (hd_features_input){.file = f->file, .count = f->count, .total = f->total};
}

static size_t hop(const hd_whisper_file *f)
{
    return (size_t)hd_features_options(f->features)->hop;
}

static hd_status find_largest(hd_whisper_file *f, hd_err *err)
{
    size_t bins = (size_t)hd_features_options(f->features)->mels, all = f->total / hop(f);
    const hd_features_input in = input_of(f);
    float *x = hd_mem_array(PIECE * bins, sizeof *x);
    hd_status s = x ? HD_OK : hd_err_nomem(err, PIECE * bins * sizeof *x);
    f->largest = -INFINITY;
    for (size_t at = 0; !s && at < all; at += PIECE) {
        size_t n = all - at < PIECE ? all - at : PIECE;
        s = hd_features_part(f->features, x, &in, at, n, err);
        for (size_t i = 0; !s && i < n * bins; i++)
            if (x[i] > f->largest) f->largest = x[i];
    }
    hd_mem_free(x);
    return s;
}

hd_status hd_whisper_file_open(hd_whisper_file *out, const hd_features *features, const char *path,
                               hd_err *err)
{
    const hd_features_opt *o = hd_features_options(features);
    size_t chunk = (size_t)llround(o->chunk * o->rate);
    hd_whisper_file f = {.features = features};
    hd_status s = hd_sound_file_open(&f.file, path, o->rate, err);
    if (s) return s;
    f.count = hd_sound_file_count(f.file);
    f.total = f.count > chunk ? f.count : chunk;
    s = find_largest(&f, err);
    if (s)
        hd_whisper_file_close(&f);
    else
        *out = f;
    return s;
}

void hd_whisper_file_close(hd_whisper_file *f)
{
    hd_sound_file_close(f->file);
    *f = (hd_whisper_file){0};
}

static hd_status read(void *context, size_t first, size_t count, float *to, hd_err *err)
{
    const hd_whisper_file *f = context;
    const hd_features_input in = input_of(f);
    hd_status s = hd_features_part(f->features, to, &in, first, count, err);
    if (!s) hd_features_scale(to, count * (size_t)hd_features_options(f->features)->mels, f->largest);
    return s;
}

hd_whisper_source hd_whisper_file_source(hd_whisper_file *f)
{
    size_t by = hop(f), frames = (f->count + by - 1) / by, readable = f->total / by;
    return (hd_whisper_source){
        .frames = frames < readable ? frames : readable, .readable = readable, .read = read, .context = f};
}
