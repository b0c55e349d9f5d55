/* Forgetting: a signal, a gap of noise, and the question which signal it was. */
#include "base/rng.h"
#include "lab/memory/net.h"
#include "lab/sweep.h"

enum { SIGNALS = 4, NOISES = 4, ASK = SIGNALS + NOISES, WORDS, ITEMS = 32, LONGEST = 30, LOTS = 8 };

static const int32_t gaps[] = {2, 10, 20, LONGEST};
enum { GAPS = sizeof gaps / sizeof *gaps, KINDS = HD_NET_COMPARED };

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

static hd_status learn_all(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context,
                           hd_err *err)
{
    hd_status s = HD_OK;
    (void)context;
    for (int g = 0; !s && g < GAPS; g++)
        s = learn(&share[g], lab, (hd_net_kind)(HD_NET_FIRST + k), gaps[g], seed, err);
    return s;
}

/* The longest gap over which all seeds remember; 0: none. */
static int span_of(const hd_spread *right)
{
    int g = 0;
    while (g < GAPS && right[g].low > 90) g++;
    return g ? gaps[g - 1] : 0;
}

static void judge(hd_paper *to, const hd_sweep *w)
{
    const hd_spread *simple = w->spread[0], *lstm = w->spread[2], *attention = &w->spread[3][GAPS - 1];
    const hd_spread *last = &simple[GAPS - 1];
    hd_paper_claim(to, "A simple recurrent network forgets over a gap what it remembers over a few words.",
                   simple[0].low > 90 && last->high < simple[0].low - 20,
                   "It answers %.0f %% over %d words and %.0f %% over %d; chance is %.0f %%.", simple[0].mean,
                   gaps[0], last->mean, LONGEST, 100.0 / SIGNALS);
    hd_paper_claim(to, "An LSTM keeps information longer.", span_of(lstm) > span_of(simple),
                   "It answers more than 90 %% with every seed over up to %d words, the simple network over "
                   "up to %d; its forget gate begins open.",
                   span_of(lstm), span_of(simple));
    hd_paper_claim(to, "Attention has no steps in between that could forget.",
                   attention->low > 95 && attention->low > last->high,
                   "It answers %.0f %% over %d words (%.0f to %.0f).", attention->mean, LONGEST,
                   attention->low, attention->high);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, hd_net_names + HD_NET_FIRST, sizeof *hd_net_names, KINDS, gaps, GAPS, err);
    if (s) return s;
    w->title = "What is remembered over a gap", w->across = "words between the signal and the question";
    w->upward = "right answers, % (mean and spread of all seeds; chance is 25)";
    w->caption = "Right answers, %, by the length of the gap", w->corner = "layer";
    w->format = "%.0f", w->scale = 100;
    s = hd_sweep_measure(w, lab, learn_all, NULL, err);
    if (!s) {
        hd_paper_say(
            to,
            "One of %d signals, a gap of random words, then the question which signal it was. Each "
            "network has one layer of 16 columns and %d updates of %d questions; it is asked %d new ones.",
            SIGNALS, updates_of(lab), ITEMS, LOTS * ITEMS);
        hd_sweep_put(to, w, lab);
        judge(to, w);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_forgetting = {
    .name = "forgetting",
    .title = "Forgetting over a gap",
    .lecture = 0,
    .rows = "16, 20",
    .claim = "Between two words that are K apart a recurrent network has K chances to forget the first one.",
    .run = run,
};
