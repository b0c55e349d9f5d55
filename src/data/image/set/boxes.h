/* The forms that boxes come in. */
#ifndef HD_DATA_IMAGE_SET_BOXES_H
#define HD_DATA_IMAGE_SET_BOXES_H

#include "data/image/set/build.h"

/* COCO JSON: images, annotations, categories. */
hd_status hd_set_read_coco(hd_set_builder *b, hd_err *err);

#endif
