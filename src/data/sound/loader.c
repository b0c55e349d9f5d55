/* Batches of sounds, made by a crew ahead of the caller. A few slots hold the batch of the caller and those
   behind it. Easy to get wrong: a slot may be given to another batch only when nobody makes an item of it any
   more; and a failure ahead of time is nobody's until its batch is asked for. */
#include "data/sound/loader.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/system/crew.h"
#include "base/system/team.h"
#include "data/epoch.h"

enum { AHEAD = 2, MOST_AHEAD = 64, FRAMES_MOST = 1 << 30 /* row numbers are int32 */ };
enum { KEY_SOUND = 0x736e64 }; /* what the keys of items are drawn for */

enum { WAITING, TAKEN, READY, FAILED }; /* items */

typedef struct slot {
    hd_position at;
    bool open; /* its items may be taken */
    size_t items, total_items, total_frames, rows;
    size_t taken, next; /* items that are being made; the first that may be waiting */
    uint8_t *state;     /* [items] this and the following */
    uint32_t *which;
    int32_t *frames;
    size_t *row;  /* of the first frame */
    float *value; /* [rows, mels] */
    size_t state_room, which_room, frames_room, row_room, value_room;
} slot;

struct hd_sound_loader {
    hd_source source; /* at first: it is cast from one to the other */
    hd_sound_loader_opt opt;
    hd_batch_opt how; /* batches are formed */
    hd_corpus length; /* of the sounds in frames, as data/epoch.h wants them */
    hd_epoch epoch[2];
    bool formed[2];
    hd_features *features;
    hd_crew *crew; /* its lock guards the slots, but for what is in an item that is being made */
    slot *slot;
    slot **line; /* [slots] in the order of their batches: the first is the caller's */
    size_t slots, lined;
    hd_position next; /* of the source */
    hd_sound_share share;
    hd_sound_batch batch;
};

typedef struct job {
    slot *slot;
    size_t item;
    bool failed;
} job;

/* -- the crew's side -- */

static hd_status make_item(const hd_sound_loader *l, slot *s, size_t i, hd_err *err)
{
    const size_t mels = (size_t)l->opt.features.mels, frames = (size_t)s->frames[i];
    const uint64_t key = hd_rng_row_key(l->opt.seed, (uint32_t)s->at.epoch, KEY_SOUND, s->which[i], 0);
    float *value = s->value + s->row[i] * mels;
    hd_sound sound;
    hd_status st = hd_sound_set_sound(l->opt.set, s->which[i], l->opt.features.rate, &sound, err);
    if (!st) st = hd_features_make(l->features, value, sound.sample, sound.count, err);
    if (!st && l->opt.augment) st = hd_spec_augment_apply(l->opt.augment, value, frames, mels, key, err);
    hd_sound_release(&sound);
    return st;
}

static bool take(void *context, void *to)
{
    hd_sound_loader *l = context;
    for (size_t k = 0; k < l->lined; k++) {
        slot *s = l->line[k];
        while (s->next < s->items && s->state[s->next] != WAITING) s->next++;
        if (s->next >= s->items) continue;
        s->state[s->next] = TAKEN;
        s->taken++;
        *(job *)to = (job){.slot = s, .item = s->next++};
        return true;
    }
    return false;
}

static void work(void *context, void *of)
{
    job *j = of;
    hd_err err = {0}; /* it is whoever needs the item who says it, and makes it again for that */
    j->failed = make_item(context, j->slot, j->item, &err);
}

static void done(void *context, void *of)
{
    (void)context;
    const job *j = of;
    j->slot->state[j->item] = j->failed ? FAILED : READY;
    j->slot->taken--;
}

static const hd_crew_type crew_type = {.take = take, .work = work, .done = done};

/* -- which batches are made -- */

static const hd_epoch *epoch_of(hd_sound_loader *l, uint64_t number)
{
    hd_epoch *e = &l->epoch[number % 2];
    if (!l->formed[number % 2] || e->number != number) hd_epoch_form(e, number);
    l->formed[number % 2] = true;
    return e;
}

/* Behind the last batch of an epoch comes the first of the next. */
static hd_position settled(hd_sound_loader *l, hd_position at)
{
    return at.batch == epoch_of(l, at.epoch)->batches ? (hd_position){at.epoch + 1, 0} : at;
}

static hd_position behind(hd_sound_loader *l, hd_position at)
{
    return settled(l, (hd_position){at.epoch, at.batch + 1});
}

static hd_status check_position(hd_sound_loader *l, hd_position at, hd_err *err)
{
    const size_t batches = epoch_of(l, at.epoch)->batches;
    if (at.batch <= batches) return HD_OK;
    return hd_err_set(err, HD_EARG,
                      "there is no batch %llu in epoch %llu, which has %zu: the sounds or the batch options "
                      "have changed",
                      (unsigned long long)at.batch, (unsigned long long)at.epoch, batches);
}

static hd_status reserve(slot *s, size_t items, size_t values, hd_err *err)
{
    hd_status st = hd_mem_reserve(&s->state, &s->state_room, items, sizeof *s->state, err);
    if (!st) st = hd_mem_reserve(&s->which, &s->which_room, items, sizeof *s->which, err);
    if (!st) st = hd_mem_reserve(&s->frames, &s->frames_room, items, sizeof *s->frames, err);
    if (!st) st = hd_mem_reserve(&s->row, &s->row_room, items, sizeof *s->row, err);
    if (!st) st = hd_mem_reserve(&s->value, &s->value_room, values, sizeof *s->value, err);
    return st;
}

/* Every ranks-th sound is ours: they are sorted by length, so that all processes get about as much. */
static hd_status open_slot(hd_sound_loader *l, slot *s, hd_position at, hd_err *err)
{
    const size_t ranks = l->opt.ranks > 1 ? (size_t)l->opt.ranks : 1,
                 rank = ranks > 1 ? (size_t)l->opt.rank : 0;
    size_t all;
    const uint32_t *which = hd_epoch_batch(epoch_of(l, at.epoch), (size_t)at.batch, &all);
    s->at = at;
    s->total_items = all;
    s->total_frames = s->items = s->rows = s->next = 0;
    for (size_t i = 0; i < all; i++) {
        const size_t frames = hd_epoch_cost(&l->length, which[i]);
        s->total_frames += frames;
        if (i % ranks == rank) s->items++, s->rows += frames;
    }
    hd_status st = reserve(s, s->items + 1, (s->rows + 1) * (size_t)l->opt.features.mels, err);
    if (st) return st;
    for (size_t i = rank, n = 0, row = 0; i < all; i += ranks, n++) {
        const size_t frames = hd_epoch_cost(&l->length, which[i]);
        s->which[n] = which[i], s->frames[n] = (int32_t)frames, s->row[n] = row;
        row += frames;
    }
    memset(s->state, WAITING, s->items);
    s->open = true;
    return HD_OK;
}

static bool same(hd_position a, hd_position b)
{
    return a.epoch == b.epoch && a.batch == b.batch;
}

/* Takes the slot that has the batch to place k of the line, or one that nobody needs. */
static slot *slot_for(hd_sound_loader *l, hd_position at, const hd_position *wanted, size_t count)
{
    slot *unused = NULL;
    for (size_t i = 0; i < l->slots; i++) {
        slot *s = &l->slot[i];
        bool needed = false;
        if (s->open && same(s->at, at)) return s;
        for (size_t k = 0; s->open && k < count; k++) needed = needed || same(s->at, wanted[k]);
        if (!needed && !unused) unused = s;
    }
    return unused;
}

/* With the lock held. Nothing is taken until the line is whole. */
static hd_status line_up(hd_sound_loader *l, hd_position at, hd_err *err)
{
    hd_position wanted[MOST_AHEAD + 1];
    size_t count = 0;
    hd_status st = HD_OK;
    for (hd_position p = at; count < l->slots && (p.epoch == at.epoch || !l->opt.in_order); p = behind(l, p))
        wanted[count++] = p;
    l->lined = 0;
    for (size_t k = 0; !st && k < count; k++) {
        slot *s = l->line[k] = slot_for(l, wanted[k], wanted, count);
        if (s->open && same(s->at, wanted[k])) continue;
        s->open = false;
        while (s->taken) hd_crew_wait(l->crew);
        st = open_slot(l, s, wanted[k], err);
    }
    if (!st) l->lined = count;
    return st;
}

/* -- the caller's side -- */

hd_status hd_sound_loader_go(hd_sound_loader *l, hd_position at, hd_err *err)
{
    hd_status st = check_position(l, at, err);
    if (st) return st;
    hd_crew_lock(l->crew);
    st = line_up(l, settled(l, at), err);
    if (!st) hd_crew_call(l->crew);
    hd_crew_unlock(l->crew);
    if (st) return st;
    const slot *s = l->line[0];
    l->share = (hd_sound_share){.at = s->at,
                                .items = s->items,
                                .which = s->which,
                                .frames = s->frames,
                                .total_items = s->total_items,
                                .total_frames = s->total_frames};
    return HD_OK;
}

const hd_sound_share *hd_sound_loader_now(const hd_sound_loader *l)
{
    return &l->share;
}

/* Waits for the items, makes them itself where they are waiting. */
static hd_status finish(hd_sound_loader *l, slot *s, size_t from, size_t to, hd_err *err)
{
    hd_status st = HD_OK;
    for (size_t i = from; !st && i < to;) {
        if (s->state[i] == READY) {
            i++;
        } else if (s->state[i] == FAILED) {
            st = make_item(l, s, i, err);
            if (!st) s->state[i] = READY;
        } else if (!hd_crew_help(l->crew)) {
            hd_crew_wait(l->crew);
        }
    }
    return st;
}

hd_status hd_sound_loader_get(hd_sound_loader *l, size_t from, size_t to, const hd_sound_batch **out,
                              hd_err *err)
{
    const size_t items = l->lined ? l->line[0]->items : 0, mels = (size_t)l->opt.features.mels;
    if (!l->lined || to > items || from > to)
        return hd_err_set(err, HD_EARG, "items %zu to %zu of a batch of %zu sounds", from, to, items);
    slot *s = l->line[0];
    hd_crew_lock(l->crew);
    hd_status st = finish(l, s, from, to, err);
    hd_crew_unlock(l->crew);
    if (st) return st;
    const size_t first = from < items ? s->row[from] : s->rows, end = to < items ? s->row[to] : s->rows;
    l->batch = (hd_sound_batch){.items = to - from,
                                .which = s->which + from,
                                .value = s->value + first * mels,
                                .frames = s->frames + from,
                                .rows = end - first,
                                .mels = mels};
    *out = &l->batch;
    return HD_OK;
}

size_t hd_sound_loader_batches(hd_sound_loader *l, uint64_t epoch)
{
    return epoch_of(l, epoch)->batches;
}

/* -- as a source -- */

static hd_status next_of(hd_source *s, hd_position *after, hd_err *err)
{
    hd_sound_loader *l = (hd_sound_loader *)s;
    hd_status st = hd_sound_loader_go(l, l->next, err);
    if (!st) l->next = behind(l, l->share.at);
    *after = l->next;
    return st;
}

static hd_status seek_of(hd_source *s, hd_position at, hd_err *err)
{
    hd_sound_loader *l = (hd_sound_loader *)s;
    hd_status st = check_position(l, at, err);
    if (!st) l->next = settled(l, at);
    return st;
}

hd_source *hd_sound_loader_source(hd_sound_loader *l)
{
    return &l->source;
}

/* -- making -- */

static hd_status check(const hd_sound_loader_opt *o, hd_err *err)
{
    if (!o->set->count) return hd_err_set(err, HD_EARG, "there are no sounds to make batches of");
    if (o->set->count > INT32_MAX)
        return hd_err_set(err, HD_ELIMIT, "%zu sounds, at most %d are possible", o->set->count, INT32_MAX);
    if (!o->frames || o->frames > FRAMES_MOST || o->ahead > MOST_AHEAD)
        return hd_err_set(err, HD_EARG,
                          "batches of %zu frames, %zu ahead: at least 1 frame, at most %d, and %d ahead",
                          o->frames, o->ahead, FRAMES_MOST, MOST_AHEAD);
    if (o->ranks > 1 && (o->rank < 0 || o->rank >= o->ranks))
        return hd_err_set(err, HD_EARG, "process %d is none of %d", o->rank, o->ranks);
    return o->augment ? hd_spec_augment_check(o->augment, err) : HD_OK;
}

/* What a sound costs is its frames: a sentence of one token less, whose end is counted. */
static hd_status measure(hd_sound_loader *l, hd_err *err)
{
    const hd_sound_set *set = l->opt.set;
    size_t *begin = hd_mem_array(set->count + 1, sizeof *begin);
    l->length = (hd_corpus){.sides = 1, .count = set->count, .side = {{.begin = begin}}};
    if (!begin) return hd_err_nomem(err, set->count * sizeof *begin);
    for (size_t i = 0; i < set->count; i++) {
        const size_t samples = hd_sound_set_samples(set, i, l->opt.features.rate),
                     frames = hd_features_frames(&l->opt.features, samples);
        if (!frames || frames > l->opt.frames)
            return hd_err_set(err, frames ? HD_ELIMIT : HD_EFORMAT,
                              "%s: %zu frames: a sound of a batch has at least 1 and at most %zu",
                              hd_sound_set_name(set, i), frames, l->opt.frames);
        begin[i + 1] = begin[i] + frames - 1;
    }
    return HD_OK;
}

static hd_status make(hd_sound_loader *l, hd_err *err)
{
    l->slot = hd_mem_array(l->slots, sizeof *l->slot);
    l->line = hd_mem_array(l->slots, sizeof *l->line);
    if (!l->slot || !l->line) return hd_err_nomem(err, l->slots * sizeof *l->slot);
    hd_status s = hd_features_new(&l->features, &l->opt.features, err);
    if (!s) s = measure(l, err);
    for (int i = 0; !s && i < 2; i++) s = hd_epoch_init(&l->epoch[i], &l->length, 1, &l->how, err);
    if (s) return s;
    const int threads = l->opt.threads;
    s = hd_crew_new(&l->crew, threads < 0 ? 0 : threads ? threads : hd_team_cores(), &crew_type, l, err);
    if (!s)
        l->source = (hd_source){
            .hash = l->opt.set->hash, .batches = epoch_of(l, 0)->batches, .next = next_of, .seek = seek_of};
    return s;
}

hd_status hd_sound_loader_new(hd_sound_loader **out, const hd_sound_loader_opt *opt, hd_err *err)
{
    hd_status s = check(opt, err);
    if (s) return s;
    hd_sound_loader *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    l->opt = *opt;
    l->how = (hd_batch_opt){.tokens = opt->frames, .seed = opt->seed, .in_order = opt->in_order};
    l->slots = (opt->ahead ? opt->ahead : AHEAD) + 1;
    s = make(l, err);
    if (s)
        hd_sound_loader_free(l);
    else
        *out = l;
    return s;
}

void hd_sound_loader_free(hd_sound_loader *l)
{
    if (!l) return;
    hd_crew_free(l->crew);
    for (size_t i = 0; l->slot && i < l->slots; i++) {
        void *const all[] = {l->slot[i].state, l->slot[i].which, l->slot[i].frames, l->slot[i].row,
                             l->slot[i].value};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) hd_mem_free(all[k]);
    }
    hd_mem_free(l->slot);
    hd_mem_free(l->line);
    hd_epoch_release(&l->epoch[0]);
    hd_epoch_release(&l->epoch[1]);
    hd_mem_free(l->length.side[0].begin);
    hd_features_free(l->features);
    hd_mem_free(l);
}
