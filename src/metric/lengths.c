/* Buckets of lengths, given or found. */
#include "metric/lengths.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "metric/corpus/runes.h"

enum { STEP = 5, ENOUGH = 30, SHARE = 20 };

void hd_lengths_release(hd_lengths *l)
{
    hd_mem_free(l->words);
    *l = (hd_lengths){0};
}

/* -- given -- */

/* A number of words; *at moves behind it. */
static bool read_number(const char **at, size_t *out)
{
    const char *begin = *at;
    for (*out = 0; **at >= '0' && **at <= '9' && *at - begin < 9; (*at)++)
        *out = 10 * *out + (size_t)(**at - '0');
    return *at > begin;
}

static bool read_bucket(const char **at, hd_bucket *b)
{
    *b = (hd_bucket){0};
    if (!read_number(at, &b->from)) return false;
    b->to = b->from;
    if (**at != '-') return true;
    ++*at;
    if (!read_number(at, &b->to)) b->to = HD_BUCKET_OPEN;
    return b->to >= b->from;
}

hd_status hd_lengths_read(hd_lengths *l, const char *list, hd_err *err)
{
    for (const char *at = list;; at++) {
        hd_bucket b;
        const hd_bucket *last = l->buckets ? &l->bucket[l->buckets - 1] : NULL;
        if (!read_bucket(&at, &b) || (*at && *at != ','))
            return hd_err_set(err, HD_EARG, "'%s' is not a list of ranges: write them as '1-9,10-14,15-'",
                              list);
        if (last && b.from <= last->to)
            return hd_err_set(err, HD_EARG, "'%s': a range must begin after the one before it", list);
        if (l->buckets == HD_BUCKETS)
            return hd_err_set(err, HD_EARG, "'%s' has more than %d ranges", list, HD_BUCKETS);
        l->bucket[l->buckets++] = b;
        if (!*at) return HD_OK;
    }
}

/* -- found -- */

hd_status hd_lengths_add(hd_lengths *l, hd_line source, hd_err *err)
{
    hd_status s = hd_mem_reserve(&l->words, &l->room, l->count + 1, sizeof *l->words, err);
    if (s) return s;
    uint32_t n = 0;
    bool inside = false;
    for (size_t i = 0; i < source.size; i++) {
        bool blank = memchr(" \t\r\f\v", source.text[i], 5);
        n += !blank && !inside;
        inside = !blank;
    }
    l->words[l->count++] = n;
    return HD_OK;
}

static hd_status find_buckets(hd_lengths *l, hd_err *err)
{
    size_t longest = 0, least = l->count / SHARE > ENOUGH ? l->count / SHARE : ENOUGH, left = l->count;
    bool empty = false;
    for (size_t i = 0; i < l->count; i++) {
        longest = l->words[i] > longest ? l->words[i] : longest;
        empty = empty || !l->words[i];
    }
    size_t *many = hd_mem_array(longest / STEP + 1, sizeof *many);
    if (!many) return hd_err_nomem(err, (longest / STEP + 1) * sizeof *many);
    for (size_t i = 0; i < l->count; i++) many[l->words[i] / STEP]++;
    hd_bucket b = {.from = !empty};
    for (size_t k = 0; k <= longest / STEP; k++) {
        b.segments += many[k];
        if (b.segments < least || left - b.segments < least) continue;
        b.to = (k + 1) * STEP - 1;
        left -= b.segments;
        l->bucket[l->buckets++] = b;
        b = (hd_bucket){.from = b.to + 1};
    }
    b.to = HD_BUCKET_OPEN;
    l->bucket[l->buckets++] = b;
    hd_mem_free(many);
    return HD_OK;
}

/* The bucket of a segment, or `buckets`. */
static size_t bucket_of(const hd_lengths *l, size_t segment)
{
    size_t words = l->words[segment], b = 0;
    while (b < l->buckets && (words < l->bucket[b].from || words > l->bucket[b].to)) b++;
    return b;
}

hd_status hd_lengths_divide(hd_lengths *l, hd_err *err)
{
    hd_status s = l->buckets ? HD_OK : find_buckets(l, err);
    for (size_t b = 0; b < l->buckets; b++) l->bucket[b].segments = 0;
    l->outside = 0;
    for (size_t i = 0; !s && i < l->count; i++) {
        size_t b = bucket_of(l, i);
        ++*(b < l->buckets ? &l->bucket[b].segments : &l->outside);
    }
    return s;
}

void hd_lengths_score(const hd_lengths *l, const hd_metric *m, double *score)
{
    double sum[HD_BUCKETS + 1][HD_METRIC_STATS] = {{0}};
    size_t stats = (size_t)hd_metric_is(m)->stats;
    const double *kept = hd_metric_kept(m);
    for (size_t i = 0; i < l->count; i++) {
        double *to = sum[bucket_of(l, i)];
        for (size_t k = 0; k < stats; k++) to[k] += kept[i * stats + k];
    }
    for (size_t b = 0; b < l->buckets; b++) score[b] = l->bucket[b].segments ? hd_metric_of(m, sum[b]) : NAN;
}

const char *hd_bucket_name(const hd_bucket *b, char buf[HD_BUCKET_NAME])
{
    if (b->to == HD_BUCKET_OPEN)
        snprintf(buf, HD_BUCKET_NAME, "%zu-", b->from);
    else if (b->to == b->from)
        snprintf(buf, HD_BUCKET_NAME, "%zu", b->from);
    else
        snprintf(buf, HD_BUCKET_NAME, "%zu-%zu", b->from, b->to);
    return buf;
}
