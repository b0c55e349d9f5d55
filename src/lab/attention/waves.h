/* Positions as sines and cosines: what the first 600 of them have in common. */
#ifndef HD_LAB_ATTENTION_WAVES_H
#define HD_LAB_ATTENTION_WAVES_H

#include <stddef.h>

#include "base/status.h"

enum { HD_WAVES_FAR = 100, HD_WAVES_WIDEST = 512 };

typedef struct hd_waves {
    size_t d;  /* columns, at most HD_WAVES_WIDEST */
    int first; /* 0: the paper's frequencies, 1: those of lecture 004 */
    /* measured */
    double norm[2];                   /* the least and largest square of a norm */
    double shift;                     /* the largest error of a number of M_17 P(t) */
    double apart;                     /* how far products of two equally far apart differ */
    double nearest;                   /* distance of the nearest two */
    double product[HD_WAVES_FAR + 1]; /* of two positions, by their distance */
    int falls_to;                     /* the last distance up to which products fall; 0: always */
} hd_waves;

hd_status hd_waves_measure(hd_waves *w, hd_err *err);

#endif
