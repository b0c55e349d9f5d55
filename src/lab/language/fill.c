/* Filling in blanks: an encoder reads both sides of a blank, a model that reads forward only one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lab/desk.h"
#include "lab/language/filler.h"
#include "lab/sweep.h"
#include "task/masked/training.h"

enum { NUMBERS = 5, SUMS = NUMBERS * NUMBERS, TOKENS = 7, ROWS = TOKENS + 1, ITEMS = 32 };
enum { PARTS = 6, UPDATES = 80, WIDTH = 32, BLANKS = 3, BOTH = 0, BEFORE, KINDS };

static const char *const kinds[KINDS] = {"both sides (BERT)", "what came before (causal)"};
static const int32_t places[BLANKS] = {2, 4, 6}; /* rows of the three numbers; a start stands before them */

typedef struct study {
    hd_tokenizer *words;
    int32_t ids[SUMS][ROWS];
    size_t tokens, asked, hidden; /* of all that was learned from */
    double right[KINDS][BLANKS][HD_LAB_SEEDS];
    double change[KINDS], gap; /* the largest of all seeds */
} study;

static bool next_sum(void *context, hd_line *line)
{
    static _Thread_local char text[32];
    int *at = context, a = *at / NUMBERS, b = *at % NUMBERS;
    *line = (hd_line){text, (size_t)snprintf(text, sizeof text, "so %d plus %d is %d .", a, b, a + b)};
    return ++*at <= SUMS;
}

static hd_status read_sums(study *y, hd_err *err)
{
    int at = 0;
    hd_line line;
    hd_ids ids = {0};
    hd_status s = hd_tokenizer_train(&y->words, HD_TOKENIZER_words, (hd_feed){next_sum, &at},
                                     &(hd_tokenizer_opt){0}, err);
    for (at = 0; !s && next_sum(&at, &line); ids.count = 0)
        if (!(s = hd_masked_encode(y->words, line, &ids, err)))
            memcpy(y->ids[at - 1], ids.at, sizeof y->ids[0]);
    hd_ids_release(&ids);
    return s;
}

static hd_status learn(hd_filler *f, study *y, int updates, hd_rng *rng, hd_err *err)
{
    const hd_masking how = {y->words, false};
    hd_masked_rows m;
    hd_status s = hd_masked_rows_init(&m, ITEMS, ROWS, err);
    for (int t = 0; !s && t < updates; t++) {
        hd_bert_batch b;
        hd_masked_rows_clear(&m);
        for (int i = 0; i < ITEMS; i++)
            hd_masked_rows_add(&m, &how, y->ids[hd_rng_below(rng, SUMS)] + 1, TOKENS, rng);
        for (size_t i = 0; i < m.rows; i++) y->hidden += m.ids[i] == hd_masked_id(y->words);
        y->tokens += ITEMS * TOKENS, y->asked += m.asked;
        hd_run_begin(f->run, HD_TRAIN);
        hd_masked_rows_send(f->run, &b, &m, 0, ITEMS);
        s = hd_filler_learn(f, &b, (double)m.asked, err);
    }
    hd_masked_rows_release(&m);
    return s;
}

/* All sums, in a step that was begun, with a blank in one place, which is asked for. all: every row is asked
   for, but only blanks have a label. last: the last number is that of the next sum. */
static hd_bert_batch sums_with(hd_run *r, const study *y, int32_t blank, bool all, bool last)
{
    int32_t ids[SUMS * ROWS], len[SUMS], place[SUMS * ROWS], target[SUMS * ROWS];
    size_t n = 0;
    for (int32_t i = 0, at = 0; i < SUMS; i++) {
        len[i] = ROWS;
        for (int32_t k = 0; k < ROWS; k++, at++) {
            int32_t was = y->ids[last && k == places[BLANKS - 1] ? (i + 1) % SUMS : i][k];
            ids[at] = k == blank ? hd_masked_id(y->words) : was;
            if (all || k == blank) place[n] = at, target[n++] = k == blank ? was : -1;
        }
    }
    return (hd_bert_batch){.seg = hd_seg_of(r, len, SUMS, NULL),
                           .ids = hd_ints(r, ids, SUMS * ROWS),
                           .place = hd_ints(r, place, n),
                           .target = hd_ints(r, target, n),
                           .count = n};
}

/* The share of all blanks that are filled in rightly, and of those in each place. */
static hd_status judge(double *share, study *y, size_t kind, size_t seed, hd_filler *f, hd_err *err)
{
    hd_status s = HD_OK;
    *share = 0;
    for (int k = 0; !s && k < BLANKS; k++) {
        int32_t said[SUMS];
        int right = 0;
        hd_run_begin(f->run, HD_INFERENCE);
        hd_bert_batch b = sums_with(f->run, y, places[k], false, false);
        s = hd_filler_fill(said, f, &b, err);
        for (int i = 0; !s && i < SUMS; i++) right += said[i] == y->ids[i][places[k]];
        y->right[kind][k][seed] = (double)right / SUMS;
        *share += (double)right / SUMS / BLANKS;
    }
    return s;
}

/* How far the first word's vector moves when the last number is another one, and by how much the loss changes
   when rows are handed in that have no blank. */
static hd_status probe(study *y, size_t kind, hd_filler *f, hd_err *err)
{
    hd_run *r = f->run;
    hd_tensor *first[2];
    int32_t at[SUMS];
    double loss[2];
    hd_run_begin(r, HD_INFERENCE);
    for (int32_t i = 0; i < SUMS; i++) at[i] = i * ROWS + 1;
    for (int k = 0; k < 2; k++) {
        hd_bert_batch b = sums_with(r, y, places[1], k, false), c = sums_with(r, y, -1, true, k);
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
                           .vocab = hd_masked_vocab(y->words),
                           .positions = ROWS,
                           .no_types = true};
    hd_rng rng = hd_rng_make(seed, 21);
    hd_filler f;
    hd_status s = hd_filler_open(&f, lab->run, &o, seed, err);
    for (int i = 0; !s && i < PARTS; i++) {
        s = learn(&f, y, lab->full ? 4 * UPDATES : UPDATES, &rng, err);
        if (!s) s = judge(&share[i], y, kind, (size_t)(seed - lab->seed), &f, err);
    }
    if (!s) s = probe(y, kind, &f, err);
    hd_filler_close(&f);
    return s;
}

static void say(hd_paper *to, const study *y, const hd_sweep *w, const hd_lab *lab)
{
    const hd_spread *both = &w->spread[BOTH][PARTS - 1], *before = &w->spread[BEFORE][PARTS - 1];
    const double bound = 100 * (1 + 2.0 / NUMBERS) / BLANKS, n = (double)y->asked;
    hd_paper_table_of(to, "Blanks filled in rightly, by where they are, percent", 1 + BLANKS, 1);
    hd_paper_cell(to, "model sees"), hd_paper_cell(to, "so _ plus 3 is 5");
    hd_paper_cell(to, "so 2 plus _ is 5"), hd_paper_cell(to, "so 2 plus 3 is _");
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", kinds[k]);
        for (int b = 0; b < BLANKS; b++)
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
        fabs(n / (double)y->tokens - HD_MASKED_SHARE) < 0.02 && fabs((double)y->hidden / n - 0.8) < 0.02 &&
            y->gap < 1e-5,
        "%.1f %% were asked for; of those %.0f %% were read as [MASK], the others as they are or as "
        "any word. Rows without a blank change the loss by %.1g of it.",
        100 * n / (double)y->tokens, 100 * (double)y->hidden / n, y->gap);
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
    double x[PARTS];
    study y = {0};
    hd_sweep *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    for (int i = 0; i < PARTS; i++) x[i] = (i + 1.0) * UPDATES * (lab->full ? 4 : 1);
    w->title = "Filling in blanks", w->across = "updates", w->scale = 100;
    w->upward = "blanks filled in rightly, percent (mean and spread of all seeds)";
    w->kind = kinds, w->kinds = KINDS, w->x = x, w->points = PARTS;
    hd_status s = read_sums(&y, err);
    if (!s) s = hd_sweep_measure(w, lab, one, &y, err);
    if (!s) {
        hd_paper_say(
            to,
            "Texts are sums such as \"so 2 plus 3 is 5 .\", of numbers up to %d, with a blank each. Two "
            "Transformers of two blocks, %d wide, learn to fill it in; they differ in the mask alone.",
            NUMBERS - 1, WIDTH);
        hd_sweep_put(to, w, lab);
        say(to, &y, w, lab);
    }
    hd_tokenizer_free(y.words);
    hd_mem_free(w);
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
