/* Translators as they were published before the Transformer and with it: BLEU, and what training cost. */
#ifndef HD_LAB_DECODER_PUBLISHED_H
#define HD_LAB_DECODER_PUBLISHED_H

#include "view/paper/paper.h"

/* The table, and the claim that is made of it, computed from its numbers. */
void hd_published_put(hd_paper *to);

#endif
