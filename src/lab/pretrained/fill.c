/* Filling in blanks: an encoder reads both sides of a blank, a model that reads forward only one. */
#include <math.h>

#include "lab/desk.h"
#include "lab/pretrained/blanks.h"
#include "lab/sweep.h"

enum { PARTS = 6, UPDATES = 80, WIDTH = 32, SUMS = HD_BLANKS_SUMS, PLACES = HD_BLANKS_PLACES };
enum { BOTH, BEFORE, KINDS };

static const char *const kinds[KINDS] = {"both sides (BERT)", "what came before (causal)"};

typedef struct study {
    hd_blanks sums;
    double right[KINDS][PLACES][HD_LAB_SEEDS];
    double change[KINDS], gap; /* the largest of all seeds */
} study;

/* The share of all blanks that are filled in rightly, and of those in each place. */
static hd_status judge(double *share, study *y, size_t kind, size_t seed, hd_filler *f, hd_err *err)
{
    hd_status s = HD_OK;
    *share = 0;
    for (int k = 0; !s && k < PLACES; k++) {
        int32_t said[SUMS];
        int right = 0;
        hd_run_begin(f->course.run, HD_INFERENCE);
        hd_bert_batch b = hd_blanks_batch(f->course.run, &y->sums, hd_blanks_place[k], false, false);
        s = hd_filler_fill(said, f, &b, err);
        for (int i = 0; !s && i < SUMS; i++) right += said[i] == y->sums.ids[i][hd_blanks_place[k]];
        y->right[kind][k][seed] = (double)right / SUMS;
        *share += (double)right / SUMS / PLACES;
    }
    return s;
}

/* How far the first word's vector moves when the last number is another one, and by how much the loss changes
   when rows are handed in that have no blank. */
static hd_status probe(study *y, size_t kind, hd_filler *f, hd_err *err)
{
    hd_run *r = f->course.run;
    hd_tensor *first[2];
    int32_t at[SUMS];
    double loss[2];
    hd_run_begin(r, HD_INFERENCE);
    for (int32_t i = 0; i < SUMS; i++) at[i] = i * HD_BLANKS_ROWS + 1;
    for (int k = 0; k < 2; k++) {
        hd_bert_batch b = hd_blanks_batch(r, &y->sums, hd_blanks_place[1], k, false),
                      c = hd_blanks_batch(r, &y->sums, -1, true, k);
        hd_rows x = hd_bert_rows(r, f->model, &(hd_items){.seg = c.seg, .ids = c.ids});
        first[k] = hd_gather(r, x.t, hd_ints(r, at, SUMS), SUMS, 1);
        loss[k] = hd_loss_total(r, hd_bert_loss(r, f->model, &b, &(hd_loss_opt){.coef = 1}));
    }
    y->change[kind] = fmax(y->change[kind], hd_desk_gap(r, first[0], first[1]));
    y->gap = fmax(y->gap, fabs(loss[1] / loss[0] - 1));
    return hd_run_status(r, err);
}

static hd_status one(double *share, const hd_lab *lab, size_t kind, uint64_t seed, void *context, hd_err *err)
{
    study *y = context;
    const hd_bert_opt o = {.stack = {.layers = 2, .heads = 2, .width = WIDTH, .causal = kind == BEFORE},
                           .vocab = hd_masked_vocab(y->sums.words),
                           .positions = HD_BLANKS_ROWS,
                           .no_types = true};
    hd_rng rng = hd_rng_make(seed, 21);
    hd_filler f;
    hd_status s = hd_filler_open(&f, lab->run, &o, seed, err);
    for (int i = 0; !s && i < PARTS; i++) {
        s = hd_blanks_learn(&f, &y->sums, hd_lab_times(lab) * UPDATES, &rng, err);
        if (!s) s = judge(&share[i], y, kind, (size_t)(seed - lab->seed), &f, err);
    }
    if (!s) s = probe(y, kind, &f, err);
    hd_filler_close(&f);
    return s;
}

static void say(hd_paper *to, const study *y, const hd_sweep *w, const hd_lab *lab)
{
    const hd_spread *both = &w->spread[BOTH][PARTS - 1], *before = &w->spread[BEFORE][PARTS - 1];
    const double bound = 100 * (1 + 2.0 / HD_BLANKS_NUMBERS) / PLACES, n = (double)y->sums.asked;
    hd_paper_table_of(to, "Blanks filled in rightly, by where they are, percent", 1 + PLACES, 1);
    hd_paper_row(to, "model sees\tso _ plus 3 is 5\tso 2 plus _ is 5\tso 2 plus 3 is _");
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", kinds[k]);
        for (int b = 0; b < PLACES; b++)
            hd_spread_percent(to, hd_spread_of(y->right[k][b], (size_t)lab->seeds));
    }
    hd_paper_claim(
        to, "BERT is an encoder: a later word changes the vector of an earlier one.",
        y->change[BOTH] > 1e-3 && y->change[BEFORE] <= 0,
        "With another number in the end the vector of the first word changes by up to %.2g; under a "
        "causal mask by %.2g.",
        y->change[BOTH], y->change[BEFORE]);
    hd_paper_claim(
        to, "15 % of the words are masked, and the loss is of those alone.",
        fabs(n / (double)y->sums.tokens - HD_MASKED_SHARE) < 0.02 &&
            fabs((double)y->sums.hidden / n - 0.8) < 0.02 && y->gap < 1e-5,
        "%.1f %% were asked for; of those %.0f %% were read as [MASK], the others as they are or as "
        "any word. Rows without a blank change the loss by %.1g of it.",
        100 * n / (double)y->sums.tokens, 100 * (double)y->sums.hidden / n, y->gap);
    hd_paper_claim(to, "It learns to fill in blanks.", both->low > 80,
                   "%.0f %% of them are right (%.0f to %.0f).", both->mean, both->low, both->high);
    hd_paper_claim(to, "Who sees one side alone cannot.",
                   before->high < bound + 5 && before->high < both->low,
                   "The same model under a causal mask has %.0f %% right (%.0f to %.0f); knowing all sums it "
                   "could have %.0f, since what comes before tells only the last number.",
                   before->mean, before->low, before->high, bound);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    int32_t at[PARTS];
    study y = {0};
    hd_sweep *w = NULL;
    for (int i = 0; i < PARTS; i++) at[i] = (i + 1) * UPDATES * hd_lab_times(lab);
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, at, PARTS, err);
    if (s) return s;
    w->title = "Filling in blanks", w->across = "updates", w->scale = 100;
    w->upward = "blanks filled in rightly, percent (mean and spread of all seeds)";
    s = hd_blanks_open(&y.sums, err);
    if (!s) s = hd_sweep_measure(w, lab, one, &y, err);
    if (!s) {
        hd_paper_say(
            to,
            "Texts are sums such as \"so 2 plus 3 is 5 .\", of numbers up to %d, with a blank each. Two "
            "Transformers of two blocks, %d wide, learn to fill it in; they differ in the mask alone.",
            HD_BLANKS_NUMBERS - 1, WIDTH);
        hd_sweep_put(to, w, lab);
        say(to, &y, w, lab);
    }
    hd_blanks_close(&y.sums);
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_fill = {
    .name = "fill",
    .title = "Filling in blanks",
    .lecture = 4,
    .rows = "168, 169",
    .claim = "BERT is the encoder alone. It learns by filling in blanks, for which it reads what stands on "
             "both sides.",
    .run = run,
};
