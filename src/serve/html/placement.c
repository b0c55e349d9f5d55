/* Tags around the words of a translation. An element is put around the run of words that stand for its own
   most: each word of it counts for a run, each other word in it against. The better run of two elements comes
   first, the other has what is left; elements in an element share its run. Whatever is at one place stands
   before the word that stands for the one behind it, or behind the one that stands for the one before it.

   Places are numbers: 2 i + 1 before word i, 2 i behind word i - 1, so that the white space between both is
   outside of elements. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/html/html.h"

typedef struct placed {
    size_t first, last; /* words of the passage that it is around: first .. last-1 */
    size_t from, to;    /* places; equal: it has no word */
} placed;

typedef struct ranked { /* a tag in a list that is sorted by the key */
    size_t key, tag;
} ranked;

typedef struct placing {
    const hd_html *html;
    const hd_html_passage *passage;
    const hd_html_tag *tag; /* [passage->tags] */
    placed *at;             /* the same */
    ranked *list;           /* the same: of the elements being written, one behind another */
    const hd_html_words *source, *target;
    const hd_html_links *links;
    size_t *owner; /* [target words] 1 + the tag that has it, of those of one element; 0: none */
    size_t loose;  /* place of the last tag without its other one */
    hd_line text;
    hd_text *to;
} placing;

typedef struct node { /* an element, or the passage */
    size_t tag, end;  /* the tags in it */
    placed at;
} node;

static size_t next_tag(const placing *p, size_t tag)
{
    return p->tag[tag].next - p->passage->first_tag;
}

static size_t first_word(const node *n)
{
    return n->at.from / 2;
}

static size_t end_word(const node *n)
{
    return n->at.to / 2;
}

static bool is_in(const node *n, size_t word)
{
    return word != HD_HTML_NONE && word >= first_word(n) && word < end_word(n);
}

static int by_key(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

/* -- elements -- */

/* Where the words that stand for those of an element may be. */
static bool reach_of(const placing *p, const node *n, const placed *e, size_t *low, size_t *high)
{
    const size_t beyond = 16;
    *low = SIZE_MAX, *high = 0;
    for (size_t s = e->first; s < e->last; s++) {
        size_t t = p->links->target[s];
        if (!is_in(n, t)) continue;
        if (t < *low) *low = t;
        if (t + 1 > *high) *high = t + 1;
    }
    if (*low == SIZE_MAX) return false;
    *low = *low > first_word(n) + beyond ? *low - beyond : first_word(n);
    *high = *high + beyond < end_word(n) ? *high + beyond : end_word(n);
    return true;
}

/* The best run of words that nobody has: what it counts, and the words. */
static size_t best_run(const placing *p, const node *n, const placed *e, hd_span *words)
{
    size_t best = 0, run = 0, begin = 0, low, high;
    if (!reach_of(p, n, e, &low, &high)) return 0;
    for (size_t t = low; t < high; t++) {
        size_t s = p->links->source[t];
        bool own = s != HD_HTML_NONE && s >= e->first && s < e->last;
        if (p->owner[t]) {
            run = 0;
        } else if (own) {
            if (!run) begin = t;
            if (++run > best) best = run, *words = (hd_span){begin, t + 1};
        } else if (run) {
            run--;
        }
    }
    return best;
}

/* A word that nobody has, for an element that no word stands for most. */
static bool spare_word(const placing *p, const node *n, const placed *e, hd_span *words)
{
    for (size_t s = e->first; s < e->last; s++) {
        size_t t = p->links->target[s];
        if (!is_in(n, t) || p->owner[t]) continue;
        *words = (hd_span){t, t + 1};
        return true;
    }
    return false;
}

/* Whether nobody has these words, which are few. */
static bool are_free(const placing *p, size_t from, size_t to)
{
    const size_t most = 64;
    if (from < to && to - from > most) return false;
    for (size_t t = from; t < to; t++)
        if (p->owner[t]) return false;
    return true;
}

/* Makes the run of an element hold those of the elements in it. */
static void widen(const placing *p, const node *n, size_t tag, hd_span *words)
{
    for (size_t i = tag + 1; i < next_tag(p, tag); i++) {
        hd_span own;
        if (p->at[i].first == p->at[i].last || !best_run(p, n, &p->at[i], &own)) continue;
        if (!are_free(p, own.begin, words->begin) || !are_free(p, words->end, own.end)) continue;
        if (own.begin < words->begin) words->begin = own.begin;
        if (own.end > words->end) words->end = own.end;
    }
}

static void settle(placing *p, size_t tag, hd_span words)
{
    p->at[tag].from = 2 * words.begin + 1, p->at[tag].to = 2 * words.end;
    for (size_t t = words.begin; t < words.end; t++) p->owner[t] = tag + 1;
}

/* The elements in one, at list[0] .. list[count-1], the best first. */
static void settle_elements(placing *p, const node *n, ranked *list)
{
    size_t count = 0;
    for (size_t i = n->tag; i < n->end; i = next_tag(p, i)) {
        placed *e = &p->at[i];
        hd_span words;
        e->from = e->to = SIZE_MAX;
        if (e->first == e->last) continue;
        if (e->first == n->at.first && e->last == n->at.last && first_word(n) < end_word(n))
            settle(p, i, (hd_span){first_word(n), end_word(n)});
        else
            list[count++] = (ranked){SIZE_MAX - best_run(p, n, e, &words), i};
    }
    qsort(list, count, sizeof *list, by_key);
    for (size_t k = 0; k < count; k++) {
        const placed *e = &p->at[list[k].tag];
        hd_span words;
        if (!best_run(p, n, e, &words) && !spare_word(p, n, e, &words)) continue;
        widen(p, n, list[k].tag, &words);
        settle(p, list[k].tag, words);
    }
}

/* -- what is at one place -- */

/* By the words on both sides. */
static size_t place_between(const placing *p, const node *n, size_t word, const bool spaced[2])
{
    const bool left = !spaced[0] && spaced[1]; /* it belongs to the word before it */
    if (word <= n->at.first) return spaced[1] || !(n->at.from % 2 == 0) ? n->at.from : n->at.from + 1;
    if (word >= n->at.last) return spaced[0] || n->at.to % 2 == 0 ? n->at.to : n->at.to - 1;
    for (int side = 0; side < 2; side++) {
        const bool before = left == !side;
        size_t t = p->links->target[before ? word - 1 : word];
        if (is_in(n, t)) return before ? 2 * t + 2 : 2 * t + 1;
    }
    return n->at.to;
}

/* Not in the middle of an element beside it. */
static size_t step_aside(const placing *p, const node *n, size_t place)
{
    size_t word = place / 2;
    if (word <= first_word(n) || word >= end_word(n)) return place;
    size_t owner = p->owner[word];
    if (!owner || p->owner[word - 1] != owner) return place;
    const placed *e = &p->at[owner - 1];
    return place - e->from < e->to - place ? e->from : e->to;
}

static void settle_points(placing *p, const node *n)
{
    for (size_t i = n->tag; i < n->end; i = next_tag(p, i)) {
        const hd_html_tag *t = &p->tag[i];
        placed *e = &p->at[i];
        if (e->from != SIZE_MAX) continue;
        size_t place = step_aside(p, n, place_between(p, n, e->first, t->spaced));
        if (place < n->at.from) place = n->at.from;
        if (place > n->at.to) place = n->at.to;
        if (t->loose && place < p->loose && p->loose <= n->at.to) place = p->loose;
        if (t->loose) p->loose = place;
        e->from = e->to = place;
    }
}

/* -- writing -- */

static size_t byte_at(const placing *p, size_t place)
{
    size_t word = place / 2;
    if (place % 2 == 0) return word ? p->target->at[word - 1].end : 0;
    return word < p->target->count ? p->target->at[word].begin : p->text.size;
}

static void put_bytes(const placing *p, hd_span at)
{
    hd_text_add(p->to, p->html->bytes.text + at.begin, at.end - at.begin);
}

static void put_text(const placing *p, size_t from, size_t to)
{
    size_t begin = byte_at(p, from), end = byte_at(p, to);
    if (from >= to) return;
    if (!from) put_bytes(p, p->passage->lead);
    hd_html_escape(p->to, p->text.text + begin, end - begin);
    if (to > 2 * p->target->count) put_bytes(p, p->passage->trail);
}

static void put_node(placing *p, const node *n, ranked *list);

static void put_tag(placing *p, size_t i, ranked *list)
{
    const hd_html_tag *t = &p->tag[i];
    const placed *e = &p->at[i];
    const bool alone = e->from == e->to, first = e->from == 0, last = e->to == 2 * p->target->count + 1;
    const bool apart = alone && t->begin == t->end && t->spaced[0] && t->spaced[1] && !first && !last;
    if (apart && e->from % 2 == 0) hd_text_put(p->to, " ");
    put_bytes(p, t->open);
    if (t->close.end > t->close.begin) {
        put_node(p, &(node){i + 1, next_tag(p, i), *e}, list);
        put_bytes(p, t->close);
    }
    if (apart && e->from % 2) hd_text_put(p->to, " ");
}

/* What is in an element, or in the passage. list: room for as many as there are tags in it. */
static void put_node(placing *p, const node *n, ranked *list)
{
    size_t count = 0, place = n->at.from;
    for (size_t t = first_word(n); t < end_word(n); t++) p->owner[t] = 0;
    settle_elements(p, n, list);
    settle_points(p, n);
    for (size_t i = n->tag; i < n->end; i = next_tag(p, i)) list[count++] = (ranked){p->at[i].from, i};
    qsort(list, count, sizeof *list, by_key);
    for (size_t k = 0; k < count; k++) {
        const placed e = p->at[list[k].tag];
        if (e.from > place) put_text(p, place, e.from), place = e.from;
        put_tag(p, list[k].tag, list + count);
        if (e.to > place) place = e.to;
    }
    put_text(p, place, n->at.to);
}

/* -- all of it -- */

/* The first word of the passage that begins at this byte or behind it. */
static size_t word_at(const hd_html_words *w, size_t byte)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->at[middle].begin < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

hd_status hd_html_place(hd_text *to, const hd_html *h, size_t passage, hd_line translation,
                        const hd_html_words *source, const hd_html_words *target, const hd_html_links *links,
                        hd_err *err)
{
    const hd_html_passage *of = &h->passage[passage];
    placing p = {.html = h,
                 .passage = of,
                 .tag = of->tags ? h->tag + of->first_tag : NULL,
                 .at = hd_mem_array(of->tags + 1, sizeof *p.at),
                 .list = hd_mem_array(of->tags + 1, sizeof *p.list),
                 .owner = hd_mem_array(target->count + 1, sizeof *p.owner),
                 .source = source,
                 .target = target,
                 .links = links,
                 .text = translation,
                 .to = to};
    const bool there = p.at && p.list && p.owner;
    for (size_t i = 0; there && i < of->tags; i++)
        p.at[i] = (placed){.first = word_at(source, p.tag[i].begin), .last = word_at(source, p.tag[i].end)};
    const node whole = {0, of->tags, {0, source->count, 0, 2 * target->count + 1}};
    if (there) put_node(&p, &whole, p.list);
    hd_mem_free(p.at);
    hd_mem_free(p.list);
    hd_mem_free(p.owner);
    return there ? hd_text_status(to, err) : hd_err_nomem(err, of->tags * sizeof *p.at);
}
