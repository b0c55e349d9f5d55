/* Relative positions: vectors of distances in place of vectors of places, beyond the lengths that were
 * learned. */
#include <math.h>

#include "base/mem.h"
#include "lab/language/pupil.h"
#include "lab/sweep.h"

static const int32_t windows[] = {HD_PUPIL_WINDOW, 32, 48, 64};
enum { WINDOWS = sizeof windows / sizeof *windows, LONGEST = 64, WIDTH = 32, UPDATES = 300 };
enum { PERIOD = 4, LETTERS = 12, STREAM = 4000, HELD_BACK = 960 };

static const struct {
    const char *name;
    int span;
    bool sines;
} kinds[] = {{"learned vectors of places", 0, false},
             {"sines of places", 0, true},
             {"vectors of distances", 16, false}};
enum { KINDS = sizeof kinds / sizeof *kinds, DISTANCES = KINDS - 1 };

static hd_status learn(double *nats, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t updates = hd_lab_times(lab) * UPDATES;
    hd_lm_opt o = hd_pupil_model(HD_LM_gpt, WIDTH, HD_PUPIL_FIRST + LETTERS);
    int32_t *ids = hd_mem_array(STREAM, sizeof *ids);
    hd_pupil p;
    (void)context;
    o.positions = LONGEST, o.stack.layers = 2;
    o.stack.relative_span = kinds[k].span, o.no_positions = kinds[k].span > 0;
    if (kinds[k].sines) o.position = HD_GPT_SINUSOIDAL;
    hd_status s = hd_pupil_open(&p, lab->run, &o, seed, err);
    if (!s && !ids) s = hd_err_nomem(err, STREAM * sizeof *ids);
    if (!s) hd_story_repeat(ids, STREAM, PERIOD, LETTERS, seed);
    if (!s) s = hd_pupil_learn(&p, ids, STREAM - HELD_BACK, updates, 0.005, err);
    for (int i = 0; !s && i < WINDOWS; i++)
        s = hd_pupil_judge(&nats[i], &p, ids + STREAM - HELD_BACK, HELD_BACK, (size_t)windows[i], err);
    hd_pupil_close(&p);
    hd_mem_free(ids);
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w)
{
    const hd_spread *near = &w->spread[DISTANCES][0], *far = &w->spread[DISTANCES][WINDOWS - 1];
    const hd_spread *places = &w->spread[0][WINDOWS - 1];
    hd_paper_claim(to, "Vectors of distances serve texts that are longer than any that was learned.",
                   far->high < near->high + 0.1 && far->high < places->low,
                   "Over %d words the loss is %.2f nats a word (%.2f to %.2f), over the %d that were learned "
                   "%.2f; with learned "
                   "vectors of places it is %.2f over %d.",
                   LONGEST, far->mean, far->low, far->high, HD_PUPIL_WINDOW, near->mean, places->mean,
                   LONGEST);
    hd_paper_claim(to, "They are learned sooner, too: one vector serves a distance wherever it occurs.",
                   near->high < w->spread[0][0].low && near->high < w->spread[1][0].low,
                   "Over the lengths that were learned the loss is %.2f with them, %.2f with learned places "
                   "and %.2f with sines; a "
                   "model that knew all that can be known would have %.2f.",
                   near->mean, w->spread[0][0].mean, w->spread[1][0].mean, log(LETTERS) / 2);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, windows, WINDOWS, err);
    if (s) return s;
    w->title = "Places and distances, beyond what was learned", w->across = "words of a text";
    w->upward = "nats a word of text held back (mean and spread of all seeds)";
    w->caption = "Nats a word, by the length of the texts", w->corner = "positions", w->format = "%.2f";
    s = hd_sweep_measure(w, lab, learn, NULL, err);
    if (!s) {
        hd_paper_say(to,
                     "A Transformer of two blocks, %d wide, reads %d random words, the same again, and so "
                     "on, in texts of %d words; then it "
                     "is asked about longer ones. A word that comes again is always %d words back.",
                     WIDTH, PERIOD, HD_PUPIL_WINDOW, PERIOD);
        hd_sweep_put(to, w, lab);
        judge(to, w);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_relative = {
    .name = "relative",
    .title = "Distances in place of places",
    .lecture = 3,
    .rows = "189",
    .claim = "Attention with vectors of distances, as in the Music Transformer, repeats what came before at "
             "any place of a text, also "
             "beyond the lengths it learned.",
    .run = run,
};
