/* The soft window: Gaussians that move along a text while a pen writes it. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "lab/pen/penman.h"
#include "lab/sweep.h"

static const int32_t updates[] = {0, 40, 80, 120, 160, 200};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1, LINES = 16, NEW = 1001 };

static const struct {
    const char *name;
    int window;
} kinds[] = {{"reads the text through a window", 1}, {"does not read it", 0}};
enum { KINDS = sizeof kinds / sizeof *kinds, READS = 0, BLIND = 1 };

/* Texts that differ in one letter, and the line whose window is shown. */
enum { L, V, N, M, CHANGED = 1, TEXT = 4 };
static const int32_t texts[2][TEXT] = {{N, V, L, M}, {N, M, L, M}};

typedef struct written {
    double right[KINDS][HD_LAB_SEEDS]; /* share of points of new texts that it writes where they belong */
    double back;                       /* the least that a window moved from point to point, of all seeds */
    double moved[HD_PENMAN_LETTERS][HD_LAB_SEEDS]; /* letters that the window moves on while one is written */
    double before[HD_LAB_SEEDS], behind[HD_LAB_SEEDS]; /* how far points of the two texts are apart, before
                                                          the changed letter and in it */
    hd_penman_line line[2];                            /* as the first seed writes them */
    hd_penman_trace trace;                             /* of the first of them */
} written;

static double apart(const hd_real *a, const hd_real *b)
{
    return hypot((double)(a[0] - b[0]), (double)(a[1] - b[1]));
}

/* New texts, written by itself; of a window, how it moved meanwhile. */
static hd_status try_texts(written *t, hd_penman *w, size_t k, int seed, hd_err *err)
{
    double right = 0, points = 0, count[HD_PENMAN_LETTERS] = {0}, moved[HD_PENMAN_LETTERS] = {0};
    hd_status s = HD_OK;
    hd_penman_draw(w, NEW);
    for (int i = 0; !s && i < LINES; i++) {
        hd_penman_line truth, line;
        hd_penman_trace trace;
        hd_penman_spell(&truth, w->line[i].letter, w->line[i].letters, 0, NULL);
        line = truth, s = hd_penman_write(&line, w, err);
        if (!s) s = hd_penman_follow(&trace, w, &line, err);
        for (int32_t p = 1; !s && p < line.points; p++) {
            const double step = trace.kappa[p] - trace.kappa[p - 1];
            right += apart(line.point[p], truth.point[p]) < 0.5, points++;
            moved[line.letter[line.of[p]]] += step,
                count[line.letter[line.of[p]]] += line.of[p] != line.of[p - 1] || p == 1;
            if (k == READS) t->back = fmin(t->back, step);
        }
    }
    t->right[k][seed] = right / points;
    for (int c = 0; k == READS && c < HD_PENMAN_LETTERS; c++)
        t->moved[c][seed] = moved[c] / fmax(count[c], 1);
    return s;
}

static hd_status change(written *t, hd_penman *w, int seed, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2; i++) {
        hd_penman_spell(&t->line[i], texts[i], TEXT, 0, NULL);
        s = hd_penman_write(&t->line[i], w, err);
    }
    if (!s) s = hd_penman_follow(&t->trace, w, &t->line[0], err);
    for (int32_t p = 0; !s && t->line[0].of[p] <= CHANGED; p++) {
        double *most = t->line[0].of[p] < CHANGED ? &t->before[seed] : &t->behind[seed];
        *most = fmax(*most, apart(t->line[0].point[p], t->line[1].point[p]));
    }
    return s;
}

static hd_status learn(double *nats, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t times = lab->full ? 4 : 1;
    const int number = (int)(seed - lab->seed);
    hd_penman *w = hd_mem_new(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    hd_status s = hd_penman_open(w, lab->run, kinds[k].window, seed, err);
    for (int i = 0; !s && i < POINTS; i++) {
        if (i)
            s = hd_penman_learn(w, times * (uint32_t)(updates[i] - updates[i - 1]),
                                times * (uint32_t)updates[LAST], 0.02, err);
        if (!s) s = hd_penman_judge(&nats[i], w, err);
    }
    if (!s) s = try_texts(context, w, k, number, err);
    if (!s && k == READS) s = change(context, w, number, err);
    hd_penman_close(w);
    hd_mem_free(w);
    return s;
}

/* -- what is shown -- */

static void put_line(hd_paper *to, const hd_penman_line *line, double below)
{
    double x[2 * HD_PENMAN_POINTS], y[2 * HD_PENMAN_POINTS], at[2] = {0, below};
    char name[32] = "written for \"";
    size_t n = 0, used = 13;
    for (int32_t i = 0; i < line->letters; i++) name[used++] = hd_penman_name(line->letter[i]);
    name[used++] = '"', name[used] = 0;
    for (int32_t i = 0; i < line->points; i++) {
        if (i && line->point[i - 1][2] > 0) x[n] = y[n] = (double)NAN, n++; /* the pen is lifted */
        at[0] += (double)line->point[i][0], at[1] += (double)line->point[i][1];
        x[n] = at[0], y[n] = at[1], n++;
    }
    hd_paper_line(to, name, &(hd_series){.x = x, .y = y, .count = n});
}

static void put_window(hd_paper *to, const written *t)
{
    const hd_penman_line *line = &t->line[0];
    double weight[TEXT * HD_PENMAN_POINTS];
    const char *row[TEXT];
    char name[TEXT][2] = {{0}};
    for (int32_t u = 0; u < TEXT; u++) {
        name[u][0] = hd_penman_name(line->letter[u]), row[u] = name[u];
        for (int32_t p = 0; p < line->points; p++) weight[u * line->points + p] = t->trace.weight[p][u];
    }
    hd_paper_cells(to, &(hd_cells){.title = "The window over the text, while it is written",
                                   .across = "points of the pen, one after the other",
                                   .downward = "letters of the text",
                                   .value = weight,
                                   .rows = TEXT,
                                   .cols = (size_t)line->points,
                                   .row = row,
                                   .full = 1,
                                   .digits = -1});
    hd_paper_plot(to, &(hd_series_plot){.title = "Two texts, written by the same network",
                                        .across = "across (letters are 1 to 3 wide)",
                                        .upward = "up, the second text below the first"});
    put_line(to, line, 0), put_line(to, &t->line[1], -6);
    hd_paper_table_of(to, "How the window moves while a letter is written", 4, 1);
    hd_paper_cell(to, "letter"), hd_paper_cell(to, "points"), hd_paper_cell(to, "letters moved on"),
        hd_paper_cell(to, "a point");
}

static void judge(hd_paper *to, const hd_sweep *w, const written *t, const hd_lab *lab)
{
    const size_t seeds = (size_t)lab->seeds;
    const hd_spread reads = w->spread[READS][LAST], blind = w->spread[BLIND][LAST],
                    right = hd_spread_of(t->right[READS], seeds),
                    guessed = hd_spread_of(t->right[BLIND], seeds), before = hd_spread_of(t->before, seeds),
                    behind = hd_spread_of(t->behind, seeds);
    double off = 0;
    for (int32_t c = 0; c < HD_PENMAN_LETTERS; c++) {
        const hd_spread m = hd_spread_of(t->moved[c], seeds);
        hd_penman_line one;
        hd_penman_spell(&one, &c, 1, 0, NULL);
        off = fmax(off, fmax(fabs(m.low - 1), fabs(m.high - 1)));
        hd_paper_cell(to, "%c", hd_penman_name(c)), hd_paper_cell(to, "%d", one.points - 1);
        hd_paper_cell(to, "%.2f (%.2f to %.2f)", m.mean, m.low, m.high),
            hd_paper_cell(to, "%.2f", m.mean / (one.points - 1));
    }
    hd_paper_claim(to, "The window moves on along the text and never back.", t->back > 0,
                   "From point to point it moves on by at least %.3f letters.", t->back);
    hd_paper_claim(to, "It stays as long as a letter takes: slowly through many points, quickly through few.",
                   off < 0.4,
                   "While a letter is written it moves on by one letter, off by at most %.2f, whether that "
                   "takes 2 points or 7.",
                   off);
    hd_paper_claim(to, "What is written is what the text says.",
                   right.low > 0.8 && guessed.high < 0.7 && reads.mean < blind.mean,
                   "%.0f %% of the points lie where the text wants them (%.0f to %.0f), %.0f %% without a "
                   "window; new lines cost %.2f nats a point with it, %.2f without.",
                   100 * right.mean, 100 * right.low, 100 * right.high, 100 * guessed.mean, reads.mean,
                   blind.mean);
    hd_paper_claim(to, "Another text gives other strokes, from the letter on that was changed.",
                   behind.low > 1 && before.high < 0.5,
                   "With another second letter the strokes of the first are the same within %.2f, those of "
                   "the second up to %.1f apart.",
                   before.high, behind.mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    written *t = hd_mem_zero(sizeof *t);
    hd_status s = t ? hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, updates, POINTS, err)
                    : hd_err_nomem(err, sizeof *t);
    if (!s) {
        t->back = (double)INFINITY;
        for (int i = 0; i < POINTS; i++) w->at[i] *= lab->full ? 4 : 1;
        w->title = "Writing with and without the text", w->across = "updates of 32 lines",
        w->upward = "nats a point of new lines (mean and spread of all seeds)";
        w->caption = "Nats a point of new lines, by updates", w->corner = "network", w->format = "%.2f",
        w->every = 2;
        s = hd_sweep_measure(w, lab, learn, t, err);
    }
    if (!s) {
        hd_paper_say(to, "Four letters of 2 to 7 strokes are written with a pen, each stroke a little off. "
                         "An LSTM reads the last point and gives the next one as a "
                         "mixture of Gaussians; a window, a Gaussian that it moves along the text, tells it "
                         "what to write.");
        hd_sweep_put(to, w, lab), put_window(to, t), judge(to, w, t, lab);
    }
    hd_sweep_free(w);
    hd_mem_free(t);
    return s;
}

const hd_experiment hd_experiment_window = {
    .name = "window",
    .title = "Handwriting that reads a text",
    .lecture = 0,
    .rows = "23",
    .claim = "A network that writes by hand is told what to write by a soft window over the text, which it "
             "moves on by itself.",
    .run = run,
};
