/* The texts of a rollout: which prompts, what they are worth, and what is compared with them later. */
#include <string.h>

#include "base/mem.h"
#include "task/reward/training.h"

enum { ORDER = 0x72770000, DRAW = 0x72770001, AGAIN = 0x72770002 };

static uint64_t mixed(uint64_t seed, uint32_t use, uint64_t x, uint32_t y)
{
    const uint32_t counter[4] = {use, (uint32_t)x, (uint32_t)(x >> 32), y};
    hd_rng4 r = hd_rng_philox(seed, counter);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

/* The k-th prompt of the run: epochs one after the other, each in an order of its own. */
static size_t prompt_at(hd_rewarded *x, uint64_t seed, uint64_t k)
{
    size_t n = x->train.count;
    uint64_t epoch = k / n;
    if (x->ordered != epoch + 1) {
        hd_rng rng = hd_rng_make(seed, mixed(seed, ORDER, epoch, 0));
        for (size_t i = 0; i < n; i++) x->order[i] = i;
        for (size_t i = n; i > 1; i--) {
            size_t j = (size_t)(hd_rng_unit(&rng) * (double)i), other = x->order[j];
            x->order[j] = x->order[i - 1], x->order[i - 1] = other;
        }
        x->ordered = epoch + 1;
    }
    return x->order[k % n];
}

/* -- what they are worth -- */

typedef struct drawing {
    hd_groups groups;
    size_t *which;     /* [groups] prompts */
    double *advantage; /* [groups * each] */
    bool *alive;       /* [groups] */
} drawing;

static void release(drawing *d)
{
    hd_groups_release(&d->groups);
    hd_mem_free(d->which);
    hd_mem_free(d->advantage);
    hd_mem_free(d->alive);
}

static void weigh(drawing *d, size_t group, const hd_train_options *o)
{
    size_t each = d->groups.each, at = group * each;
    for (size_t i = at; i < at + each; i++)
        d->groups.reward[i] +=
            hd_length_penalty(d->groups.made[i].tokens, (size_t)o->tokens, (size_t)o->length_slack);
    d->alive[group] =
        hd_advantages(d->advantage + at, d->groups.reward + at, each, o->variant != HD_TRAIN_DR_GRPO);
}

/* Other prompts in place of those that teach nothing. */
static hd_status draw_again(drawing *d, hd_session *s, uint64_t number, uint32_t round, hd_err *err)
{
    hd_rewarded *x = s->state;
    uint64_t seed = (uint64_t)s->options->seed;
    hd_status st = HD_OK;
    for (size_t i = 0; !st && i < d->groups.groups; i++) {
        size_t end = i;
        while (end < d->groups.groups && !d->alive[end]) {
            d->which[end] =
                (size_t)(mixed(seed, AGAIN + (round << 8), number, (uint32_t)end) % x->train.count);
            end++;
        }
        if (end == i) continue;
        st = hd_groups_draw(&d->groups, &x->author, &x->train, d->which, i, end - i,
                            mixed(seed, DRAW, number, round), 1, err);
        for (size_t k = i; !st && k < end; k++) weigh(d, k, s->options);
        i = end;
    }
    return st;
}

static hd_status draw(drawing *d, hd_session *s, uint64_t number, hd_rollout_figures *found, hd_err *err)
{
    hd_rewarded *x = s->state;
    const hd_train_options *o = s->options;
    size_t groups = d->groups.groups, dead = 0;
    uint64_t seed = (uint64_t)o->seed;
    for (size_t i = 0; i < groups; i++) d->which[i] = prompt_at(x, seed, number * groups + i);
    hd_status st = hd_groups_draw(&d->groups, &x->author, &x->train, d->which, 0, groups,
                                  mixed(seed, DRAW, number, 0), 1, err);
    for (size_t i = 0; !st && i < groups; i++) weigh(d, i, o), dead += !d->alive[i];
    hd_rollout first = {0}; /* figures are of what was drawn first: later ones were chosen */
    if (!st) st = hd_rollout_lay(&first, &d->groups, x->lm, err);
    *found = first.figures;
    found->dead = (double)dead / (double)groups;
    hd_rollout_release(&first);
    for (int round = 1; !st && dead && round <= o->resample; round++)
        st = draw_again(d, s, number, (uint32_t)round, err);
    return st;
}

/* -- of a dry run: texts of full length -- */

static hd_status pretend(hd_groups *g, const hd_rewarded *x, size_t tokens, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < g->groups * g->each; i++) {
        hd_generated *t = &g->made[i];
        size_t prompt = x->train.at[i / g->each % x->train.count].prompt_size, most = x->lm->opt.context;
        size_t n = prompt + 1 + tokens < most ? prompt + 1 + tokens : most;
        s = hd_ids_reserve(&t->ids, n, err);
        for (size_t k = 0; !s && k < n; k++) t->ids.at[t->ids.count++] = x->lm->opt.end;
        t->tokens = tokens < n ? tokens : n - 1;
    }
    return s;
}

/* -- the rollout -- */

/* What later updates, and the distance from the reference, are measured by. */
static hd_status measure(hd_session *s, hd_rollout *o, hd_err *err)
{
    hd_rewarded *x = s->state;
    bool asked = s->options->kl > 0;
    hd_status st = HD_OK;
    if (asked || s->options->rollout_updates > 1) st = hd_rollout_logp(&o->before, o, &s->run, x->lm, err);
    if (!st && asked) st = hd_rollout_logp(&o->reference, o, &s->run, x->reference, err);
    if (!st && asked) o->figures.kl = hd_rollout_kl(o, o->before, o->reference);
    return st;
}

hd_status hd_reward_draw(hd_session *s, uint64_t number, hd_err *err)
{
    hd_rewarded *x = s->state;
    const hd_train_options *o = s->options;
    size_t groups = (size_t)o->batch_size * (size_t)o->rollout_updates, n = groups * x->each;
    hd_rollout_figures found = {0};
    drawing d = {.which = hd_mem_array(groups, sizeof *d.which),
                 .advantage = hd_mem_array(n, sizeof *d.advantage),
                 .alive = hd_mem_array(groups, sizeof *d.alive)};
    hd_rollout_release(&x->rollout);
    hd_status st = d.which && d.advantage && d.alive ? hd_groups_init(&d.groups, groups, x->each, err)
                                                     : hd_err_nomem(err, n * sizeof *d.advantage);
    if (!st)
        st = o->dry_run ? pretend(&d.groups, x, (size_t)o->tokens, err) : draw(&d, s, number, &found, err);
    if (!st) st = hd_rollout_lay(&x->rollout, &d.groups, x->lm, err);
    x->rollout.figures = found;
    for (size_t i = 0; !st && i < n; i++) x->rollout.advantage[i] = (float)d.advantage[i];
    if (!st && !o->dry_run) st = measure(s, &x->rollout, err);
    if (!st) x->rollout.number = number + 1;
    release(&d);
    return st;
}
