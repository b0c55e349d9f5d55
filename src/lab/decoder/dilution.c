/* Dilution: how much of what the encoder handed over still reaches the words that are said late. */
#include <math.h>

#include "base/mem.h"
#include "lab/learner.h"
#include "lab/sweep.h"

enum { WORDS = 24, SOURCE = 6, WIDTH = 16, INPUTS = 8 };

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

typedef struct pair {
    int32_t source[SOURCE], target[WORDS];
} pair;

/* A copy of t that takes a gradient and has nothing before it. */
static hd_tensor *cut_off(hd_run *r, const hd_tensor *t)
{
    hd_real *x = t ? hd_host_take(r, hd_count_of(t) * sizeof *x) : NULL;
    hd_tensor *leaf = x && hd_read(r, t, x) ? hd_from(r, hd_rows_of(t), hd_cols_of(t), x) : NULL;
    if (leaf) leaf->wants_grad = true;
    return leaf;
}

static double squares_of(hd_run *r, const hd_tensor *leaf)
{
    const hd_tensor *g = leaf ? leaf->grad : NULL;
    double sum = 0;
    hd_real *x = g ? hd_host_take(r, hd_count_of(g) * sizeof *x) : NULL;
    if (x && hd_read(r, g, x))
        for (size_t i = 0; i < hd_count_of(g); i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* |d row t of the decoder / d all that the encoder gave|, for the last of t + 1 words. */
static hd_status reach_of(double *norm, hd_run *r, const hd_encdec *m, const pair *p, int32_t t, hd_err *err)
{
    const int32_t source = SOURCE, target = t + 1;
    hd_run_begin(r, HD_TRAIN);
    r->training = false; /* no dropout */
    hd_encoded e = hd_encdec_encode(
        r, m, &(hd_items){.seg = hd_seg_of(r, &source, 1, NULL), .ids = hd_ints(r, p->source, SOURCE)});
    const int layers = e.last && e.cells ? e.cells->layers * e.cells->directions : 0;
    e.rows.t = cut_off(r, e.rows.t);
    for (int i = 0; i < layers; i++) e.last[i] = cut_off(r, e.last[i]);
    hd_rows y = hd_encdec_decode(r, m, hd_ints(r, p->target, (size_t)target), hd_seg_of(r, &target, 1, NULL),
                                 e, NULL);
    hd_sum_loss(r, hd_reduce(r, y.t, y.seg, HD_LAST), 1);
    hd_backward(r);
    hd_status s = hd_run_status(r, err);
    if (s) return s;
    double sum = squares_of(r, e.rows.t);
    for (int i = 0; i < layers; i++) sum += squares_of(r, e.last[i]);
    *norm += sqrt(sum) / INPUTS;
    return hd_run_status(r, err);
}

/* Of random words, as shares of what reaches the first. */
static hd_status reaches_of(double *share, hd_run *r, const hd_encdec *m, uint64_t seed, hd_err *err)
{
    hd_rng rng = hd_rng_make(seed, 7);
    hd_status s = HD_OK;
    for (int t = 0; t < WORDS; t++) share[t] = 0;
    for (int i = 0; i < INPUTS; i++) {
        pair p;
        for (int k = 0; k < SOURCE; k++)
            p.source[k] = (int32_t)hd_rng_below(&rng, (uint32_t)m->opt.source_vocab);
        for (int k = 0; k < WORDS; k++)
            p.target[k] = (int32_t)hd_rng_below(&rng, (uint32_t)m->opt.target_vocab);
        for (int32_t t = 0; !s && t < WORDS; t++) s = reach_of(&share[t], r, m, &p, t, err);
    }
    for (int t = WORDS; t-- > 0;) share[t] /= share[0];
    return s;
}

static hd_status measure(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context,
                         hd_err *err)
{
    (void)context;
    if (lab->model) return reaches_of(share, lab->run, lab->model->model.self, seed, err);
    hd_learner_opt o = {.encoder = kinds[k].encoder,
                        .decoder = kinds[k].decoder,
                        .plain = HD_EXERCISE_WORDS,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    o.model.recurrent = kinds[k].r;
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s) s = reaches_of(share, lab->run, l.model, seed, err);
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
    const char *names[KINDS];
    double x[WORDS];
    hd_sweep *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    for (int k = 0; k < KINDS; k++) names[k] = kinds[k].name;
    for (int t = 0; t < WORDS; t++) x[t] = t + 1;
    w->title = "How far the source reaches", w->across = "word of the target";
    w->upward = "gradient of the word's row by the encoder's states, over that of the first word";
    w->caption = "The same, by the word", w->corner = "the decoder is told of the source", w->format = "%.2g";
    w->log_y = true, w->every = 8, w->x = x, w->points = WORDS;
    w->kind = lab->model ? yours : names, w->kinds = lab->model ? 1 : KINDS;
    hd_status s = HD_OK;
    if (lab->model && lab->model->model.type != &hd_model_encdec)
        s = hd_err_set(err, HD_EARG, "this model has no encoder and decoder");
    if (!s) s = hd_sweep_measure(w, lab, measure, NULL, err);
    if (!s) {
        hd_paper_say(
            to,
            "%d random words are read and %d said; the gradient of what is said at each of them goes "
            "back to the states that the encoder ended with, in the mean of %d sentences.%s",
            SOURCE, WORDS, INPUTS,
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
    hd_mem_free(w);
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
