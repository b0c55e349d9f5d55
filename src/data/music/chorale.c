/* Chorales. */
#include "data/music/chorale.h"

#include <string.h>

#include "base/mem.h"

enum {
    SIXTEENTH = 120, /* ticks of what is written */
    VELOCITY = 80,
    MOST_STEPS = 1 << 17, /* four hours and more */
    MOST_CELLS = 1 << 27, /* that all notes last together: a file of hostile ones would take hours */
    MOST_PARTS = 64,
    CHOIR = 52 /* the instrument */
};

static const char *const voices[HD_VOICES] = {"Soprano", "Alto", "Tenor", "Bass"};
const hd_midi_score hd_chorale_score = {.tempo = 600000, .program = CHOIR, .names = voices};

/* -- from notes -- */

typedef struct part {
    uint32_t track;
    uint8_t channel;
    double sum; /* of pitches */
    size_t notes;
} part;

typedef struct parts {
    part at[MOST_PARTS];
    size_t count;
} parts;

/* The number of a note's part; it is added if it is new. MOST_PARTS: there are too many. */
static size_t part_of(parts *p, const hd_note *n)
{
    size_t i = 0;
    while (i < p->count && (p->at[i].track != n->track || p->at[i].channel != n->channel)) i++;
    if (i == p->count && i < MOST_PARTS) p->at[p->count++] = (part){n->track, n->channel, 0, 0};
    return i;
}

static bool is_before(const part *a, const part *b)
{
    return a->track != b->track ? a->track < b->track : a->channel < b->channel;
}

/* place[i]: which voice the part i is. Scores have the soprano above the bass or the other way around; what
   is between keeps its order, though voices may cross. */
static hd_status order_parts(size_t place[HD_VOICES], parts *p, const hd_midi *m, const char *name,
                             hd_err *err)
{
    double mean[HD_VOICES] = {0};
    for (size_t i = 0; i < m->count; i++) {
        const hd_note *n = &m->note[i];
        size_t which = n->channel == HD_DRUMS ? MOST_PARTS : part_of(p, n);
        if (which < MOST_PARTS) p->at[which].sum += n->pitch, p->at[which].notes++;
    }
    if (p->count != HD_VOICES)
        return hd_err_set(err, HD_EFORMAT,
                          "%s: a chorale has four parts, each a track or channel with notes, not %zu", name,
                          p->count);
    for (size_t i = 0; i < HD_VOICES; i++) {
        place[i] = 0;
        for (size_t j = 0; j < HD_VOICES; j++) place[i] += is_before(&p->at[j], &p->at[i]);
        mean[place[i]] = p->at[i].sum / (double)p->at[i].notes;
    }
    for (size_t i = 0; i < HD_VOICES && mean[0] < mean[HD_VOICES - 1]; i++)
        place[i] = HD_VOICES - 1 - place[i];
    return HD_OK;
}

/* The sixteenth that is nearest to a tick. */
static size_t step_at(const hd_midi *m, uint32_t tick)
{
    return (size_t)((8 * (uint64_t)tick + m->quarter) / (2 * (uint64_t)m->quarter));
}

static hd_status count_steps(size_t *out, const hd_midi *m, const char *name, hd_err *err)
{
    size_t cells = 0;
    *out = 0;
    for (size_t i = 0; i < m->count; i++) {
        size_t from = step_at(m, m->note[i].on), to = step_at(m, m->note[i].off);
        if (to <= from) to = from + 1;
        if (m->note[i].channel != HD_DRUMS && to > *out) *out = to;
        cells += to - from;
    }
    if (!*out) return hd_err_set(err, HD_EFORMAT, "%s: there is no note in it", name);
    if (*out > MOST_STEPS)
        return hd_err_set(err, HD_ELIMIT, "%s: %zu sixteenths are too many, there may be %d", name, *out,
                          MOST_STEPS);
    if (cells > MOST_CELLS)
        return hd_err_set(err, HD_ELIMIT, "%s: %zu notes at a time are too many", name, cells / *out);
    return HD_OK;
}

/* Writes a note into one column of a grid of `columns`; a higher one that begins there stays. */
static void lay(int32_t *grid, size_t columns, const hd_midi *m, const hd_note *n)
{
    size_t from = step_at(m, n->on), to = step_at(m, n->off);
    if (to <= from) to = from + 1;
    for (size_t t = from; t < to; t++) {
        int32_t *at = &grid[t * columns], id = HD_PITCH_ID + n->pitch;
        if (*at == HD_REST_ID || *at < id) *at = id;
    }
}

/* Room for so many steps behind the list, all rests. */
static int32_t *open_grid(hd_ids *out, size_t cells, hd_err *err)
{
    if (hd_ids_reserve(out, cells, err)) return NULL;
    int32_t *grid = out->at + out->count;
    for (size_t i = 0; i < cells; i++) grid[i] = HD_REST_ID;
    out->count += cells;
    return grid;
}

hd_status hd_chorale_tokens(hd_ids *out, const hd_midi *m, const char *name, hd_err *err)
{
    size_t place[HD_VOICES], steps = 0;
    parts p = {.count = 0};
    hd_status s = count_steps(&steps, m, name, err);
    if (!s) s = order_parts(place, &p, m, name, err);
    int32_t *grid = s ? NULL : open_grid(out, HD_VOICES * steps, err);
    if (!grid) return s ? s : HD_ENOMEM;
    for (size_t i = 0; i < m->count; i++)
        if (m->note[i].channel != HD_DRUMS)
            lay(grid + place[part_of(&p, &m->note[i])], HD_VOICES, m, &m->note[i]);
    return HD_OK;
}

hd_status hd_chorale_melody(hd_ids *out, const hd_midi *m, const char *name, hd_err *err)
{
    size_t steps = 0;
    hd_status s = count_steps(&steps, m, name, err);
    int32_t *grid = s ? NULL : open_grid(out, steps, err);
    if (!grid) return s ? s : HD_ENOMEM;
    for (size_t i = 0; i < m->count; i++)
        if (m->note[i].channel != HD_DRUMS) lay(grid, 1, m, &m->note[i]);
    return HD_OK;
}

/* -- to notes -- */

static hd_status add_voice(hd_midi *m, const int32_t *ids, size_t steps, uint32_t voice, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t t = 0, end; !s && t < steps; t = end) {
        int32_t id = ids[t * HD_VOICES + voice];
        int pitch;
        for (end = t + 1; end < steps && ids[end * HD_VOICES + voice] == id;) end++;
        if (!hd_music_pitch(HD_MUSIC_CHORALE, id, &pitch)) continue;
        const hd_note n = {.on = (uint32_t)t * SIXTEENTH,
                           .off = (uint32_t)end * SIXTEENTH,
                           .track = voice,
                           .channel = (uint8_t)voice,
                           .pitch = (uint8_t)pitch,
                           .velocity = VELOCITY};
        s = hd_midi_add(m, &n, err);
    }
    return s;
}

hd_status hd_chorale_notes(hd_midi *out, const int32_t *ids, size_t count, hd_err *err)
{
    hd_midi m = {.tracks = HD_VOICES, .quarter = 4 * SIXTEENTH};
    const double second = 4.0 * SIXTEENTH * 1e6 / (double)hd_chorale_score.tempo;
    hd_status s = count / HD_VOICES <= MOST_STEPS
                      ? HD_OK
                      : hd_err_set(err, HD_ELIMIT, "the music is too long for a MIDI file");
    for (uint32_t v = 0; !s && v < HD_VOICES; v++) s = add_voice(&m, ids, count / HD_VOICES, v, err);
    for (size_t i = 0; i < m.count; i++)
        m.note[i].begin = m.note[i].on / second, m.note[i].end = m.note[i].off / second;
    hd_midi_sort(&m);
    if (s)
        hd_midi_release(&m);
    else
        *out = m;
    return s;
}
