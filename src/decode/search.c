/* The loop itself: options checked, sentences laid out, steps until no hypothesis lives, what was kept
 * written down. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "decode/loop.h"
#include "decode/peek.h"

const char *const hd_search_names[HD_SEARCHES] = {
#define X(NAME, name, text) #name,
    HD_SEARCH_LIST(X)
#undef X
};

const char *const hd_stop_names[HD_STOPS + 1] = {
#define X(NAME, name, text) #name,
    HD_STOP_LIST(X)
#undef X
};

static const hd_method *const methods[HD_SEARCHES] = {
#define X(NAME, name, text) &hd_method_##name,
    HD_SEARCH_LIST(X)
#undef X
};

static hd_status check(const hd_stepper *s, const hd_search_opt *o, hd_err *err)
{
    if (o->kind >= HD_SEARCHES || o->stop >= HD_STOPS || o->length.kind >= HD_LENGTHS)
        return hd_err_set(err, HD_EARG, "search: there is no such kind");
    if (o->end < -1 || (o->end >= 0 && (size_t)o->end >= s->vocab))
        return hd_err_set(err, HD_EARG, "search: end token %d in a vocabulary of %zu", o->end, s->vocab);
    if (!o->max_length && !(o->max_ratio > 0) && !s->room)
        return hd_err_set(err, HD_EARG, "search: nothing limits the length");
    if (!(o->max_ratio >= 0) || !isfinite(o->max_ratio) || (o->max_ratio > 0 && !s->source))
        return hd_err_set(err, HD_EARG, "search: a limit of %g times the source's length", o->max_ratio);
    if (!isfinite(o->length.alpha)) return hd_err_set(err, HD_EARG, "search: alpha is %g", o->length.alpha);
    if (o->kind == HD_SEARCH_BEAM && (o->beam < 1 || o->beam > INT32_MAX / 4))
        return hd_err_set(err, HD_EARG, "search: a beam of %zu", o->beam);
    if (o->kind == HD_SEARCH_GREEDY && o->best > 1)
        return hd_err_set(err, HD_EARG, "search: greedy search finds one sentence, not %zu", o->best);
    if (o->kind == HD_SEARCH_SAMPLE && (!(o->temperature >= 0) || !(o->top_p >= 0 && o->top_p <= 1)))
        return hd_err_set(err, HD_EARG, "search: temperature %g, top_p %g", (double)o->temperature,
                          (double)o->top_p);
    for (size_t i = 0; i < o->banned_count; i++)
        if (o->banned[i] < 0 || (size_t)o->banned[i] >= s->vocab)
            return hd_err_set(err, HD_EARG, "search: banned token %d in a vocabulary of %zu", o->banned[i],
                              s->vocab);
    return HD_OK;
}

/* Most tokens of sentence i. */
static size_t limit_of(const hd_stepper *s, const hd_search_opt *o, size_t i)
{
    size_t limit = o->max_length ? o->max_length : SIZE_MAX;
    if (o->max_ratio > 0) {
        double relative = floor(o->max_ratio * s->source[i]) + (double)o->max_extra;
        if (relative < (double)limit) limit = (size_t)relative;
    }
    if (s->room && (size_t)s->room[i] < limit) limit = (size_t)s->room[i];
    return limit ? limit : 1;
}

/* Sentence q has the next `len` forced tokens. */
static hd_status take_prefix(const hd_loop *l, hd_sentence *q, const int32_t *ids, int32_t len, hd_err *err)
{
    if (len < 0)
        return hd_err_set(err, HD_EARG, "search: the prefix of sentence %zu has %d tokens", q->index, len);
    q->prefix = ids, q->prefix_len = (size_t)len;
    if (q->prefix_len > q->limit)
        return hd_err_set(err, HD_EARG, "search: the prefix of sentence %zu has %zu tokens, the limit is %zu",
                          q->index, q->prefix_len, q->limit);
    for (size_t i = 0; i < q->prefix_len; i++) {
        int32_t id = q->prefix[i];
        if (id < 0 || (size_t)id >= l->stepper->vocab)
            return hd_err_set(err, HD_EARG,
                              "search: token %d in the prefix of sentence %zu, the vocabulary has %zu", id,
                              q->index, l->stepper->vocab);
        if (id == l->opt->end && i + 1 < q->prefix_len)
            return hd_err_set(err, HD_EARG, "search: the prefix of sentence %zu goes on after its end token",
                              q->index);
    }
    return HD_OK;
}

static hd_status lay_out(hd_loop *l, hd_err *err)
{
    const hd_search_opt *o = l->opt;
    size_t n = l->stepper->items, at = 0;
    l->best = o->best ? o->best : 1;
    l->keep = o->kind == HD_SEARCH_BEAM && o->stop == HD_STOP_BEST ? o->beam : l->best;
    size_t all;
    if (!hd_size_mul(n, l->keep, &all)) return hd_err_set(err, HD_ELIMIT, "search: %zu guesses", l->keep);
    l->sentence = hd_mem_array(n, sizeof *l->sentence);
    l->ends = hd_mem_array(all, sizeof *l->ends);
    l->order = hd_mem_array(n, sizeof *l->order);
    l->banned = hd_mem_array(l->stepper->vocab, sizeof *l->banned);
    l->live.at = hd_mem_array(n, sizeof *l->live.at);
    if (!l->sentence || !l->ends || !l->order || !l->banned || !l->live.at)
        return hd_err_nomem(err, all * sizeof *l->ends);
    l->live.room = n;
    for (size_t i = 0; i < o->banned_count; i++)
        l->bans += !l->banned[o->banned[i]], l->banned[o->banned[i]] = true;
    l->end_banned = o->end >= 0 && l->banned[o->end];
    for (size_t i = 0; i < n; i++) {
        hd_sentence *q = &l->sentence[i];
        *q = (hd_sentence){.index = i, .limit = limit_of(l->stepper, o, i), .kept = l->ends + i * l->keep};
        q->longest = hd_length_divisor(&o->length, q->limit);
        q->first = i, q->count = 1;
        hd_status s = o->prefix_len ? take_prefix(l, q, o->prefix + at, o->prefix_len[i], err) : HD_OK;
        if (s) return s;
        at += q->prefix_len;
        l->live.at[i] = (hd_live){.link = -1};
        l->order[i] = i;
    }
    l->active = l->live.count = n;
    return HD_OK;
}

static void drop(hd_loop *l)
{
    hd_mem_free(l->sentence);
    hd_mem_free(l->ends);
    hd_mem_free(l->order);
    hd_mem_free(l->banned);
    hd_mem_free(l->live.at);
    hd_mem_free(l->coming.at);
    hd_mem_free(l->link);
}

/* The step of all live hypotheses. In the first one they are the stepper's own; later ones may have moved. */
static hd_tensor *step(hd_loop *l)
{
    hd_run *r = l->r;
    size_t n = l->live.count;
    int32_t *ids = hd_host_take(r, n * sizeof *ids), *parent = hd_host_take(r, n * sizeof *parent);
    if (!ids || !parent) return NULL;
    if (l->length == 1) return l->stepper->step(r, l->stepper->context, l->stepper->start, n);
    for (size_t i = 0; i < n; i++) ids[i] = l->link[l->live.at[i].link].token, parent[i] = l->live.at[i].row;
    hd_status s = l->stepper->pick(r, l->stepper->context, parent, n);
    if (s) return hd_fail(r, s, "search: hypotheses cannot be picked");
    return l->stepper->step(r, l->stepper->context, ids, n);
}

/* The log-probabilities of the tokens that are forced in this step, sentence after sentence; NULL after a
 * failure. */
static const hd_real *forced_logp(hd_loop *l, hd_tensor *logp)
{
    size_t n = 0;
    int32_t *row = hd_host_take(l->r, l->active * sizeof *row),
            *token = hd_host_take(l->r, l->active * sizeof *token);
    hd_real *value = hd_host_take(l->r, l->active * sizeof *value);
    if (!row || !token || !value) return NULL;
    for (size_t i = 0; i < l->active; i++) {
        const hd_sentence *q = &l->sentence[l->order[i]];
        if (hd_loop_forced(l, q)) row[n] = (int32_t)q->first, token[n++] = q->prefix[l->length - 1];
    }
    return hd_peek(l->r, logp, row, token, n, value) ? value : NULL;
}

/* Every sentence goes on by itself; those without a live hypothesis leave the batch. */
static void advance(hd_loop *l, const hd_method *m, const hd_real *forced)
{
    size_t active = 0;
    l->coming.count = 0, l->drawn = 0;
    for (size_t i = 0; i < l->active && !l->r->err.status; i++) {
        hd_sentence *q = &l->sentence[l->order[i]];
        size_t first = l->coming.count;
        if (hd_loop_forced(l, q))
            hd_loop_go(l, q, hd_loop_at(l, q->first), q->prefix[l->length - 1], *forced++);
        else
            m->advance(l, q);
        q->first = first, q->count = l->coming.count - first;
        if (q->count) l->order[active++] = l->order[i];
    }
    hd_lives now = l->live;
    l->live = l->coming, l->coming = now;
    l->active = active;
}

static void turn(hd_loop *l)
{
    const hd_search_opt *o = l->opt;
    const hd_method *m = methods[o->kind];
    hd_run *r = l->r;
    size_t forced = 0;
    l->length++;
    l->divisor = hd_length_divisor(&o->length, l->length);
    l->next = hd_length_divisor(&o->length, l->length + 1);
    if (o->end >= 0) l->banned[o->end] = l->end_banned || l->length < o->min_length;
    r->now.seed = o->seed, r->now.number = (uint32_t)l->length; /* of draws */
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *logp = step(l);
    for (size_t i = 0; i < l->active; i++) forced += hd_loop_forced(l, &l->sentence[l->order[i]]);
    const hd_real *values = forced ? forced_logp(l, logp) : NULL;
    if (forced < l->active && !r->err.status) m->look(l, logp);
    if (!r->err.status) advance(l, m, values);
}

/* Writes a kept hypothesis down, from its last token to its first. */
static void write_down(const hd_loop *l, const hd_end *e, hd_guess *g)
{
    g->sum = e->sum, g->score = e->score, g->finished = e->finished;
    int32_t at = e->link;
    for (size_t i = e->length; i--; at = l->link[at].before)
        g->ids[i] = l->link[at].token, g->logp[i] = l->link[at].logp;
}

static hd_status collect(hd_found **out, const hd_loop *l, hd_err *err)
{
    size_t n = l->stepper->items, guesses = 0, tokens = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < l->sentence[i].kept_count && j < l->best; j++)
            guesses++, tokens += l->sentence[i].kept[j].length;
    hd_status s = hd_found_new(out, n, guesses, tokens, err);
    for (size_t i = 0; !s && i < n; i++) {
        const hd_sentence *q = &l->sentence[i];
        for (size_t j = 0; j < q->kept_count && j < l->best; j++)
            write_down(l, &q->kept[j], hd_found_add(*out, q->kept[j].length));
        hd_found_close(*out, i);
    }
    return s;
}

hd_status hd_search(hd_found **out, hd_run *r, const hd_stepper *stepper, const hd_search_opt *opt,
                    hd_err *err)
{
    hd_loop l = {.r = r, .stepper = stepper, .opt = opt};
    hd_step before = r->now;
    hd_status s = check(stepper, opt, err);
    if (!s) s = lay_out(&l, err);
    while (!s && l.active) {
        turn(&l);
        if (r->err.status) s = hd_err_set(err, r->err.status, "%s", r->err.text);
    }
    if (!s) s = collect(out, &l, err);
    drop(&l);
    r->now = before;
    return s;
}
