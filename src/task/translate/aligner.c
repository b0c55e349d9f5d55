/* Alignment by attention. Easy to get wrong: row i of cross-attention reads token i - 1 and predicts token i,
   and the end of the source, where attention rests that looks at nothing, is no word. */
#include "task/translate/aligner.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "op/probe.h"
#include "task/translate/lexicon.h"

enum {
    PAIRS = 64,          /* at once */
    CELLS = 1 << 16,     /* of the attention of those, at most */
    LEAST_ROOM = 1 << 16 /* counts, before equal ones are put together */
};

typedef struct tally { /* of a target token that was aligned to a source token */
    int32_t source, target;
    uint32_t count;
} tally;

struct hd_aligner {
    const hd_model_folder *of;
    bool apart; /* pairs one by one: a recurrent decoder offers its rows step by step */
    tally *at;
    size_t count, room, sorted; /* sorted: as many as there were after they were last put together */
    uint64_t *frequency;        /* [targets] */
    uint64_t tokens;
    /* of a batch */
    double *weight; /* of all cells: item after item, row after row */
    size_t cells, next, weights_room;
};

hd_status hd_aligner_new(hd_aligner **out, const hd_model_folder *f, hd_err *err)
{
    const hd_model *m = &f->model;
    const hd_encdec *e = hd_model_folder_encdec(f);
    if (!m->type->attention(m->self, HD_ATTENTION_CROSS).layers)
        return hd_err_set(err, HD_EARG, "the model has no cross-attention to align tokens by");
    hd_aligner *a = hd_mem_zero(sizeof *a);
    if (!a) return hd_err_nomem(err, sizeof *a);
    *a = (hd_aligner){.of = f,
                      .apart = hd_encdec_recurs(e),
                      .frequency = hd_mem_array(e->opt.target_vocab, sizeof *a->frequency)};
    if (!a->frequency) return hd_aligner_free(a), hd_err_nomem(err, e->opt.target_vocab);
    *out = a;
    return HD_OK;
}

void hd_aligner_free(hd_aligner *a)
{
    if (!a) return;
    hd_mem_free(a->at);
    hd_mem_free(a->frequency);
    hd_mem_free(a->weight);
    hd_mem_free(a);
}

/* -- counts -- */

static int by_tokens(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

static int by_count(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

static void put_together(hd_aligner *a)
{
    size_t n = 0;
    qsort(a->at, a->count, sizeof *a->at, by_tokens);
    for (size_t i = 0; i < a->count; i++) {
        if (n && !by_tokens(&a->at[n - 1], &a->at[i]))
            a->at[n - 1].count += a->at[i].count;
        else
            a->at[n++] = a->at[i];
    }
    a->count = a->sorted = n;
}

static hd_status add(hd_aligner *a, int32_t source, int32_t target, hd_err *err)
{
    if (a->count >= LEAST_ROOM && a->count == a->room && a->sorted < a->count / 2) put_together(a);
    hd_status s = hd_mem_reserve(&a->at, &a->room, a->count + 1, sizeof *a->at, err);
    if (!s) a->at[a->count++] = (tally){source, target, 1};
    return s;
}

/* -- a batch -- */

/* All heads of all layers count alike. A layer offers all cells, a recurrent decoder those of a row. */
static void take(void *context, hd_run *r, const hd_offer *offer)
{
    static const char cross[] = ".cross.softmax";
    hd_aligner *a = context;
    const size_t length = strlen(offer->name), rows = hd_rows_of(offer->t), heads = hd_cols_of(offer->t);
    if (!offer->keys || offer->gradient || length < sizeof cross - 1 ||
        strcmp(offer->name + length - (sizeof cross - 1), cross) != 0)
        return;
    hd_real *value = hd_host_take(r, hd_count_of(offer->t) * sizeof *value);
    if (!value || !hd_read(r, offer->t, value)) return;
    if (a->next + rows > a->cells) {
        hd_fail(r, HD_ESHAPE, "alignment: %s has %zu weights of %zu", offer->name, a->next + rows, a->cells);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t h = 0; h < heads; h++) a->weight[a->next + i] += (double)value[i * heads + h];
    a->next = a->next + rows < a->cells ? a->next + rows : 0;
}

typedef struct batch {
    size_t first, count;            /* pairs of the corpus */
    int32_t *source, *target;       /* with the end; the start and all but the end */
    int32_t from[PAIRS], to[PAIRS]; /* lengths */
    size_t sources, targets;
} batch;

/* Pairs from b->first on, as many as are read at once. */
static bool fill(hd_aligner *a, hd_run *r, const hd_corpus *c, batch *b)
{
    const hd_special from = hd_tokenizer_special(a->of->tokenizer[0]),
                     to = hd_tokenizer_special(a->of->tokenizer[1]);
    size_t most = a->apart ? 1 : PAIRS, rows[2] = {0};
    a->cells = b->count = b->sources = b->targets = 0;
    while (b->count < most && b->first + b->count < c->count && (!b->count || a->cells < CELLS)) {
        const size_t i = b->first + b->count;
        const size_t len[2] = {hd_corpus_len(c, 0, i) + 1, hd_corpus_len(c, 1, i) + 1};
        b->from[b->count] = (int32_t)len[0], b->to[b->count] = (int32_t)len[1];
        rows[0] += len[0], rows[1] += len[1], a->cells += len[0] * len[1], b->count++;
    }
    b->source = hd_host_take(r, rows[0] * sizeof *b->source + 1);
    b->target = hd_host_take(r, rows[1] * sizeof *b->target + 1);
    for (size_t k = 0; b->source && b->target && k < b->count; k++) {
        for (int side = 0; side < 2; side++) {
            const int32_t *ids = c->side[side].id + c->side[side].begin[b->first + k];
            const size_t n = hd_corpus_len(c, side, b->first + k);
            if (side) b->target[b->targets++] = to.start;
            memcpy(side ? b->target + b->targets : b->source + b->sources, ids, n * sizeof *ids);
            *(side ? &b->targets : &b->sources) += n;
            if (!side) b->source[b->sources++] = from.end;
        }
    }
    return b->source && b->target;
}

static hd_status run_batch(hd_aligner *a, hd_run *r, const batch *b, hd_err *err)
{
    const hd_model *m = &a->of->model;
    const hd_probe probe = {.take = take, .context = a, .within = "dec"}, *before = r->probe;
    if (a->cells > a->weights_room) {
        hd_mem_free(a->weight);
        a->weight = hd_mem_array(a->cells, sizeof *a->weight);
        a->weights_room = a->weight ? a->cells : 0;
        if (!a->weight) return hd_err_nomem(err, a->cells * sizeof *a->weight);
    }
    memset(a->weight, 0, a->cells * sizeof *a->weight);
    a->next = 0;
    r->probe = &probe;
    const hd_items source = {.ids = hd_ints(r, b->source, b->sources),
                             .seg = hd_seg_of(r, b->from, b->count, NULL)},
                   target = {.ids = hd_ints(r, b->target, b->targets),
                             .seg = hd_seg_of(r, b->to, b->count, NULL)};
    m->type->decode(r, m->self, &source, &target);
    r->probe = before;
    return hd_run_status(r, err);
}

/* The source token that target token t of a pair looks at most, of those before the end. */
static size_t most_looked_at(const double *row, size_t words)
{
    size_t best = 0;
    for (size_t j = 1; j < words; j++)
        if (row[j] > row[best]) best = j;
    return best;
}

static hd_status count_batch(hd_aligner *a, const batch *b, const hd_corpus *c, hd_err *err)
{
    const double *cell = a->weight;
    hd_status s = HD_OK;
    for (size_t k = 0; k < b->count; k++) {
        const size_t pair = b->first + k, cols = (size_t)b->from[k], words = cols - 1;
        const int32_t *source = c->side[0].id + c->side[0].begin[pair],
                      *target = c->side[1].id + c->side[1].begin[pair];
        for (size_t t = 0; !s && words && t < (size_t)b->to[k] - 1; t++) {
            s = add(a, source[most_looked_at(cell + t * cols, words)], target[t], err);
            a->frequency[target[t]]++, a->tokens++;
        }
        cell += cols * (size_t)b->to[k];
    }
    return s;
}

hd_status hd_aligner_add(hd_aligner *a, hd_run *r, const hd_corpus *pairs, hd_err *err)
{
    batch b = {0};
    hd_status s = HD_OK;
    for (; !s && b.first < pairs->count; b.first += b.count) {
        hd_run_begin(r, HD_INFERENCE);
        s = fill(a, r, pairs, &b) ? run_batch(a, r, &b, err) : hd_run_status(r, err);
        if (!s) s = count_batch(a, &b, pairs, err);
    }
    return s;
}

/* -- the file -- */

/* Names with a tab or a line end cannot stand in a line. */
static void put(hd_text *to, const char *target, const char *source, double probability)
{
    if (target && source && *target && *source && !strpbrk(target, "\t\n\r") && !strpbrk(source, "\t\n\r"))
        hd_text_print(to, "%s\t%s\t%.6g\n", target, source, probability);
}

static hd_status put_frequencies(const hd_aligner *a, hd_text *to, hd_err *err)
{
    const hd_tokenizer *t = a->of->tokenizer[1];
    const size_t n = hd_model_folder_encdec(a->of)->opt.target_vocab;
    tally *all = hd_mem_array(n, sizeof *all);
    if (!all) return hd_err_nomem(err, n * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] =
            (tally){0, (int32_t)i, (uint32_t)(a->frequency[i] < UINT32_MAX ? a->frequency[i] : UINT32_MAX)};
    qsort(all, n, sizeof *all, by_count);
    for (size_t i = 0; i < n && all[i].count; i++)
        put(to, hd_tokenizer_piece(t, all[i].target), HD_LEXICON_NULL,
            (double)all[i].count / (double)a->tokens);
    hd_mem_free(all);
    return HD_OK;
}

hd_status hd_aligner_write(hd_aligner *a, size_t best, hd_text *to, hd_err *err)
{
    const hd_tokenizer *const *t = (const hd_tokenizer *const *)a->of->tokenizer;
    put_together(a);
    if (!a->count) return hd_err_set(err, HD_EARG, "no pair has a token on both sides");
    qsort(a->at, a->count, sizeof *a->at, by_count);
    hd_status s = put_frequencies(a, to, err);
    for (size_t i = 0, end; !s && i < a->count; i = end) {
        double sum = 0;
        for (end = i; end < a->count && a->at[end].source == a->at[i].source; end++) sum += a->at[end].count;
        for (size_t j = i; j < end && j < i + best; j++)
            put(to, hd_tokenizer_piece(t[1], a->at[j].target), hd_tokenizer_piece(t[0], a->at[j].source),
                a->at[j].count / sum);
    }
    return s ? s : hd_text_status(to, err);
}
