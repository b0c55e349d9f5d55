/* The soft window: Gaussians that move along a text while a pen writes it. */
#include <math.h>

#include "base/mem.h"
#include "lab/pen/trial.h"
#include "lab/sweep.h"

static const int32_t updates[] = {0, 40, 80, 120, 160, 200};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1 };

static const struct {
    const char *name;
    int window;
} kinds[] = {{"reads the text through a window", 1}, {"does not read it", 0}};
enum { KINDS = sizeof kinds / sizeof *kinds, READS = 0, BLIND = 1 };

/* What came of trying each, by seed. */
typedef hd_trial trials[KINDS][HD_LAB_SEEDS];

static hd_status learn(double *nats, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    trials *t = context;
    hd_penman *w = hd_mem_new(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    hd_status s = hd_penman_open(w, lab->run, kinds[k].window, seed, err);
    for (int i = 0; !s && i < POINTS; i++) {
        if (i)
            s = hd_penman_learn(w, times * (uint32_t)(updates[i] - updates[i - 1]),
                                times * (uint32_t)updates[LAST], 0.02, err);
        if (!s) s = hd_penman_judge(&nats[i], w, err);
    }
    if (!s) s = hd_trial_run(&(*t)[k][seed - lab->seed], w, err);
    hd_penman_close(w);
    hd_mem_free(w);
    return s;
}

/* While letters are written; returns how far from one letter it moves at most. */
static double put_moves(hd_paper *to, const hd_trial *t, const hd_lab *lab)
{
    double off = 0;
    hd_paper_table_of(to, "How the window moves while a letter is written", 4, 1);
    hd_paper_row(to, "letter\tpoints\tletters moved on\ta point");
    for (int32_t c = 0; c < HD_PENMAN_LETTERS; c++) {
        const hd_spread m = hd_spread_across(&t->moved[c], sizeof *t, lab);
        hd_penman_line one;
        hd_penman_spell(&one, &c, 1, 0, NULL);
        off = fmax(off, fmax(fabs(m.low - 1), fabs(m.high - 1)));
        hd_paper_row(to, "%c\t%d\t%.2f (%.2f to %.2f)\t%.2f", hd_penman_name(c), one.points - 1, m.mean,
                     m.low, m.high, m.mean / (one.points - 1));
    }
    return off;
}

static void judge(hd_paper *to, const hd_sweep *w, trials t, double off, const hd_lab *lab)
{
    const hd_trial *own = t[READS];
    const hd_spread reads = w->spread[READS][LAST], blind = w->spread[BLIND][LAST],
                    right = hd_spread_across(&own->right, sizeof *own, lab),
                    guessed = hd_spread_across(&t[BLIND]->right, sizeof *own, lab),
                    back = hd_spread_across(&own->back, sizeof *own, lab),
                    before = hd_spread_across(&own->before, sizeof *own, lab),
                    behind = hd_spread_across(&own->behind, sizeof *own, lab);
    hd_paper_claim(to, "The window moves on along the text and never back.", back.low > 0,
                   "From point to point it moves on by at least %.3f letters.", back.low);
    hd_paper_claim(to, "It stays as long as a letter takes: slowly through many points, quickly through few.",
                   off < 0.4,
                   "While a letter is written it moves on by one letter, off by at most %.2f, whether that "
                   "takes 2 points or 7.",
                   off);
    hd_paper_claim(to, "What is written is what the text says.",
                   right.low > 0.8 && guessed.high < 0.7 && reads.mean < blind.mean,
                   "%.0f %% of the points lie where the text wants them (%.0f to %.0f), %.0f %% without a "
                   "window; new lines cost %.2f nats a point with it, %.2f without.",
                   100 * right.mean, 100 * right.low, 100 * right.high, 100 * guessed.mean, reads.mean,
                   blind.mean);
    hd_paper_claim(to, "Another text gives other strokes, from the letter on that was changed.",
                   behind.low > 1 && before.high < 0.5,
                   "With another second letter the strokes of the first are the same within %.2f, those of "
                   "the second up to %.1f apart.",
                   before.high, behind.mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    trials t;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, updates, POINTS, err);
    if (!s) {
        hd_sweep_stretch(w, lab);
        w->title = "Writing with and without the text", w->across = "updates of 32 lines",
        w->upward = "nats a point of new lines (mean and spread of all seeds)";
        w->caption = "Nats a point of new lines, by updates", w->corner = "network", w->format = "%.2f",
        w->every = 2;
        s = hd_sweep_measure(w, lab, learn, &t, err);
    }
    if (!s) {
        hd_paper_say(to, "Four letters of 2 to 7 strokes are written with a pen, each stroke a little off. "
                         "An LSTM reads the last point and gives the next one as a "
                         "mixture of Gaussians; a window, a Gaussian that it moves along the text, tells it "
                         "what to write.");
        hd_sweep_put(to, w, lab), hd_trial_put(to, &t[READS][lab->seeds - 1]);
        judge(to, w, t, put_moves(to, t[READS], lab), lab);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_window = {
    .name = "window",
    .title = "Handwriting that reads a text",
    .lecture = 0,
    .rows = "23",
    .claim = "A network that writes by hand is told what to write by a soft window over the text, which it "
             "moves on by itself.",
    .run = run,
};
