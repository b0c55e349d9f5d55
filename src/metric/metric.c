/* The part of a metric that all have: options, sums, what is kept of segments, the signature. */
#include "metric/metric.h"

#include <string.h>

#include "base/mem.h"
#include "heed.h"

static const hd_metric_class *const classes[] = {
#define X(name, key, help) &hd_metric_##name,
    HD_METRIC_LIST(X)
#undef X
};

const char *const hd_metric_keys[] = {
#define X(name, key, help) key,
    HD_METRIC_LIST(X)
#undef X
        NULL,
};

bool hd_metric_waits(hd_metric_kind kind)
{
    return classes[kind]->settle;
}

struct hd_metric {
    const hd_metric_class *is;
    const char *key;
    hd_metric_opt opt;
    void *state;
    bool refs_vary;
    size_t count; /* segments */
    double last[HD_METRIC_STATS], sum[HD_METRIC_STATS];
    double *kept;
    size_t kept_room;
};

static hd_status check_refs(int refs, hd_err *err)
{
    if (refs >= 1 && refs <= HD_METRIC_REFS) return HD_OK;
    return hd_err_set(err, HD_EARG, "%d references, a metric takes 1 to %d", refs, HD_METRIC_REFS);
}

hd_status hd_metric_new(hd_metric **out, hd_metric_kind kind, const hd_metric_opt *opt, hd_err *err)
{
    hd_status s = check_refs(opt->refs, err);
    if (s) return s;
    hd_metric *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->is = classes[kind];
    m->key = hd_metric_keys[kind];
    m->opt = *opt;
    m->state = hd_mem_zero(m->is->size);
    if (!m->state) {
        hd_metric_free(m);
        return hd_err_nomem(err, classes[kind]->size);
    }
    *out = m;
    return HD_OK;
}

void hd_metric_free(hd_metric *m)
{
    if (!m) return;
    if (m->state) m->is->release(m->state);
    hd_mem_free(m->state);
    hd_mem_free(m->kept);
    hd_mem_free(m);
}

static hd_status keep(hd_metric *m, const double *stat, hd_err *err)
{
    size_t stats = (size_t)m->is->stats, want = (m->count + 1) * stats;
    hd_status s = hd_mem_reserve(&m->kept, &m->kept_room, want, sizeof *m->kept, err);
    if (!s) memcpy(m->kept + m->count * stats, stat, stats * sizeof *stat);
    return s;
}

hd_status hd_metric_add(hd_metric *m, hd_line hyp, const hd_line *refs, hd_err *err)
{
    double stat[HD_METRIC_STATS];
    hd_err why = {0};
    hd_status s = m->is->count(m->state, &m->opt, hyp, refs, stat, &why);
    if (!s && m->opt.keep) s = keep(m, stat, &why);
    if (s) return hd_err_set(err, s, "%s, segment %zu: %s", m->is->name, m->count + 1, why.text);
    memcpy(m->last, stat, (size_t)m->is->stats * sizeof *stat);
    for (int i = 0; i < m->is->stats; i++) m->sum[i] += stat[i];
    m->count++;
    return HD_OK;
}

hd_status hd_metric_set_refs(hd_metric *m, int refs, hd_err *err)
{
    hd_status s = check_refs(refs, err);
    if (s) return s;
    m->refs_vary = m->refs_vary || (m->count && refs != m->opt.refs);
    m->opt.refs = refs;
    return HD_OK;
}

hd_status hd_metric_settle(hd_metric *m, hd_err *err)
{
    size_t stats = (size_t)m->is->stats;
    if (!m->is->settle || !m->count) return HD_OK;
    hd_status s = hd_mem_reserve(&m->kept, &m->kept_room, m->count * stats, sizeof *m->kept, err);
    if (!s) s = m->is->settle(m->state, m->kept, err);
    memset(m->sum, 0, sizeof m->sum);
    for (size_t i = 0; !s && i < m->count * stats; i++) m->sum[i % stats] += m->kept[i];
    return s;
}

hd_status hd_metric_finish(const hd_metric *m, double *score, hd_err *err)
{
    if (!m->count) return hd_err_set(err, HD_EARG, "%s: there is nothing to score", m->is->name);
    *score = hd_metric_of(m, m->sum);
    return HD_OK;
}

double hd_metric_last(const hd_metric *m)
{
    return hd_metric_of(m, m->last);
}

double hd_metric_of(const hd_metric *m, const double *stats)
{
    return m->is->score(&m->opt, stats);
}

size_t hd_metric_count(const hd_metric *m)
{
    return m->count;
}

const hd_metric_class *hd_metric_is(const hd_metric *m)
{
    return m->is;
}

const char *hd_metric_key(const hd_metric *m)
{
    return m->key;
}

const double *hd_metric_sums(const hd_metric *m)
{
    return m->sum;
}

const double *hd_metric_kept(const hd_metric *m)
{
    return m->kept;
}

void hd_metric_sign(const hd_metric *m, hd_metric_trials trials, hd_text *to)
{
    if (m->refs_vary)
        hd_text_put(to, "nrefs:var");
    else
        hd_text_print(to, "nrefs:%d", m->opt.refs);
    if (trials.samples) hd_text_print(to, "|bs:%d|seed:%d", trials.samples, trials.seed);
    m->is->sign(to, &m->opt);
    hd_text_print(to, "|version:heed-%s", heed_version()); /* never sacreBLEU's: it is not sacreBLEU */
}

void hd_metric_detail(const hd_metric *m, hd_text *to)
{
    if (m->is->detail) m->is->detail(to, &m->opt, m->sum);
}

double hd_metric_mean(const hd_metric_opt *opt, const double *stat)
{
    (void)opt;
    return stat[1] > 0 ? 100 * stat[0] / stat[1] : 0;
}
