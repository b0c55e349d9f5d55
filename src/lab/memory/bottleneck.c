/* One vector for a whole source, or a look at all of it: accuracy by length. */
#include "lab/learner.h"

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

static hd_status learn(double *share, const hd_lab *lab, int k, uint64_t seed, hd_err *err)
{
    const uint32_t updates = kinds[k].updates * (lab->full ? 4 : 1);
    hd_learner_opt o = {.encoder = kinds[k].encoder,
                        .decoder = kinds[k].decoder,
                        .exercise = HD_EXERCISE_copy,
                        .plain = WORDS,
                        .shortest = 2,
                        .longest = LONGEST,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    o.model.recurrent = kinds[k].r;
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s) s = hd_learner_learn(&l, updates, updates, kinds[k].rate, NULL, err);
    for (int i = 0; !s && i < LENGTHS; i++) s = hd_learner_judge(&share[i], &l, lengths[i], err);
    hd_learner_close(&l);
    return s;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double share[KINDS][HD_LAB_SEEDS][LENGTHS];
    hd_spread right[KINDS][LENGTHS];
    hd_status s = HD_OK;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; !s && i < lab->seeds; i++) {
            s = learn(share[k][i], lab, k, lab->seed + (uint64_t)i, err);
            if (!s) s = hd_lab_tell(lab, (k + (i + 1.0) / lab->seeds) / KINDS, err);
        }
    if (s) return s;
    hd_paper_say(
        to,
        "Random words, %d different ones, are to be said again: what came before tells nothing of the "
        "next. All models are %d wide. The one with a single vector gets four times the updates of "
        "the one that attends.",
        WORDS, WIDTH);
    hd_paper_plot(to, &(hd_series_plot){.title = "What fits through one vector",
                                        .across = "words of the source",
                                        .upward = "words said right, % (mean and spread of all seeds)"});
    for (int k = 0; k < KINDS; k++) {
        double x[LENGTHS], mean[LENGTHS], low[LENGTHS], high[LENGTHS];
        for (int c = 0; c < LENGTHS; c++) {
            double v[HD_LAB_SEEDS];
            for (int i = 0; i < lab->seeds; i++) v[i] = 100 * share[k][i][c];
            right[k][c] = hd_spread_of(v, (size_t)lab->seeds);
            x[c] = lengths[c], mean[c] = right[k][c].mean, low[c] = right[k][c].low,
            high[c] = right[k][c].high;
        }
        hd_paper_line(to, kinds[k].name,
                      &(hd_series){.x = x, .y = mean, .low = low, .high = high, .count = LENGTHS});
    }
    hd_paper_table_of(to, "Words said right, %, by the length of the source", LENGTHS + 1, 1);
    hd_paper_cell(to, "model");
    for (int c = 0; c < LENGTHS; c++) hd_paper_cell(to, "%d", (int)lengths[c]);
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", kinds[k].name);
        for (int c = 0; c < LENGTHS; c++)
            hd_paper_cell(to, "%.0f (%.0f to %.0f)", right[k][c].mean, right[k][c].low, right[k][c].high);
    }
    const hd_spread *one = right[0], *search = right[1], *block = right[2];
    hd_paper_claim(to, "One vector cannot hold a long source.",
                   one[0].low > 90 && one[LENGTHS - 1].high < one[0].low - 20,
                   "Of 2 words %.0f %% are right, of %d words %.0f %% (%.0f to %.0f).", one[0].mean, LONGEST,
                   one[LENGTHS - 1].mean, one[LENGTHS - 1].low, one[LENGTHS - 1].high);
    hd_paper_claim(to, "With attention the length does not matter.",
                   search[LENGTHS - 1].low > 95 && search[LENGTHS - 1].low > one[LENGTHS - 1].high,
                   "Of %d words %.0f %% are right (%.0f to %.0f), after a quarter of the updates.", LONGEST,
                   search[LENGTHS - 1].mean, search[LENGTHS - 1].low, search[LENGTHS - 1].high);
    hd_paper_claim(to, "A Transformer needs no recurrence for it.",
                   block[LENGTHS - 1].low > one[LENGTHS - 1].high,
                   "Of %d words %.0f %% are right (%.0f to %.0f).", LONGEST, block[LENGTHS - 1].mean,
                   block[LENGTHS - 1].low, block[LENGTHS - 1].high);
    return HD_OK;
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
