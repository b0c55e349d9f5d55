/* Sentences of a corpus in memory. */
#include "data/sentences.h"

#include <string.h>

#include "base/mem.h"

void hd_sentences_release(hd_sentences *s)
{
    for (int i = 0; i < 2; i++) {
        hd_mem_free(s->side[i].bytes);
        hd_mem_free(s->side[i].end);
    }
    for (size_t i = 0; i < s->origins; i++)
        for (int side = 0; side < 2; side++) hd_mem_free(s->origin[i].name[side]);
    hd_mem_free(s->origin);
    hd_mem_free(s->line);
    *s = (hd_sentences){0};
}

void hd_sentences_clear(hd_sentences *s)
{
    s->count = s->side[0].used = s->side[1].used = 0;
}

hd_status hd_sentences_begin(hd_sentences *s, const char *const name[2], uint32_t lines_before, hd_err *err)
{
    hd_origin_files *origin = hd_mem_grow(s->origin, (s->origins + 1) * sizeof *origin);
    if (!origin) return hd_err_nomem(err, (s->origins + 1) * sizeof *origin);
    s->origin = origin;
    hd_origin_files *o = &origin[s->origins++];
    *o = (hd_origin_files){.first = lines_before};
    for (int i = 0; i < 2 && name[i]; i++)
        if (!(o->name[i] = hd_mem_text(name[i]))) return hd_err_nomem(err, strlen(name[i]));
    return HD_OK;
}

const char *hd_sentences_file(const hd_sentences *s, int side, uint32_t line, size_t *number)
{
    size_t i = s->origins;
    while (i > 1 && s->origin[i - 1].first >= line) i--;
    const hd_origin_files *o = &s->origin[i - 1];
    *number = line - o->first;
    return o->name[o->name[1] ? side : 0];
}

static hd_status grow_places(hd_sentences *s, hd_err *err)
{
    size_t places = s->places, need = s->count + 1;
    hd_status status = hd_mem_reserve(&s->line, &places, need, sizeof *s->line, err);
    for (int i = 0; !status && i < s->sides; i++) {
        places = s->places;
        status = hd_mem_reserve(&s->side[i].end, &places, need, sizeof *s->side[i].end, err);
    }
    if (!status) s->places = places;
    return status;
}

static hd_status add_text(hd_sentences *s, int side, hd_line text, hd_err *err)
{
    size_t used = s->side[side].used;
    hd_status status = hd_mem_reserve(&s->side[side].bytes, &s->side[side].room, used + text.size, 1, err);
    if (status) return status;
    if (text.size) memcpy(s->side[side].bytes + used, text.text, text.size);
    s->side[side].used = s->side[side].end[s->count] = used + text.size;
    return HD_OK;
}

hd_status hd_sentences_add(hd_sentences *s, const hd_line text[2], uint32_t line, hd_err *err)
{
    hd_status status = s->count == s->places ? grow_places(s, err) : HD_OK;
    for (int i = 0; !status && i < s->sides; i++) status = add_text(s, i, text[i], err);
    if (status) return status;
    s->line[s->count++] = line;
    return HD_OK;
}

static uint64_t hash_text(uint64_t h, hd_line text)
{
    for (size_t i = 0; i < text.size; i++) h = (h ^ (uint8_t)text.text[i]) * 0x100000001b3u; /* FNV-1a */
    return (h ^ 0x1ff) * 0x100000001b3u; /* no byte: "a" + "bc" is not "ab" + "c" */
}

/* In [0, 1). The last steps (splitmix64) spread the bits: FNV alone leaves the upper ones of short texts
 * alike. */
static double hash_of(const hd_sentences *s, size_t i)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int side = 0; side < s->sides; side++) h = hash_text(h, hd_sentence(s, side, i));
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return (double)((h ^ h >> 31) >> 11) * 0x1p-53;
}

/* The copies first, which may fail; then what cannot. */
static hd_status copy_chosen(hd_sentences *to, const hd_sentences *from, double fraction, hd_err *err)
{
    hd_status status = HD_OK;
    for (size_t i = 0; !status && i < from->origins; i++)
        status =
            hd_sentences_begin(to, (const char *const[2]){from->origin[i].name[0], from->origin[i].name[1]},
                               from->origin[i].first, err);
    for (size_t i = 0; !status && i < from->count; i++) {
        if (hash_of(from, i) >= fraction) continue;
        hd_line text[2] = {hd_sentence(from, 0, i),
                           from->sides == 2 ? hd_sentence(from, 1, i) : (hd_line){0}};
        status = hd_sentences_add(to, text, from->line[i], err);
    }
    return status;
}

/* Closes the gaps in place. A sentence never moves up, so `end` is read before it is written over. */
static void drop_copied(hd_sentences *s, const hd_sentences *copied)
{
    size_t count = s->count, begin[2] = {0}, dropped = 0;
    s->count = s->side[0].used = s->side[1].used = 0;
    for (size_t i = 0; i < count; i++) {
        bool drop = dropped < copied->count && copied->line[dropped] == s->line[i];
        for (int side = 0; side < s->sides; side++) {
            size_t from = begin[side], size = s->side[side].end[i] - from;
            begin[side] += size;
            if (drop) continue;
            memmove(s->side[side].bytes + s->side[side].used, s->side[side].bytes + from, size);
            s->side[side].end[s->count] = s->side[side].used += size;
        }
        dropped += drop;
        if (!drop) s->line[s->count++] = s->line[i];
    }
}

hd_status hd_sentences_split(hd_sentences *s, double fraction, hd_sentences *out, hd_err *err)
{
    hd_sentences chosen = {.sides = s->sides};
    hd_status status = copy_chosen(&chosen, s, fraction, err);
    if (status) {
        hd_sentences_release(&chosen);
        return status;
    }
    drop_copied(s, &chosen);
    *out = chosen;
    return HD_OK;
}

static bool next_sentence(void *context, hd_line *line)
{
    hd_sentence_walk *w = context;
    while (w->next == w->of->count) {
        if (w->side == w->last) return false;
        w->side++;
        w->next = 0;
    }
    *line = hd_sentence(w->of, w->side, w->next++);
    return true;
}

hd_feed hd_sentences_feed(const hd_sentences *s, int side, bool both, hd_sentence_walk *walk)
{
    *walk = (hd_sentence_walk){.of = s, .side = both ? 0 : side, .last = both ? s->sides - 1 : side};
    return (hd_feed){next_sentence, walk};
}
