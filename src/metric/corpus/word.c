/* Words of one segment and a hash table over those of its hypothesis. */
#include "metric/corpus/word.h"

#include <string.h>

#include "base/mem.h"

struct hd_word_entry {
    hd_word word;  /* at is NULL in an empty slot */
    uint32_t hash; /* compared first: the words themselves lie elsewhere */
    uint32_t number;
};

void hd_word_list_release(hd_word_list *l)
{
    hd_mem_free(l->word);
    hd_mem_free(l->number);
    *l = (hd_word_list){0};
}

hd_status hd_word_add(hd_word_list *l, const uint32_t *at, size_t count, hd_err *err)
{
    hd_status s = hd_mem_reserve(&l->word, &l->room, l->count + 1, sizeof *l->word, err);
    if (!s) l->word[l->count++] = (hd_word){at, count};
    return s;
}

hd_status hd_word_split(hd_word_list *l, const hd_runes *text, hd_err *err)
{
    l->count = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < text->count;) {
        if (hd_rune_is_space(text->at[i])) {
            i++;
            continue;
        }
        size_t begin = i;
        while (i < text->count && !hd_rune_is_space(text->at[i])) i++;
        s = hd_word_add(l, text->at + begin, i - begin, err);
    }
    return s;
}

void hd_word_book_release(hd_word_book *b)
{
    hd_mem_free(b->slot);
    *b = (hd_word_book){0};
}

static uint32_t hash_of(hd_word w)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ w.count;
    for (size_t i = 0; i < w.count; i++) {
        h = (h ^ w.at[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

/* The slot of the word, or the empty one where it belongs. */
static struct hd_word_entry *slot_of(const hd_word_book *b, hd_word w, uint32_t hash)
{
    for (size_t i = hash;; i++) {
        struct hd_word_entry *e = &b->slot[i & (b->slots - 1)];
        if (!e->word.at) return e;
        if (e->hash == hash && e->word.count == w.count && !memcmp(e->word.at, w.at, w.count * sizeof *w.at))
            return e;
    }
}

static hd_status make_numbers(hd_word_list *l, hd_err *err)
{
    return hd_mem_reserve(&l->number, &l->number_room, l->count + 1, sizeof *l->number, err);
}

hd_status hd_word_number(hd_word_book *b, hd_word_list *hyp, hd_err *err)
{
    size_t slots = 16;
    while (slots < 2 * hyp->count) slots *= 2;
    hd_status s = hd_mem_reserve(&b->slot, &b->room, slots, sizeof *b->slot, err);
    if (s) return s;
    memset(b->slot, 0, slots * sizeof *b->slot);
    b->slots = slots;
    s = make_numbers(hyp, err);
    uint32_t known = 0;
    for (size_t i = 0; !s && i < hyp->count; i++) {
        uint32_t hash = hash_of(hyp->word[i]);
        struct hd_word_entry *e = slot_of(b, hyp->word[i], hash);
        if (!e->word.at) *e = (struct hd_word_entry){hyp->word[i], hash, known++};
        hyp->number[i] = e->number;
    }
    return s;
}

hd_status hd_word_find(const hd_word_book *b, hd_word_list *ref, hd_err *err)
{
    hd_status s = make_numbers(ref, err);
    for (size_t i = 0; !s && i < ref->count; i++) {
        const struct hd_word_entry *e = slot_of(b, ref->word[i], hash_of(ref->word[i]));
        ref->number[i] = e->word.at ? e->number : HD_NO_SYMBOL;
    }
    return s;
}
