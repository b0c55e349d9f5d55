/* Mel filters. Easy to get wrong: Kaldi's triangles are straight in mels, Slaney's in Hz. */
#include "data/sound/mel.h"

#include <math.h>

#include "base/mem.h"

#define SLANEY_BREAK 1000.0 /* Hz up to which the scale is straight */

static double slaney_mel(double hz)
{
    return hz < SLANEY_BREAK ? 3 * hz / 200 : 15 + 27 * log(hz / SLANEY_BREAK) / log(6.4);
}

static double slaney_hz(double mel)
{
    return mel < 15 ? 200 * mel / 3 : SLANEY_BREAK * exp(log(6.4) * (mel - 15) / 27);
}

static double kaldi_mel(double hz)
{
    return 1127 * log(1 + hz / 700);
}

/* What a filter is made of: its corners and the bins, both in Hz or both in mels. */
typedef struct scale {
    bool kaldi;
    double step, low, apart; /* Hz between bins; mels of the lowest corner and between corners */
} scale;

static double corner_of(const scale *s, size_t i)
{
    double mel = s->low + (double)i * s->apart;
    return s->kaldi ? mel : slaney_hz(mel);
}

static double weight_of(const scale *s, size_t mel, size_t bin)
{
    const double left = corner_of(s, mel), middle = corner_of(s, mel + 1), right = corner_of(s, mel + 2);
    const double hz = (double)bin * s->step, at = s->kaldi ? kaldi_mel(hz) : hz;
    const double rise = (at - left) / (middle - left), fall = (right - at) / (right - middle);
    const double weight = fmax(0, fmin(rise, fall));
    return s->kaldi ? weight : weight * 2 / (right - left);
}

/* The bins with a weight follow each other. */
static void find(hd_mel *m, const scale *s, size_t bins, size_t *used)
{
    for (size_t i = 0; i < m->mels; i++) {
        size_t first = 0, end;
        while (first < bins && !(weight_of(s, i, first) > 0)) first++;
        for (end = first; end < bins && weight_of(s, i, end) > 0;) end++;
        m->first[i] = first, m->count[i] = end - first, m->begin[i] = *used;
        *used += end - first;
    }
}

hd_status hd_mel_init(hd_mel *m, bool kaldi, size_t mels, size_t size, double rate, double low, double high,
                      hd_err *err)
{
    const double from = kaldi ? kaldi_mel(low) : slaney_mel(low),
                 to = kaldi ? kaldi_mel(high) : slaney_mel(high);
    const scale s = {kaldi, rate / (double)size, from, (to - from) / (double)(mels + 1)};
    size_t used = 0;
    *m = (hd_mel){.mels = mels};
    m->first = hd_mem_array(mels, sizeof *m->first);
    m->count = hd_mem_array(mels, sizeof *m->count);
    m->begin = hd_mem_array(mels, sizeof *m->begin);
    hd_status st = m->first && m->count && m->begin ? HD_OK : hd_err_nomem(err, mels * sizeof *m->first);
    if (!st) find(m, &s, size / 2 + 1, &used);
    if (!st) m->weight = hd_mem_array(used + 1, sizeof *m->weight);
    if (!st && !m->weight) st = hd_err_nomem(err, used * sizeof *m->weight);
    for (size_t i = 0; !st && i < mels; i++)
        for (size_t k = 0; k < m->count[i]; k++)
            m->weight[m->begin[i] + k] = (float)weight_of(&s, i, m->first[i] + k);
    if (st) hd_mel_release(m);
    return st;
}

void hd_mel_release(hd_mel *m)
{
    hd_mem_free(m->first);
    hd_mem_free(m->count);
    hd_mem_free(m->begin);
    hd_mem_free(m->weight);
    *m = (hd_mel){0};
}

void hd_mel_apply(const hd_mel *m, float *to, const float *power)
{
    for (size_t i = 0; i < m->mels; i++) {
        const float *x = power + m->first[i], *w = m->weight + m->begin[i];
        float sum = 0;
        for (size_t k = 0; k < m->count[i]; k++) sum += w[k] * x[k];
        to[i] = sum;
    }
}
