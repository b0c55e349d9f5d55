/* Exercises: small tasks of words to words that sequence models are judged by, drawn at random. A word is a
   number from 0 on: first those of the task itself, such as yes and no, then plain ones. */
#ifndef HD_DATA_EXERCISE_EXERCISE_H
#define HD_DATA_EXERCISE_EXERCISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/text.h"

/* X(name, help) */
#define HD_EXERCISE_LIST(X)                                                                   \
    X(copy, "say the words again")                                                            \
    X(reverse, "say them from the last to the first")                                         \
    X(expand, "say every word as often as the number behind it says")                         \
    X(gap, "say the first word, a gap of others later")                                       \
    X(sums, "add two numbers, digit by digit")                                                \
    X(brackets, "say which bracket closes each that is open, from the inside to the outside") \
    X(questions, "answer what the first word asks about those behind it")

typedef enum hd_exercise_kind {
#define X(name, help) HD_EXERCISE_##name,
    HD_EXERCISE_LIST(X)
#undef X
        HD_EXERCISES
} hd_exercise_kind;
extern const char *const hd_exercise_names[HD_EXERCISES + 1]; /* ends with NULL */

enum {
    HD_EXERCISE_LONGEST = 64,
    HD_EXERCISE_WORDS = 26,
    HD_EXERCISE_SOURCE = 2 * HD_EXERCISE_LONGEST + 1, /* most words of each */
    HD_EXERCISE_TARGET = 4 * HD_EXERCISE_LONGEST
};

typedef struct hd_exercise {
    int32_t source[HD_EXERCISE_SOURCE], target[HD_EXERCISE_TARGET];
    int32_t sources, targets;
} hd_exercise;

/* How many words a task has, with so many plain ones, 1 to HD_EXERCISE_WORDS. */
int32_t hd_exercise_vocabulary(hd_exercise_kind kind, int32_t plain);
/* As text. */
const char *hd_exercise_word(hd_exercise_kind kind, int32_t word);

/* One of a length from 1 to HD_EXERCISE_LONGEST: of words, of a gap, of digits, of brackets. */
void hd_exercise_draw(hd_exercise *to, hd_exercise_kind kind, int32_t plain, int32_t length, hd_rng *rng);

/* Files of exercises share none: what an exercise asks says which of them it belongs to. */
#define HD_EXERCISE_SPLIT_LIST(X) X(train) X(valid) X(test)
typedef enum hd_exercise_split {
#define X(name) HD_EXERCISE_SPLIT_##name,
    HD_EXERCISE_SPLIT_LIST(X)
#undef X
        HD_EXERCISE_SPLITS
} hd_exercise_split;
hd_exercise_split hd_exercise_split_of(const hd_exercise *x);

typedef struct hd_exercise_opt {
    hd_exercise_kind kind;
    int32_t plain, shortest, longest; /* plain words, and lengths */
} hd_exercise_opt;

/* One of that split as text, words parted by blanks, in place of what the texts hold. HD_ELIMIT where there
   are too few for it. */
hd_status hd_exercise_next(hd_text *source, hd_text *target, const hd_exercise_opt *o,
                           hd_exercise_split split, hd_rng *rng, hd_err *err);

#endif
