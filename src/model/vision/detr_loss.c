/* The loss of a DETR: objects are assigned to queries by least cost, then labels and boxes are compared. Sums
   alone: whatever is a mean in the paper is a weight here, and the one division is the optimizer's. Easy to
   get wrong: every layer has an assignment of its own, and noised boxes have none: they know their object. */
#include <math.h>

#include "backend/box.h"
#include "metric/assignment.h"
#include "model/vision/detr.h"

enum { BOX = 4 };

typedef struct goals {              /* of all rows of all layers, in host memory, one block */
    hd_real *box, *absolute, *giou; /* [rows, 4] and the weights of its errors */
    hd_real *weight;                /* of the label */
    int32_t *label;
} goals;

enum { REALS = BOX + 3 }; /* of a row */

typedef struct matching { /* a picture in a layer */
    size_t picture, at;   /* and its first row */
    double *cost;         /* [objects, queries] */
    double *power;        /* [labels + 1] exponentials of a query's logits */
    int32_t *query;       /* [objects] */
    hd_err err;
} matching;

typedef struct judging {
    const hd_detr *model;
    const hd_detr_truth *truth;
    hd_detr_loss_opt opt;
    const hd_real *logits, *box; /* what was found */
    double share;                /* of a label's loss in that of an object */
    goals goal;
    matching *match; /* [layers * pictures]: their rows are their own, so threads may share them out */
    size_t matches;
} judging;

static double box_cost(const hd_real *found, const hd_detr_object *o, const hd_detr_loss_opt *opt)
{
    const double want[BOX] = {(double)o->x, (double)o->y, (double)o->width, (double)o->height};
    double box[BOX], far = 0;
    for (int k = 0; k < BOX; k++) box[k] = (double)found[k], far += fabs(box[k] - want[k]);
    return (double)opt->absolute * far - (double)opt->giou * (1 - hd_box_error_of(box, want, NULL, NULL));
}

/* Cost of every query for every object, [objects, queries]. Probabilities are by softmax. */
static void costs_of(const matching *m, const judging *j, const hd_detr_object *o, size_t objects)
{
    size_t queries = j->model->opt.queries, classes = j->model->opt.labels + 1;
    for (size_t q = 0; q < queries; q++) {
        const hd_real *z = j->logits + (m->at + q) * classes, *box = j->box + (m->at + q) * BOX;
        double most = -INFINITY, sum = 0;
        for (size_t c = 0; c < classes; c++) most = fmax(most, (double)z[c]);
        for (size_t c = 0; c < classes; c++) sum += m->power[c] = exp((double)z[c] - most);
        for (size_t i = 0; i < objects; i++)
            m->cost[i * queries + q] = box_cost(box, &o[i], &j->opt) - m->power[o[i].label] / sum;
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

static size_t groups_of(const judging *j)
{
    return j->model->opt.anchors ? (size_t)j->opt.noise.groups : 0;
}

static size_t objects_of(const judging *j, size_t picture)
{
    return j->truth->first[picture + 1] - j->truth->first[picture];
}

static void judge_picture(const judging *j, matching *m)
{
    const hd_detr_object *o = j->truth->object + j->truth->first[m->picture];
    size_t objects = objects_of(j, m->picture), queries = j->model->opt.queries, groups = groups_of(j);
    for (size_t q = 0; q < queries; q++) want_nothing(j, m->at + q);
    if (!objects) return;
    costs_of(m, j, o, objects);
    if (hd_assign(m->cost, objects, queries, m->query, &m->err)) return;
    for (size_t i = 0; i < objects; i++)
        if (m->query[i] >= 0) want(j, m->at + (size_t)m->query[i], &o[i], j->share, 1);
    for (size_t i = 0; i < groups * objects; i++)
        want(j, m->at + queries + i, &o[i % objects], 1 / (double)groups, 1 / (double)groups);
}

static void judge_some(void *arg, size_t begin, size_t end, int worker)
{
    const judging *j = arg;
    (void)worker;
    for (size_t i = begin; i < end; i++) judge_picture(j, &j->match[i]);
}

/* Room for every matching before threads begin. */
static bool make_matches(hd_run *r, judging *j, size_t layers)
{
    size_t pictures = j->truth->pictures, queries = j->model->opt.queries, at = 0,
           classes = j->model->opt.labels + 1, objects = layers * j->truth->first[pictures], n = 0;
    double *cost = hd_host_take(r, (objects * queries + 1) * sizeof *cost);
    int32_t *query = hd_host_take(r, (objects + 1) * sizeof *query);
    j->matches = layers * pictures;
    j->match = hd_host_take(r, (j->matches + 1) * sizeof *j->match);
    double *power = hd_host_take(r, (j->matches * classes + 1) * sizeof *power);
    if (!cost || !query || !j->match || !power) return false;
    for (size_t i = 0; i < j->matches; i++) {
        size_t picture = i % pictures, own = objects_of(j, picture);
        j->match[i] = (matching){picture, at, cost + n * queries, power + i * classes, query + n, {0}};
        at += queries + groups_of(j) * own, n += own;
    }
    return true;
}

/* The first failure, whoever met it. */
static bool judge_all(hd_run *r, judging *j)
{
    if (j->opt.team)
        hd_team_run(j->opt.team, j->matches, 1, judge_some, j);
    else
        judge_some(j, 0, j->matches, 0);
    for (size_t i = 0; i < j->matches; i++)
        if (j->match[i].err.status) return hd_fail(r, j->match[i].err.status, "%s", j->match[i].err.text);
    return !r->err.status;
}

static bool make_goals(hd_run *r, goals *g, size_t rows)
{
    g->box = hd_host_take(r, (rows + 1) * (REALS * sizeof *g->box + sizeof *g->label));
    if (!g->box) return false;
    g->absolute = g->box + rows * BOX, g->giou = g->absolute + rows, g->weight = g->giou + rows;
    g->label = (int32_t *)(g->weight + rows);
    return true;
}

/* Both in one transfer: the host waits for the queue of a card once. */
static bool read_found(hd_run *r, const hd_detr_found *f, hd_real *logits, hd_real *box)
{
    if (!f->logits || !f->box || r->err.status) return false;
    size_t first = hd_bytes_of(f->logits), bytes = first + hd_bytes_of(f->box);
    char *joined = hd_step_take(r, bytes), *host = hd_host_take(r, bytes);
    if (!joined || !host) return false;
    r->backend->copy(r->backend, joined, f->logits->data, first);
    r->backend->copy(r->backend, joined + first, f->box->data, bytes - first);
    r->backend->download(r->backend, host, joined, bytes);
    hd_convert(logits, HD_REAL, host, f->logits->dtype, hd_count_of(f->logits));
    hd_convert(box, HD_REAL, host + first, f->box->dtype, hd_count_of(f->box));
    return true;
}

/* Columns of the block that was sent. */
static hd_tensor *sent(hd_run *r, const hd_real *host, const goals *g, hd_real *block, size_t rows,
                       size_t cols)
{
    hd_tensor *t = hd_host_take(r, sizeof *t);
    if (t) *t = hd_matrix(block + (host - g->box), rows, cols);
    return t;
}

static hd_tensor *losses_of(hd_run *r, const hd_detr_found *f, const goals *g)
{
    size_t rows = f->logits ? hd_rows_of(f->logits) : 0,
           bytes = rows * (REALS * sizeof *g->box + sizeof *g->label);
    hd_real *block = hd_step_take(r, bytes);
    if (!block) return NULL;
    r->backend->upload(r->backend, block, g->box, bytes);
    const int32_t *label = (const int32_t *)(block + rows * REALS);
    hd_tensor *goal = sent(r, g->box, g, block, rows, BOX);
    hd_loss_opt of_label = {.coef = 1, .weight = sent(r, g->weight, g, block, rows, 1)},
                absolute = {.coef = 1, .weight = sent(r, g->absolute, g, block, rows, 1)},
                giou = {.coef = 1, .weight = sent(r, g->giou, g, block, rows, 1)};
    hd_tensor *all[] = {hd_cross_entropy(r, f->logits, label, &of_label),
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
    size_t classes = m->opt.labels + 1;
    if (!memory.t) return NULL;
    if (!j.opt.team) j.opt.team = r->backend->team;
    hd_detr_queries q = hd_detr_ask(r, m, memory.seg, truth->pictures, truth, &j.opt.noise);
    hd_detr_found f = hd_detr_decode(r, m, memory, place, &q, true);
    size_t rows = f.logits ? hd_rows_of(f.logits) : 0;
    if (found) *found = f;
    hd_real *logits = hd_host_take(r, (rows + 1) * classes * sizeof *logits),
            *box = hd_host_take(r, (rows + 1) * BOX * sizeof *box);
    if (!logits || !box || !make_goals(r, &j.goal, rows) || !make_matches(r, &j, f.layers)) return NULL;
    if (!read_found(r, &f, logits, box)) return NULL;
    j.logits = logits, j.box = box;
    double none = j.opt.pictures * (double)m->opt.queries - j.opt.objects;
    j.share = j.opt.objects / (j.opt.objects + (double)j.opt.no_object * fmax(none, 0));
    return judge_all(r, &j) ? losses_of(r, &f, &j.goal) : NULL;
}
