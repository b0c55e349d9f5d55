/* Local attention: a window of the source in place of all of it. */
#include <math.h>

#include "base/mem.h"
#include "lab/decoder/answer.h"
#include "lab/sweep.h"

static const int32_t lengths[] = {2, 4, 6, 8, 10};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 10, WORDS = 10, WIDTH = 24, WINDOW = 2 };
enum { UPDATES = 300 };

static const struct {
    const char *name;
    hd_exercise_kind exercise;
    hd_locality locality;
} kinds[] = {
    {"same order, global", HD_EXERCISE_copy, HD_LOCALITY_GLOBAL},
    {"same order, local-m", HD_EXERCISE_copy, HD_LOCALITY_MONOTONE},
    {"same order, local-p", HD_EXERCISE_copy, HD_LOCALITY_PREDICTED},
    {"opposite order, global", HD_EXERCISE_reverse, HD_LOCALITY_GLOBAL},
    {"opposite order, local-m", HD_EXERCISE_reverse, HD_LOCALITY_MONOTONE},
    {"opposite order, local-p", HD_EXERCISE_reverse, HD_LOCALITY_PREDICTED},
};
enum { KINDS = sizeof kinds / sizeof *kinds, SAME = 0, OPPOSITE = 3 };

static uint32_t updates_of(const hd_lab *lab)
{
    return hd_lab_times(lab) * UPDATES;
}

/* The largest weight outside of the window around each word's own place. */
static double outside(const hd_gaze *g)
{
    double most = 0;
    for (size_t t = 0; t < g->targets; t++)
        for (size_t i = 0; i < g->sources; i++)
            if (i > t + WINDOW || i + WINDOW < t) most = fmax(most, g->weight[t * g->sources + i]);
    return most;
}

/* beyond: the largest weight that local-m gave outside of its window. */
static hd_status learn(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *beyond, hd_err *err)
{
    hd_learner_opt o = {.encoder = "bi-gru:1",
                        .decoder = "gru:1",
                        .exercise = kinds[k].exercise,
                        .plain = WORDS,
                        .shortest = 2,
                        .longest = LONGEST,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    hd_gaze *g = hd_mem_zero(sizeof *g);
    o.model.recurrent = (hd_recurrent_decoder_opt){.begin = HD_BEGINNING_map,
                                                   .query = HD_QUERY_current,
                                                   .read = HD_READING_deep,
                                                   .score = HD_SCORING_bilinear,
                                                   .locality = kinds[k].locality,
                                                   .window = WINDOW};
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s && !g) s = hd_err_nomem(err, sizeof *g);
    if (!s) s = hd_learner_learn(&l, updates_of(lab), updates_of(lab), 0.01, NULL, err);
    for (int i = 0; !s && i < LENGTHS; i++) s = hd_learner_judge(&share[i], &l, lengths[i], err);
    if (!s && kinds[k].locality == HD_LOCALITY_MONOTONE) {
        s = hd_gaze_take(g, &l, LONGEST, 0, err);
        if (!s) *(double *)beyond = fmax(*(double *)beyond, outside(g));
    }
    hd_mem_free(g);
    hd_learner_close(&l);
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w, double beyond)
{
    const hd_spread *same[3], *opposite[3];
    for (int i = 0; i < 3; i++)
        same[i] = &w->spread[SAME + i][LENGTHS - 1], opposite[i] = &w->spread[OPPOSITE + i][LENGTHS - 1];
    hd_paper_claim(to, "Local attention sees nothing outside of its window.", beyond == 0,
                   "The largest weight of a word more than %d places away is %g.", WINDOW, beyond);
    hd_paper_claim(
        to, "Where both sides have one order, a window around the own place is enough.", same[1]->low > 90,
        "Of %d words %.0f %% are right with local-m (%.0f to %.0f), %.0f %% with global attention.", LONGEST,
        same[1]->mean, same[1]->low, same[1]->high, same[0]->mean);
    hd_paper_claim(
        to, "Where they do not, that window misses the words.", opposite[1]->high < opposite[0]->low - 10,
        "Of %d words %.0f %% are right with local-m (%.0f to %.0f), %.0f %% with global attention (%.0f "
        "to %.0f).",
        LONGEST, opposite[1]->mean, opposite[1]->low, opposite[1]->high, opposite[0]->mean, opposite[0]->low,
        opposite[0]->high);
    hd_paper_claim(to, "A predicted place (local-p) makes up for that.",
                   opposite[2]->low > opposite[1]->high + 5,
                   "Of %d words in the opposite order %.0f %% are right (%.0f to %.0f).", LONGEST,
                   opposite[2]->mean, opposite[2]->low, opposite[2]->high);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double beyond = 0;
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, lengths, LENGTHS, err);
    if (s) return s;
    hd_sweep_words(w);
    w->title = "Attention to all of the source, or to a window", w->corner = "order of the target, attention";
    s = hd_sweep_measure(w, lab, learn, &beyond, err);
    if (!s) {
        hd_paper_say(
            to,
            "Random words are to be said in the same or in the opposite order, by GRUs %d wide with Luong's "
            "attention: to all "
            "words, to those at most %d places from the word's own place (local-m), or from a place that is "
            "predicted, the nearer the more (local-p). %u updates each.",
            WIDTH, WINDOW, (unsigned)updates_of(lab));
        hd_sweep_put(to, w, lab);
        judge(to, w, beyond);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_local = {
    .name = "local",
    .title = "Local and global attention",
    .lecture = 4,
    .rows = "69",
    .claim = "Attention may look at a window of the source instead of all of it: around the same place, or "
             "around one that it "
             "predicts.",
    .run = run,
};
