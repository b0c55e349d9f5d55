/* Training a model of handwriting: from lines of strokes to a model folder. An update sees `batch` lines of
   similar length; every epoch has all of them once. The best model is that of the least loss on what is held
   back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "task/list.h"
#include "task/write/training.h"

typedef struct learning {
    hd_model_folder folder; /* first, as hd_task_save asks */
    hd_handwriting *model;  /* in the folder */
    hd_strokes train, valid;
    hd_write_lines train_lines, valid_lines;
    hd_write_order order;
    const uint32_t *which; /* the lines of the update */
    size_t count;
    double baseline;
    hd_handwriting_batch sent;
} learning;

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
    *out = (hd_load){.items = l->count,
                     .tokens = points ? points : 1,
                     .flops = hd_handwriting_flops(l->model, n, (double)points / n, 20)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    learning *l = s->state;
    (void)part;
    return hd_write_send(r, &l->sent, &l->train_lines, l->which + from, to - from, &l->model->opt.scale,
                         l->model->opt.window > 0);
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    learning *l = s->state;
    (void)part;
    return hd_handwriting_loss(r, l->model, &l->sent);
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
        hd_write_send(r, &l->sent, &l->valid_lines, which, n, &l->model->opt.scale, l->model->opt.window > 0);
        sum[0] += hd_loss_total(r, hd_handwriting_loss(r, l->model, &l->sent));
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
static hd_status make_characters(hd_session *s, hd_handwriting_opt *o, hd_err *err)
{
    learning *l = s->state;
    hd_model_folder old;
    if (!s->options->resume) {
        hd_status st = hd_pen_scale_measure(&o->scale, &l->train, err);
        if (!st) st = hd_write_characters(&l->folder.tokenizer[0], &l->train, &s->hooks->log, err);
        if (!st) o->vocab = hd_tokenizer_size(l->folder.tokenizer[0]);
        return st;
    }
    hd_status st = hd_model_folder_describe(&old, s->options->out, "write", err);
    if (st) return st;
    const float dropout = o->dropout;
    *o = hd_model_folder_handwriting(&old)->opt, o->dropout = dropout;
    hd_model_folder_keep_tokenizers(&old);
    l->folder.tokenizer[0] = old.tokenizer[0];
    return HD_OK;
}

static hd_status open(hd_session *s, hd_err *err)
{
    learning *l = s->state;
    hd_handwriting_opt o = hd_write_model(s->options);
    hd_status st = hd_write_data(s, &l->train, &l->valid, err);
    if (!st) st = make_characters(s, &o, err);
    if (!st) st = hd_write_lines_make(&l->train_lines, &l->train, l->folder.tokenizer[0], err);
    if (!st && s->validates)
        st = hd_write_lines_make(&l->valid_lines, &l->valid, l->folder.tokenizer[0], err);
    if (!st) st = hd_write_order_make(&l->order, l->train.count, (size_t)s->options->batch_size, err);
    if (!st) st = hd_handwriting_new(&l->model, s->backend, &o, true, err);
    if (st) return st;
    hd_model_folder_take(&l->folder, HD_TRAIN_WRITE, hd_handwriting_model(l->model));
    if (s->validates) l->baseline = hd_pen_baseline(&o.scale, &l->valid);
    s->params = &l->model->params;
    s->batches = l->order.batches;
    return HD_OK;
}

static double points_a_letter(const learning *l)
{
    size_t letters = l->train_lines.first_id[l->train.count];
    return (double)l->train.points.count / (double)(letters ? letters : 1);
}

static hd_status begin_weights(hd_session *s, hd_err *err)
{
    const learning *l = s->state;
    return hd_handwriting_draw(l->model, (uint64_t)s->options->seed, points_a_letter(l), err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const learning *l = s->state;
    const hd_handwriting_opt *o = &l->model->opt;
    double lines = (double)l->train.count, points = (double)l->train.points.count / lines;
    char window[48] = "no text", a[32];
    (void)err;
    if (o->window) snprintf(window, sizeof window, "a window of %d Gaussians", o->window);
    snprintf(p->model, sizeof p->model, "handwriting: lstm:%d, width %zu, %d mixtures, %s", o->layers,
             o->width, o->mixtures, window);
    p->flops =
        hd_handwriting_flops(l->model, (double)s->options->batch_size, points, points / points_a_letter(l));
    hd_plan_add(p, "characters", "%s", hd_grouped(o->vocab, a));
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
