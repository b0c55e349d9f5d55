/* Counts of words in a row as a language model: what they say, and what they cannot know. */
#include <math.h>

#include "base/mem.h"
#include "lab/desk.h"
#include "model/lm/ngram.h"

enum {
    BEGIN,
    END,
    FIRST,
    KINDS = 12,
    VOCAB = FIRST + KINDS,
    LONGEST = 5,
    LINE = 20,
    LINES = 400,
    HELD = 100
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

typedef struct found {
    double learned, smoothed; /* perplexities: of ratios, of Kneser-Ney for new text */
    double impossible;        /* share of new words that ratios think so */
    double ratio;             /* how far a probability is from the ratio of counts */
} found;

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

static hd_status measure(found *to, int order, int32_t (*text)[LINE], hd_err *err)
{
    *to = (found){0};
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

/* Row 7: shares of 1 of any numbers, whatever is added to all of them. */
static hd_status soft(double *off, const hd_lab *lab, hd_err *err)
{
    enum { N = 5 };
    static const double z[N] = {2, -1, 0.5, 3, 0}, more[N] = {102, 99, 100.5, 103, 100};
    double p[N], moved[N], sum = 0;
    hd_run *r = lab->run;
    hd_run_begin(r, HD_INFERENCE);
    hd_desk_read(p, r, hd_softmax(r, hd_desk_rows(r, 1, N, z)));
    hd_desk_read(moved, r, hd_softmax(r, hd_desk_rows(r, 1, N, more)));
    *off = 0;
    for (int i = 0; i < N; i++) sum += exp(z[i]);
    for (int i = 0; i < N; i++) *off = fmax(*off, fmax(fabs(p[i] - exp(z[i]) / sum), fabs(p[i] - moved[i])));
    return hd_run_status(r, err);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const char *const names[] = {"text that was counted", "new text, Kneser-Ney"};
    found f[LONGEST][HD_LAB_SEEDS];
    hd_spread by[3][LONGEST]; /* learned, smoothed, impossible */
    double x[LONGEST], off = 0, ratio = 0;
    int best = 0;
    hd_status s = soft(&off, lab, err);
    source *from = hd_mem_new(sizeof *from);
    int32_t(*text)[LINE] = hd_mem_array(LINES + HELD, sizeof *text);
    if (!s && (!from || !text)) s = hd_err_nomem(err, sizeof *from);
    for (int i = 0; !s && i < lab->seeds; i++) {
        hd_rng rng = hd_rng_make(lab->seed + (uint64_t)i, 6);
        draw_source(from, &rng);
        for (int l = 0; l < LINES + HELD; l++) draw_line(text[l], from, &rng);
        for (int n = 0; !s && n < LONGEST; n++) s = measure(&f[n][i], n + 1, text, err);
    }
    hd_mem_free(from), hd_mem_free(text);
    if (s) return s;
    for (int n = 0; n < LONGEST; n++) {
        double v[3][HD_LAB_SEEDS];
        for (int i = 0; i < lab->seeds; i++) {
            v[0][i] = f[n][i].learned, v[1][i] = f[n][i].smoothed, v[2][i] = f[n][i].impossible;
            ratio = fmax(ratio, f[n][i].ratio);
        }
        for (int k = 0; k < 3; k++) by[k][n] = hd_spread_of(v[k], (size_t)lab->seeds);
        x[n] = n + 1, best = by[1][n].mean < by[1][best].mean ? n : best;
    }
    hd_paper_say(
        to,
        "%d lines of %d words are counted and %d new ones judged, all drawn from a source of %d words in "
        "which the next one depends on the two before it.",
        LINES, LINE, HELD, KINDS);
    hd_paper_plot(to,
                  &(hd_series_plot){.title = "How well n-grams predict",
                                    .across = "words in a row, n",
                                    .upward = "perplexity (less is better; mean and spread of all seeds)"});
    for (int k = 0; k < 2; k++) hd_spread_line(to, names[k], x, by[k], LONGEST);
    hd_paper_table_of(to, "Perplexity, and new words that plain ratios of counts think impossible", 4, 0);
    hd_paper_cell(to, "n"), hd_paper_cell(to, "counted text"), hd_paper_cell(to, "new, Kneser-Ney");
    hd_paper_cell(to, "impossible, %%");
    for (int n = 0; n < LONGEST; n++) {
        hd_paper_cell(to, "%d", n + 1), hd_paper_cell(to, "%.2f", by[0][n].mean);
        hd_paper_cell(to, "%.2f", by[1][n].mean), hd_spread_percent(to, by[2][n]);
    }
    hd_paper_claim(to, "The probability of a word is the ratio of two counts.", ratio < 1e-6,
                   "After two words it is count(three) / count(two) to %.1g, and sums to 1 over all words.",
                   ratio);
    hd_paper_claim(to, "Longer contexts fit the counted text ever better.",
                   by[0][LONGEST - 1].high < by[0][2].low,
                   "Its perplexity falls from %.1f (n = 1) to %.2f (n = %d).", by[0][0].mean,
                   by[0][LONGEST - 1].mean, LONGEST);
    hd_paper_claim(to, "New text has words in a row that were never counted, more with every n.",
                   by[2][LONGEST - 1].low > by[2][2].high && by[2][LONGEST - 1].low > 0.05,
                   "Ratios of counts think %.1f %% of its words impossible with n = 3 and %.0f %% with n = "
                   "%d; smoothed, "
                   "n = %d predicts it best.",
                   100 * by[2][2].mean, 100 * by[2][LONGEST - 1].mean, LONGEST, best + 1);
    hd_paper_claim(
        to, "Softmax makes probabilities of any numbers.", off < 1e-6,
        "exp(z_i) / sum of exp(z_j) to %.1g, also with 100 added to all. A slide has i for j in the sum, "
        "which would make all words equally likely.",
        off);
    return HD_OK;
}

const hd_experiment hd_experiment_ngram = {
    .name = "ngram",
    .title = "Counting words in a row",
    .lecture = 0,
    .rows = "1, 7",
    .claim = "A language model can be counted: how often a word came after the last n - 1. It knows nothing "
             "of what it "
             "never saw.",
    .run = run,
};
