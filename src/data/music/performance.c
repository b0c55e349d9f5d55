/* Performances. Easy to get wrong: events at one time have an order, releases before strikes, or a key that
   is struck again at once would be released at once. */
#include "data/music/performance.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
    DAY = 24 * 60 * 60,
    QUARTER = 500, /* ticks: with the usual tempo one is a millisecond */
    TICKS = 1000 / HD_SHIFTS_A_SECOND,
    LONGEST = 1 << 28, /* ticks that a MIDI file can tell in one number */
    VELOCITY = 64,     /* until a token says one */
    VELOCITY_STEP = 4
};

const hd_midi_score hd_performance_score = {.tempo = 500000};

typedef struct key_event {
    int64_t at; /* in steps of 10 ms */
    bool on;
    uint8_t pitch, velocity;
} key_event;

static int in_order(const void *a, const void *b)
{
    const key_event *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->on != y->on) return x->on ? 1 : -1;
    if (x->pitch != y->pitch) return x->pitch < y->pitch ? -1 : 1;
    return x->velocity < y->velocity ? -1 : x->velocity > y->velocity;
}

/* How many; a note lasts a step at least. */
static size_t events_of(key_event *to, const hd_midi *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++) {
        const hd_note *x = &m->note[i];
        if (x->channel == HD_DRUMS) continue;
        int64_t on = llround(x->begin * HD_SHIFTS_A_SECOND), off = llround(x->end * HD_SHIFTS_A_SECOND);
        to[n++] = (key_event){on, true, x->pitch, x->velocity};
        to[n++] = (key_event){off > on ? off : on + 1, false, x->pitch, 0};
    }
    qsort(to, n, sizeof *to, in_order);
    return n;
}

/* Parts of a file may hold a key together: it is released by the last of them. */
static hd_status put_events(hd_ids *out, const key_event *e, size_t n, hd_err *err)
{
    int held[HD_PITCHES] = {0}, velocity = -1;
    int64_t now = e[0].at;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        if (!e[i].on && --held[e[i].pitch]) continue;
        if (e[i].on && held[e[i].pitch]++) continue;
        for (; !s && now < e[i].at; now += e[i].at - now < HD_SHIFTS ? e[i].at - now : HD_SHIFTS)
            s = hd_ids_add(
                out, HD_SHIFT_ID - 1 + (int32_t)(e[i].at - now < HD_SHIFTS ? e[i].at - now : HD_SHIFTS), err);
        int bin = (e[i].velocity - 1) / VELOCITY_STEP;
        if (!s && e[i].on && bin != velocity) s = hd_ids_add(out, HD_VELOCITY_ID + bin, err), velocity = bin;
        if (!s) s = hd_ids_add(out, (e[i].on ? HD_ON_ID : HD_OFF_ID) + e[i].pitch, err);
    }
    return s;
}

hd_status hd_performance_tokens(hd_ids *out, const hd_midi *m, const char *name, hd_err *err)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->note[i].end > DAY)
            return hd_err_set(err, HD_ELIMIT, "%s: the music lasts longer than a day", name);
    key_event *e = hd_mem_array(2 * m->count + 1, sizeof *e);
    if (!e) return hd_err_nomem(err, 2 * m->count * sizeof *e);
    size_t n = events_of(e, m);
    hd_status s =
        n ? put_events(out, e, n, err) : hd_err_set(err, HD_EFORMAT, "%s: there is no note in it", name);
    hd_mem_free(e);
    return s;
}

/* -- back -- */

typedef struct keyboard {
    hd_midi *to;
    uint32_t now;              /* ticks */
    size_t struck[HD_PITCHES]; /* 1 + its note; 0: it is up */
} keyboard;

static void release_key(keyboard *k, int pitch)
{
    if (!k->struck[pitch]) return;
    hd_note *n = &k->to->note[k->struck[pitch] - 1];
    n->off = k->now > n->on ? k->now : n->on + 1;
    k->struck[pitch] = 0;
}

static hd_status strike_key(keyboard *k, int pitch, int velocity, hd_err *err)
{
    release_key(k, pitch);
    const hd_note note = {.on = k->now, .pitch = (uint8_t)pitch, .velocity = (uint8_t)velocity};
    hd_status s = hd_midi_add(k->to, &note, err);
    if (!s) k->struck[pitch] = k->to->count;
    return s;
}

hd_status hd_performance_notes(hd_midi *out, const int32_t *ids, size_t count, hd_err *err)
{
    hd_midi m = {.tracks = 1, .quarter = QUARTER};
    keyboard k = {.to = &m};
    int velocity = VELOCITY;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        int32_t id = ids[i];
        if (id >= HD_VELOCITY_ID && id < HD_VELOCITY_ID + HD_VELOCITIES)
            velocity = VELOCITY_STEP * (id - HD_VELOCITY_ID) + VELOCITY_STEP / 2;
        else if (id >= HD_SHIFT_ID && id < HD_VELOCITY_ID)
            k.now += TICKS * (uint32_t)(id - HD_SHIFT_ID + 1);
        else if (id >= HD_ON_ID && id < HD_SHIFT_ID)
            s = strike_key(&k, id - HD_ON_ID, velocity, err);
        else if (id >= HD_OFF_ID && id < HD_ON_ID)
            release_key(&k, id - HD_OFF_ID);
        if (!s && k.now >= LONGEST) s = hd_err_set(err, HD_ELIMIT, "the music is too long for a MIDI file");
    }
    for (int p = 0; !s && p < HD_PITCHES; p++) release_key(&k, p);
    for (size_t i = 0; i < m.count; i++)
        m.note[i].begin = m.note[i].on / 1000.0, m.note[i].end = m.note[i].off / 1000.0;
    hd_midi_sort(&m);
    if (s)
        hd_midi_release(&m);
    else
        *out = m;
    return s;
}
