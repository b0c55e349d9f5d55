/* A witness of a forward pass: the weights of a decoder's attention to its source, as numbers of the host. */
#ifndef HD_LAB_WITNESS_H
#define HD_LAB_WITNESS_H

#include "op/probe.h"

typedef struct hd_witness {
    double *to;         /* weights, target by target, of one item; set by the caller */
    size_t room, count; /* count: taken so far; what has no room is not taken */
    hd_probe probe;
} hd_witness;

/* w stays where it is until hd_witness_end. */
void hd_witness_begin(hd_run *r, hd_witness *w);
void hd_witness_end(hd_run *r);

/* How much of the weights of a target lies on the part of the source that it names. */
typedef struct hd_focus {
    double all;          /* the sum of the weights */
    double mass, chance; /* on what is named; of the places, the share that is */
} hd_focus;

hd_focus hd_focus_of(const double *weight, const bool *named, size_t places);

#endif
