/* Examples on their way through a classifier or tagger. Everything is sent before the first kernel is called,
   always in the same order: the rest can then be captured. */
#include "base/mem.h"
#include "op/replay.h"
#include "task/labeller.h"

enum { ROWS = 2048 }; /* of a step, about */

uint64_t hd_labeller_send(hd_run *r, hd_class_batch *out, const hd_examples *x, const uint32_t *which,
                          size_t count, bool each)
{
    *out = (hd_class_batch){0};
    int32_t *len = hd_host_take(r, (2 * count + 1) * sizeof *len), *key = len + count;
    if (!len) return 0;
    size_t live = 0, row = 0, label = 0;
    hd_bounds bounds = {.items = count};
    for (size_t i = 0; i < count; i++) {
        size_t n = x->begin[which[i] + 1] - x->begin[which[i]];
        len[i] = (int32_t)n, key[i] = (int32_t)which[i], live += n;
        if (n > bounds.longest) bounds.longest = n;
    }
    bounds.rows = live;
    if (r->training) bounds = hd_bounds_of(r, len, count); /* only those steps are captured */
    size_t rows = bounds.rows, labels = each ? rows : bounds.items;
    int32_t *all = hd_host_take(r, (2 * rows + labels + 1) * sizeof *all);
    int32_t *target = all + rows, *at = target + labels;
    if (!all) return 0;
    for (size_t i = 0; i < 2 * rows + labels; i++) all[i] = -1; /* what is filled up is no token */
    for (size_t i = 0; i < count; i++) {
        size_t e = which[i], before = row;
        for (size_t j = x->begin[e]; j < x->begin[e + 1]; j++) all[row++] = x->id[j];
        for (size_t j = x->first[e]; j < x->first[e + 1]; j++, label++)
            target[label] = x->label[j], at[label] = (int32_t)before + x->row[j];
    }
    bool some = each && !x->plain;
    *out = (hd_class_batch){.seg = hd_seg_within(r, len, count, key, bounds),
                            .ids = hd_ints(r, all, rows),
                            .target = hd_ints(r, target, labels),
                            .row = some ? hd_ints(r, at, rows) : NULL,
                            .rows = rows};
    return hd_shape_mix(hd_shape_mix(hd_shape_mix(bounds.items, rows), bounds.longest), live == rows);
}

/* Examples from .. to-1 and the labels they have. */
static hd_status ask_some(hd_run *r, const hd_labeller *l, const hd_examples *x, size_t from, size_t to,
                          hd_labeller_hear *hear, void *context, hd_err *err)
{
    size_t classes = l->model->opt.classes, labels = x->first[to] - x->first[from];
    hd_class_batch batch;
    hd_run_begin(r, HD_INFERENCE);
    uint32_t *which = hd_host_take(r, (to - from + 1) * sizeof *which);
    for (size_t i = from; which && i < to; i++) which[i - from] = (uint32_t)i;
    if (which) hd_labeller_send(r, &batch, x, which, to - from, l->model->opt.pool == HD_POOL_each);
    hd_tensor *y = which ? hd_classifier_logp(r, l->model, &batch) : NULL;
    hd_real *logp = hd_host_take(r, (y ? hd_count_of(y) + 1 : 1) * sizeof *logp);
    if (y && logp) hd_read(r, y, logp);
    if (r->err.status) return hd_err_set(err, r->err.status, "labels: %s", r->err.text);
    for (size_t i = 0; i < labels; i++) hear(context, x->first[from] + i, logp + i * classes);
    return HD_OK;
}

hd_status hd_labeller_ask(hd_run *r, const hd_labeller *l, const hd_examples *x, hd_labeller_hear *hear,
                          void *context, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t from = 0, to; !s && from < x->count; from = to) {
        for (to = from + 1; to < x->count && x->begin[to + 1] - x->begin[from] <= ROWS;) to++;
        s = ask_some(r, l, x, from, to, hear, context, err);
    }
    return s;
}

typedef struct judging {
    hd_judged *out;
    const hd_examples *x;
    size_t classes;
} judging;

static void judge_one(void *context, size_t label, const hd_real *logp)
{
    judging *j = context;
    size_t best = 0, truth = (size_t)j->x->label[label];
    for (size_t k = 1; k < j->classes; k++)
        if (logp[k] > logp[best]) best = k;
    j->out->nats -= (double)logp[truth];
    hd_confusion_add(&j->out->confusion, truth, best);
}

hd_status hd_labeller_judge(hd_judged *out, hd_run *r, const hd_labeller *l, const hd_examples *x,
                            hd_err *err)
{
    judging j = {out, x, l->model->opt.classes};
    *out = (hd_judged){0};
    hd_status s = hd_confusion_init(&out->confusion, j.classes, err);
    if (!s) s = hd_labeller_ask(r, l, x, judge_one, &j, err);
    if (s) hd_confusion_release(&out->confusion);
    return s;
}
