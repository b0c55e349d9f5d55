/* Training a model of handwriting: from lines of strokes to a model folder. An update sees `batch` lines of
   similar length; every epoch has all of them once. The best model is that of the least loss on what is held
   back. */
#include <math.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "task/list.h"
#include "task/write/kind.h"

typedef struct learning {
    hd_model_folder folder; /* first, as hd_task_save asks */
    const hd_write_kind *kind;
    hd_strokes train, valid;
    hd_write_lines train_lines, valid_lines;
    hd_write_order order;
    const uint32_t *which; /* the lines of the update */
    size_t count;
    double baseline;
    hd_write_batch sent;
} learning;

static double flops_of(const learning *l, double items, double points, double letters)
{
    return l->folder.model.type->flops(l->folder.model.self, items, letters, points);
}

/* -- the loop's side -- */

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    learning *l = s->state;
    uint64_t at = s->numbered.at, batches = l->order.batches;
    (void)err;
    hd_write_order_form(&l->order, &l->train, (uint64_t)s->options->seed, at / batches);
    l->which = hd_write_order_batch(&l->order, at % batches, &l->count);
    size_t points = hd_write_points(&l->train, l->which, l->count);
    double n = (double)l->count;
    *out = (hd_load){
        .items = l->count, .tokens = points ? points : 1, .flops = flops_of(l, n, (double)points / n, 20)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    learning *l = s->state;
    (void)part;
    return l->kind->send(r, &l->sent, &l->train_lines, l->which + from, to - from, l->folder.model.self);
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    learning *l = s->state;
    (void)part;
    return l->kind->loss(r, l->folder.model.self, &l->sent);
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    learning *l = s->state;
    size_t each = (size_t)s->options->batch_size, lines = l->valid.count;
    double sum[2] = {0};
    hd_status st = HD_OK;
    uint32_t *which = hd_mem_array(each, sizeof *which);
    if (!which) st = hd_err_nomem(err, each * sizeof *which);
    for (size_t at = each * (size_t)hd_rank(); !st && at < lines; at += each * (size_t)hd_ranks()) {
        size_t n = lines - at < each ? lines - at : each;
        for (size_t i = 0; i < n; i++) which[i] = (uint32_t)(at + i);
        hd_run_begin(r, HD_INFERENCE);
        l->kind->send(r, &l->sent, &l->valid_lines, which, n, l->folder.model.self);
        sum[0] += hd_loss_total(r, l->kind->loss(r, l->folder.model.self, &l->sent));
        sum[1] += (double)hd_write_points(&l->valid, which, n);
        if (r->err.status) st = hd_err_set(err, r->err.status, "validation: %s", r->err.text);
    }
    hd_mem_free(which);
    st = hd_ranks_agree(st, sum, 2, err);
    double mean = sum[0] / sum[1];
    *out = (hd_validation){.loss = mean, .quality = isnan(mean) ? -INFINITY : -mean};
    out->figure[0] = (hd_figure){"line_loss", "nats a line", sum[0] / (double)lines, .places = 1};
    out->figure[1] = (hd_figure){"one_gaussian", "one Gaussian", l->baseline, .places = 3};
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    learning *l = s->state;
    hd_write_order_release(&l->order);
    hd_write_lines_release(&l->train_lines);
    hd_write_lines_release(&l->valid_lines);
    hd_strokes_release(&l->train);
    hd_strokes_release(&l->valid);
    hd_model_folder_release(&l->folder);
}

/* The characters and sizes of the folder that the run goes on with, or those of the data. */
static hd_status make_characters(hd_session *s, hd_write_sizes *o, hd_err *err)
{
    learning *l = s->state;
    hd_model_folder old;
    if (!s->options->resume) {
        hd_status st = hd_write_characters(&l->folder.tokenizer[0], &l->train, &s->hooks->log, err);
        return st ? st : l->kind->measure(o, &l->train, hd_tokenizer_size(l->folder.tokenizer[0]), err);
    }
    hd_status st = hd_model_folder_describe(&old, s->options->out, "write", err);
    if (st) return st;
    if (hd_write_kind_of(&old.model) != l->kind) {
        hd_model_folder_release(&old);
        return hd_err_set(err, HD_EFORMAT, "%s: config.json is not of a model of --model %s", s->options->out,
                          l->kind->name);
    }
    l->kind->take(o, old.model.self);
    hd_model_folder_keep_tokenizers(&old);
    l->folder.tokenizer[0] = old.tokenizer[0];
    return HD_OK;
}

static hd_status cut_lines(hd_session *s, hd_err *err)
{
    learning *l = s->state;
    const hd_tokenizer *t = l->folder.tokenizer[0];
    hd_status st = hd_write_lines_make(&l->train_lines, &l->train, t, err);
    if (!st && s->validates) st = hd_write_lines_make(&l->valid_lines, &l->valid, t, err);
    return st ? st : hd_write_order_make(&l->order, l->train.count, (size_t)s->options->batch_size, err);
}

static hd_status open(hd_session *s, hd_err *err)
{
    learning *l = s->state;
    hd_write_sizes o = {0};
    hd_model m = {0};
    l->kind = hd_write_kind_find(hd_train_model_names[s->options->model]);
    l->kind->sizes(&o, s->options);
    hd_status st = hd_write_data(s, &l->train, &l->valid, err);
    if (!st) st = make_characters(s, &o, err);
    if (!st) st = cut_lines(s, err);
    if (!st) st = l->kind->make(&m, s->backend, &o, true, err);
    if (st) return st;
    hd_model_folder_take(&l->folder, HD_TRAIN_WRITE, m);
    if (l->kind->fits) st = l->kind->fits(m.self, &l->train_lines, "training data", err);
    if (!st && l->kind->fits && s->validates)
        st = l->kind->fits(m.self, &l->valid_lines, "validation data", err);
    if (s->validates) l->baseline = hd_pen_baseline(l->kind->scale(m.self), &l->valid);
    s->params = m.params;
    s->batches = l->order.batches;
    return st;
}

static double points_a_letter(const learning *l)
{
    size_t letters = l->train_lines.first_id[l->train.count];
    return (double)l->train.points.count / (double)(letters ? letters : 1);
}

static hd_status begin_weights(hd_session *s, hd_err *err)
{
    const learning *l = s->state;
    return l->kind->draw(l->folder.model.self, (uint64_t)s->options->seed, points_a_letter(l), err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const learning *l = s->state;
    double lines = (double)l->train.count, points = (double)l->train.points.count / lines;
    char a[32];
    (void)err;
    l->kind->plan(l->folder.model.self, p->model, sizeof p->model);
    p->flops = flops_of(l, (double)s->options->batch_size, points, points / points_a_letter(l));
    hd_plan_add(p, "characters", "%s", hd_grouped(hd_tokenizer_size(l->folder.tokenizer[0]), a));
    hd_plan_add_data(p, "lines", l->train.count, l->valid.count);
    hd_plan_add(p, "points", "%s, %.0f a line, %.1f a character", hd_grouped(l->train.points.count, a),
                points, points_a_letter(l));
    return HD_OK;
}

const hd_task hd_task_write = {
    .unit = "points",
    .with = "TEXT --out line.svg",
    .remedy = "a smaller --batch-size or --micro-batches N",
    .varies = true,
    .recipe = &hd_recipe_write,
    .size = sizeof(learning),
    .check = hd_write_check,
    .open = open,
    .release = release,
    .weights = begin_weights,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = validate,
    .save = hd_task_save,
    .publish = hd_task_publish,
};
