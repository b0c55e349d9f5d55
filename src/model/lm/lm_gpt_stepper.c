/* GPT a token a step, for as long as one likes. One without positions just goes on, and distances beyond
   what its attention tells apart are all the same to it. When a hypothesis has used up the positions, the
   later half of what it saw is read again: it leaves the cache and joins anew, so that a step costs about two
   on average and every token but a text's first ones has at least half of the context. Easy to get wrong:
   what a hypothesis forgets, and when, must not depend on those beside it. */
#include <string.h>

#include "base/mem.h"
#include "model/lm/gpt.h"
#include "model/lm/lm_parts.h"
#include "model/stepper_parts.h"

typedef struct seat {
    size_t steps;   /* taken so far, that of reading the prompt included */
    int32_t used;   /* tokens in the cache, but for those of a prompt that are to be read */
    int32_t read;   /* of these, those that are there */
    int32_t reused; /* of these, those that were there before it joined */
} seat;

typedef struct turning {
    const hd_lm *model;
    hd_stepping *inner;
    seat *seat;    /* [live] */
    int32_t *seen; /* [live, positions]: what is in the cache, its first tokens first */
    size_t live;
    int32_t *given; /* [items of inner]: of their tokens, those that were given in steps before */
    bool share;
    hd_prefixes prefixes; /* what was read before, where that is shared */
    size_t piece;         /* most tokens of prompts that are read at once, about; 0: any number */
} turning;

static void turning_free(void *context)
{
    turning *s = context;
    if (!s) return;
    if (s->inner) hd_prefixes_release(&s->prefixes, s->inner->cache);
    hd_stepping_free(s->inner);
    hd_mem_free(s->seat);
    hd_mem_free(s->seen);
    hd_mem_free(s->given);
    hd_mem_free(s);
}

/* Steps between two looks whether there is room; there is one more behind the first step. */
static size_t stride(const turning *s)
{
    size_t context = s->model->opt.context;
    return context < 8 ? 1 : context / 4;
}

/* How many of the first tokens to leave out where at least `over` must go. */
static size_t left_out(const turning *s, size_t over)
{
    size_t align = s->model->opt.align ? s->model->opt.align : 1, room = s->model->opt.context;
    size_t whole = (over + align - 1) / align * align;
    return align < room / 4 ? whole : over;
}

/* Whether a seat, some tokens from now, looks whether there is room for those before its next look, and there
   is none. */
static bool is_full(const turning *s, const seat *of, size_t ahead)
{
    size_t used = (size_t)of->used + ahead, steps = of->steps + ahead;
    return (steps == 1 || steps % stride(s) == 0) &&
           used + stride(s) - steps % stride(s) > s->model->opt.context;
}

/* A seat that is full keeps the last half of its context. */
static bool forgets(turning *s, size_t i)
{
    if (s->seat[i].read < s->seat[i].used || !is_full(s, &s->seat[i], 0)) return false;
    size_t room = s->model->opt.context, used = (size_t)s->seat[i].used;
    int32_t *seen = s->seen + i * room;
    size_t keep = used - left_out(s, used - room / 2);
    memmove(seen, seen + used - keep, keep * sizeof *seen);
    s->seat[i].used = s->seat[i].read = (int32_t)keep;
    return true;
}

/* Whether what is read may be used again: factors of heads would change it. */
static bool shares(const hd_run *r, const turning *s)
{
    return s->share && !r->heads;
}

/* What a seat has read may be the beginning of others. */
static void keep(const hd_run *r, turning *s, size_t i)
{
    const seat *of = &s->seat[i];
    if (shares(r, s) && of->read == of->used)
        hd_prefixes_add(&s->prefixes, s->inner->cache, i, s->seen + i * s->model->opt.context,
                        (size_t)of->used);
}

/* What seats which[0] .. which[n - 1] have seen joins the cache, behind what begun[i] holds of it. */
static hd_tensor *read_seats(hd_run *r, turning *s, const int32_t *which, size_t n, const hd_begun *begun)
{
    size_t room = s->model->opt.context;
    int32_t *all = hd_host_take(r, (n * (room + 1) + 1) * sizeof *all), *len = all ? all + n * room : NULL;
    hd_arrivals a = {.ids = all, .len = len, .items = n, .begun = begun};
    for (size_t i = 0; all && i < n; i++) {
        size_t from = begun ? begun[i].blocks * HD_PAGE_ROWS : 0;
        len[i] = s->seat[which[i]].read - (int32_t)from;
        memcpy(all + a.rows, s->seen + (size_t)which[i] * room + from, (size_t)len[i] * sizeof *all);
        a.rows += (size_t)len[i];
    }
    return all ? hd_stepping_join(r, s->inner, &a) : NULL;
}

/* A token more, once it is in the cache. */
static void count_token(turning *s, size_t i, int32_t id)
{
    s->seen[i * s->model->opt.context + (size_t)s->seat[i].used++] = id;
    s->seat[i].steps++, s->seat[i].read++;
}

/* How many tokens of its prompt a seat reads next, at least one; *left: of the piece. */
static int32_t next_piece(const turning *s, const seat *of, size_t *left)
{
    size_t unread = (size_t)(of->used - of->read), most = *left ? *left : 1;
    size_t n = s->piece && unread > most ? most : unread;
    *left -= n < *left ? n : *left;
    return (int32_t)n;
}

/* Seat i as it is once its prompt is read and has been given tokens: as much of a prompt's end as fits, and
   what it would have forgotten since is not there. */
static void lay_out(turning *s, size_t i, const int32_t *ids, size_t len, size_t given)
{
    size_t room = s->model->opt.context, prompt = len - given;
    size_t used = prompt < room ? prompt : prompt - left_out(s, prompt - room);
    memcpy(s->seen + i * room, ids + prompt - used, used * sizeof *ids);
    s->seat[i] = (seat){.used = (int32_t)used, .read = (int32_t)used, .steps = 1};
    for (size_t k = prompt; k < len; k++) {
        forgets(s, i);
        count_token(s, i, ids[k]);
    }
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    turning *s = context;
    size_t room = s->model->opt.context, all = s->live + n, left = s->piece, first = s->inner->joined;
    hd_arrivals a = hd_stepping_next(r, s->inner, n);
    int32_t *which = hd_host_take(r, (n + 1) * sizeof *which);
    hd_begun *begun = hd_host_take(r, (n + 1) * sizeof *begun);
    if (!which || !begun || r->err.status) return NULL;
    seat *seats = hd_mem_grow(s->seat, all * sizeof *seats + 1);
    if (seats) s->seat = seats;
    int32_t *seen = seats ? hd_mem_grow(s->seen, all * room * sizeof *seen + 1) : NULL;
    if (!seen) return hd_err_nomem(&r->err, all * room * sizeof *seen), NULL;
    s->seen = seen;
    const int32_t *ids = a.ids;
    for (size_t i = 0; i < n; i++) {
        size_t len = (size_t)a.len[i], to = s->live + i;
        lay_out(s, to, ids, len, s->given ? (size_t)s->given[first + i] : 0);
        ids += len;
        if (shares(r, s)) begun[i] = hd_prefixes_find(&s->prefixes, seen + to * room, (size_t)seats[to].used);
        seats[to].read = seats[to].reused = (int32_t)(begun[i].blocks * HD_PAGE_ROWS);
        seats[to].read += next_piece(s, &seats[to], &left);
        which[i] = (int32_t)to;
    }
    s->live = all;
    hd_tensor *y = read_seats(r, s, which, n, begun);
    for (size_t i = 0; y && i < n; i++) keep(r, s, (size_t)which[i]);
    return y;
}

/* Seats that have to forget leave the cache, and what they keep is read again, once where it is the same. */
static bool make_room(hd_run *r, turning *s)
{
    size_t room = s->model->opt.context, stays = 0, reads = 0, n = s->live;
    int32_t *place = hd_host_take(r, (3 * n + 1) * sizeof *place);
    if (!place) return false;
    int32_t *stay = place + n, *again = stay + n;
    for (size_t i = 0; i < n; i++) {
        place[i] = forgets(s, i) ? -1 : (int32_t)stays;
        if (place[i] >= 0) stay[stays++] = (int32_t)i;
    }
    if (stays == n) return true;
    for (size_t i = 0; i < n; i++) {
        if (place[i] >= 0) continue;
        const int32_t *seen = s->seen + i * room;
        size_t bytes = (size_t)s->seat[i].used * sizeof *seen, j = 0;
        while (j < reads && (s->seat[again[j]].used != s->seat[i].used ||
                             memcmp(s->seen + (size_t)again[j] * room, seen, bytes)))
            j++;
        if (j == reads) again[reads++] = (int32_t)i;
        place[i] = (int32_t)(stays + j);
    }
    if (hd_stepping_pick(r, s->inner, stay, stays)) return false;
    read_seats(r, s, again, reads, NULL);
    return !r->err.status && !hd_stepping_pick(r, s->inner, place, n);
}

static size_t unread(const void *context, size_t i)
{
    const turning *s = context;
    return (size_t)(s->seat[i].used - s->seat[i].read);
}

static size_t reused(const void *context, size_t i)
{
    const turning *s = context;
    return (size_t)s->seat[i].reused;
}

/* A step in which some read on, and the others have a token each. */
static hd_tensor *read_on(hd_run *r, turning *s, const int32_t *ids)
{
    size_t n = s->live, room = s->model->opt.context, left = s->piece, at = 0;
    int32_t *len = hd_host_take(r, n * sizeof *len), *all = hd_host_take(r, n * room * sizeof *all);
    if (!len || !all) return NULL;
    for (size_t i = 0; i < n; i++) {
        const seat *of = &s->seat[i];
        bool reads = of->read < of->used;
        len[i] = reads ? next_piece(s, of, &left) : 1;
        memcpy(all + at, reads ? s->seen + i * room + of->read : ids + i, (size_t)len[i] * sizeof *all);
        at += (size_t)len[i];
    }
    hd_tensor *y =
        hd_stepping_read(r, s->inner, &(hd_arrivals){.ids = all, .len = len, .items = n, .rows = at});
    for (size_t i = 0; y && i < n; i++) {
        if (s->seat[i].read == s->seat[i].used) {
            count_token(s, i, ids[i]);
            continue;
        }
        s->seat[i].read += len[i];
        keep(r, s, i);
    }
    return y;
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    turning *s = context;
    if (live != s->live) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, %zu are alive", live, s->live);
    if (!make_room(r, s)) return NULL;
    for (size_t i = 0; i < live; i++)
        if (unread(s, i)) return read_on(r, s, ids);
    hd_tensor *y = hd_stepping_step(r, s->inner, ids, live);
    for (size_t i = 0; y && i < live; i++) count_token(s, i, ids[i]);
    return y;
}

/* As many as come before the seat has to forget. */
static hd_tensor *read_ahead(hd_run *r, void *context, const int32_t *ids, size_t *count)
{
    turning *s = context;
    if (s->live != 1 || unread(s, 0)) return hd_fail(r, HD_ESHAPE, "read: there are %zu hypotheses", s->live);
    if (!make_room(r, s)) return NULL;
    size_t n = 1;
    while (n < *count && !is_full(s, &s->seat[0], n)) n++;
    const int32_t len = (int32_t)n;
    s->inner->every = true;
    hd_tensor *y =
        hd_stepping_read(r, s->inner, &(hd_arrivals){.ids = ids, .len = &len, .items = 1, .rows = n});
    s->inner->every = false;
    for (size_t i = 0; y && i < n; i++) count_token(s, 0, ids[i]);
    *count = n;
    return y;
}

/* Texts that are over may go on with a later one: a conversation does. */
static void keep_leaving(hd_run *r, turning *s, const int32_t *parent, size_t n)
{
    bool *stays = shares(r, s) ? hd_host_take(r, s->live + 1) : NULL;
    for (size_t i = 0; stays && i < n; i++) stays[parent[i]] = true;
    for (size_t i = 0; stays && i < s->live; i++)
        if (!stays[i]) keep(r, s, i);
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    turning *s = context;
    size_t room = s->model->opt.context;
    for (size_t i = 0; i < n; i++)
        if (parent[i] < 0 || (size_t)parent[i] >= s->live)
            return hd_fail(r, HD_EARG, "pick: there is no hypothesis %d among %zu", parent[i], s->live),
                   HD_EARG;
    keep_leaving(r, s, parent, n);
    int32_t *seen = hd_mem_array(n * room, sizeof *seen);
    seat *seats = hd_mem_array(n, sizeof *seats);
    hd_status st = seen && seats ? hd_stepping_pick(r, s->inner, parent, n)
                                 : hd_err_nomem(&r->err, n * room * sizeof *seen);
    for (size_t i = 0; !st && i < n; i++) {
        size_t from = (size_t)parent[i];
        seats[i] = s->seat[from];
        memcpy(seen + i * room, s->seen + from * room, (size_t)seats[i].used * sizeof *seen);
    }
    if (st) return hd_mem_free(seen), hd_mem_free(seats), st;
    hd_mem_free(s->seen);
    hd_mem_free(s->seat);
    s->seen = seen, s->seat = seats, s->live = n;
    return HD_OK;
}

static hd_stepping_ask ask_of(const hd_lm *m, const int32_t *ids, const int32_t *len, size_t items)
{
    return (hd_stepping_ask){"prompt", ids, len, items, m->opt.vocab, INT32_MAX};
}

static hd_status wait(hd_stepper *out, const int32_t *ids, const int32_t *len, size_t n, hd_err *err)
{
    turning *s = out->context;
    const hd_stepping_ask q = ask_of(s->model, ids, len, n);
    size_t joined = s->inner->joined, old = s->inner->items - joined;
    int32_t *given = hd_mem_array(old + n, sizeof *given);
    hd_status st =
        given ? hd_stepping_wait(out, s->inner, &q, err) : hd_err_nomem(err, (old + n) * sizeof *given);
    if (st) return hd_mem_free(given), st;
    if (s->given) memcpy(given, s->given + joined, old * sizeof *given);
    hd_mem_free(s->given);
    s->given = given;
    return HD_OK;
}

static void resume(void *context, size_t tokens)
{
    turning *s = context;
    s->given[s->inner->items - 1] = (int32_t)tokens;
}

hd_status hd_lm_gpt_stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err)
{
    const hd_lm *m = self;
    (void)start;
    if (m->opt.no_positions) return hd_gpt_stepper(out, m->model, ids, len, items, err);
    const hd_stepping_ask q = ask_of(m, ids, len, items);
    turning *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    s->model = m;
    s->prefixes.most = 4 * ((m->opt.context + HD_PAGE_ROWS - 1) / HD_PAGE_ROWS);
    hd_status st = hd_gpt_stepping(&s->inner, m->model, &q, err);
    if (st) return turning_free(s), st;
    *out = (hd_stepper){.vocab = m->opt.vocab,
                        .items = items,
                        .source = s->inner->len,
                        .join = join,
                        .step = step,
                        .raw = &s->inner->raw,
                        .piece = &s->piece,
                        .share = &s->share,
                        .reused = reused,
                        .unread = unread,
                        .read = read_ahead,
                        .pick = pick,
                        .wait = wait,
                        .resume = resume,
                        .free = turning_free,
                        .context = s};
    return HD_OK;
}
