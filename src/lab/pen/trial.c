/* What is written by itself, compared with what the text wants, point by point. */
#include "lab/pen/trial.h"

#include <math.h>

enum { LINES = 16, NEW = 1001 };

/* Texts that differ in one letter. */
enum { L, V, N, M, CHANGED = 1, TEXT = 4 };
static const int32_t texts[2][TEXT] = {{N, V, L, M}, {N, M, L, M}};

static double apart(const hd_real *a, const hd_real *b)
{
    return hypot((double)(a[0] - b[0]), (double)(a[1] - b[1]));
}

/* New texts, and how the window moved meanwhile. */
static hd_status try_texts(hd_trial *t, hd_penman *w, hd_err *err)
{
    double right = 0, points = 0, count[HD_PENMAN_LETTERS] = {0};
    hd_status s = HD_OK;
    t->back = (double)INFINITY;
    hd_penman_draw(w, NEW);
    for (int i = 0; !s && i < LINES; i++) {
        hd_penman_line truth, line;
        hd_penman_trace trace;
        hd_penman_spell(&truth, w->line[i].letter, w->line[i].letters, 0, NULL);
        line = truth, s = hd_penman_write(&line, w, err);
        if (!s) s = hd_penman_follow(&trace, w, &line, err);
        for (int32_t p = 1; !s && p < line.points; p++) {
            const double step = trace.kappa[p] - trace.kappa[p - 1];
            const int32_t letter = line.letter[line.of[p]];
            right += apart(line.point[p], truth.point[p]) < 0.5, points++;
            t->moved[letter] += step, count[letter] += line.of[p] != line.of[p - 1] || p == 1;
            t->back = fmin(t->back, step);
        }
    }
    t->right = right / points;
    for (int c = 0; c < HD_PENMAN_LETTERS; c++) t->moved[c] /= fmax(count[c], 1);
    return s;
}

static hd_status change(hd_trial *t, hd_penman *w, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2; i++) {
        hd_penman_spell(&t->line[i], texts[i], TEXT, 0, NULL);
        s = hd_penman_write(&t->line[i], w, err);
    }
    if (!s) s = hd_penman_follow(&t->trace, w, &t->line[0], err);
    for (int32_t p = 0; !s && t->line[0].of[p] <= CHANGED; p++) {
        double *most = t->line[0].of[p] < CHANGED ? &t->before : &t->behind;
        *most = fmax(*most, apart(t->line[0].point[p], t->line[1].point[p]));
    }
    return s;
}

hd_status hd_trial_run(hd_trial *to, hd_penman *w, hd_err *err)
{
    *to = (hd_trial){0};
    hd_status s = try_texts(to, w, err);
    return s ? s : change(to, w, err);
}

/* -- how it is shown -- */

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

void hd_trial_put(hd_paper *to, const hd_trial *t)
{
    const hd_penman_line *line = &t->line[0];
    double weight[HD_PENMAN_MOST * HD_PENMAN_POINTS];
    const char *row[HD_PENMAN_MOST];
    char name[HD_PENMAN_MOST][2] = {{0}};
    for (int32_t u = 0; u < line->letters; u++) {
        name[u][0] = hd_penman_name(line->letter[u]), row[u] = name[u];
        for (int32_t p = 0; p < line->points; p++) weight[u * line->points + p] = t->trace.weight[p][u];
    }
    hd_paper_cells(to, &(hd_cells){.title = "The window over the text, while it is written",
                                   .across = "points of the pen, one after the other",
                                   .downward = "letters of the text",
                                   .value = weight,
                                   .rows = (size_t)line->letters,
                                   .cols = (size_t)line->points,
                                   .row = row,
                                   .full = 1,
                                   .digits = -1});
    hd_paper_plot(to, &(hd_series_plot){.title = "Two texts, written by the same network",
                                        .across = "across (letters are 1 to 3 wide)",
                                        .upward = "up, the second text below the first"});
    put_line(to, line, 0), put_line(to, &t->line[1], -6);
}
