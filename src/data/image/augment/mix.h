/* Shares of two pictures that are mixed. */
#ifndef HD_DATA_IMAGE_AUGMENT_MIX_H
#define HD_DATA_IMAGE_AUGMENT_MIX_H

#include "base/rng.h"
#include "data/image/image.h"

/* Uniform for alpha 1; near 0 and 1 for small ones. */
double hd_mix_beta(hd_rng *rng, double alpha); /* of Beta(alpha, alpha), alpha > 0 */

/* Each picture becomes `share` of itself and 1 - share of the other; returns the share as it was rounded.
   Both have one size. */
float hd_mix_blend(hd_image *a, hd_image *b, double share);
/* They exchange a rectangle of about the share 1 - share; returns what is left of each. */
float hd_mix_cut(hd_image *a, hd_image *b, double share, hd_rng *rng);

#endif
