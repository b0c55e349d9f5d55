/* n-grams of a source that is drawn. */
#include "lab/language/counts.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/lm/ngram.h"

enum {
    BEGIN,
    END,
    FIRST,
    KINDS = HD_COUNTS_KINDS,
    VOCAB = FIRST + KINDS,
    LINE = HD_COUNTS_LINE,
    LINES = HD_COUNTS_LINES,
    HELD = HD_COUNTS_HELD
};

/* Words by the two before them, so that three in a row tell all there is to know. */
typedef struct source {
    double next[KINDS][KINDS][KINDS];
} source;

static void draw_source(source *s, hd_rng *rng)
{
    for (int a = 0; a < KINDS; a++)
        for (int b = 0; b < KINDS; b++) {
            double sum = 0;
            for (int c = 0; c < KINDS; c++) sum += s->next[a][b][c] = exp(2 * hd_rng_normal(rng));
            for (int c = 0; c < KINDS; c++) s->next[a][b][c] /= sum;
        }
}

static void draw_line(int32_t *line, const source *s, hd_rng *rng)
{
    for (int i = 0; i < LINE; i++) {
        const double *p = s->next[i > 1 ? line[i - 2] - FIRST : 0][i ? line[i - 1] - FIRST : 0];
        double u = hd_rng_unit(rng);
        int word = 0;
        while (word < KINDS - 1 && (u -= p[word]) >= 0) word++;
        line[i] = FIRST + word;
    }
}

/* The probability of the third word after two, against counts by hand; those of all words sum to 1. */
static double check(const hd_ngram *m, int32_t (*text)[LINE])
{
    double off = 0, p[VOCAB];
    for (int i = 0; i < 50; i++) {
        const int32_t *at = text[i] + 3;
        size_t with = 0, all = 0;
        for (int l = 0; l < LINES; l++)
            for (int k = 2; k <= LINE; k++)
                if (text[l][k - 2] == at[0] && text[l][k - 1] == at[1])
                    all++, with += k < LINE && text[l][k] == at[2];
        double sum = -1;
        hd_ngram_row(m, at, 2, p);
        for (int k = 0; k < VOCAB; k++) sum += p[k];
        off = fmax(off, fmax(fabs(p[at[2]] - (double)with / (double)all), fabs(sum)));
    }
    return off;
}

static hd_status measure(hd_counts *to, int order, int32_t (*text)[LINE], hd_err *err)
{
    *to = (hd_counts){0};
    for (int smooth = 0; smooth < 2; smooth++) {
        hd_ngram *m = NULL;
        hd_ngram_opt o = {.vocab = VOCAB,
                          .order = order,
                          .smoothing = smooth ? HD_SMOOTHING_KNESER_NEY : HD_SMOOTHING_ADD_K,
                          .start = BEGIN,
                          .end = END,
                          .unk = -1};
        hd_status s = hd_ngram_new(&m, &o, err);
        for (int l = 0; !s && l < LINES; l++) s = hd_ngram_count(m, text[l], LINE, err);
        if (!s) s = hd_ngram_finish(m, err);
        double logp[LINE + 1], seen = 0, possible = 0, learned = 0;
        for (int l = 0; !s && l < LINES + HELD; l++) {
            hd_ngram_score(m, text[l], LINE, logp);
            for (int i = 0; i <= LINE; i++) {
                if (l < LINES) learned += logp[i];
                if (l >= LINES && isfinite(logp[i])) seen += logp[i], possible++;
            }
        }
        const double held = HELD * (LINE + 1);
        if (!s && !smooth) {
            to->learned = exp(-learned / (LINES * (LINE + 1)));
            to->impossible = 1 - possible / held;
            to->ratio = order == 3 ? check(m, text) : 0;
        } else if (!s)
            to->smoothed = exp(-seen / held);
        hd_ngram_free(m);
        if (s) return s;
    }
    return HD_OK;
}

hd_status hd_counts_of(hd_counts *to, uint64_t seed, hd_err *err)
{
    hd_rng rng = hd_rng_make(seed, 6);
    source *from = hd_mem_new(sizeof *from);
    int32_t(*text)[LINE] = hd_mem_array(LINES + HELD, sizeof *text);
    hd_status s = from && text ? HD_OK : hd_err_nomem(err, sizeof *from);
    if (!s) draw_source(from, &rng);
    for (int l = 0; !s && l < LINES + HELD; l++) draw_line(text[l], from, &rng);
    for (int n = 0; !s && n < HD_COUNTS_LONGEST; n++) s = measure(&to[n], n + 1, text, err);
    hd_mem_free(from), hd_mem_free(text);
    return s;
}
