/* Many words drawn, and how far their shares are from what they should be. */
#ifndef HD_LAB_DECODING_CHANCE_H
#define HD_LAB_DECODING_CHANCE_H

#include "decode/draw.h"

enum { HD_CHANCE_DRAWS = 4000 };

/* Of HD_CHANCE_DRAWS words drawn by their scores, the share of each. */
hd_status hd_chance_draw(double *share, hd_run *r, const double *score, size_t words, const hd_draw_opt *o,
                         hd_err *err);
/* Pearson's statistic of shares of HD_CHANCE_DRAWS; a word that cannot be drawn and was makes it infinite. */
double hd_chance_off(const double *share, const double *p, size_t words);

#endif
