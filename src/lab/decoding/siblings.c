/* The context of a path, computed once for all its children: the same search with fewer looks. */
#include <math.h>

#include "lab/decoding/looks.h"
#include "lab/sweep.h"

enum { WIDTH = 16, WORDS = 8, LENGTH = 6, UPDATES = 60, POINTS = 5 };
static const int32_t beams[POINTS] = {1, 2, 4, 8, 16};

/* By the first pseudocode a path looks when it is extended; by the second, as printed, each path that is
   extended looks for its children, and the beginning before all; heed looks for parents whose children live
   on. */
enum { EACH, PRINTED, ONCE, KINDS };
static const char *const names[] = {"each path looks (first pseudocode)",
                                    "for its children, as printed (second)",
                                    "once for children that live on (heed)"};

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
        hd_looks each = {0}, once = {0};
        s = hd_looks_search(&each, &l, (size_t)beams[k], false, err);
        if (!s) s = hd_looks_search(&once, &l, (size_t)beams[k], true, err);
        if (!s) *most = fmax(*most, each.looks == each.extended ? hd_looks_apart(&each, &once) : INFINITY);
        w->value[EACH][i][k] = (double)each.extended / HD_LOOKS_ITEMS;
        w->value[PRINTED][i][k] = (double)(each.extended + HD_LOOKS_ITEMS) / HD_LOOKS_ITEMS;
        w->value[ONCE][i][k] = (double)once.looks / HD_LOOKS_ITEMS;
        hd_looks_release(&each), hd_looks_release(&once);
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
            WIDTH, LENGTH, HD_LOOKS_ITEMS);
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
