/* The answer most samples of a prompt agree on. An answer is a text without the white space around it. */
#ifndef HD_TASK_LANGUAGE_MAJORITY_H
#define HD_TASK_LANGUAGE_MAJORITY_H

#include "task/language/generate.h"

typedef struct hd_answer {
    hd_line text; /* within that of the first sample that gave it */
    size_t count;
    double logp; /* of all samples that gave it, summed */
} hd_answer;

/* The different answers among n samples, which lend their texts: those given more often first, of equals the
   one with the higher log-probability, then the one given first. out [n]; returns how many there are. */
size_t hd_vote(hd_answer *out, const hd_generated *sample, size_t n);

#endif
