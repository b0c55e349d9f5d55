/* Table 2 of "Attention Is All You Need", and the three ways to translate on one corpus. */
#include <math.h>

#include "base/system/clock.h"
#include "lab/decoder/answer.h"
#include "lab/decoder/published.h"
#include "lab/sweep.h"

/* -- trained here -- */

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
enum { KINDS = sizeof kinds / sizeof *kinds, TRANSFORMER = KINDS - 1, WORDS = 10, LONGEST = 4, WIDTH = 32 };
static const int32_t updates[] = {0, 40, 80, 120, 160, 200};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1 };

typedef struct costs {
    double parameters[KINDS], flops[KINDS], seconds[KINDS]; /* of training; seconds: the least of any seed */
} costs;

static hd_learner_opt options(const char *encoder, const char *decoder, uint64_t seed)
{
    return (hd_learner_opt){.encoder = encoder,
                            .decoder = decoder,
                            .exercise = HD_EXERCISE_expand,
                            .plain = WORDS,
                            .shortest = 2,
                            .longest = LONGEST,
                            .seed = seed,
                            .model = hd_learner_model(WIDTH)};
}

static hd_status learn(double *bleu, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t times = lab->full ? 4 : 1;
    costs *c = context;
    hd_learner_opt o = options(kinds[k].encoder, kinds[k].decoder, seed);
    hd_learner l;
    double seconds = 0;
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

/* -- what a row sees -- */

static const struct {
    const char *name, *encoder;
    size_t reach; /* words on each side; 0: all */
} sights[] = {{"1 convolution of 3", "conv3:1", 1},
              {"2 convolutions of 3", "conv3:2", 2},
              {"4 convolutions of 3", "conv3:4", 4},
              {"GRU both ways", "bi-gru:1", 0},
              {"1 block of self-attention", "transformer:1", 0}};
enum { SIGHTS = sizeof sights / sizeof *sights, ROWS = 15, MIDDLE = ROWS / 2 };

/* How many words change the row in the middle. */
static hd_status see(size_t *seen, const hd_lab *lab, const char *encoder, hd_err *err)
{
    hd_learner_opt o = options(encoder, "gru:1", lab->seed);
    hd_run *r = lab->run;
    hd_learner l;
    hd_real row[2][WIDTH * 2 * ROWS];
    o.model.recurrent = kinds[0].r;
    hd_status s = hd_learner_open(&l, r, &o, err);
    *seen = 0;
    for (int32_t at = -1; !s && at < ROWS; at++) {
        int32_t ids[ROWS], len = ROWS;
        for (int32_t i = 0; i < ROWS; i++) ids[i] = HD_LEARNER_FIRST + (i == at ? 1 : 0);
        hd_run_begin(r, HD_INFERENCE);
        hd_encoded x = hd_encdec_encode(
            r, l.model, &(hd_items){.seg = hd_seg_of(r, &len, 1, NULL), .ids = hd_ints(r, ids, ROWS)});
        if (x.rows.t) hd_read(r, x.rows.t, row[at >= 0]);
        s = hd_run_status(r, err);
        const size_t cols = x.rows.t ? hd_cols_of(x.rows.t) : 0;
        double moved = 0;
        for (size_t c = MIDDLE * cols; at >= 0 && c < (MIDDLE + 1) * cols; c++)
            moved = fmax(moved, fabs((double)(row[1][c] - row[0][c])));
        *seen += moved > 0;
    }
    hd_learner_close(&l);
    return s;
}

static hd_status look(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    bool as_said = true;
    hd_status s = HD_OK;
    hd_paper_table_of(to, "Words that the row in the middle of 15 depends on", 2, 1);
    hd_paper_cell(to, "encoder"), hd_paper_cell(to, "words");
    for (int i = 0; !s && i < SIGHTS; i++) {
        size_t seen = 0;
        s = see(&seen, lab, sights[i].encoder, err);
        as_said = as_said && seen == (sights[i].reach ? 2 * sights[i].reach + 1 : ROWS);
        hd_paper_cell(to, "%s", sights[i].name), hd_paper_cell(to, "%zu", seen);
    }
    hd_paper_claim(to,
                   "A convolution sees what its filter spans, and needs layers to see further; "
                   "self-attention sees all in one.",
                   as_said,
                   "L convolutions of 3 see 2 L + 1 words; one block of attention sees all %d, as a GRU "
                   "does, which needs a step for each.",
                   ROWS);
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w, const costs *c)
{
    hd_paper_table_of(to, "Trained here on one corpus", 5, 1);
    hd_paper_cell(to, "translator"), hd_paper_cell(to, "BLEU"), hd_paper_cell(to, "parameters"),
        hd_paper_cell(to, "FLOPs"), hd_paper_cell(to, "seconds");
    double least = 100;
    for (int k = 0; k < KINDS; k++) {
        const hd_spread *b = &w->spread[k][LAST];
        least = fmin(least, b->low);
        hd_paper_cell(to, "%s", kinds[k].name),
            hd_paper_cell(to, "%.1f (%.1f to %.1f)", b->mean, b->low, b->high);
        hd_paper_cell(to, "%.0f", c->parameters[k]), hd_paper_cell(to, "%.1e", c->flops[k]),
            hd_paper_cell(to, "%.2f", c->seconds[k]);
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
    for (int i = 0; i < POINTS; i++) w->at[i] *= lab->full ? 4 : 1;
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
    if (!s) s = look(to, lab, err);
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_table2 = {
    .name = "table2",
    .title = "Quality and cost of translators",
    .lecture = 1,
    .rows = "160, 161, 163",
    .claim = "The Transformer translates better than recurrent and convolutional networks and costs less to "
             "train, as its paper says; beside that, small ones of "
             "each kind, trained here on one corpus.",
    .run = run,
};
