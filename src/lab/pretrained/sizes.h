/* How many parameters GPTs have, counted by making them: names and shapes, and no memory. */
#ifndef HD_LAB_PRETRAINED_SIZES_H
#define HD_LAB_PRETRAINED_SIZES_H

#include "lab/experiment.h"

enum { HD_SIZES = 3 }; /* GPT-1, GPT-2, GPT-3 */

/* A table of them. */
hd_status hd_sizes_put(hd_paper *to, double size[HD_SIZES], const hd_lab *lab, hd_err *err);

#endif
