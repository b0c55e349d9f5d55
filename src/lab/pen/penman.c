/* Pens that learn four letters. */
#include "lab/pen/penman.h"

#include <math.h>

enum {
    WIDTH = 32,
    MIXTURES = 4,
    POINT = HD_HANDWRITING_POINT,
    POINTS = HD_PENMAN_POINTS,
    ITEMS = HD_PENMAN_ITEMS
};
enum { MOST = HD_PENMAN_MOST, JUDGED = 2 };

/* Offsets of the letters; behind the last but one the pen is lifted, and the last leads to the next letter.
 */
static const struct {
    char name;
    int32_t strokes;
    signed char offset[HD_PENMAN_STROKES][2];
} letters[HD_PENMAN_LETTERS] = {
    {'l', 2, {{0, 3}, {1, -3}}},
    {'v', 3, {{1, -2}, {1, 2}, {1, 0}}},
    {'n', 4, {{0, 2}, {2, 0}, {0, -2}, {1, 0}}},
    {'m', 7, {{0, 2}, {1, 0}, {0, -2}, {0, 2}, {1, 0}, {0, -2}, {1, 0}}},
};

char hd_penman_name(int32_t letter)
{
    return letters[letter].name;
}

void hd_penman_spell(hd_penman_line *to, const int32_t *letter, int32_t count, double noise, hd_rng *rng)
{
    *to = (hd_penman_line){.letters = count, .points = 1}; /* the first point is where the pen is set down */
    for (int32_t i = 0; i < count; i++) {
        to->letter[i] = letter[i];
        for (int32_t k = 0; k < letters[letter[i]].strokes; k++, to->points++) {
            hd_real *p = to->point[to->points];
            for (int c = 0; c < 2; c++)
                p[c] = (hd_real)(letters[letter[i]].offset[k][c] + (rng ? noise * hd_rng_normal(rng) : 0));
            p[2] = k + 2 == letters[letter[i]].strokes;
            to->of[to->points] = i;
        }
    }
}

void hd_penman_draw(hd_penman *w, uint64_t number)
{
    hd_rng rng = hd_rng_make(w->course.seed, 1 + number);
    for (size_t i = 0; i < ITEMS; i++) {
        int32_t letter[MOST],
            count = HD_PENMAN_LEAST + (int32_t)hd_rng_below(&rng, MOST - HD_PENMAN_LEAST + 1);
        for (int32_t k = 0; k < count; k++) letter[k] = (int32_t)hd_rng_below(&rng, HD_PENMAN_LETTERS);
        hd_penman_spell(&w->line[i], letter, count, 0.2, &rng);
    }
}

hd_status hd_penman_open(hd_penman *w, hd_run *run, int window, uint64_t seed, hd_err *err)
{
    const hd_handwriting_opt o = {.width = WIDTH,
                                  .vocab = HD_PENMAN_LETTERS,
                                  .layers = 1,
                                  .mixtures = MIXTURES,
                                  .window = window,
                                  .scale.deviation = {1, 1}};
    *w = (hd_penman){0};
    hd_status s = hd_handwriting_new(&w->model, run->backend, &o, true, err);
    if (!s) s = hd_course_open(&w->course, run, &w->model->params, seed, err);
    return s ? s : hd_handwriting_draw(w->model, seed, 4, err);
}

void hd_penman_close(hd_penman *w)
{
    hd_course_close(&w->course);
    hd_handwriting_free(w->model);
    *w = (hd_penman){0};
}

/* Lines in a step that was begun, each read from a start on. */
static hd_handwriting_batch send(hd_run *r, const hd_penman_line *line, size_t items, size_t *rows)
{
    hd_real read[ITEMS * POINTS][POINT], next[ITEMS * POINTS][POINT];
    int32_t len[ITEMS], text[ITEMS], ids[ITEMS * MOST];
    size_t n = 0, characters = 0;
    for (size_t i = 0; i < items; i++) {
        len[i] = line[i].points, text[i] = line[i].letters;
        for (int32_t k = 0; k < text[i]; k++) ids[characters++] = line[i].letter[k];
        for (int32_t k = 0; k < len[i]; k++, n++)
            for (int c = 0; c < POINT; c++)
                read[n][c] = k ? line[i].point[k - 1][c] : 0, next[n][c] = line[i].point[k][c];
    }
    *rows = n;
    return (hd_handwriting_batch){.point = {hd_from(r, n, POINT, read[0]), hd_seg_of(r, len, items, NULL)},
                                  .next = hd_from(r, n, POINT, next[0]),
                                  .text = hd_seg_of(r, text, items, NULL),
                                  .ids = hd_ints(r, ids, characters)};
}

hd_status hd_penman_learn(hd_penman *w, uint32_t steps, uint32_t of, double rate, hd_err *err)
{
    hd_course *c = &w->course;
    hd_status s = HD_OK;
    for (uint32_t i = 0; !s && i < steps; i++) {
        size_t rows;
        hd_penman_draw(w, 2 * c->updates);
        hd_run *r = hd_course_begin(c);
        hd_handwriting_batch b = send(r, w->line, ITEMS, &rows);
        hd_handwriting_loss(r, w->model, &b);
        s = hd_course_end(c, hd_course_falling(c, rate, of), (double)rows, err);
    }
    return s;
}

hd_status hd_penman_judge(double *nats, hd_penman *w, hd_err *err)
{
    hd_run *r = w->course.run;
    double sum = 0, points = 0;
    hd_status s = HD_OK;
    for (uint64_t k = 0; !s && k < JUDGED; k++) {
        size_t rows;
        hd_penman_draw(w, 2 * k + 1);
        hd_run_begin(r, HD_INFERENCE);
        hd_handwriting_batch b = send(r, w->line, ITEMS, &rows);
        sum += hd_loss_total(r, hd_handwriting_loss(r, w->model, &b)), points += (double)rows;
        s = hd_run_status(r, err);
    }
    *nats = sum / points;
    return s;
}

hd_status hd_penman_follow(hd_penman_trace *to, hd_penman *w, const hd_penman_line *line, hd_err *err)
{
    enum { COLUMNS = 1 + HD_MIXTURE_EACH * MIXTURES };
    hd_run *r = w->course.run;
    hd_real y[POINTS][COLUMNS], p[POINTS * 3 * HD_WINDOW_MOST], kappa[POINTS * HD_WINDOW_MOST];
    const size_t gaussians = (size_t)w->model->opt.window;
    hd_handwriting_seen seen = {0};
    size_t rows;
    *to = (hd_penman_trace){0};
    hd_run_begin(r, HD_INFERENCE);
    hd_handwriting_batch b = send(r, line, 1, &rows);
    hd_rows out = hd_handwriting_rows(r, w->model, &b, NULL, gaussians ? &seen : NULL);
    if (out.t && hd_read(r, out.t, y[0]) && gaussians && hd_read(r, seen.window, p))
        hd_read(r, seen.kappa, kappa);
    hd_status s = hd_run_status(r, err);
    for (size_t i = 0; !s && i < rows; i++) {
        size_t best = 0;
        for (size_t c = 1; c < MIXTURES; c++)
            if (y[i][1 + c] > y[i][1 + best]) best = c;
        for (size_t c = 0; c < 2; c++) to->mean[i][c] = (double)y[i][1 + (1 + c) * MIXTURES + best];
        to->lift[i] = y[i][0] < 0; /* its probability is 1 / (1 + exp(z)) */
        for (size_t k = 0; k < gaussians; k++)
            for (int32_t u = 0; u < line->letters; u++)
                to->weight[i][u] += exp((double)p[i * 3 * gaussians + k]) *
                                    hd_window_reach(exp((double)p[(i * 3 + 1) * gaussians + k]),
                                                    (double)kappa[i * gaussians + k], u + 1);
        if (gaussians) to->kappa[i] = (double)kappa[i * gaussians];
    }
    return s;
}

hd_status hd_penman_write(hd_penman_line *line, hd_penman *w, hd_err *err)
{
    hd_status s = HD_OK;
    for (int32_t i = 0; !s && i < line->points; i++) {
        hd_penman_trace t;
        s = hd_penman_follow(&t, w, line, err);
        for (int c = 0; c < 2; c++) line->point[i][c] = (hd_real)t.mean[i][c];
        line->point[i][2] = t.lift[i];
    }
    return s;
}
