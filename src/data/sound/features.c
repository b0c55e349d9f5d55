/* Features of sounds. Easy to get wrong: frames of WHISPER and LOG_MEL lie around their time and see the
   sound reflected at its ends, those of KALDI begin at it and are never cut; and a sound that is padded to a
   chunk is reflected behind the zeros. */
#include "data/sound/features.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/sound/mel.h"
#include "data/sound/spectrum.h"

#define LEAST_POWER       1e-10f         /* before a logarithm */
#define KALDI_LEAST       1.1920929e-07f /* the same there: what a float adds to 1 */
#define KALDI_SCALE       32768.0f       /* it reads whole numbers of 16 bits */
#define KALDI_PREEMPHASIS 0.97f
#define WHISPER_RANGE     8.0f /* of log10, below the largest */
#define LN_10             2.3025851f

struct hd_features {
    hd_features_opt opt;
    hd_spectrum spectrum;
    hd_mel mel;
    float *window; /* [opt.window] */
};

/* -- options -- */

static const char *const names[] = {
#define X(name, text) #text,
    HD_FEATURES_LIST(X)
#undef X
};

const char *hd_features_name(hd_features_kind kind)
{
    return names[kind];
}

hd_features_kind hd_features_kind_of(const char *name)
{
    int i = 0;
    while (i < HD_FEATURES_KINDS && strcmp(names[i], name)) i++;
    return (hd_features_kind)i;
}

hd_features_opt hd_features_usual(hd_features_kind kind, int rate)
{
    hd_features_opt o = {.kind = kind, .rate = rate, .window = rate / 40, .hop = rate / 100};
    o.mels = kind == HD_FEATURES_LOG_MEL ? 40 : 80;
    o.low = kind == HD_FEATURES_KALDI ? 20 : 0;
    o.high = rate / 2.0;
    o.chunk = kind == HD_FEATURES_WHISPER ? 30 : 0;
    o.normalize = kind != HD_FEATURES_WHISPER;
    return o;
}

static double high_of(const hd_features_opt *o)
{
    return o->high > 0 ? o->high : o->rate / 2.0;
}

static size_t chunk_of(const hd_features_opt *o)
{
    return (size_t)(o->chunk * o->rate + 0.5);
}

hd_status hd_features_check(const hd_features_opt *o, hd_err *err)
{
    if ((unsigned)o->kind >= HD_FEATURES_KINDS) return hd_err_set(err, HD_EARG, "features: no such kind");
    if (o->rate < HD_SOUND_LEAST_RATE || o->rate > HD_SOUND_MOST_RATE)
        return hd_err_set(err, HD_EARG, "features: %d samples a second: at least %d, at most %d", o->rate,
                          HD_SOUND_LEAST_RATE, HD_SOUND_MOST_RATE);
    if (o->window < 2 || o->window > HD_FEATURES_MOST_WINDOW || o->hop < 1 || o->hop > HD_FEATURES_MOST_HOP)
        return hd_err_set(err, HD_EARG,
                          "features: a window of %d samples every %d: a window has 2 to %d, a hop 1 to %d",
                          o->window, o->hop, HD_FEATURES_MOST_WINDOW, HD_FEATURES_MOST_HOP);
    if (o->mels < 1 || o->mels > HD_FEATURES_MOST_MELS)
        return hd_err_set(err, HD_EARG, "features: %d mel bins: at least 1, at most %d", o->mels,
                          HD_FEATURES_MOST_MELS);
    if (!(o->low >= 0) || !(high_of(o) > o->low) || !(high_of(o) <= o->rate / 2.0))
        return hd_err_set(err, HD_EARG,
                          "features: mel bins from %g to %g Hz: they rise and end at half the rate, %g",
                          o->low, high_of(o), o->rate / 2.0);
    if (!(o->chunk >= 0) || o->chunk * o->rate > HD_SOUND_MOST_SAMPLES)
        return hd_err_set(err, HD_EARG, "features: chunks of %g seconds: at least 0, at most %g", o->chunk,
                          (double)HD_SOUND_MOST_SAMPLES / o->rate);
    return HD_OK;
}

size_t hd_features_frames(const hd_features_opt *o, size_t samples)
{
    const size_t window = (size_t)o->window, hop = (size_t)o->hop;
    if (o->chunk > 0) samples = chunk_of(o);
    if (o->kind == HD_FEATURES_WHISPER) return samples / hop;
    if (o->kind == HD_FEATURES_LOG_MEL) return (samples + hop - 1) / hop;
    return samples < window ? 0 : 1 + (samples - window) / hop;
}

/* -- making -- */

static void fill_window(float *to, const hd_features_opt *o)
{
    const bool kaldi = o->kind == HD_FEATURES_KALDI;
    for (int i = 0; i < o->window; i++) {
        const double hann = 0.5 - 0.5 * cos(2 * M_PI * i / (kaldi ? o->window - 1 : o->window));
        to[i] = (float)(kaldi ? pow(hann, 0.85) : hann);
    }
}

static size_t transform_size(const hd_features_opt *o)
{
    size_t size = 1;
    if (o->kind != HD_FEATURES_KALDI) return (size_t)o->window;
    while (size < (size_t)o->window) size *= 2;
    return size;
}

hd_status hd_features_new(hd_features **out, const hd_features_opt *o, hd_err *err)
{
    hd_status s = hd_features_check(o, err);
    if (s) return s;
    hd_features *f = hd_mem_zero(sizeof *f);
    if (!f) return hd_err_nomem(err, sizeof *f);
    f->opt = *o;
    f->window = hd_mem_array((size_t)o->window, sizeof *f->window);
    if (!f->window) s = hd_err_nomem(err, (size_t)o->window * sizeof *f->window);
    if (!s) fill_window(f->window, o);
    if (!s) s = hd_spectrum_init(&f->spectrum, transform_size(o), err);
    if (!s)
        s = hd_mel_init(&f->mel, o->kind == HD_FEATURES_KALDI, (size_t)o->mels, transform_size(o), o->rate,
                        o->low, high_of(o), err);
    if (s)
        hd_features_free(f);
    else
        *out = f;
    return s;
}

void hd_features_free(hd_features *f)
{
    if (!f) return;
    hd_spectrum_release(&f->spectrum);
    hd_mel_release(&f->mel);
    hd_mem_free(f->window);
    hd_mem_free(f);
}

const hd_features_opt *hd_features_options(const hd_features *f)
{
    return &f->opt;
}

/* -- samples under the windows -- */

/* As numpy pads: there and back as often as needed. */
static int64_t reflected(int64_t at, int64_t total)
{
    if (total < 2) return 0;
    const int64_t period = 2 * (total - 1);
    at %= period;
    if (at < 0) at += period;
    return at < total ? at : period - at;
}

static hd_status read_input(const hd_features_input *in, size_t from, size_t count, float *to, hd_err *err)
{
    const size_t there = from >= in->count ? 0 : in->count - from < count ? in->count - from : count;
    memset(to + there, 0, (count - there) * sizeof *to);
    if (!there) return HD_OK;
    if (in->file) return hd_sound_file_read(in->file, from, there, to, err);
    memcpy(to, in->sample + from, there * sizeof *to);
    return HD_OK;
}

/* Samples begin .. end-1, all of which lie outside. */
static hd_status read_reflected(const hd_features_input *in, int64_t begin, int64_t end, float *to,
                                hd_err *err)
{
    const int64_t total = (int64_t)in->total;
    int64_t least = total, most = 0;
    if (begin >= end) return HD_OK;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = reflected(i, total);
        least = at < least ? at : least;
        most = at > most ? at : most;
    }
    const size_t count = (size_t)(most - least + 1);
    float *x = hd_mem_new(count * sizeof *x);
    hd_status s = x ? read_input(in, (size_t)least, count, x, err) : hd_err_nomem(err, count * sizeof *x);
    for (int64_t i = begin; !s && i < end; i++) to[i - begin] = x[reflected(i, total) - least];
    hd_mem_free(x);
    return s;
}

/* Samples begin .. begin+count-1, reflected at the ends. */
static hd_status read_around(const hd_features_input *in, int64_t begin, size_t count, float *to, hd_err *err)
{
    const int64_t total = (int64_t)in->total, end = begin + (int64_t)count;
    const int64_t left = begin > 0 ? begin : end < 0 ? end : 0, right = end < total ? end : total;
    hd_status s = read_reflected(in, begin, left, to, err);
    if (!s && left < right)
        s = read_input(in, (size_t)left, (size_t)(right - left), to + (left - begin), err);
    const int64_t behind = right > left ? right : left;
    return s ? s : read_reflected(in, behind, end, to + (behind - begin), err);
}

/* -- frames -- */

/* A frame for the transform: of KALDI scaled, without its mean and with the highs raised. */
static void frame_of(const hd_features *f, const float *x, float *to)
{
    const size_t window = (size_t)f->opt.window;
    if (f->opt.kind != HD_FEATURES_KALDI) {
        for (size_t i = 0; i < window; i++) to[i] = x[i] * f->window[i];
        return;
    }
    double sum = 0;
    for (size_t i = 0; i < window; i++) sum += (double)x[i];
    const float mean = (float)(sum / (double)window * (double)KALDI_SCALE);
    float before = x[0] * KALDI_SCALE - mean;
    for (size_t i = 0; i < window; i++) {
        const float now = x[i] * KALDI_SCALE - mean;
        to[i] = (now - KALDI_PREEMPHASIS * before) * f->window[i];
        before = now;
    }
    memset(to + window, 0, (f->spectrum.size - window) * sizeof *to);
}

static void take_logarithms(const hd_features *f, float *x)
{
    const float least = f->opt.kind == HD_FEATURES_KALDI ? KALDI_LEAST : LEAST_POWER;
    for (int i = 0; i < f->opt.mels; i++) {
        const float power = x[i] > least ? x[i] : least;
        x[i] = f->opt.kind == HD_FEATURES_WHISPER ? log10f(power) : logf(power);
    }
}

/* Scratch of a part: all of it in one block. */
typedef struct desk {
    float *sample, *frame, *power, *folded;
} desk;

static hd_status open_desk(desk *d, const hd_features *f, hd_err *err)
{
    const size_t n = HD_SPECTRUM_FRAMES, samples = (n - 1) * (size_t)f->opt.hop + (size_t)f->opt.window,
                 frame = n * f->spectrum.size, power = n * f->spectrum.bins,
                 all = samples + frame + power + hd_spectrum_scratch(&f->spectrum);
    d->sample = hd_mem_new(all * sizeof(float));
    if (!d->sample) return hd_err_nomem(err, all * sizeof(float));
    d->frame = d->sample + samples;
    d->power = d->frame + frame;
    d->folded = d->power + power;
    return HD_OK;
}

hd_status hd_features_part(const hd_features *f, float *out, const hd_features_input *in, size_t first,
                           size_t frames, hd_err *err)
{
    const size_t hop = (size_t)f->opt.hop, window = (size_t)f->opt.window, mels = (size_t)f->opt.mels;
    const int64_t before = f->opt.kind == HD_FEATURES_KALDI ? 0 : (int64_t)(window / 2);
    desk d = {0};
    hd_status s = open_desk(&d, f, err);
    if (s) return s;
    for (size_t done = 0, n; !s && done < frames; done += n) {
        n = frames - done < HD_SPECTRUM_FRAMES ? frames - done : HD_SPECTRUM_FRAMES;
        s = read_around(in, (int64_t)((first + done) * hop) - before, (n - 1) * hop + window, d.sample, err);
        if (s) break;
        for (size_t i = 0; i < n; i++) frame_of(f, d.sample + i * hop, d.frame + i * f->spectrum.size);
        hd_spectrum_power(&f->spectrum, d.power, d.frame, n, d.folded);
        for (size_t i = 0; i < n; i++) {
            float *row = out + (done + i) * mels;
            hd_mel_apply(&f->mel, row, d.power + i * f->spectrum.bins);
            take_logarithms(f, row);
        }
    }
    hd_mem_free(d.sample);
    return s;
}

/* -- what depends on the whole sound -- */

static void raise_to(float *x, size_t count, float least)
{
    for (size_t i = 0; i < count; i++) x[i] = x[i] > least ? x[i] : least;
}

void hd_features_scale(float *x, size_t count, float largest)
{
    raise_to(x, count, largest - WHISPER_RANGE);
    for (size_t i = 0; i < count; i++) x[i] = (x[i] + 4.0f) / 4.0f;
}

static float largest_of(const float *x, size_t count)
{
    float largest = x[0];
    for (size_t i = 1; i < count; i++) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

/* To mean 0 and deviation 1 over all rows: each of `mels` columns. */
static void normalize(float *x, size_t frames, size_t mels)
{
    for (size_t m = 0; m < mels; m++) {
        double sum = 0, square = 0;
        for (size_t t = 0; t < frames; t++) sum += (double)x[t * mels + m];
        const double mean = sum / (double)frames;
        for (size_t t = 0; t < frames; t++) {
            const double off = (double)x[t * mels + m] - mean;
            square += off * off;
        }
        const double deviation = sqrt(square / (double)frames);
        /* a bin that never changes is 0 */
        const double scale = deviation > 1e-6 ? 1 / deviation : 0;
        for (size_t t = 0; t < frames; t++)
            x[t * mels + m] = (float)(((double)x[t * mels + m] - mean) * scale);
    }
}

hd_status hd_features_make(const hd_features *f, float *out, const float *sample, size_t count, hd_err *err)
{
    const size_t frames = hd_features_frames(&f->opt, count), mels = (size_t)f->opt.mels;
    hd_features_input in = {.sample = sample, .count = count, .total = count};
    if (!frames)
        return hd_err_set(err, HD_EARG, "a sound of %zu samples is too short: a frame needs %d", count,
                          f->opt.kind == HD_FEATURES_WHISPER ? f->opt.hop : f->opt.window);
    if (f->opt.chunk > 0) in.total = chunk_of(&f->opt);
    if (in.count > in.total) in.count = in.total;
    hd_status s = hd_features_part(f, out, &in, 0, frames, err);
    if (s) return s;
    if (f->opt.kind == HD_FEATURES_WHISPER)
        hd_features_scale(out, frames * mels, largest_of(out, frames * mels));
    if (f->opt.normalize && f->opt.together) {
        /* zeros of a file would outweigh what is said */
        raise_to(out, frames * mels, largest_of(out, frames * mels) - WHISPER_RANGE * LN_10);
        normalize(out, frames * mels, 1);
    } else if (f->opt.normalize) {
        normalize(out, frames, mels);
    }
    return HD_OK;
}

hd_status hd_features_of(float *out, const hd_features_opt *o, const float *sample, size_t count, hd_err *err)
{
    hd_features *f = NULL;
    hd_status s = hd_features_new(&f, o, err);
    if (!s) s = hd_features_make(f, out, sample, count, err);
    hd_features_free(f);
    return s;
}
