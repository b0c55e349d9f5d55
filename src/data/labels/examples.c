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

hd_status hd_token_pieces(const hd_tokenizer *t, hd_line token, bool spaced, hd_pieces *out, hd_err *err)
{
    hd_text text = {0};
    size_t from = out->count;
    spaced = spaced && hd_tokenizer_kind_of(t) == HD_TOKENIZER_bpe;
    if (spaced) hd_text_put(&text, " ");
    hd_text_add(&text, token.text, token.size);
    const hd_piece unknown = {.id = hd_tokenizer_special(t).unk, .end = (uint32_t)text.size};
    hd_status s = hd_text_status(&text, err);
    if (!s) s = hd_tokenizer_encode(t, text.size ? text.data : "", text.size, out, err);
    if (!s && out->count == from && !hd_pieces_add(out, unknown)) s = hd_err_nomem(err, sizeof unknown);
    for (size_t i = from; !s && i < out->count; i++) {
        hd_piece *p = &out->at[i];
        p->begin -= spaced && p->begin, p->end -= spaced;
    }
    hd_text_release(&text);
    return s;
}

/* -- all of them -- */

typedef struct maker {
    hd_examples *x;
    const hd_labeled *from;
    const hd_tokenizer *tokenizer;
    const hd_examples_opt *opt;
    hd_ids ids;
    hd_pieces pieces; /* of an item, or of a token */
    size_t places;    /* of begin, first and second */
} maker;

/* Examples begin where the last one ended. */
static hd_status begin_example(maker *m, hd_err *err)
{
    hd_examples *x = m->x;
    size_t **lists[] = {&x->begin, &x->first, &x->second}, places = m->places;
    for (int i = 0; i < 3; i++) {
        m->places = places; /* of all three */
        hd_status s = hd_mem_reserve(lists[i], &m->places, x->count + 2, sizeof **lists[i], err);
        if (s) return s;
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

static hd_status begin_sentence(maker *m, hd_err *err)
{
    int32_t start = hd_tokenizer_special(m->tokenizer).start;
    hd_status s = begin_example(m, err);
    return s || m->opt->bare || start < 0 ? s : put_id(m, start, err);
}

static hd_status end_sentence(maker *m, hd_err *err)
{
    return m->opt->bare ? HD_OK : put_id(m, hd_tokenizer_special(m->tokenizer).end, err);
}

static hd_status put_sentence(maker *m, size_t item, hd_err *err)
{
    const hd_labeled *x = m->from;
    const size_t first = x->begin[item], ends = m->opt->bare ? 0 : 1, most = m->opt->longest - ends;
    bool cut = false;
    if (first == x->begin[item + 1]) return HD_OK; /* there is nothing to ask */
    hd_status s = begin_sentence(m, err);
    for (size_t u = first; !s && u < x->begin[item + 1]; u++) {
        hd_pieces *p = &m->pieces;
        p->count = 0;
        s = hd_token_pieces(m->tokenizer, hd_labeled_unit(x, u), ends && u > first, p, err);
        if (p->count > most - ends) p->count = most - ends, cut = true;
        if (!s && m->ids.count - m->x->begin[m->x->count - 1] + p->count > most) {
            s = end_sentence(m, err);
            if (!s) s = begin_sentence(m, err);
            cut = true;
        }
        if (s) break;
        put_label(m, x->first[item] + u - first, m->ids.count - m->x->begin[m->x->count - 1]);
        s = hd_ids_add_pieces(&m->ids, p, err);
    }
    m->x->cut += cut;
    return s ? s : end_sentence(m, err);
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

hd_status hd_examples_of_pictures(hd_examples *out, const hd_image_set *from, hd_err *err)
{
    size_t n = from->count;
    hd_examples x = {.count = n,
                     .labels = n,
                     .label = hd_mem_array(n + 1, sizeof *x.label),
                     .value = hd_mem_array(n + 1, sizeof *x.value),
                     .first = hd_mem_array(n + 1, sizeof *x.first),
                     .hash = from->hash};
    if (!x.label || !x.value || !x.first) {
        hd_examples_release(&x);
        return hd_err_nomem(err, n * sizeof *x.value);
    }
    for (size_t i = 0; i <= n; i++) x.first[i] = i;
    memcpy(x.label, from->label, n * sizeof *x.label);
    *out = x;
    return HD_OK;
}
