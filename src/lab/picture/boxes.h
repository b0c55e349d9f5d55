/* Boxes on a picture, as plots of it. */
#ifndef HD_LAB_PICTURE_BOXES_H
#define HD_LAB_PICTURE_BOXES_H

#include "lab/picture/finder.h"

/* The objects of a picture, and those that its HD_FINDER_QUERIES answers say. */
void hd_boxes_put_answers(hd_paper *to, const char *title, const hd_detr_object *object, size_t objects,
                          const hd_finder_answer *answer);
/* Where each query answers: one deviation around the middle; a query that is silent has no box. */
void hd_boxes_put_places(hd_paper *to, const char *title, const hd_finder_place *query);

#endif
