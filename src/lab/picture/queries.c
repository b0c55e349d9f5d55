/* Queries: a fixed number of questions to a picture, each answered with one object or with none. */
#include <math.h>

#include "base/mem.h"
#include "lab/picture/boxes.h"
#include "lab/picture/matching.h"
#include "lab/sweep.h"

static const int32_t updates[] = {0, 50, 100, 150, 200, 250};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1, QUERIES = HD_FINDER_QUERIES };
enum { NAMED, FOUND, TWICE, MEASURES };
static const char *const measures[MEASURES] = {"color right", "color and box right",
                                               "the same, by two queries"};

typedef struct asked {
    hd_sweep *sweep;
    double loss[2];            /* of a page with its objects in order and reversed, where they differ most */
    double narrow;             /* how far answers of a query spread, as share of all answers, the most */
    double said, objects_each; /* answers of a picture, of the seed with the most, and objects */
    hd_finder_score score;     /* at last */
    hd_finder_answer answer[HD_ALBUM_PICTURES * QUERIES];
    hd_detr_object object[HD_FINDER_MOST]; /* of the first picture */
    size_t objects;
} asked;

static hd_status match(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_matching m;
    hd_status s = hd_matching_try(&m, lab->seed, err);
    hd_paper_claim(to, "Hungarian matching gives each object a query of its own in the cheapest way.",
                   m.gap < 1e-9,
                   "In %d random tables of costs of up to %d x %d it is as cheap as the best of all ways; "
                   "where each object takes what is cheapest and left, they pay %.0f %% more.",
                   HD_MATCHING_TABLES, HD_MATCHING_MOST, HD_MATCHING_MOST, 100 * (m.greedy - 1));
    return s;
}

static hd_status compare(asked *a, hd_finder *f, hd_err *err)
{
    double loss[2] = {0};
    hd_status s = hd_finder_answers(a->answer, f, err);
    a->objects = f->first[1];
    for (size_t i = 0; i < a->objects; i++) a->object[i] = f->object[i];
    for (int i = 0; !s && i < 2; i++) s = hd_finder_loss(&loss[i], f, i, err);
    if (!(a->loss[0] > 0) || fabs(loss[0] - loss[1]) > fabs(a->loss[0] - a->loss[1]))
        a->loss[0] = loss[0], a->loss[1] = loss[1];
    if (a->score.said > a->said) a->said = a->score.said, a->objects_each = a->score.objects;
    a->narrow = fmax(a->narrow, a->score.narrow);
    return s;
}

static hd_status learn(asked *a, const hd_lab *lab, int number, hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    hd_finder f;
    hd_status s = hd_finder_open(&f, lab->run, lab->seed + (uint64_t)number, err);
    for (int i = 0; !s && i < POINTS; i++) {
        const uint32_t steps = i ? (uint32_t)(updates[i] - updates[i - 1]) : 0;
        s = hd_finder_learn(&f, times * steps, times * (uint32_t)updates[LAST], 0.006, err);
        if (!s) s = hd_finder_judge(&a->score, &f, err);
        const double share[MEASURES] = {a->score.named, a->score.found, a->score.twice};
        for (int k = 0; k < MEASURES; k++) a->sweep->value[k][number][i] = share[k];
        if (!s) s = hd_lab_tell(lab, (number + (i + 1.0) / POINTS) / lab->seeds, err);
    }
    if (!s) s = compare(a, &f, err);
    hd_finder_close(&f);
    return s;
}

static void judge(hd_paper *to, const asked *a)
{
    const hd_spread *named = a->sweep->spread[NAMED], *found = a->sweep->spread[FOUND],
                    *twice = &a->sweep->spread[TWICE][LAST];
    hd_paper_claim(to, "The loss does not depend on the order of the boxes.",
                   fabs(a->loss[0] - a->loss[1]) < 1e-5 * a->loss[0],
                   "It is %.6f an object, and %.6f with the boxes of every picture in the reverse order.",
                   a->loss[0], a->loss[1]);
    hd_paper_claim(to, "Queries that attend to a picture learn to find what is on it.",
                   named[LAST].low > 75 && found[LAST].low > 35 && found[0].high < 15,
                   "Of %.0f %% of the shapes the color is said (%.0f to %.0f), of %.0f %% with a box that "
                   "overlaps by half (%.0f to %.0f); at first %.0f %%.",
                   named[LAST].mean, named[LAST].low, named[LAST].high, found[LAST].mean, found[LAST].low,
                   found[LAST].high, found[0].mean);
    hd_paper_claim(to, "Since each object is given to one query, the others learn to be silent.",
                   a->said < 0.6 * QUERIES && twice->high < 20,
                   "At most %.1f of %d queries answer with an object, where a picture has %.1f; two find the "
                   "same one in %.0f %% of all cases (%.0f to %.0f).",
                   a->said, QUERIES, a->objects_each, twice->mean, twice->low, twice->high);
    hd_paper_claim(to, "Each query has its own part of the picture.", a->narrow < 0.8,
                   "The answers of a query spread at most %.0f %% as far as all answers do.",
                   100 * a->narrow);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, measures, sizeof *measures, MEASURES, updates, POINTS, err);
    asked *a = hd_mem_zero(sizeof *a);
    if (!s && !a) s = hd_err_nomem(err, sizeof *a);
    if (!s) {
        hd_sweep_stretch(w, lab);
        w->title = "What queries say of new pictures", w->across = "updates of 32 pictures",
        w->upward = "shapes, % (mean and spread of all seeds)";
        w->caption = "Shapes of which queries say it, %, by updates", w->corner = "what is said",
        w->format = "%.0f", w->scale = 100, w->every = 2, a->sweep = w;
        hd_paper_say(to,
                     "A small DETR sees pictures of %d x %d pixels with one or two shapes. %d queries, which "
                     "are boxes that it moves, attend to the picture, and each answers with a color and a "
                     "box, or with nothing.",
                     HD_FINDER_SIDE, HD_FINDER_SIDE, QUERIES);
        s = match(to, lab, err);
    }
    for (int i = 0; !s && i < lab->seeds; i++) s = learn(a, lab, i, err);
    if (!s) {
        hd_sweep_put(to, w, lab);
        hd_boxes_put_answers(to, "A new picture: what is there, and what was found", a->object, a->objects,
                             a->answer);
        hd_boxes_put_places(to, "Where queries find what they find: one deviation around the middle",
                            a->score.query);
        judge(to, a);
    }
    hd_mem_free(a);
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_queries = {
    .name = "queries",
    .title = "Questions to a picture",
    .lecture = 2,
    .rows = "182",
    .claim = "A Detection Transformer finds objects as a set: a fixed number of queries attend to the "
             "picture, and matching decides which of them each object belongs to.",
    .run = run,
};
