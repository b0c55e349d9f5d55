/* What is asked of a detector: a folder whose config.json says "task": "detect". Which objects a picture
   shows, and where; and how well it finds those that are known. */
#ifndef HD_TASK_DETECT_DETECT_H
#define HD_TASK_DETECT_DETECT_H

#include "data/image/set.h"
#include "metric/detection.h"
#include "model/vision/detr.h"
#include "task/model_folder.h"

/* An object: its upper left corner and size in pixels of the picture as it was decoded. */
typedef struct hd_found_object {
    size_t label, query; /* of the folder's labels; which query answered */
    double score;        /* probability */
    double x, y, width, height;
} hd_found_object;

typedef struct hd_found_objects {
    hd_found_object *at; /* the likeliest first */
    size_t count;
} hd_found_objects;

static inline hd_detr *hd_model_folder_detr(const hd_model_folder *f)
{
    return f->model.self;
}
const hd_image_prepare *hd_detector_prepare(const hd_model_folder *f); /* how it reads a picture */

/* What is more likely than the threshold. */
hd_status hd_detect(hd_found_objects *out, hd_run *r, const hd_model_folder *f, const hd_image *picture,
                    double threshold, hd_err *err);
void hd_found_objects_release(hd_found_objects *f); /* accepts {0} */

typedef struct hd_detector_judged {
    hd_detection_score all, *of; /* [labels] */
    double loss;                 /* of an object */
    size_t pictures, objects;
} hd_detector_judged;

/* Average precision on pictures whose objects are known; labels are the folder's. together: all processes
   call it, share the pictures out and find the same. */
hd_status hd_detector_judge(hd_detector_judged *out, hd_run *r, const hd_model_folder *f,
                            const hd_image_set *set, bool together, hd_err *err);
void hd_detector_judged_release(hd_detector_judged *j); /* accepts {0} */

#endif
