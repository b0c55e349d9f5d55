/* Pictures moved: mirrored, turned, shifted, cut out or sheared, each with its boxes. A point is (x, y) in
   pixels from the upper left corner, so that pixel i reaches from i to i + 1. Pixels from outside a picture
   are zeros. */
#ifndef HD_DATA_IMAGE_AUGMENT_WARP_H
#define HD_DATA_IMAGE_AUGMENT_WARP_H

#include "data/image/set.h"

/* Boxes of a picture; box NULL: none. */
typedef struct hd_boxes {
    hd_box *box;
    size_t count;
} hd_boxes;

/* Boxes times a scale and then moved by (dx, dy). */
void hd_boxes_move(hd_boxes b, double scale_x, double scale_y, double dx, double dy);
/* Leaves out boxes whose center is outside a picture of this size and cuts the others at its edges. */
void hd_boxes_cut(hd_boxes *b, int width, int height);

void hd_warp_mirror(hd_image *im, hd_boxes b, bool horizontal, bool vertical);
/* Counterclockwise by so many right angles, 0 to 3. */
hd_status hd_warp_turn(hd_image *im, hd_boxes b, int turns, hd_err *err);
/* A picture of this size with the old one's left upper corner at (x, y), which may be negative. */
hd_status hd_warp_place(hd_image *im, hd_boxes b, int width, int height, int x, int y, hd_err *err);

/* The point (x, y) comes from (xx x + xy y + dx, yx x + yy y + dy) of the old picture. */
typedef struct hd_affine {
    double xx, xy, dx, yx, yy, dy;
} hd_affine;

/* About the middle of a picture: rotated by an angle (radians), sheared by shares of its sides. */
hd_affine hd_affine_about(const hd_image *im, double angle, double shear_x, double shear_y);

/* Bilinear. A box becomes the one around its corners. The map must have an inverse. */
hd_status hd_warp_affine(hd_image *im, hd_boxes b, const hd_affine *from, hd_err *err);

#endif
