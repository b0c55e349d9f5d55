/* What is in a scene, and how that is said. Easy to get wrong: a relation must be visible, so that one
   direction is clearly longer than the other. */
#include "data/shapes/scene.h"

#include <math.h>

#include "base/rng.h"

/* Streams of the seed: one a scene. */
#define STREAM 0x73686170000000u

enum { TRIES = 200, SHADE = 12 };

/* Of a circle, by the number of the object: each is at least a third larger than the next. */
static const double radius[HD_SCENE_MOST][2] = {{0.200, 0.240}, {0.130, 0.150}, {0.085, 0.097}};
static const double apart = 0.02, edge = 0.01, clearly = 1.4, tilt = 0.2;

static const struct {
    const char *name;
    double reach;
} kinds[HD_SHAPES] = {
#define X(name, reach, corners) {#name, reach},
    HD_SHAPE_LIST(X)
#undef X
};

static const char *const colors[HD_SHAPE_COLORS] = {
#define X(name, red, green, blue) #name,
    HD_SHAPE_COLOR_LIST(X)
#undef X
};

const char *hd_shape_name(hd_shape_kind kind)
{
    return kinds[kind].name;
}

const char *hd_shape_color_name(hd_shape_color color)
{
    return colors[color];
}

/* -- drawing -- */

static double between(hd_rng *rng, double low, double high)
{
    return low + (high - low) * hd_rng_unit(rng);
}

static void draw_shape(hd_shape *s, int number, hd_rng *rng)
{
    s->kind = (hd_shape_kind)hd_rng_below(rng, HD_SHAPES);
    s->color = (hd_shape_color)hd_rng_below(rng, HD_SHAPE_COLORS);
    s->reach = between(rng, radius[number][0], radius[number][1]) * kinds[s->kind].reach;
    s->angle = between(rng, -tilt, tilt);
    s->x = between(rng, s->reach + edge, 1 - s->reach - edge);
    s->y = between(rng, s->reach + edge, 1 - s->reach - edge);
    for (int c = 0; c < 3; c++) s->shade[c] = (int)hd_rng_below(rng, 2 * SHADE + 1) - SHADE;
}

static bool stands_clear(const hd_scene *s, int number)
{
    const hd_shape *a = &s->shape[number], *first = &s->shape[0];
    const double across = fabs(a->x - first->x), down = fabs(a->y - first->y);
    if (number && across < clearly * down && down < clearly * across) return false;
    for (int i = 0; i < number; i++) {
        const hd_shape *b = &s->shape[i];
        if (a->color == b->color || hypot(a->x - b->x, a->y - b->y) < a->reach + b->reach + apart)
            return false;
    }
    return true;
}

static bool place_shapes(hd_scene *s, hd_rng *rng)
{
    for (int i = 0; i < s->count; i++) {
        int left = TRIES;
        do draw_shape(&s->shape[i], i, rng);
        while (!stands_clear(s, i) && --left);
        if (!left) return false;
    }
    return true;
}

/* Light or dark grey with a tint, a little lighter towards one side. */
static void draw_ground(hd_scene *s, hd_rng *rng)
{
    const double level = hd_rng_below(rng, 2) ? between(rng, 205, 240) : between(rng, 15, 60);
    const double right = between(rng, -12, 12), down = between(rng, -12, 12);
    for (int c = 0; c < 3; c++) {
        s->ground[c][0] = level + between(rng, -8, 8) - (right + down) / 2;
        s->ground[c][1] = right, s->ground[c][2] = down;
    }
}

void hd_scene_draw(hd_scene *out, uint64_t seed, uint64_t number, int most)
{
    hd_rng rng = hd_rng_make(seed, STREAM + number);
    *out = (hd_scene){.key = hd_rng_row_key(seed, (uint32_t)number, (uint32_t)(number >> 32), 0, 0)};
    out->count = 1 + (int)hd_rng_below(&rng, (uint32_t)most);
    draw_ground(out, &rng);
    while (!place_shapes(out, &rng)) continue; /* the first stands where the others have no room */
}

/* -- captions -- */

static const char *relation(const hd_shape *a, const hd_shape *b)
{
    const double across = a->x - b->x, down = a->y - b->y;
    if (fabs(across) > fabs(down)) return across < 0 ? "left of" : "right of";
    return down < 0 ? "above" : "below";
}

static void name_shape(hd_text *to, const hd_shape *s)
{
    const char *color = colors[s->color];
    hd_text_print(to, "%s %s %s", color[0] == 'o' ? "an" : "a", color, kinds[s->kind].name);
}

/* "a red circle above a blue square and left of a green triangle" */
static void from_the_first(hd_text *to, const hd_scene *s)
{
    name_shape(to, &s->shape[0]);
    for (int i = 1; i < s->count; i++) {
        hd_text_print(to, "%s %s ", i > 1 ? " and" : "", relation(&s->shape[0], &s->shape[i]));
        name_shape(to, &s->shape[i]);
    }
}

/* "a blue square below and a green triangle right of a red circle" */
static void from_the_others(hd_text *to, const hd_scene *s)
{
    for (int i = 1; i < s->count; i++) {
        if (i > 1) hd_text_put(to, "and ");
        name_shape(to, &s->shape[i]);
        hd_text_print(to, " %s ", relation(&s->shape[i], &s->shape[0]));
    }
    name_shape(to, &s->shape[0]);
}

void hd_scene_caption(hd_text *to, const hd_scene *s, int number)
{
    if (number == 1) hd_text_put(to, "there is ");
    if (number == 2 && s->count > 1)
        from_the_others(to, s);
    else
        from_the_first(to, s);
    if (number == 2 && s->count == 1) hd_text_put(to, " alone");
}
