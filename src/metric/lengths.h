/* Scores by length: segments in buckets by how many words their source has. */
#ifndef HD_METRIC_LENGTHS_H
#define HD_METRIC_LENGTHS_H

#include <stdint.h>

#include "metric/metric.h"

typedef struct hd_bucket {
    size_t from, to; /* words; HD_BUCKET_OPEN: and all that are longer */
    size_t segments;
} hd_bucket;

#define HD_BUCKET_OPEN SIZE_MAX

enum { HD_BUCKETS = 64, HD_BUCKET_NAME = 48 };

typedef struct hd_lengths {
    uint32_t *words; /* [count] of the sources */
    size_t count, room;
    hd_bucket bucket[HD_BUCKETS];
    size_t buckets;
    size_t outside; /* segments in no bucket */
} hd_lengths;

/* {0} is empty. */
void hd_lengths_release(hd_lengths *l);

/* "1-9,10-14,20-": each longer than the one before it. HD_EARG says what is wrong with it. */
hd_status hd_lengths_read(hd_lengths *l, const char *list, hd_err *err);

/* The source of the next segment. Words are what stands between blanks. */
hd_status hd_lengths_add(hd_lengths *l, hd_line source, hd_err *err);

/* Counts the segments of the buckets, once all sources are there. Where none were given, borders are
   multiples of 5 words with at least a twentieth of the segments between two of them, and at least 30. */
hd_status hd_lengths_divide(hd_lengths *l, hd_err *err);

/* The score of each bucket, [buckets]; NaN where it is empty. The metric must keep as many segments. */
void hd_lengths_score(const hd_lengths *l, const hd_metric *m, double *score);

/* "10-14", "20-" or "7", into buf; returns buf. */
const char *hd_bucket_name(const hd_bucket *b, char buf[HD_BUCKET_NAME]);

#endif
