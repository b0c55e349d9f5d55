/* How much of what an encoder gave reaches each word that a decoder says. */
#ifndef HD_LAB_DECODER_REACH_H
#define HD_LAB_DECODER_REACH_H

#include "model/encdec/encdec.h"

enum { HD_REACH_WORDS = 24, HD_REACH_SOURCE = 6, HD_REACH_INPUTS = 8 };

/* share [HD_REACH_WORDS]: the norm of the gradient of each word's row by all that the encoder gave, as a
   share of that of the first; the mean of HD_REACH_INPUTS pairs of random words. */
hd_status hd_reach_of(double *share, hd_run *r, const hd_encdec *m, uint64_t seed, hd_err *err);

#endif
