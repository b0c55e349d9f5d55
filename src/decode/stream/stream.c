/* A search that goes on. The loop is the one of hd_search; here sentences get places that others leave, and
   links of hypotheses that are over are taken back. Easy to get wrong: who was dropped while it waits stays
   an item of the stepper until it joins. */
#include "decode/stream/stream.h"

#include <string.h>

#include "base/mem.h"
#include "decode/loop.h"

enum { BANNED = 8, LINKS_LEAST = 1 << 10 };

typedef struct place { /* beside loop.sentence */
    void *tag;
    hd_end *kept;
    size_t keep;  /* room of kept */
    bool dropped; /* nobody waits for it */
} place;

struct hd_stream {
    hd_loop loop;
    hd_stepper stepper;
    hd_search_opt opt;
    int32_t banned[BANNED];
    hd_stream_done *done;
    void *context;
    place *place;        /* [room of loop.sentence] */
    size_t *free, frees; /* places that nobody has */
    size_t places, room; /* all of them; room of the lists */
    size_t *arriving;    /* [places]: of the items of the stepper, waiting or joined */
    size_t count;        /* sentences */
    size_t enough;       /* links from which on they are looked through */
};

static void leave(hd_stream *s, size_t which)
{
    s->free[s->frees++] = which;
    s->count--;
}

/* A sentence is done: hands it over. A failure stays in the run. */
static void ended(hd_loop *l, hd_loop_item *q)
{
    hd_stream *s = (hd_stream *)l; /* its first member */
    size_t which = (size_t)(q - l->sentence), tokens = 0, guesses = 0;
    hd_found *found = NULL;
    place *p = &s->place[which];
    for (; guesses < q->kept_count && guesses < q->best; guesses++) tokens += q->kept[guesses].length;
    if (!p->dropped && !hd_found_new(&found, 1, guesses, tokens, &l->r->err)) {
        hd_loop_write(l, q, found);
        hd_found_close(found, 0);
        s->done(s->context, p->tag, found);
        hd_found_free(found);
    }
    leave(s, which);
}

hd_status hd_stream_new(hd_stream **out, hd_run *r, hd_stepper *stepper, const hd_search_opt *opt,
                        hd_stream_done *done, void *context, hd_err *err)
{
    if (!stepper->wait || opt->kind == HD_SEARCH_SAMPLE || opt->prefix_len || opt->adjust.row ||
        !opt->seats || opt->banned_count > BANNED)
        return hd_err_set(err, HD_EARG, "stream: a search of this kind cannot go on");
    hd_stream *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    s->stepper = *stepper, s->opt = *opt, s->done = done, s->context = context;
    if (opt->banned_count) memcpy(s->banned, opt->banned, opt->banned_count * sizeof *s->banned);
    s->opt.banned = s->banned, s->opt.tell = NULL;
    s->loop = (hd_loop){.r = r, .stepper = &s->stepper, .opt = &s->opt, .ended = ended};
    s->enough = LINKS_LEAST;
    hd_status st = hd_loop_open(&s->loop, err);
    if (st) {
        s->stepper = (hd_stepper){0}; /* the caller's still */
        hd_stream_free(s);
        return st;
    }
    *out = s;
    return HD_OK;
}

void hd_stream_free(hd_stream *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->places; i++) hd_mem_free(s->place[i].kept);
    hd_loop_release(&s->loop);
    hd_stepper_release(&s->stepper);
    hd_mem_free(s->place);
    hd_mem_free(s->free);
    hd_mem_free(s->arriving);
    hd_mem_free(s);
}

/* -- places -- */

/* Lists for so many places. */
static hd_status grow(hd_stream *s, size_t need, hd_err *err)
{
    size_t room = s->room, old[] = {room, room, room, room, room};
    if (need <= room) return HD_OK;
    hd_status st = hd_mem_reserve(&s->place, &old[0], need, sizeof *s->place, err);
    if (!st) st = hd_mem_reserve(&s->free, &old[1], need, sizeof *s->free, err);
    if (!st) st = hd_mem_reserve(&s->arriving, &old[2], need, sizeof *s->arriving, err);
    if (!st) st = hd_mem_reserve(&s->loop.sentence, &old[3], need, sizeof *s->loop.sentence, err);
    if (!st) st = hd_mem_reserve(&s->loop.queue, &old[4], need, sizeof *s->loop.queue, err);
    if (!st) s->room = need;
    return st;
}

/* n free places with room for `keep` ends each. */
static hd_status make_places(hd_stream *s, size_t n, size_t keep, hd_err *err)
{
    size_t missing = n > s->frees ? n - s->frees : 0;
    hd_status st = grow(s, s->places + missing, err);
    for (size_t i = 0; !st && i < missing; i++) {
        s->place[s->places] = (place){0};
        s->free[s->frees++] = s->places++;
    }
    for (size_t i = s->frees - n; !st && i < s->frees; i++) {
        place *p = &s->place[s->free[i]];
        st = hd_mem_reserve(&p->kept, &p->keep, keep, sizeof *p->kept, err);
    }
    return st;
}

hd_status hd_stream_add(hd_stream *s, const int32_t *ids, const int32_t *len, void *const *tag, size_t n,
                        size_t best, hd_err *err)
{
    hd_loop *l = &s->loop;
    size_t old = s->stepper.items - l->seats.joined;
    if (!best || best > (s->opt.kind == HD_SEARCH_BEAM ? s->opt.beam : 1))
        return hd_err_set(err, HD_EARG, "stream: %zu guesses with a beam of %zu", best, s->opt.beam);
    hd_status st = make_places(s, n, hd_loop_keeps(&s->opt, best), err);
    if (!st) st = s->stepper.wait(&s->stepper, ids, len, n, err);
    if (st) return st;
    if (old) memmove(s->arriving, s->arriving + l->seats.joined, old * sizeof *s->arriving);
    l->seats.joined = 0;
    l->arriving = s->arriving;
    for (size_t i = 0; i < n; i++) {
        size_t which = s->free[--s->frees];
        s->arriving[old + i] = which;
        s->place[which].tag = tag[i], s->place[which].dropped = false;
        l->sentence[which].kept = s->place[which].kept;
        hd_loop_lay(l, &l->sentence[which], old + i, best);
    }
    s->count += n;
    return HD_OK;
}

/* Takes the hypotheses of sentences that were dropped out of the next step. */
static void drop_live(hd_stream *s)
{
    hd_loop *l = &s->loop;
    size_t seats = 0, queued = 0;
    for (size_t i = 0; i < l->queued; i++) {
        size_t which = l->queue[i];
        hd_loop_item *q = &l->sentence[which];
        if (s->place[which].dropped) {
            leave(s, which);
            continue;
        }
        for (size_t j = 0; j < q->count; j++) {
            l->coming.at[seats + j] = l->coming.at[q->first + j];
            l->seats.parent[seats + j] = l->seats.parent[q->first + j];
            l->seats.token[seats + j] = l->seats.token[q->first + j];
        }
        q->first = seats, seats += q->count;
        l->queue[queued++] = which;
    }
    l->queued = queued, l->coming.count = l->seats.count = seats;
}

void hd_stream_drop(hd_stream *s, bool (*which)(const void *tag))
{
    hd_loop *l = &s->loop;
    bool some = false;
    for (size_t i = 0; i < l->queued; i++) {
        place *p = &s->place[l->queue[i]];
        p->dropped = which(p->tag), some = some || p->dropped;
    }
    for (size_t i = l->seats.joined; i < s->stepper.items; i++) {
        place *p = &s->place[s->arriving[i]];
        p->dropped = p->dropped || which(p->tag);
        /* it joins, as the stepper has it, and ends with its first token */
        if (p->dropped) l->sentence[s->arriving[i]].limit = 1;
    }
    if (some) drop_live(s);
}

size_t hd_stream_count(const hd_stream *s)
{
    return s->count;
}

size_t hd_stream_waiting(const hd_stream *s)
{
    return s->stepper.items - s->loop.seats.joined;
}

size_t hd_stream_most(const hd_stream *s)
{
    return hd_loop_most(&s->loop);
}

/* -- links -- */

static void mark(bool *used, int32_t link)
{
    if (link >= 0) used[link] = true;
}

static int32_t moved(const int32_t *to, int32_t link)
{
    return link < 0 ? link : to[link];
}

/* Keeps the links that live hypotheses and kept ends lead to. A link stands behind the one before it. */
static hd_status take_back_links(hd_stream *s, hd_err *err)
{
    hd_loop *l = &s->loop;
    size_t n = l->links, left = 0;
    bool *used = hd_mem_array(n, sizeof *used);
    int32_t *to = hd_mem_array(n, sizeof *to);
    hd_status st = used && to ? HD_OK : hd_err_nomem(err, n * sizeof *to);
    for (size_t i = 0; !st && i < l->coming.count; i++) mark(used, l->coming.at[i].link);
    for (size_t i = 0; !st && i < l->queued; i++) {
        const hd_loop_item *q = &l->sentence[l->queue[i]];
        for (size_t j = 0; j < q->kept_count; j++) mark(used, q->kept[j].link);
    }
    for (size_t i = n; !st && i--;)
        if (used[i]) mark(used, l->link[i].before);
    for (size_t i = 0; !st && i < n; i++) {
        if (!used[i]) continue;
        to[i] = (int32_t)left;
        l->link[left] = l->link[i];
        l->link[left].before = moved(to, l->link[i].before);
        left++;
    }
    for (size_t i = 0; !st && i < l->coming.count; i++)
        l->coming.at[i].link = moved(to, l->coming.at[i].link);
    for (size_t i = 0; !st && i < l->queued; i++) {
        hd_loop_item *q = &l->sentence[l->queue[i]];
        for (size_t j = 0; j < q->kept_count; j++) q->kept[j].link = moved(to, q->kept[j].link);
    }
    if (!st) l->links = left, s->enough = 2 * left > LINKS_LEAST ? 2 * left : LINKS_LEAST;
    hd_mem_free(used);
    hd_mem_free(to);
    return st;
}

hd_status hd_stream_turn(hd_stream *s, hd_err *err)
{
    hd_status st = s->loop.links >= s->enough ? take_back_links(s, err) : HD_OK;
    return st ? st : hd_loop_turn(&s->loop, err);
}
