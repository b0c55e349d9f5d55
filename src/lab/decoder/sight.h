/* Sight: how many words of a sentence a row of an encoder depends on. */
#ifndef HD_LAB_DECODER_SIGHT_H
#define HD_LAB_DECODER_SIGHT_H

#include "lab/experiment.h"

/* Convolutions, recurrent cells and self-attention in a table, and what is claimed of them. */
hd_status hd_sight_put(hd_paper *to, const hd_lab *lab, hd_err *err);

#endif
