/* Scenes of one to three colored shapes, drawn at random: pictures with a class, boxes and a caption, each of
   which follows from what can be seen. No two objects of a scene have one color, each is clearly smaller than
   the one before, and each lies clearly above, below, left or right of the first. */
#ifndef HD_DATA_SHAPES_SCENE_H
#define HD_DATA_SHAPES_SCENE_H

#include "base/text.h"
#include "data/image/set.h"

/* X(name, radius of its corners where a circle of the same look has 1, corners) */
#define HD_SHAPE_LIST(X) \
    X(circle, 1.0, 0)    \
    X(square, 1.2, 4)    \
    X(triangle, 1.35, 3)

typedef enum hd_shape_kind {
#define X(name, reach, corners) HD_SHAPE_##name,
    HD_SHAPE_LIST(X)
#undef X
        HD_SHAPES
} hd_shape_kind;

/* X(name, red, green, blue) */
#define HD_SHAPE_COLOR_LIST(X) \
    X(red, 220, 40, 40)        \
    X(green, 40, 165, 60)      \
    X(blue, 50, 80, 220)       \
    X(yellow, 240, 210, 40)    \
    X(purple, 150, 60, 190)    \
    X(orange, 240, 130, 30)

typedef enum hd_shape_color {
#define X(name, red, green, blue) HD_SHAPE_COLOR_##name,
    HD_SHAPE_COLOR_LIST(X)
#undef X
        HD_SHAPE_COLORS
} hd_shape_color;

enum { HD_SCENE_MOST = 3, HD_SCENE_CAPTIONS = 3, HD_SCENE_SIDE_LEAST = 16, HD_SCENE_SIDE_MOST = 2048 };

/* In units of the picture's side, from the upper left corner. */
typedef struct hd_shape {
    hd_shape_kind kind;
    hd_shape_color color;
    double x, y, reach; /* its middle; how far its corners are from there */
    double angle;       /* radians */
    int shade[3];       /* what is added to its color */
} hd_shape;

typedef struct hd_scene {
    int count;
    hd_shape shape[HD_SCENE_MOST]; /* the largest first */
    double ground[3][3]; /* of each channel: value in the upper left corner, slope right, slope down */
    uint64_t key;        /* of the noise */
} hd_scene;

/* Scene of this number with at most so many objects: a function of these alone. */
void hd_scene_draw(hd_scene *out, uint64_t seed, uint64_t number, int most);

/* A picture of side x side pixels with smooth edges and mild noise. */
hd_status hd_scene_picture(hd_image *out, const hd_scene *s, int side, hd_err *err);
/* The smallest box around a shape, in pixels; its label is the kind. */
hd_box hd_scene_box(const hd_scene *s, int i, int side);

const char *hd_shape_name(hd_shape_kind kind);
const char *hd_shape_color_name(hd_shape_color color);

/* The class of a scene: what its largest shape is. */
static inline const char *hd_scene_class(const hd_scene *s)
{
    return hd_shape_name(s->shape[0].kind);
}

/* Appends a caption. Number 0 is the one form that a scene has, "a red circle above a blue square and left of
   a green triangle": where the first stands to the others; further ones say the same in other words. */
void hd_scene_caption(hd_text *to, const hd_scene *s, int number);

#endif
