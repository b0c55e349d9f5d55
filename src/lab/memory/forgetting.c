/* Forgetting: a signal, a gap of noise, and the question which signal it was. */
#include "base/rng.h"
#include "lab/memory/net.h"

enum { SIGNALS = 4, NOISES = 4, ASK = SIGNALS + NOISES, WORDS, ITEMS = 32, LONGEST = 30, LOTS = 8 };

static const int gaps[] = {2, 10, 20, LONGEST};
static const hd_net_kind kinds[] = {HD_NET_tanh, HD_NET_gru, HD_NET_lstm, HD_NET_attention};
enum { GAPS = sizeof gaps / sizeof *gaps, KINDS = sizeof kinds / sizeof *kinds };

typedef struct lot {
    int32_t ids[ITEMS * (LONGEST + 2)], len[ITEMS], target[ITEMS];
} lot;

static void draw(lot *l, int gap, uint64_t seed, uint64_t number)
{
    hd_rng rng = hd_rng_make(seed, number);
    int32_t *ids = l->ids;
    for (int i = 0; i < ITEMS; i++) {
        *ids++ = l->target[i] = (int32_t)hd_rng_below(&rng, SIGNALS);
        for (int k = 0; k < gap; k++) *ids++ = SIGNALS + (int32_t)hd_rng_below(&rng, NOISES);
        *ids++ = ASK;
        l->len[i] = gap + 2;
    }
}

static int updates_of(const hd_lab *lab)
{
    return lab->full ? 2000 : 400;
}

/* The share of right answers to questions never seen, after `steps` updates. */
static hd_status learn(double *share, const hd_lab *lab, hd_net_kind kind, int gap, uint64_t seed,
                       hd_err *err)
{
    const int steps = updates_of(lab);
    hd_net n;
    lot l;
    size_t right, all = 0;
    hd_status s = hd_net_open(
        &n, lab->run, &(hd_net_opt){.kind = kind, .width = 16, .words = WORDS, .seed = seed, .remember = 3},
        err);
    for (int t = 1; !s && t <= steps; t++) {
        draw(&l, gap, seed, (uint64_t)t);
        s = hd_net_learn(&n, l.ids, l.len, l.target, ITEMS, 0.01, err);
    }
    for (uint64_t b = 0; !s && b < LOTS; b++) {
        draw(&l, gap, seed, 1000000 + b);
        s = hd_net_judge(&right, &n, l.ids, l.len, l.target, ITEMS, err);
        all += right;
    }
    *share = (double)all / (LOTS * ITEMS);
    hd_net_close(&n);
    return s;
}

/* The longest gap over which all seeds remember; 0: none. */
static int span_of(const hd_spread *right)
{
    int g = 0;
    while (g < GAPS && right[g].low > 0.9) g++;
    return g ? gaps[g - 1] : 0;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_spread right[KINDS][GAPS];
    hd_status s = HD_OK;
    for (int k = 0; k < KINDS; k++)
        for (int g = 0; g < GAPS; g++) {
            double v[HD_LAB_SEEDS];
            for (int i = 0; !s && i < lab->seeds; i++)
                s = learn(&v[i], lab, kinds[k], gaps[g], lab->seed + (uint64_t)i, err);
            if (!s) s = hd_lab_tell(lab, (double)(k * GAPS + g + 1) / (KINDS * GAPS), err);
            if (s) return s;
            right[k][g] = hd_spread_of(v, (size_t)lab->seeds);
        }
    hd_paper_say(
        to,
        "One of %d signals, a gap of random words, then the question which signal it was. Each "
        "network has one layer of 16 columns and %d updates of %d questions; it is asked %d new ones.",
        SIGNALS, updates_of(lab), ITEMS, LOTS * ITEMS);
    hd_paper_plot(
        to, &(hd_series_plot){.title = "What is remembered over a gap",
                              .across = "words between the signal and the question",
                              .upward = "right answers, % (mean and spread of all seeds; chance is 25)"});
    for (int k = 0; k < KINDS; k++) {
        double x[GAPS], mean[GAPS], low[GAPS], high[GAPS];
        for (int g = 0; g < GAPS; g++)
            x[g] = gaps[g], mean[g] = 100 * right[k][g].mean, low[g] = 100 * right[k][g].low,
            high[g] = 100 * right[k][g].high;
        hd_paper_line(to, hd_net_names[kinds[k]],
                      &(hd_series){.x = x, .y = mean, .low = low, .high = high, .count = GAPS});
    }
    hd_paper_table_of(to, "Right answers, %, by the length of the gap", GAPS + 1, 1);
    hd_paper_cell(to, "layer");
    for (int g = 0; g < GAPS; g++) hd_paper_cell(to, "%d", gaps[g]);
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", hd_net_names[kinds[k]]);
        for (int g = 0; g < GAPS; g++)
            hd_paper_cell(to, "%.0f (%.0f to %.0f)", 100 * right[k][g].mean, 100 * right[k][g].low,
                          100 * right[k][g].high);
    }
    hd_paper_claim(to, "A simple recurrent network forgets over a gap what it remembers over a few words.",
                   right[0][0].low > 0.9 && right[0][GAPS - 1].high < right[0][0].low - 0.2,
                   "It answers %.0f %% over %d words and %.0f %% over %d; chance is %.0f %%.",
                   100 * right[0][0].mean, gaps[0], 100 * right[0][GAPS - 1].mean, LONGEST, 100.0 / SIGNALS);
    hd_paper_claim(to, "An LSTM keeps information longer.", span_of(right[2]) > span_of(right[0]),
                   "It answers more than 90 %% with every seed over up to %d words, the simple network over "
                   "up to %d; its forget gate begins open.",
                   span_of(right[2]), span_of(right[0]));
    hd_paper_claim(to, "Attention has no steps in between that could forget.",
                   right[3][GAPS - 1].low > 0.95 && right[3][GAPS - 1].low > right[0][GAPS - 1].high,
                   "It answers %.0f %% over %d words (%.0f to %.0f).", 100 * right[3][GAPS - 1].mean, LONGEST,
                   100 * right[3][GAPS - 1].low, 100 * right[3][GAPS - 1].high);
    return HD_OK;
}

const hd_experiment hd_experiment_forgetting = {
    .name = "forgetting",
    .title = "Forgetting over a gap",
    .lecture = 0,
    .rows = "16, 20",
    .claim = "Between two words that are K apart a recurrent network has K chances to forget the first one.",
    .run = run,
};
