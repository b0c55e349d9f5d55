/* Confusions, counted in a hash table that doubles before it is half full. */
#include "metric/confusion.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_ROOM = 64 };

hd_status hd_confusion_init(hd_confusion *c, size_t classes, hd_err *err)
{
    size_t all = 0;
    *c = (hd_confusion){.classes = classes};
    c->truths = hd_size_mul(3, classes, &all) ? hd_mem_array(all, sizeof *c->truths) : NULL;
    if (!c->truths) return hd_err_nomem(err, all * sizeof *c->truths);
    c->guesses = c->truths + classes;
    c->hits = c->guesses + classes;
    return HD_OK;
}

void hd_confusion_release(hd_confusion *c)
{
    hd_mem_free(c->truths);
    hd_mem_free(c->cell);
    *c = (hd_confusion){0};
}

/* Where the cell is, or where it would go. There is always room. */
static hd_confusion_cell *find(hd_confusion_cell *cell, size_t room, size_t truth, size_t guess)
{
    uint64_t hash = ((uint64_t)truth * 0x9e3779b97f4a7c15u ^ (uint64_t)guess) * 0xff51afd7ed558ccdu;
    size_t at = (size_t)(hash >> 20) & (room - 1);
    while (cell[at].count && (cell[at].truth != truth || cell[at].guess != guess)) at = (at + 1) & (room - 1);
    return &cell[at];
}

static hd_status grow(hd_confusion *c, hd_err *err)
{
    size_t room = 0;
    if (!hd_size_mul(c->room ? c->room : FIRST_ROOM / 2, 2, &room)) return hd_err_nomem(err, SIZE_MAX);
    hd_confusion_cell *cell = hd_mem_array(room, sizeof *cell);
    if (!cell) return hd_err_nomem(err, room * sizeof *cell);
    for (size_t i = 0; i < c->room; i++)
        if (c->cell[i].count) *find(cell, room, c->cell[i].truth, c->cell[i].guess) = c->cell[i];
    hd_mem_free(c->cell);
    c->cell = cell, c->room = room;
    return HD_OK;
}

hd_status hd_confusion_add(hd_confusion *c, size_t truth, size_t guess, hd_err *err)
{
    hd_status s = 2 * c->cells >= c->room ? grow(c, err) : HD_OK;
    if (s) return s;
    hd_confusion_cell *at = find(c->cell, c->room, truth, guess);
    c->cells += !at->count;
    *at = (hd_confusion_cell){truth, guess, at->count + 1};
    c->truths[truth]++, c->guesses[guess]++;
    c->hits[truth] += truth == guess;
    c->count++;
    c->right += truth == guess;
    return HD_OK;
}

size_t hd_confusion_count(const hd_confusion *c, size_t truth, size_t guess)
{
    return c->room ? find(c->cell, c->room, truth, guess)->count : 0;
}

static int by_place(const void *a, const void *b)
{
    const hd_confusion_cell *x = a, *y = b;
    if (x->truth != y->truth) return x->truth < y->truth ? -1 : 1;
    return x->guess < y->guess ? -1 : x->guess > y->guess;
}

hd_status hd_confusion_sorted(const hd_confusion *c, hd_confusion_cell **out, hd_err *err)
{
    hd_confusion_cell *all = hd_mem_array(c->cells + 1, sizeof *all);
    size_t n = 0;
    if (!all) return hd_err_nomem(err, c->cells * sizeof *all);
    for (size_t i = 0; i < c->room; i++)
        if (c->cell[i].count) all[n++] = c->cell[i];
    qsort(all, n, sizeof *all, by_place);
    *out = all;
    return HD_OK;
}

double hd_confusion_near(const hd_confusion *c)
{
    if (c->classes <= HD_CONFUSION_NEAR || !c->near) return (double)NAN;
    return (double)c->near / (double)c->count;
}

double hd_confusion_accuracy(const hd_confusion *c)
{
    return c->count ? (double)c->right / (double)c->count : NAN;
}

static double share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

hd_class_score hd_confusion_class(const hd_confusion *c, size_t k)
{
    hd_class_score s = {.true_items = c->truths[k], .guessed = c->guesses[k], .right = c->hits[k]};
    s.precision = share(s.right, s.guessed);
    s.recall = share(s.right, s.true_items);
    s.f1 = share(2 * s.right, s.true_items + s.guessed);
    return s;
}

double hd_confusion_macro_f1(const hd_confusion *c)
{
    double sum = 0;
    size_t n = 0;
    for (size_t k = 0; k < c->classes; k++) {
        hd_class_score s = hd_confusion_class(c, k);
        if (!s.true_items && !s.guessed) continue;
        sum += s.f1;
        n++;
    }
    return n ? sum / (double)n : NAN;
}

/* Of all pairs of items: how far sharing a true class and sharing a guessed one go together. */
double hd_confusion_matthews(const hd_confusion *c)
{
    double n = (double)c->count, both = 0, truths = 0, guesses = 0;
    if (!c->count) return NAN;
    for (size_t k = 0; k < c->classes; k++) {
        hd_class_score s = hd_confusion_class(c, k);
        double t = (double)s.true_items, g = (double)s.guessed;
        both += t * g, truths += t * t, guesses += g * g;
    }
    double spread = sqrt(n * n - truths) * sqrt(n * n - guesses);
    return spread > 0 ? ((double)c->right * n - both) / spread : 0;
}
