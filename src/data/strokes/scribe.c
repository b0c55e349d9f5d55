/* From glyphs to the points of a pen: laid side by side, joined, bent, then sampled along their length. */
#include "data/strokes/scribe.h"

#include <math.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "data/strokes/saying.h"

/* Streams of the seed: one a line. */
#define STREAM 0x7363726962650000u

static const double pi = 3.14159265358979323846;
static const double nearest = 0.25; /* points are not closer than this: of a dot one remains */

enum { BASE = 9, REACH = 5 }; /* the base line of the fonts; how far apart letters are joined */

/* -- fonts -- */

static const char *const files[HD_SCRIBE_FONTS] = {
#define X(file) #file ".jhf",
    HD_SCRIBE_FONT_LIST(X)
#undef X
};

hd_status hd_scribe_open(hd_scribe **out, const char *folder, hd_err *err)
{
    hd_scribe *s = hd_mem_zero(sizeof *s);
    hd_status st = s ? HD_OK : hd_err_nomem(err, sizeof *s);
    for (int i = 0; !st && i < HD_SCRIBE_FONTS; i++) {
        char path[HD_PATH];
        hd_err why = {0};
        st = hd_path(path, folder, files[i], err);
        if (!st) st = hd_font_read(&s->font[i], path, &why);
        if (st == HD_EFILE)
            hd_err_set(err, st,
                       "%s (stroke fonts: install Debian's hershey-fonts-data, or name a folder of .jhf "
                       "files with --fonts)",
                       why.text);
        else if (st)
            hd_err_set(err, st, "%s", why.text);
    }
    if (st)
        hd_scribe_free(s);
    else
        *out = s;
    return st;
}

void hd_scribe_free(hd_scribe *s)
{
    hd_mem_free(s);
}

/* -- a hand -- */

static double between(hd_rng *rng, double low, double high)
{
    return low + (high - low) * hd_rng_unit(rng);
}

hd_hand hd_hand_draw(hd_rng *rng)
{
    hd_hand h = {.font = (hd_scribe_font)hd_rng_below(rng, HD_SCRIBE_FONTS)};
    bool script = h.font == HD_SCRIBE_scripts || h.font == HD_SCRIBE_cursive;
    h.slant = between(rng, script ? -0.25 : -0.1, script ? 0.15 : 0.45);
    h.scale = between(rng, 0.85, 1.15);
    h.drift = between(rng, -0.03, 0.03), h.wave = between(rng, 0, 0.8);
    h.length = between(rng, 60, 160), h.phase = between(rng, 0, 2 * pi);
    h.bend = between(rng, 0.1, 0.6), h.bend_length = between(rng, 15, 40);
    h.bend_phase = between(rng, 0, 2 * pi);
    h.space = between(rng, -0.5, 2);
    h.joins = hd_rng_below(rng, 3) ? between(rng, 0.7, 1) : 0;
    h.step = 2.2, h.uneven = 0.15, h.tremor = between(rng, 0.03, 0.09);
    return h;
}

/* -- glyphs side by side -- */

typedef struct writing {
    const hd_hand *hand;
    const hd_scribe *scribe;
    hd_rng *rng;
    hd_pen_points track; /* corners of strokes, in units of the fonts */
    double x;            /* where the next glyph begins */
} writing;

/* A place of the page, as this hand has it. */
static void place(const hd_hand *h, double x, double y, hd_pen_point *to)
{
    double leaning = h->scale * (x + h->slant * (BASE - y)), down = h->scale * (y - BASE);
    double turn = 2 * pi / h->bend_length;
    to->x = (float)(leaning + h->bend * sin(turn * (leaning + 0.7 * down) + h->bend_phase));
    to->y = (float)(down + h->bend * cos(turn * (down + 0.6 * leaning) + h->bend_phase) + h->drift * leaning +
                    h->wave * sin(2 * pi * leaning / h->length + h->phase));
}

static bool touches(const hd_pen_point *a, const hd_pen_point *b, double scale)
{
    double across = (double)(b->x - a->x), down = (double)(b->y - a->y);
    return hypot(across, down) <= REACH * scale && across > -1;
}

/* Digits and marks of the scripts are drawn with double lines: those of a plain font stand for them. */
static const hd_font *font_for(const writing *w, char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return &w->scribe->font[letter ? w->hand->font : HD_SCRIBE_futural];
}

static hd_status add_glyph(writing *w, const hd_font *font, const hd_glyph *g, hd_err *err)
{
    hd_status s = HD_OK;
    hd_pen_points *t = &w->track;
    double origin = w->x - g->left;
    bool joins = hd_rng_unit(w->rng) < w->hand->joins;
    for (uint16_t i = 0; !s && i < g->count; i++) {
        const hd_font_point *from = &font->point[g->first + i];
        hd_pen_point p = {0};
        place(w->hand, origin + from->x, from->y, &p);
        if (from->up && t->count) {
            hd_pen_point *last = &t->at[t->count - 1];
            last->lift = i > 0 || !joins || !touches(last, &p, w->hand->scale);
        }
        s = hd_pen_points_add(t, p, err);
    }
    w->x += g->right - g->left + w->hand->space;
    return s;
}

static hd_status lay_track(writing *w, const char *text, hd_err *err)
{
    hd_status s = HD_OK;
    for (const char *c = text; !s && *c; c++) {
        const hd_font *font = font_for(w, *c);
        const hd_glyph *g = hd_font_glyph(font, *c);
        if (!g)
            return hd_err_set(err, HD_EARG, "a character of \"%s\" is not in the fonts, which have ASCII",
                              text);
        if (!g->count && w->track.count) w->track.at[w->track.count - 1].lift = true; /* a space */
        s = add_glyph(w, font, g, err);
    }
    if (!s && !w->track.count) return hd_err_set(err, HD_EARG, "\"%s\" has no letter to write", text);
    if (!s) w->track.at[w->track.count - 1].lift = true;
    return s;
}

/* -- points along the track -- */

static hd_status put_point(hd_pen_points *to, const writing *w, double x, double y, bool lift, hd_err *err)
{
    double tremor = w->hand->tremor;
    hd_pen_point p = {(float)round((x + tremor * hd_rng_normal(w->rng)) * HD_SCRIBE_UNIT),
                      (float)round((y + tremor * hd_rng_normal(w->rng)) * HD_SCRIBE_UNIT), lift};
    return hd_pen_points_add(to, p, err);
}

static double step_of(const writing *w)
{
    return w->hand->step * fmax(0.4, 1 + w->hand->uneven * hd_rng_normal(w->rng));
}

/* A stroke of corners from .. to: its ends are kept, between them points are a step apart. */
static hd_status sample_stroke(hd_pen_points *out, const writing *w, const hd_pen_point *corner, size_t count,
                               hd_err *err)
{
    double left = 0, whole = 0;
    for (size_t i = 1; i < count; i++)
        whole += hypot((double)(corner[i].x - corner[i - 1].x), (double)(corner[i].y - corner[i - 1].y));
    bool dot = whole < nearest;
    hd_status s = put_point(out, w, (double)corner[0].x, (double)corner[0].y, dot, err);
    left = step_of(w);
    for (size_t i = 1; !dot && !s && i < count; i++) {
        double x = (double)corner[i - 1].x, y = (double)corner[i - 1].y, across = (double)corner[i].x - x,
               down = (double)corner[i].y - y, length = hypot(across, down), at = 0;
        while (!s && length - at > left) {
            at += left;
            whole -= left;
            left = step_of(w);
            if (whole < left / 2) break; /* the end is near and stands for it */
            s = put_point(out, w, x + across * at / length, y + down * at / length, false, err);
        }
        left -= length - at, whole -= length - at;
        if (left < 0) left = step_of(w);
    }
    const hd_pen_point *end = &corner[count - 1];
    return s || dot ? s : put_point(out, w, (double)end->x, (double)end->y, true, err);
}

hd_status hd_scribe_write(hd_pen_points *to, const hd_scribe *s, const hd_hand *hand, const char *text,
                          hd_rng *rng, hd_err *err)
{
    writing w = {.hand = hand, .scribe = s, .rng = rng};
    size_t first = to->count;
    hd_status st = lay_track(&w, text, err);
    for (size_t from = 0, end = 0; !st && from < w.track.count; from = end) {
        while (!w.track.at[end++].lift) continue;
        st = sample_stroke(to, &w, w.track.at + from, end - from, err);
    }
    hd_pen_points_release(&w.track);
    if (st) return st;
    const hd_pen_point origin = to->at[first];
    for (size_t i = first; i < to->count; i++) to->at[i].x -= origin.x, to->at[i].y -= origin.y;
    return HD_OK;
}

hd_status hd_scribe_line(hd_text *text, hd_pen_points *points, const hd_scribe *s, uint64_t seed,
                         uint64_t number, hd_err *err)
{
    hd_rng rng = hd_rng_make(seed, STREAM + number);
    hd_saying_draw(text, &rng);
    hd_status st = hd_text_status(text, err);
    const hd_hand hand = hd_hand_draw(&rng);
    points->count = 0;
    return st ? st : hd_scribe_write(points, s, &hand, text->data, &rng, err);
}
