/* Bootstrap resampling. A sample is a list of segments drawn with replacement; its score comes from the sum
   of what they counted, so no text is looked at again. */
#include "metric/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metric/numpy_random.h"

/* times[i]: how often segment i was drawn. Walking through all of them in order is faster than through the
 * draws. */
static double score_sample(const hd_metric *m, const uint32_t *times, size_t count)
{
    double sum[HD_METRIC_STATS] = {0};
    const double *stat = hd_metric_kept(m);
    size_t stats = (size_t)hd_metric_is(m)->stats;
    for (size_t i = 0; i < count; i++, stat += stats) {
        double weight = times[i];
        for (size_t k = 0; k < stats; k++) sum[k] += weight * stat[k];
    }
    return hd_metric_of(m, sum);
}

static hd_status check(const hd_metric *const *metric, size_t metrics, hd_err *err)
{
    size_t count = metrics ? hd_metric_count(metric[0]) : 0;
    if (!count || count > UINT32_MAX)
        return hd_err_set(err, HD_EARG, "resampling: cannot draw from %zu segments", count);
    for (size_t m = 0; m < metrics; m++)
        if (hd_metric_count(metric[m]) != count || !hd_metric_kept(metric[m]))
            return hd_err_set(err, HD_EARG, "resampling: a metric has not kept %zu segments", count);
    return HD_OK;
}

hd_status hd_bootstrap(const hd_metric *const *metric, size_t metrics, hd_metric_trials trials,
                       double *const *score, hd_err *err)
{
    hd_status s = check(metric, metrics, err);
    if (s) return s;
    size_t count = hd_metric_count(metric[0]);
    uint32_t *times = hd_mem_array(count, sizeof *times);
    if (!times) return hd_err_nomem(err, count * sizeof *times);
    hd_numpy_random draw = hd_numpy_random_make((uint32_t)trials.seed);
    for (int t = 0; t < trials.samples; t++) {
        memset(times, 0, count * sizeof *times);
        for (size_t i = 0; i < count; i++) times[hd_numpy_random_below(&draw, (uint32_t)count)]++;
        for (size_t m = 0; m < metrics; m++) score[m][t] = score_sample(metric[m], times, count);
    }
    hd_mem_free(times);
    return HD_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += x[i];
    return sum / (double)count;
}

hd_status hd_bootstrap_interval(hd_interval *out, const double *score, size_t samples, hd_err *err)
{
    if (!samples) return hd_err_set(err, HD_EARG, "resampling: no samples");
    double *sorted = hd_mem_array(samples, sizeof *sorted);
    if (!sorted) return hd_err_nomem(err, samples * sizeof *sorted);
    memcpy(sorted, score, samples * sizeof *sorted);
    qsort(sorted, samples, sizeof *sorted, ascending);
    size_t cut = samples / 40; /* 2.5 % on each side */
    out->low = sorted[cut];
    out->high = sorted[samples - cut - 1];
    out->half = 0.5 * (out->high - out->low);
    out->mean = mean_of(sorted, samples);
    hd_mem_free(sorted);
    return HD_OK;
}

/* The samples' differences scatter around that of the whole as the whole would around 0 if nothing but chance
   made it; so the differences, less their mean, say how often chance makes more. */
hd_status hd_bootstrap_compare(hd_comparison *out, const double *a, const double *b, size_t samples,
                               double difference, hd_err *err)
{
    double *gap = hd_mem_array(samples, sizeof *gap);
    if (!gap) return hd_err_nomem(err, samples * sizeof *gap);
    double mean = 0;
    size_t more = 0;
    for (size_t i = 0; i < samples; i++) {
        gap[i] = b[i] - a[i];
        mean += fabs(gap[i]);
    }
    mean /= (double)samples;
    for (size_t i = 0; i < samples; i++) more += fabs(gap[i]) - mean > fabs(difference);
    out->p = (double)(more + 1) / (double)(samples + 1); /* +1: never below what so many samples can show */
    hd_status s = hd_bootstrap_interval(&out->difference, gap, samples, err);
    hd_mem_free(gap);
    return s;
}
