/* The loss of a DETR: objects are assigned to queries by least cost, then labels and boxes are compared. Sums
   alone: whatever is a mean in the paper is a weight here, and the one division is the optimizer's. Easy to
   get wrong: every layer has an assignment of its own, and noised boxes have none: they know their object. */
#include <math.h>

#include "backend/box.h"
#include "metric/assignment.h"
#include "model/vision/detr.h"

enum { BOX = 4 };

typedef struct goals { /* of all rows of all layers, in host memory */
    int32_t *label;
    hd_real *weight;                /* of the label */
    hd_real *box, *absolute, *giou; /* [rows, 4] and the weights of its errors */
} goals;

typedef struct judging {
    const hd_detr *model;
    const hd_detr_truth *truth;
    hd_detr_loss_opt opt;
    const hd_real *logits, *box; /* what was found */
    double share;                /* of a label's loss in that of an object */
    goals goal;
} judging;

static double box_cost(const hd_real *found, const hd_detr_object *o, const hd_detr_loss_opt *opt)
{
    const double want[BOX] = {(double)o->x, (double)o->y, (double)o->width, (double)o->height};
    double box[BOX], far = 0;
    for (int k = 0; k < BOX; k++) box[k] = (double)found[k], far += fabs(box[k] - want[k]);
    return (double)opt->absolute * far - (double)opt->giou * (1 - hd_box_error_of(box, want, NULL, NULL));
}

/* Cost of every query for every object, [objects, queries]. Probabilities are by softmax. */
static void costs_of(double *cost, const judging *j, size_t at, const hd_detr_object *o, size_t objects)
{
    size_t queries = j->model->opt.queries, classes = j->model->opt.labels + 1;
    for (size_t q = 0; q < queries; q++) {
        const hd_real *z = j->logits + (at + q) * classes;
        double most = -INFINITY, sum = 0;
        for (size_t c = 0; c < classes; c++) most = fmax(most, (double)z[c]);
        for (size_t c = 0; c < classes; c++) sum += exp((double)z[c] - most);
        for (size_t i = 0; i < objects; i++)
            cost[i * queries + q] =
                box_cost(j->box + (at + q) * BOX, &o[i], &j->opt) - exp((double)z[o[i].label] - most) / sum;
    }
}

/* Row `at` is to give this object; `weight`: of it among others. */
static void want(const judging *j, size_t at, const hd_detr_object *o, double label, double box)
{
    hd_real *to = j->goal.box + at * BOX;
    j->goal.label[at] = o->label, j->goal.weight[at] = (hd_real)label;
    to[0] = (hd_real)o->x, to[1] = (hd_real)o->y, to[2] = (hd_real)o->width, to[3] = (hd_real)o->height;
    j->goal.absolute[at] = (hd_real)((double)j->opt.absolute * box);
    j->goal.giou[at] = (hd_real)((double)j->opt.giou * box);
}

static void want_nothing(const judging *j, size_t at)
{
    hd_real *to = j->goal.box + at * BOX;
    j->goal.label[at] = (int32_t)j->model->opt.labels;
    j->goal.weight[at] = (hd_real)((double)j->opt.no_object * j->share);
    for (int k = 0; k < BOX; k++) to[k] = (hd_real)0.5;
}

/* The rows of a picture in a layer from `at` on; returns how many. */
static size_t judge_picture(hd_run *r, const judging *j, size_t picture, size_t at)
{
    const hd_detr_object *o = j->truth->object + j->truth->first[picture];
    size_t objects = j->truth->first[picture + 1] - j->truth->first[picture], queries = j->model->opt.queries;
    size_t groups = j->model->opt.anchors ? (size_t)j->opt.noise.groups : 0,
           rows = queries + groups * objects;
    for (size_t q = 0; q < queries; q++) want_nothing(j, at + q);
    if (!objects) return rows;
    double *cost = hd_host_take(r, objects * queries * sizeof *cost);
    int32_t *of = hd_host_take(r, objects * sizeof *of);
    if (!cost || !of) return rows;
    costs_of(cost, j, at, o, objects);
    if (hd_assign(cost, objects, queries, of, &r->err)) return rows;
    for (size_t i = 0; i < objects; i++)
        if (of[i] >= 0) want(j, at + (size_t)of[i], &o[i], j->share, 1);
    for (size_t i = 0; i < groups * objects; i++)
        want(j, at + queries + i, &o[i % objects], 1 / (double)groups, 1 / (double)groups);
    return rows;
}

static bool make_goals(hd_run *r, goals *g, size_t rows)
{
    g->label = hd_host_take(r, (rows + 1) * sizeof *g->label);
    g->weight = hd_host_take(r, (rows + 1) * sizeof *g->weight);
    g->box = hd_host_take(r, (rows + 1) * BOX * sizeof *g->box);
    g->absolute = hd_host_take(r, (rows + 1) * sizeof *g->absolute);
    g->giou = hd_host_take(r, (rows + 1) * sizeof *g->giou);
    return g->label && g->weight && g->box && g->absolute && g->giou;
}

static hd_tensor *losses_of(hd_run *r, const hd_detr_found *f, const goals *g)
{
    size_t rows = f->logits ? hd_rows_of(f->logits) : 0;
    hd_tensor *goal = hd_from(r, rows, BOX, g->box);
    hd_loss_opt label = {.coef = 1, .weight = hd_from(r, rows, 1, g->weight)},
                absolute = {.coef = 1, .weight = hd_from(r, rows, 1, g->absolute)},
                giou = {.coef = 1, .weight = hd_from(r, rows, 1, g->giou)};
    hd_tensor *all[] = {hd_cross_entropy(r, f->logits, hd_ints(r, g->label, rows), &label),
                        hd_absolute_error(r, f->box, goal, &absolute), hd_box_error(r, f->box, goal, &giou)};
    return hd_concat_rows(r, all, 3);
}

static hd_detr_loss_opt complete(const hd_detr_loss_opt *o)
{
    hd_detr_loss_opt c = *o;
    if (!(c.no_object > 0)) c.no_object = 0.1f;
    if (!(c.absolute > 0)) c.absolute = 5;
    if (!(c.giou > 0)) c.giou = 2;
    if (!(c.objects >= 1)) c.objects = 1;
    return c;
}

hd_tensor *hd_detr_loss(hd_run *r, const hd_detr *m, hd_rows memory, hd_tensor *place,
                        const hd_detr_truth *truth, const hd_detr_loss_opt *opt, hd_detr_found *found)
{
    judging j = {.model = m, .truth = truth, .opt = complete(opt)};
    size_t classes = m->opt.labels + 1, at = 0;
    if (!memory.t) return NULL;
    hd_detr_queries q = hd_detr_ask(r, m, memory.seg, truth->pictures, truth, &j.opt.noise);
    hd_detr_found f = hd_detr_decode(r, m, memory, place, &q, true);
    size_t rows = f.logits ? hd_rows_of(f.logits) : 0;
    if (found) *found = f;
    hd_real *logits = hd_host_take(r, (rows + 1) * classes * sizeof *logits),
            *box = hd_host_take(r, (rows + 1) * BOX * sizeof *box);
    if (!logits || !box || !make_goals(r, &j.goal, rows)) return NULL;
    if (!hd_read(r, f.logits, logits) || !hd_read(r, f.box, box)) return NULL;
    j.logits = logits, j.box = box;
    double none = j.opt.pictures * (double)m->opt.queries - j.opt.objects;
    j.share = j.opt.objects / (j.opt.objects + (double)j.opt.no_object * fmax(none, 0));
    for (size_t l = 0; l < f.layers; l++)
        for (size_t i = 0; i < truth->pictures; i++) at += judge_picture(r, &j, i, at);
    return r->err.status ? NULL : losses_of(r, &f, &j.goal);
}
