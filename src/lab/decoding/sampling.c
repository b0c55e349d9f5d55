/* Drawing words: temperature, top-k and top-p, against the probabilities they stand for. */
#include <math.h>

#include "lab/decoding/chance.h"
#include "lab/experiment.h"

enum { MANY = HD_CHANCE_DRAWS, WORDS = 6, HOT = 6, LOGITS = 3 };

static const double temperatures[HOT] = {0.1, 0.25, 0.5, 1, 2, 4};
static const double logits[LOGITS] = {2, 1, 0};
static const double wide[WORDS] = {0.4, 0.25, 0.15, 0.1, 0.06, 0.04};

static void softmax(double *p, double t)
{
    double sum = 0;
    for (int i = 0; i < LOGITS; i++) sum += p[i] = exp((logits[i] - logits[0]) / t);
    for (int i = 0; i < LOGITS; i++) p[i] /= sum;
}

/* -- temperature -- */

static hd_status heat(hd_paper *to, const hd_lab *lab, double *worst, double ends[2], hd_err *err)
{
    static const char *const drawn[] = {"first word, drawn", "second word, drawn", "third word, drawn"},
                             *const exact[] = {"first, softmax(z/T)", "second, softmax(z/T)",
                                               "third, softmax(z/T)"};
    hd_spread by[LOGITS][HOT];
    double p[LOGITS][HOT];
    hd_status s = HD_OK;
    *worst = 0;
    for (int t = 0; t < HOT; t++) {
        double share[HD_LAB_SEEDS][LOGITS], want[LOGITS];
        softmax(want, temperatures[t]);
        for (int i = 0; !s && i < lab->seeds; i++) {
            const hd_draw_opt o = {
                .temperature = (float)temperatures[t], .seed = lab->seed + (uint64_t)i, .end = -1};
            s = hd_chance_draw(share[i], lab->run, logits, LOGITS, &o, err);
            if (!s) *worst = fmax(*worst, hd_chance_off(share[i], want, LOGITS));
        }
        if (s) return s;
        for (int w = 0; w < LOGITS; w++)
            by[w][t] = hd_spread_across(&share[0][w], sizeof *share, lab), p[w][t] = want[w];
    }
    hd_paper_plot(to, &(hd_series_plot){.title = "Three words with logits 2, 1 and 0",
                                        .across = "temperature T",
                                        .upward = "share of the words drawn (mean and spread of all seeds)",
                                        .log_x = true});
    for (int w = 0; w < LOGITS; w++) hd_spread_line(to, drawn[w], temperatures, by[w], HOT);
    for (int w = 0; w < LOGITS; w++)
        hd_paper_line(to, exact[w], &(hd_series){.x = temperatures, .y = p[w], .count = HOT});
    hd_paper_table_of(to, "Shares of the three words by temperature", 1 + 2 * LOGITS, 0);
    hd_paper_cell(to, "T");
    for (int w = 0; w < LOGITS; w++) hd_paper_row(to, "softmax %d\tdrawn", w + 1);
    for (int t = 0; t < HOT; t++) {
        hd_paper_cell(to, "%g", temperatures[t]);
        for (int w = 0; w < LOGITS; w++) hd_paper_row(to, "%.4f\t%.3f", p[w][t], by[w][t].mean);
    }
    ends[0] = by[0][0].low, ends[1] = by[0][HOT - 1].mean;
    const hd_draw_opt cold = {.temperature = 0, .seed = lab->seed, .end = -1};
    double share[LOGITS];
    s = hd_chance_draw(share, lab->run, logits, LOGITS, &cold, err);
    ends[0] = fmin(ends[0], share[0]);
    return s;
}

/* -- top-k and top-p -- */

static hd_status cut(hd_paper *to, const hd_lab *lab, double *worst, double *outside, hd_err *err)
{
    static const struct {
        const char *name;
        size_t k;
        float p;
        size_t kept; /* words of the six */
    } kinds[] = {
        {"all", 0, 0, 6}, {"top-k 3", 3, 0, 3}, {"top-p 0.7", 0, 0.7f, 3}, {"top-p 0.9", 0, 0.9f, 4}};
    double score[WORDS], share[WORDS], sum[WORDS];
    hd_status s = HD_OK;
    *worst = *outside = 0;
    for (int w = 0; w < WORDS; w++) score[w] = log(wide[w]);
    hd_paper_table_of(to, "Six words, and what is drawn of them (mean of all seeds)", WORDS + 1, 1);
    hd_paper_cell(to, "drawn from");
    for (int w = 0; w < WORDS; w++) hd_paper_cell(to, "%.2f", wide[w]);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double want[WORDS] = {0}, all = 0;
        for (size_t w = 0; w < kinds[k].kept; w++) all += wide[w];
        for (size_t w = 0; w < kinds[k].kept; w++) want[w] = wide[w] / all;
        for (int w = 0; w < WORDS; w++) sum[w] = 0;
        for (int i = 0; !s && i < lab->seeds; i++) {
            const hd_draw_opt o = {.temperature = 1,
                                   .top_k = kinds[k].k,
                                   .top_p = kinds[k].p,
                                   .seed = lab->seed + (uint64_t)i,
                                   .end = -1};
            s = hd_chance_draw(share, lab->run, score, WORDS, &o, err);
            *worst = fmax(*worst, hd_chance_off(share, want, WORDS));
            for (size_t w = 0; w < WORDS; w++) {
                sum[w] += share[w] / lab->seeds;
                if (w >= kinds[k].kept) *outside += share[w];
            }
        }
        if (s) return s;
        hd_paper_cell(to, "%s", kinds[k].name);
        for (int w = 0; w < WORDS; w++) hd_paper_cell(to, "%.3f", sum[w]);
    }
    return HD_OK;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    /* the 0.9999 quantiles of chi-square with 2 and 5 degrees of freedom, as several draws are judged */
    const double most_of_three = 18.4, most_of_six = 25.7;
    double hot = 0, many = 0, ends[2] = {0}, outside = 0;
    hd_paper_say(to, "%d words are drawn for every row and seed.", MANY);
    hd_status s = heat(to, lab, &hot, ends, err);
    if (!s) s = cut(to, lab, &many, &outside, err);
    if (s) return s;
    hd_paper_claim(to, "Words are drawn by softmax(z / T).", hot < most_of_three,
                   "The largest chi-square is %.1f; %.1f would be exceeded once in 10,000 times.", hot,
                   most_of_three);
    hd_paper_claim(
        to, "A low temperature is greedy, a high one makes all words alike.",
        ends[0] > 0.99 && ends[1] < 0.45,
        "The likeliest word is drawn in at least %.1f %% at T = 0 and 0.1, in %.0f %% at T = 4; alike is "
        "33 %%.",
        100 * ends[0], 100 * ends[1]);
    hd_paper_claim(to, "Top-k and top-p draw nothing outside their set.", outside <= 0,
                   "%.0f of all draws fell outside.", outside * MANY);
    hd_paper_claim(
        to, "Inside it the probabilities are made a whole again.", many < most_of_six,
        "The largest chi-square against p / (sum of those kept) is %.1f; %.1f would be exceeded once in "
        "10,000 times.",
        many, most_of_six);
    return HD_OK;
}

const hd_experiment hd_experiment_sampling = {
    .name = "sampling",
    .title = "Words drawn by chance",
    .lecture = 1,
    .rows = "83, 84",
    .claim = "A word can be drawn by its probability instead of taking the likeliest one. The temperature "
             "makes the "
             "draw bolder or safer; top-k and top-p leave out the unlikely words.",
    .run = run,
};
