/* Where a decoder begins: states that know nothing of the source, and states made of its mean. */
#include <math.h>

#include "lab/learner.h"
#include "lab/sweep.h"

static const int32_t lengths[] = {1, 2, 4, 6};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 6, WORDS = 10, WIDTH = 24, UPDATES = 300 };

static const struct {
    const char *name;
    hd_recurrent_decoder_opt r;
} kinds[] = {
    {"attention, zeros", {.begin = HD_BEGINNING_zeros, .read = HD_READING_deep}},
    {"attention, ones", {.begin = HD_BEGINNING_ones, .read = HD_READING_deep}},
    {"attention, learned", {.begin = HD_BEGINNING_learned, .read = HD_READING_deep}},
    {"attention, mean(h)", {.begin = HD_BEGINNING_mean, .read = HD_READING_deep}},
    {"attention, W mean(h)", {.begin = HD_BEGINNING_linear, .read = HD_READING_deep}},
    {"no attention, mean(h)",
     {.context = HD_CONTEXT_fixed, .begin = HD_BEGINNING_mean, .read = HD_READING_deep}},
    {"no attention, W mean(h)",
     {.context = HD_CONTEXT_fixed, .begin = HD_BEGINNING_linear, .read = HD_READING_deep}},
    {"mean(h) at every step",
     {.context = HD_CONTEXT_mean, .begin = HD_BEGINNING_zeros, .read = HD_READING_deep}},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ATTENDING = 5, LEARNED = 2 };

static uint32_t updates_of(const hd_lab *lab)
{
    return hd_lab_times(lab) * UPDATES;
}

/* The learned first state, or nothing. */
static hd_status read_state(hd_real state[WIDTH], const hd_learner *l, hd_err *err)
{
    const hd_param *p = l->model->cells.layer[0].learned;
    if (!p) return HD_OK;
    hd_status s = hd_params_get(&l->model->params, p, &p->t, state);
    return s ? hd_err_set(err, s, "the first state could not be read") : HD_OK;
}

/* moved: the shortest way any seed's learned state went. */
static hd_status learn(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *moved, hd_err *err)
{
    hd_learner_opt o = {.encoder = "gru:1",
                        .decoder = "gru:1",
                        .exercise = HD_EXERCISE_copy,
                        .plain = WORDS,
                        .shortest = 1,
                        .longest = LONGEST,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    hd_real before[WIDTH] = {0}, after[WIDTH] = {0};
    o.model.recurrent = kinds[k].r;
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s) s = read_state(before, &l, err);
    if (!s) s = hd_learner_learn(&l, updates_of(lab), updates_of(lab), 0.01, NULL, err);
    if (!s) s = read_state(after, &l, err);
    for (int i = 0; !s && i < LENGTHS; i++) s = hd_learner_judge(&share[i], &l, lengths[i], err);
    double way = 0;
    for (int i = 0; i < WIDTH; i++) way += pow((double)(after[i] - before[i]), 2);
    if (kinds[k].r.begin == HD_BEGINNING_learned) *(double *)moved = fmin(*(double *)moved, sqrt(way));
    hd_learner_close(&l);
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w, double moved)
{
    double least = 100, most = 0;
    for (int k = 0; k < KINDS; k++) {
        const hd_spread *at = &w->spread[k][LENGTHS - 1];
        if (k < ATTENDING)
            least = fmin(least, at->low);
        else
            most = fmax(most, at->high);
    }
    hd_paper_claim(
        to, "With attention a decoder may begin anywhere: zeros, ones, a parameter, mean(h), W mean(h).",
        least > 90, "Of %d words at least %.0f %% are right, whatever it began with and whatever the seed.",
        LONGEST, least);
    hd_paper_claim(to, "The first state may be a parameter, which learning moves.", moved > 0.01,
                   "It was moved by at least %.2f.", moved);
    hd_paper_claim(
        to, "The mean of the encoder's states, once or at every step, is no substitute for attention.",
        most < least - 10,
        "Of %d words at most %.0f %% are right: a mean is the same at every step and has to say where "
        "each word stood, too.",
        LONGEST, most);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double moved = INFINITY;
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, lengths, LENGTHS, err);
    if (s) return s;
    hd_sweep_words(w);
    w->title = "Where a decoder begins", w->corner = "context, first state";
    s = hd_sweep_measure(w, lab, learn, &moved, err);
    if (!s) {
        hd_paper_say(to,
                     "Random words, %d different ones, are to be said again by GRUs %d wide, after %u "
                     "updates. h are the "
                     "states of the encoder, W a matrix that is learned.",
                     WORDS, WIDTH, (unsigned)updates_of(lab));
        hd_sweep_put(to, w, lab);
        judge(to, w, moved);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_start = {
    .name = "start",
    .title = "The first state of a decoder",
    .lecture = 4,
    .rows = "41-43",
    .claim = "A decoder that attends needs a first state, but not one that knows the source: it may be "
             "learned, fixed, or made "
             "of the mean of the encoder's states.",
    .run = run,
};
