/* Training a language model. Easy to get wrong: everything that a checkpoint depends on must come from the
   options and the text, never from how the run was cut into sittings. */
#include "task/language/train.h"

#include <math.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "op/replay.h"
#include "task/language/carry.h"
#include "task/language/text.h"
#include "task/language/window.h"
#include "run/training.h"
#include "train/duration.h"
#include "train/run_log.h"

enum { VALID_EVERY = 500, TABLE = 1 << 25 };

typedef struct session {
    const hd_language_train_opt *opt;
    hd_backend *backend;
    hd_run run;
    hd_stream_text train, valid; /* valid.count 0: there is none */
    hd_language language;
    hd_lm_opt found; /* in the folder of the run, or in that of the model it begins with */
    hd_optimizer optimizer;
    size_t length, batches; /* tokens of a window; batches of an epoch */
    hd_window *window;      /* [batch] of the update */
    int32_t *key;           /* [batch] */
    uint64_t at;            /* the update to come, from 0 */
    hd_lm_batch sent;
    hd_carry carry; /* no parts: every window begins anew */
    hd_run_log log;
    double began, before; /* when this sitting began; seconds of those before it */
} session;

/* -- the loop's side -- */

/* Windows of this process: from .. to-1 of the update's. */
static size_t share(const session *s, size_t rank)
{
    return s->opt->batch * rank / (size_t)s->backend->ranks;
}

static size_t parts_of(const session *s)
{
    size_t mine = share(s, (size_t)s->backend->rank + 1) - share(s, (size_t)s->backend->rank);
    return hd_training_parts(s->opt->parts, mine);
}

static void draw_windows(session *s)
{
    hd_rng rng = hd_rng_make(s->opt->trainer.seed, 0x6c6d0000u + s->at);
    size_t places = s->train.count - s->length + 1;
    for (size_t i = 0; i < s->opt->batch; i++) {
        double place = hd_rng_unit(&rng) * (double)places; /* a text may have more tokens than 32 bits tell */
        s->window[i] = (hd_window){(size_t)place, s->length, 0};
    }
}

/* Equal parts of the text side by side, read from front to end in every epoch. What does not fill a window is
   left out, now at the front and now at the end. */
static void follow_windows(session *s)
{
    uint64_t epoch = s->at / s->batches, batch = s->at % s->batches;
    hd_rng rng = hd_rng_make(s->opt->trainer.seed, 0x6c6d0000u + epoch);
    size_t part = s->train.count / s->opt->batch, used = s->batches * s->length;
    size_t shift = part > used ? (size_t)(hd_rng_unit(&rng) * (double)(part - used + 1)) : 0;
    for (size_t i = 0; i < s->opt->batch; i++) {
        size_t from = s->train.count * i / s->opt->batch + shift + (size_t)batch * s->length;
        size_t last = s->train.count - s->length; /* a text may be too short for all */
        s->window[i] = (hd_window){from < last ? from : last, s->length, 0};
    }
    hd_carry_go_on(&s->carry, batch > 0);
}

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    session *s = context;
    (void)err;
    if (s->carry.parts)
        follow_windows(s);
    else
        draw_windows(s);
    s->at++;
    *out = (hd_load){.epoch = s->at / s->batches,
                     .batch = s->at % s->batches,
                     .parts = parts_of(s),
                     .tokens = s->opt->batch * s->length,
                     .flops = s->language.lm->type->flops(s->language.lm, s->opt->batch, s->length)};
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
    uint64_t shape = hd_windows_send(r, &s->sent, s->language.lm, s->train.ids, s->window + from,
                                     s->key + from, to - from);
    return s->carry.parts ? hd_shape_mix(shape, hd_carry_shape(r, &s->carry, part, s->sent.seg)) : shape;
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    session *s = context;
    const hd_lm *m = s->language.lm;
    hd_cache *state = s->carry.parts ? s->carry.state[part] : NULL;
    return m->type->loss(r, m, &s->sent, state, &(hd_loss_opt){.coef = 1, .smoothing = s->opt->smoothing});
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    session *s = context;
    hd_fluency f = {0};
    hd_status st = hd_language_judge_fast(&f, r, &s->language, &s->valid, err);
    double nats = st ? NAN : f.nats / (double)f.tokens;
    *out = (hd_validation){.loss = nats, .score = NAN, .quality = isnan(nats) ? -INFINITY : -nats};
    return st;
}

static hd_status publish(void *context, hd_err *err)
{
    session *s = context;
    return hd_language_publish(&s->language, s->opt->trainer.folder, err);
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
    double bits = n->valid.loss * (double)s->valid.count / (double)s->valid.characters / log(2);
    hd_run_log_tell(&s->log, n, "bits_per_character", bits);
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
    hd_carry_release(&s->carry);
    hd_optimizer_release(&s->optimizer);
    hd_lm_free(s->language.lm);
    hd_run_release(&s->run);
    hd_tokenizer_free(s->language.tokenizer);
    hd_stream_text_release(&s->train);
    hd_stream_text_release(&s->valid);
    hd_mem_free(s->window);
    hd_mem_free(s->key);
    hd_backend_free(s->backend);
}

/* Of a run that is resumed it is the one in its folder, of one that begins with a model that model's. */
static hd_status make_tokenizer(session *s, const hd_plain_text *text, hd_err *err)
{
    const hd_language_train_opt *o = s->opt;
    hd_tokenizer **to = &s->language.tokenizer;
    hd_plain_walk walk = {text, 0};
    hd_tokenizer_opt v = o->vocabulary;
    v.log = &o->log;
    const char *folder = o->trainer.resume ? o->trainer.folder : o->from;
    if (folder) return hd_language_describe(folder, &s->found, to, err);
    return hd_training_tokenizer(to, o->kind, o->tokenizer, hd_plain_feed(&walk), &v, err);
}

static hd_status read_texts(session *s, hd_err *err)
{
    const hd_language_train_opt *o = s->opt;
    hd_plain_text text = {0}, held = {0};
    hd_status st = hd_plain_text_read(&text, o->train, err);
    if (!st && o->valid) st = hd_plain_text_read(&held, o->valid, err);
    if (!st && !o->valid && o->valid_fraction > 0)
        st = hd_plain_text_split(&text, o->valid_fraction, &held, err);
    if (!st) st = make_tokenizer(s, &text, err);
    if (!st) st = hd_stream_text_of(&s->train, &text, s->language.tokenizer, err);
    if (!st && !s->train.count)
        st = hd_err_set(err, HD_EFORMAT, "%s: there is no token to learn from", o->train);
    if (!st && held.lines) st = hd_stream_text_of(&s->valid, &held, s->language.tokenizer, err);
    hd_plain_text_release(&text);
    hd_plain_text_release(&held);
    return st;
}

/* One process alone: a checkpoint has the states of the first. */
static hd_status open_carry(session *s, hd_err *err)
{
    size_t parts = parts_of(s), batch = s->opt->batch, *items = hd_mem_array(parts, sizeof *items);
    if (!items) return hd_err_nomem(err, parts * sizeof *items);
    for (size_t i = 0; i < parts; i++) items[i] = batch * (i + 1) / parts - batch * i / parts;
    hd_status st = hd_carry_init(&s->carry, &s->run, s->language.lm, items, parts, s->length, err);
    hd_mem_free(items);
    if (!st) s->optimizer.beside = hd_carry_beside(&s->carry);
    return st;
}

/* Buckets of a maxent: as many as keep the table at about `TABLE` weights. */
static size_t buckets_of(size_t vocab)
{
    size_t n = 1024;
    while (2 * n * vocab <= TABLE) n *= 2;
    return n;
}

/* A model that the run begins with, as it goes on. Only gpt has places for as many tokens as its context. */
static hd_lm_opt going_on(const session *s)
{
    const hd_lm_opt *now = &s->opt->model;
    hd_lm_opt m = s->found;
    if (now->stack.dropout < m.stack.dropout || now->stack.dropout > m.stack.dropout)
        m.stack.dropout = m.embedding_dropout = m.stack.attention_dropout = now->stack.dropout;
    if (now->context && m.kind != HD_LM_gpt) m.context = now->context;
    return m;
}

static hd_status make_model(session *s, bool dry, hd_err *err)
{
    const hd_language_train_opt *o = s->opt;
    hd_lm_opt m = o->from ? going_on(s) : o->model;
    size_t window = o->model.context && o->model.context < m.context ? o->model.context : m.context;
    hd_special special = hd_tokenizer_special(s->language.tokenizer);
    if (!o->from) m.vocab = hd_tokenizer_size(s->language.tokenizer); /* a published one may have more */
    m.start = special.start, m.end = special.end, m.unk = special.unk;
    if (m.kind == HD_LM_maxent && !m.buckets) m.buckets = buckets_of(m.vocab);
    s->language.backend = s->backend;
    hd_status st = hd_lm_new(&s->language.lm, &m, s->backend, true, err);
    if (st || !s->language.lm->params) return st;
    s->length = window < s->train.count ? window : s->train.count;
    s->batches = s->train.count / (o->batch * s->length);
    if (!s->batches) s->batches = 1;
    s->window = hd_mem_array(o->batch, sizeof *s->window);
    s->key = hd_mem_array(o->batch, sizeof *s->key);
    if (!s->window || !s->key) return hd_err_nomem(err, o->batch * sizeof *s->window);
    for (size_t i = 0; i < o->batch; i++) s->key[i] = (int32_t)i;
    if (!dry) st = hd_training_weights(s->language.lm->params, o->from, &o->trainer, err);
    if (!st) st = hd_optimizer_init(&s->optimizer, s->language.lm->params, &o->optimizer, err);
    return st || !s->language.lm->type->state || s->backend->ranks > 1 ? st : open_carry(s, err);
}

static hd_status open_session(session *s, const hd_language_train_opt *o, bool dry, hd_err *err)
{
    *s = (session){.opt = o};
    hd_status st = hd_training_backend(&s->backend, o->device, o->precision, o->threads, dry, &o->log, err);
    if (!st) st = hd_run_init(&s->run, s->backend, err);
    if (!st) st = read_texts(s, err);
    return st ? st : make_model(s, dry, err);
}

static hd_language_plan plan_of(const session *s)
{
    const hd_lm *m = s->language.lm;
    double work = s->opt->trainer.work > 0 ? s->opt->trainer.work : 3;
    hd_language_plan p = {.model = m->opt,
                          .parameters = m->params ? hd_params_size(m->params) : 0,
                          .tokens = s->train.count,
                          .lines = s->train.lines,
                          .characters = s->train.characters,
                          .valid_tokens = s->valid.count,
                          .batches = s->batches,
                          .flops = m->params ? work * m->type->flops(m, s->opt->batch, s->length) : 0};
    memcpy(p.backend, s->backend->detail, sizeof p.backend);
    return p;
}

hd_status hd_language_plan_make(hd_language_plan *out, const hd_language_train_opt *opt, hd_err *err)
{
    session s;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    st = open_session(&s, opt, true, err);
    bool learns = !st && s.language.lm->params;
    if (!st) *out = plan_of(&s);
    hd_trainee trainee = {.next = next, .send = send, .loss = loss, .context = &s};
    if (learns) st = hd_training_rehearse(&s.run, &trainee, err);
    if (!st && learns) out->memory = s.backend->peak;
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
    if (!st && !o->resume && !s->backend->rank) st = hd_language_save(&s->language, o->folder, err);
    return hd_ranks_agree(st, NULL, 0, err);
}

static hd_status count(session *s, hd_language_result *out, hd_err *err)
{
    const hd_lm_type *type = s->language.lm->type;
    hd_status st = type->count(s->language.lm, s->train.ids, s->train.count, err);
    *out = (hd_language_result){.counted = true, .seconds = hd_seconds() - s->began};
    if (!st && s->valid.count) st = hd_language_judge(&out->valid, &s->run, &s->language, &s->valid, err);
    if (!st && !s->backend->rank) st = publish(s, err);
    if (!st) keep_time(s, true);
    if (!st) out->size = hd_lm_size(s->language.lm);
    return st;
}

static hd_status learn(session *s, hd_language_result *out, hd_err *err)
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
    out->seconds = hd_seconds() - s->began;
    out->size = hd_lm_size(s->language.lm);
    if (!st) keep_time(s, out->ending != HD_ENDED_STOPPED && out->ending != HD_ENDED_MINUTES);
    return st;
}

hd_status hd_language_train(hd_language_result *out, const hd_language_train_opt *opt, hd_err *err)
{
    session s;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    *out = (hd_language_result){0};
    st = open_session(&s, opt, false, err);
    if (!st) st = hd_training_same(data_hash(&s), s.language.lm->params, err);
    if (!st) st = begin_folder(&s, err);
    if (!st && opt->began && !s.backend->rank) {
        hd_language_plan plan = plan_of(&s);
        opt->began(opt->trainer.context, &plan);
    }
    if (opt->trainer.resume) s.before = hd_duration_load(opt->trainer.folder).seconds;
    s.began = hd_seconds();
    if (!st) st = s.language.lm->params ? learn(&s, out, err) : count(&s, out, err);
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}
