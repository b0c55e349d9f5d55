/* The occurrences of a word and their vectors. */
#include "show/words.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "text/character.h"

void hd_similar_init(hd_similar *s, const char *word)
{
    *s = (hd_similar){.word = word};
    hd_arena_init(&s->memory, hd_allocator_host, 1 << 14);
}

void hd_similar_release(hd_similar *s)
{
    hd_mem_free(s->at);
    hd_mem_free(s->vector);
    hd_arena_release(&s->memory);
    *s = (hd_similar){0};
}

double hd_similar_cosine(const hd_similar *s, size_t i, size_t k)
{
    const double *a = s->vector + i * s->width, *b = s->vector + k * s->width;
    double sum = 0;
    for (size_t c = 0; c < s->width; c++) sum += a[c] * b[c];
    return sum;
}

/* -- words of a text -- */

/* Whether two such adjacent characters belong to one word. Ideographs are written without spaces. */
static bool joins(int32_t point)
{
    bool ideograph = (point >= 0x2e80 && point <= 0x9fff) || (point >= 0xf900 && point <= 0xfaff) ||
                     (point >= 0x20000 && point <= 0x3ffff);
    return hd_is_word(point) && !ideograph;
}

/* Length in bytes of so many characters; 0 if the text has fewer. */
static size_t bytes_of(hd_line text, size_t characters)
{
    int32_t point;
    size_t at = 0;
    for (; characters && at < text.size; characters--)
        at += hd_character(text.text + at, text.size - at, &point);
    return characters ? 0 : at;
}

static size_t characters_of(hd_line text)
{
    int32_t point;
    size_t count = 0;
    for (size_t at = 0; at < text.size; count++) at += hd_character(text.text + at, text.size - at, &point);
    return count;
}

/* Whether a word may begin or end between the characters before and at `at`. */
static bool is_border(hd_line text, size_t at)
{
    int32_t before, here;
    size_t last = at;
    if (!at || at == text.size) return true;
    do last--;
    while (last && ((uint8_t)text.text[last] & 0xc0) == 0x80);
    hd_character(text.text + last, text.size - last, &before);
    hd_character(text.text + at, text.size - at, &here);
    return !joins(before) || !joins(here);
}

/* -- search -- */

typedef struct search {
    hd_similar *out;
    const hd_model_folder *by;
    hd_line word;
    size_t characters;
    hd_ids ids, other; /* of the word, of a candidate */
    hd_pieces pieces;  /* of a line */
} search;

/* Whether the bytes are the same, or the ids, none of them unknown. */
static hd_status is_word(search *s, hd_line found, bool *is, hd_err *err)
{
    int32_t unk = hd_tokenizer_special(s->by->tokenizer[0]).unk;
    *is = found.size == s->word.size && !memcmp(found.text, s->word.text, found.size);
    if (*is) return HD_OK;
    s->other.count = 0;
    hd_status st = hd_tokenizer_encode_ids(s->by->tokenizer[0], found.text, found.size, &s->other, err);
    if (st || !s->ids.count || s->other.count != s->ids.count) return st;
    *is = !memcmp(s->other.at, s->ids.at, s->ids.count * sizeof *s->ids.at);
    for (size_t i = 0; i < s->ids.count; i++) *is = *is && s->ids.at[i] != unk;
    return HD_OK;
}

static hd_status reserve(hd_similar *s, hd_err *err)
{
    if (s->count == HD_SIMILAR_MOST)
        return hd_err_set(err, HD_ELIMIT, "'%.64s' stands at more than %d places", s->word, HD_SIMILAR_MOST);
    hd_status st = hd_mem_reserve(&s->at, &s->room, s->count + 1, sizeof *s->at, err);
    size_t numbers = (s->count + 1) * s->width;
    return st ? st : hd_mem_reserve(&s->vector, &s->numbers, numbers, sizeof *s->vector, err);
}

/* The normalized sum of the rows whose pieces are in the place; false: they are not among the rows, since
   the model read the line differently. */
static bool read_vector(const search *s, double *to, const hd_place *p, const hd_embedded *e)
{
    size_t width = s->out->width, rows = 0;
    double length = 0;
    memset(to, 0, width * sizeof *to);
    for (size_t k = 0; k < s->pieces.count; k++) {
        const hd_piece *q = &s->pieces.at[k];
        size_t row = k + (s->by->start && !s->by->drops_start);
        bool empty = q->begin == q->end;
        if (q->begin >= p->end || (empty ? q->begin < p->begin : q->end <= p->begin)) continue;
        if (row >= e->tokens || e->ids[row] != q->id) return false;
        for (size_t c = 0; c < width; c++) to[c] += (double)e->vector[row * width + c];
        rows++;
    }
    for (size_t c = 0; c < width; c++) length += to[c] * to[c];
    for (size_t c = 0; c < width; c++) to[c] = length > 0 ? to[c] / sqrt(length) : 0;
    return rows;
}

/* Adds the places in one line; *found counts them, *seen those with rows. */
static hd_status add_places(search *s, hd_line line, hd_place place, const hd_embedded *e, size_t *found,
                            size_t *seen, hd_err *err)
{
    hd_status st = HD_OK;
    int32_t point;
    for (size_t at = 0, wide; !st && at < line.size; at += wide) {
        hd_line rest = {line.text + at, line.size - at};
        size_t size = bytes_of(rest, s->characters);
        bool is = false;
        wide = hd_character(rest.text, rest.size, &point);
        if (!size) break;
        if (!is_border(line, at) || !is_border(line, at + size)) continue;
        st = is_word(s, (hd_line){rest.text, size}, &is, err);
        if (st || !is) continue;
        ++*found, wide = size;
        place.begin = at, place.end = at + size;
        if ((st = reserve(s->out, err))) break;
        if (!read_vector(s, s->out->vector + s->out->count * s->out->width, &place, e)) continue;
        ++*seen;
        s->out->at[s->out->count++] = place;
    }
    return st;
}

static hd_status add_line(search *s, hd_line line, size_t number, const hd_embedded *e, const char **why,
                          hd_err *err)
{
    size_t found = 0, seen = 0;
    *why = e->status ? e->why : "the word is not in it";
    if (e->status || !e->tokens) return HD_OK;
    s->pieces.count = 0;
    hd_status st = hd_line_pieces(s->by->task->line, s->by->end, s->by->tokenizer[0], line, &s->pieces, err);
    const char *text = st ? NULL : hd_arena_copy(&s->out->memory, line.text, line.size, err);
    if (!text) return st ? st : HD_ENOMEM;
    st = add_places(s, line, (hd_place){.line = number, .text = text}, e, &found, &seen, err);
    if (found) *why = seen ? NULL : "the model does not read it where the word stands";
    return st;
}

hd_status hd_similar_add(hd_similar *out, hd_run *r, const hd_model_folder *m, const hd_line *line,
                         size_t count, size_t before, const hd_embed_opt *opt, const char **why, hd_err *err)
{
    search s = {.out = out, .by = m, .word = {out->word, strlen(out->word)}};
    hd_embed_opt each = *opt;
    hd_embeddings all = {0};
    each.pool = HD_POOLING_NONE, each.normalize = false;
    s.characters = characters_of(s.word);
    if (!s.characters || hd_utf8_good(s.word.text, s.word.size) < s.word.size)
        return hd_err_set(err, HD_EARG, "the word to look for is %s", s.characters ? "not UTF-8" : "empty");
    hd_status st = hd_embed_lines(&all, r, m, line, count, &each, err);
    out->width = all.width;
    if (!st) st = hd_tokenizer_encode_ids(m->tokenizer[0], s.word.text, s.word.size, &s.ids, err);
    for (size_t i = 0; !st && i < count; i++)
        st = add_line(&s, line[i], before + i + 1, &all.of[i], &why[i], err);
    hd_embeddings_release(&all);
    hd_ids_release(&s.ids);
    hd_ids_release(&s.other);
    hd_pieces_release(&s.pieces);
    return st;
}
