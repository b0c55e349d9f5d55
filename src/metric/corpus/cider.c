/* CIDEr-D (Vedantam et al. 2015): n-grams of one to four words, weighted by how few segments have them in
   their references, clipped to those of the reference, with a penalty for another length. Easy to get wrong:
   the weights are those of all references, so nothing can be scored before all segments are there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "metric/corpus/bleu_tokenizer.h"
#include "metric/metric.h"
#include "text/vocab.h"

enum { SCORE, SEGMENTS, STATS };
enum { ORDERS = 4, NONE = UINT32_MAX };
static const double spread = 2 * 6.0 * 6.0; /* of the penalty: sigma is 6 words */

struct cider {
    hd_bleu_words cut;
    hd_vocab words;
    uint32_t *word; /* of all texts: of a segment the hypothesis, then its references */
    size_t *end;    /* [texts] in words */
    size_t *last;   /* [segments] in texts */
    size_t used, texts, segments, word_room, text_room, segment_room;
};

static void release(void *state)
{
    struct cider *c = state;
    hd_bleu_words_release(&c->cut);
    hd_vocab_release(&c->words);
    hd_mem_free(c->word);
    hd_mem_free(c->end);
    hd_mem_free(c->last);
}

/* -- reading -- */

static hd_status add_word(struct cider *c, hd_word w, hd_err *err)
{
    hd_text text = {0};
    for (size_t i = 0; i < w.count; i++) {
        utf8proc_uint8_t bytes[4];
        size_t size = (size_t)utf8proc_encode_char((utf8proc_int32_t)w.at[i], bytes);
        if (w.at[i])
            hd_text_add(&text, (const char *)bytes, size);
        else
            hd_text_put(&text, "\xc0\x80"); /* a piece has no zero byte */
    }
    hd_status s = hd_text_status(&text, err);
    if (!s) s = hd_vocab_add(&c->words, text.data, text.size, err);
    if (!s) s = hd_mem_reserve(&c->word, &c->word_room, c->used + 1, sizeof *c->word, err);
    if (!s) c->word[c->used++] = (uint32_t)hd_vocab_find(&c->words, text.data, text.size);
    hd_text_release(&text);
    return s;
}

static hd_status add_text(struct cider *c, hd_line line, hd_err *err)
{
    hd_status s = hd_bleu_tokenize(&c->cut, HD_BLEU_TOKENIZER_ptb, true, line, err);
    for (size_t i = 0; !s && i < c->cut.words.count; i++) s = add_word(c, c->cut.words.word[i], err);
    if (!s) s = hd_mem_reserve(&c->end, &c->text_room, c->texts + 1, sizeof *c->end, err);
    if (!s) c->end[c->texts++] = c->used;
    return s;
}

static hd_status count(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs, double *stat,
                       hd_err *err)
{
    struct cider *c = state;
    size_t used = c->used, texts = c->texts;
    hd_status s = hd_mem_reserve(&c->last, &c->segment_room, c->segments + 1, sizeof *c->last, err);
    if (!s) s = add_text(c, hyp, err);
    for (int r = 0; !s && r < opt->refs; r++) s = add_text(c, refs[r], err);
    stat[SCORE] = stat[SEGMENTS] = 0; /* not known yet */
    if (s)
        c->used = used, c->texts = texts;
    else
        c->last[c->segments++] = c->texts;
    return s;
}

/* -- n-grams: the (n-1)-gram at the same place and one more word -- */

struct slot {
    uint64_t pair;
    uint32_t number; /* plus 1; 0: empty */
};

typedef struct grams {
    const struct cider *of;
    uint32_t *at[ORDERS]; /* [words] the n-gram that begins there; NONE: the text ends before */
    struct slot *slot;
    size_t slots;
    uint32_t known;      /* n-grams */
    double *weight;      /* [known] how rare it is */
    size_t *seen_in;     /* [known] the segment that had it last, from 1 */
    uint32_t *hyp, *ref; /* sorted, of one text */
} grams;

static void grams_release(grams *g)
{
    for (int n = 0; n < ORDERS; n++) hd_mem_free(g->at[n]);
    hd_mem_free(g->slot);
    hd_mem_free(g->weight);
    hd_mem_free(g->seen_in);
    hd_mem_free(g->hyp);
    hd_mem_free(g->ref);
}

static uint32_t number_of(grams *g, uint32_t shorter, uint32_t word)
{
    uint64_t pair = (uint64_t)shorter << 32 | word, h = pair * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(h ^ h >> 32);; i++) {
        struct slot *s = &g->slot[i & (g->slots - 1)];
        if (!s->number) *s = (struct slot){pair, ++g->known};
        if (s->pair == pair) return s->number - 1;
    }
}

static void number_all(grams *g)
{
    const struct cider *c = g->of;
    for (size_t t = 0; t < c->texts; t++) {
        size_t from = t ? c->end[t - 1] : 0, to = c->end[t];
        for (int n = 0; n < ORDERS; n++)
            for (size_t i = from; i < to; i++)
                g->at[n][i] = i + (size_t)n >= to
                                  ? NONE
                                  : number_of(g, n ? g->at[n - 1][i] : NONE, c->word[i + (size_t)n]);
    }
}

static void weigh(grams *g)
{
    const struct cider *c = g->of;
    for (size_t s = 0; s < c->segments; s++) {
        size_t first = (s ? c->last[s - 1] : 0) + 1; /* behind the hypothesis */
        for (size_t i = c->end[first - 1]; i < c->end[c->last[s] - 1]; i++)
            for (int n = 0; n < ORDERS; n++) {
                uint32_t k = g->at[n][i];
                if (k == NONE || g->seen_in[k] == s + 1) continue;
                g->seen_in[k] = s + 1, g->weight[k] += 1;
            }
    }
    for (uint32_t k = 0; k < g->known; k++)
        g->weight[k] = log((double)c->segments) - log(g->weight[k] > 1 ? g->weight[k] : 1);
}

static hd_status grams_make(grams *g, const struct cider *c, hd_err *err)
{
    size_t most = ORDERS * c->used + 1;
    *g = (grams){.of = c, .slots = 16};
    if (most >= NONE) return hd_err_set(err, HD_ELIMIT, "%zu words are more than can be scored", c->used);
    while (g->slots < 2 * most) g->slots *= 2;
    g->slot = hd_mem_array(g->slots, sizeof *g->slot);
    g->weight = hd_mem_array(most, sizeof *g->weight);
    g->seen_in = hd_mem_array(most, sizeof *g->seen_in);
    g->hyp = hd_mem_array(c->used + 1, sizeof *g->hyp);
    g->ref = hd_mem_array(c->used + 1, sizeof *g->ref);
    bool made = g->slot && g->weight && g->seen_in && g->hyp && g->ref;
    for (int n = 0; n < ORDERS; n++) {
        g->at[n] = hd_mem_array(c->used + 1, sizeof *g->at[n]);
        made = made && g->at[n];
    }
    if (!made) return hd_err_nomem(err, g->slots * sizeof *g->slot);
    number_all(g);
    weigh(g);
    return HD_OK;
}

/* -- scoring -- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The n-grams of a text in order, NONE behind them; returns the square of its length as a vector. */
static double sorted(const grams *g, size_t text, int n, uint32_t *out)
{
    size_t from = text ? g->of->end[text - 1] : 0, count = 0;
    double length = 0;
    for (size_t i = from; i < g->of->end[text]; i++)
        if (g->at[n][i] != NONE) out[count++] = g->at[n][i];
    qsort(out, count, sizeof *out, by_number);
    out[count] = NONE;
    for (size_t i = 0, j; i < count; i = j) {
        for (j = i; out[j] == out[i];) j++;
        double x = (double)(j - i) * g->weight[out[i]];
        length += x * x;
    }
    return length;
}

/* Of two sorted lists: the clipped counts times those of the reference, weighted. */
static double product(const grams *g)
{
    double sum = 0;
    for (const uint32_t *h = g->hyp, *r = g->ref; *h != NONE && *r != NONE;) {
        uint32_t k = *h;
        if (k != *r) {
            if (k < *r)
                h++;
            else
                r++;
            continue;
        }
        size_t in_hyp = 0, in_ref = 0;
        while (*h == k) h++, in_hyp++;
        while (*r == k) r++, in_ref++;
        double w = g->weight[k] * g->weight[k];
        sum += (double)(in_hyp < in_ref ? in_hyp : in_ref) * (double)in_ref * w;
    }
    return sum;
}

static double words_in(const struct cider *c, size_t text)
{
    return (double)(c->end[text] - (text ? c->end[text - 1] : 0));
}

static double score_segment(const grams *g, size_t segment)
{
    const struct cider *c = g->of;
    size_t hyp = segment ? c->last[segment - 1] : 0, end = c->last[segment];
    double sum = 0;
    for (int n = 0; n < ORDERS; n++) {
        double length = sorted(g, hyp, n, g->hyp);
        for (size_t ref = hyp + 1; ref < end; ref++) {
            double other = sorted(g, ref, n, g->ref), gap = words_in(c, hyp) - words_in(c, ref);
            if (length > 0 && other > 0)
                sum += product(g) / (sqrt(length) * sqrt(other)) * exp(-gap * gap / spread);
        }
    }
    return 10 * sum / ORDERS / (double)(end - hyp - 1);
}

static hd_status settle(void *state, double *stat, hd_err *err)
{
    const struct cider *c = state;
    grams g;
    hd_status s = grams_make(&g, c, err);
    for (size_t i = 0; !s && i < c->segments; i++)
        stat[i * STATS + SCORE] = score_segment(&g, i), stat[i * STATS + SEGMENTS] = 1;
    grams_release(&g);
    return s;
}

static void sign(hd_text *to, const hd_metric_opt *opt)
{
    (void)opt;
    hd_text_put(to, "|case:lc|tok:ptb|sigma:6");
}

const hd_metric_class hd_metric_cider_d = {.name = "CIDEr-D",
                                           .stats = STATS,
                                           .size = sizeof(struct cider),
                                           .count = count,
                                           .settle = settle,
                                           .release = release,
                                           .score = hd_metric_mean,
                                           .sign = sign};
