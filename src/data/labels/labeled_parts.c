/* Which of the items with labels are the same, and which are held back. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/labels/labeled.h"

/* The units of an item, each ended by a newline (no unit has one), and with `labels` their numbers. */
static void key_of(hd_text *to, const hd_labeled *x, size_t item, bool labels)
{
    to->size = 0;
    for (size_t u = x->begin[item]; u < x->begin[item + 1]; u++) {
        hd_line text = hd_labeled_unit(x, u);
        hd_text_add(to, text.text, text.size);
        hd_text_put(to, "\n");
    }
    for (size_t k = x->first[item]; labels && k < x->first[item + 1]; k++)
        hd_text_print(to, x->label[k] < 0 ? "%d %.17g " : "%d ", (int)x->label[k], x->value[k]);
}

/* Appends the items that are marked so. */
static hd_status copy(hd_labeled *to, const hd_labeled *x, const bool *mark, bool value, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < x->count; i++) {
        if (mark[i] != value) continue;
        for (size_t u = x->begin[i]; !s && u < x->begin[i + 1]; u++)
            s = hd_labeled_add(to, hd_labeled_unit(x, u), err);
        for (size_t k = x->first[i]; !s && k < x->first[i + 1]; k++)
            s = hd_labeled_mark(to, x->label[k], x->value[k], err);
        if (!s) s = hd_labeled_end(to, err);
    }
    return s;
}

/* The marked ones go to out, where there is one, and x keeps the others. */
static hd_status part(hd_labeled *x, const bool *mark, hd_labeled *out, hd_err *err)
{
    hd_labeled kept = {0}, gone = {0};
    hd_status s = copy(&kept, x, mark, false, err);
    if (!s && out) s = copy(&gone, x, mark, true, err);
    hd_labeled old = s ? kept : *x;
    if (s)
        hd_labeled_release(&gone);
    else
        *x = kept;
    hd_labeled_release(&old);
    if (!s && out) *out = gone;
    return s;
}

hd_status hd_labeled_distinct(hd_labeled *x, size_t *dropped, hd_err *err)
{
    hd_vocab seen = {0};
    hd_text key = {0};
    bool *again = hd_mem_array(x->count + 1, sizeof *again);
    hd_status s = again ? HD_OK : hd_err_nomem(err, x->count);
    *dropped = 0;
    for (size_t i = 0; !s && i < x->count; i++) {
        size_t before = seen.count;
        key_of(&key, x, i, true);
        s = hd_text_status(&key, err);
        if (!s) s = hd_vocab_add(&seen, key.data, key.size, err);
        again[i] = seen.count == before;
        *dropped += again[i];
    }
    if (!s && *dropped) s = part(x, again, NULL, err);
    hd_mem_free(again);
    hd_text_release(&key);
    hd_vocab_release(&seen);
    return s;
}

typedef struct place {
    uint64_t hash;
    int32_t id;
} place;

/* FNV-1a from the seed on; the last steps (splitmix64) spread the bits. */
static uint64_t hash_of(const char *text, uint64_t seed)
{
    uint64_t h = 0xcbf29ce484222325u ^ seed * 0x9e3779b97f4a7c15u;
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static int by_hash(const void *left, const void *right, void *context)
{
    const place *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return strcmp(hd_vocab_piece(context, a->id), hd_vocab_piece(context, b->id));
}

/* Marks the texts that move: those whose hashes come first. */
static hd_status choose(bool *moves, hd_vocab *texts, double fraction, uint64_t seed, hd_err *err)
{
    size_t n = texts->count, take = (size_t)((double)n * fraction + 0.5);
    place *p = hd_mem_array(n, sizeof *p);
    if (!p) return hd_err_nomem(err, n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = (place){hash_of(hd_vocab_piece(texts, (int32_t)i), seed), (int32_t)i};
    qsort_r(p, n, sizeof *p, by_hash, texts);
    take = take < 1 ? 1 : take >= n ? n - 1 : take;
    for (size_t i = 0; i < take; i++) moves[p[i].id] = true;
    hd_mem_free(p);
    return HD_OK;
}

hd_status hd_labeled_split(hd_labeled *x, double fraction, uint64_t seed, hd_labeled *out, hd_err *err)
{
    hd_vocab texts = {0};
    hd_text key = {0};
    int32_t *id = hd_mem_array(x->count + 1, sizeof *id);
    bool *moves = hd_mem_array(2 * x->count + 1, sizeof *moves);
    hd_status s = id && moves ? HD_OK : hd_err_nomem(err, x->count * sizeof *id);
    for (size_t i = 0; !s && i < x->count; i++) {
        key_of(&key, x, i, false);
        s = hd_text_status(&key, err);
        if (!s) s = hd_vocab_add(&texts, key.data, key.size, err);
        if (!s) id[i] = hd_vocab_find(&texts, key.data, key.size);
    }
    if (!s && texts.count < 2)
        s = hd_err_set(err, HD_EARG,
                       "there is one item alone, of which no part can be held back: give --valid a file");
    if (!s) s = choose(moves, &texts, fraction, seed, err);
    bool *mark = moves ? moves + x->count : NULL;
    for (size_t i = 0; !s && i < x->count; i++) mark[i] = moves[id[i]];
    if (!s) s = part(x, mark, out, err);
    hd_mem_free(id);
    hd_mem_free(moves);
    hd_text_release(&key);
    hd_vocab_release(&texts);
    return s;
}
