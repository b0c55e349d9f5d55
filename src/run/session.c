/* A sitting of a training. Easy to get wrong: every way out goes through hd_ranks_agree, so that no process
   waits for one that has failed. */
#include "run/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/system/clock.h"
#include "base/mem.h"
#include "op/tape.h"
#include "run/data.h"
#include "text/tokenizer_find.h"
#include "train/duration.h"
#include "train/published.h"

enum { MOST_VALID_EVERY = 1000, MOST_REHEARSED = 2000 };

void hd_plan_add(hd_plan *p, const char *name, const char *format, ...)
{
    char text[HD_DETAIL_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    hd_details_text(&p->facts, name, text);
}

void hd_plan_add_data(hd_plan *p, const char *name, size_t train, size_t valid)
{
    char a[32], b[32];
    hd_plan_add(p, name, "%s%s%s%s", hd_grouped(train, a), valid ? ", " : "",
                valid ? hd_grouped(valid, b) : "", valid ? " to validate" : "");
}

const char *hd_session_folder(const hd_session *s)
{
    return s->options->resume ? s->options->out : s->options->from;
}

hd_share hd_session_share(const hd_session *s, size_t items)
{
    size_t rank = s->task->alone ? 0 : (size_t)s->backend->rank,
           ranks = s->task->alone ? 1 : (size_t)s->backend->ranks, wanted = (size_t)s->options->micro_batches;
    hd_share a = {.from = items * rank / ranks, .to = items * (rank + 1) / ranks};
    size_t mine = a.to - a.from;
    a.parts = wanted < mine ? wanted : mine ? mine : 1;
    return a;
}

hd_status hd_session_tokenizer(const hd_session *s, hd_tokenizer **out, hd_feed lines, hd_err *err)
{
    const hd_train_options *o = s->options;
    hd_tokenizer_opt v = hd_train_vocabulary(o);
    hd_tokenizer_kind kind = hd_train_unit(o->unit);
    const char *file;
    v.log = &s->hooks->log;
    hd_status st = hd_train_tokenizer(&file, o, err);
    if (st) return st;
    return file ? hd_tokenizer_open_as(out, kind, file, err) : hd_data_learn(out, kind, lines, &v, err);
}

/* -- the loop's side -- */

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    hd_session *s = context;
    hd_position after;
    hd_status st = s->source->next(s->source, &after, err);
    if (!st) st = s->task->load(s, out, err);
    if (st) return st;
    out->epoch = after.epoch, out->batch = after.batch;
    s->share = hd_session_share(s, out->items);
    out->parts = s->share.parts;
    return HD_OK;
}

static hd_status seek(void *context, uint64_t epoch, uint64_t batch, hd_err *err)
{
    hd_session *s = context;
    return s->source->seek(s->source, (hd_position){epoch, batch}, err);
}

static uint64_t send(hd_run *r, void *context, size_t part)
{
    hd_session *s = context;
    size_t from = s->share.from, mine = s->share.to - from, parts = s->share.parts;
    return s->task->send(r, s, part, from + mine * part / parts, from + mine * (part + 1) / parts);
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    hd_session *s = context;
    if (s->task->eager) send(r, context, part);
    return s->task->loss(r, s, part);
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    hd_session *s = context;
    return s->task->validate(r, s, out, err);
}

static hd_status publish(void *context, hd_err *err)
{
    hd_session *s = context;
    return s->task->publish(s, s->options->out, err);
}

/* A time that cannot be kept costs a warning, not the run. */
static void keep_time(const hd_session *s, bool finished)
{
    hd_err err = {0};
    hd_duration d = {s->before + hd_seconds() - s->began, finished};
    if (!s->backend->rank && hd_duration_save(s->options->out, &d, &err))
        hd_log_say(&s->hooks->log, HD_WARN, "how long it took is not kept: %s", err.text);
}

/* Into the log, then on to whoever started the run. */
static void tell(void *context, const hd_news *from)
{
    hd_session *s = context;
    hd_news n = *from;
    if ((n.kind == HD_NEWS_STEP || n.kind == HD_NEWS_REPORT) && s->task->report) s->task->report(s, n.figure);
    hd_run_log_tell(&s->log, &n);
    if (n.kind == HD_NEWS_SAVE) keep_time(s, false);
    if (s->hooks->tell) s->hooks->tell(s->hooks->context, &n);
}

static bool stop(void *context)
{
    hd_session *s = context;
    return s->hooks->stop && s->hooks->stop(s->hooks->context);
}

/* -- setting up -- */

/* Flops of an update as a multiple of the forward pass's. */
static double work_of(const hd_train_options *o)
{
    return o->recompute ? 4 : 3;
}

static hd_optimizer_opt optimizer_of(const hd_train_options *o)
{
    return (hd_optimizer_opt){
        .kind = (hd_optimizer_kind)o->optimizer,
        .momentum = (float)o->momentum,
        .muon = {.momentum = (float)o->muon_momentum, .ratio = o->lr > 0 ? (float)(o->muon_lr / o->lr) : 0},
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .eps = (float)o->adam_eps,
        .decay = (float)o->weight_decay,
        .clip = (float)o->clip,
        .average = (float)o->ema};
}

static hd_trainer_opt loop_of(const hd_train_options *o)
{
    return (hd_trainer_opt){.folder = o->out,
                            .resume = o->resume,
                            .seed = (uint64_t)o->seed,
                            .schedule = {(hd_schedule_kind)o->schedule, o->lr, (uint64_t)o->warmup,
                                         (uint64_t)o->decay_steps, o->min_lr_ratio},
                            .fit_warmup = o->fit_warmup,
                            .steps = (uint64_t)o->steps,
                            .epochs = (uint64_t)o->epochs,
                            .minutes = o->minutes,
                            .valid_every = (uint64_t)o->valid_every,
                            .save_every = (uint64_t)o->save_every,
                            .report_every = (uint64_t)o->report_every,
                            .sum_loss = o->sum_loss,
                            .work = work_of(o),
                            .patience = (uint64_t)o->patience};
}

/* Of a dry run it is the null backend, which counts what the device would hold: bf16 and more logits on a
   card, whether there is one here or not. */
static hd_status open_backend(hd_session *s, bool dry, hd_err *err)
{
    const hd_train_options *o = s->options;
    hd_backend_opt machine = {.threads = s->hooks->threads,
                              .precision = (hd_precision)o->precision,
                              .training = true,
                              .log = &s->hooks->log};
    hd_device first;
    if (!dry) return hd_backend_new(&s->backend, o->device, &machine, err);
    bool found = !strcmp(o->device, "auto") && hd_backend_find(&first, "auto");
    bool card = !strcmp(found ? first.backend : o->device, "cuda");
    if (!card) machine.precision = HD_PRECISION_F32; /* what is kept there is f32 in any case */
    if (!machine.precision) machine.precision = HD_PRECISION_BF16;
    hd_status st = hd_backend_new(&s->backend, "null", &machine, err);
    if (!st && card) s->backend->logits = HD_CARD_LOGITS;
    return st;
}

/* Before the model is made. */
static hd_status set_weights(hd_session *s, hd_err *err)
{
    if (!s->options->weights) return HD_OK;
    s->backend->small_weights = true;
    if (s->backend->compute == HD_BF16) return HD_OK;
    return hd_err_set(
        err, HD_EARG,
        "--weights bf16 needs --device cuda and --precision bf16: here products read weights in "
        "f32");
}

/* A run that is resumed has the weights of its checkpoint in their place, and needs no other folder. */
static hd_status begin_weights(hd_session *s, hd_err *err)
{
    const hd_train_options *o = s->options;
    if (s->task->weights) return s->task->weights(s, err);
    return o->from && !o->resume ? hd_published_load(s->params, o->from, err)
                                 : hd_params_draw(s->params, (uint64_t)o->seed, err);
}

static hd_status open_session(hd_session *s, const hd_task *task, const hd_train_options *o,
                              const hd_session_hooks *hooks, bool dry, hd_err *err)
{
    *s = (hd_session){.task = task, .options = o, .hooks = hooks, .state = hd_mem_zero(task->size)};
    hd_optimizer_opt optimizer = optimizer_of(o);
    hd_status st = s->state ? open_backend(s, dry, err) : hd_err_nomem(err, task->size);
    if (!st) st = set_weights(s, err);
    if (!st) st = hd_run_init(&s->run, s->backend, err);
    s->run.captures = !task->eager;
    if (!st) st = task->open(s, err);
    if (!st && o->weights && !(s->params && s->params->small))
        st = hd_err_set(err, HD_EARG, "--weights bf16 is for models of Transformer blocks");
    if (st || !s->params) return st;
    if (!s->source) {
        hd_numbered_source_init(&s->numbered, s->train, s->batches);
        s->source = &s->numbered.source;
    }
    if (!dry) st = begin_weights(s, err);
    if (!st) st = hd_optimizer_init(&s->optimizer, s->params, &optimizer, err);
    if (!st) s->optimizer.beside = s->beside;
    return st;
}

static void release(hd_session *s)
{
    hd_run_log_close(&s->log);
    hd_optimizer_release(&s->optimizer);
    if (s->state) s->task->release(s);
    hd_run_release(&s->run);
    hd_backend_free(s->backend);
    hd_mem_free(s->state);
}

/* Validations decide what is published and when a run ends: their data counts, too. */
static uint64_t data_hash(const hd_session *s)
{
    return s->train ^ (s->validates ? s->valid : 0) * 0x9e3779b97f4a7c15u;
}

/* Every process reads the data and learns the vocabulary for itself: what they cut their batches from, and
   what they sum the gradients of, must be the same. */
static hd_status compare(const hd_session *s, hd_err *err)
{
    const uint64_t mine[2] = {data_hash(s), s->params ? s->params->trainable : 0};
    uint64_t first[2] = {mine[0], mine[1]};
    hd_status st = hd_ranks_share(first, sizeof first, err);
    if (!st && memcmp(first, mine, sizeof mine))
        st =
            hd_err_set(err, HD_EARG,
                       "the data or the model is not that of process 0: give all the same options and files");
    return hd_ranks_agree(st, NULL, 0, err);
}

hd_status hd_session_begin_folder(hd_session *s, hd_err *err)
{
    if (s->options->resume || s->folder_made || !s->hooks->open) return HD_OK;
    hd_status st = s->hooks->open(s->hooks->context, err);
    s->folder_made = !st;
    return st;
}

/* What a new run begins with in its folder, by the first process. */
static hd_status begin_folder(hd_session *s, hd_err *err)
{
    hd_status st = HD_OK;
    bool first = !s->options->resume && !s->backend->rank;
    if (first) st = hd_session_begin_folder(s, err);
    if (!st && first) st = s->task->save(s, s->options->out, err);
    return hd_ranks_agree(st, NULL, 0, err);
}

/* -- the plan -- */

static size_t trained(const hd_params *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name && !p->list[i]->alias && (p->list[i]->t.wants_grad || p->list[i]->moving))
            n += hd_count_of(&p->list[i]->t);
    return n;
}

static hd_status make_plan(hd_plan *p, hd_session *s, hd_err *err)
{
    *p = (hd_plan){.batches = s->batches};
    if (s->params) p->parameters = hd_params_size(s->params), p->trainable = trained(s->params);
    memcpy(p->backend, s->backend->detail, sizeof p->backend);
    hd_status st = s->task->plan(s, p, err);
    p->flops *= work_of(s->options);
    return st;
}

/* A batch forward and backward on the null backend, for the memory it takes. */
static hd_status rehearse(hd_session *s, hd_err *err)
{
    hd_run *r = &s->run;
    hd_load load;
    hd_status st = next(s, &load, err);
    for (size_t part = 0; !st && part < load.parts; part++) {
        r->now.number = UINT32_MAX; /* late in the run, when whatever rises has risen */
        hd_run_begin(r, HD_TRAIN);
        if (!s->task->eager) send(r, s, part);
        loss(r, s, part);
        hd_backward(r);
        st = hd_run_status(r, err);
    }
    return st;
}

hd_status hd_session_plan(hd_plan *out, const hd_task *task, const hd_train_options *o,
                          const hd_session_hooks *hooks, hd_err *err)
{
    hd_session s;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    st = open_session(&s, task, o, hooks, true, err);
    if (!st) st = make_plan(out, &s, err);
    size_t count = st || !s.params ? 0 : !task->varies || s.alike ? 1 : out->batches;
    for (size_t i = 0; !st && i < count && i < MOST_REHEARSED; i++) st = rehearse(&s, err);
    if (!st && count) out->memory = s.backend->peak;
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}

/* -- training -- */

static hd_status count(hd_session *s, hd_outcome *out, hd_err *err)
{
    hd_status st = s->task->count(s, err);
    out->seconds = hd_seconds() - s->began;
    if (!st && !s->backend->rank) st = publish(s, err);
    if (!st) keep_time(s, true);
    return st;
}

static hd_status learn(hd_session *s, hd_outcome *out, hd_err *err)
{
    hd_trainer_opt opt = loop_of(s->options);
    hd_trainee trainee = {.corpus = data_hash(s),
                          .next = next,
                          .seek = seek,
                          .send = s->task->eager ? NULL : send,
                          .loss = loss,
                          .validate = s->validates ? validate : NULL,
                          .publish = publish,
                          .context = s};
    hd_run_log_open(&s->log, &opt, s->backend->rank, &s->hooks->log);
    opt.batches = s->batches;
    opt.tell = tell, opt.stop = stop, opt.context = s;
    if (!opt.valid_every) opt.valid_every = s->task->valid_every;
    if (!opt.valid_every) opt.valid_every = s->batches < MOST_VALID_EVERY ? s->batches : MOST_VALID_EVERY;
    if (!opt.save_every) opt.save_every = opt.valid_every;
    hd_status st = hd_trainer_run(&s->run, &s->optimizer, &trainee, &opt, &out->progress, &out->ending, err);
    out->seconds = hd_seconds() - s->began;
    if (!st) keep_time(s, out->ending != HD_ENDED_STOPPED && out->ending != HD_ENDED_MINUTES);
    return st;
}

hd_status hd_session_train(hd_outcome *out, const hd_task *task, const hd_train_options *o,
                           const hd_session_hooks *hooks, hd_err *err)
{
    hd_session s;
    hd_plan plan;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    *out = (hd_outcome){0};
    st = open_session(&s, task, o, hooks, false, err);
    if (!st) st = make_plan(&plan, &s, err);
    if (!st) st = compare(&s, err);
    if (!st) st = begin_folder(&s, err);
    if (!st && hooks->began && !s.backend->rank) hooks->began(hooks->context, &plan);
    if (o->resume) s.before = hd_duration_load(o->out).seconds;
    s.began = hd_seconds();
    if (!st) st = s.params ? learn(&s, out, err) : count(&s, out, err);
    if (!st && task->judge) st = task->judge(&s, out, err);
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}
