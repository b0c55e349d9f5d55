/* chrF2 and chrF2++ (Popović 2015, 2017): F score, recall weighted twice, of n-grams of one to six characters
   without whitespace, and for the second of one and two words as well. With several references a segment
   keeps the numbers of the one it scores best against. */
#include <string.h>

#include "metric/corpus/gram.h"
#include "metric/metric.h"

enum { CHARACTERS = 6, WORDS = 2, ORDERS = CHARACTERS + WORDS, STATS = 3 * ORDERS };
enum { HYP, REF, MATCH }; /* of the three numbers of an order */

_Static_assert((int)STATS <= (int)HD_METRIC_STATS, "a segment gives more numbers than metric.h holds");

/* A text in both forms. */
struct side {
    hd_runes text, lower, letters; /* letters: without whitespace */
    hd_word_list raw, words;       /* words: with punctuation cut off */
};

struct chrf {
    struct side hyp, ref[HD_METRIC_REFS];
    hd_word_book book;
    hd_gram gram;
    double stat[HD_METRIC_REFS][STATS];
};

static void release_side(struct side *d)
{
    hd_runes_release(&d->text);
    hd_runes_release(&d->lower);
    hd_runes_release(&d->letters);
    hd_word_list_release(&d->raw);
    hd_word_list_release(&d->words);
}

static void release(void *state)
{
    struct chrf *c = state;
    release_side(&c->hyp);
    for (int r = 0; r < HD_METRIC_REFS; r++) release_side(&c->ref[r]);
    hd_word_book_release(&c->book);
    hd_gram_release(&c->gram);
}

static bool is_punctuation(uint32_t c)
{
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

/* A sign at the end of a word is cut off, else one at its front: "(hi)" gives "(hi" and ")". */
static hd_status cut_words(struct side *d, hd_err *err)
{
    hd_status s = HD_OK;
    d->words.count = 0;
    for (size_t i = 0; !s && i < d->raw.count; i++) {
        hd_word w = d->raw.word[i];
        size_t cut = w.count < 2                         ? w.count
                     : is_punctuation(w.at[w.count - 1]) ? w.count - 1
                     : is_punctuation(w.at[0])           ? 1
                                                         : w.count;
        s = hd_word_add(&d->words, w.at, cut, err);
        if (!s && cut < w.count) s = hd_word_add(&d->words, w.at + cut, w.count - cut, err);
    }
    return s;
}

static hd_status prepare(struct side *d, const hd_metric_opt *opt, bool words, hd_line line, hd_err *err)
{
    hd_status s = hd_runes_decode(&d->text, line, err);
    if (!s && opt->lowercase) s = hd_runes_lower(&d->lower, &d->text, err);
    const hd_runes *text = opt->lowercase ? &d->lower : &d->text;
    if (!s) s = hd_runes_reserve(&d->letters, text->count, err);
    if (s) return s;
    d->letters.count = 0;
    for (size_t i = 0; i < text->count; i++)
        if (!hd_rune_is_space(text->at[i])) d->letters.at[d->letters.count++] = text->at[i];
    if (!words) return HD_OK;
    s = hd_word_split(&d->raw, text, err);
    return s ? s : cut_words(d, err);
}

/* Orders first..first+orders-1 of the statistics of every reference, from n-grams of the same symbols. */
static hd_status count_orders(struct chrf *c, hd_gram_text hyp, const hd_gram_text *ref, int refs, int first,
                              int orders, hd_err *err)
{
    hd_status s = hd_gram_begin(&c->gram, hyp, ref, refs, err);
    for (int n = 1; !s && n <= orders; n++) {
        size_t match[HD_METRIC_REFS];
        hd_gram_next(&c->gram, match);
        for (int r = 0; r < refs; r++) {
            size_t in_ref = hd_gram_total(ref[r].count, (size_t)n);
            double *stat = c->stat[r] + 3 * (first + n - 1);
            stat[HYP] = in_ref ? (double)hd_gram_total(hyp.count, (size_t)n) : 0;
            stat[REF] = (double)in_ref;
            stat[MATCH] = (double)match[r];
        }
    }
    return s;
}

static hd_status count_words(struct chrf *c, int refs, hd_err *err)
{
    hd_gram_text ref[HD_METRIC_REFS];
    hd_status s = hd_word_number(&c->book, &c->hyp.words, err);
    for (int r = 0; !s && r < refs; r++) {
        s = hd_word_find(&c->book, &c->ref[r].words, err);
        ref[r] = (hd_gram_text){c->ref[r].words.number, c->ref[r].words.count};
    }
    if (s) return s;
    return count_orders(c, (hd_gram_text){c->hyp.words.number, c->hyp.words.count}, ref, refs, CHARACTERS,
                        WORDS, err);
}

/* The order of operations is sacreBLEU's. 4 * precision is exact, so a fused multiply-add changes nothing. */
static double f_score(const double *stat, int orders)
{
    double precision = 0, recall = 0;
    int used = 0;
    for (int i = 0; i < orders; i++, stat += 3) {
        if (stat[HYP] <= 0 || stat[REF] <= 0) continue;
        precision += stat[MATCH] / stat[HYP];
        recall += stat[MATCH] / stat[REF];
        used++;
    }
    if (!used || precision + recall == 0) return 0;
    precision /= used;
    recall /= used;
    return 100 * (5 * precision * recall / (4 * precision + recall));
}

static hd_status count(struct chrf *c, const hd_metric_opt *opt, bool words, hd_line hyp, const hd_line *refs,
                       double *stat, hd_err *err)
{
    hd_gram_text ref[HD_METRIC_REFS];
    hd_status s = prepare(&c->hyp, opt, words, hyp, err);
    for (int r = 0; !s && r < opt->refs; r++) {
        s = prepare(&c->ref[r], opt, words, refs[r], err);
        ref[r] = (hd_gram_text){c->ref[r].letters.at, c->ref[r].letters.count};
    }
    const hd_gram_text letters = {c->hyp.letters.at, c->hyp.letters.count};
    if (!s) s = count_orders(c, letters, ref, opt->refs, 0, CHARACTERS, err);
    if (!s && words) s = count_words(c, opt->refs, err);
    if (s) return s;
    int orders = words ? ORDERS : CHARACTERS, best = 0;
    double most = -1;
    for (int r = 0; r < opt->refs; r++) {
        double f = f_score(c->stat[r], orders);
        if (f > most) {
            most = f;
            best = r;
        }
    }
    memcpy(stat, c->stat[best], (size_t)(3 * orders) * sizeof *stat);
    return HD_OK;
}

static void sign(hd_text *to, const hd_metric_opt *opt, int words)
{
    hd_text_print(to, "|case:%s|eff:yes|nc:%d|nw:%d|space:no", opt->lowercase ? "lc" : "mixed", CHARACTERS,
                  words);
}

/* The two differ in whether words count. */
#define CHRF(id, title, with_words)                                                                      \
    static hd_status count_##id(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs, \
                                double *stat, hd_err *err)                                               \
    {                                                                                                    \
        return count(state, opt, with_words, hyp, refs, stat, err);                                      \
    }                                                                                                    \
    static double score_##id(const hd_metric_opt *opt, const double *stat)                               \
    {                                                                                                    \
        (void)opt;                                                                                       \
        return f_score(stat, with_words ? ORDERS : CHARACTERS);                                          \
    }                                                                                                    \
    static void sign_##id(hd_text *to, const hd_metric_opt *opt)                                         \
    {                                                                                                    \
        sign(to, opt, with_words ? WORDS : 0);                                                           \
    }                                                                                                    \
    const hd_metric_class hd_metric_##id = {                                                             \
        .name = title,                                                                                   \
        .stats = 3 * (with_words ? ORDERS : CHARACTERS),                                                 \
        .size = sizeof(struct chrf),                                                                     \
        .count = count_##id,                                                                             \
        .release = release,                                                                              \
        .score = score_##id,                                                                             \
        .sign = sign_##id,                                                                               \
    };

CHRF(chrf2, "chrF2", false)
CHRF(chrf2pp, "chrF2++", true)
