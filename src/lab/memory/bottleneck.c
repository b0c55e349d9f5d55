/* One vector for a whole source, or a look at all of it: accuracy by length. */
#include "lab/learner.h"
#include "lab/sweep.h"

static const int32_t lengths[] = {2, 4, 6, 8, 10, 12};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 12, WORDS = 10, WIDTH = 24 };

static const struct {
    const char *name, *encoder, *decoder;
    hd_recurrent_decoder_opt r;
    uint32_t updates;
    double rate;
} kinds[] = {
    {"one vector (RNNenc)", "gru:1", "gru:1", {.context = HD_CONTEXT_everywhere}, 1000, 0.01},
    {"attention (RNNsearch)",
     "bi-gru:1",
     "gru:1",
     {.begin = HD_BEGINNING_map, .read = HD_READING_deep},
     250,
     0.01},
    {"Transformer", "transformer:2", "transformer:2", {0}, 1000, 0.003},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static hd_status learn(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    (void)context;
    hd_learner_opt o = {.encoder = kinds[k].encoder,
                        .decoder = kinds[k].decoder,
                        .exercise = HD_EXERCISE_copy,
                        .plain = WORDS,
                        .shortest = 2,
                        .longest = LONGEST,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    o.model.recurrent = kinds[k].r;
    return hd_learner_taught(share, lab->run, &o, kinds[k].updates * hd_lab_times(lab), kinds[k].rate,
                             lengths, LENGTHS, err);
}

static void judge(hd_paper *to, const hd_sweep *w)
{
    const hd_spread *one = w->spread[0], *search = &w->spread[1][LENGTHS - 1],
                    *block = &w->spread[2][LENGTHS - 1];
    const hd_spread *last = &one[LENGTHS - 1];
    hd_paper_claim(to, "One vector cannot hold a long source.",
                   one[0].low > 90 && last->high < one[0].low - 20,
                   "Of 2 words %.0f %% are right, of %d words %.0f %% (%.0f to %.0f).", one[0].mean, LONGEST,
                   last->mean, last->low, last->high);
    hd_paper_claim(to, "With attention the length does not matter.",
                   search->low > 95 && search->low > last->high,
                   "Of %d words %.0f %% are right (%.0f to %.0f), after a quarter of the updates.", LONGEST,
                   search->mean, search->low, search->high);
    hd_paper_claim(to, "A Transformer needs no recurrence for it.", block->low > last->high,
                   "Of %d words %.0f %% are right (%.0f to %.0f).", LONGEST, block->mean, block->low,
                   block->high);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, lengths, LENGTHS, err);
    if (s) return s;
    hd_sweep_words(w);
    w->title = "What fits through one vector", w->corner = "model";
    s = hd_sweep_measure(w, lab, learn, NULL, err);
    if (!s) {
        hd_paper_say(
            to,
            "Random words, %d different ones, are to be said again: what came before tells nothing of the "
            "next. All models are %d wide. The one with a single vector gets four times the updates of "
            "the one that attends.",
            WORDS, WIDTH);
        hd_sweep_put(to, w, lab);
        judge(to, w);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_bottleneck = {
    .name = "bottleneck",
    .title = "One vector for a sentence",
    .lecture = 3,
    .rows = "33, 38, 67",
    .claim =
        "An encoder that hands over one vector has to pack the whole source into it, which fails for long "
        "ones; attention looks at every word again.",
    .run = run,
};
