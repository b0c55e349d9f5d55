/* Dilution: how much of what the encoder handed over still reaches the words that are said late. */
#include <math.h>

#include "lab/decoder/reach.h"
#include "lab/learner.h"
#include "lab/sweep.h"

enum { WORDS = HD_REACH_WORDS, WIDTH = 16 };

static const struct {
    const char *name, *encoder, *decoder;
    hd_recurrent_decoder_opt r;
} kinds[] = {
    {"given once, as the first state", "gru:1", "gru:1", {.context = HD_CONTEXT_fixed}},
    {"given at every step", "gru:1", "gru:1", {.context = HD_CONTEXT_everywhere}},
    {"mean of the states, at every step",
     "gru:1",
     "gru:1",
     {.context = HD_CONTEXT_mean, .begin = HD_BEGINNING_zeros}},
    {"attention", "gru:1", "gru:1", {.begin = HD_BEGINNING_zeros}},
    {"Transformer", "transformer:1", "transformer:1", {0}},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ONCE = 0, ALWAYS = 1 };

static hd_status measure(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context,
                         hd_err *err)
{
    (void)context;
    if (lab->model) return hd_reach_of(share, lab->run, lab->model->model.self, seed, err);
    hd_learner_opt o = {.encoder = kinds[k].encoder,
                        .decoder = kinds[k].decoder,
                        .plain = HD_EXERCISE_WORDS,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    o.model.recurrent = kinds[k].r;
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s) s = hd_reach_of(share, lab->run, l.model, seed, err);
    hd_learner_close(&l);
    return s;
}

static void judge_model(hd_paper *to, const hd_spread *late)
{
    hd_paper_claim(to, "What the encoder of this model hands over reaches late words.", late->low > 0.1,
                   "What reaches word %d is %.3g times what reaches the first (%.3g to %.3g).", WORDS,
                   late->mean, late->low, late->high);
}

static void judge(hd_paper *to, const hd_sweep *w)
{
    const hd_spread *once = &w->spread[ONCE][WORDS - 1];
    double least = INFINITY;
    for (int k = ALWAYS; k < KINDS; k++) least = fmin(least, w->spread[k][WORDS - 1].low);
    hd_paper_claim(to, "What is given once, as the first state, is diluted by every step.", once->high < 0.01,
                   "Of what reaches the first word, %.1e reaches word %d (%.1e to %.1e).", once->mean, WORDS,
                   once->low, once->high);
    hd_paper_claim(
        to, "What every step is given is not: its way to each word is one step long.",
        least > 0.1 && least > 10 * once->high,
        "Given at every step, as the mean, by attention or in a Transformer, at least %.2f of what "
        "reaches the first word reaches word %d.",
        least, WORDS);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const char *const yours[] = {"your model"};
    hd_sweep *w = NULL;
    hd_status s = lab->model ? hd_sweep_new(&w, yours, sizeof *yours, 1, NULL, WORDS, err)
                             : hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, NULL, WORDS, err);
    if (s) return s;
    w->title = "How far the source reaches", w->across = "word of the target";
    w->upward = "gradient of the word's row by the encoder's states, over that of the first word";
    w->caption = "The same, by the word", w->corner = "the decoder is told of the source", w->format = "%.2g";
    w->log_y = true, w->every = 8;
    if (lab->model && lab->model->model.type != &hd_model_encdec)
        s = hd_err_set(err, HD_EARG, "this model has no encoder and decoder");
    if (!s) s = hd_sweep_measure(w, lab, measure, NULL, err);
    if (!s) {
        hd_paper_say(
            to,
            "%d random words are read and %d said; the gradient of what is said at each of them goes "
            "back to the states that the encoder ended with, in the mean of %d sentences.%s",
            HD_REACH_SOURCE, WORDS, HD_REACH_INPUTS,
            lab->model
                ? ""
                : " The weights are random: this is of the wiring, before anything is learned. Gates can "
                  "learn to keep what they were given: 'heed lab dilution MODEL' shows how much a trained "
                  "translator keeps.");
        hd_sweep_put(to, w, lab);
        if (lab->model)
            judge_model(to, &w->spread[0][WORDS - 1]);
        else
            judge(to, w);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_dilution = {
    .name = "dilution",
    .title = "What is given once is diluted",
    .lecture = 4,
    .rows = "39, 40",
    .claim =
        "An encoder's state that the decoder gets only as its first state is diluted with every word that "
        "is said; given to every step, it is not.",
    .takes = "translate",
    .run = run,
};
