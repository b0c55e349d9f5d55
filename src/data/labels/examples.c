/* Items with labels in ids. Easy to get wrong: a token that the tokenizer cuts in several pieces, or finds
   nothing in, still has one label. */
#include "data/labels/examples.h"

#include <string.h>

#include "base/mem.h"

void hd_examples_release(hd_examples *x)
{
    hd_mem_free(x->id);
    hd_mem_free(x->begin);
    hd_mem_free(x->label);
    hd_mem_free(x->value);
    hd_mem_free(x->second);
    hd_mem_free(x->row);
    hd_mem_free(x->first);
    *x = (hd_examples){0};
}

/* -- an item -- */

/* Of two texts the longer one is cut first. */
static void fit(size_t size[2], size_t most)
{
    for (; size[0] + size[1] > most; size[size[1] > size[0]]--) continue;
}

hd_status hd_item_pieces(const hd_tokenizer *t, const hd_line text[2], bool pair, const hd_examples_opt *opt,
                         hd_pieces *out, bool *cut, hd_err *err)
{
    const hd_special special = hd_tokenizer_special(t);
    hd_pieces of[2] = {{0}, {0}};
    size_t size[2] = {0}, ends[2] = {1, 1};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 1 + pair; i++) {
        s = hd_tokenizer_encode(t, text[i].text, text[i].size, &of[i], err);
        size[i] = of[i].count;
    }
    if (pair)
        ends[0] = hd_tokenizer_between(t) < opt->longest - 2 ? hd_tokenizer_between(t) : opt->longest - 2;
    fit(size, opt->longest - (pair ? 2 + ends[0] : opt->bare ? 0 : 2));
    *cut = size[0] + size[1] < of[0].count + of[1].count;
    if (opt->bare && !pair && size[0]) ends[0] = 0;
    if (!s && !opt->bare && special.start >= 0) s = hd_pieces_add_around(out, special.start, 0, err);
    for (int i = 0; i < 1 + pair; i++) {
        for (size_t k = 0; !s && k < size[i]; k++) {
            of[i].at[k].type = (int8_t)i;
            if (!hd_pieces_add(out, of[i].at[k])) s = hd_err_nomem(err, sizeof *out->at);
        }
        for (size_t k = 0; !s && k < ends[i]; k++) s = hd_pieces_add_around(out, special.end, i, err);
    }
    hd_pieces_release(&of[0]), hd_pieces_release(&of[1]);
    return s;
}

/* -- all of them -- */

typedef struct maker {
    hd_examples *x;
    const hd_labeled *from;
    const hd_tokenizer *tokenizer;
    const hd_examples_opt *opt;
    hd_ids ids;
    hd_pieces pieces; /* of an item */
    size_t places;    /* of begin, first and second */
} maker;

/* Examples begin where the last one ended. */
static hd_status begin_example(maker *m, hd_err *err)
{
    hd_examples *x = m->x;
    if (x->count + 2 > m->places) {
        size_t places = m->places ? 2 * m->places : m->from->count + 2;
        size_t *begin = hd_mem_grow(x->begin, places * sizeof *begin);
        if (begin) x->begin = begin;
        size_t *first = begin ? hd_mem_grow(x->first, places * sizeof *first) : NULL;
        if (first) x->first = first;
        size_t *second = first ? hd_mem_grow(x->second, places * sizeof *second) : NULL;
        if (!second) return hd_err_nomem(err, places * sizeof *second);
        x->second = second;
        m->places = places;
    }
    x->begin[x->count] = m->ids.count;
    x->second[x->count] = SIZE_MAX;
    x->first[x->count] = x->labels;
    x->count++;
    return HD_OK;
}

static hd_status put_id(maker *m, int32_t id, hd_err *err)
{
    hd_status s = hd_ids_reserve(&m->ids, 1, err);
    if (!s) m->ids.at[m->ids.count++] = id;
    return s;
}

static void put_label(maker *m, size_t label, size_t row)
{
    hd_examples *x = m->x;
    x->label[x->labels] = m->from->label[label];
    x->value[x->labels] = m->from->value[label];
    x->row[x->labels++] = (int32_t)row;
}

/* The pieces of a unit, `most` of them at the most; *whole says whether those are all. */
static hd_status put_pieces(maker *m, size_t unit, size_t most, bool *whole, hd_err *err)
{
    hd_line text = hd_labeled_unit(m->from, unit);
    size_t before = m->ids.count;
    hd_status s = hd_tokenizer_encode_ids(m->tokenizer, text.text, text.size, &m->ids, err);
    *whole = m->ids.count - before <= most;
    if (!*whole) m->ids.count = before + most;
    return s;
}

static hd_status put_text(maker *m, size_t item, hd_err *err)
{
    size_t unit = m->from->begin[item], texts = m->from->begin[item + 1] - unit;
    hd_line text[2] = {hd_labeled_unit(m->from, unit)};
    if (texts == 2) text[1] = hd_labeled_unit(m->from, unit + 1);
    bool cut = false;
    hd_status s = begin_example(m, err);
    m->pieces.count = 0;
    if (!s) s = hd_item_pieces(m->tokenizer, text, texts == 2, m->opt, &m->pieces, &cut, err);
    if (!s) s = hd_ids_add_pieces(&m->ids, &m->pieces, err);
    if (s) return s;
    size_t second = 0;
    while (second < m->pieces.count && !m->pieces.at[second].type) second++;
    if (texts == 2) m->x->second[m->x->count - 1] = second;
    for (size_t k = m->from->first[item]; k < m->from->first[item + 1]; k++) put_label(m, k, 0);
    m->x->cut += cut;
    return HD_OK;
}

static hd_status put_sentence(maker *m, size_t item, hd_err *err)
{
    bool whole = true, cut = false;
    if (m->from->begin[item] == m->from->begin[item + 1]) return HD_OK; /* there is nothing to ask */
    hd_status s = begin_example(m, err);
    for (size_t u = m->from->begin[item]; !s && u < m->from->begin[item + 1]; u++) {
        size_t at = m->ids.count, begin = m->x->begin[m->x->count - 1];
        s = put_pieces(m, u, m->opt->longest, &whole, err);
        if (!s && m->ids.count == at) s = put_id(m, hd_tokenizer_special(m->tokenizer).unk, err);
        if (!s && m->ids.count - begin > m->opt->longest) {
            size_t end = m->ids.count;
            m->ids.count = at;
            s = begin_example(m, err);
            m->ids.count = end;
            begin = at, cut = true;
        }
        if (!s) put_label(m, m->from->first[item] + u - m->from->begin[item], at - begin);
        cut = cut || !whole;
    }
    m->x->cut += cut;
    return s;
}

static uint64_t hash_of(const hd_examples *x, bool each)
{
    uint64_t h = 0xcbf29ce484222325u ^ x->rows;
    for (size_t i = 0; i < x->rows; i++) h = (h ^ (uint32_t)x->id[i]) * 0x100000001b3u, h ^= h >> 29;
    for (size_t i = 0; i < x->labels; i++) h = (h ^ (uint32_t)x->label[i]) * 0x100000001b3u, h ^= h >> 29;
    for (size_t i = 0; i <= x->count; i++) h = (h ^ x->begin[i]) * 0x100000001b3u, h ^= h >> 29;
    for (size_t i = 0; !each && i < x->count; i++) { /* one label of an item is understood */
        size_t n = x->first[i + 1] - x->first[i];
        if (n != 1) h = (h ^ n ^ i << 20) * 0x100000001b3u, h ^= h >> 29;
    }
    for (size_t i = 0; i < x->labels && x->label[i] < 0; i++) {
        uint64_t bits;
        memcpy(&bits, &x->value[i], sizeof bits);
        h = (h ^ bits) * 0x100000001b3u, h ^= h >> 29;
    }
    return h;
}

hd_status hd_examples_make(hd_examples *out, const hd_labeled *from, const hd_tokenizer *t,
                           const hd_examples_opt *opt, hd_err *err)
{
    hd_examples x = {.label = hd_mem_array(from->labels + 1, sizeof *x.label),
                     .value = hd_mem_array(from->labels + 1, sizeof *x.value),
                     .row = hd_mem_array(from->labels + 1, sizeof *x.row)};
    maker m = {.x = &x, .from = from, .tokenizer = t, .opt = opt};
    hd_status s = x.label && x.value && x.row ? HD_OK : hd_err_nomem(err, from->labels * sizeof *x.label);
    for (size_t i = 0; !s && i < from->count; i++)
        s = opt->each ? put_sentence(&m, i, err) : put_text(&m, i, err);
    if (!s) s = begin_example(&m, err); /* that is where the last one ends */
    x.id = m.ids.at, x.rows = m.ids.count;
    hd_pieces_release(&m.pieces);
    if (s) return hd_examples_release(&x), s;
    x.count--;
    for (size_t i = 0; i < x.count; i++)
        if (x.second[i] == SIZE_MAX) x.second[i] = x.begin[i + 1] - x.begin[i];
    x.plain = opt->each && x.labels == x.rows;
    x.hash = hash_of(&x, opt->each);
    *out = x;
    return HD_OK;
}
