/* A stepper made of several that go on with the same tokens: its scores are their weighted sum. An attention
   decoder with CTC over the same frames, with a language model, or all three; any search runs on it. */
#ifndef HD_DECODE_JOINT_MIX_H
#define HD_DECODE_JOINT_MIX_H

#include "model/stepper.h"

typedef struct hd_mix_part {
    hd_stepper stepper;
    double weight;        /* not negative; 0: it is not asked */
    const int32_t *token; /* [vocabulary of the first part]: what a token is called here, -1: it has no name
                             and is never taken; NULL: the same everywhere. Must outlive the stepper */
} hd_mix_part;

enum { HD_MIX_PARTS = 4 };

/* Parts have the same items. The vocabulary and the sources are the first part's, an item's room is the
   smallest. The steppers belong to the result, unless it fails. */
hd_status hd_mix_stepper(hd_stepper *out, const hd_mix_part *part, size_t parts, hd_err *err);

#endif
