/* Offsets of a pen in bins, so that a point is one of a few: rings around where the pen is, each cut into
   directions. The rings beyond the first grow by one factor: short offsets, of which letters are made, are
   told apart more finely than long ones between words. Numbers are offsets over the deviation of the training
   data (data/strokes/scale.h), with the mean left in them. A bin has an area, which turns its probability
   into a density. */
#ifndef HD_DATA_STROKES_BINS_H
#define HD_DATA_STROKES_BINS_H

#include "data/strokes/scale.h"

typedef struct hd_pen_bins {
    int directions, lengths; /* the first direction is right, the next ones turn downward */
    float nearest, farthest; /* ends of the first ring and of the last */
} hd_pen_bins;

/* Usual ones, as far as the lines go. */
hd_status hd_pen_bins_measure(hd_pen_bins *to, const hd_pen_scale *scale, const hd_strokes *s, hd_err *err);
hd_status hd_pen_bins_check(const hd_pen_bins *b, hd_err *err);

/* Bins, each with the pen down and lifted behind the point. */
static inline size_t hd_pen_bins_count(const hd_pen_bins *b)
{
    return 2 * (size_t)b->directions * (size_t)b->lengths;
}
static inline bool hd_pen_bin_lifts(int32_t bin)
{
    return bin & 1;
}

/* The bin of an offset; what is beyond the last ring counts as in it. */
int32_t hd_pen_bin_of(const hd_pen_bins *b, const double offset[2], bool lift);
/* Of p[1] behind p[0]. */
int32_t hd_pen_bin_behind(const hd_pen_bins *b, const hd_pen_scale *scale, const hd_pen_point *p);
double hd_pen_bin_area(const hd_pen_bins *b, int32_t bin);
/* A place in a bin: equal parts of [0, 1) x [0, 1) have equal areas; 0.5, 0.5 is its middle. */
void hd_pen_bin_place(const hd_pen_bins *b, int32_t bin, double out, double around, double offset[2]);

#endif
