/* Word and character error rate, as speech recognition is scored: substitutions, deletions and insertions
   over the length of the reference, summed over all segments. Texts are compared in one fixed form: lower
   case, without punctuation and symbols (Unicode's P and S), one space between words. */
#include <utf8proc.h>

#include "base/mem.h"
#include "metric/metric.h"

enum { SUBSTITUTIONS, DELETIONS, INSERTIONS, LENGTH, STATS };
enum { MOST = 1 << 16 }; /* words or characters of a text: time grows with the square */

typedef struct cell { /* the fewest errors up to here */
    uint32_t errors, kind[LENGTH];
} cell;

typedef struct text {
    hd_runes plain, other;
    hd_word_list words;
} text;

typedef struct rate {
    text hyp, ref;
    hd_word_book book;
    cell *row;
    size_t room;
} rate;

static void release_text(text *t)
{
    hd_runes_release(&t->plain);
    hd_runes_release(&t->other);
    hd_word_list_release(&t->words);
}

static void release(void *state)
{
    rate *e = state;
    release_text(&e->hyp);
    release_text(&e->ref);
    hd_word_book_release(&e->book);
    hd_mem_free(e->row);
}

static bool is_sign(uint32_t c)
{
    utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    return (is >= UTF8PROC_CATEGORY_PC && is <= UTF8PROC_CATEGORY_PO) ||
           (is >= UTF8PROC_CATEGORY_SM && is <= UTF8PROC_CATEGORY_SO);
}

/* The form in which texts are compared, in t->plain. */
static hd_status normalize(text *t, hd_line line, hd_err *err)
{
    hd_status s = hd_runes_decode(&t->other, line, err);
    if (!s) s = hd_runes_lower(&t->plain, &t->other, err);
    if (s) return s;
    size_t count = 0;
    for (size_t i = 0; i < t->plain.count; i++) {
        uint32_t c = t->plain.at[i];
        bool space = hd_rune_is_space(c);
        if ((space && (!count || t->plain.at[count - 1] == ' ')) || is_sign(c)) continue;
        t->plain.at[count++] = space ? ' ' : c;
    }
    t->plain.count = count;
    hd_runes_strip_end(&t->plain);
    return HD_OK;
}

static cell one_more(cell c, int kind)
{
    c.errors++, c.kind[kind]++;
    return c;
}

/* Between ways of equal cost a match or substitution is preferred, then a deletion. */
static cell best_of(cell corner, bool match, cell above, cell left)
{
    cell best = match ? corner : one_more(corner, SUBSTITUTIONS);
    if (above.errors + 1 < best.errors) best = one_more(above, DELETIONS);
    if (left.errors + 1 < best.errors) best = one_more(left, INSERTIONS);
    return best;
}

static hd_status compare(rate *e, const uint32_t *hyp, size_t hyps, const uint32_t *ref, size_t refs,
                         cell *out, hd_err *err)
{
    if (hyps > MOST || refs > MOST)
        return hd_err_set(err, HD_ELIMIT, "a text has %zu words or characters, the most is %d",
                          hyps > refs ? hyps : refs, MOST);
    hd_status s = hd_mem_reserve(&e->row, &e->room, hyps + 1, sizeof *e->row, err);
    if (s) return s;
    e->row[0] = (cell){0};
    for (size_t j = 0; j < hyps; j++) e->row[j + 1] = one_more(e->row[j], INSERTIONS);
    for (size_t i = 0; i < refs; i++) {
        cell corner = e->row[0];
        e->row[0] = one_more(corner, DELETIONS);
        for (size_t j = 0; j < hyps; j++) {
            cell above = e->row[j + 1];
            e->row[j + 1] = best_of(corner, hyp[j] == ref[i], above, e->row[j]);
            corner = above;
        }
    }
    *out = e->row[hyps];
    return HD_OK;
}

/* The reference with the lowest rate counts. */
static void keep_best(double *stat, bool first, const cell *c, size_t length)
{
    if (!first) {
        double errors = stat[SUBSTITUTIONS] + stat[DELETIONS] + stat[INSERTIONS];
        if (errors * (double)length <= c->errors * stat[LENGTH]) return;
    }
    for (int k = 0; k < LENGTH; k++) stat[k] = c->kind[k];
    stat[LENGTH] = (double)length;
}

static hd_status count_words(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs,
                             double *stat, hd_err *err)
{
    rate *e = state;
    cell c;
    hd_status s = normalize(&e->hyp, hyp, err);
    if (!s) s = hd_word_split(&e->hyp.words, &e->hyp.plain, err);
    if (!s) s = hd_word_number(&e->book, &e->hyp.words, err);
    for (int r = 0; !s && r < opt->refs; r++) {
        const hd_word_list *h = &e->hyp.words, *w = &e->ref.words;
        s = normalize(&e->ref, refs[r], err);
        if (!s) s = hd_word_split(&e->ref.words, &e->ref.plain, err);
        if (!s) s = hd_word_find(&e->book, &e->ref.words, err);
        if (!s) s = compare(e, h->number, h->count, w->number, w->count, &c, err);
        if (!s) keep_best(stat, !r, &c, w->count);
    }
    return s;
}

static hd_status count_characters(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs,
                                  double *stat, hd_err *err)
{
    rate *e = state;
    cell c;
    const hd_runes *h = &e->hyp.plain, *w = &e->ref.plain;
    hd_status s = normalize(&e->hyp, hyp, err);
    for (int r = 0; !s && r < opt->refs; r++) {
        s = normalize(&e->ref, refs[r], err);
        if (!s) s = compare(e, h->at, h->count, w->at, w->count, &c, err);
        if (!s) keep_best(stat, !r, &c, w->count);
    }
    return s;
}

static double score(const hd_metric_opt *opt, const double *stat)
{
    double errors = stat[SUBSTITUTIONS] + stat[DELETIONS] + stat[INSERTIONS];
    (void)opt;
    if (stat[LENGTH] > 0) return 100 * errors / stat[LENGTH];
    return errors > 0 ? 100 : 0;
}

static void sign(hd_text *to, const hd_metric_opt *opt)
{
    (void)opt;
    hd_text_put(to, "|case:lc|punct:no");
}

static void detail(hd_text *to, const hd_metric_opt *opt, const double *stat)
{
    (void)opt;
    hd_text_print(to, "substitutions = %.0f deletions = %.0f insertions = %.0f length = %.0f",
                  stat[SUBSTITUTIONS], stat[DELETIONS], stat[INSERTIONS], stat[LENGTH]);
}

#define RATE(name_, count_)                                                                       \
    {                                                                                             \
        .name = name_, .stats = STATS, .size = sizeof(rate), .count = count_, .release = release, \
        .score = score, .sign = sign, .detail = detail                                            \
    }

const hd_metric_class hd_metric_wer = RATE("WER", count_words);
const hd_metric_class hd_metric_cer = RATE("CER", count_characters);
