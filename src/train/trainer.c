/* The training loop. Easy to get wrong: whatever goes into a checkpoint must follow from the data, the
   options and the step alone; a validation or a save that happens because a run ends must leave no trace in
   it. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>

#include "base/system/clock.h"
#include "backend/ranks.h"
#include "train/published.h"
#include "train/update.h"

typedef struct trainer {
    hd_run *r;
    hd_optimizer *o;
    const hd_trainee *t;
    const hd_trainer_opt *opt;
    hd_progress at;
    uint64_t saved;                           /* step of the last checkpoint; UINT64_MAX: none */
    uint64_t began_at;                        /* step at which this call began */
    uint64_t warmup;                          /* updates */
    bool published;                           /* what is published was chosen by a validation */
    bool diverged;                            /* the last save was given up: its weights were no good */
    hd_err unkept;                            /* why a better model could not be published */
    double start, loss, tokens, flops, since; /* sums since the last report, and when that was */
    double used;                              /* seconds of validations and saves since then */
    double rate, norm;
    hd_update update;
} trainer;

/* -- news -- */

/* Seconds to the first limit of steps, epochs or minutes that will be reached; NaN without one. */
static double seconds_left(const trainer *t)
{
    const hd_trainer_opt *o = t->opt;
    double spent = hd_seconds() - t->start, done = (double)(t->at.step - t->began_at), left = INFINITY;
    if (done < 1) return NAN;
    double pace = spent / done;
    if (o->steps) left = fmin(left, pace * ((double)o->steps - (double)t->at.step));
    if (o->epochs && o->batches)
        left = fmin(left, pace * (((double)o->epochs - (double)t->at.epoch) * (double)o->batches -
                                  (double)t->at.batch));
    if (o->minutes > 0) left = fmin(left, o->minutes * 60 - spent);
    return isfinite(left) ? fmax(left, 0) : NAN;
}

static hd_news news_of(const trainer *t, hd_news_kind kind)
{
    double spent = hd_seconds() - t->since - t->used;
    return (hd_news){.kind = kind,
                     .at = &t->at,
                     .loss = t->tokens > 0 ? t->loss / t->tokens : NAN,
                     .rate = t->rate,
                     .norm = t->norm,
                     .tokens_second = spent > 0 ? t->tokens / spent : NAN,
                     .flops_second = spent > 0 ? t->flops / spent : NAN,
                     .seconds = hd_seconds() - t->start,
                     .left = seconds_left(t)};
}

static void tell(const trainer *t, const hd_news *n)
{
    if (t->opt->tell && !t->r->backend->rank) t->opt->tell(t->opt->context, n);
}

static void report(trainer *t)
{
    hd_news n = news_of(t, HD_NEWS_REPORT);
    n.experts = hd_expert_load_last(t->o->params);
    tell(t, &n);
    t->loss = t->tokens = t->flops = t->used = 0;
    t->since = hd_seconds();
}

/* -- one update -- */

static hd_status compute(trainer *t, const hd_load *load, bool *skipped, hd_err *err)
{
    hd_step found = {0};
    double total;
    t->r->now.seed = t->opt->seed;
    t->r->now.number = (uint32_t)t->at.step; /* draws of a step depend on its number alone */
    hd_status s = hd_update_compute(&t->update, load, &total, &found, err);
    if (s) return s;
    t->norm = found.norm, *skipped = found.skip;
    t->loss += total;
    t->tokens += (double)load->tokens;
    double flops = load->flops * (t->opt->work > 0 ? t->opt->work : 3);
    t->flops += flops;
    t->at.flops += flops;
    return HD_OK;
}

/* what: "the last 5 updates were" */
static hd_status not_finite(const trainer *t, const char *what, hd_err *err)
{
    char kept[64] = "no checkpoint was saved";
    if (t->saved != UINT64_MAX)
        snprintf(kept, sizeof kept, "the last good checkpoint is that of step %llu",
                 (unsigned long long)t->saved);
    return hd_err_set(err, HD_ENUMBER,
                      "step %llu: %s not finite, the run is stopped; %s. Begin anew "
                      "with a lower --lr, a longer --warmup or a smaller --clip",
                      (unsigned long long)t->at.step, what, kept);
}

static hd_status broken(const trainer *t, hd_err *err)
{
    char what[64];
    snprintf(what, sizeof what, "the last %llu updates were", (unsigned long long)t->at.broken);
    return not_finite(t, what, err);
}

static hd_status skip(trainer *t, hd_err *err)
{
    hd_news n = news_of(t, HD_NEWS_SKIP);
    t->at.skipped++, t->at.broken++;
    t->loss = t->tokens = t->flops = t->used = 0; /* they may be no numbers any more */
    t->since = hd_seconds();
    tell(t, &n);
    return t->at.broken < HD_BROKEN_MOST ? HD_OK : broken(t, err);
}

static hd_status update(trainer *t, hd_err *err)
{
    hd_load load = {0};
    bool skipped = false;
    hd_status s = t->t->next(t->t->context, &load, err);
    if (s) return hd_update_fail(&t->update, s, err);
    t->at.step++;
    t->at.epoch = load.epoch, t->at.batch = load.batch;
    t->at.tokens += load.tokens;
    t->rate = hd_schedule_rate(&(hd_schedule){t->opt->schedule.kind, t->opt->schedule.peak, t->warmup,
                                              t->at.decay_steps, t->opt->schedule.floor},
                               t->at.step);
    t->r->now.rate = (float)t->rate;
    t->r->now.settled = t->at.step > t->warmup ? (float)(1 - t->rate / t->opt->schedule.peak) : 0;
    t->r->now.weight = t->opt->sum_loss ? 1 : (double)load.tokens;
    s = compute(t, &load, &skipped, err);
    if (s) return s;
    if (skipped) return skip(t, err);
    t->at.broken = 0;
    return HD_OK;
}

/* -- validations, of which all do their part, and checkpoints, the work of the first process -- */

/* All wait for it, and then stand where it stands. */
static hd_status follow(trainer *t, hd_status s, hd_err *err)
{
    struct {
        hd_progress at;
        uint64_t saved;
        bool published;
    } first = {t->at, t->saved, t->published};
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = hd_ranks_share(&first, sizeof first, err);
    t->at = first.at, t->saved = first.saved, t->published = first.published;
    return s;
}

static bool is_better(const trainer *t, const hd_validation *v)
{
    if (!(v->quality > -INFINITY)) return false; /* a model that gives no numbers is none */
    if (isnan(t->at.best) || v->quality > t->at.best) return true;
    return v->quality >= t->at.best && v->loss < t->at.best_loss; /* the first BLEU scores are all 0 */
}

static hd_status keep_published(trainer *t)
{
    return t->t->keep ? t->t->keep(t->t->context, &t->unkept) : hd_published_keep(t->opt->folder, &t->unkept);
}

static hd_status restore_published(const trainer *t, hd_err *err)
{
    return t->t->restore ? t->t->restore(t->t->context, err) : hd_published_restore(t->opt->folder, err);
}

/* Publishes the best so far. */
static hd_status choose(trainer *t, bool due, hd_news *n, hd_err *err)
{
    bool good = false;
    hd_status s = hd_update_finite(&t->update, false, &good, err);
    n->best = !s && good && !t->at.broken && is_better(t, &n->valid);
    if (n->best && !due && t->published)
        n->best = !keep_published(t); /* it stays, and the run ends with that */
    return n->best ? t->t->publish(t->t->context, err) : s;
}

/* With the averaged weights where there are some. A validation that is not due by the step is told and may be
   published, but the run does not remember it: what it replaces is kept, for the case that the run goes on.
 */
static hd_status judge(trainer *t, bool due, hd_err *err)
{
    hd_news n = news_of(t, HD_NEWS_VALID);
    double began = hd_seconds();
    bool first = !t->r->backend->rank;
    hd_err why = {0};
    hd_optimizer_swap(t->o);
    hd_expert_load_begin(t->r);
    hd_status s = t->t->validate(t->r, t->t->context, &n.valid, &why);
    hd_status counted = hd_expert_load_end(t->r, t->o->params, &n.experts, &why);
    if (!s) s = counted;
    n.valid.seconds = hd_seconds() - began;
    if (s == HD_ENUMBER || (!s && !isfinite(n.valid.loss)))
        s = not_finite(t, "what the model gives in the validation is", err);
    else if (s)
        s = hd_err_set(err, s, "%s", why.text);
    if (!s && first) s = choose(t, due, &n, err);
    hd_optimizer_swap(t->o);
    if (s || !first) return s;
    t->published = t->published || n.best;
    if (due && n.best) {
        t->at.best = n.valid.quality, t->at.best_loss = n.valid.loss;
        t->at.best_step = t->at.step, t->at.worse = 0;
    }
    if (due && !n.best) t->at.worse++;
    tell(t, &n);
    t->used += hd_seconds() - began;
    return HD_OK;
}

static hd_status validate(trainer *t, bool due, hd_err *err)
{
    return follow(t, judge(t, due, err), err);
}

/* Before anything is known to be better, the newest model is the one to use. */
static hd_status publish_newest(trainer *t, hd_err *err)
{
    hd_optimizer_swap(t->o);
    hd_status s = t->t->publish(t->t->context, err);
    hd_optimizer_swap(t->o);
    return s;
}

/* By the first process: makes the checkpoint that was written count, or takes it back. */
static hd_status keep(trainer *t, const char *step, bool good, hd_err *err)
{
    hd_status s = good && !t->published ? publish_newest(t, err) : HD_OK;
    if (!good || s) return hd_checkpoint_drop(t->opt->folder, step), s;
    s = hd_checkpoint_commit(t->opt->folder, step, err);
    if (s) return s;
    t->saved = t->at.step;
    hd_news n = news_of(t, HD_NEWS_SAVE);
    tell(t, &n);
    return HD_OK;
}

/* Not while updates are left out: weights whose gradient is not finite are no good, and would take the place
   of good ones. For the same reason nothing counts before it is checked. */
static hd_status save(trainer *t, hd_err *err)
{
    double began = hd_seconds();
    char step[HD_PATH] = "";
    bool first = !t->r->backend->rank, good = true;
    if (t->saved == t->at.step || t->at.broken) return HD_OK;
    hd_status s = first ? hd_checkpoint_write(t->opt->folder, &t->at, t->o, step, err) : HD_OK;
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = hd_update_check(&t->update, t->at.step > t->began_at, step, &good, err);
    if (s && first) hd_checkpoint_drop(t->opt->folder, step);
    if (!s && first) s = keep(t, step, good, err);
    t->diverged = !good;
    t->used += hd_seconds() - began;
    return follow(t, s, err);
}

/* -- the run -- */

/* Also where a process has failed, with *s. Clocks and signals may differ: what one says, all do. */
static bool reached(const trainer *t, hd_ending *ending, hd_status *s, hd_err *err)
{
    const hd_trainer_opt *o = t->opt;
    if (o->steps && t->at.step >= o->steps) return *ending = HD_ENDED_STEPS, true;
    if (o->epochs && t->at.epoch >= o->epochs) return *ending = HD_ENDED_EPOCHS, true;
    if (o->patience && t->at.worse >= o->patience) return *ending = HD_ENDED_PATIENCE, true;
    double over = o->minutes > 0 && hd_seconds() - t->start >= o->minutes * 60;
    double said[2] = {over, !(over > 0) && o->stop && o->stop(o->context)};
    *s = hd_ranks_agree(HD_OK, said, 2, err);
    if (*s) return true;
    if (said[0] > 0) return *ending = HD_ENDED_MINUTES, true;
    if (said[1] > 0) return *ending = HD_ENDED_STOPPED, true;
    return false;
}

/* Updates until the first limit of steps or epochs; 0 without one. */
static uint64_t planned(const hd_trainer_opt *o)
{
    uint64_t by_epochs = o->epochs * o->batches;
    return o->steps && (!by_epochs || o->steps < by_epochs) ? o->steps : by_epochs;
}

/* It follows from the options and the length of the schedule, which a resumed run keeps. */
static uint64_t warmup_of(const trainer *t, bool falls)
{
    uint64_t asked = t->opt->schedule.warmup, most = t->at.decay_steps / 4;
    return falls && t->opt->fit_warmup && asked > most ? most : asked;
}

/* The place in the data is where so many updates lead. Batches of an epoch may differ in number with how
   sentences fall together, by far less than a tenth. */
static hd_status check_place(const trainer *t, hd_err *err)
{
    double batches = (double)t->opt->batches, step = (double)t->at.step;
    double reached = (double)t->at.epoch * batches + (double)t->at.batch;
    if (!t->opt->batches || fabs(reached - step) <= step / 10 + batches) return HD_OK;
    return hd_err_set(
        err, HD_EFORMAT,
        "%s/train/step-%llu/state.json: batch %llu of epoch %llu is not where %llu updates lead, "
        "of about %zu an epoch: the file is damaged",
        t->opt->folder, (unsigned long long)t->at.step, (unsigned long long)t->at.batch,
        (unsigned long long)t->at.epoch, (unsigned long long)t->at.step, t->opt->batches);
}

static hd_status begin(trainer *t, hd_err *err)
{
    const hd_trainer_opt *o = t->opt;
    bool falls = o->schedule.kind == HD_SCHEDULE_cosine || o->schedule.kind == HD_SCHEDULE_linear;
    hd_status s = t->r->backend->rank ? HD_OK : hd_checkpoint_sweep(o->folder, err);
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s && o->resume) {
        s = hd_checkpoint_load(o->folder, &t->at, t->o, err);
        if (!s && t->at.corpus != t->t->corpus)
            s = hd_err_set(err, HD_EARG,
                           "the training or validation data has changed since the run began: resume with the "
                           "same files, or start a new run");
        if (!s) s = check_place(t, err);
        if (!s) s = t->t->seek(t->t->context, t->at.epoch, t->at.batch, err);
        if (!s) t->saved = t->at.step, t->published = !isnan(t->at.best);
    } else if (!s) {
        t->at = (hd_progress){.best = NAN,
                              .best_loss = NAN,
                              .corpus = t->t->corpus,
                              .decay_steps = o->schedule.steps ? o->schedule.steps : planned(o)};
    }
    if (!s && falls && !t->at.decay_steps)
        s = hd_err_set(err, HD_EARG,
                       "a decaying learning rate needs an end: give --epochs, --steps or --decay-steps");
    t->began_at = t->at.step;
    t->warmup = warmup_of(t, falls);
    t->start = t->since = hd_seconds();
    return s;
}

static bool due(uint64_t step, uint64_t every)
{
    return every && step % every == 0;
}

hd_status hd_trainer_run(hd_run *r, hd_optimizer *o, const hd_trainee *trainee, const hd_trainer_opt *opt,
                         hd_progress *progress, hd_ending *ending, hd_err *err)
{
    trainer t = {.r = r, .o = o, .t = trainee, .opt = opt, .saved = UINT64_MAX};
    t.update = (hd_update){.run = r, .optimizer = o, .trainee = trainee, .at = &t.at};
    hd_gradient_sum_init(&t.update.gradients, o->params);
    hd_status s = begin(&t, err);
    if (!s) {
        hd_news n = news_of(&t, HD_NEWS_BEGIN);
        n.planned = planned(opt), n.warmup = t.warmup;
        tell(&t, &n);
    }
    while (!s && !reached(&t, ending, &s, err)) {
        if (t.at.step == t.began_at && opt->resume && trainee->validate && !r->backend->rank)
            s = restore_published(&t, err);
        if (!s) s = update(&t, err);
        if (s) break;
        hd_news n = news_of(&t, HD_NEWS_STEP);
        tell(&t, &n);
        if (due(t.at.step, opt->report_every)) report(&t);
        if (trainee->validate && due(t.at.step, opt->valid_every)) s = validate(&t, true, err);
        if (!s && due(t.at.step, opt->save_every)) s = save(&t, err);
    }
    /* also where nothing was left to do: a kill may have come between a checkpoint and this */
    bool last = !s && *ending != HD_ENDED_STOPPED && !t.at.broken && !due(t.at.step, opt->valid_every);
    if (last && trainee->validate) s = validate(&t, false, err);
    if (!s) s = save(&t, err);
    if (!s && t.at.broken && *ending != HD_ENDED_STOPPED) s = broken(&t, err);
    if (!s && !t.at.broken && t.diverged) s = not_finite(&t, "what the weights of this update give is", err);
    if (!s && t.unkept.status)
        s = hd_err_set(
            err, t.unkept.status,
            "%s; everything is saved, but the model of step %llu, which is better, is not published",
            t.unkept.text, (unsigned long long)t.at.step);
    *progress = t.at;
    return hd_ranks_agree(s, NULL, 0, err);
}
