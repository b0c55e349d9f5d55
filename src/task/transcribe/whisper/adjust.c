/* The rules of Whisper about what may follow. Easy to get wrong: they are applied one after the other, and
   the last one compares what the others left. */
#include <math.h>

#include "task/transcribe/whisper/rules.h"

static void ban(hd_real *logp, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) logp[i] = -INFINITY;
}

static void ban_list(hd_real *logp, const int32_t *id, size_t count)
{
    for (size_t i = 0; i < count; i++) logp[id[i]] = -INFINITY;
}

/* What is so much less likely than the likeliest that a vocabulary of it changes no digit is left out: exp()
   of all tokens would cost as much as a layer. */
static const double FAR = 40;

static double log_sum(const hd_real *logp, size_t from, size_t end)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = from; i < end; i++)
        if ((double)logp[i] > most) most = (double)logp[i];
    if (!(most > -INFINITY)) return -INFINITY;
    for (size_t i = from; i < end; i++)
        if ((double)logp[i] > most - FAR) sum += exp((double)logp[i] - most);
    return most + log(sum);
}

static double best(const hd_real *logp, size_t end)
{
    double most = -INFINITY;
    for (size_t i = 0; i < end; i++)
        if ((double)logp[i] > most) most = (double)logp[i];
    return most;
}

/* Timestamps come in pairs, but for the first, and do not fall. */
static void keep_order(const hd_whisper_rules *r, const int32_t *token, size_t count, hd_real *logp)
{
    const size_t first = (size_t)r->timestamp;
    const bool last = count && token[count - 1] >= r->timestamp,
               before = count < 2 || token[count - 2] >= r->timestamp;
    if (last && before) ban(logp, first, r->vocab);
    if (last && !before) ban(logp, 0, (size_t)r->end);
    for (size_t i = count; i--;)
        if (token[i] >= r->timestamp) {
            ban(logp, first, (size_t)token[i] + !(last && !before));
            break;
        }
}

static void keep_timestamps(const hd_whisper_rules *r, const int32_t *token, size_t count, hd_real *logp)
{
    const size_t first = (size_t)r->timestamp;
    logp[r->no_timestamps] = -INFINITY;
    keep_order(r, token, count, logp);
    if (!count) ban(logp, 0, first);
    if (!count && r->max_initial >= 0 && first + (size_t)r->max_initial + 1 < r->vocab)
        ban(logp, first + (size_t)r->max_initial + 1, r->vocab);
    if (log_sum(logp, first, r->vocab) > best(logp, first)) ban(logp, 0, first);
}

void hd_whisper_adjust_row(void *context, size_t item, const int32_t *token, size_t count, hd_real *logp)
{
    const hd_whisper_adjust *a = context;
    const hd_whisper_rules *r = a->rules;
    if (!count) ban_list(logp, r->begin_suppress, r->begin_suppressed);
    ban_list(logp, r->suppress, r->suppressed);
    if (a->timestamps[item]) keep_timestamps(r, token, count, logp);
    double sum = a->normalize || !(best(logp, r->vocab) > -INFINITY) ? log_sum(logp, 0, r->vocab) : 0;
    if (!(sum > -INFINITY))
        logp[r->end] = 0; /* nothing is left: the text ends */
    else if (sum != 0)
        for (size_t i = 0; i < r->vocab; i++) logp[i] = (hd_real)((double)logp[i] - sum);
}
