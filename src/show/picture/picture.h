/* A picture that a model read, for people to look at, and how attention flows over it. */
#ifndef HD_SHOW_PICTURE_PICTURE_H
#define HD_SHOW_PICTURE_PICTURE_H

#include "data/image/prepare.h"

enum { HD_PICTURE_SIDE = 512 }; /* most pixels of what is shown */

/* What a model that reads pictures so saw of one: all of it, or its middle where that was cut out; red, green
   and blue, with the shape it has, and not larger than can be looked at. */
hd_status hd_picture_seen(hd_image *out, const hd_image *in, const hd_image_prepare *p, hd_err *err);

#endif
