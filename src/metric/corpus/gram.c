/* Shared n-grams. An n-gram is the (n-1)-gram at the same place and one more symbol, so a pair of numbers
   names it exactly, without comparing texts, and the table need only know the n-grams of one order. What the
   hypothesis does not have cannot match, nor can anything longer that begins with it. */
#include "metric/corpus/gram.h"

#include <string.h>

#include "base/mem.h"
#include "metric/corpus/word.h"

struct hd_gram_count {
    uint32_t hyp;       /* in the hypothesis */
    uint32_t ref, most; /* in this reference so far; in the reference that has most */
};

struct hd_gram_slot {
    uint64_t pair;
    uint32_t number; /* plus 1; 0: empty */
};

void hd_gram_release(hd_gram *g)
{
    hd_mem_free(g->before);
    hd_mem_free(g->count);
    hd_mem_free(g->slot);
    *g = (hd_gram){0};
}

hd_status hd_gram_begin(hd_gram *g, hd_gram_text hyp, const hd_gram_text *ref, int refs, hd_err *err)
{
    size_t symbols = hyp.count, slots = 16;
    for (int r = 0; r < refs; r++) symbols += ref[r].count;
    while (slots < 2 * hyp.count) slots *= 2;
    hd_status s = hd_mem_reserve(&g->before, &g->before_room, symbols + 1, sizeof *g->before, err);
    if (!s) s = hd_mem_reserve(&g->count, &g->count_room, hyp.count + 1, sizeof *g->count, err);
    if (!s) s = hd_mem_reserve(&g->slot, &g->slot_room, slots, sizeof *g->slot, err);
    if (s) return s;
    memset(g->before, 0, symbols * sizeof *g->before);
    g->hyp = hyp;
    g->ref = ref;
    g->refs = refs;
    g->slots = slots;
    g->order = 0;
    return HD_OK;
}

static struct hd_gram_slot *slot_of(const hd_gram *g, uint64_t pair)
{
    uint64_t h = pair * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(h ^ h >> 32);; i++) {
        struct hd_gram_slot *s = &g->slot[i & (g->slots - 1)];
        if (!s->number || s->pair == pair) return s;
    }
}

/* Numbers the n-grams of the hypothesis and counts them; returns how many differ. */
static uint32_t count_hyp(hd_gram *g)
{
    uint32_t known = 0;
    memset(g->slot, 0, g->slots * sizeof *g->slot);
    for (size_t i = 0; i < hd_gram_total(g->hyp.count, g->order); i++) {
        uint64_t pair = (uint64_t)g->before[i] << 32 | g->hyp.symbol[i + g->order - 1];
        struct hd_gram_slot *s = slot_of(g, pair);
        if (!s->number) {
            g->count[known] = (struct hd_gram_count){0};
            *s = (struct hd_gram_slot){pair, ++known};
        }
        g->before[i] = s->number - 1;
        g->count[s->number - 1].hyp++;
    }
    return known;
}

/* Counts those of one reference; *match grows by the matches with it, *more by those no reference before had.
 */
static void count_ref(hd_gram *g, hd_gram_text ref, uint32_t *before, size_t *match, size_t *more)
{
    for (size_t i = 0; i < hd_gram_total(ref.count, g->order); i++) {
        uint32_t symbol = ref.symbol[i + g->order - 1];
        if (before[i] == HD_NO_SYMBOL) continue;
        const struct hd_gram_slot *s =
            symbol == HD_NO_SYMBOL ? NULL : slot_of(g, (uint64_t)before[i] << 32 | symbol);
        if (!s || !s->number) {
            before[i] = HD_NO_SYMBOL;
            continue;
        }
        before[i] = s->number - 1;
        struct hd_gram_count *c = &g->count[s->number - 1];
        bool matches = ++c->ref <= c->hyp;
        *match += matches;
        if (c->ref > c->most) {
            c->most = c->ref;
            *more += matches;
        }
    }
}

size_t hd_gram_next(hd_gram *g, size_t *match)
{
    g->order++;
    uint32_t known = count_hyp(g), *before = g->before + g->hyp.count;
    size_t best = 0;
    for (int r = 0; r < g->refs; r++) {
        match[r] = 0;
        for (uint32_t i = 0; r && i < known; i++) g->count[i].ref = 0;
        count_ref(g, g->ref[r], before, &match[r], &best);
        before += g->ref[r].count;
    }
    return best;
}
