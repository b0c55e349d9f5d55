/* Counts of words in a row as a language model: what they say, and what they cannot know. */
#include <math.h>

#include "lab/desk.h"
#include "lab/language/counts.h"

enum { LONGEST = HD_COUNTS_LONGEST };

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
    hd_counts f[HD_LAB_SEEDS][LONGEST];
    hd_spread by[3][LONGEST]; /* learned, smoothed, impossible */
    double x[LONGEST], off = 0, ratio = 0;
    int best = 0;
    hd_status s = soft(&off, lab, err);
    for (int i = 0; !s && i < lab->seeds; i++) s = hd_counts_of(f[i], lab->seed + (uint64_t)i, err);
    if (s) return s;
    for (int n = 0; n < LONGEST; n++) {
        by[0][n] = hd_spread_across(&f[0][n].learned, sizeof *f, lab);
        by[1][n] = hd_spread_across(&f[0][n].smoothed, sizeof *f, lab);
        by[2][n] = hd_spread_across(&f[0][n].impossible, sizeof *f, lab);
        ratio = fmax(ratio, hd_spread_across(&f[0][n].ratio, sizeof *f, lab).high);
        x[n] = n + 1, best = by[1][n].mean < by[1][best].mean ? n : best;
    }
    hd_paper_say(
        to,
        "%d lines of %d words are counted and %d new ones judged, all drawn from a source of %d words in "
        "which the next one depends on the two before it.",
        HD_COUNTS_LINES, HD_COUNTS_LINE, HD_COUNTS_HELD, HD_COUNTS_KINDS);
    hd_paper_plot(to,
                  &(hd_series_plot){.title = "How well n-grams predict",
                                    .across = "words in a row, n",
                                    .upward = "perplexity (less is better; mean and spread of all seeds)"});
    for (int k = 0; k < 2; k++) hd_spread_line(to, names[k], x, by[k], LONGEST);
    hd_paper_table_of(to, "Perplexity, and new words that plain ratios of counts think impossible", 4, 0);
    hd_paper_row(to, "n\tcounted text\tnew, Kneser-Ney\timpossible, %%");
    for (int n = 0; n < LONGEST; n++) {
        hd_paper_row(to, "%d\t%.2f\t%.2f", n + 1, by[0][n].mean, by[1][n].mean);
        hd_spread_percent(to, by[2][n]);
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
