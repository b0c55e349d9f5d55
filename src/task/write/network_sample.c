/* Writing with Graves' networks: points are drawn one after the other, those of all lines side by side. Easy
   to get wrong: what the window has reached is that of the point just read, so a line ends before its next
   point is drawn. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "task/write/kind.h"

/* Streams of the seed: one a line. */
#define STREAM 0x70656e0000000000u

typedef struct desk { /* a line being written */
    hd_handwritten *to;
    hd_rng rng;
    hd_real last[3]; /* the point that is read next, as the model has it */
    double x, y;     /* where the pen is, in the unit of the data */
    size_t room;     /* of phi, in points */
    bool done;
} desk;

typedef struct writing {
    hd_run *run;
    const hd_handwriting *model;
    const hd_write_opt *opt;
    hd_cache *cache;
    desk *desk;
    size_t lines;
    hd_ids ids;       /* characters of all lines */
    int32_t *letters; /* [lines] */
    hd_real *out, *window, *kappa;
} writing;

/* -- texts -- */

static hd_status add_text(writing *w, const hd_model_folder *f, const char *line, hd_handwritten *to,
                          hd_err *err)
{
    hd_status s = hd_write_text(to, &w->ids, f, line, w->opt->prime, err);
    if (!s && w->model->opt.window && !to->letters) s = hd_err_set(err, HD_EARG, "there is no text to write");
    if (!s && !w->model->opt.window && *line)
        s = hd_err_set(err, HD_EARG,
                       "the model reads no text (it was trained with --window-gaussians 0): "
                       "give none");
    return s;
}

/* -- drawing a point -- */

static double pen_lift(const hd_real *out)
{
    return 1 / (1 + exp((double)out[0]));
}

/* The component of a point, by weights that the bias has sharpened. */
static size_t draw_component(hd_rng *rng, const hd_real *weight, size_t n, double bias)
{
    double most = -INFINITY, sum = 0, mass;
    for (size_t j = 0; j < n; j++) most = fmax(most, (double)weight[j]);
    for (size_t j = 0; j < n; j++) sum += exp(((double)weight[j] - most) * (1 + bias));
    mass = hd_rng_unit(rng) * sum;
    for (size_t j = 0; j + 1 < n; j++) {
        mass -= exp(((double)weight[j] - most) * (1 + bias));
        if (mass < 0) return j;
    }
    return n - 1;
}

static void draw_point(hd_real to[3], hd_rng *rng, const hd_real *out, size_t n, double bias)
{
    size_t j = draw_component(rng, out + 1, n, bias);
    const hd_real *is = out + 1 + n + j;
    double across = hd_rng_normal(rng), down = hd_rng_normal(rng), rho = tanh((double)is[4 * n]);
    to[0] = (hd_real)((double)is[0] + exp((double)is[2 * n] - bias) * across);
    to[1] = (hd_real)((double)is[n] +
                      exp((double)is[3 * n] - bias) * (rho * across + sqrt(1 - rho * rho) * down));
    to[2] = hd_rng_unit(rng) < pen_lift(out);
}

static hd_status put_point(const writing *w, desk *d, const hd_real p[3], hd_err *err)
{
    const hd_handwriting_opt *o = &w->model->opt;
    d->x += (double)p[0] * (double)o->scale.deviation[0] + (double)o->scale.mean[0];
    d->y += (double)p[1] * (double)o->scale.deviation[1] + (double)o->scale.mean[1];
    memcpy(d->last, p, sizeof d->last);
    return hd_pen_points_add(&d->to->points, (hd_pen_point){(float)d->x, (float)d->y, p[2] > 0}, err);
}

/* -- the window -- */

/* Its weights at a row, for all characters and the place behind them. */
static double weigh(float *phi, const hd_real *window, const hd_real *kappa, size_t n, size_t letters)
{
    double most = 0, last = 0;
    for (size_t u = 0; u <= letters; u++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += exp((double)window[k]) *
                   hd_window_reach(exp((double)window[n + k]), (double)kappa[k], (double)(u + 1));
        if (phi) phi[u] = (float)sum;
        if (u == letters) last = sum;
        if (u < letters) most = fmax(most, sum);
    }
    return last - most; /* above 0: it has gone past the text */
}

/* Keeps the weights at a row and says whether the text is at its end. */
static hd_status look(const writing *w, desk *d, const hd_real *window, const hd_real *kappa, bool *past,
                      hd_err *err)
{
    hd_handwritten *t = d->to;
    size_t n = (size_t)w->model->opt.window, cols = t->letters + 1, row = t->points.count - 1;
    float *phi = NULL;
    if (w->opt->watch) {
        hd_status s = hd_mem_reserve(&t->phi, &d->room, (row + 1) * cols, sizeof *t->phi, err);
        if (s) return s;
        phi = t->phi + row * cols, t->seen = row + 1;
    }
    *past = weigh(phi, window, kappa, n, t->letters) > 0;
    return HD_OK;
}

/* -- steps -- */

/* The model reads `rows` points of each line. */
static hd_status step(writing *w, const hd_real *points, size_t rows, hd_err *err)
{
    hd_run *r = w->run;
    size_t n = w->lines, all = n * rows;
    const bool window = w->model->opt.window > 0;
    hd_handwriting_seen seen = {0};
    hd_run_begin(r, HD_INFERENCE);
    int32_t *len = hd_host_take(r, (n + 1) * sizeof *len);
    for (size_t i = 0; len && i < n; i++) len[i] = (int32_t)rows;
    hd_handwriting_batch b = {0};
    if (len) b.point = (hd_rows){hd_from(r, all, 3, points), hd_seg_of(r, len, n, NULL)};
    if (window && len) {
        b.text = hd_seg_of(r, w->letters, n, NULL);
        b.ids = hd_ints(r, w->ids.at, w->ids.count);
    }
    hd_rows y = hd_handwriting_rows(r, w->model, &b, w->cache, &seen);
    if (y.t) hd_read_output(r, y.t, w->out);
    if (y.t && window) hd_read(r, seen.window, w->window), hd_read(r, seen.kappa, w->kappa);
    return hd_run_status(r, err);
}

/* Behind its text a line ends with the stroke that the pen is in; one that has just begun is left out. */
static bool ends_stroke(hd_handwritten *t)
{
    hd_pen_points *p = &t->points;
    bool begins = p->count > t->primed + 1 && p->at[p->count - 2].lift;
    if (begins) p->count--;
    return begins || p->at[p->count - 1].lift;
}

/* What becomes of a line once its last point is read: its outputs are those of row `row`. */
static hd_status go_on(writing *w, desk *d, size_t row, hd_err *err)
{
    const hd_handwriting_opt *o = &w->model->opt;
    size_t k = (size_t)o->window;
    bool past = false;
    hd_status s = HD_OK;
    if (k) s = look(w, d, w->window + row * 3 * k, w->kappa + row * k, &past, err);
    if (past) past = ends_stroke(d->to);
    d->to->cut = k && !past && d->to->points.count - d->to->primed >= w->opt->points;
    d->done = past || d->to->points.count - d->to->primed >= w->opt->points;
    if (s || d->done) return s;
    hd_real next[3];
    draw_point(next, &d->rng, w->out + row * (1 + HD_MIXTURE_EACH * (size_t)o->mixtures), (size_t)o->mixtures,
               w->opt->bias);
    return put_point(w, d, next, err);
}

/* The points of the prime, which all lines read first. */
static hd_status read_prime(writing *w, hd_err *err)
{
    const hd_strokes *prime = w->opt->prime;
    const hd_handwriting_opt *o = &w->model->opt;
    const hd_pen_point *p = hd_strokes_line(prime, 0);
    size_t count = hd_strokes_points(prime, 0), k = (size_t)o->window;
    hd_real *points = hd_mem_array(3 * count * w->lines + 1, sizeof *points);
    hd_status s = points ? HD_OK : hd_err_nomem(err, 3 * count * w->lines * sizeof *points);
    for (size_t i = 0; !s && i < w->lines; i++)
        for (size_t t = 0; !s && t < count; t++) {
            hd_real *to = points + 3 * (i * count + t);
            const double off[2] = {t ? (double)(p[t].x - p[t - 1].x) : 0,
                                   t ? (double)(p[t].y - p[t - 1].y) : 0};
            for (int a = 0; t && a < 2; a++)
                to[a] = (hd_real)((off[a] - (double)o->scale.mean[a]) / (double)o->scale.deviation[a]);
            to[2] = p[t].lift;
            if (t) s = put_point(w, &w->desk[i], to, err);
        }
    if (!s) s = step(w, points, count, err);
    for (size_t i = 0; !s && i < w->lines; i++) {
        desk *d = &w->desk[i];
        size_t written = d->to->points.count;
        bool past = false;
        for (size_t t = 0; !s && k && w->opt->watch && t + 1 < count; t++) {
            d->to->points.count = t + 1;
            s = look(w, d, w->window + (i * count + t) * 3 * k, w->kappa + (i * count + t) * k, &past, err);
        }
        d->to->points.count = d->to->primed = written;
        if (!s) s = go_on(w, d, (i + 1) * count - 1, err);
    }
    hd_mem_free(points);
    return s;
}

static hd_status write_points(writing *w, hd_err *err)
{
    hd_status s = w->opt->prime ? read_prime(w, err) : HD_OK;
    hd_real *points = hd_mem_array(3 * w->lines, sizeof *points);
    if (!points) s = hd_err_nomem(err, 3 * w->lines * sizeof *points);
    for (size_t left = 1; !s && left;) {
        left = 0;
        for (size_t i = 0; i < w->lines; i++) memcpy(points + 3 * i, w->desk[i].last, 3 * sizeof *points);
        for (size_t i = 0; i < w->lines; i++) left += !w->desk[i].done;
        if (left) s = step(w, points, 1, err);
        for (size_t i = 0; !s && i < w->lines; i++)
            if (!w->desk[i].done) s = go_on(w, &w->desk[i], i, err);
    }
    hd_mem_free(points);
    return s;
}

static hd_status sit_down(writing *w, const hd_model_folder *f, hd_handwritten *out, const char *const *line,
                          hd_err *err)
{
    const hd_handwriting_opt *o = &w->model->opt;
    size_t n = w->lines, rows = n * (w->opt->prime ? hd_strokes_points(w->opt->prime, 0) : 1);
    w->desk = hd_mem_array(n, sizeof *w->desk);
    w->letters = hd_mem_array(n, sizeof *w->letters);
    w->out = hd_mem_array(rows * (1 + HD_MIXTURE_EACH * (size_t)o->mixtures), sizeof *w->out);
    w->window = hd_mem_array(rows * 3 * (size_t)o->window + 1, sizeof *w->window);
    w->kappa = hd_mem_array(rows * (size_t)o->window + 1, sizeof *w->kappa);
    if (!w->desk || !w->letters || !w->out || !w->window || !w->kappa)
        return hd_err_nomem(err, rows * (1 + 10 * (size_t)o->mixtures) * sizeof *w->out);
    hd_status s = hd_handwriting_cache(&w->cache, w->model, n, err);
    for (size_t i = 0; !s && i < n; i++) {
        w->desk[i] = (desk){.to = &out[i], .rng = hd_rng_make(w->opt->seed, STREAM + i)};
        s = add_text(w, f, line[i], &out[i], err);
        w->letters[i] = (int32_t)out[i].letters;
        if (!s) s = hd_pen_points_add(&out[i].points, (hd_pen_point){0}, err);
    }
    return s;
}

hd_status hd_write_network_lines(hd_handwritten *out, hd_run *r, const hd_model_folder *f,
                                 const char *const *line, size_t lines, const hd_write_opt *opt, hd_err *err)
{
    writing w = {.run = r, .model = f->model.self, .opt = opt, .lines = lines};
    hd_status s = sit_down(&w, f, out, line, err);
    if (!s) s = write_points(&w, err);
    for (size_t i = 0; !s && i < lines; i++)
        if (out[i].points.count) out[i].points.at[out[i].points.count - 1].lift = true;
    hd_cache_free(w.cache);
    hd_ids_release(&w.ids);
    hd_mem_free(w.desk);
    hd_mem_free(w.letters);
    hd_mem_free(w.out);
    hd_mem_free(w.window);
    hd_mem_free(w.kappa);
    return s;
}
