/* Scenes as pixels. Edges are smooth because a pixel takes the share of a shape that 4 x 4 points in it find.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "data/shapes/scene.h"

enum { POINTS = 4, NOISE = 4, MOST_CORNERS = 4 };

static const int corners_of[HD_SHAPES] = {
#define X(name, reach, corners) corners,
    HD_SHAPE_LIST(X)
#undef X
};

static const int color_of[HD_SHAPE_COLORS][3] = {
#define X(name, red, green, blue) {red, green, blue},
    HD_SHAPE_COLOR_LIST(X)
#undef X
};

/* A shape in pixels. */
typedef struct outline {
    int corners; /* 0: a circle */
    double x, y, reach, corner[MOST_CORNERS][2];
} outline;

/* A corner of a triangle points up, of a square to the upper left. */
static outline outline_of(const hd_shape *s, int side)
{
    const double pi = 3.14159265358979323846, start = corners_of[s->kind] == 4 ? -pi / 4 : 0;
    outline o = {corners_of[s->kind], s->x * side, s->y * side, s->reach * side, {{0}}};
    for (int i = 0; i < o.corners; i++) {
        double angle = s->angle + start + 2 * pi * i / o.corners;
        o.corner[i][0] = o.x + o.reach * sin(angle);
        o.corner[i][1] = o.y - o.reach * cos(angle);
    }
    return o;
}

/* The corners go clockwise: inside is to the right of every edge. */
static bool inside(const outline *o, double x, double y)
{
    if (!o->corners) return (x - o->x) * (x - o->x) + (y - o->y) * (y - o->y) < o->reach * o->reach;
    for (int i = 0; i < o->corners; i++) {
        const double *a = o->corner[i], *b = o->corner[(i + 1) % o->corners];
        if ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) < 0) return false;
    }
    return true;
}

static double share_inside(const outline *o, int x, int y)
{
    if (hypot(x + 0.5 - o->x, y + 0.5 - o->y) > o->reach + 1) return 0;
    int hits = 0;
    for (int k = 0; k < POINTS * POINTS; k++)
        hits += inside(o, x + (k % POINTS + 0.5) / POINTS, y + ((double)(k / POINTS) + 0.5) / POINTS);
    return hits / (double)(POINTS * POINTS);
}

static void paint_pixel(uint8_t *to, const hd_scene *s, const outline *o, int x, int y, int side, hd_rng *rng)
{
    double share[HD_SCENE_MOST];
    for (int i = 0; i < s->count; i++) share[i] = share_inside(&o[i], x, y);
    for (int c = 0; c < 3; c++) {
        double v = s->ground[c][0] + (s->ground[c][1] * x + s->ground[c][2] * y) / side;
        for (int i = 0; i < s->count; i++)
            v += share[i] * (color_of[s->shape[i].color][c] + s->shape[i].shade[c] - v);
        v += (double)hd_rng_below(rng, 2 * NOISE + 1) - NOISE;
        to[c] = (uint8_t)fmin(255, fmax(0, round(v)));
    }
}

hd_status hd_scene_picture(hd_image *out, const hd_scene *s, int side, hd_err *err)
{
    outline o[HD_SCENE_MOST];
    hd_rng rng = hd_rng_make(s->key, 0);
    hd_status st = hd_image_make(out, side, side, 3, "a scene", err);
    if (st) return st;
    for (int i = 0; i < s->count; i++) o[i] = outline_of(&s->shape[i], side);
    uint8_t *p = out->pixel;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++, p += 3) paint_pixel(p, s, o, x, y, side, &rng);
    return HD_OK;
}

hd_box hd_scene_box(const hd_scene *s, int i, int side)
{
    const outline o = outline_of(&s->shape[i], side);
    double low[2] = {o.x - o.reach, o.y - o.reach}, high[2] = {o.x + o.reach, o.y + o.reach};
    for (int k = 0; k < o.corners; k++)
        for (int d = 0; d < 2; d++) {
            low[d] = k ? fmin(low[d], o.corner[k][d]) : o.corner[k][d];
            high[d] = k ? fmax(high[d], o.corner[k][d]) : o.corner[k][d];
        }
    return (hd_box){.label = (int32_t)s->shape[i].kind,
                    .x = (float)low[0],
                    .y = (float)low[1],
                    .width = (float)(high[0] - low[0]),
                    .height = (float)(high[1] - low[1])};
}
