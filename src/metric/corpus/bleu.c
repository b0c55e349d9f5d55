/* BLEU (Papineni et al. 2002): 13a tokens by default, n-grams up to four, exponential smoothing. Every
   operation stands in the order sacreBLEU does it in, for the last bit to be the same. */
#include "metric/corpus/bleu.h"

#include <math.h>

#include "metric/corpus/gram.h"
#include "metric/metric.h"

enum { HYP_LEN, REF_LEN, CORRECT, TOTAL = CORRECT + HD_BLEU_ORDER, STATS = TOTAL + HD_BLEU_ORDER };

struct bleu {
    hd_bleu_words hyp, ref[HD_METRIC_REFS];
    hd_word_book book;
    hd_gram gram;
};

static void release(void *state)
{
    struct bleu *b = state;
    hd_bleu_words_release(&b->hyp);
    for (int r = 0; r < HD_METRIC_REFS; r++) hd_bleu_words_release(&b->ref[r]);
    hd_word_book_release(&b->book);
    hd_gram_release(&b->gram);
}

static size_t gap(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* The reference length nearest to that of the hypothesis; the shorter one of two. */
static size_t nearest(size_t hyp, const hd_gram_text *ref, int refs)
{
    size_t best = ref[0].count;
    for (int r = 1; r < refs; r++) {
        size_t now = gap(hyp, ref[r].count), before = gap(hyp, best);
        if (now < before || (now == before && ref[r].count < best)) best = ref[r].count;
    }
    return best;
}

static hd_status count(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs, double *stat,
                       hd_err *err)
{
    struct bleu *b = state;
    hd_gram_text ref[HD_METRIC_REFS];
    hd_status s = hd_bleu_tokenize(&b->hyp, opt->tokenizer, opt->lowercase, hyp, err);
    if (!s) s = hd_word_number(&b->book, &b->hyp.words, err);
    for (int r = 0; !s && r < opt->refs; r++) {
        s = hd_bleu_tokenize(&b->ref[r], opt->tokenizer, opt->lowercase, refs[r], err);
        if (!s) s = hd_word_find(&b->book, &b->ref[r].words, err);
        ref[r] = (hd_gram_text){b->ref[r].words.number, b->ref[r].words.count};
    }
    const hd_gram_text words = {b->hyp.words.number, b->hyp.words.count};
    if (!s) s = hd_gram_begin(&b->gram, words, ref, opt->refs, err);
    if (s) return s;
    stat[HYP_LEN] = (double)words.count;
    stat[REF_LEN] = (double)nearest(words.count, ref, opt->refs);
    for (int n = 0; n < HD_BLEU_ORDER; n++) {
        size_t match[HD_METRIC_REFS];
        stat[CORRECT + n] = (double)hd_gram_next(&b->gram, match);
        stat[TOTAL + n] = (double)hd_gram_total(words.count, (size_t)n + 1);
    }
    return HD_OK;
}

static double brevity(double hyp_len, double ref_len)
{
    if (hyp_len >= ref_len) return 1;
    return hyp_len > 0 ? exp(1 - ref_len / hyp_len) : 0;
}

hd_bleu hd_bleu_of(const double *stat, bool effective)
{
    hd_bleu b = {.hyp_len = stat[HYP_LEN], .ref_len = stat[REF_LEN]};
    double any = 0, smooth = 1, sum = 0;
    int order = HD_BLEU_ORDER;
    b.penalty = brevity(b.hyp_len, b.ref_len);
    b.ratio = b.ref_len > 0 ? b.hyp_len / b.ref_len : 0;
    for (int n = 0; n < HD_BLEU_ORDER; n++) {
        any += b.correct[n] = stat[CORRECT + n];
        b.total[n] = stat[TOTAL + n];
    }
    if (any == 0) return b;
    for (int n = 0; n < HD_BLEU_ORDER && b.total[n] > 0; n++) {
        if (effective) order = n + 1;
        if (b.correct[n] > 0) {
            b.precision[n] = 100 * b.correct[n] / b.total[n];
        } else {
            smooth *= 2;
            b.precision[n] = 100 / (smooth * b.total[n]);
        }
    }
    for (int n = 0; n < order; n++) sum += b.precision[n] > 0 ? log(b.precision[n]) : -9999999999.0;
    b.score = b.penalty * exp(sum / order);
    return b;
}

static double score(const hd_metric_opt *opt, const double *stat)
{
    return hd_bleu_of(stat, opt->sentence).score;
}

static void sign(hd_text *to, const hd_metric_opt *opt)
{
    hd_text_print(to, "|case:%s|eff:%s|tok:%s|smooth:exp", opt->lowercase ? "lc" : "mixed",
                  opt->sentence ? "yes" : "no", hd_bleu_tokenizer_names[opt->tokenizer]);
}

static void detail(hd_text *to, const hd_metric_opt *opt, const double *stat)
{
    hd_bleu b = hd_bleu_of(stat, opt->sentence);
    for (int n = 0; n < HD_BLEU_ORDER; n++) hd_text_print(to, "%s%.1f", n ? "/" : "", b.precision[n]);
    hd_text_print(to, " (BP = %.3f ratio = %.3f hyp_len = %.0f ref_len = %.0f)", b.penalty, b.ratio,
                  b.hyp_len, b.ref_len);
}

/* ---- BLEU-1 to 4 of captions: no smoothing ---- */

static hd_status count_words(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs,
                             double *stat, hd_err *err)
{
    hd_metric_opt o = *opt;
    o.tokenizer = HD_BLEU_TOKENIZER_ptb, o.lowercase = true;
    return count(state, &o, hyp, refs, stat, err);
}

static double plain(const double *stat, int orders)
{
    double product = 1;
    for (int n = 0; n < orders; n++) product *= stat[TOTAL + n] > 0 ? stat[CORRECT + n] / stat[TOTAL + n] : 0;
    return 100 * brevity(stat[HYP_LEN], stat[REF_LEN]) * pow(product, 1.0 / orders);
}

static void sign_plain(hd_text *to, const hd_metric_opt *opt)
{
    (void)opt;
    hd_text_put(to, "|case:lc|tok:ptb|smooth:none");
}

#define PLAIN(N)                                                            \
    static double score_##N(const hd_metric_opt *opt, const double *stat)   \
    {                                                                       \
        (void)opt;                                                          \
        return plain(stat, N);                                              \
    }                                                                       \
    const hd_metric_class hd_metric_bleu##N = {.name = "BLEU-" #N,          \
                                               .stats = STATS,              \
                                               .size = sizeof(struct bleu), \
                                               .count = count_words,        \
                                               .release = release,          \
                                               .score = score_##N,          \
                                               .sign = sign_plain}
PLAIN(1);
PLAIN(2);
PLAIN(3);
PLAIN(4);

const hd_metric_class hd_metric_bleu = {
    .name = "BLEU",
    .stats = STATS,
    .size = sizeof(struct bleu),
    .count = count,
    .release = release,
    .score = score,
    .sign = sign,
    .detail = detail,
};
