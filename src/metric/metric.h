/* A metric compares hypotheses with references, segment by segment: made from options, fed with segments,
   asked for the score. Scores and signatures of BLEU, chrF and TER are those of sacreBLEU 2.6.0. */
#ifndef HD_METRIC_METRIC_H
#define HD_METRIC_METRIC_H

#include "base/text.h"
#include "metric/metric_list.h"
#include "metric/corpus/bleu_tokenizer.h"

typedef enum hd_metric_kind {
#define X(name, key, help) HD_METRIC_##name,
    HD_METRIC_LIST(X)
#undef X
        HD_METRICS
} hd_metric_kind;

enum { HD_METRIC_STATS = 24, HD_METRIC_REFS = 64 };

typedef struct hd_metric_opt {
    int refs;                    /* references of each segment, 1 to HD_METRIC_REFS */
    bool lowercase;              /* BLEU and chrF; TER always does */
    bool sentence;               /* segments are scored one by one: BLEU counts only orders that exist */
    bool keep;                   /* keep what every segment counted, for resampling */
    hd_bleu_tokenizer tokenizer; /* of BLEU */
} hd_metric_opt;

/* What a metric is. Its numbers are sums: those of a corpus are those of its segments, added. */
typedef struct hd_metric_class {
    const char *name; /* as sacreBLEU prints it */
    int stats;        /* how many numbers a segment gives, at most HD_METRIC_STATS */
    size_t size;      /* of its state, which starts as zeros */
    hd_status (*count)(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs, double *stat,
                       hd_err *err);
    /* Of a metric that scores no segment before all are there: [segments][stats] of those that were counted.
       NULL: count has said it. */
    hd_status (*settle)(void *state, double *stat, hd_err *err);
    void (*release)(void *state);
    double (*score)(const hd_metric_opt *opt, const double *stat);
    void (*sign)(hd_text *to, const hd_metric_opt *opt);                       /* "|key:value" each */
    void (*detail)(hd_text *to, const hd_metric_opt *opt, const double *stat); /* behind the score; or NULL */
} hd_metric_class;

#define X(name, key, help) extern const hd_metric_class hd_metric_##name;
HD_METRIC_LIST(X)
#undef X

/* Whether it scores no segment before all are there. */
bool hd_metric_waits(hd_metric_kind kind);

extern const char *const hd_metric_keys[]; /* by hd_metric_kind; ends with NULL */

typedef struct hd_metric hd_metric;

hd_status hd_metric_new(hd_metric **out, hd_metric_kind kind, const hd_metric_opt *opt, hd_err *err);
void hd_metric_free(hd_metric *m); /* accepts NULL */

/* Counts one segment; refs are opt.refs lines. A segment that fails (memory, not UTF-8, a limit) is not
   counted; the text names it by its number. */
hd_status hd_metric_add(hd_metric *m, hd_line hyp, const hd_line *refs, hd_err *err);

/* From now on segments have another number of references. */
hd_status hd_metric_set_refs(hd_metric *m, int refs, hd_err *err);

/* Once all segments are there, for metrics that score none before (class.settle); may be called again after
   more. */
hd_status hd_metric_settle(hd_metric *m, hd_err *err);

/* The score of all segments; HD_EARG when there was none. More may be added afterwards. */
hd_status hd_metric_finish(const hd_metric *m, double *score, hd_err *err);

double hd_metric_last(const hd_metric *m);                    /* score of the segment added last */
double hd_metric_of(const hd_metric *m, const double *stats); /* score of any sum of segments */
size_t hd_metric_count(const hd_metric *m);                   /* segments */
/* `score` of metrics whose statistics are a sum and the segments it is over: 100 times their mean. */
double hd_metric_mean(const hd_metric_opt *opt, const double *stat);
const hd_metric_class *hd_metric_is(const hd_metric *m);
const char *hd_metric_key(const hd_metric *m);    /* "bleu": its name in options and in JSON */
const double *hd_metric_sums(const hd_metric *m); /* [class.stats] */
const double *
hd_metric_kept(const hd_metric *m); /* [count][class.stats], with opt.keep; may move with an add */

/* Resampling, where it was done; samples 0: it was not. */
typedef struct hd_metric_trials {
    int samples, seed;
} hd_metric_trials;

/* "nrefs:1|case:mixed|...|version:heed-0.1.0" */
void hd_metric_sign(const hd_metric *m, hd_metric_trials trials, hd_text *to);
/* What BLEU shows behind its score: precisions, brevity penalty, lengths; nothing for others. */
void hd_metric_detail(const hd_metric *m, hd_text *to);

#endif
