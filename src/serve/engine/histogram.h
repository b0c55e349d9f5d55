/* How often values were how large, in buckets whose bounds double; for whoever guards it. */
#ifndef HD_SERVE_ENGINE_HISTOGRAM_H
#define HD_SERVE_ENGINE_HISTOGRAM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_HISTOGRAM_BUCKETS = 18 };

typedef struct hd_histogram {
    uint64_t count[HD_HISTOGRAM_BUCKETS + 1]; /* the last one: of what is larger than all bounds */
    double sum;
} hd_histogram;

/* The bound of a bucket, where that of the first is `least`. */
static inline double hd_histogram_bound(double least, size_t bucket)
{
    return ldexp(least, (int)bucket);
}

static inline void hd_histogram_add(hd_histogram *h, double least, double value)
{
    size_t i = 0;
    while (i < HD_HISTOGRAM_BUCKETS && value > hd_histogram_bound(least, i)) i++;
    h->count[i]++;
    h->sum += value;
}

#define HD_SECONDS_LEAST 0.0005 /* of histograms of seconds: up to 65 s */

#endif
