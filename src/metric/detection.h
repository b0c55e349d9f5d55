/* Average precision of boxes, as COCO computes it: detections of a class in order of their scores, each takes
   the free true box of its picture with which it overlaps most; precision made monotone, its mean at 101
   recalls, over overlaps (IoU) of 0.5 to 0.95 and over the classes that are there. At most 100 detections of
   a class in a picture count, those of the highest scores. */
#ifndef HD_METRIC_DETECTION_H
#define HD_METRIC_DETECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_detection_box {
    size_t picture; /* any number */
    size_t label;   /* of the class */
    double x, y, width, height;
    double score;
    bool crowd; /* a true box of many objects: whatever lies in it counts neither way */
} hd_detection_box;

typedef struct hd_detection_score {
    size_t truths;         /* without crowds; 0: the class is not in the mean */
    size_t found;          /* detections that counted */
    double ap, ap50, ap75; /* 0 to 1; NaN where there are no truths */
} hd_detection_score;

typedef struct hd_detection hd_detection;

hd_status hd_detection_new(hd_detection **out, size_t classes, hd_err *err);
void hd_detection_free(hd_detection *d); /* accepts NULL */
hd_status hd_detection_add_truth(hd_detection *d, const hd_detection_box *box, hd_err *err);
hd_status hd_detection_add_found(hd_detection *d, const hd_detection_box *box, hd_err *err);

/* all: the means over classes and the sums of counts; of: [classes], may be NULL. More may be added later. */
hd_status hd_detection_finish(hd_detection *d, hd_detection_score *all, hd_detection_score *of, hd_err *err);

#endif
