/* "apple" in two sentences: by the lecture's numbers, and in a small BERT that has read about both. */
#include <math.h>

#include "base/rng.h"
#include "lab/desk.h"
#include "lab/language/filler.h"

/* -- the lecture's two sentences -- */

enum { WORDS = 5, PLACE = 2, APPLE = 4, AXES = 2 };

static const double likeness[2] = {0.25, 0.11}; /* of apple and fruit, of apple and brand */
/* Fruits lie along the first axis, brands along the second, apple between them. */
static const double apple[AXES] = {1, 1}, neighbor[2][AXES] = {{2, 0}, {0, 2}};

typedef struct moved {
    double weight[2]; /* of its neighbor and its own, in the row of apple */
    double at[AXES];  /* where apple comes to lie */
} moved;

/* Weights are similarities divided by their sum: attention whose scores are their logarithms. soft: the
   softmax of the similarities themselves, as the slide calls it. */
static hd_status move(moved *to, const hd_lab *lab, int which, bool soft, hd_err *err)
{
    hd_run *r = lab->run;
    double score[WORDS * WORDS], x[WORDS * AXES] = {0}, w[WORDS * WORDS], y[WORDS * AXES];
    const double zero[WORDS] = {0};
    for (int i = 0; i < WORDS * WORDS; i++) {
        int a = i / WORDS, b = i % WORDS;
        double s = a == b                                                           ? 1
                   : a + b == PLACE + APPLE && a != b && (a == PLACE || b == PLACE) ? likeness[which]
                                                                                    : 0;
        score[i] = soft ? s : log(s);
    }
    for (int c = 0; c < AXES; c++) x[PLACE * AXES + c] = neighbor[which][c], x[APPLE * AXES + c] = apple[c];
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *none = hd_desk_rows(r, WORDS, 1, zero);
    const hd_attend_opt o = {.heads = 1, .ragged = hd_desk_rows(r, WORDS * WORDS, 1, score)};
    hd_desk_read(y, r, hd_desk_attend(r, none, none, hd_desk_rows(r, WORDS, AXES, x), &o, "softmax", w));
    to->weight[0] = w[APPLE * WORDS + PLACE], to->weight[1] = w[APPLE * WORDS + APPLE];
    for (int c = 0; c < AXES; c++) to->at[c] = y[APPLE * AXES + c];
    return hd_run_status(r, err);
}

/* -- a BERT that reads sentences about fruit and about phones -- */

enum {
    MASK,
    AMBIGUOUS,
    FIRST,
    SENSE = 6,
    VOCAB = FIRST + 2 * SENSE,
    LENGTH = 6,
    ITEMS = 32,

    WIDTH = 32
};

typedef struct lot {
    int32_t ids[ITEMS * LENGTH], len[ITEMS], place[ITEMS], target[ITEMS],
        at[ITEMS]; /* at: the row of apple */
} lot;

/* Each sentence has words of one sense, the first half of fruit; "apple" stands in it somewhere. */
static void draw(lot *l, hd_rng *rng, bool masked)
{
    for (int i = 0; i < ITEMS; i++) {
        int32_t *ids = l->ids + i * LENGTH, sense = i < ITEMS / 2 ? 0 : SENSE;
        for (int k = 0; k < LENGTH; k++) ids[k] = FIRST + sense + (int32_t)hd_rng_below(rng, SENSE);
        uint32_t at = hd_rng_below(rng, LENGTH), hidden = (at + 1 + hd_rng_below(rng, LENGTH - 1)) % LENGTH;
        ids[at] = AMBIGUOUS;
        l->len[i] = LENGTH, l->at[i] = i * LENGTH + (int32_t)at, l->place[i] = i * LENGTH + (int32_t)hidden;
        l->target[i] = ids[hidden];
        for (int k = 0; masked && k < LENGTH; k++) /* few words are left to tell the sense by */
            if ((uint32_t)k == hidden || ((uint32_t)k != at && hd_rng_below(rng, 2))) ids[k] = MASK;
    }
}

static hd_bert_batch batch_of(hd_run *r, const lot *l)
{
    return (hd_bert_batch){.seg = hd_seg_of(r, l->len, ITEMS, NULL),
                           .ids = hd_ints(r, l->ids, ITEMS * LENGTH),
                           .place = hd_ints(r, l->place, ITEMS),
                           .target = hd_ints(r, l->target, ITEMS),
                           .count = ITEMS};
}

/* Mean cosines of "apple" in two sentences: of one sense, of two. */
static hd_status compare(double cosine[2], hd_bert *m, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    hd_run *r = lab->run;
    hd_rng rng = hd_rng_make(seed, 12);
    lot l;
    double x[ITEMS * ITEMS];
    size_t pairs[2] = {0};
    draw(&l, &rng, false);
    hd_run_begin(r, HD_INFERENCE);
    hd_bert_batch b = batch_of(r, &l);
    hd_tensor *rows = hd_bert_rows(r, m, &(hd_items){.seg = b.seg, .ids = b.ids}).t;
    hd_tensor *a = hd_gather(r, rows, hd_ints(r, l.at, ITEMS), ITEMS, 1);
    hd_desk_read(x, r, hd_linear(r, a, a, NULL, HD_IDENTITY));
    cosine[0] = cosine[1] = 0;
    hd_status s = hd_run_status(r, err);
    for (int i = 0; !s && i < ITEMS; i++)
        for (int k = 0; k < i; k++) {
            int across = i / (ITEMS / 2) != k / (ITEMS / 2);
            cosine[across] += x[i * ITEMS + k] / sqrt(x[i * ITEMS + i] * x[k * ITEMS + k]), pairs[across]++;
        }
    for (int k = 0; k < 2; k++) cosine[k] /= (double)pairs[k];
    return s;
}

static hd_status read_texts(double cosine[2], const hd_lab *lab, uint64_t seed, hd_err *err)
{
    const int updates = lab->full ? 1000 : 200;
    const hd_bert_opt o = {.stack = {.layers = 2, .heads = 2, .width = WIDTH, .inner = 2 * WIDTH},
                           .vocab = VOCAB,
                           .positions = LENGTH,
                           .no_types = true};
    hd_filler f;
    hd_rng rng = hd_rng_make(seed, 11);
    hd_status s = hd_filler_open(&f, lab->run, &o, seed, err);
    for (int t = 0; !s && t < updates; t++) {
        lot l;
        draw(&l, &rng, true);
        hd_run_begin(lab->run, HD_TRAIN);
        hd_bert_batch b = batch_of(lab->run, &l);
        s = hd_filler_learn(&f, &b, ITEMS, err);
    }
    if (!s) s = compare(cosine, f.model, lab, seed, err);
    hd_filler_close(&f);
    return s;
}

/* -- the paper -- */

static void show(hd_paper *to, const moved *m)
{
    static const char *const names[] = {"fruit", "brand", "apple", "apple beside fruit",
                                        "apple beside brand"};
    const double *const at[] = {neighbor[0], neighbor[1], apple, m[0].at, m[1].at};
    hd_paper_plot(to, &(hd_series_plot){.title = "Where \"apple\" moves to",
                                        .across = "fruits lie to the right",
                                        .upward = "brands lie above"});
    for (int i = 0; i < 5; i++)
        hd_paper_line(to, names[i], &(hd_series){.x = at[i], .y = at[i] + 1, .count = 1});
    hd_paper_table_of(to, "The row of \"apple\": weights of its neighbor and of its own", 3, 1);
    hd_paper_cell(to, "weights"), hd_paper_cell(to, "neighbor"), hd_paper_cell(to, "apple");
    for (int i = 0; i < 3; i++) {
        hd_paper_cell(to, i == 2 ? "beside fruit, by softmax"
                          : i    ? "beside brand, by the sum"
                                 : "beside fruit, by the sum");
        hd_paper_cell(to, "%.4f", m[i].weight[0]), hd_paper_cell(to, "%.4f", m[i].weight[1]);
    }
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    moved m[3];
    double c[HD_LAB_SEEDS][2], v[2][HD_LAB_SEEDS];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 3; i++) s = move(&m[i], lab, i % 2, i == 2, err);
    for (int i = 0; !s && i < lab->seeds; i++) {
        s = read_texts(c[i], lab, lab->seed + (uint64_t)i, err);
        v[0][i] = c[i][0], v[1][i] = c[i][1];
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (s) return s;
    const hd_spread within = hd_spread_of(v[0], (size_t)lab->seeds),
                    across = hd_spread_of(v[1], (size_t)lab->seeds);
    hd_paper_say(
        to,
        "\"my favorite fruit is apple\", \"my favorite brand is apple\": apple is similar to fruit by 0.25 "
        "and to brand by 0.11; other words are similar to none but themselves.");
    show(to, m);
    hd_paper_table_of(to, "Cosine of \"apple\" in two sentences, a BERT of two layers", 2, 1);
    hd_paper_cell(to, "sentences"), hd_paper_cell(to, "mean (of all seeds)");
    hd_paper_cell(to, "of one sense"),
        hd_paper_cell(to, "%.2f (%.2f to %.2f)", within.mean, within.low, within.high);
    hd_paper_cell(to, "of two senses"),
        hd_paper_cell(to, "%.2f (%.2f to %.2f)", across.mean, across.low, across.high);
    hd_paper_claim(
        to, "Beside fruit the new vector is 0.2 fruit + 0.8 apple, beside brand 0.1 and 0.9.",
        fabs(m[0].weight[0] - 0.2) < 1e-5 && fabs(m[1].weight[0] - 0.0990991) < 1e-5,
        "%.3f and %.3f, %.3f and %.3f. One column of the slide's second table is a copy of the other.",
        m[0].weight[0], m[0].weight[1], m[1].weight[0], m[1].weight[1]);
    hd_paper_claim(
        to, "These weights are the softmax of the similarities.", fabs(m[2].weight[1] - 0.8) < 0.01,
        "Softmax gives %.3f and %.3f, and something to every other word.", m[2].weight[0], m[2].weight[1]);
    if (fabs(m[2].weight[1] - 0.8) >= 0.01)
        hd_paper_note(
            to, "The slide says softmax; its numbers are similarities divided by the sum of their row.");
    hd_paper_claim(to,
                   "So a word moves toward its neighbor: one vector in a table becomes two in two sentences.",
                   m[0].at[0] > m[0].at[1] && m[1].at[1] > m[1].at[0],
                   "(%.2f, %.2f) beside fruit, (%.2f, %.2f) beside brand.", m[0].at[0], m[0].at[1],
                   m[1].at[0], m[1].at[1]);
    hd_paper_claim(
        to, "In a BERT a word is more like itself in sentences of the same sense.",
        within.low > across.high + 0.1,
        "Cosines are %.2f within a sense and %.2f across; in the table of word vectors they are 1. The "
        "lecture prints 0.71 to 0.82 and 0.42 to 0.53 of a BERT that has read much more.",
        within.mean, across.mean);
    return HD_OK;
}

const hd_experiment hd_experiment_apple = {
    .name = "apple",
    .title = "The word apple in two sentences",
    .lecture = 1,
    .rows = "119, 120, 170",
    .claim = "A table has one vector for a word of two senses. Attention mixes it with its neighbors, so "
             "that in each "
             "sentence it moves toward what it means there.",
    .run = run,
};
