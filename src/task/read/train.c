/* Training a reader of handwriting: from lines of strokes to a model folder, as models of handwriting are
   (task/write/train.c). The best model is that of the least character error rate on what is held back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "op/replay.h"
#include "task/list.h"
#include "task/read/read.h"

typedef struct learning {
    hd_model_folder folder; /* first, as hd_task_save asks */
    hd_reader *model;       /* in the folder */
    hd_strokes train, valid;
    hd_write_lines train_lines;
    hd_write_order order;
    const uint32_t *which; /* the lines of the update */
    size_t count;
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
    *out = (hd_load){
        .items = l->count, .tokens = l->count, .flops = hd_reader_flops(l->model, n, (double)points / n)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    learning *l = s->state;
    (void)part;
    uint64_t shape =
        hd_write_send(r, &l->sent, &l->train_lines, l->which + from, to - from, &l->model->opt.scale, false);
    return hd_shape_mix(shape, hd_write_send_text(r, &l->sent, &l->train_lines, l->which + from, to - from));
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    learning *l = s->state;
    (void)part;
    return hd_reader_loss(r, l->model, l->sent.point, l->sent.ids, l->sent.text);
}

/* All processes read all lines. */
static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    learning *l = s->state;
    hd_read_judged j;
    hd_status st = hd_ranks_agree(hd_read_lines(&j, r, &l->folder, &l->valid, NULL, err), NULL, 0, err);
    double mean = j.loss / (double)j.lines;
    *out = (hd_validation){.loss = mean, .quality = isnan(mean) ? -INFINITY : -j.cer};
    out->figure[0] = (hd_figure){"cer", "CER", j.cer, .share = true};
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    learning *l = s->state;
    hd_write_order_release(&l->order);
    hd_write_lines_release(&l->train_lines);
    hd_strokes_release(&l->train);
    hd_strokes_release(&l->valid);
    hd_model_folder_release(&l->folder);
}

/* The characters and sizes of the folder that the run goes on with, or those of the data. */
static hd_status make_characters(hd_session *s, hd_reader_opt *o, hd_err *err)
{
    learning *l = s->state;
    hd_model_folder old;
    if (!s->options->resume) {
        hd_status st = hd_pen_scale_measure(&o->scale, &l->train, err);
        if (!st) st = hd_write_characters(&l->folder.tokenizer[0], &l->train, &s->hooks->log, err);
        if (!st) o->vocab = hd_tokenizer_size(l->folder.tokenizer[0]);
        return st;
    }
    hd_status st = hd_model_folder_describe(&old, s->options->out, "read", err);
    if (st) return st;
    const float dropout = o->dropout;
    *o = hd_model_folder_reader(&old)->opt, o->dropout = dropout;
    hd_model_folder_keep_tokenizers(&old);
    l->folder.tokenizer[0] = old.tokenizer[0];
    return HD_OK;
}

static hd_status open(hd_session *s, hd_err *err)
{
    learning *l = s->state;
    hd_reader_opt o = {.width = (size_t)s->options->width,
                       .layers = s->options->layers,
                       .fold = 3,
                       .dropout = (float)s->options->dropout};
    hd_status st = hd_write_data(s, &l->train, &l->valid, err);
    if (!st) st = make_characters(s, &o, err);
    if (!st) st = hd_write_lines_make(&l->train_lines, &l->train, l->folder.tokenizer[0], err);
    if (!st) st = hd_write_order_make(&l->order, l->train.count, (size_t)s->options->batch_size, err);
    if (!st) st = hd_reader_new(&l->model, s->backend, &o, true, err);
    if (st) return st;
    hd_model_folder_take(&l->folder, HD_TRAIN_READ, hd_reader_model(l->model));
    s->params = &l->model->params;
    s->batches = l->order.batches;
    return HD_OK;
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const learning *l = s->state;
    const hd_reader_opt *o = &l->model->opt;
    double points = (double)l->train.points.count / (double)l->train.count;
    char a[32];
    (void)err;
    snprintf(p->model, sizeof p->model, "reader: bi-lstm:%d, width %zu, %d points at once", o->layers,
             o->width, o->fold);
    p->flops = hd_reader_flops(l->model, (double)s->options->batch_size, points);
    hd_plan_add(p, "characters", "%s", hd_grouped(o->vocab, a));
    hd_plan_add_data(p, "lines", l->train.count, l->valid.count);
    return HD_OK;
}

static hd_run_parts parts(const hd_train_options *o)
{
    (void)o;
    return HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_LAYERS;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    (void)o;
    snprintf(to, HD_RECIPE_TEXT, "--task is read");
    return to;
}

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    (void)set, (void)err;
    *out = HD_PRESET_STROKE_READER;
    return HD_OK;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    (void)set, (void)named, (void)err;
    return HD_OK;
}

const hd_recipe hd_recipe_read = {.choose = choose, .derive = derive, .parts = parts, .shape = shape};

const hd_task hd_task_read = {
    .unit = "lines",
    .with = "FILE.tsv",
    .remedy = "a smaller --batch-size or --micro-batches N",
    .varies = true,
    .recipe = &hd_recipe_read,
    .size = sizeof(learning),
    .check = hd_write_check,
    .open = open,
    .release = release,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = validate,
    .save = hd_task_save,
    .publish = hd_task_publish,
};
