/* Forced scoring: what a model thinks of sentences that are given. */
#ifndef HD_DECODE_SCORE_H
#define HD_DECODE_SCORE_H

#include "decode/found.h"
#include "decode/length.h"
#include "model/stepper.h"

/* Fills logp, sum and score of every guess (hd_found_of makes them of any sentences); item i of f is item i
   of s. seats: about as many guesses go side by side, and the next ones join as some end; 0: all. With
   hd_found_sort after it an n-best list is reranked. Steps the stepper to its end. */
hd_status hd_found_score(hd_found *f, hd_run *r, const hd_stepper *s, const hd_length *length, size_t seats,
                         hd_err *err);

#endif
