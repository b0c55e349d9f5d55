/* From counts to probabilities. Easy to get wrong: the shares of a context must be made of the very counts
   that are discounted, or a row does not sum to 1; so totals are sums over children, never counts of the
   context itself, which may end a document. */
#include <math.h>

#include "base/mem.h"
#include "model/lm/ngram_parts.h"

/* ---- totals and discounts ---- */

static hd_status sum_children(hd_ngram_level *l, const hd_ngram_level *below, bool three, hd_err *err)
{
    size_t count = l->count;
    l->total = hd_mem_array(count, sizeof *l->total);
    if (three) l->once = hd_mem_array(count, sizeof *l->once);
    if (three) l->twice = hd_mem_array(count, sizeof *l->twice);
    if (!l->total || (three && (!l->once || !l->twice))) return hd_err_nomem(err, count * sizeof *l->total);
    for (size_t i = 0; i < count; i++)
        for (size_t j = l->first[i]; j < l->first[i + 1]; j++) {
            l->total[i] += below->seen[j];
            if (three) l->once[i] += below->seen[j] == 1, l->twice[i] += below->seen[j] == 2;
        }
    return HD_OK;
}

/* kind[c]: how many n-grams of a length have the count c. */
static void one_discount(const double kind[5], double fixed, double discount[3])
{
    double d = fixed > 0 ? fixed : kind[1] > 0 ? kind[1] / (kind[1] + 2 * kind[2]) : 0.5;
    for (int c = 0; c < 3; c++) discount[c] = d;
}

/* Within (0, c], so that nothing becomes negative and something is left for what was not seen. */
static void three_discounts(const double kind[5], double discount[3])
{
    double y = kind[1] / (kind[1] + 2 * kind[2]);
    bool good = true;
    for (int c = 1; c <= 3; c++) {
        double d = c - (c + 1) * y * kind[c + 1] / kind[c];
        discount[c - 1] = d;
        good = good && kind[c] > 0 && d > 0 && d <= c;
    }
    for (int c = 1; !good && c <= 3; c++) discount[c - 1] = c / 2.0;
}

static void find_discount(hd_ngram *m, int length)
{
    const hd_ngram_level *l = &m->level[length];
    double kind[5] = {0};
    for (size_t i = 0; i < l->count; i++)
        if (l->seen[i] < 5) kind[l->seen[i]]++;
    if (m->opt.smoothing == HD_SMOOTHING_KNESER_NEY) one_discount(kind, m->opt.discount, m->discount[length]);
    if (m->opt.smoothing == HD_SMOOTHING_KNESER_NEY_3) three_discounts(kind, m->discount[length]);
}

hd_status hd_ngram_settle(hd_ngram *m, hd_err *err)
{
    bool three = m->opt.smoothing == HD_SMOOTHING_KNESER_NEY_3;
    hd_status s = HD_OK;
    for (int length = 1; !s && length <= m->opt.order; length++) {
        find_discount(m, length);
        s = sum_children(&m->level[length - 1], &m->level[length], three, err);
    }
    m->unseen = 0;
    for (size_t i = 0; !s && i < m->level[1].count; i++) m->unseen += !m->level[1].seen[i];
    return s;
}

/* ---- questions ---- */

/* The node of a parent's child, or -1. */
static int64_t child_of(const hd_ngram *m, int length, size_t parent, int32_t token)
{
    const hd_ngram_level *l = &m->level[length];
    size_t low = l->first[parent], high = l->first[parent + 1];
    const uint32_t *token_of = m->level[length + 1].token;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (token_of[middle] < (uint32_t)token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->first[parent + 1] && token_of[low] == (uint32_t)token ? (int64_t)low : -1;
}

static int32_t known(const hd_ngram *m, int32_t id)
{
    return id >= 0 && (size_t)id < m->opt.vocab ? id : m->opt.unk;
}

/* Node of the last `length` tokens of a context, or -1. */
static int64_t find_context(const hd_ngram *m, const int32_t *end, int length)
{
    int64_t node = 0;
    for (int i = 0; i < length && node >= 0; i++) {
        int32_t token = known(m, end[i - length]);
        node = token < 0 ? -1 : child_of(m, i, (size_t)node, token);
    }
    return node;
}

/* Nodes of the context's last 0, 1, 2 .. tokens, as far as something was seen behind them; how many. What is
   not behind a short context is not behind a longer one that ends in it. */
static int find_contexts(const hd_ngram *m, const int32_t *context, size_t n, size_t node[HD_NGRAM_MOST])
{
    int found = 0, most = m->opt.order - 1;
    if (!m->finished) return 0;
    if (n < (size_t)most) most = (int)n;
    while (found <= most) {
        int64_t at = find_context(m, n ? context + n : NULL, found);
        if (at < 0 || !m->level[found].total[at]) break;
        node[found++] = (size_t)at;
    }
    return found;
}

/* Of add-k the one context there is: the longest; -1 where it was never seen. */
static int64_t longest_context(const hd_ngram *m, const int32_t *context, size_t n, int *length)
{
    *length = n < (size_t)m->opt.order - 1 ? (int)n : m->opt.order - 1;
    int64_t node = m->finished ? find_context(m, n ? context + n : NULL, *length) : -1;
    return node >= 0 && m->level[*length].total[node] ? node : -1;
}

static double discount_of(const hd_ngram *m, int length, uint32_t seen)
{
    return seen ? m->discount[length][seen < 3 ? seen - 1 : 2] : 0;
}

/* How many different tokens were seen behind a context. */
static uint32_t kinds_of(const hd_ngram *m, int length, size_t node)
{
    const hd_ngram_level *l = &m->level[length];
    return l->first[node + 1] - l->first[node] - (length ? 0 : m->unseen);
}

/* The share of a context that goes to the one without its first token. */
static double passed_on(const hd_ngram *m, int length, size_t node)
{
    const hd_ngram_level *l = &m->level[length];
    const double *d = m->discount[length + 1];
    double kinds = kinds_of(m, length, node);
    double mass = d[0] * kinds;
    if (l->once)
        mass = d[0] * l->once[node] + d[1] * l->twice[node] + d[2] * (kinds - l->once[node] - l->twice[node]);
    return mass / l->total[node];
}

static hd_ngram_share share_of(const hd_ngram *m, int length, size_t node, int32_t token)
{
    int64_t child = child_of(m, length, node, token);
    return (hd_ngram_share){.context = length,
                            .seen = child < 0 ? 0 : m->level[length + 1].seen[child],
                            .total = m->level[length].total[node],
                            .kinds = kinds_of(m, length, node)};
}

static int add_k(const hd_ngram *m, const int32_t *context, size_t n, int32_t token, hd_ngram_share *out)
{
    int length;
    int64_t node = longest_context(m, context, n, &length);
    double v = (double)m->opt.vocab, k = m->opt.k;
    if (node < 0) return 0;
    *out = share_of(m, length, (size_t)node, token);
    out->p = (out->seen + k) / (out->total + k * v);
    return 1;
}

static int kneser_ney(const hd_ngram *m, const int32_t *context, size_t n, int32_t token, hd_ngram_share *out)
{
    size_t node[HD_NGRAM_MOST];
    int found = find_contexts(m, context, n, node);
    double p = 1 / (double)m->opt.vocab;
    for (int i = 0; i < found; i++) {
        hd_ngram_share s = share_of(m, i, node[i], token);
        s.discount = discount_of(m, i + 1, s.seen);
        s.passed = passed_on(m, i, node[i]);
        s.p = p = (s.seen - s.discount) / s.total + s.passed * p;
        out[i] = s;
    }
    return found;
}

int hd_ngram_shares(const hd_ngram *m, const int32_t *context, size_t n, int32_t token,
                    hd_ngram_share out[HD_NGRAM_MOST])
{
    token = known(m, token);
    if (token < 0) return 0;
    return m->opt.smoothing == HD_SMOOTHING_ADD_K ? add_k(m, context, n, token, out)
                                                  : kneser_ney(m, context, n, token, out);
}

double hd_ngram_logp(const hd_ngram *m, const int32_t *context, size_t n, int32_t token)
{
    hd_ngram_share share[HD_NGRAM_MOST];
    if (known(m, token) < 0) return -INFINITY;
    int found = hd_ngram_shares(m, context, n, token, share);
    double p = found ? share[found - 1].p : 1 / (double)m->opt.vocab;
    return p < 1 ? log(p) : 0; /* the shares of a context may sum to a little over 1 */
}

static void add_k_row(const hd_ngram *m, const int32_t *context, size_t n, double *p)
{
    int length;
    int64_t node = longest_context(m, context, n, &length);
    double v = (double)m->opt.vocab, k = m->opt.k;
    double all = node < 0 ? v : m->level[length].total[node] + k * v;
    for (size_t i = 0; i < m->opt.vocab; i++) p[i] = (node < 0 ? 1 : k) / all;
    if (node < 0) return;
    const hd_ngram_level *l = &m->level[length], *below = l + 1;
    for (size_t j = l->first[node]; j < l->first[node + 1]; j++)
        p[below->token[j]] = (below->seen[j] + k) / all;
}

/* From the longest context down, each with the share the longer ones pass on to it: so a row costs what was
   seen, and not the whole vocabulary once for every length. */
static void kneser_ney_row(const hd_ngram *m, const int32_t *context, size_t n, double *p)
{
    size_t node[HD_NGRAM_MOST];
    int found = find_contexts(m, context, n, node);
    double share[HD_NGRAM_MOST + 1] = {[0] = 0};
    share[found] = 1;
    for (int i = found - 1; i >= 0; i--) share[i] = share[i + 1] * passed_on(m, i, node[i]);
    for (size_t i = 0; i < m->opt.vocab; i++) p[i] = share[0] / (double)m->opt.vocab;
    for (int i = 0; i < found; i++) {
        const hd_ngram_level *l = &m->level[i], *below = l + 1;
        double scale = share[i + 1] / l->total[node[i]];
        for (size_t j = l->first[node[i]]; j < l->first[node[i] + 1]; j++)
            p[below->token[j]] += scale * (below->seen[j] - discount_of(m, i + 1, below->seen[j]));
    }
}

void hd_ngram_row(const hd_ngram *m, const int32_t *context, size_t n, double *p)
{
    if (m->opt.smoothing == HD_SMOOTHING_ADD_K)
        add_k_row(m, context, n, p);
    else
        kneser_ney_row(m, context, n, p);
}

double hd_ngram_score(const hd_ngram *m, const int32_t *ids, size_t n, double *logp)
{
    size_t keep = (size_t)m->opt.order - 1, count = n + (m->opt.end >= 0);
    int32_t first[HD_NGRAM_MOST] = {m->opt.start}; /* the context while the start token is in it */
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t token = i < n ? ids[i] : m->opt.end;
        double one =
            i < keep ? hd_ngram_logp(m, first, i + 1, token) : hd_ngram_logp(m, ids + i - keep, keep, token);
        if (logp) logp[i] = one;
        if (i + 1 < HD_NGRAM_MOST && i < n) first[i + 1] = token;
        sum += one;
    }
    return sum;
}
