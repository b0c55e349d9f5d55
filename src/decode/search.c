/* Search as what it does with seats: options checked, sentences laid out, who goes on after each step, what
 * was kept written down. */
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
    if (s->columns && o->adjust.row)
        return hd_err_set(err, HD_EARG, "search: rules of tokens need all of them, not a shortlist");
    if (o->end < -1 || (o->end >= 0 && (size_t)o->end >= s->vocab))
        return hd_err_set(err, HD_EARG, "search: end token %d in a vocabulary of %zu", o->end, s->vocab);
    if (!o->max_length && !(o->max_ratio > 0) && !s->room)
        return hd_err_set(err, HD_EARG, "search: nothing limits the length");
    if (!(o->max_ratio >= 0) || !isfinite(o->max_ratio) || (o->max_ratio > 0 && !s->source))
        return hd_err_set(err, HD_EARG, "search: a limit of %g times the source's length", o->max_ratio);
    if (!isfinite(o->length.alpha)) return hd_err_set(err, HD_EARG, "search: alpha is %g", o->length.alpha);
    if (!isfinite(o->length.bonus))
        return hd_err_set(err, HD_EARG, "search: a bonus of %g for each token", o->length.bonus);
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
static hd_status take_prefix(const hd_loop *l, hd_loop_item *q, const int32_t *ids, int32_t len, hd_err *err)
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

size_t hd_loop_keeps(const hd_search_opt *o, size_t best)
{
    return o->kind == HD_SEARCH_BEAM && o->stop == HD_STOP_BEST ? o->beam : best;
}

void hd_loop_lay(const hd_loop *l, hd_loop_item *q, size_t item, size_t best)
{
    hd_end *kept = q->kept;
    *q = (hd_loop_item){.index = item,
                        .limit = limit_of(l->stepper, l->opt, item),
                        .best = best,
                        .keep = hd_loop_keeps(l->opt, best),
                        .kept = kept};
    q->longest = hd_length_divisor(&l->opt->length, q->limit);
}

static hd_status lay_out(hd_loop *l, hd_err *err)
{
    const hd_search_opt *o = l->opt;
    size_t n = l->stepper->items, at = 0, best = o->best ? o->best : 1, keep = hd_loop_keeps(o, best);
    size_t all;
    if (!hd_size_mul(n, keep, &all)) return hd_err_set(err, HD_ELIMIT, "search: %zu guesses", keep);
    l->sentence = hd_mem_array(n, sizeof *l->sentence);
    l->ends = hd_mem_array(all, sizeof *l->ends);
    l->queue = hd_mem_array(n, sizeof *l->queue);
    if (!l->sentence || !l->ends || !l->queue) return hd_err_nomem(err, all * sizeof *l->ends);
    for (size_t i = 0; i < n; i++) {
        hd_loop_item *q = &l->sentence[i];
        q->kept = l->ends + i * keep;
        hd_loop_lay(l, q, i, best);
        hd_status s = o->prefix_len ? take_prefix(l, q, o->prefix + at, o->prefix_len[i], err) : HD_OK;
        if (s) return s;
        at += q->prefix_len;
    }
    return HD_OK;
}

hd_status hd_loop_open(hd_loop *l, hd_err *err)
{
    const hd_search_opt *o = l->opt;
    hd_status s = check(l->stepper, o, err);
    if (s) return s;
    l->banned = hd_mem_array(l->stepper->vocab, sizeof *l->banned);
    if (!l->banned) return hd_err_nomem(err, l->stepper->vocab * sizeof *l->banned);
    for (size_t i = 0; i < o->banned_count; i++)
        l->bans += !l->banned[o->banned[i]], l->banned[o->banned[i]] = true;
    /* a card has log-probabilities in the step that it replays; rules change those of all tokens */
    l->raw = l->stepper->raw && methods[o->kind]->ranks && !l->r->backend->capture && !o->adjust.row;
    l->unscored = l->raw && o->unscored && o->kind == HD_SEARCH_GREEDY;
    if (l->raw) *l->stepper->raw = true;
    l->seats = (hd_seats){.r = l->r, .stepper = l->stepper};
    return HD_OK;
}

void hd_loop_release(hd_loop *l)
{
    hd_seats_release(&l->seats);
    hd_mem_free(l->sentence);
    hd_mem_free(l->ends);
    hd_mem_free(l->queue);
    hd_mem_free(l->banned);
    hd_mem_free(l->coming.at);
    hd_mem_free(l->link);
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
        const hd_loop_item *q = &l->sentence[l->order[i]];
        if (hd_loop_forced(q))
            row[n] = (int32_t)q->first, token[n++] = hd_loop_column(l, q->first, q->prefix[q->length - 1]);
    }
    return hd_peek(l->r, logp, row, token, n, value) ? value : NULL;
}

static void advance_sentence(hd_loop *l, hd_loop_item *q, const hd_method *m)
{
    const hd_length *length = &l->opt->length;
    l->length = q->length, l->early = q->length < l->opt->min_length;
    l->divisor = hd_length_divisor(length, q->length), l->bonus = hd_length_bonus(length, q->length);
    l->next = hd_length_divisor(length, q->length + 1);
    m->advance(l, q);
}

/* Every sentence goes on by itself; those without a live hypothesis leave the batch. */
static void advance(hd_loop *l, const hd_method *m, const hd_real *forced)
{
    l->drawn = 0;
    for (size_t i = 0; i < l->active && !l->r->err.status; i++) {
        size_t index = l->order[i], first = l->coming.count;
        hd_loop_item *q = &l->sentence[index];
        if (hd_loop_forced(q)) {
            l->length = q->length, l->divisor = hd_length_divisor(&l->opt->length, q->length);
            l->bonus = hd_length_bonus(&l->opt->length, q->length);
            hd_loop_go(l, q, hd_loop_at(l, q->first), q->prefix[q->length - 1], *forced++);
        } else {
            advance_sentence(l, q, m);
        }
        q->first = first, q->count = l->coming.count - first;
        if (q->count) {
            l->queue[l->queued++] = index;
            continue;
        }
        l->done++;
        if (l->ended) l->ended(l, q);
    }
}

/* Sentences that joined have one hypothesis each, without a token. */
static bool begin_arrived(hd_loop *l, size_t count)
{
    l->live = (hd_lives){.at = hd_host_take(l->r, count * sizeof *l->live.at), .count = count};
    l->order = hd_host_take(l->r, count * sizeof *l->order);
    l->active = count;
    for (size_t i = 0; l->live.at && l->order && i < count; i++) {
        l->live.at[i] = (hd_live){.link = -1};
        size_t item = l->seats.joined - count + i;
        l->order[i] = l->arriving ? l->arriving[item] : item;
        l->sentence[l->order[i]].first = i, l->sentence[l->order[i]].count = 1;
    }
    return l->live.at && l->order;
}

/* Those of the last turn have taken a step: what was coming is here. */
static bool begin_stepped(hd_loop *l)
{
    size_t bytes = l->coming.count * sizeof *l->live.at;
    l->live = (hd_lives){.at = hd_host_take(l->r, bytes), .count = l->coming.count};
    l->order = hd_host_take(l->r, l->queued * sizeof *l->order);
    if (!l->live.at || !l->order) return false;
    memcpy(l->live.at, l->coming.at, bytes);
    memcpy(l->order, l->queue, l->queued * sizeof *l->order);
    l->active = l->queued;
    l->queued = l->coming.count = 0;
    return true;
}

/* The tokens of the hypothesis of a row, in `to`. */
static void spell(const hd_loop *l, size_t row, size_t count, int32_t *to)
{
    int32_t at = l->live.at[row].link;
    for (size_t i = count; i--; at = l->link[at].before) to[i] = l->link[at].token;
}

/* The log-probabilities after the rules that the caller has. */
static hd_tensor *adjusted(hd_loop *l, hd_tensor *logp)
{
    hd_run *r = l->r;
    size_t rows = l->live.count, vocab = l->stepper->vocab, longest = 0;
    for (size_t i = 0; i < l->active; i++)
        if (l->sentence[l->order[i]].length > longest) longest = l->sentence[l->order[i]].length;
    hd_real *host = hd_host_take(r, rows * vocab * sizeof *host);
    int32_t *token = hd_host_take(r, (longest + 1) * sizeof *token);
    if (!host || !token || !hd_read(r, logp, host)) return NULL;
    for (size_t i = 0; i < l->active; i++) {
        const hd_loop_item *q = &l->sentence[l->order[i]];
        for (size_t j = 0; !hd_loop_forced(q) && j < q->count; j++) {
            spell(l, q->first + j, q->length - 1, token);
            l->opt->adjust.row(l->opt->adjust.context, q->index, token, q->length - 1,
                               host + (q->first + j) * vocab);
        }
    }
    return hd_from(r, rows, vocab, host);
}

static hd_status take(void *context, hd_tensor *logp, size_t seat, size_t count, bool arrived, hd_err *err)
{
    hd_loop *l = context;
    const hd_method *m = methods[l->opt->kind];
    hd_run *r = l->r;
    size_t forced = 0, done = l->done;
    if (!(arrived ? begin_arrived(l, count) : begin_stepped(l))) return HD_OK;
    size_t from = l->coming.count;
    l->seat = seat;
    l->columns = l->stepper->columns ? l->stepper->columns(l->stepper->context) : NULL;
    for (size_t i = 0; i < l->active; i++) {
        l->sentence[l->order[i]].length++;
        forced += hd_loop_forced(&l->sentence[l->order[i]]);
    }
    const hd_real *values = forced ? forced_logp(l, l->raw ? hd_log_softmax(r, logp) : logp) : NULL;
    if (forced < l->active && l->opt->adjust.row && !r->err.status) logp = adjusted(l, logp);
    if (forced < l->active && !r->err.status) m->look(l, logp);
    if (!r->err.status) advance(l, m, values);
    hd_status s = HD_OK;
    for (size_t i = from; !s && !r->err.status && i < l->coming.count; i++)
        s = hd_seats_go(&l->seats, (size_t)l->coming.at[i].row, l->link[l->coming.at[i].link].token, err);
    if (l->opt->tell && l->done > done && !s && !r->err.status)
        l->opt->tell(l->opt->context, l->done, l->stepper->items);
    return s;
}

/* Sentences that joined have a hypothesis each, whose first step comes with the others'. */
static hd_status enter(void *context, size_t first, size_t count, hd_err *err)
{
    hd_loop *l = context;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        size_t item = l->seats.joined - count + i, index = l->arriving ? l->arriving[item] : item;
        l->sentence[index].first = l->coming.count, l->sentence[index].count = 1;
        l->queue[l->queued++] = index;
        hd_loop_live(l, (hd_live){.link = -1, .row = (int32_t)(first + i)});
        s = hd_seats_go(&l->seats, first + i, l->stepper->start, err);
    }
    return s;
}

/* By the seats that a sentence may come to have. */
size_t hd_loop_most(const hd_loop *l)
{
    const hd_search_opt *o = l->opt;
    size_t each = o->kind == HD_SEARCH_BEAM ? o->beam : o->kind == HD_SEARCH_SAMPLE && o->best ? o->best : 1;
    return o->seats / each ? o->seats / each : 1;
}

/* Sentences join when a quarter of the seats is free, since reading them one by one costs more; but where
   they come one by one somebody waits for each. */
static size_t admit(void *context, size_t left)
{
    const hd_loop *l = context;
    size_t all = hd_loop_most(l), most = l->arriving ? all - 1 : 3 * all / 4;
    if (!l->opt->seats) return left;
    return !l->queued || l->queued <= most ? all - l->queued : 0;
}

/* Writes a kept hypothesis down, from its last token to its first. */
static void write_down(const hd_loop *l, const hd_end *e, hd_guess *g)
{
    g->sum = e->sum, g->score = e->score, g->finished = e->finished;
    int32_t at = e->link;
    for (size_t i = e->length; i--; at = l->link[at].before)
        g->ids[i] = l->link[at].token, g->logp[i] = l->link[at].logp;
}

void hd_loop_write(const hd_loop *l, const hd_loop_item *q, hd_found *to)
{
    for (size_t j = 0; j < q->kept_count && j < q->best; j++)
        write_down(l, &q->kept[j], hd_found_add(to, q->kept[j].length));
}

static hd_status collect(hd_found **out, const hd_loop *l, hd_err *err)
{
    size_t n = l->stepper->items, guesses = 0, tokens = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < l->sentence[i].kept_count && j < l->sentence[i].best; j++)
            guesses++, tokens += l->sentence[i].kept[j].length;
    hd_status s = hd_found_new(out, n, guesses, tokens, err);
    for (size_t i = 0; !s && i < n; i++) {
        hd_loop_write(l, &l->sentence[i], *out);
        hd_found_close(*out, i);
    }
    return s;
}

hd_status hd_loop_turn(hd_loop *l, hd_err *err)
{
    hd_step before = l->r->now;
    hd_status s = hd_seats_turn(&l->seats, &(hd_seats_user){admit, take, l, enter}, err);
    l->r->now = before;
    return s;
}

hd_status hd_search(hd_found **out, hd_run *r, const hd_stepper *stepper, const hd_search_opt *opt,
                    hd_err *err)
{
    hd_loop l = {.r = r, .stepper = stepper, .opt = opt};
    hd_step before = r->now;
    hd_status s = hd_loop_open(&l, err);
    if (!s) s = lay_out(&l, err);
    if (!s) s = hd_seats_run(&l.seats, &(hd_seats_user){admit, take, &l, enter}, err);
    if (!s) s = collect(out, &l, err);
    hd_loop_release(&l);
    r->now = before;
    return s;
}
