/* Writing with a gpt over bins, as what it does with seats: a seat is a line. A bin is drawn by its
   probability, and a place in it at random; the bias sharpens the one and draws the other to the middle. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "decode/draw.h"
#include "decode/seats.h"
#include "task/write/kind.h"

/* Streams of the seed: one a line. */
#define STREAM 0x62696e0000000000u

typedef struct desk { /* a line being written */
    hd_handwritten *to;
    hd_rng rng;
    double x, y;  /* where the pen is, in the unit of the data */
    size_t drawn; /* tokens */
    hd_ids ids;   /* all of the line, where it is looked at */
} desk;

typedef struct writing {
    hd_seats seats;
    hd_stepper stepper;
    const hd_pen_gpt_opt *model;
    const hd_write_opt *opt;
    desk *desk;   /* [lines] */
    size_t *line; /* [lines]: whose seats go on in the next step */
    bool *banned; /* [tokens]: characters */
    hd_ids ids;   /* texts and what is written before, line after line */
    int32_t *len; /* [lines] */
    size_t lines;
} writing;

static hd_status add_ids(hd_ids *to, const int32_t *from, size_t count, hd_err *err)
{
    hd_status s = hd_ids_reserve(to, count, err);
    if (!s) memcpy(to->at + to->count, from, count * sizeof *from), to->count += count;
    return s;
}

/* -- prompts -- */

static hd_status add_point(writing *w, desk *d, hd_pen_point p, int32_t token, hd_err *err)
{
    hd_status s = add_ids(&w->ids, &token, 1, err);
    d->x = (double)p.x, d->y = (double)p.y;
    return s ? s : hd_pen_points_add(&d->to->points, p, err);
}

/* The text, and the points of the prime or the first one. */
static hd_status begin_line(writing *w, const hd_model_folder *f, size_t i, const char *line, hd_err *err)
{
    const hd_pen_gpt_opt *o = w->model;
    const hd_strokes *prime = w->opt->prime;
    const hd_pen_point *p = prime ? hd_strokes_line(prime, 0) : &(hd_pen_point){0};
    size_t before = w->ids.count, points = prime ? hd_strokes_points(prime, 0) : 1;
    desk *d = &w->desk[i];
    hd_status s = hd_write_text(d->to, &w->ids, f, line, prime, err);
    if (!s && !d->to->letters) s = hd_err_set(err, HD_EARG, "there is no text to write");
    if (!s) s = add_point(w, d, (hd_pen_point){0, 0, p[0].lift}, hd_pen_gpt_first(o, p[0].lift), err);
    for (size_t k = 1; !s && k < points; k++) {
        int32_t bin = hd_pen_bin_behind(&o->bins, &o->scale, p + k - 1);
        const hd_pen_point at = {p[k].x - p[0].x, p[k].y - p[0].y, p[k].lift};
        s = add_point(w, d, at, hd_pen_gpt_token(o, bin), err);
    }
    if (prime) d->to->primed = points;
    size_t length = w->ids.count - before;
    if (!s && length >= o->positions)
        s = hd_err_set(err, HD_ELIMIT, "%zu characters and points to begin with: the model takes %zu", length,
                       o->positions);
    w->len[i] = (int32_t)length;
    if (!s && w->opt->watch) s = add_ids(&d->ids, w->ids.at + before, length, err);
    return s;
}

/* -- steps -- */

static size_t admit(void *context, size_t left)
{
    (void)context;
    return left;
}

/* Puts a point in its bin. */
static hd_status put_point(const writing *w, desk *d, int32_t bin, hd_err *err)
{
    const hd_pen_gpt_opt *o = w->model;
    const double narrow = exp(-w->opt->bias);
    double at[2];
    double out = 0.5 + narrow * (hd_rng_unit(&d->rng) - 0.5),
           around = 0.5 + narrow * (hd_rng_unit(&d->rng) - 0.5);
    hd_pen_bin_place(&o->bins, bin, out, around, at);
    d->x += at[0] * (double)o->scale.deviation[0], d->y += at[1] * (double)o->scale.deviation[1];
    return hd_pen_points_add(&d->to->points, (hd_pen_point){(float)d->x, (float)d->y, hd_pen_bin_lifts(bin)},
                             err);
}

/* What becomes of the line with what was drawn for it: its seat goes on or leaves. */
static hd_status go_on(writing *w, size_t line, size_t seat, int32_t token, hd_err *err)
{
    desk *d = &w->desk[line];
    hd_handwritten *t = d->to;
    d->drawn++;
    if (token == hd_pen_gpt_end(w->model)) return HD_OK;
    hd_status s = put_point(w, d, token - hd_pen_gpt_token(w->model, 0), err);
    if (!s && w->opt->watch) s = add_ids(&d->ids, &token, 1, err);
    t->cut = t->points.count - t->primed >= w->opt->points ||
             (size_t)w->len[line] + d->drawn >= w->model->positions;
    if (s || t->cut) return s;
    w->line[w->seats.count] = line;
    return hd_seats_go(&w->seats, seat, token, err);
}

static hd_status take(void *context, hd_tensor *scores, size_t first, size_t count, bool arrived, hd_err *err)
{
    writing *w = context;
    hd_run *r = w->seats.r;
    hd_lot *lot = hd_host_take(r, (count + 1) * sizeof *lot);
    int32_t *token = hd_host_take(r, (count + 1) * sizeof *token);
    size_t *line = hd_host_take(r, (count + 1) * sizeof *line);
    if (!lot || !token || !line) return HD_OK;
    for (size_t i = 0; i < count; i++) {
        line[i] = arrived ? w->seats.joined - count + i : w->line[i];
        lot[i] = (hd_lot){
            .row = (int32_t)i, .key = (int32_t)line[i], .number = (uint32_t)w->desk[line[i]].drawn + 1};
    }
    const hd_draw_opt ask = {
        .temperature = (float)(1 / (1 + w->opt->bias)), .seed = w->opt->seed, .banned = w->banned, .end = -1};
    if (!hd_draw_tokens(r, scores, lot, count, &ask, token)) return HD_OK;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) s = go_on(w, line[i], first + i, token[i], err);
    return s;
}

static hd_status sit_down(writing *w, const hd_model_folder *f, hd_handwritten *out, const char *const *line,
                          hd_err *err)
{
    size_t n = w->lines, tokens = hd_pen_gpt_tokens(w->model);
    w->desk = hd_mem_array(n, sizeof *w->desk);
    w->line = hd_mem_array(n, sizeof *w->line);
    w->len = hd_mem_array(n, sizeof *w->len);
    w->banned = hd_mem_array(tokens, sizeof *w->banned);
    if (!w->desk || !w->line || !w->len || !w->banned) return hd_err_nomem(err, n * sizeof *w->desk + tokens);
    for (size_t i = 0; i < w->model->vocab; i++) w->banned[i] = true;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        w->desk[i] = (desk){.to = &out[i], .rng = hd_rng_make(w->opt->seed, STREAM + i)};
        s = begin_line(w, f, i, line[i], err);
    }
    return s;
}

hd_status hd_write_tokens_lines(hd_handwritten *out, hd_run *r, const hd_model_folder *f,
                                const char *const *line, size_t lines, const hd_write_opt *opt, hd_err *err)
{
    const hd_pen_gpt *m = f->model.self;
    writing w = {.seats.r = r, .model = &m->opt, .opt = opt, .lines = lines};
    hd_status s = sit_down(&w, f, out, line, err);
    if (!s) s = hd_gpt_stepper(&w.stepper, m->gpt, w.ids.at, w.len, lines, err);
    w.seats.stepper = &w.stepper;
    if (!s) s = hd_seats_run(&w.seats, &(hd_seats_user){.admit = admit, .take = take, .context = &w}, err);
    for (size_t i = 0; !s && i < lines; i++) out[i].points.at[out[i].points.count - 1].lift = true;
    for (size_t i = 0; !s && opt->watch && i < lines; i++)
        s = hd_write_tokens_look(&out[i], r, m, &w.desk[i].ids, err);
    hd_stepper_release(&w.stepper);
    for (size_t i = 0; w.desk && i < lines; i++) hd_ids_release(&w.desk[i].ids);
    hd_ids_release(&w.ids);
    hd_mem_free(w.desk);
    hd_mem_free(w.line);
    hd_mem_free(w.len);
    hd_mem_free(w.banned);
    return s;
}
