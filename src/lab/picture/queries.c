/* Queries: a fixed number of questions to a picture, each answered with one object or with none. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "lab/picture/finder.h"
#include "lab/sweep.h"
#include "metric/assignment.h"

enum { POINTS = 6, EACH = 50, LAST = POINTS - 1, QUERIES = HD_FINDER_QUERIES };
enum { NAMED, FOUND, TWICE, MEASURES };
static const char *const measures[MEASURES] = {"color right", "color and box right",
                                               "the same, by two queries"};

typedef struct asked {
    hd_sweep sweep;
    double loss[2];            /* of a page with its objects in order and reversed, where they differ most */
    double narrow;             /* how far answers of a query spread, as share of all answers, the most */
    double said, objects_each; /* answers of a picture, of the seed with the most, and objects */
    hd_finder_score score;     /* at last */
    hd_finder_answer answer[HD_ALBUM_PICTURES * QUERIES];
    hd_detr_object object[HD_FINDER_MOST]; /* of the first picture */
    size_t objects;
} asked;

/* -- matching -- */

/* The least sum of costs from a row on, by trying all columns that are left. */
static double try_all(const double *cost, size_t rows, size_t cols, size_t row, unsigned taken)
{
    double least = row == rows ? 0 : (double)INFINITY;
    for (size_t c = 0; row < rows && c < cols; c++)
        if (!(taken >> c & 1))
            least = fmin(least, cost[row * cols + c] + try_all(cost, rows, cols, row + 1, taken | 1u << c));
    return least;
}

static hd_status match(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    enum { CASES = 200, MOST = 6 };
    hd_rng rng = hd_rng_make(lab->seed, 8);
    double gap = 0, sum = 0, greedy = 0, cost[MOST * MOST];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < CASES; i++) {
        const size_t rows = 1 + hd_rng_below(&rng, MOST),
                     cols = rows + hd_rng_below(&rng, (uint32_t)(MOST + 1 - rows));
        double total = 0;
        unsigned taken = 0;
        int32_t column[MOST] = {0};
        for (size_t k = 0; k < rows * cols; k++) cost[k] = hd_rng_unit(&rng);
        s = hd_assign(cost, rows, cols, column, err);
        for (size_t k = 0; k < rows; k++) {
            size_t best = cols;
            for (size_t c = 0; c < cols; c++)
                if (!(taken >> c & 1) && (best == cols || cost[k * cols + c] < cost[k * cols + best]))
                    best = c;
            taken |= 1u << best, greedy += cost[k * cols + best], total += cost[k * cols + (size_t)column[k]];
        }
        const double least = try_all(cost, rows, cols, 0, 0);
        sum += least, gap = fmax(gap, fabs(total - least));
    }
    hd_paper_claim(to, "Hungarian matching gives each object a query of its own in the cheapest way.",
                   gap < 1e-9,
                   "In %d random tables of costs of up to %d x %d it is as cheap as the best of all ways; "
                   "where each object takes what is cheapest "
                   "and left, they pay %.0f %% more.",
                   CASES, MOST, MOST, 100 * (greedy / sum - 1));
    return s;
}

/* -- learning -- */

static hd_status compare(asked *a, hd_finder *f, hd_err *err)
{
    double loss[2] = {0}, own = 0;
    hd_status s = hd_finder_answers(a->answer, f, err);
    a->objects = f->first[1];
    for (size_t i = 0; i < a->objects; i++) a->object[i] = f->object[i];
    for (int i = 0; !s && i < 2; i++) s = hd_finder_loss(&loss[i], f, i, err);
    if (!(a->loss[0] > 0) || fabs(loss[0] - loss[1]) > fabs(a->loss[0] - a->loss[1]))
        a->loss[0] = loss[0], a->loss[1] = loss[1];
    const hd_finder_place *p = a->score.query, *all = &a->score.all;
    for (size_t q = 0; q < QUERIES; q++)
        own += (double)p[q].count * hypot(p[q].deviation[0], p[q].deviation[1]);
    if (a->score.said > a->said) a->said = a->score.said, a->objects_each = a->score.objects;
    a->narrow = fmax(a->narrow, own / ((double)all->count * hypot(all->deviation[0], all->deviation[1])));
    return s;
}

static hd_status learn(asked *a, const hd_lab *lab, int number, hd_err *err)
{
    const uint32_t each = lab->full ? 4 * EACH : EACH;
    hd_finder f;
    hd_status s = hd_finder_open(&f, lab->run, lab->seed + (uint64_t)number, err);
    for (int i = 0; !s && i < POINTS; i++) {
        if (i) s = hd_finder_learn(&f, each, LAST * each, 0.006, err);
        if (!s) s = hd_finder_judge(&a->score, &f, err);
        a->sweep.value[NAMED][number][i] = a->score.named, a->sweep.value[FOUND][number][i] = a->score.found;
        a->sweep.value[TWICE][number][i] = a->score.twice;
        if (!s) s = hd_lab_tell(lab, (number + (i + 1.0) / POINTS) / lab->seeds, err);
    }
    if (!s) s = compare(a, &f, err);
    hd_finder_close(&f);
    return s;
}

/* -- what is shown -- */

static void put_box(hd_paper *to, double x, double y, double width, double height, const char *name)
{
    static const double right[] = {-1, 1, 1, -1, -1}, up[] = {-1, -1, 1, 1, -1};
    enum { CORNERS = sizeof right / sizeof *right };
    double across[CORNERS], upward[CORNERS];
    for (int i = 0; i < CORNERS; i++)
        across[i] = x + right[i] * width / 2, upward[i] = 1 - y + up[i] * height / 2;
    hd_paper_line(to, name, &(hd_series){.x = across, .y = upward, .count = CORNERS});
}

static void put_axes(hd_paper *to, const char *title)
{
    hd_paper_plot(to, &(hd_series_plot){.title = title,
                                        .across = "from the left, as share of the picture",
                                        .upward = "from the bottom, as share of the picture"});
    put_box(to, 0.5, 0.5, 1, 1, "the edge of the picture");
}

/* What is on a new picture and what was found there; then where each query found what it did. */
static void put_boxes(hd_paper *to, const asked *a)
{
    char name[64];
    put_axes(to, "A new picture: what is there, and what was found");
    for (size_t i = 0; i < a->objects; i++) {
        const hd_detr_object *o = &a->object[i];
        snprintf(name, sizeof name, "there is: %s", hd_shape_color_name((hd_shape_color)o->label));
        put_box(to, (double)o->x, (double)o->y, (double)o->width, (double)o->height, name);
    }
    for (size_t q = 0; q < QUERIES; q++) {
        const hd_finder_answer *x = &a->answer[q];
        if (x->label >= HD_SHAPE_COLORS) continue;
        snprintf(name, sizeof name, "query %zu says: %s", q + 1,
                 hd_shape_color_name((hd_shape_color)x->label));
        put_box(to, x->box[0], x->box[1], x->box[2], x->box[3], name);
    }
    put_axes(to, "Where queries find what they find: one deviation around the middle");
    for (size_t q = 0; q < QUERIES; q++) {
        const hd_finder_place *p = &a->score.query[q];
        snprintf(name, sizeof name, "query %zu: %zu objects", q + 1, p->count);
        if (p->count) put_box(to, p->middle[0], p->middle[1], 2 * p->deviation[0], 2 * p->deviation[1], name);
    }
}

static void judge(hd_paper *to, const asked *a)
{
    const hd_spread *named = a->sweep.spread[NAMED], *found = a->sweep.spread[FOUND],
                    *twice = &a->sweep.spread[TWICE][LAST];
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
    double x[POINTS];
    asked *a = hd_mem_zero(sizeof *a);
    if (!a) return hd_err_nomem(err, sizeof *a);
    for (int i = 0; i < POINTS; i++) x[i] = i * EACH * (lab->full ? 4.0 : 1);
    hd_sweep *w = &a->sweep;
    w->title = "What queries say of new pictures", w->across = "updates of 32 pictures",
    w->upward = "shapes, % (mean and spread of all seeds)";
    w->caption = "Shapes of which queries say it, %, by updates", w->corner = "what is said",
    w->format = "%.0f", w->scale = 100;
    w->kind = measures, w->kinds = MEASURES, w->x = x, w->points = POINTS, w->every = 2;
    hd_paper_say(
        to,
        "A small DETR sees pictures of %d x %d pixels with one or two shapes. %d queries, which are boxes "
        "that it moves, attend to the picture, and each answers with a color and a box, or with nothing.",
        HD_FINDER_SIDE, HD_FINDER_SIDE, QUERIES);
    hd_status s = match(to, lab, err);
    for (int i = 0; !s && i < lab->seeds; i++) s = learn(a, lab, i, err);
    if (!s) hd_sweep_put(to, w, lab), put_boxes(to, a), judge(to, a);
    hd_mem_free(a);
    return s;
}

const hd_experiment hd_experiment_queries = {
    .name = "queries",
    .title = "Questions to a picture",
    .lecture = 2,
    .rows = "182",
    .claim = "A Detection Transformer finds objects as a set: a fixed number of queries attend to the "
             "picture, and matching decides which of them "
             "each object belongs to.",
    .run = run,
};
