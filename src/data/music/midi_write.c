/* Writing MIDI files. Easy to get wrong: where a note ends when the same key is struck again, the end must
   come first. */
#include <stdlib.h>
#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "data/music/midi.h"

typedef struct event {
    uint32_t at;
    uint8_t on, pitch, channel, velocity;
} event;

static void put_bytes(hd_text *to, uint32_t value, int count)
{
    for (int i = count - 1; i >= 0; i--) hd_text_add(to, &(char){(char)(value >> (8 * i))}, 1);
}

static void put_length(hd_text *to, uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 7)
        if (value >> shift || !shift)
            hd_text_add(to, &(char){(char)((value >> shift & 0x7f) | (shift ? 0x80u : 0))}, 1);
}

static int in_order(const void *a, const void *b)
{
    const event *x = a, *y = b;
    const uint32_t one[] = {x->at, x->on, x->channel, x->pitch}, two[] = {y->at, y->on, y->channel, y->pitch};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (one[i] != two[i]) return one[i] < two[i] ? -1 : 1;
    return 0;
}

/* The notes of a track, with running status: ends are strikes of velocity 0. */
static void put_notes(hd_text *to, const hd_midi *m, uint32_t track)
{
    size_t count = 0;
    uint32_t now = 0;
    int status = -1;
    event *list = hd_mem_array(2 * m->count + 1, sizeof *list);
    if (!list) {
        to->missed = (2 * m->count + 1) * sizeof *list;
        return;
    }
    for (size_t i = 0; i < m->count; i++) {
        const hd_note *n = &m->note[i];
        if (n->track != track) continue;
        list[count++] = (event){n->on, 1, n->pitch, n->channel, n->velocity};
        list[count++] = (event){n->off, 0, n->pitch, n->channel, 0};
    }
    qsort(list, count, sizeof *list, in_order);
    for (size_t i = 0; i < count; i++) {
        put_length(to, list[i].at - now);
        now = list[i].at;
        if (status != list[i].channel) put_bytes(to, 0x90u | list[i].channel, 1);
        status = list[i].channel;
        put_bytes(to, list[i].pitch, 1);
        put_bytes(to, list[i].velocity, 1);
    }
    hd_mem_free(list);
}

/* The instrument of every channel of the track, before its notes. */
static void put_programs(hd_text *to, const hd_midi *m, uint32_t track, uint8_t program)
{
    unsigned seen = 0;
    for (size_t i = 0; i < m->count; i++) {
        const hd_note *n = &m->note[i];
        if (n->track != track || seen >> n->channel & 1) continue;
        seen |= 1u << n->channel;
        put_bytes(to, 0, 1);
        put_bytes(to, 0xc0u | n->channel, 1);
        put_bytes(to, program, 1);
    }
}

static void put_track(hd_text *to, const hd_midi *m, uint32_t track, const hd_midi_score *score)
{
    hd_text_put(to, "MTrk");
    put_bytes(to, 0, 4);
    size_t from = to->size;
    if (!track) {
        put_bytes(to, 0x00ff5103u, 4);
        put_bytes(to, score->tempo, 3);
    }
    if (score->names) {
        put_bytes(to, 0x00ff03u, 3);
        put_length(to, (uint32_t)strlen(score->names[track]));
        hd_text_put(to, score->names[track]);
    }
    put_programs(to, m, track, score->program);
    put_notes(to, m, track);
    put_bytes(to, 0x00ff2f00u, 4);
    for (int i = 0; i < 4 && !to->missed; i++)
        to->data[from - 4 + (size_t)i] = (char)((to->size - from) >> (24 - 8 * i));
}

void hd_midi_put(hd_text *to, const hd_midi *m, const hd_midi_score *score)
{
    uint32_t tracks = m->tracks ? m->tracks : 1;
    hd_text_put(to, "MThd");
    put_bytes(to, 6, 4);
    put_bytes(to, tracks > 1, 2);
    put_bytes(to, tracks, 2);
    put_bytes(to, m->quarter, 2);
    for (uint32_t i = 0; i < tracks; i++) put_track(to, m, i, score);
}

hd_status hd_midi_save(const hd_midi *m, const hd_midi_score *score, const char *path, hd_err *err)
{
    hd_text bytes = {0};
    hd_midi_put(&bytes, m, score);
    hd_status s = hd_text_status(&bytes, err);
    if (!s) s = hd_save_bytes(path, bytes.data, bytes.size, err);
    hd_text_release(&bytes);
    return s;
}
