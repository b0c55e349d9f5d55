/* Training a masked language model: from a text to a model folder. An update learns from `batch` windows of
   the text, each whole lines as far as the context goes, or the middle of a long one; one in ten is a single
   line. Easy to get wrong: which windows, and what is masked in them, the seed and the number of the update
   say alone, never how the run was cut into sittings or shared between processes. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "run/session.h"
#include "task/language/training.h"
#include "task/list.h"
#include "task/masked/training.h"

enum { VALID_EVERY = 500, PIECE = 1024 };
#define SINGLE_LINES 0.1 /* share of the windows: what is filled in is often one line */

typedef struct masking {
    hd_stream_run base;
    hd_bert *model; /* in its folder */
    size_t room;    /* tokens of a window, the start among them */
    hd_masking how;
    hd_masked_rows rows; /* of the update */
    int32_t *near;       /* [2 * room] tokens around a place */
    hd_bert_batch sent;
} masking;

/* -- the loop's side -- */

/* Where the line of a token begins, or the token itself where that is too far away. */
static size_t begin_of(const int32_t *ids, size_t place, size_t room, int32_t end)
{
    size_t at = place;
    while (at && place - at < room && ids[at - 1] != end) at--;
    return place - at < room ? at : place;
}

static size_t end_of_line(const int32_t *ids, size_t count, size_t from, size_t room, int32_t end)
{
    size_t n = 1;
    while (n < room && from + n < count && ids[from + n - 1] != end) n++;
    return n;
}

/* A window begins at most `room` tokens before the place that is drawn and ends at most as many behind it. */
static hd_status draw_windows(masking *m, uint64_t at, hd_err *err)
{
    hd_rng rng = hd_rng_make(m->base.seed, 0x6d6c6d00000000u + at);
    size_t room = m->room - 1;
    int32_t end = hd_tokenizer_special(m->base.folder.tokenizer[0]).end;
    hd_masked_rows_clear(&m->rows);
    for (size_t i = 0; i < m->base.batch; i++) {
        size_t place = (size_t)(hd_rng_unit(&rng) * (double)m->base.train.count);
        size_t first = place < room ? 0 : place - room, left = m->base.train.count - place;
        size_t count = place - first + (left < room ? left : room);
        const int32_t *ids = hd_stream_text_at(&m->base.train, first, count, m->near, err);
        if (!ids) return err->status;
        size_t from = begin_of(ids, place - first, room, end);
        size_t n = hd_rng_unit(&rng) < SINGLE_LINES ? end_of_line(ids, count, from, room, end)
                                                    : hd_masked_window(ids, count, from, room, end);
        hd_masked_rows_add(&m->rows, &m->how, ids + from, n, &rng);
    }
    return HD_OK;
}

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    masking *m = s->state;
    hd_status st = draw_windows(m, s->numbered.at, err);
    if (st) return st;
    double items = (double)m->rows.items, length = (double)m->rows.rows / items;
    *out = (hd_load){.items = m->rows.items,
                     .tokens = m->rows.asked ? m->rows.asked : 1,
                     .flops = hd_bert_flops(m->model, items, length, (double)m->rows.asked)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    masking *m = s->state;
    (void)part;
    return hd_masked_rows_send(r, &m->sent, &m->rows, from, to);
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    masking *m = s->state;
    hd_loss_opt opt = {.coef = 1, .smoothing = (float)s->options->label_smoothing};
    (void)part;
    return hd_bert_loss(r, m->model, &m->sent, &opt);
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    masking *m = s->state;
    hd_masked_judged f = {0};
    hd_status st = hd_masked_judge(&f, r, &m->base.folder, &m->how, &m->base.valid, err);
    double nats = st ? NAN : f.nats / (double)f.asked, right = st ? NAN : (double)f.right / (double)f.asked;
    *out = (hd_validation){.loss = nats,
                           .quality = isnan(nats) ? -INFINITY : -nats,
                           .figure = {{"accuracy", "accuracy", right, .share = true}}};
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    masking *m = s->state;
    hd_stream_run_release(&m->base);
    hd_masked_rows_release(&m->rows);
    hd_mem_free(m->near);
}

static hd_status find_words(bool *found, const hd_stream_text *text, const hd_tokenizer *t, hd_err *err)
{
    int32_t room[PIECE];
    *found = false;
    for (size_t at = 0; !*found && at < text->count; at += PIECE) {
        size_t n = text->count - at < PIECE ? text->count - at : PIECE;
        const int32_t *ids = hd_stream_text_at(text, at, n, room, err);
        if (!ids) return err->status;
        for (size_t i = 0; !*found && i < n; i++) *found = !hd_masked_is_special(t, ids[i]);
    }
    return HD_OK;
}

static hd_status make_model(hd_session *s, const hd_bert_opt *asked, hd_err *err)
{
    masking *m = s->state;
    const char *from = s->options->from;
    hd_bert_opt o = from ? hd_model_folder_bert(&m->base.begun)->opt : *asked;
    o.stack.dropout = asked->stack.dropout;
    if (!from) o.vocab = hd_masked_vocab(m->base.folder.tokenizer[0]); /* a published one may have more */
    m->how = (hd_masking){m->base.folder.tokenizer[0], s->options->whole_word_masking};
    m->room = asked->positions && asked->positions < o.positions ? asked->positions : o.positions;
    s->batches = m->base.train.count / (m->base.batch * (m->room - 1));
    if (!s->batches) s->batches = 1;
    hd_status st = hd_bert_new(&m->model, s->backend, &o, true, err);
    if (st) return st;
    hd_model_folder_take(&m->base.folder, HD_TRAIN_MLM, hd_bert_model(m->model));
    s->params = &m->model->params;
    if (!(m->near = hd_mem_array(2 * m->room, sizeof *m->near)))
        st = hd_err_nomem(err, 2 * m->room * sizeof *m->near);
    return st ? st : hd_masked_rows_init(&m->rows, m->base.batch, m->room, err);
}

static hd_status open(hd_session *s, hd_err *err)
{
    masking *m = s->state;
    hd_bert_opt model;
    hd_status st = hd_masked_model(&model, s->options, err);
    bool words = false, held = !s->options->valid.count && s->options->valid_fraction <= 0;
    if (!st) st = hd_stream_run_open(&m->base, s, false, err);
    if (!st) st = find_words(&words, &m->base.train, m->base.folder.tokenizer[0], err);
    if (!st && !held) st = find_words(&held, &m->base.valid, m->base.folder.tokenizer[0], err);
    if (!st && !words)
        st = hd_err_set(err, HD_EFORMAT, "%s: there is no token to learn from", s->options->train.text[0]);
    if (!st && !held)
        st = hd_err_set(err, HD_EARG, "the text to validate with has no token that could be masked");
    return st ? st : make_model(s, &model, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    masking *m = s->state;
    const hd_bert_opt *o = &m->model->opt;
    hd_load first;
    hd_status st = load(s, &first, err);
    p->flops = first.flops;
    snprintf(p->model, sizeof p->model, "bert of %d layers of width %zu", o->stack.layers, o->stack.width);
    hd_stream_run_plan(&m->base, p, o->vocab);
    return st;
}

const hd_task hd_task_mlm = {
    .unit = "masked tokens",
    .with = "'TEXT WITH A [MASK]'",
    .remedy = "a smaller --batch-size or --micro-batches N",
    .perplexity = true,
    .varies = true,
    .valid_every = VALID_EVERY,
    .recipe = &hd_recipe_mlm,
    .size = sizeof(masking),
    .check = hd_masked_check,
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
