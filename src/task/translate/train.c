/* Training a translator. Easy to get wrong: everything that a checkpoint depends on must come from the
   options and the files, never from how the run was cut into sittings. */
#include "task/translate/train.h"

#include <math.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "data/epoch.h"
#include "metric/metric.h"
#include "model/prepare.h"
#include "op/replay.h"
#include "run/training.h"
#include "task/translate/batch.h"
#include "task/translate/data.h"
#include "train/run_log.h"

enum { MOST_VALID_EVERY = 1000, AHEAD = 4, DRY_BATCHES = 2000, RATES = 32 };

typedef struct session {
    const hd_translate_train_opt *opt;
    hd_backend *backend;
    hd_run run;
    hd_translate_set set;
    hd_translator translator; /* borrows the set's tokenizers */
    hd_optimizer optimizer;
    hd_batches *batches, *valid_batches;
    const hd_batch *batch;
    hd_translate_batch sent; /* of it, as long as its step */
    hd_run_log log;
} session;

/* -- the loop's side -- */

static double batch_flops(const hd_encdec *m, const hd_batch *b)
{
    double n = (double)b->total;
    return hd_encdec_flops(m, n, (double)b->source_total / n, (double)b->target_total / n);
}

/* No part is empty, but that of an empty batch. */
static size_t parts_of(const session *s)
{
    return hd_training_parts(s->opt->parts, s->batch->items);
}

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    session *s = context;
    hd_status st = hd_batches_next(s->batches, &s->batch, err);
    if (st) return st;
    hd_position after = hd_batches_position(s->batches);
    *out = (hd_load){.epoch = after.epoch,
                     .batch = after.batch,
                     .parts = parts_of(s),
                     .tokens = s->batch->target_total,
                     .flops = batch_flops(s->translator.model, s->batch)};
    return HD_OK;
}

static hd_status seek(void *context, uint64_t epoch, uint64_t batch, hd_err *err)
{
    session *s = context;
    return hd_batches_seek(s->batches, (hd_position){epoch, batch}, err);
}

/* What the decoder is fed in this update, whose number alone decides. A rate that rises does so in few steps,
   since a captured step keeps the one it has: returns in which of them it is. */
static uint64_t feed(hd_run *r, const session *s)
{
    uint64_t before = r->now.number ? r->now.number - 1 : 0, all = s->opt->sampling_decay;
    uint64_t risen = before < all ? RATES * before / all : RATES;
    hd_feeding now = s->opt->feeding;
    hd_err err = {0};
    now.rate *= (float)risen / RATES;
    if (hd_encdec_feed(s->translator.model, &now, &err)) hd_fail(r, err.status, "%s", err.text);
    return risen;
}

static uint64_t send(hd_run *r, void *context, size_t part)
{
    session *s = context;
    size_t parts = parts_of(s), items = s->batch->items;
    uint64_t rate = feed(r, s);
    return hd_shape_mix(rate, hd_translate_send(r, &s->sent, s->translator.model, s->batch,
                                                items * part / parts, items * (part + 1) / parts));
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    session *s = context;
    (void)part;
    return hd_translate_loss(r, s->translator.model, &s->sent, s->opt->smoothing);
}

/* -- validation -- */

static hd_status valid_loss(hd_run *r, session *s, double *out, hd_err *err)
{
    const hd_batch *b;
    double sum = 0, tokens = 0;
    hd_status st = hd_encdec_feed(s->translator.model, &(hd_feeding){0}, err);
    if (!st) st = hd_batches_seek(s->valid_batches, (hd_position){0}, err);
    while (!st && !(st = hd_batches_next(s->valid_batches, &b, err)) && b) {
        hd_run_begin(r, HD_INFERENCE);
        hd_translate_send(r, &s->sent, s->translator.model, b, 0, b->items);
        sum += hd_loss_total(r, hd_translate_loss(r, s->translator.model, &s->sent, 0));
        tokens += (double)b->target_rows;
        if (r->err.status) st = hd_err_set(err, r->err.status, "validation: %s", r->err.text);
    }
    *out = sum / tokens;
    return st;
}

static hd_status score_all(const session *s, const hd_translations *found, size_t count, double *out,
                           hd_err *err)
{
    hd_metric *bleu = NULL;
    hd_status st = hd_metric_new(&bleu, HD_METRIC_bleu, &(hd_metric_opt){.refs = 1}, err);
    for (size_t i = 0; !st && i < count; i++) {
        const char *text = found->of[i].count ? found->of[i].hypothesis[0].text : "";
        hd_line reference = hd_sentence(&s->set.valid_text, 1, i);
        st = hd_metric_add(bleu, (hd_line){text, strlen(text)}, &reference, err);
    }
    if (!st) st = hd_metric_finish(bleu, out, err);
    hd_metric_free(bleu);
    return st;
}

/* BLEU of greedy translations: cheap, and it ranks models as a beam would. */
static hd_status valid_bleu(hd_run *r, session *s, double *out, hd_err *err)
{
    size_t count = s->set.valid_text.count < s->opt->judged ? s->set.valid_text.count : s->opt->judged;
    hd_line *line = hd_mem_array(count + 1, sizeof *line);
    hd_translations found = {0};
    if (!line) return hd_err_nomem(err, count * sizeof *line);
    for (size_t i = 0; i < count; i++) line[i] = hd_sentence(&s->set.valid_text, 0, i);
    hd_translate_opt o = {.search = {.kind = HD_SEARCH_GREEDY, .max_ratio = 2, .max_extra = 10},
                          .sentences = HD_SENTENCES_KEEP, /* as it was trained: a line is a sentence */
                          .too_long = HD_LONG_TRUNCATE};
    hd_status st = hd_encdec_prepare(s->translator.model, HD_DECODING, err);
    if (!st) st = hd_translate(&found, r, &s->translator, line, NULL, count, &o, err);
    hd_status back = hd_encdec_prepare(s->translator.model, HD_TRAINING, err);
    if (!st) st = back;
    if (!st) st = score_all(s, &found, count, out, err);
    hd_translations_release(&found);
    hd_mem_free(line);
    return st;
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    session *s = context;
    *out = (hd_validation){.score = NAN};
    hd_status st = valid_loss(r, s, &out->loss, err);
    if (!st && s->opt->judged) st = valid_bleu(r, s, &out->score, err);
    out->quality = s->opt->choice == HD_CHOICE_LOSS || !s->opt->judged ? -out->loss : out->score;
    if (!st && isnan(out->loss)) out->quality = -INFINITY;
    return st;
}

static hd_status publish(void *context, hd_err *err)
{
    session *s = context;
    return hd_translator_publish(&s->translator, s->opt->trainer.folder, err);
}

/* -- the log -- */

/* Into the log, then on to whoever started the run. */
static void tell(void *context, const hd_news *n)
{
    session *s = context;
    hd_run_log_tell(&s->log, n, "bleu", n->valid.score);
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
    hd_batches_free(s->batches);
    hd_batches_free(s->valid_batches);
    hd_optimizer_release(&s->optimizer);
    hd_encdec_free(s->translator.model);
    hd_run_release(&s->run);
    hd_translate_set_release(&s->set);
    hd_backend_free(s->backend);
}

static hd_status open_batches(session *s, hd_err *err)
{
    const hd_translate_train_opt *o = s->opt;
    hd_special source = hd_tokenizer_special(s->set.tokenizer[0]),
               target = hd_tokenizer_special(s->set.tokenizer[1]);
    hd_batch_opt b = {.tokens = o->batch_tokens,
                      .seed = o->trainer.seed,
                      .ahead = s->backend->dry ? 0 : AHEAD,
                      .rank = s->backend->rank,
                      .ranks = s->backend->ranks,
                      .source_end = source.end,
                      .target_start = target.start,
                      .target_end = target.end};
    hd_status st = hd_batches_new(&s->batches, &s->set.train, &b, err);
    if (st || !s->set.has_valid) return st;
    b.in_order = b.once = true;
    b.ahead = 0, b.rank = 0, b.ranks = 1;
    b.tokens = o->batch_tokens > o->data.longest ? o->batch_tokens : o->data.longest + 1;
    return hd_batches_new(&s->valid_batches, &s->set.valid, &b, err);
}

/* What the run trains: the model that it begins with, as far as training says nothing of it. */
static hd_encdec_opt model_of(const session *s)
{
    const hd_encdec_opt *now = &s->opt->model;
    hd_encdec_opt m = s->opt->from ? s->set.model : *now;
    m.stack.dropout = now->stack.dropout, m.stack.attention_dropout = now->stack.attention_dropout;
    m.stack.inner_dropout = now->stack.inner_dropout, m.source_dropout = now->source_dropout;
    m.stack.recompute = now->stack.recompute, m.frozen = now->frozen;
    if (s->opt->from) return m; /* a T5 has more ids than its tokenizer has pieces */
    m.source_vocab = hd_tokenizer_size(s->set.tokenizer[0]);
    m.target_vocab = hd_tokenizer_size(s->set.tokenizer[1]);
    return m;
}

static hd_status open_session(session *s, const hd_translate_train_opt *o, bool dry, hd_err *err)
{
    hd_team *team = NULL;
    *s = (session){.opt = o};
    if (o->data.longest + 1 > o->model.positions)
        return hd_err_set(err, HD_EARG,
                          "sentences of %zu tokens and their end do not fit in %zu positions: raise "
                          "--positions or lower --max-length",
                          o->data.longest, o->model.positions);
    hd_status st = hd_training_backend(&s->backend, o->device, o->precision, o->threads, dry, &o->log, err);
    if (!st) st = hd_team_new(&team, o->threads, err);
    if (!st)
        st = hd_translate_set_make(&s->set, &o->data, o->trainer.resume ? o->trainer.folder : o->from, team,
                                   &o->log, err);
    hd_team_free(team);
    if (!st) st = hd_run_init(&s->run, s->backend, err);
    hd_encdec_opt m = st ? o->model : model_of(s);
    if (!st && !o->from && m.tied && s->set.tokenizer[0] != s->set.tokenizer[1])
        st = hd_err_set(err, HD_EARG,
                        "tied embeddings need one vocabulary for both sides: add --untied, or leave "
                        "--separate-vocab out");
    if (!st) st = hd_encdec_new(&s->translator.model, s->backend, &m, true, err);
    if (!st) st = hd_encdec_feed(s->translator.model, &o->feeding, err);
    if (!st && !dry) st = hd_training_weights(&s->translator.model->params, o->from, &o->trainer, err);
    if (!st) st = hd_optimizer_init(&s->optimizer, &s->translator.model->params, &o->optimizer, err);
    memcpy(s->translator.tokenizer, s->set.tokenizer, sizeof s->translator.tokenizer);
    s->translator.longest = s->set.longest;
    return st ? st : open_batches(s, err);
}

/* -- the plan -- */

static void count_tokens(hd_translate_plan *p, const hd_corpus *c)
{
    p->pairs = c->count;
    for (size_t i = 0; i < c->count; i++) {
        p->source_tokens += hd_corpus_len(c, 0, i) + 1;
        p->target_tokens += hd_corpus_len(c, 1, i) + 1;
        p->batch_tokens += (double)hd_epoch_cost(c, i);
    }
}

static size_t trainable(const hd_params *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name && !p->list[i]->alias && p->list[i]->t.wants_grad)
            n += hd_count_of(&p->list[i]->t);
    return n;
}

static hd_status plan_of(hd_translate_plan *out, session *s, hd_err *err)
{
    const hd_params *params = &s->translator.model->params;
    const hd_batch *first = NULL;
    hd_status st = hd_batches_next(s->batches, &first, err);
    if (st) return st;
    hd_translate_plan p = {.model = s->translator.model->opt,
                           .parameters = hd_params_size(params),
                           .trainable = trainable(params),
                           .valid_pairs = s->set.valid.count,
                           .batches = first->batches};
    count_tokens(&p, &s->set.train);
    p.batch_tokens /= (double)p.batches;
    p.batch_pairs = (double)p.pairs / (double)p.batches;
    double n = (double)p.pairs, work = s->opt->trainer.work > 0 ? s->opt->trainer.work : 3;
    p.flops = work * hd_encdec_flops(s->translator.model, p.batch_pairs, (double)p.source_tokens / n,
                                     (double)p.target_tokens / n);
    memcpy(p.backend, s->backend->detail, sizeof p.backend);
    *out = p;
    return hd_batches_seek(s->batches, (hd_position){0}, err);
}

hd_status hd_translate_plan_make(hd_translate_plan *out, const hd_translate_train_opt *opt, hd_err *err)
{
    session s;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    st = open_session(&s, opt, true, err);
    if (!st) st = plan_of(out, &s, err);
    size_t batches = st ? 0 : out->batches < DRY_BATCHES ? out->batches : DRY_BATCHES;
    hd_trainee trainee = {.next = next, .send = send, .loss = loss, .context = &s};
    for (size_t i = 0; !st && i < batches; i++) st = hd_training_rehearse(&s.run, &trainee, err);
    if (!st) out->memory = s.backend->peak;
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}

static uint64_t data_hash(const hd_translate_set *s)
{
    return hd_training_hash(s->train.hash, s->has_valid ? s->valid.hash : 0);
}

/* What a new run begins with in its folder, by the first process. */
static hd_status begin_folder(const session *s, hd_err *err)
{
    const hd_trainer_opt *o = &s->opt->trainer;
    hd_status st = HD_OK;
    if (!o->resume && !s->backend->rank && s->opt->open) st = s->opt->open(o->context, err);
    if (!st && !o->resume && !s->backend->rank) st = hd_translator_save(&s->translator, o->folder, err);
    return hd_ranks_agree(st, NULL, 0, err);
}

hd_status hd_translate_train(hd_translate_result *out, const hd_translate_train_opt *opt, hd_err *err)
{
    session s;
    hd_translate_plan plan;
    hd_trainer_opt trainer = opt->trainer;
    hd_status st = hd_ranks_begin(err);
    if (st) return st;
    st = open_session(&s, opt, false, err);
    if (!st) st = plan_of(&plan, &s, err);
    if (!st) st = hd_training_same(data_hash(&s.set), &s.translator.model->params, err);
    if (!st) st = begin_folder(&s, err);
    if (!st && opt->began && !s.backend->rank) opt->began(trainer.context, &plan);
    if (!st) {
        hd_trainee trainee = {.corpus = data_hash(&s.set),
                              .next = next,
                              .seek = seek,
                              .send = send,
                              .loss = loss,
                              .validate = s.set.has_valid ? validate : NULL,
                              .publish = publish,
                              .context = &s};
        hd_run_log_open(&s.log, &opt->trainer, s.backend->rank, &opt->log);
        trainer.batches = plan.batches;
        trainer.tell = tell, trainer.stop = stop, trainer.context = &s;
        if (!trainer.valid_every)
            trainer.valid_every = plan.batches < MOST_VALID_EVERY ? plan.batches : MOST_VALID_EVERY;
        if (!trainer.save_every) trainer.save_every = trainer.valid_every;
        st = hd_trainer_run(&s.run, &s.optimizer, &trainee, &trainer, &out->progress, &out->ending, err);
    }
    release(&s);
    st = hd_ranks_agree(st, NULL, 0, err);
    hd_ranks_end();
    return st;
}
