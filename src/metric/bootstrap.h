/* Bootstrap resampling (Koehn 2004): how sure is a score, and is one system better than another by more than
   chance? Samples are those sacreBLEU draws for the same seed; it rounds some of what it computes from them
   to 32 bits, which is not done here. */
#ifndef HD_METRIC_BOOTSTRAP_H
#define HD_METRIC_BOOTSTRAP_H

#include "metric/metric.h"

typedef struct hd_interval {
    double mean;
    double low, high; /* of the middle 95 % */
    double half;      /* half their distance: sacreBLEU shows mean ± half */
} hd_interval;

/* Scores of `trials.samples` resamples of each metric into score[metric][sample]. All metrics have kept their
   segments and have the same number of them; all are resampled alike. */
hd_status hd_bootstrap(const hd_metric *const *metric, size_t metrics, hd_metric_trials trials,
                       double *const *score, hd_err *err);

/* Sorts a copy of the scores. */
hd_status hd_bootstrap_interval(hd_interval *out, const double *score, size_t samples, hd_err *err);

/* What b is better than a by, sample by sample, and how likely chance alone is to bring a difference as large
   as that of the whole. */
typedef struct hd_comparison {
    double p;
    hd_interval difference; /* b - a */
} hd_comparison;

hd_status hd_bootstrap_compare(hd_comparison *out, const double *a, const double *b, size_t samples,
                               double difference, hd_err *err);

#endif
