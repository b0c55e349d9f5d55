/* Which classes are taken for which, and what that says of a classifier. Only what occurs is kept, so that
   memory grows with the items and the classes, not with the pairs of classes. */
#ifndef HD_METRIC_CONFUSION_H
#define HD_METRIC_CONFUSION_H

#include <stddef.h>

#include "base/status.h"

typedef struct hd_confusion_cell {
    size_t truth, guess, count;
} hd_confusion_cell;

enum { HD_CONFUSION_NEAR = 5 };

typedef struct hd_confusion {
    size_t classes, count, right;
    size_t near; /* items whose class is among the HD_CONFUSION_NEAR most likely; whoever knows adds it up */
    size_t *truths, *guesses, *hits; /* [classes] items of a class, guesses of it, and those that are right */
    hd_confusion_cell *cell;         /* [room] a hash table; count 0: free */
    size_t room, cells;
} hd_confusion;

hd_status hd_confusion_init(hd_confusion *c, size_t classes, hd_err *err);
void hd_confusion_release(hd_confusion *c); /* accepts {0} */
/* A failure, of memory alone, leaves it as it was. */
hd_status hd_confusion_add(hd_confusion *c, size_t truth, size_t guess, hd_err *err);

size_t hd_confusion_count(const hd_confusion *c, size_t truth, size_t guess);
/* All cells that are not 0, by truth and then by guess; the caller frees them. */
hd_status hd_confusion_sorted(const hd_confusion *c, hd_confusion_cell **out, hd_err *err);

double hd_confusion_accuracy(const hd_confusion *c); /* share that is right; NaN of nothing */

/* The share of near; NaN where it was not counted or says nothing: of no more classes than that. */
double hd_confusion_near(const hd_confusion *c);

typedef struct hd_class_score {
    size_t true_items, guessed, right;
    double precision, recall, f1; /* 0 where there is nothing to divide by */
} hd_class_score;
hd_class_score hd_confusion_class(const hd_confusion *c, size_t class_number);

/* The mean F1 of the classes that are there or are guessed, as scikit-learn's f1_score(average="macro"). */
double hd_confusion_macro_f1(const hd_confusion *c);

/* Matthews' correlation of truth and guess, of two classes or more; 0 where either is always the same, as
   scikit-learn's matthews_corrcoef. NaN of nothing. */
double hd_confusion_matthews(const hd_confusion *c);

#endif
