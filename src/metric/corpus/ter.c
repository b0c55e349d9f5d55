/* TER (Snover et al. 2006), as sacreBLEU follows Tercom: edits of words, where moving a block of words is one
   edit. The best shift is made again and again until none helps. Easy to get wrong: the number of shifts
   tried is limited over all rounds of a pair, and the round that reaches the limit does not count. */
#include <string.h>

#include "base/mem.h"
#include "metric/corpus/edit_distance.h"
#include "metric/metric.h"

enum { EDITS, LENGTH, STATS };
enum { LONGEST_SHIFT = 10, FARTHEST_SHIFT = 50, MOST_TRIES = 1000, MOST_WORDS = 1 << 16 };

struct ter {
    hd_bleu_words hyp, ref;
    hd_word_book book;
    hd_edit_distance edit;
    uint32_t *now, *tried; /* words of the hypothesis with the shifts made so far, and with one more */
    size_t now_room, tried_room;
};

static void release(void *state)
{
    struct ter *t = state;
    hd_bleu_words_release(&t->hyp);
    hd_bleu_words_release(&t->ref);
    hd_word_book_release(&t->book);
    hd_edit_distance_release(&t->edit);
    hd_mem_free(t->now);
    hd_mem_free(t->tried);
}

/* Words start..start+length-1 go before word `to`. */
struct shift {
    size_t start, length, to;
    int64_t gain; /* edits it saves */
};

static bool is_better(const struct shift *a, const struct shift *b)
{
    if (a->gain != b->gain) return a->gain > b->gain;
    if (a->length != b->length) return a->length > b->length;
    if (a->start != b->start) return a->start < b->start;
    return a->to < b->to;
}

/* Makes the shift from `from` to `words`. A target inside the block moves it on by so many words. */
static void apply(uint32_t *words, const uint32_t *from, size_t count, const struct shift *s)
{
    size_t end = s->start + s->length, first, last; /* words first..last-1 change places with the block */
    if (s->to < s->start) {
        first = s->to;
        last = s->start;
    } else {
        first = end;
        last = s->to > end ? s->to : s->length + s->to;
        if (last > count) last = count;
    }
    memcpy(words, from, count * sizeof *words);
    if (s->to < s->start) {
        memcpy(words + first, from + s->start, s->length * sizeof *words);
        memcpy(words + first + s->length, from + first, (last - first) * sizeof *words);
    } else {
        memcpy(words + s->start, from + first, (last - first) * sizeof *words);
        memcpy(words + s->start + (last - first), from + s->start, s->length * sizeof *words);
    }
}

/* Tries a block, found in both texts, at every place the reference has it; *best is the best so far. */
static void try_block(struct ter *t, size_t before, size_t start_h, size_t start_r, size_t length,
                      size_t *tries, struct shift *best)
{
    hd_edit_distance *e = &t->edit;
    size_t last = SIZE_MAX; /* the place tried before this one */
    for (size_t place = start_r; place <= start_r + length; place++) {
        size_t to = place ? (size_t)(e->align[place - 1] + 1) : 0;
        if (to == last) continue;
        last = to;
        struct shift s = {start_h, length, to, 0};
        apply(t->tried, t->now, e->hyps, &s);
        size_t after = hd_edit_distance_after(e, t->tried, to < start_h ? to : start_h);
        s.gain = (int64_t)before - (int64_t)after;
        if (is_better(&s, best)) *best = s;
        ++*tries;
    }
}

/* Are all of these words right where they are? */
static bool all_right(const uint32_t *errs, size_t start, size_t length)
{
    return errs[start + length] == errs[start];
}

/* One search for the best shift; its gain is INT64_MIN where there is none. */
static struct shift search(struct ter *t, size_t before, size_t *tries)
{
    hd_edit_distance *e = &t->edit;
    struct shift best = {.gain = INT64_MIN};
    for (size_t h = 0; before && h < e->hyps; h++) {
        if (all_right(e->hyp_errs, h, e->hyps - h)) break; /* nor is any block from here on wrong */
        size_t r = h > FARTHEST_SHIFT ? h - FARTHEST_SHIFT : 0;
        for (; r < e->refs && r <= h + FARTHEST_SHIFT; r++)
            for (size_t n = 1; n <= LONGEST_SHIFT && h + n <= e->hyps && r + n <= e->refs &&
                               t->now[h + n - 1] == e->ref[r + n - 1];
                 n++) {
                int64_t at = e->align[r];
                if (all_right(e->hyp_errs, h, n) || all_right(e->ref_errs, r, n) ||
                    (at >= (int64_t)h && at < (int64_t)(h + n)))
                    continue;
                try_block(t, before, h, r, n, tries, &best);
                if (*tries >= MOST_TRIES) return best;
            }
    }
    return best;
}

/* Edits between the hypothesis and one reference, both numbered. */
static hd_status count_edits(struct ter *t, size_t *edits, hd_err *err)
{
    const hd_word_list *hyp = &t->hyp.words, *ref = &t->ref.words;
    size_t shifts = 0, tries = 0, distance;
    *edits = hyp->count;
    if (!ref->count) return HD_OK;
    hd_status s = hd_edit_distance_begin(&t->edit, hyp->count, ref->number, ref->count, err);
    if (s) return s;
    memcpy(t->now, hyp->number, hyp->count * sizeof *t->now);
    for (;; shifts++) {
        distance = hd_edit_distance_align(&t->edit, t->now);
        struct shift best = search(t, distance, &tries);
        if (tries >= MOST_TRIES || best.gain <= 0) break;
        apply(t->tried, t->now, hyp->count, &best);
        memcpy(t->now, t->tried, hyp->count * sizeof *t->now);
    }
    *edits = shifts + distance;
    return HD_OK;
}

static hd_status read_words(hd_bleu_words *t, hd_line line, hd_err *err)
{
    hd_status s = hd_bleu_tokenize(t, HD_BLEU_TOKENIZER_none, true, line, err);
    if (!s && t->words.count > MOST_WORDS)
        s = hd_err_set(err, HD_ELIMIT, "%zu words, the most is %d", t->words.count, MOST_WORDS);
    return s;
}

static hd_status prepare(struct ter *t, hd_line hyp, hd_err *err)
{
    hd_status s = read_words(&t->hyp, hyp, err);
    if (!s) s = hd_word_number(&t->book, &t->hyp.words, err);
    if (s) return s;
    size_t room = t->hyp.words.count + 1; /* never none: copies of nothing want an address, too */
    s = hd_mem_reserve(&t->now, &t->now_room, room, sizeof *t->now, err);
    return s ? s : hd_mem_reserve(&t->tried, &t->tried_room, room, sizeof *t->tried, err);
}

static hd_status count(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs, double *stat,
                       hd_err *err)
{
    struct ter *t = state;
    size_t least = SIZE_MAX, length = 0;
    hd_status s = prepare(t, hyp, err);
    for (int r = 0; !s && r < opt->refs; r++) {
        size_t edits = 0;
        s = read_words(&t->ref, refs[r], err);
        if (!s) s = hd_word_find(&t->book, &t->ref.words, err);
        if (!s) s = count_edits(t, &edits, err);
        if (edits < least) least = edits;
        length += t->ref.words.count;
    }
    stat[EDITS] = (double)least;
    stat[LENGTH] = (double)length / opt->refs;
    return s;
}

static double score(const hd_metric_opt *opt, const double *stat)
{
    (void)opt;
    if (stat[LENGTH] > 0) return 100 * (stat[EDITS] / stat[LENGTH]);
    return stat[EDITS] > 0 ? 100 : 0;
}

static void sign(hd_text *to, const hd_metric_opt *opt)
{
    (void)opt;
    hd_text_put(to, "|case:lc|tok:tercom|norm:no|punct:yes|asian:no");
}

const hd_metric_class hd_metric_ter = {
    .name = "TER",
    .stats = STATS,
    .size = sizeof(struct ter),
    .count = count,
    .release = release,
    .score = score,
    .sign = sign,
};
