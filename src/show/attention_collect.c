/* Collecting attention weights with a probe. Easy to get wrong: a probe is offered [Tq*Tk, H], heads
   innermost; what is kept has heads outermost. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "show/attention.h"
#include "task/masked/masked.h"
#include "task/unknown.h"

static const struct {
    const char *stack, *sublayer;
} offered[] = {
#define X(id, name, stack, sublayer, title) {stack ".", sublayer},
    HD_ATTENTION_LIST(X)
#undef X
};

/* The piece; also that of the mask, which a tokenizer need not have. */
static hd_status set_piece(char **to, const hd_tokenizer *t, int32_t id, bool masks, hd_err *err)
{
    char number[16];
    const char *piece = !t ? NULL : masks ? hd_masked_piece(t, id) : hd_tokenizer_piece(t, id);
    if (!piece) snprintf(number, sizeof number, "%d", id), piece = number;
    return hd_attention_set_name(to, piece, strlen(piece), err);
}

/* The names of tokens; those that are unknown are called by the words of the text that they stand for. */
static hd_status set_pieces(hd_attention_maps *a, char **to, bool masks, const hd_tokenizer *t,
                            const int32_t *ids, size_t count, hd_line text, hd_err *err)
{
    char **marked = a->marked + (to - a->source);
    hd_line *word = hd_mem_array(count + 1, sizeof *word);
    if (!word) return hd_err_nomem(err, count * sizeof *word);
    hd_status s = hd_unknown_words(word, t, ids, count, text, masks, err);
    for (size_t i = 0; !s && i < count; i++) {
        hd_text mark = {0};
        if (!word[i].text) {
            s = set_piece(&to[i], t, ids[i], masks, err);
            continue;
        }
        hd_text_add(&mark, word[i].text, word[i].size);
        hd_text_put(&mark, HD_UNKNOWN_MARK);
        s = hd_text_status(&mark, err);
        if (!s) s = hd_attention_set_name(&to[i], word[i].text, word[i].size, err);
        if (!s) s = hd_attention_set_name(&marked[i], mark.data, mark.size, err);
        hd_text_release(&mark);
    }
    hd_mem_free(word);
    return s;
}

/* A model of two sides reads a start and says the target; one that only writes reads the target. */
static hd_status set_names(hd_attention_maps *a, const hd_model *m, const hd_attention_ask *q, hd_err *err)
{
    const bool both = m->type->decode, masks = !a->targets;
    size_t first = q->second && q->second < a->sources ? q->second : a->sources;
    hd_status s = both ? set_piece(&a->input[0], q->target_pieces, q->start, masks, err) : HD_OK;
    if (!s) s = set_pieces(a, a->source, masks, q->source_pieces, q->source, first, q->source_text[0], err);
    if (!s)
        s = set_pieces(a, a->source + first, masks, q->source_pieces, q->source + first, a->sources - first,
                       q->source_text[1], err);
    if (!s)
        s = set_pieces(a, both ? a->output : a->input, masks, q->target_pieces, q->target, a->targets,
                       q->target_text, err);
    if (!s && q->sentence.text)
        s = hd_attention_set_name(&a->sentence, q->sentence.text, q->sentence.size, err);
    if (!s && q->translation.text)
        s = hd_attention_set_name(&a->translation, q->translation.text, q->translation.size, err);
    a->score = q->score;
    a->place = q->place;
    return s;
}

/* -- collecting -- */

typedef struct collection {
    hd_attention_maps *into;
    hd_attention_layers has[HD_ATTENTION_KINDS];
    hd_real *scratch;  /* [rows * cols, heads] of the largest part */
    int kind;          /* of the last offer */
    size_t layer, row; /* the layer of the last offer, and the row behind it */
    size_t rows;       /* taken of all layers */
} collection;

/* Whether an offer is a layer's weights, and which: "dec.0.cross.softmax", "dec.stage1.0.self.softmax",
   "0.self.softmax". */
static bool is_weights(const char *name, int k, const hd_attention_layers *s, size_t *layer)
{
    char start[16] = "", expected[64];
    for (int i = 0; i < HD_STAGES; i++)
        for (size_t l = 0; l < s->count[i]; l++) {
            if (i) snprintf(start, sizeof start, "stage%d.", i);
            snprintf(expected, sizeof expected, "%s%s%zu.%s.softmax", s->bare ? "" : offered[k].stack, start,
                     l, offered[k].sublayer);
            *layer = s->first[i] + l;
            if (!strcmp(name, expected)) return true;
        }
    return false;
}

/* A decoder that goes row by row offers a row at a time. */
static void keep(collection *c, hd_run *r, const hd_offer *offer, int k, size_t layer)
{
    const hd_attention_part *p = &c->into->part[k];
    size_t rows = hd_rows_of(offer->t) / p->cols, heads = hd_cols_of(offer->t), cells = p->rows * p->cols;
    bool goes_on = c->kind == k && c->layer == layer && c->row < p->rows;
    size_t from = goes_on ? c->row : 0;
    if (hd_rows_of(offer->t) != rows * p->cols || from + rows > p->rows || heads > p->heads) {
        hd_fail(r, HD_ESHAPE, "attention: %s is %zu x %zu, expected %zu x %zu", offer->name,
                hd_rows_of(offer->t), hd_cols_of(offer->t), cells - from * p->cols, p->heads);
        return;
    }
    if (!hd_read(r, offer->t, c->scratch)) return;
    for (size_t h = 0; h < p->heads; h++) {
        float *to = p->weight + (layer * p->heads + h) * cells + from * p->cols;
        for (size_t i = 0; i < rows * p->cols; i++) to[i] = (float)c->scratch[i * heads + h % heads];
    }
    c->kind = k, c->layer = layer, c->row = from + rows;
    c->rows += rows;
}

static void collect(void *context, hd_run *r, const hd_offer *offer)
{
    collection *c = context;
    size_t layer;
    if (!offer->keys || offer->gradient) return;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        if (is_weights(offer->name, k, &c->has[k], &layer)) keep(c, r, offer, k, layer);
}

static void run_sides(hd_run *r, const hd_model *m, const hd_attention_ask *q)
{
    const int32_t from = (int32_t)q->sources, to = (int32_t)q->targets;
    int32_t *input = hd_host_take(r, q->targets * sizeof *input);
    for (size_t i = 0; input && i < q->targets; i++) input[i] = i ? q->target[i - 1] : q->start;
    m->type->decode(r, m->self, hd_ints(r, q->source, q->sources), hd_seg_of(r, &from, 1, NULL),
                    hd_ints(r, input, q->targets), hd_seg_of(r, &to, 1, NULL));
}

/* The text is the source of a model that reads, the target of one that writes. */
static void run_text(hd_run *r, const hd_model *m, const hd_attention_ask *q)
{
    const int32_t *ids = q->sources ? q->source : q->target;
    const size_t count = q->sources ? q->sources : q->targets;
    const int32_t len = (int32_t)count;
    int32_t *type = q->second ? hd_host_take(r, count * sizeof *type) : NULL;
    for (size_t i = 0; type && i < count; i++) type[i] = i >= q->second;
    m->type->rows(r, m->self, m->type->sizes(m->self).layers, hd_ints(r, ids, count),
                  type ? hd_ints(r, type, count) : NULL, hd_seg_of(r, &len, 1, NULL));
}

static hd_status run_with_probe(hd_attention_maps *a, hd_run *r, const hd_model *m, const hd_attention_ask *q,
                                hd_err *err)
{
    size_t largest = 0, wanted = 0;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        const hd_attention_part *p = &a->part[k];
        size_t numbers = p->rows * p->cols * p->heads;
        largest = numbers > largest ? numbers : largest;
        wanted += p->layers * p->rows;
    }
    collection c = {.into = a, .kind = -1, .scratch = hd_mem_array(largest, sizeof *c.scratch)};
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) c.has[k] = m->type->attention(m->self, (hd_attention_kind)k);
    if (!c.scratch) return hd_err_nomem(err, largest * sizeof *c.scratch);
    const hd_probe probe = {.take = collect, .context = &c}, *before = r->probe;
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    (m->type->decode ? run_sides : run_text)(r, m, q);
    r->probe = before;
    hd_mem_free(c.scratch);
    hd_status s = hd_run_status(r, err);
    if (!s && c.rows != wanted)
        s = hd_err_set(err, HD_EMISSING, "attention: the model offered %zu of %zu rows", c.rows, wanted);
    return s;
}

static hd_status check_ids(const char *what, const int32_t *ids, size_t count, size_t vocab, size_t positions,
                           hd_err *err)
{
    if (!count) return hd_err_set(err, HD_EARG, "attention: the %s has no token", what);
    if (count > positions)
        return hd_err_set(err, HD_ELIMIT, "attention: the %s has %zu tokens, the model takes %zu", what,
                          count, positions);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= vocab)
            return hd_err_set(err, HD_EARG, "attention: token %zu of the %s is %d, the vocabulary has %zu",
                              i + 1, what, ids[i], vocab);
    return HD_OK;
}

/* A text that is read is the source, one that is written the target; a model of two sides has both. */
static hd_status check_ask(const hd_model *m, const hd_attention_ask *q, hd_err *err)
{
    const hd_model_sizes n = m->type->sizes(m->self);
    const bool writes = m->type->attends == HD_ATTENTION_DECODER;
    if (!m->type->decode)
        return writes ? check_ids("text", q->target, q->targets, n.vocab, n.positions, err)
                      : check_ids("text", q->source, q->sources, n.vocab, n.positions, err);
    hd_status s = check_ids("source", q->source, q->sources, n.vocab, n.positions, err);
    if (!s) s = check_ids("target", q->target, q->targets, n.target_vocab, n.positions, err);
    if (!s) s = check_ids("target's start", &q->start, 1, n.target_vocab, n.positions, err);
    return s;
}

static hd_status check_type(const hd_model *m, hd_err *err)
{
    if (m->type->attention) return HD_OK;
    return hd_err_set(err, HD_EARG, "a language model of kind %s has no attention: use a gpt", m->type->name);
}

hd_status hd_attention_collect(hd_attention_maps *out, hd_run *r, const hd_model *m,
                               const hd_attention_ask *ask, hd_err *err)
{
    size_t layers[HD_ATTENTION_KINDS], heads[HD_ATTENTION_KINDS];
    hd_attention_maps a = {0};
    hd_status s = check_type(m, err);
    for (int k = 0; !s && k < HD_ATTENTION_KINDS; k++) {
        const hd_attention_layers all = m->type->attention(m->self, (hd_attention_kind)k);
        layers[k] = all.layers, heads[k] = all.heads;
    }
    if (!s) s = check_ask(m, ask, err);
    if (!s)
        s = hd_attention_init(&a, m->type->attends == HD_ATTENTION_DECODER ? 0 : ask->sources,
                              m->type->attends == HD_ATTENTION_ENCODER ? 0 : ask->targets, layers, heads,
                              err);
    if (!s) s = set_names(&a, m, ask, err);
    if (!s) s = run_with_probe(&a, r, m, ask, err);
    if (s) hd_attention_release(&a);
    *out = a;
    return s;
}

hd_status hd_attention_check(const hd_model *m, const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_kind k = pick->kind ? (hd_attention_kind)(pick->kind - 1) : m->type->attends;
    hd_status s = check_type(m, err);
    if (s) return s;
    const hd_attention_layers all = m->type->attention(m->self, k);
    if (!all.layers && m->type->refuse_attention) return m->type->refuse_attention(m->self, k, err);
    return hd_attention_pick_check(pick, k, all.layers, all.heads, err);
}
