/* What a learner does by itself once it has learned: the words it says, and where it looks. */
#ifndef HD_LAB_DECODER_ANSWER_H
#define HD_LAB_DECODER_ANSWER_H

#include "lab/learner.h"

/* The share of words that are right where they stand when it goes on from its own words, in new pairs of that
   length. */
hd_status hd_answer_judge(double *share, hd_learner *l, int32_t length, hd_err *err);
/* BLEU of what it says by itself of new pairs of the lengths it learns. */
hd_status hd_answer_bleu(double *score, hd_learner *l, hd_err *err);

/* A pair that it is shown, and the weights of its attention to the source while it reads the right words:
   [targets, sources], both with the end token. */
typedef struct hd_gaze {
    size_t sources, targets;
    int32_t source[HD_EXERCISE_SOURCE + 1], target[HD_EXERCISE_TARGET + 1];
    double weight[(HD_EXERCISE_LONGEST + 2) * (HD_EXERCISE_LONGEST + 2)];
} hd_gaze;

/* number: which of the new pairs of that length, at most HD_EXERCISE_LONGEST words on either side. */
hd_status hd_gaze_take(hd_gaze *to, hd_learner *l, int32_t length, uint64_t number, hd_err *err);

#endif
