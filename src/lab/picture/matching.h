/* Matching at least cost, in random tables, beside the best of all ways and beside taking turns. */
#ifndef HD_LAB_PICTURE_MATCHING_H
#define HD_LAB_PICTURE_MATCHING_H

#include <stdint.h>

#include "base/status.h"

enum { HD_MATCHING_TABLES = 200, HD_MATCHING_MOST = 6 }; /* how many, and rows and columns at most */

typedef struct hd_matching {
    double gap; /* by how much it costs more than the best of all ways, or less, the most of all tables */
    double
        greedy; /* what rows cost, one after the other, that take what is cheapest and left: 1 is the best */
} hd_matching;

hd_status hd_matching_try(hd_matching *to, uint64_t seed, hd_err *err);

#endif
