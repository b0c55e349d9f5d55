/* Gumbel noise: the largest of noisy log-probabilities is a draw, and its softmax has a gradient. */
#include <math.h>

#include "lab/decoding/chance.h"
#include "lab/decoding/slope.h"
#include "lab/desk.h"

enum { WORDS = 3, MANY = HD_CHANCE_DRAWS, HEATS = 6 };

static const double y[WORDS] = {0.5, 0.3, 0.2}, noise[WORDS] = {0.2, 1.1, -0.4};
static const double by_hand[WORDS] = {0.37101807, 0.54753432, 0.08144761};
static const double heats[HEATS] = {0.05, 0.1, 0.25, 0.5, 1, 2};

static hd_tensor *logs(hd_run *r, size_t rows)
{
    double *x = hd_host_take(r, rows * WORDS * sizeof *x);
    for (size_t i = 0; x && i < rows * WORDS; i++) x[i] = log(y[i % WORDS]);
    return x ? hd_desk_rows(r, rows, WORDS, x) : NULL;
}

/* Log-probabilities with noise, a draw in each row. */
static hd_tensor *noisy(hd_run *r, uint64_t seed)
{
    r->now.seed = seed, r->now.number = 1;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *x = logs(r, MANY);
    return hd_gumbel(r, x, hd_desk_item(r, x).seg);
}

typedef struct found {
    double share[WORDS], largest[HEATS]; /* of words; mean of the largest weight, by temperature */
} found;

static hd_status draw(found *to, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    hd_run *r = lab->run;
    hd_tensor *x = noisy(r, seed);
    double *w = hd_host_take(r, MANY * WORDS * sizeof *w);
    *to = (found){0};
    for (int h = -1; w && h < HEATS; h++) {
        hd_desk_read(w, r, h < 0 ? x : hd_softmax(r, hd_scale(r, x, (float)(1 / heats[h]))));
        for (int i = 0; i < MANY; i++) {
            int best = 0;
            for (int k = 1; k < WORDS; k++)
                if (w[i * WORDS + k] > w[i * WORDS + best]) best = k;
            if (h < 0)
                to->share[best] += 1.0 / MANY;
            else
                to->largest[h] += w[i * WORDS + best] / MANY;
        }
    }
    return hd_run_status(r, err);
}

/* Of a random sum of softmax((G + log Y) / T), by log Y. */
static hd_status differ(hd_slope *to, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    hd_rng rng = hd_rng_make(seed, 5);
    double x[WORDS], by[WORDS];
    for (int i = 0; i < WORDS; i++)
        x[i] = log(y[i]) - log(-log(hd_rng_unit(&rng))), by[i] = hd_rng_normal(&rng);
    return hd_slope_measure(to, lab->run, x, by, WORDS, 0.5, err);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_run *r = lab->run;
    double w[WORDS], far = 0, chi = 0, gap = 0, size = (double)INFINITY;
    found f[HD_LAB_SEEDS];
    hd_spread largest[HEATS];
    hd_run_begin(r, HD_INFERENCE);
    hd_desk_read(w, r, hd_softmax(r, hd_add(r, logs(r, 1), hd_desk_rows(r, 1, WORDS, noise))));
    hd_status s = hd_run_status(r, err);
    for (int i = 0; i < WORDS; i++) far = fmax(far, fabs(w[i] - by_hand[i]));
    for (int i = 0; !s && i < lab->seeds; i++) {
        hd_slope one = {0};
        s = draw(&f[i], lab, lab->seed + (uint64_t)i, err);
        if (!s) s = differ(&one, lab, lab->seed + (uint64_t)i, err);
        chi = fmax(chi, hd_chance_off(f[i].share, y, WORDS));
        gap = fmax(gap, one.gap), size = fmin(size, one.size);
    }
    if (s) return s;
    hd_paper_say(
        to,
        "Three words of probabilities Y = (0.5, 0.3, 0.2). G is -log(-log U), drawn for each word anew; %d "
        "draws for every seed.",
        MANY);
    hd_paper_table_of(to, "How often each word has the largest G + log Y", WORDS + 1, 1);
    hd_paper_cell(to, "seed");
    for (int k = 0; k < WORDS; k++) hd_paper_cell(to, "Y = %.1f", y[k]);
    for (int i = 0; i < lab->seeds; i++) {
        hd_paper_cell(to, "%llu", (unsigned long long)lab->seed + (unsigned long long)i);
        for (int k = 0; k < WORDS; k++) hd_paper_cell(to, "%.3f", f[i].share[k]);
    }
    for (int h = 0; h < HEATS; h++) largest[h] = hd_spread_across(&f[0].largest[h], sizeof *f, lab);
    hd_paper_plot(to, &(hd_series_plot){.title = "How near the softmax of G + log Y is to one word",
                                        .across = "temperature T of softmax((G + log Y) / T)",
                                        .upward = "largest weight of a draw, mean (1: one word alone)",
                                        .log_x = true});
    hd_spread_line(to, "largest weight", heats, largest, HEATS);
    hd_paper_claim(
        to, "With G = (0.2, 1.1, -0.4) the second word is drawn, and the softmax is (0.371, 0.548, 0.081).",
        far < 1e-6 && w[1] > w[0] && w[1] > w[2], "(%.4f, %.4f, %.4f).", w[0], w[1], w[2]);
    hd_paper_claim(
        to, "The largest of G + log Y is a draw by Y.", chi < 18.4,
        "The largest chi-square of all seeds is %.1f; 18.4 would be exceeded once in 10,000 times.", chi);
    hd_paper_claim(
        to, "With a softmax in its place the draw has a gradient.", gap < 0.01 * size + 1e-3 && size > 1e-3,
        "The engine's gradient by log Y, up to %.2g in size, is that of differences to %.1g. That of the "
        "largest word alone is 0 wherever it exists.",
        size, gap);
    hd_paper_claim(
        to, "The softmax of the noise is a draw.", largest[HEATS - 2].low > 0.95,
        "At T = 1, as the slide writes it, the largest weight is %.2f in the mean; at T = %.2f it is %.2f.",
        largest[HEATS - 2].mean, heats[0], largest[0].mean);
    if (largest[HEATS - 2].low <= 0.95 && largest[0].low > 0.95)
        hd_paper_note(
            to, "It is a mixture of words, and becomes one of them as the temperature goes to 0, which the "
                "slide leaves out.");
    return HD_OK;
}

const hd_experiment hd_experiment_gumbel = {
    .name = "gumbel",
    .title = "A draw with a gradient",
    .lecture = 4,
    .rows = "90, 91",
    .claim =
        "Adding Gumbel noise to log-probabilities and taking the largest is a draw; with a softmax for the "
        "largest, gradients flow through it.",
    .run = run,
};
