/* The vocabularies of music, and variations of pieces. */
#include "data/music/tokens.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "data/music/midi.h"

enum { NAME = 16 };

const char *const hd_music_names[HD_MUSICS + 1] = {"none",
#define X(NAME, name, ...) #name,
                                                   HD_MUSIC_LIST(X)
#undef X
};

static const size_t sizes[HD_MUSICS] = {0,
#define X(NAME, name, size, ...) size,
                                        HD_MUSIC_LIST(X)
#undef X
};

/* Words of each kind: their beginning, how many digits, the first and last number; without digits one word.
 */
typedef struct words {
    hd_music kind;
    const char *name;
    int digits, first, last;
} words;

static const words vocabulary[] = {
    {HD_MUSIC_CHORALE, "", 3, 0, HD_PITCHES - 1},
    {HD_MUSIC_CHORALE, "rest", 0, 0, 0},
    {HD_MUSIC_PERFORMANCE, "off", 3, 0, HD_PITCHES - 1},
    {HD_MUSIC_PERFORMANCE, "on", 3, 0, HD_PITCHES - 1},
    {HD_MUSIC_PERFORMANCE, "shift", 3, 1, HD_SHIFTS},
    {HD_MUSIC_PERFORMANCE, "velocity", 2, 0, HD_VELOCITIES - 1},
};

size_t hd_music_size(hd_music kind)
{
    return sizes[kind];
}

static const char *name_of(hd_music kind, size_t token, char to[NAME])
{
    for (size_t i = 0; i < sizeof vocabulary / sizeof *vocabulary; i++) {
        const words *w = &vocabulary[i];
        size_t count = (size_t)(w->last - w->first + 1);
        if (w->kind != kind) continue;
        if (token >= count) {
            token -= count;
            continue;
        }
        snprintf(to, NAME, "%s", w->name);
        if (w->digits) snprintf(to, NAME, "%s%0*d", w->name, w->digits, w->first + (int)token);
        return to;
    }
    return NULL;
}

/* -- tokenizers -- */

typedef struct walk {
    hd_music kind;
    size_t next;
    char name[NAME];
} walk;

static bool next_word(void *context, hd_line *line)
{
    walk *w = context;
    if (!name_of(w->kind, w->next++, w->name)) return false;
    *line = (hd_line){w->name, strlen(w->name)};
    return true;
}

hd_status hd_music_tokenizer(hd_tokenizer **out, hd_music kind, hd_err *err)
{
    walk w = {.kind = kind};
    return hd_tokenizer_train(out, HD_TOKENIZER_words, (hd_feed){next_word, &w}, &(hd_tokenizer_opt){0}, err);
}

static bool is_of(const hd_tokenizer *t, hd_music kind)
{
    char name[NAME];
    if (hd_tokenizer_size(t) != HD_SPECIALS + sizes[kind]) return false;
    for (size_t i = 0; i < sizes[kind]; i++)
        if (strcmp(hd_tokenizer_piece(t, (int32_t)(HD_SPECIALS + i)), name_of(kind, i, name))) return false;
    return true;
}

hd_music hd_music_of(const hd_tokenizer *t)
{
    if (!t || hd_tokenizer_kind_of(t) != HD_TOKENIZER_words) return HD_MUSIC_NONE;
    for (hd_music kind = HD_MUSIC_NONE + 1; kind < HD_MUSICS; kind++)
        if (is_of(t, kind)) return kind;
    return HD_MUSIC_NONE;
}

/* -- variations -- */

bool hd_music_pitch(hd_music kind, int32_t id, int *pitch)
{
    int last = kind == HD_MUSIC_CHORALE ? HD_REST_ID : HD_SHIFT_ID;
    if (id < HD_SPECIALS || id >= last) return false;
    *pitch = (id - HD_SPECIALS) % HD_PITCHES;
    return true;
}

hd_music_ranges hd_music_no_ranges(void)
{
    hd_music_ranges r;
    for (int v = 0; v < HD_VOICES; v++) r.low[v] = HD_PITCHES, r.high[v] = -1;
    return r;
}

void hd_music_widen(hd_music_ranges *r, hd_music kind, const int32_t *ids, size_t count)
{
    int pitch;
    for (size_t i = 0; i < count; i++) {
        size_t v = kind == HD_MUSIC_CHORALE ? i % HD_VOICES : 0;
        if (!hd_music_pitch(kind, ids[i], &pitch)) continue;
        if (pitch < r->low[v]) r->low[v] = pitch;
        if (pitch > r->high[v]) r->high[v] = pitch;
    }
}

hd_variation hd_music_draw(hd_music kind, const hd_music_ranges *piece, const hd_music_ranges *all, int most,
                           double stretch, uint64_t seed, uint64_t epoch, uint64_t number)
{
    int down = most, up = most;
    hd_rng rng = hd_rng_make(seed ^ 0x6d75736963u, epoch << 32 ^ number);
    for (int v = 0; v < HD_VOICES; v++) {
        if (piece->low[v] > piece->high[v]) continue;
        if (piece->low[v] - all->low[v] < down) down = piece->low[v] - all->low[v];
        if (all->high[v] - piece->high[v] < up) up = all->high[v] - piece->high[v];
    }
    hd_variation v = {.semitones = (int)hd_rng_below(&rng, (uint32_t)(down + up + 1)) - down, .stretch = 1};
    if (kind == HD_MUSIC_PERFORMANCE) v.stretch = 1 + stretch * (2 * hd_rng_unit(&rng) - 1);
    return v;
}

/* Time since the first token is stretched, not each shift: rounding does not add up. */
hd_status hd_music_vary(hd_ids *out, hd_music kind, const int32_t *ids, size_t count, hd_variation v,
                        hd_err *err)
{
    int64_t now = 0, told = 0;
    hd_status s = HD_OK;
    int pitch;
    for (size_t i = 0; !s && i < count; i++) {
        if (kind == HD_MUSIC_PERFORMANCE && ids[i] >= HD_SHIFT_ID && ids[i] < HD_VELOCITY_ID) {
            now += ids[i] - HD_SHIFT_ID + 1;
            int64_t then = llround((double)now * v.stretch);
            if (i + 1 < count && ids[i] == HD_SHIFT_ID + HD_SHIFTS - 1 && ids[i + 1] >= HD_SHIFT_ID &&
                ids[i + 1] < HD_VELOCITY_ID)
                continue; /* a long time is one, in several shifts */
            for (; !s && told < then; told += then - told < HD_SHIFTS ? then - told : HD_SHIFTS)
                s = hd_ids_add(
                    out, HD_SHIFT_ID - 1 + (int32_t)(then - told < HD_SHIFTS ? then - told : HD_SHIFTS), err);
            continue;
        }
        s = hd_ids_add(out, hd_music_pitch(kind, ids[i], &pitch) ? ids[i] + v.semitones : ids[i], err);
    }
    return s;
}
