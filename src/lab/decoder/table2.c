/* Table 2 of "Attention Is All You Need", and the three ways to translate on one corpus. */
#include <math.h>

#include "base/system/clock.h"
#include "lab/decoder/answer.h"
#include "lab/decoder/published.h"
#include "lab/decoder/sight.h"
#include "lab/sweep.h"

static const struct {
    const char *name, *encoder, *decoder;
    hd_recurrent_decoder_opt r;
    double rate;
} kinds[] = {
    {"recurrent, with attention",
     "bi-gru:1",
     "gru:1",
     {.begin = HD_BEGINNING_map, .read = HD_READING_deep},
     0.01},
    {"convolutions, with attention",
     "conv3:2",
     "gru:1",
     {.begin = HD_BEGINNING_map, .read = HD_READING_deep},
     0.01},
    {"Transformer", "transformer:2", "transformer:2", {0}, 0.005},
};
enum { KINDS = sizeof kinds / sizeof *kinds, TRANSFORMER = KINDS - 1, SHORTEST = 2, LONGEST = 4, WIDTH = 32 };
static const int32_t updates[] = {0, 40, 80, 120, 160, 200};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1 };

typedef struct costs {
    double parameters[KINDS], flops[KINDS], seconds[KINDS]; /* of training; seconds: the least of any seed */
} costs;

static hd_status learn(double *bleu, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    costs *c = context;
    hd_learner_opt o = hd_learner_block(HD_EXERCISE_expand, LONGEST, WIDTH, seed);
    hd_learner l;
    double seconds = 0;
    o.encoder = kinds[k].encoder, o.decoder = kinds[k].decoder, o.shortest = SHORTEST;
    o.model.recurrent = kinds[k].r;
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    for (int i = 0; !s && i < POINTS; i++) {
        const double begun = hd_seconds();
        if (i)
            s = hd_learner_learn(&l, times * (uint32_t)(updates[i] - updates[i - 1]),
                                 times * (uint32_t)updates[LAST], kinds[k].rate, NULL, err);
        seconds += hd_seconds() - begun;
        if (!s) s = hd_answer_bleu(&bleu[i], &l, err);
    }
    if (!s) {
        const hd_learner_lot *b = l.lot; /* going back costs twice what going forward does */
        c->flops[k] = 3.0 * times * updates[LAST] *
                      hd_encdec_flops(l.model, (double)b->items, (double)b->source_rows / (double)b->items,
                                      (double)b->target_rows / (double)b->items);
        c->parameters[k] = (double)hd_params_size(&l.model->params);
        c->seconds[k] = c->seconds[k] > 0 ? fmin(c->seconds[k], seconds) : seconds;
    }
    hd_learner_close(&l);
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w, const costs *c)
{
    hd_paper_table_of(to, "Trained here on one corpus", 5, 1);
    hd_paper_row(to, "translator\tBLEU\tparameters\tFLOPs\tseconds");
    double least = 100;
    for (int k = 0; k < KINDS; k++) {
        const hd_spread *b = &w->spread[k][LAST];
        least = fmin(least, b->low);
        hd_paper_row(to, "%s\t%.1f (%.1f to %.1f)\t%.0f\t%.1e\t%.2f", kinds[k].name, b->mean, b->low, b->high,
                     c->parameters[k], c->flops[k], c->seconds[k]);
    }
    const hd_spread *own = &w->spread[TRANSFORMER][LAST];
    bool best = true;
    for (int k = 0; k < TRANSFORMER; k++)
        best = best && own->low > w->spread[k][LAST].high && c->flops[TRANSFORMER] < c->flops[k];
    hd_paper_claim(to, "All three ways learn to translate, each with attention between encoder and decoder.",
                   least > 40, "After %.0f updates of %d pairs the least of all BLEU is %.1f.", w->x[LAST],
                   HD_LEARNER_ITEMS, least);
    hd_paper_claim(to, "The Transformer is better and cheaper here, too.", best,
                   "It has %.1f BLEU after %.1e operations, recurrent cells %.1f after %.1e.", own->mean,
                   c->flops[TRANSFORMER], w->spread[0][LAST].mean, c->flops[0]);
    if (!best)
        hd_paper_note(
            to,
            "The table is of millions of pairs and of days of training; on a corpus that takes seconds, %s.",
            own->mean < w->spread[0][LAST].mean ? "recurrent cells are ahead" : "the difference is small");
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    costs c = {0};
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, updates, POINTS, err);
    if (s) return s;
    hd_sweep_stretch(w, lab);
    w->title = "Three ways to translate, on one corpus", w->across = "updates of 32 pairs",
    w->upward = "BLEU of new pairs (mean and spread of all seeds)";
    hd_paper_say(to,
                 "First the table as it was published. Then three translators %d wide learn one made corpus, "
                 "words with numbers that are to be said so often "
                 "(\"a 3 b 2\" is \"a a a b b\"), and are asked for new ones.",
                 WIDTH);
    hd_published_put(to);
    s = hd_sweep_measure(w, lab, learn, &c, err);
    if (!s) hd_sweep_put(to, w, lab), judge(to, w, &c);
    if (!s) s = hd_sight_put(to, lab, err);
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_table2 = {
    .name = "table2",
    .title = "Quality and cost of translators",
    .lecture = 1,
    .rows = "160, 161, 163",
    .claim = "The Transformer translates better than recurrent and convolutional networks and costs less to "
             "train, as its paper says; beside that, small ones of each kind, trained here on one corpus.",
    .run = run,
};
