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
    hd_model_folder folder;
    hd_bert *model;              /* in it */
    hd_stream_text train, valid; /* valid.count 0: there is none */
    hd_bert_opt found;           /* in the folder of the run, or in that of the model it begins with */
    size_t batch, room;          /* windows of an update; tokens of one, the start among them */
    hd_masking how;
    hd_masked_rows rows; /* of the update */
    int32_t *near;       /* [2 * room] tokens around a place */
    uint64_t seed;
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
    hd_rng rng = hd_rng_make(m->seed, 0x6d6c6d00000000u + at);
    size_t room = m->room - 1;
    int32_t end = hd_tokenizer_special(m->folder.tokenizer[0]).end;
    hd_masked_rows_clear(&m->rows);
    for (size_t i = 0; i < m->batch; i++) {
        size_t place = (size_t)(hd_rng_unit(&rng) * (double)m->train.count);
        size_t first = place < room ? 0 : place - room, left = m->train.count - place;
        size_t count = place - first + (left < room ? left : room);
        const int32_t *ids = hd_stream_text_at(&m->train, first, count, m->near, err);
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
    hd_status st = hd_masked_judge(&f, r, &m->folder, &m->how, &m->valid, err);
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
    hd_model_folder_release(&m->folder);
    hd_stream_text_release(&m->train);
    hd_stream_text_release(&m->valid);
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
    hd_bert_opt o = from ? m->found : *asked;
    o.stack.dropout = asked->stack.dropout;
    if (!from) o.vocab = hd_masked_vocab(m->folder.tokenizer[0]); /* a published one may have more */
    m->how = (hd_masking){m->folder.tokenizer[0], s->options->whole_words};
    m->room = asked->positions && asked->positions < o.positions ? asked->positions : o.positions;
    s->batches = m->train.count / (m->batch * (m->room - 1));
    if (!s->batches) s->batches = 1;
    hd_status st = hd_bert_new(&m->model, s->backend, &o, true, err);
    if (st) return st;
    hd_model_folder_take(&m->folder, HD_TRAIN_MLM, hd_bert_model(m->model));
    s->params = &m->model->params;
    if (!(m->near = hd_mem_array(2 * m->room, sizeof *m->near)))
        st = hd_err_nomem(err, 2 * m->room * sizeof *m->near);
    return st ? st : hd_masked_rows_init(&m->rows, m->batch, m->room, err);
}

static hd_status open(hd_session *s, hd_err *err)
{
    masking *m = s->state;
    const char *folder = hd_session_folder(s);
    hd_bert_opt model;
    m->seed = (uint64_t)s->options->seed, m->batch = (size_t)s->options->batch;
    hd_status st = hd_masked_model(&model, s->options, err);
    if (!st && folder) st = hd_model_folder_describe(&m->folder, folder, "mlm", err);
    if (!st && folder) {
        m->found = hd_model_folder_bert(&m->folder)->opt;
        hd_model_folder_keep_tokenizers(&m->folder);
    }
    bool words = false, held = !s->options->valid.count && s->options->valid_fraction <= 0;
    if (!st) st = hd_stream_texts_read(&m->train, &m->valid, &m->folder.tokenizer[0], s, false, err);
    if (!st) st = find_words(&words, &m->train, m->folder.tokenizer[0], err);
    if (!st && !held) st = find_words(&held, &m->valid, m->folder.tokenizer[0], err);
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
    char a[32];
    hd_status st = load(s, &first, err);
    p->flops = first.flops;
    snprintf(p->model, sizeof p->model, "bert of %d layers of width %zu", o->stack.layers, o->stack.width);
    hd_plan_add(p, "vocabulary", "%s", hd_grouped(o->vocab, a));
    hd_plan_add_data(p, "tokens", m->train.count, m->valid.count);
    hd_plan_add(p, "lines", "%s", hd_grouped(m->train.lines, a));
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
