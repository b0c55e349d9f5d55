/* Training a masked language model. Easy to get wrong: windows and masks come from the seed and the number of
   the update alone, never from how the run was cut into sittings or shared between processes. */
#include "task/masked/train.h"

#include <math.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "task/language/text.h"
#include "task/masked/judge.h"
#include "run/training.h"
#include "train/duration.h"
#include "train/run_log.h"

enum { VALID_EVERY = 500 };
#define SINGLE_LINES 0.1 /* share of the windows: what is filled in is often one line */

typedef struct session {
    const hd_masked_train_opt *opt;
    hd_backend *backend;
    hd_run run;
    hd_stream_text train, valid; /* valid.count 0: there is none */
    hd_masked masked;
    hd_bert_opt found; /* in the folder of the run, or in that of the model it begins with */
    size_t room;       /* tokens of a window, the start among them */
    hd_masking how;
    hd_optimizer optimizer;
    size_t batches;      /* of an epoch */
    hd_masked_rows rows; /* of the update */
    uint64_t at;         /* the update to come, from 0 */
    hd_bert_batch sent;
    hd_run_log log;
    double began, before; /* when this sitting began; seconds of those before it */
} session;

/* -- the loop's side -- */

/* Windows before those of a process. */
static size_t share(const session *s, size_t rank)
{
    return s->opt->batch * rank / (size_t)s->backend->ranks;
}

static size_t parts_of(const session *s)
{
    size_t mine = share(s, (size_t)s->backend->rank + 1) - share(s, (size_t)s->backend->rank);
    return hd_training_parts(s->opt->parts, mine);
}

/* Where the line of a token begins, or the token itself where that is too far away. */
static size_t begin_of(const session *s, size_t place, size_t room, int32_t end)
{
    size_t at = place;
    while (at && place - at < room && s->train.ids[at - 1] != end) at--;
    return place - at < room ? at : place;
}

static size_t end_of_line(const session *s, size_t from, size_t room, int32_t end)
{
    size_t n = 1;
    while (n < room && from + n < s->train.count && s->train.ids[from + n - 1] != end) n++;
    return n;
}

static void draw_windows(session *s)
{
    hd_rng rng = hd_rng_make(s->opt->trainer.seed, 0x6d6c6d00000000u + s->at);
    size_t room = s->room - 1;
    int32_t end = hd_tokenizer_special(s->masked.tokenizer).end;
    hd_masked_rows_clear(&s->rows);
    for (size_t i = 0; i < s->opt->batch; i++) {
        size_t place = (size_t)(hd_rng_unit(&rng) * (double)s->train.count);
        size_t from = begin_of(s, place, room, end);
        size_t n = hd_rng_unit(&rng) < SINGLE_LINES
                       ? end_of_line(s, from, room, end)
                       : hd_masked_window(s->train.ids, s->train.count, from, room, end);
        hd_masked_rows_add(&s->rows, &s->how, s->train.ids + from, n, &rng);
    }
}

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    session *s = context;
    (void)err;
    draw_windows(s);
    s->at++;
    double items = (double)s->rows.items, length = (double)s->rows.rows / items;
    *out = (hd_load){.epoch = s->at / s->batches,
                     .batch = s->at % s->batches,
                     .parts = parts_of(s),
                     .tokens = s->rows.asked ? s->rows.asked : 1,
                     .flops = hd_bert_flops(s->masked.model, items, length, (double)s->rows.asked)};
    return HD_OK;
}

static hd_status seek(void *context, uint64_t epoch, uint64_t batch, hd_err *err)
{
    session *s = context;
    (void)err;
    s->at = epoch * s->batches + batch;
    return HD_OK;
}

static uint64_t send(hd_run *r, void *context, size_t part)
{
    session *s = context;
    size_t first = share(s, (size_t)s->backend->rank), mine = share(s, (size_t)s->backend->rank + 1) - first;
    size_t parts = parts_of(s), from = first + mine * part / parts, to = first + mine * (part + 1) / parts;
    return hd_masked_rows_send(r, &s->sent, &s->rows, from, to);
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    session *s = context;
    (void)part;
    return hd_bert_loss(r, s->masked.model, &s->sent,
                        &(hd_loss_opt){.coef = 1, .smoothing = s->opt->smoothing});
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    session *s = context;
    hd_masked_judged f = {0};
    hd_status st = hd_masked_judge(&f, r, &s->masked, &s->how, &s->valid, err);
    double nats = st ? NAN : f.nats / (double)f.asked;
    *out = (hd_validation){.loss = nats,
                           .score = st ? NAN : 100 * (double)f.right / (double)f.asked,
                           .quality = isnan(nats) ? -INFINITY : -nats};
    return st;
}

static hd_status publish(void *context, hd_err *err)
{
    session *s = context;
    return hd_masked_publish(&s->masked, s->opt->trainer.folder, err);
}

/* -- the log and the time -- */

/* A time that cannot be kept costs a warning, not the run. */
static void keep_time(const session *s, bool finished)
{
    hd_err err = {0};
    hd_duration d = {s->before + hd_seconds() - s->began, finished};
    if (!s->backend->rank && hd_duration_save(s->opt->trainer.folder, &d, &err))
        hd_log_say(&s->opt->log, HD_WARN, "how long it took is not kept: %s", err.text);
}

/* Into the log, then on to whoever started the run. */
static void tell(void *context, const hd_news *n)
{
    session *s = context;
    hd_run_log_tell(&s->log, n, "accuracy", n->valid.score / 100); /* as of labels: a share */
    if (n->kind == HD_NEWS_SAVE) keep_time(s, false);
    if (s->opt->trainer.tell) s->opt->trainer.tell(s->opt->trainer.context, n);
}

static bool stop(void *context)
{
    session *s = context;
    return s->opt->trainer.stop && s->opt->trainer.stop(s->opt->trainer.context);
}

/* -- setting up -- */

static void release(session *s)
{
    hd_run_log_close(&s->log);
    hd_optimizer_release(&s->optimizer);
    hd_bert_free(s->masked.model);
    hd_run_release(&s->run);
    hd_tokenizer_free(s->masked.tokenizer);
    hd_stream_text_release(&s->train);
    hd_stream_text_release(&s->valid);
    hd_masked_rows_release(&s->rows);
    hd_backend_free(s->backend);
}

/* Of a run that is resumed it is the one in its folder, of one that begins with a model that model's. */
static hd_status make_tokenizer(session *s, const hd_plain_text *text, hd_err *err)
{
    const hd_masked_train_opt *o = s->opt;
    hd_tokenizer **to = &s->masked.tokenizer;
    hd_plain_walk walk = {text, 0};
    hd_tokenizer_opt v = o->vocabulary;
    v.log = &o->log;
    const char *folder = o->trainer.resume ? o->trainer.folder : o->from;
    if (folder) return hd_masked_describe(folder, &s->found, to, err);
    return hd_training_tokenizer(to, o->kind, o->tokenizer, hd_plain_feed(&walk), &v, err);
}

static bool has_words(const hd_stream_text *text, const hd_tokenizer *t)
{
    for (size_t i = 0; i < text->count; i++)
        if (!hd_masked_is_special(t, text->ids[i])) return true;
    return false;
}

static hd_status read_texts(session *s, hd_err *err)
{
    const hd_masked_train_opt *o = s->opt;
    hd_plain_text text = {0}, held = {0};
    hd_status st = hd_plain_text_read(&text, o->train, err);
    if (!st && o->valid) st = hd_plain_text_read(&held, o->valid, err);
    if (!st && !o->valid && o->valid_fraction > 0)
        st = hd_plain_text_split(&text, o->valid_fraction, &held, err);
    if (!st) st = make_tokenizer(s, &text, err);
    if (!st) st = hd_stream_text_of(&s->train, &text, s->masked.tokenizer, err);
    if (!st && !has_words(&s->train, s->masked.tokenizer))
        st = hd_err_set(err, HD_EFORMAT, "%s: there is no token to learn from", o->train);
    if (!st && held.lines) st = hd_stream_text_of(&s->valid, &held, s->masked.tokenizer, err);
    if (!st && held.lines && !has_words(&s->valid, s->masked.tokenizer))
        st = hd_err_set(err, HD_EARG, "the text to validate with has no token that could be masked");
    hd_plain_text_release(&text);
    hd_plain_text_release(&held);
    return st;
}

static hd_status make_model(session *s, bool dry, hd_err *err)
{
    const hd_masked_train_opt *o = s->opt;
    hd_bert_opt m = o->from ? s->found : o->model;
    m.stack.dropout = o->model.stack.dropout;
    if (!o->from) m.vocab = hd_masked_vocab(s->masked.tokenizer); /* a published one may have more */
    s->masked.backend = s->backend;
    s->how = (hd_masking){s->masked.tokenizer, o->whole_words};
    s->room = o->model.positions && o->model.positions < m.positions ? o->model.positions : m.positions;
    s->batches = s->train.count / (o->batch * (s->room - 1));
    if (!s->batches) s->batches = 1;
    hd_status st = hd_bert_new(&s->masked.model, s->backend, &m, true, err);
    if (!st) st = hd_masked_rows_init(&s->rows, o->batch, s->room, err);
    if (!st && !dry) st = hd_training_weights(&s->masked.model->params, o->from, &o->trainer, err);
    return st ? st : hd_optimizer_init(&s->optimizer, &s->masked.model->params, &o->optimizer, err);
}

static hd_status open_session(session *s, const hd_masked_train_opt *o, bool dry, hd_err *err)
{
    *s = (session){.opt = o};
    hd_status st = hd_training_backend(&s->backend, o->device, o->precision, o->threads, dry, &o->log, err);
    if (!st) st = hd_run_init(&s->run, s->backend, err);
    if (!st) st = read_texts(s, err);
    return st ? st : make_model(s, dry, err);
}

static hd_masked_plan plan_of(session *s)
{
    double work = s->opt->trainer.work > 0 ? s->opt->trainer.work : 3;
    uint64_t at = s->at;
    hd_load load;
    s->at = 0;
    next(s, &load, NULL);
    s->at = at;
    hd_masked_plan p = {.model = s->masked.model->opt,
                        .parameters = hd_params_size(&s->masked.model->params),
                        .tokens = s->train.count,
                        .lines = s->train.lines,
                        .valid_tokens = s->valid.count,
                        .batches = s->batches,
                        .flops = work * load.flops};
    memcpy(p.backend, s->backend->detail, sizeof p.backend);
    return p;
}

hd_status hd_masked_plan_make(hd_masked_plan *out, const hd_masked_train_opt *opt, hd_err *err)
{
    session s;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    st = open_session(&s, opt, true, err);
    if (!st) *out = plan_of(&s);
    hd_trainee trainee = {.next = next, .send = send, .loss = loss, .context = &s};
    if (!st) st = hd_training_rehearse(&s.run, &trainee, err);
    if (!st) out->memory = s.backend->peak;
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}

/* -- training -- */

static uint64_t data_hash(const session *s)
{
    return hd_training_hash(s->train.hash, s->valid.count ? s->valid.hash : 0);
}

/* What a new run begins with in its folder, by the first process. */
static hd_status begin_folder(const session *s, hd_err *err)
{
    const hd_trainer_opt *o = &s->opt->trainer;
    hd_status st = HD_OK;
    if (!o->resume && !s->backend->rank && s->opt->open) st = s->opt->open(o->context, err);
    if (!st && !o->resume && !s->backend->rank) st = hd_masked_save(&s->masked, o->folder, err);
    return hd_ranks_agree(st, NULL, 0, err);
}

static hd_status learn(session *s, hd_masked_result *out, hd_err *err)
{
    hd_trainer_opt trainer = s->opt->trainer;
    hd_trainee trainee = {.corpus = data_hash(s),
                          .next = next,
                          .seek = seek,
                          .send = send,
                          .loss = loss,
                          .validate = s->valid.count ? validate : NULL,
                          .publish = publish,
                          .context = s};
    hd_run_log_open(&s->log, &s->opt->trainer, s->backend->rank, &s->opt->log);
    trainer.batches = s->batches;
    trainer.tell = tell, trainer.stop = stop, trainer.context = s;
    if (!trainer.valid_every) trainer.valid_every = VALID_EVERY;
    if (!trainer.save_every) trainer.save_every = trainer.valid_every;
    hd_status st =
        hd_trainer_run(&s->run, &s->optimizer, &trainee, &trainer, &out->progress, &out->ending, err);
    if (!st) keep_time(s, out->ending != HD_ENDED_STOPPED && out->ending != HD_ENDED_MINUTES);
    return st;
}

hd_status hd_masked_train(hd_masked_result *out, const hd_masked_train_opt *opt, hd_err *err)
{
    session s;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    *out = (hd_masked_result){0};
    st = open_session(&s, opt, false, err);
    if (!st) st = hd_training_same(data_hash(&s), s.optimizer.params, err);
    if (!st) st = begin_folder(&s, err);
    if (!st && opt->began && !s.backend->rank) {
        hd_masked_plan plan = plan_of(&s);
        opt->began(opt->trainer.context, &plan);
    }
    if (opt->trainer.resume) s.before = hd_duration_load(opt->trainer.folder).seconds;
    s.began = hd_seconds();
    if (!st) st = learn(&s, out, err);
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}
