/* Sets of pieces. */
#include "data/music/set.h"

#include <stdio.h>
#include <string.h>

#include "base/file/packed.h"
#include "base/json.h"
#include "base/mem.h"
#include "data/music/chorale.h"
#include "data/music/performance.h"

enum { MOST_JSON = 1 << 28, BEGINNING = 4096 /* bytes that tell what a file is */ };

void hd_music_set_release(hd_music_set *set)
{
    hd_ids_release(&set->ids);
    hd_mem_free(set->begin);
    *set = (hd_music_set){0};
}

const int32_t *hd_music_set_piece(const hd_music_set *set, size_t i, size_t *count)
{
    *count = (i + 1 < set->pieces ? set->begin[i + 1] : set->ids.count) - set->begin[i];
    return set->ids.at + set->begin[i];
}

/* A new piece begins. */
static hd_status begin_piece(hd_music_set *set, hd_err *err)
{
    hd_status s = set->ids.count ? HD_OK : hd_ids_add(&set->ids, HD_END_ID, err);
    if (!s) s = hd_mem_reserve(&set->begin, &set->room, set->pieces + 1, sizeof *set->begin, err);
    if (!s) set->begin[set->pieces++] = set->ids.count;
    return s;
}

/* -- JSON -- */

static hd_status add_step(hd_music_set *set, const json_t *step, const char *where, size_t at, hd_err *err)
{
    hd_status s = json_array_size(step) == HD_VOICES
                      ? HD_OK
                      : hd_err_set(err, HD_EFORMAT, "%s: step %zu is not a list of four pitches", where, at);
    for (size_t v = 0; !s && v < HD_VOICES; v++) {
        const json_t *x = json_array_get(step, v);
        json_int_t pitch = json_is_integer(x) ? json_integer_value(x) : -2;
        s = pitch >= -1 && pitch < HD_PITCHES
                ? hd_ids_add(&set->ids, pitch < 0 ? HD_REST_ID : HD_PITCH_ID + (int32_t)pitch, err)
                : hd_err_set(err, HD_EFORMAT,
                             "%s: step %zu: a pitch is a whole number from -1 (a rest) to 127", where, at);
    }
    return s;
}

static hd_status add_list(hd_music_set *set, const json_t *list, const char *path, const char *part,
                          hd_err *err)
{
    char where[HD_PATH + 64];
    hd_status s = HD_OK;
    if (!json_is_array(list))
        return hd_err_set(err, HD_EFORMAT, "%s: \"%s\" is not a list of pieces", path, part);
    if (!json_array_size(list)) return hd_err_set(err, HD_EFORMAT, "%s: %s: there is no piece", path, part);
    for (size_t i = 0; !s && i < json_array_size(list); i++) {
        const json_t *piece = json_array_get(list, i);
        snprintf(where, sizeof where, "%s: %s: piece %zu", path, part, i);
        s = json_array_size(piece) ? begin_piece(set, err)
                                   : hd_err_set(err, HD_EFORMAT, "%s is not a list of steps", where);
        for (size_t t = 0; !s && t < json_array_size(piece); t++)
            s = add_step(set, json_array_get(piece, t), where, t, err);
        if (!s) s = hd_ids_add(&set->ids, HD_END_ID, err);
    }
    return s;
}

/* The tree lies in the arena. */
static hd_status read_json(json_t **out, hd_arena *arena, const char *path, hd_err *err)
{
    uint8_t *text = NULL;
    size_t size = 0;
    bool whole = false;
    hd_arena_init(arena, hd_allocator_host, 0);
    hd_status s = hd_packed_read(&text, &size, &whole, path, MOST_JSON, err);
    if (!s && !whole) s = hd_err_set(err, HD_EFORMAT, "%s: too large: more than %d bytes", path, MOST_JSON);
    if (!s) s = hd_json_parse(out, arena, text, size, path, err);
    hd_mem_free(text);
    return s;
}

static hd_status add_json(hd_music_set *set, const char *path, const char *part, hd_err *err)
{
    hd_arena arena;
    json_t *root = NULL;
    hd_status s = read_json(&root, &arena, path, err);
    if (!s && set->kind != HD_MUSIC_CHORALE)
        s = hd_err_set(err, HD_EARG, "%s: JSON holds chorales, not %ss", path, hd_music_names[set->kind]);
    if (!s && json_is_object(root) && !part)
        s = hd_err_set(err, HD_EARG, "%s: the file has parts: name one of them", path);
    if (!s && json_is_object(root) && !json_object_get(root, part))
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no \"%s\" in it", path, part);
    if (!s)
        s = add_list(set, json_is_object(root) ? json_object_get(root, part) : root, path,
                     json_is_object(root) ? part : "the list", err);
    hd_arena_release(&arena);
    return s;
}

hd_status hd_music_has_part(bool *out, const char *path, const char *part, hd_err *err)
{
    hd_arena arena;
    json_t *root = NULL;
    hd_status s = read_json(&root, &arena, path, err);
    *out = !s && json_array_size(json_object_get(root, part));
    hd_arena_release(&arena);
    return s;
}

/* -- files -- */

static hd_status add_midi(hd_music_set *set, const char *path, hd_err *err)
{
    hd_midi m = {0};
    hd_status s = hd_midi_read(&m, path, err);
    if (!s) s = begin_piece(set, err);
    if (!s)
        s = (set->kind == HD_MUSIC_CHORALE ? hd_chorale_tokens : hd_performance_tokens)(&set->ids, &m, path,
                                                                                        err);
    if (!s) s = hd_ids_add(&set->ids, HD_END_ID, err);
    hd_midi_release(&m);
    return s;
}

/* The first byte that is not a blank tells which it is. */
hd_status hd_music_file_kind(hd_music *out, const char *path, hd_err *err)
{
    uint8_t *text = NULL;
    size_t size = 0, at = 0;
    bool whole;
    hd_status s = hd_packed_read(&text, &size, &whole, path, BEGINNING, err);
    if (s) return s;
    while (at < size && memchr(" \t\r\n", text[at], 4)) at++;
    bool midi = size >= 4 && !memcmp(text, "MThd", 4);
    bool json = at < size && (text[at] == '{' || text[at] == '[');
    hd_mem_free(text);
    *out = midi ? HD_MUSIC_PERFORMANCE : HD_MUSIC_CHORALE;
    return midi || json
               ? HD_OK
               : hd_err_set(err, HD_EFORMAT, "%s: this is neither a MIDI file nor chorales in JSON", path);
}

hd_status hd_music_set_add(hd_music_set *set, const char *path, const char *part, hd_err *err)
{
    hd_music kind = HD_MUSIC_NONE;
    hd_status s = hd_music_file_kind(&kind, path, err);
    if (s) return s;
    return kind == HD_MUSIC_CHORALE ? add_json(set, path, part, err) : add_midi(set, path, err);
}

hd_status hd_music_set_add_files(hd_music_set *set, const hd_files *files, const char *part, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < files->count; i++) s = hd_music_set_add(set, files->at[i], part, err);
    return s;
}

hd_status hd_music_set_split(hd_music_set *set, double fraction, hd_music_set *tail, hd_err *err)
{
    hd_music_set x = {.kind = set->kind};
    hd_status s = HD_OK;
    if (set->pieces < 2)
        return hd_err_set(err, HD_EARG, "one piece of music cannot be parted: give others to validate with");
    size_t kept = (size_t)((1 - fraction) * (double)set->pieces + 0.5);
    kept = kept < 1 ? 1 : kept >= set->pieces ? set->pieces - 1 : kept;
    for (size_t i = kept, count; !s && i < set->pieces; i++) {
        const int32_t *ids = hd_music_set_piece(set, i, &count);
        s = begin_piece(&x, err);
        for (size_t k = 0; !s && k < count; k++) s = hd_ids_add(&x.ids, ids[k], err);
    }
    if (s) return hd_music_set_release(&x), s;
    set->ids.count = set->begin[kept], set->pieces = kept;
    *tail = x;
    return HD_OK;
}

hd_status hd_music_save(hd_music kind, const int32_t *ids, size_t count, const char *path, hd_err *err)
{
    hd_midi m = {0};
    bool chorale = kind == HD_MUSIC_CHORALE;
    while (count && *ids == HD_END_ID) ids++, count--;
    while (count && ids[count - 1] == HD_END_ID) count--;
    hd_status s = (chorale ? hd_chorale_notes : hd_performance_notes)(&m, ids, count, err);
    if (!s) s = hd_midi_save(&m, chorale ? &hd_chorale_score : &hd_performance_score, path, err);
    hd_midi_release(&m);
    return s;
}
