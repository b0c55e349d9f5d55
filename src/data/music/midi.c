/* Reading MIDI files. Easy to get wrong: a byte below 0x80 in place of a status repeats the last one (running
   status), a note-on of velocity 0 is a note-off, and a tempo in any track holds for all of them. */
#include "data/music/midi.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/packed.h"
#include "base/mem.h"

enum {
    CHANNELS = 16,
    MOST_BYTES = 1 << 24,
    MOST_TICKS = 1 << 30,
    USUAL_TEMPO = 500000, /* microseconds of a quarter note until a file says otherwise */
    SUSTAIN = 64          /* the controller of the pedal */
};

typedef struct tempo {
    uint32_t at, micros;
    size_t number; /* of tempi at one time the one that comes last holds */
} tempo;

typedef struct reader {
    const uint8_t *bytes;
    size_t at, end; /* of the chunk that is read */
    const char *name;
    hd_midi *to;
    tempo *tempi;
    size_t count, room;
    double tick; /* seconds, where the file counts frames of film; 0: tempi say it */
    hd_err *err;
} reader;

typedef struct track {
    uint32_t number, now;                /* ticks */
    uint8_t status;                      /* the running one; 0: none */
    uint32_t open[CHANNELS][HD_PITCHES]; /* 1 + the note that sounds; 0: none */
    bool held[CHANNELS][HD_PITCHES];     /* by the pedal alone */
    bool pedal[CHANNELS];
} track;

static hd_status refuse(const reader *r, const char *why)
{
    return hd_err_set(r->err, HD_EFORMAT, "%s: byte %zu: %s", r->name, r->at, why);
}

/* -- numbers -- */

static hd_status take_byte(reader *r, uint8_t *out)
{
    if (r->at >= r->end) return refuse(r, "the file ends in the middle of an event");
    *out = r->bytes[r->at++];
    return HD_OK;
}

/* Seven bits a byte, the last one below 0x80. */
static hd_status take_length(reader *r, uint32_t *out)
{
    uint8_t b = 0x80;
    *out = 0;
    for (int i = 0; b & 0x80; i++) {
        if (i == 4) return refuse(r, "a length of more than four bytes");
        hd_status s = take_byte(r, &b);
        if (s) return s;
        *out = *out << 7 | (b & 0x7f);
    }
    return HD_OK;
}

static uint32_t number(const uint8_t *at, int bytes)
{
    uint32_t n = 0;
    for (int i = 0; i < bytes; i++) n = n << 8 | at[i];
    return n;
}

/* -- notes -- */

static void end_note(reader *r, track *t, int channel, int pitch)
{
    uint32_t which = t->open[channel][pitch];
    if (!which) return;
    hd_note *n = &r->to->note[which - 1];
    n->off = t->now > n->on ? t->now : n->on + 1;
    t->open[channel][pitch] = 0, t->held[channel][pitch] = false;
}

static void note_off(reader *r, track *t, int channel, int pitch)
{
    if (t->pedal[channel])
        t->held[channel][pitch] = t->open[channel][pitch];
    else
        end_note(r, t, channel, pitch);
}

static hd_status note_on(reader *r, track *t, int channel, int pitch, int velocity)
{
    end_note(r, t, channel, pitch); /* the same key again */
    const hd_note note = {.on = t->now,
                          .off = t->now + 1,
                          .track = t->number,
                          .channel = (uint8_t)channel,
                          .pitch = (uint8_t)pitch,
                          .velocity = (uint8_t)velocity};
    hd_status s = hd_midi_add(r->to, &note, r->err);
    if (!s) t->open[channel][pitch] = (uint32_t)r->to->count;
    return s;
}

static void set_pedal(reader *r, track *t, int channel, bool down)
{
    t->pedal[channel] = down;
    for (int p = 0; !down && p < HD_PITCHES; p++)
        if (t->held[channel][p]) end_note(r, t, channel, p);
}

/* -- events -- */

static hd_status add_tempo(reader *r, uint32_t at, uint32_t micros)
{
    if (!micros) return refuse(r, "a tempo of 0");
    hd_status s = hd_mem_reserve(&r->tempi, &r->room, r->count + 1, sizeof *r->tempi, r->err);
    if (!s) r->tempi[r->count] = (tempo){at, micros, r->count}, r->count++;
    return s;
}

/* What has a length: texts, tempi, the end of the track, messages of makers. */
static hd_status take_long(reader *r, track *t, uint8_t status, bool *over)
{
    enum { TEMPO = 0x51, END = 0x2f };
    uint8_t type = 0;
    uint32_t length = 0;
    hd_status s = status == 0xff ? take_byte(r, &type) : HD_OK;
    if (!s) s = take_length(r, &length);
    if (s) return s;
    if (length > r->end - r->at) return refuse(r, "an event is longer than its track");
    t->status = 0;
    if (status == 0xff && type == TEMPO) {
        if (length != 3) return refuse(r, "a tempo has three bytes");
        s = add_tempo(r, t->now, number(r->bytes + r->at, 3));
    }
    *over = status == 0xff && type == END;
    r->at += length;
    return s;
}

static hd_status take_event(reader *r, track *t, bool *over)
{
    uint32_t delta = 0;
    uint8_t status = 0, data[2] = {0, 0};
    hd_status s = take_length(r, &delta);
    if (!s) s = take_byte(r, &status);
    if (s) return s;
    if (delta > MOST_TICKS - t->now) return refuse(r, "a track is too long");
    t->now += delta;
    if (status == 0xff || status == 0xf0 || status == 0xf7) return take_long(r, t, status, over);
    if (status >= 0xf0) return refuse(r, "a message that files do not have");
    if (status < 0x80) {
        if (!t->status) return refuse(r, "an event without a status");
        status = t->status, r->at--;
    }
    t->status = status;
    int kind = status >> 4, channel = status & 15;
    for (int i = 0; !s && i < (kind == 0xc || kind == 0xd ? 1 : 2); i++) {
        s = take_byte(r, &data[i]);
        if (!s && data[i] & 0x80) s = refuse(r, "a number above 127 in an event");
    }
    if (s) return s;
    if (kind == 9 && data[1]) return note_on(r, t, channel, data[0], data[1]);
    if (kind == 8 || kind == 9) note_off(r, t, channel, data[0]);
    if (kind == 0xb && data[0] == SUSTAIN) set_pedal(r, t, channel, data[1] >= 64);
    return HD_OK;
}

/* What still sounds at the end of a track ends there. */
static hd_status take_track(reader *r, track *t, uint32_t number_of)
{
    hd_status s = HD_OK;
    bool over = false;
    *t = (track){.number = number_of};
    while (!s && !over && r->at < r->end) s = take_event(r, t, &over);
    for (int c = 0; !s && c < CHANNELS; c++)
        for (int p = 0; p < HD_PITCHES; p++) end_note(r, t, c, p);
    return s;
}

/* -- the file -- */

static hd_status take_header(reader *r, size_t size, uint32_t *tracks)
{
    const uint8_t *b = r->bytes;
    if (size < 14 || memcmp(b, "MThd", 4))
        return hd_err_set(r->err, HD_EFORMAT, "%s: this is not a MIDI file", r->name);
    uint32_t length = number(b + 4, 4), format = number(b + 8, 2), division = number(b + 12, 2);
    if (length < 6 || length > size - 8) return r->at = 4, refuse(r, "the header is damaged");
    if (format > 1)
        return hd_err_set(r->err, HD_EFORMAT, "%s: MIDI files of format %u are not read: only 0 and 1",
                          r->name, format);
    r->at = 8 + length;
    *tracks = number(b + 10, 2);
    r->to->quarter = division;
    if (division & 0x8000) { /* frames a second, ticks a frame; a quarter note is half a second */
        uint32_t frames = 256 - (division >> 8), ticks = division & 0xff;
        r->to->quarter = frames * ticks / 2;
        if (ticks) r->tick = 1 / ((frames == 29 ? 29.97 : (double)frames) * (double)ticks);
    }
    if (!r->to->quarter) return r->at = 12, refuse(r, "a quarter note of no ticks");
    return HD_OK;
}

/* Chunks of other kinds are skipped; tracks that the header does not count, too. */
static hd_status take_tracks(reader *r, size_t size, uint32_t tracks)
{
    track *t = hd_mem_new(sizeof *t);
    hd_status s = t ? HD_OK : hd_err_nomem(r->err, sizeof *t);
    while (!s && r->to->tracks < tracks) {
        r->end = size;
        if (size - r->at < 8) {
            s = hd_err_set(r->err, HD_EFORMAT, "%s: the file ends after %u of %u tracks", r->name,
                           r->to->tracks, tracks);
            break;
        }
        bool known = !memcmp(r->bytes + r->at, "MTrk", 4);
        uint32_t length = number(r->bytes + r->at + 4, 4);
        r->at += 8;
        if (length > size - r->at)
            s = refuse(r, "a track is longer than the file");
        else if (r->end = r->at + length, known)
            s = take_track(r, t, r->to->tracks++);
        r->at = r->end;
    }
    hd_mem_free(t);
    return s;
}

static int by_time(const void *a, const void *b)
{
    const tempo *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Where the last call of seconds_at ended: ticks only grow. */
typedef struct clock_hand {
    size_t next;
    uint32_t at, micros;
    double seconds;
} clock_hand;

static double seconds_at(const reader *r, clock_hand *c, uint32_t tick)
{
    const double quarter = 1e6 * (double)r->to->quarter;
    if (r->tick > 0) return (double)tick * r->tick;
    for (; c->next < r->count && r->tempi[c->next].at <= tick; c->next++) {
        const tempo *t = &r->tempi[c->next];
        c->seconds += (double)(t->at - c->at) * (double)c->micros / quarter;
        c->at = t->at, c->micros = t->micros;
    }
    return c->seconds + (double)(tick - c->at) * (double)c->micros / quarter;
}

static int by_end(const void *a, const void *b)
{
    const hd_note *x = a, *y = b;
    return x->off < y->off ? -1 : x->off > y->off;
}

static void tell_seconds(reader *r)
{
    hd_midi *m = r->to;
    clock_hand end = {.micros = USUAL_TEMPO}, begin = end;
    if (r->count) qsort(r->tempi, r->count, sizeof *r->tempi, by_time);
    if (m->count) qsort(m->note, m->count, sizeof *m->note, by_end);
    for (size_t i = 0; i < m->count; i++) m->note[i].end = seconds_at(r, &end, m->note[i].off);
    hd_midi_sort(m);
    for (size_t i = 0; i < m->count; i++) m->note[i].begin = seconds_at(r, &begin, m->note[i].on);
}

hd_status hd_midi_parse(hd_midi *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err)
{
    hd_midi m = {0};
    *out = m;
    reader r = {.bytes = bytes, .name = name, .to = &m, .err = err};
    uint32_t tracks = 0;
    hd_status s = size > MOST_BYTES ? hd_err_set(err, HD_ELIMIT, "%s: a MIDI file of more than %d MiB", name,
                                                 MOST_BYTES >> 20)
                                    : take_header(&r, size, &tracks);
    if (!s) s = take_tracks(&r, size, tracks);
    if (!s) tell_seconds(&r);
    hd_mem_free(r.tempi);
    if (s)
        hd_midi_release(&m);
    else
        *out = m;
    return s;
}

hd_status hd_midi_read(hd_midi *out, const char *path, hd_err *err)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    bool whole;
    hd_status s = hd_packed_read(&bytes, &size, &whole, path, MOST_BYTES, err);
    if (!s && !whole) s = hd_err_set(err, HD_ELIMIT, "%s: too large: more than %d bytes", path, MOST_BYTES);
    if (!s) s = hd_midi_parse(out, bytes, size, path, err);
    hd_mem_free(bytes);
    return s;
}

void hd_midi_release(hd_midi *m)
{
    hd_mem_free(m->note);
    *m = (hd_midi){0};
}

hd_status hd_midi_add(hd_midi *m, const hd_note *note, hd_err *err)
{
    hd_status s = hd_mem_reserve(&m->note, &m->room, m->count + 1, sizeof *m->note, err);
    if (!s) m->note[m->count++] = *note;
    return s;
}

/* All that a file can say of a note: the order does not depend on that before. */
static int by_begin(const void *a, const void *b)
{
    const hd_note *x = a, *y = b;
    const uint32_t one[] = {x->on, x->track, x->channel, x->pitch, x->off, x->velocity},
                   two[] = {y->on, y->track, y->channel, y->pitch, y->off, y->velocity};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (one[i] != two[i]) return one[i] < two[i] ? -1 : 1;
    return 0;
}

void hd_midi_sort(hd_midi *m)
{
    if (m->count) qsort(m->note, m->count, sizeof *m->note, by_begin);
}
