/* The best ways to choose one guess for each part of a line. */
#ifndef HD_TASK_MASKED_COMBINATION_H
#define HD_TASK_MASKED_COMBINATION_H

#include "decode/found.h"

typedef struct hd_choices {
    const hd_guess *at; /* best first, in the order that is asked for */
    size_t count;
} hd_choices;

/* Up to `most` different combinations by the sum of their scores, finished_first: those with fewest
   unfinished guesses before the others; pick [most, parts] gets the number of each part's guess, 0 where it
   has none. Returns how many in *count, at least 1. */
hd_status hd_combine(size_t *pick, size_t *count, const hd_choices *part, size_t parts, size_t most,
                     bool finished_first, hd_err *err);

#endif
