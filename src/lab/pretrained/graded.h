/* A classifier of the user's on the sets of GLUE. */
#ifndef HD_LAB_PRETRAINED_GRADED_H
#define HD_LAB_PRETRAINED_GRADED_H

#include "data/labels/glue.h"
#include "lab/experiment.h"

/* A table of the sets in lab->data whose labels lab->model has, with figures that are published beside them,
   and whether it knows more than always the same answer. HD_EARG where there is no such set. */
hd_status hd_graded_put(hd_paper *to, const hd_lab *lab, const double beside[HD_GLUE_SETS], hd_err *err);

#endif
