/* Average precision. Easy to get wrong: ties. Equal scores stay in the order of pictures and of adding, and
   of equal overlaps the later box is taken, as pycocotools does both. */
#include "metric/detection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { OVERLAPS = 10, RECALLS = 101, MOST = 100, OF_50 = 0, OF_75 = 5 };

typedef struct entry {
    hd_detection_box box;
    size_t order;           /* of adding */
    uint16_t taken, hidden; /* a bit for each overlap: matched; matched with a crowd */
} entry;

typedef struct entries {
    entry *at;
    size_t count, room;
} entries;

struct hd_detection {
    size_t classes;
    entries truth, found;
    double *precision; /* of a class, by detection */
    size_t precision_room;
    double *overlap; /* of the detections and truths of a class in a picture */
    size_t overlap_room;
};

hd_status hd_detection_new(hd_detection **out, size_t classes, hd_err *err)
{
    hd_detection *d = hd_mem_zero(sizeof *d);
    if (!d) return hd_err_nomem(err, sizeof *d);
    d->classes = classes;
    *out = d;
    return HD_OK;
}

void hd_detection_free(hd_detection *d)
{
    if (!d) return;
    hd_mem_free(d->truth.at);
    hd_mem_free(d->found.at);
    hd_mem_free(d->precision);
    hd_mem_free(d->overlap);
    hd_mem_free(d);
}

static hd_status add(hd_detection *d, entries *e, const hd_detection_box *box, hd_err *err)
{
    if (box->label >= d->classes) return hd_err_set(err, HD_EARG, "class %zu of %zu", box->label, d->classes);
    hd_status s = hd_mem_reserve(&e->at, &e->room, e->count + 1, sizeof *e->at, err);
    if (s) return s;
    e->at[e->count] = (entry){.box = *box, .order = e->count};
    e->count++;
    return HD_OK;
}

hd_status hd_detection_add_truth(hd_detection *d, const hd_detection_box *box, hd_err *err)
{
    return add(d, &d->truth, box, err);
}

hd_status hd_detection_add_found(hd_detection *d, const hd_detection_box *box, hd_err *err)
{
    return add(d, &d->found, box, err);
}

/* -- matching -- */

static int by_order(const entry *a, const entry *b)
{
    return (a->order > b->order) - (a->order < b->order);
}

static int by_place(const hd_detection_box *a, const hd_detection_box *b)
{
    if (a->label != b->label) return a->label > b->label ? 1 : -1;
    return (a->picture > b->picture) - (a->picture < b->picture);
}

/* By class and picture; crowds last. */
static int truth_order(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int place = by_place(&a->box, &b->box);
    if (place) return place;
    return a->box.crowd != b->box.crowd ? (a->box.crowd ? 1 : -1) : by_order(a, b);
}

/* By class and picture, the highest score first; NaN last. */
static int found_order(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int place = by_place(&a->box, &b->box);
    if (place) return place;
    if (a->box.score > b->box.score) return -1;
    return a->box.score < b->box.score ? 1 : by_order(a, b);
}

/* By class and score; pictures, then their order, decide between equal scores. */
static int score_order(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->box.label != b->box.label) return a->box.label > b->box.label ? 1 : -1;
    if (a->box.score > b->box.score) return -1;
    if (a->box.score < b->box.score) return 1;
    return a->box.picture != b->box.picture ? (a->box.picture > b->box.picture ? 1 : -1) : by_order(a, b);
}

static double overlap_of(const hd_detection_box *d, const hd_detection_box *t)
{
    double w = fmin(d->x + d->width, t->x + t->width) - fmax(d->x, t->x);
    double h = fmin(d->y + d->height, t->y + t->height) - fmax(d->y, t->y);
    if (!(w > 0 && h > 0)) return 0;
    double both = w * h, all = d->width * d->height;
    if (!t->crowd) all += t->width * t->height - both;
    return both / all;
}

/* The truth that detection i takes at an overlap; SIZE_MAX: none. */
static size_t best_of(const entry *truth, size_t truths, const double *overlap, int t)
{
    double least =
        t + 1 < OVERLAPS ? 0.5 + t * ((0.95 - 0.5) / (OVERLAPS - 1)) : 0.95; /* as numpy has them */
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < truths; k++) {
        bool crowd = truth[k].box.crowd;
        if (truth[k].taken >> t & 1 && !crowd) continue;
        if (best != SIZE_MAX && !truth[best].box.crowd && crowd) break;
        if (overlap[k] < least) continue;
        least = overlap[k], best = k;
    }
    return best;
}

/* Those of one class in one picture. */
static hd_status match(hd_detection *d, entry *truth, size_t truths, entry *found, size_t count, hd_err *err)
{
    hd_status s = hd_mem_reserve(&d->overlap, &d->overlap_room, count * truths + 1, sizeof *d->overlap, err);
    if (s) return s;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < truths; k++)
            d->overlap[i * truths + k] = overlap_of(&found[i].box, &truth[k].box);
    for (int t = 0; t < OVERLAPS; t++)
        for (size_t i = 0; i < count; i++) {
            size_t k = best_of(truth, truths, d->overlap + i * truths, t);
            if (k == SIZE_MAX) continue;
            found[i].taken |= (uint16_t)(1 << t), truth[k].taken |= (uint16_t)(1 << t);
            if (truth[k].box.crowd) found[i].hidden |= (uint16_t)(1 << t);
        }
    return HD_OK;
}

/* Matches all and leaves detections beyond the most of a picture out. */
static hd_status match_all(hd_detection *d, size_t *counted, hd_err *err)
{
    entries *f = &d->found, *g = &d->truth;
    size_t kept = 0, at = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; i < g->count; i++) g->at[i].taken = 0;
    for (size_t i = 0, j; !s && i < f->count; i = j) {
        size_t first = kept, from;
        const hd_detection_box place = f->at[i].box;
        for (j = i; j < f->count && !by_place(&f->at[j].box, &place); j++) {
            if (kept - first == MOST) continue;
            f->at[kept] = f->at[j];
            f->at[kept].taken = f->at[kept].hidden = 0;
            kept++;
        }
        while (at < g->count && by_place(&g->at[at].box, &place) < 0) at++;
        for (from = at; at < g->count && !by_place(&g->at[at].box, &place);) at++;
        s = match(d, g->at + from, at - from, f->at + first, kept - first, err);
    }
    *counted = kept;
    return s;
}

/* -- precision -- */

static double average(double *precision, const entry *found, size_t count, size_t truths, int t)
{
    size_t right = 0, wrong = 0, place = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        bool hidden = found[i].hidden >> t & 1, taken = found[i].taken >> t & 1;
        right += taken && !hidden, wrong += !taken && !hidden;
        precision[2 * i] = (double)right / (double)truths;
        precision[2 * i + 1] = right + wrong ? (double)right / (double)(right + wrong) : 0;
    }
    for (size_t i = count; i-- > 1;) precision[2 * i - 1] = fmax(precision[2 * i - 1], precision[2 * i + 1]);
    for (int r = 0; r < RECALLS; r++) {
        while (place < count && precision[2 * place] < r * 0.01) place++;
        if (place < count) sum += precision[2 * place + 1];
    }
    return sum / RECALLS;
}

static void score_class(hd_detection *d, const entry *found, size_t count, size_t truths,
                        hd_detection_score *out)
{
    *out = (hd_detection_score){truths, count, (double)NAN, (double)NAN, (double)NAN};
    if (!truths) return;
    double ap[OVERLAPS], sum = 0;
    for (int t = 0; t < OVERLAPS; t++) sum += ap[t] = average(d->precision, found, count, truths, t);
    out->ap = sum / OVERLAPS, out->ap50 = ap[OF_50], out->ap75 = ap[OF_75];
}

hd_status hd_detection_finish(hd_detection *d, hd_detection_score *all, hd_detection_score *of, hd_err *err)
{
    entries *f = &d->found, *g = &d->truth;
    size_t counted = 0, at = 0, from = 0, there = 0;
    if (g->count) qsort(g->at, g->count, sizeof *g->at, truth_order);
    if (f->count) qsort(f->at, f->count, sizeof *f->at, found_order);
    hd_status s = match_all(d, &counted, err);
    if (!s) s = hd_mem_reserve(&d->precision, &d->precision_room, 2 * counted + 1, sizeof *d->precision, err);
    if (s) return s;
    f->count = counted;
    if (counted) qsort(f->at, counted, sizeof *f->at, score_order);
    *all = (hd_detection_score){0};
    for (size_t c = 0; c < d->classes; c++) {
        size_t first = at, truths = 0;
        hd_detection_score one;
        while (at < counted && f->at[at].box.label == c) at++;
        for (; from < g->count && g->at[from].box.label == c; from++) truths += !g->at[from].box.crowd;
        score_class(d, f->at + first, at - first, truths, &one);
        all->truths += truths, all->found += at - first, there += truths > 0;
        if (truths) all->ap += one.ap, all->ap50 += one.ap50, all->ap75 += one.ap75;
        if (of) of[c] = one;
    }
    all->ap /= (double)there, all->ap50 /= (double)there, all->ap75 /= (double)there; /* NaN of no class */
    return HD_OK;
}
