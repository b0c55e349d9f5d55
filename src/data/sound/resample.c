/* The sinc of torchaudio. Its table has a row for each phase j of the reduced output rate n, of which only
   the taps within six zero crossings are kept: t = (i/o - j/n) b is less than 6. Easy to get wrong: a sum has
   a fixed order, else a piece would not give what the whole gives. */
#include "data/sound/resample.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/sound/sound.h"

enum { CROSSINGS = 6, LANES = 8, INPUT = 1 << 18 };
#define ROLLOFF 0.99

struct hd_resampler {
    int rate;
    size_t o, n;    /* rates without their common divisor */
    size_t taps;    /* of a row, a multiple of LANES */
    int64_t *begin; /* [n] first input sample of each phase, from that of its period on */
    float *tap;     /* [n, taps] */
};

static int divisor(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static double tap_of(double t)
{
    if (fabs(t) >= CROSSINGS) return 0;
    const double window = cos(M_PI * t / (2 * CROSSINGS)), x = M_PI * t;
    return (t == 0 ? 1 : sin(x) / x) * window * window;
}

static void fill(hd_resampler *r, double base)
{
    const double o = (double)r->o, n = (double)r->n, reach = CROSSINGS * o / base;
    for (size_t j = 0; j < r->n; j++) {
        float *row = r->tap + j * r->taps;
        const double center = (double)(j * r->o) / n;
        r->begin[j] = (int64_t)floor(center - reach);
        for (size_t k = 0; k < r->taps; k++) {
            const double i = (double)(r->begin[j] + (int64_t)k);
            row[k] = (float)(tap_of((i / o - (double)j / n) * base) * base / o);
        }
    }
}

hd_status hd_resampler_new(hd_resampler **out, int from, int to, hd_err *err)
{
    const int common = divisor(from, to);
    hd_resampler *r = hd_mem_zero(sizeof *r);
    if (!r) return hd_err_nomem(err, sizeof *r);
    r->rate = to;
    r->o = (size_t)(from / common), r->n = (size_t)(to / common);
    const double base = ROLLOFF * (double)(r->o < r->n ? r->o : r->n);
    const size_t taps = (size_t)ceil(2 * CROSSINGS * (double)r->o / base) + 2;
    r->taps = (taps + LANES - 1) / LANES * LANES;
    r->begin = hd_mem_array(r->n, sizeof *r->begin);
    r->tap = hd_mem_array(r->n, r->taps * sizeof *r->tap);
    if (!r->begin || !r->tap) {
        hd_resampler_free(r);
        return hd_err_nomem(err, (size_t)(to / common) * taps * sizeof(float));
    }
    fill(r, base);
    *out = r;
    return HD_OK;
}

void hd_resampler_free(hd_resampler *r)
{
    if (!r) return;
    hd_mem_free(r->begin);
    hd_mem_free(r->tap);
    hd_mem_free(r);
}

int hd_resampler_rate(const hd_resampler *r)
{
    return r->rate;
}

size_t hd_sound_resampled_count(size_t count, int from, int to)
{
    const size_t common = (size_t)divisor(from, to), o = (size_t)from / common, n = (size_t)to / common;
    return (n * count + o - 1) / o;
}

/* First input sample of an output sample. */
static int64_t start_of(const hd_resampler *r, size_t at)
{
    return (int64_t)(at / r->n * r->o) + r->begin[at % r->n];
}

/* The sum in a fixed order, whatever the compiler makes of it. */
static float dot(const float *x, const float *tap, size_t taps)
{
    float sum[LANES] = {0};
    for (size_t k = 0; k < taps; k += LANES)
        for (size_t i = 0; i < LANES; i++) sum[i] += x[k + i] * tap[k + i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* Input samples first .. first+count-1, zeros where there are none. */
static hd_status fetch(const hd_resampler_input *in, int64_t first, size_t count, float *to, hd_err *err)
{
    const int64_t end = first + (int64_t)count, all = (int64_t)in->count;
    const int64_t from = first < 0 ? 0 : first, until = end < all ? end : all;
    if (from >= until) {
        memset(to, 0, count * sizeof *to);
        return HD_OK;
    }
    memset(to, 0, (size_t)(from - first) * sizeof *to);
    memset(to + (until - first), 0, (size_t)(end - until) * sizeof *to);
    return in->read(in->context, (size_t)from, (size_t)(until - from), to + (from - first), err);
}

hd_status hd_resampler_run(hd_resampler *r, const hd_resampler_input *in, size_t from, size_t count,
                           float *to, hd_err *err)
{
    const size_t most = INPUT / r->o * r->n + 1 < count ? INPUT / r->o * r->n + 1 : count;
    const size_t room = (most / r->n + 2) * r->o + 2 * r->taps;
    float *x = hd_mem_new(room * sizeof *x);
    hd_status s = x ? HD_OK : hd_err_nomem(err, room * sizeof *x);
    for (size_t done = 0; !s && done < count; done += most) {
        const size_t n = count - done < most ? count - done : most;
        const int64_t first = start_of(r, from + done);
        const size_t wanted = (size_t)(start_of(r, from + done + n - 1) - first) + r->taps;
        s = fetch(in, first, wanted, x, err);
        for (size_t i = 0; !s && i < n; i++) {
            const size_t at = from + done + i;
            to[done + i] = dot(x + (start_of(r, at) - first), r->tap + at % r->n * r->taps, r->taps);
        }
    }
    hd_mem_free(x);
    return s;
}

/* -- sounds in memory -- */

static hd_status read_memory(void *context, size_t from, size_t count, float *to, hd_err *err)
{
    const hd_sound *s = context;
    (void)err;
    memcpy(to, s->sample + from, count * sizeof *to);
    return HD_OK;
}

static hd_status check(const hd_sound *in, int rate, hd_err *err)
{
    if (rate < HD_SOUND_LEAST_RATE || rate > HD_SOUND_MOST_RATE)
        return hd_err_set(err, HD_EARG, "%d samples a second: at least %d, at most %d", rate,
                          HD_SOUND_LEAST_RATE, HD_SOUND_MOST_RATE);
    if (hd_sound_resampled_count(in->count, in->rate, rate) > HD_SOUND_MOST_SAMPLES)
        return hd_err_set(err, HD_ELIMIT, "%zu samples at another rate are over %d: cut the sound first",
                          in->count, HD_SOUND_MOST_SAMPLES);
    return HD_OK;
}

hd_status hd_sound_resampled(hd_sound *out, const hd_sound *in, int rate, hd_err *err)
{
    hd_resampler *r = NULL;
    *out = (hd_sound){.rate = rate};
    hd_status s = check(in, rate, err);
    if (s) return s;
    out->count = hd_sound_resampled_count(in->count, in->rate, rate);
    out->sample = hd_mem_new(out->count * sizeof *out->sample);
    if (!out->sample) s = hd_err_nomem(err, out->count * sizeof *out->sample);
    if (!s && rate == in->rate) memcpy(out->sample, in->sample, out->count * sizeof *out->sample);
    if (!s && rate != in->rate) s = hd_resampler_new(&r, in->rate, rate, err);
    if (r)
        s = hd_resampler_run(r, &(hd_resampler_input){read_memory, (void *)(uintptr_t)in, in->count}, 0,
                             out->count, out->sample, err);
    hd_resampler_free(r);
    if (s) hd_sound_release(out);
    return s;
}
