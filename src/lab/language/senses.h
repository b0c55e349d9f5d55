/* A small BERT that learns from sentences in which one word has two senses. */
#ifndef HD_LAB_LANGUAGE_SENSES_H
#define HD_LAB_LANGUAGE_SENSES_H

#include "lab/experiment.h"

/* Mean cosines of that word's rows in two sentences: of one sense, of two. */
hd_status hd_senses_read(double cosine[2], const hd_lab *lab, uint64_t seed, hd_err *err);

#endif
