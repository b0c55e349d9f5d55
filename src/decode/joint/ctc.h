/* Decoding of CTC. The frames of an item say labels or blanks; what is wanted is a likely sentence, which
   many paths say. Prefix scores make that a search over sentences like any other: as a stepper, alone or
   mixed with a decoder or a language model (joint/mix.h). */
#ifndef HD_DECODE_JOINT_CTC_H
#define HD_DECODE_JOINT_CTC_H

#include "decode/found.h"
#include "model/stepper.h"

/* Log-probabilities of the frames of all items, in host memory. */
typedef struct hd_ctc_said {
    const hd_real *logp;   /* [sum of frames, classes] */
    const int32_t *frames; /* [items] */
    size_t items, classes;
    int32_t blank; /* the column that is no label */
} hd_ctc_said;

/* The likeliest column of each frame, repeats collapsed, blanks dropped: one guess for each item, without an
   end token, and the log-probability of that one path; frames count for the token they are in or behind. */
hd_status hd_ctc_greedy(hd_found **out, const hd_ctc_said *s, hd_err *err);

/* Scores of a token: the share of what begins with the sentence so far that goes on with it, over all paths
   (Graves 2006; Watanabe et al. 2017). The score of `end`, which may be the blank: the share that is said so
   far and no more. Tokens are columns. What s points to is copied. */
hd_status hd_ctc_stepper(hd_stepper *out, const hd_ctc_said *s, int32_t end, hd_err *err);

#endif
