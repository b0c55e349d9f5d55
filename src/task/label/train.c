/* Training a classifier or a tagger. Easy to get wrong: everything that a checkpoint depends on must come
   from the options and the data, never from how the run was cut into sittings. */
#include "task/label/train.h"

#include <math.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "op/replay.h"
#include "task/label/data.h"
#include "task/label/pretrained.h"
#include "run/training.h"
#include "train/duration.h"
#include "train/run_log.h"

enum { VALID_MOST = 1000 }; /* updates between two validations, where the options leave it open */

typedef struct session {
    const hd_label_train_opt *opt;
    hd_backend *backend;
    hd_run run;
    hd_label_set set;
    hd_examples train, valid; /* valid.count 0: there is none */
    hd_labeler labeler;
    hd_classifier_opt model; /* vocabulary and classes are filled in */
    hd_origin origin;
    hd_optimizer optimizer;
    uint32_t *order; /* [train.count] examples of the epoch */
    uint64_t formed; /* the epoch it is of, from 1; 0: none yet */
    size_t batches;  /* of an epoch */
    uint64_t at;     /* the update to come, from 0 */
    size_t from, to; /* of the update in order */
    hd_class_batch sent;
    hd_run_log log;
    double began, before; /* seconds: when this sitting did, and what others took */
} session;

/* -- the loop's side -- */

/* Where the share of a process in the update begins, in order. */
static size_t share(const session *s, size_t rank)
{
    return s->from + (s->to - s->from) * rank / (size_t)s->backend->ranks;
}

static size_t parts_of(const session *s)
{
    size_t mine = share(s, (size_t)s->backend->rank + 1) - share(s, (size_t)s->backend->rank);
    return hd_training_parts(s->opt->parts, mine);
}

static void form_epoch(session *s, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(s->opt->trainer.seed, 0x6c61620000000000u + epoch);
    size_t n = s->train.count;
    if (s->formed == epoch + 1) return;
    for (size_t i = 0; i < n; i++) s->order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = hd_rng_below(&rng, (uint32_t)i);
        uint32_t kept = s->order[i - 1];
        s->order[i - 1] = s->order[j], s->order[j] = kept;
    }
    s->formed = epoch + 1;
}

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    session *s = context;
    size_t batch = (size_t)(s->at % s->batches), labels = 0, rows = 0;
    (void)err;
    form_epoch(s, s->at / s->batches);
    s->from = s->train.count * batch / s->batches; /* all of them about as large */
    s->to = s->train.count * (batch + 1) / s->batches;
    for (size_t i = s->from; i < s->to; i++) {
        size_t e = s->order[i];
        labels += s->train.first[e + 1] - s->train.first[e];
        rows += s->train.begin[e + 1] - s->train.begin[e];
    }
    s->at++;
    double items = (double)(s->to - s->from);
    *out = (hd_load){.epoch = s->at / s->batches,
                     .batch = s->at % s->batches,
                     .parts = parts_of(s),
                     .tokens = labels,
                     .flops = hd_classifier_flops(s->labeler.model, items, (double)rows / items)};
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
    return hd_labeler_send(r, &s->sent, &s->train, s->order + from, to - from, &s->labeler.model->opt,
                           s->opt->lm_loss);
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    session *s = context;
    (void)part;
    return hd_classifier_loss(r, s->labeler.model, &s->sent,
                              &(hd_loss_opt){.coef = 1, .smoothing = s->opt->smoothing});
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    session *s = context;
    hd_judged j;
    hd_status st = hd_labeler_judge(&j, r, &s->labeler, &s->valid, err);
    if (st) return st;
    double mean = j.loss / (double)s->valid.labels, accuracy = hd_confusion_accuracy(&j.confusion);
    hd_figure all[HD_FIGURES];
    hd_judged_figures(&j, all);
    *out = (hd_validation){.loss = mean,
                           .score = 100 * all[0].value,
                           .quality = isnan(mean)                  ? -INFINITY
                                      : s->opt->task == HD_REGRESS ? -mean
                                                                   : accuracy};
    memcpy(out->also, all + 1, sizeof all - sizeof *all); /* the first is the score */
    hd_confusion_release(&j.confusion);
    return HD_OK;
}

static hd_status publish(void *context, hd_err *err)
{
    session *s = context;
    return hd_labeler_publish(&s->labeler, s->opt->trainer.folder, err);
}

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
    if (n->kind == HD_NEWS_SAVE) keep_time(s, false);
    hd_run_log_tell(&s->log, n, s->opt->task == HD_REGRESS ? "pearson" : "accuracy", n->valid.score / 100);
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
    hd_labeler_release(&s->labeler);
    hd_origin_release(&s->origin);
    hd_run_release(&s->run);
    hd_label_set_release(&s->set);
    hd_examples_release(&s->train);
    hd_examples_release(&s->valid);
    hd_mem_free(s->order);
    hd_backend_free(s->backend);
}

/* Of a run that is resumed the tokenizer and the body are those in the folder: what it began with may be
 * gone.
 */
static hd_status resume_folder(session *s, hd_err *err)
{
    hd_labeler old;
    hd_classifier_opt then;
    hd_status st = hd_labeler_describe(&old, &then, s->opt->trainer.folder, err);
    if (st) return st;
    s->labeler.tokenizer = old.tokenizer, old.tokenizer = NULL;
    s->model.body = then.body;
    hd_labeler_release(&old);
    return HD_OK;
}

/* A body of another model keeps its sizes; the options say how long items may be, and what is dropped. */
static hd_status take_origin(session *s, hd_err *err)
{
    hd_body_opt *body = &s->model.body;
    const hd_body_opt asked = *body;
    hd_status st = hd_origin_open(&s->origin, s->opt->from, err);
    if (st) return st;
    *body = s->origin.body;
    body->positions = asked.positions;
    hd_body_drop(body, asked.stack.dropout);
    s->labeler.tokenizer = s->origin.tokenizer, s->origin.tokenizer = NULL;
    return HD_OK;
}

static hd_status make_tokenizer(session *s, hd_err *err)
{
    const hd_label_train_opt *o = s->opt;
    hd_labeled_walk walk = {&s->set.train, 0};
    hd_tokenizer_opt v = o->vocabulary;
    v.log = &o->log;
    if (o->trainer.resume) return resume_folder(s, err);
    if (o->from) return take_origin(s, err);
    return hd_training_tokenizer(&s->labeler.tokenizer, o->kind, o->tokenizer, hd_labeled_feed(&walk), &v,
                                 err);
}

static hd_status read_data(session *s, hd_err *err)
{
    const hd_label_train_opt *o = s->opt;
    hd_examples_opt e = hd_labeler_examples(&o->model);
    s->model = o->model;
    hd_status st = hd_label_set_read(&s->set, &s->labeler.labels, o, err);
    if (!st) st = make_tokenizer(s, err);
    s->labeler.pairs = o->task != HD_TAG && hd_labeled_pairs(&s->set.train);
    if (!st) st = hd_examples_make(&s->train, &s->set.train, s->labeler.tokenizer, &e, err);
    if (!st && s->set.valid.count)
        st = hd_examples_make(&s->valid, &s->set.valid, s->labeler.tokenizer, &e, err);
    if (!st && s->train.count >= UINT32_MAX)
        st = hd_err_set(err, HD_ELIMIT, "%zu items are more than a run can take", s->train.count);
    return st;
}

/* Numbers are guessed to be the mean at first: what is left to learn is how they differ from it. */
static hd_status begin_with_mean(session *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->train.labels; i++) sum += s->train.value[i];
    hd_real mean = (hd_real)(sum / (double)s->train.labels);
    return hd_params_set(s->labeler.model->params, s->labeler.model->out.b, &mean);
}

static hd_status begin_weights(session *s, hd_err *err)
{
    hd_classifier *m = s->labeler.model;
    const hd_label_train_opt *o = s->opt;
    hd_status st = hd_params_draw(m->params, o->trainer.seed, err);
    if (!st && m->opt.numbers) st = begin_with_mean(s);
    if (st || !o->from || o->scratch || o->trainer.resume) return st;
    return hd_origin_take(&s->origin, o->from, m, &s->labeler.labels, err);
}

static hd_status make_model(session *s, bool dry, hd_err *err)
{
    const hd_label_train_opt *o = s->opt;
    s->model.numbers = o->task == HD_REGRESS;
    s->model.classes = s->model.numbers ? 1 : s->labeler.labels.count;
    if (s->model.body.kind == HD_BODY_stages) s->model.body.vocab = hd_tokenizer_size(s->labeler.tokenizer);
    s->labeler.backend = s->backend;
    hd_status st = hd_classifier_new(&s->labeler.model, s->backend, &s->model, true, err);
    if (st) return st;
    s->batches = (s->train.count + o->batch - 1) / o->batch;
    s->order = hd_mem_array(s->train.count, sizeof *s->order);
    if (!s->order) return hd_err_nomem(err, s->train.count * sizeof *s->order);
    if (!dry) st = begin_weights(s, err);
    return st ? st : hd_optimizer_init(&s->optimizer, s->labeler.model->params, &o->optimizer, err);
}

static hd_status open_session(session *s, const hd_label_train_opt *o, bool dry, hd_err *err)
{
    *s = (session){.opt = o};
    hd_status st = hd_training_backend(&s->backend, o->device, o->precision, o->threads, dry, &o->log, err);
    if (!st) st = hd_run_init(&s->run, s->backend, err);
    if (!st) st = read_data(s, err);
    return st ? st : make_model(s, dry, err);
}

static hd_label_plan plan_of(const session *s)
{
    double work = s->opt->trainer.work > 0 ? s->opt->trainer.work : 3, items = (double)s->train.count;
    double all = hd_classifier_flops(s->labeler.model, items, (double)s->train.rows / items);
    hd_label_plan p = {.model = s->labeler.model->opt,
                       .parameters = hd_params_size(s->labeler.model->params),
                       .items = s->set.train.count,
                       .labels = s->train.labels,
                       .valid_items = s->set.valid.count,
                       .valid_labels = s->valid.labels,
                       .repeated = s->set.repeated,
                       .batches = s->batches,
                       .flops = work * all / (double)s->batches};
    memcpy(p.backend, s->backend->detail, sizeof p.backend);
    return p;
}

hd_status hd_label_plan_make(hd_label_plan *out, const hd_label_train_opt *opt, hd_err *err)
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
    if (!o->resume && !s->backend->rank) {
        if (s->opt->open) st = s->opt->open(o->context, err);
        if (!st) st = hd_labeler_save(&s->labeler, o->folder, err);
        if (!st && s->set.valid.count)
            st = hd_label_set_keep(&s->set, &s->labeler.labels, s->opt->task, o->folder, err);
    }
    return hd_ranks_agree(st, NULL, 0, err);
}

static void begin_plan(const session *s)
{
    hd_label_plan plan = plan_of(s);
    if (s->train.cut + s->valid.cut)
        hd_log_say(&s->opt->log, HD_WARN,
                   "%zu items are longer than %zu tokens: a text is cut there, a sentence parted",
                   s->train.cut + s->valid.cut, s->opt->model.body.positions);
    if (s->opt->began) s->opt->began(s->opt->trainer.context, &plan);
}

static hd_status learn(session *s, hd_label_result *out, hd_err *err)
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
    if (!trainer.valid_every) trainer.valid_every = s->batches < VALID_MOST ? s->batches : VALID_MOST;
    if (!trainer.save_every) trainer.save_every = trainer.valid_every;
    if (trainer.resume) s->before = hd_duration_load(trainer.folder).seconds;
    s->began = hd_seconds();
    hd_status st =
        hd_trainer_run(&s->run, &s->optimizer, &trainee, &trainer, &out->progress, &out->ending, err);
    if (!st) keep_time(s, out->ending != HD_ENDED_STOPPED && out->ending != HD_ENDED_MINUTES);
    return st;
}

/* What the published model makes of the part that is held back. */
static hd_status judge(session *s, hd_label_result *out, hd_err *err)
{
    hd_labeler *l = NULL;
    hd_judged j = {0};
    if (!s->valid.count || s->backend->rank) return HD_OK;
    hd_status st = hd_labeler_open(&l, s->opt->trainer.folder, s->opt->task, s->backend, err);
    if (!st) st = hd_labeler_judge(&j, &s->run, l, &s->valid, err);
    if (!st) {
        out->judged = s->valid.labels;
        out->accuracy = hd_confusion_accuracy(&j.confusion);
        out->macro_f1 = hd_confusion_macro_f1(&j.confusion);
        hd_judged_figures(&j, out->figure);
    }
    hd_confusion_release(&j.confusion);
    hd_labeler_free(l);
    return st;
}

hd_status hd_label_train(hd_label_result *out, const hd_label_train_opt *opt, hd_err *err)
{
    session s;
    double began = hd_seconds();
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    *out = (hd_label_result){.accuracy = NAN, .macro_f1 = NAN};
    st = open_session(&s, opt, false, err);
    if (!st) st = hd_training_same(data_hash(&s), s.labeler.model->params, err);
    if (!st) st = begin_folder(&s, err);
    if (!st && !s.backend->rank) begin_plan(&s);
    if (!st) st = learn(&s, out, err);
    if (!st) st = judge(&s, out, err);
    out->seconds = hd_seconds() - began;
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}
