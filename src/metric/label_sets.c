/* Labels one by one, and all of an item. */
#include "metric/label_sets.h"

#include <stdlib.h>

#include "base/mem.h"

typedef struct sets {
    const double *probability;
    const bool *truth;
    size_t items, classes;
} sets;

/* Labels that are true, predicted, and both. */
typedef struct tally {
    size_t truth, guessed, right;
} tally;

static double f1_of(tally t)
{
    return t.truth + t.guessed ? 2 * (double)t.right / (double)(t.truth + t.guessed) : 0;
}

static void add(tally *to, tally t)
{
    to->truth += t.truth, to->guessed += t.guessed, to->right += t.right;
}

/* Of a label, and which items have another answer than the truth. */
static tally count_label(const sets *x, size_t class, bool *wrong)
{
    tally t = {0};
    for (size_t i = 0; i < x->items; i++) {
        size_t at = i * x->classes + class;
        bool truth = x->truth[at], guess = x->probability[at] >= 0.5;
        add(&t, (tally){truth, guess, truth && guess});
        wrong[i] = wrong[i] || truth != guess;
    }
    return t;
}

typedef struct ranked {
    double probability;
    bool truth;
} ranked;

static int falling(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    return (a->probability < b->probability) - (a->probability > b->probability);
}

/* The mean, over the items of a label, of the precision at their places; items of one probability have one
   place. */
static double average_precision(const sets *x, size_t class, ranked *room)
{
    double sum = 0;
    size_t hits = 0, before = 0;
    for (size_t i = 0; i < x->items; i++)
        room[i] = (ranked){x->probability[i * x->classes + class], x->truth[i * x->classes + class]};
    qsort(room, x->items, sizeof *room, falling);
    for (size_t i = 0; i < x->items; i++) {
        hits += room[i].truth;
        if (i + 1 < x->items && room[i + 1].probability >= room[i].probability) continue;
        sum += (double)(hits - before) * (double)hits / (double)(i + 1);
        before = hits;
    }
    return hits ? sum / (double)hits : 0;
}

hd_status hd_label_sets_score(hd_set_scores *out, const double *probability, const bool *truth, size_t items,
                              size_t classes, hd_err *err)
{
    const sets x = {probability, truth, items, classes};
    bool *wrong = hd_mem_array(items + 1, sizeof *wrong);
    ranked *room = wrong ? hd_mem_array(items + 1, sizeof *room) : NULL;
    hd_status s = room ? HD_OK : hd_err_nomem(err, items * sizeof *room);
    tally all = {0};
    double f1 = 0, precision = 0;
    size_t there = 0, met = 0, exact = 0;
    for (size_t k = 0; !s && k < classes; k++) {
        tally t = count_label(&x, k, wrong);
        add(&all, t);
        met += t.truth + t.guessed > 0, f1 += f1_of(t);
        if (t.truth) there++, precision += average_precision(&x, k, room);
    }
    for (size_t i = 0; !s && i < items; i++) exact += !wrong[i];
    *out = (hd_set_scores){.micro_f1 = f1_of(all),
                           .macro_f1 = met ? f1 / (double)met : 0,
                           .exact = (double)exact / (double)items,
                           .average_precision = there ? precision / (double)there : 0};
    hd_mem_free(wrong);
    hd_mem_free(room);
    return s;
}
