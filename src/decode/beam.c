/* Beam search: of all continuations of a sentence's live hypotheses, taken together, the best `beam` live on.
   All live hypotheses are equally long, so whatever the length penalty, the sum of log-probabilities ranks
   them.

   Those that end among the best `beam` leave the beam and are kept as results; the next best take their
   places. Easy to get wrong: a hypothesis may be dropped early only if nothing it can become would be kept
   (see prune). */
#include "decode/loop.h"

typedef struct choice {  /* the best continuation not taken yet of one hypothesis */
    size_t row, at, end; /* place in its row's list */
    double sum;
} choice;

/* Moves to the next token that may be taken. */
static void settle(const hd_loop *l, choice *c)
{
    while (c->at < c->end && !hd_loop_takes(l, l->ids[c->at], l->logp[c->at])) c->at++;
    if (c->at < c->end) c->sum = l->live.at[c->row].sum + (double)l->logp[c->at];
}

static choice *choices_of(hd_loop *l, hd_loop_item *q)
{
    choice *c = hd_host_take(l->r, q->count * sizeof *c);
    for (size_t i = 0; c && i < q->count; i++) {
        size_t row = q->first + i;
        c[i] = (choice){.row = row, .at = row * l->wide, .end = (row + 1) * l->wide};
        settle(l, &c[i]);
        if (c[i].at == c[i].end) hd_loop_stuck(l, q, hd_loop_at(l, row));
    }
    return c;
}

/* The best of all choices; of equal ones the first. NULL: none is left. */
static choice *best_of(choice *c, size_t n)
{
    choice *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (c[i].at < c[i].end && (!best || c[i].sum > best->sum)) best = &c[i];
    return best;
}

/* At most `beam` continuations of one row live on. The banned tokens and the end token may stand before them
   in its list, and nothing behind those is ever looked at: so many are enough for the exact result. */
static void look(hd_loop *l, hd_tensor *logp)
{
    hd_loop_top(l, logp, l->opt->beam + l->bans + 1);
}

/* The best score that a hypothesis can end with when it is `last` long at the most, which `divisor` is of. */
static double bound_of(const hd_loop *l, const hd_live *h, size_t last, double divisor)
{
    const hd_length *length = &l->opt->length;
    return hd_length_bound(h->sum, l->next, divisor) +
           hd_length_bonus(length, length->bonus > 0 ? last : l->length + 1);
}

/* Drops hypotheses that cannot become better than the worst of the results, all of them finished, that would
   be returned now. This changes no result: a hypothesis behind a dropped one that would have been crowded out
   by what the dropped one becomes has a smaller sum at the same length, thus a smaller bound, and cannot get
   among the results either. Those that came last have the smallest sums. */
static void prune(hd_loop *l, hd_loop_item *q, size_t first)
{
    if (q->kept_count < q->keep || !q->kept[q->keep - 1].finished) return;
    while (l->coming.count > first && bound_of(l, &l->coming.at[l->coming.count - 1], q->limit, q->longest) <=
                                          q->kept[q->keep - 1].score)
        l->coming.count--;
}

/* Nats that a hypothesis may be behind the best that lives: those less than a twentieth as probable leave.
   With a beam of 5 one of Multi30k's 2,014 sentences for validation and test came out differently by it, 16
   of Europarl's 4,000 (30 and 498 with 2), with the same BLEU; a fifth and a twentieth of all hypotheses
   leave. */
static const double BEHIND = 3;

/* Tokens, each of probability 1, that may be what a hypothesis lacks to pass the best that has finished:
   those that lack more leave. Three of Multi30k's sentences came out differently by it, four of Europarl's;
   searches have 6 and 3 % fewer steps. */
enum { LACKING = 4 };

static bool is_far(const hd_loop *l, const hd_loop_item *q, const hd_live *h, const hd_live *best)
{
    const size_t last = l->length + LACKING < q->limit ? l->length + LACKING : q->limit;
    if (h->sum < best->sum - BEHIND) return true;
    return q->finished && bound_of(l, h, last, hd_length_divisor(&l->opt->length, last)) <= q->kept[0].score;
}

/* Each that finished takes a place of the beam, and those that came last, which have the smallest sums, leave
   for it, unless they are better so far than all that finished: short ones may well finish before the right
   one does. Those far behind leave, too, as long as others are enough for the results that are wanted. */
static void make_way(hd_loop *l, const hd_loop_item *q, size_t first)
{
    const size_t all = l->opt->beam > q->best ? l->opt->beam : q->best,
                 places = q->finished < all ? all - q->finished : 0,
                 wanted = q->finished < q->best ? q->best - q->finished : 0;
    const hd_live *live = l->coming.at;
    size_t *n = &l->coming.count;
    while (q->finished && *n > first + places && hd_loop_score(l, live[*n - 1].sum) <= q->kept[0].score) --*n;
    while (*n > first + wanted && is_far(l, q, &live[*n - 1], &live[first])) --*n;
}

static void go_on(hd_loop *l, hd_loop_item *q, choice *c)
{
    size_t first = l->coming.count, beam = l->opt->beam, rank = 0;
    for (size_t taken = 0; taken < beam; rank++) {
        choice *b = best_of(c, q->count);
        if (!b) break;
        int32_t token = l->ids[b->at];
        bool ends = token == l->opt->end;
        if (!ends || rank < beam) hd_loop_go(l, q, hd_loop_at(l, b->row), token, l->logp[b->at]);
        taken += !ends;
        b->at++;
        settle(l, b);
    }
    if (l->opt->stop == HD_STOP_PROVEN) prune(l, q, first);
    if (l->opt->stop == HD_STOP_FULL) make_way(l, q, first);
}

/* The lectures' rule: finished hypotheses stay in the beam, compete with the others by their score and are
   not extended; the search ends when one of them is the best. What is kept is the finished part of the beam
   and, in the end, all of it. */
static void go_on_in_place(hd_loop *l, hd_loop_item *q, choice *c)
{
    size_t beam = l->opt->beam, n = 0, old = 0;
    struct {
        hd_end end;
        hd_live live;
    } *place = hd_host_take(l->r, beam * sizeof *place);
    for (; place && n < beam; n++) {
        choice *b = best_of(c, q->count);
        const hd_end *e = old < q->kept_count && q->kept[old].finished ? &q->kept[old] : NULL;
        if (!b && !e) break;
        if (e && (!b || e->score >= hd_loop_score(l, b->sum))) {
            place[n].end = *e, old++;
            continue;
        }
        hd_live h = hd_loop_add(l, hd_loop_at(l, b->row), l->ids[b->at], l->logp[b->at]);
        place[n].live = h;
        place[n].end =
            (hd_end){h.link, 0, l->length, h.sum, hd_loop_score(l, h.sum), l->ids[b->at] == l->opt->end};
        b->at++;
        settle(l, b);
    }
    if (!n || l->r->err.status) return;
    bool done = place[0].end.finished || l->length == q->limit;
    q->kept_count = 0;
    for (size_t i = 0; i < n; i++) {
        if (done || place[i].end.finished)
            q->kept[q->kept_count++] = place[i].end;
        else
            hd_loop_live(l, place[i].live);
    }
}

static void advance(hd_loop *l, hd_loop_item *q)
{
    choice *c = choices_of(l, q);
    if (!c) return;
    if (l->opt->stop == HD_STOP_BEST)
        go_on_in_place(l, q, c);
    else
        go_on(l, q, c);
}

const hd_method hd_method_beam = {.look = look, .advance = advance, .ranks = true};
