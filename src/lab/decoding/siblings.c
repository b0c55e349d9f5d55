/* The context of a path, computed once for all its children: the same search with fewer looks. */
#include <math.h>
#include <string.h>

#include "decode/search.h"
#include "lab/learner.h"
#include "lab/sweep.h"
#include "model/stepper_parts.h"

enum { WIDTH = 16, WORDS = 8, LENGTH = 6, UPDATES = 60, ITEMS = 8, POINTS = 5 };
static const int32_t beams[POINTS] = {1, 2, 4, 8, 16};

/* By the first pseudocode a path looks when it is extended; by the second, as printed, each path that is
   extended looks for its children, and the beginning before all; heed looks for parents whose children live
   on. */
enum { EACH, PRINTED, ONCE, KINDS };
static const char *const names[] = {"each path looks (first pseudocode)",
                                    "for its children, as printed (second)",
                                    "once for children that live on (heed)"};

/* A stepper that counts paths that are extended, and rows of queries that attention is computed for: with
   those that a device fills a step up with. */
typedef struct counting {
    hd_stepper of;
    size_t extended, looks;
} counting;

static hd_tensor *count_join(hd_run *r, void *context, size_t n)
{
    counting *c = context;
    c->extended += n;
    return c->of.join(r, c->of.context, n);
}

static hd_tensor *count_step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    counting *c = context;
    c->extended += live;
    return c->of.step(r, c->of.context, ids, live);
}

static hd_status count_pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    counting *c = context;
    return c->of.pick(r, c->of.context, parent, n);
}

static void count_queries(void *context, hd_run *r, const hd_offer *offer)
{
    (void)r;
    if (!strcmp(offer->name, "dec.0.cross.query")) ((counting *)context)->looks += hd_rows_of(offer->t);
}

/* shared: siblings share what their parent sees. */
static hd_status search(hd_found **out, counting *c, const hd_learner *l, size_t beam, bool shared,
                        hd_err *err)
{
    hd_run *r = l->run;
    const hd_learner_lot *lot = l->lot;
    const hd_probe probe = {.take = count_queries, .context = c}, *before = r->probe;
    const hd_search_opt o = {.kind = beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY,
                             .beam = beam,
                             .best = beam,
                             .end = HD_LEARNER_END,
                             .max_length = 2 * LENGTH,
                             .stop = HD_STOP_BEST};
    *c = (counting){0};
    hd_status s =
        hd_encdec_stepper(&c->of, l->model, lot->source, lot->source_len, ITEMS, HD_LEARNER_BEGIN, err);
    if (s) return s;
    if (!shared) c->of.pick = hd_stepping_pick;
    hd_stepper outer = c->of;
    outer.join = count_join, outer.step = count_step, outer.pick = count_pick, outer.context = c;
    r->probe = &probe;
    s = hd_search(out, r, &outer, &o, err);
    r->probe = before;
    hd_stepper_release(&c->of);
    return s;
}

/* Between scores of two searches, the largest; infinite where the best sentences differ. */
static double apart(const hd_found *a, const hd_found *b)
{
    double most = a->guesses == b->guesses ? 0 : INFINITY;
    for (size_t i = 0; i < ITEMS; i++) {
        const hd_guess *x = hd_found_at(a, i), *y = hd_found_at(b, i);
        if (x->length != y->length || memcmp(x->ids, y->ids, x->length * sizeof *x->ids)) return INFINITY;
    }
    for (size_t i = 0; i < a->guesses && most < INFINITY; i++)
        most = fmax(most, fabs(a->guess[i].sum - b->guess[i].sum));
    return most;
}

/* Looks a sentence and beam, by each way of counting; *most: how far scores are apart. */
static hd_status measure(hd_sweep *w, double *most, const hd_lab *lab, int i, hd_err *err)
{
    hd_learner_opt o = {.encoder = "bi-gru:1",
                        .decoder = "gru:1",
                        .exercise = HD_EXERCISE_reverse,
                        .plain = WORDS,
                        .shortest = LENGTH,
                        .longest = LENGTH,
                        .seed = lab->seed + (uint64_t)i,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s) s = hd_learner_learn(&l, UPDATES, UPDATES, 0.01, NULL, err);
    if (!s) hd_learner_draw(l.lot, &l, LENGTH, 1);
    for (size_t k = 0; !s && k < POINTS; k++) {
        counting each, once;
        hd_found *a = NULL, *b = NULL;
        s = search(&a, &each, &l, (size_t)beams[k], false, err);
        if (!s) s = search(&b, &once, &l, (size_t)beams[k], true, err);
        if (!s) *most = fmax(*most, each.looks >= each.extended ? apart(a, b) : INFINITY);
        w->value[EACH][i][k] = (double)each.extended / ITEMS;
        w->value[PRINTED][i][k] = (double)(each.extended + ITEMS) / ITEMS;
        w->value[ONCE][i][k] = (double)once.looks / ITEMS;
        hd_found_free(a), hd_found_free(b);
    }
    hd_learner_close(&l);
    return s;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    double most = 0;
    hd_status s = hd_sweep_new(&w, names, sizeof *names, KINDS, beams, POINTS, err);
    for (int i = 0; !s && i < lab->seeds; i++) {
        s = measure(w, &most, lab, i, err);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (!s) {
        hd_paper_say(
            to,
            "A GRU with attention, %d wide, has begun to learn to say %d words backwards. Its beam "
            "search of %d sentences is run twice, and each time the queries are counted that attention "
            "is computed for.",
            WIDTH, LENGTH, ITEMS);
        w->title = "How often attention is computed in a beam search", w->across = "width K of the beam";
        w->upward = "looks at the source, for each sentence";
        w->caption = "Looks for each sentence", w->corner = "width of the beam", w->format = "%.1f";
        hd_sweep_put(to, w, lab);
        const hd_spread *last[] = {&w->spread[EACH][POINTS - 1], &w->spread[PRINTED][POINTS - 1],
                                   &w->spread[ONCE][POINTS - 1]};
        hd_paper_claim(to, "Children of one path share its context: the search finds the same.",
                       most < 1e-4, /* a device sums few rows in another order than many */
                       most < INFINITY ? "The best sentences are equal at every width, scores to %.0g."
                                       : "The best sentences differ (%.0g).",
                       most);
        hd_paper_claim(
            to, "With contexts kept, attention is computed less often.", last[ONCE]->high < last[EACH]->low,
            "With a beam of 16: %.1f times a sentence instead of %.1f.", last[ONCE]->mean, last[EACH]->mean);
        hd_paper_claim(
            to, "The second pseudocode is slightly more efficient than the first.",
            last[PRINTED]->mean < last[EACH]->mean,
            "As printed it computes the context after every step of every path, as often as the first, "
            "and once before: %.1f times and %.1f.",
            last[PRINTED]->mean, last[EACH]->mean);
        hd_paper_note(
            to, "What saves is to wait until it is known which paths have children that live on, and to "
                "look once for each of these.");
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_siblings = {
    .name = "siblings",
    .title = "One context for all children of a path",
    .lecture = 4,
    .rows = "81",
    .claim =
        "Paths of a beam that have the same parent have the same state, and would compute the same context. "
        "Kept with the parent, it is computed once; the search finds the same.",
    .run = run,
};
