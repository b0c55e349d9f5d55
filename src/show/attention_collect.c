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

/* The piece; of a BERT also that of the mask, which a tokenizer need not have. */
static hd_status set_piece(char **to, const hd_attender *m, const hd_tokenizer *t, int32_t id, hd_err *err)
{
    char number[16];
    const char *piece = !t ? NULL : m->bert ? hd_masked_piece(t, id) : hd_tokenizer_piece(t, id);
    if (!piece) snprintf(number, sizeof number, "%d", id), piece = number;
    return hd_attention_set_name(to, piece, strlen(piece), err);
}

/* The names of tokens; those that are unknown are called by the words of the text that they stand for. */
static hd_status set_pieces(hd_attention_maps *a, char **to, const hd_attender *m, const hd_tokenizer *t,
                            const int32_t *ids, size_t count, hd_line text, hd_err *err)
{
    char **marked = a->marked + (to - a->source);
    hd_line *word = hd_mem_array(count + 1, sizeof *word);
    if (!word) return hd_err_nomem(err, count * sizeof *word);
    hd_status s = hd_unknown_words(word, t, ids, count, text, m->bert != NULL, err);
    for (size_t i = 0; !s && i < count; i++) {
        hd_text mark = {0};
        if (!word[i].text) {
            s = set_piece(&to[i], m, t, ids[i], err);
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

static hd_status set_names(hd_attention_maps *a, const hd_attender *m, const hd_attention_ask *q, hd_err *err)
{
    size_t first = q->second && q->second < a->sources ? q->second : a->sources;
    hd_status s = m->encdec ? set_piece(&a->input[0], m, q->target_pieces, q->start, err) : HD_OK;
    if (!s) s = set_pieces(a, a->source, m, q->source_pieces, q->source, first, q->source_text[0], err);
    if (!s)
        s = set_pieces(a, a->source + first, m, q->source_pieces, q->source + first, a->sources - first,
                       q->source_text[1], err);
    if (!s)
        s = set_pieces(a, m->lm ? a->input : a->output, m, q->target_pieces, q->target, a->targets,
                       q->target_text, err);
    if (!s && q->sentence.text)
        s = hd_attention_set_name(&a->sentence, q->sentence.text, q->sentence.size, err);
    if (!s && q->translation.text)
        s = hd_attention_set_name(&a->translation, q->translation.text, q->translation.size, err);
    a->score = q->score;
    a->place = q->place;
    return s;
}

/* -- what a model has -- */

/* The layers of a kind: those of the stages one after the other, each with the heads it has. Where heads
   differ, a layer of fewer shows them by turns. */
typedef struct stock {
    const char *stack; /* as a probe names it, with a dot; "" of a language model */
    size_t layers, heads;
    size_t first[HD_STAGES]; /* of a stage, among all layers */
    size_t count[HD_STAGES]; /* its layers; 0: it has none of the kind */
} stock;

static void add_stage(stock *s, int stage, int layers, int heads)
{
    s->first[stage] = s->layers, s->count[stage] = (size_t)layers;
    s->layers += (size_t)layers;
    if (layers && (size_t)heads > s->heads) s->heads = (size_t)heads;
}

static stock stock_of_sides(const hd_encdec *m, hd_attention_kind k)
{
    const hd_stages *side = k == HD_ATTENTION_ENCODER ? &m->opt.encoder : &m->opt.decoder;
    stock s = {.stack = offered[k].stack};
    for (int i = 0; i < side->count; i++) {
        const hd_stage *x = &side->at[i];
        bool looks =
            k == HD_ATTENTION_CROSS && hd_stage_recurs(x) && m->opt.recurrent.context == HD_CONTEXT_attention;
        if (looks) add_stage(&s, i, 1, m->cells.look.opt.heads);
        if (x->kind == HD_STAGE_transformer) add_stage(&s, i, x->layers, m->opt.stack.heads);
    }
    return s;
}

static stock stock_of(const hd_attender *m, hd_attention_kind k)
{
    if (m->encdec) return stock_of_sides(m->encdec, k);
    stock s = {.stack = m->lm ? "" : offered[k].stack};
    if (m->bert && k == HD_ATTENTION_ENCODER)
        add_stage(&s, 0, m->bert->opt.stack.layers, m->bert->opt.stack.heads);
    if (m->lm && m->lm->opt.kind == HD_LM_gpt && k == HD_ATTENTION_DECODER)
        add_stage(&s, 0, m->lm->opt.stack.layers, m->lm->opt.stack.heads);
    return s;
}

typedef struct collection {
    hd_attention_maps *into;
    stock stock[HD_ATTENTION_KINDS];
    hd_real *scratch;  /* [rows * cols, heads] of the largest part */
    int kind;          /* of the last offer */
    size_t layer, row; /* the layer of the last offer, and the row behind it */
    size_t rows;       /* taken of all layers */
} collection;

/* Whether an offer is a layer's weights, and which: "dec.0.cross.softmax", "dec.stage1.0.self.softmax",
   "0.self.softmax". */
static bool is_weights(const char *name, int k, const stock *s, size_t *layer)
{
    char start[16] = "", expected[64];
    for (int i = 0; i < HD_STAGES; i++)
        for (size_t l = 0; l < s->count[i]; l++) {
            if (i) snprintf(start, sizeof start, "stage%d.", i);
            snprintf(expected, sizeof expected, "%s%s%zu.%s.softmax", s->stack, start, l,
                     offered[k].sublayer);
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
        if (is_weights(offer->name, k, &c->stock[k], &layer)) keep(c, r, offer, k, layer);
}

static void run_sides(hd_run *r, const hd_encdec *m, const hd_attention_ask *q)
{
    const int32_t from = (int32_t)q->sources, to = (int32_t)q->targets;
    int32_t *input = hd_host_take(r, q->targets * sizeof *input);
    for (size_t i = 0; input && i < q->targets; i++) input[i] = i ? q->target[i - 1] : q->start;
    hd_encoded memory =
        hd_encdec_encode(r, m, hd_ints(r, q->source, q->sources), hd_seg_of(r, &from, 1, NULL));
    hd_encdec_decode(r, m, hd_ints(r, input, q->targets), hd_seg_of(r, &to, 1, NULL), memory, NULL);
}

static void run_bert(hd_run *r, const hd_bert *m, const hd_attention_ask *q)
{
    const int32_t len = (int32_t)q->sources;
    int32_t *type = hd_host_take(r, q->sources * sizeof *type);
    if (!type) return;
    for (size_t i = 0; i < q->sources; i++) type[i] = q->second && i >= q->second;
    hd_bert_rows(r, m, hd_ints(r, q->source, q->sources), hd_ints(r, type, q->sources),
                 hd_seg_of(r, &len, 1, NULL));
}

static void run_model(hd_run *r, const hd_attender *m, const hd_attention_ask *q)
{
    const int32_t len = (int32_t)q->targets;
    if (m->encdec)
        run_sides(r, m->encdec, q);
    else if (m->bert)
        run_bert(r, m->bert, q);
    else
        m->lm->type->states(r, m->lm, hd_ints(r, q->target, q->targets), hd_seg_of(r, &len, 1, NULL));
}

static hd_status run_with_probe(hd_attention_maps *a, hd_run *r, const hd_attender *m,
                                const hd_attention_ask *q, hd_err *err)
{
    size_t largest = 0, wanted = 0;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        const hd_attention_part *p = &a->part[k];
        size_t numbers = p->rows * p->cols * p->heads;
        largest = numbers > largest ? numbers : largest;
        wanted += p->layers * p->rows;
    }
    collection c = {.into = a, .kind = -1, .scratch = hd_mem_array(largest, sizeof *c.scratch)};
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) c.stock[k] = stock_of(m, (hd_attention_kind)k);
    if (!c.scratch) return hd_err_nomem(err, largest * sizeof *c.scratch);
    const hd_probe probe = {.take = collect, .context = &c}, *before = r->probe;
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    run_model(r, m, q);
    r->probe = before;
    hd_mem_free(c.scratch);
    if (r->err.status) return hd_err_set(err, r->err.status, "%s", r->err.text);
    if (c.rows != wanted)
        return hd_err_set(err, HD_EMISSING, "attention: the model offered %zu of %zu rows", c.rows, wanted);
    return HD_OK;
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

static hd_status check_ask(const hd_attender *m, const hd_attention_ask *q, hd_err *err)
{
    if (m->bert)
        return check_ids("text", q->source, q->sources, m->bert->opt.vocab, m->bert->opt.positions, err);
    if (m->lm) return check_ids("text", q->target, q->targets, m->lm->opt.vocab, m->lm->opt.context, err);
    const hd_encdec_opt *o = &m->encdec->opt;
    hd_status s = check_ids("source", q->source, q->sources, o->source_vocab, o->positions, err);
    if (!s) s = check_ids("target", q->target, q->targets, o->target_vocab, o->positions, err);
    if (!s) s = check_ids("target's start", &q->start, 1, o->target_vocab, o->positions, err);
    return s;
}

static hd_status refuse_kind(const hd_lm *m, hd_err *err)
{
    return hd_err_set(err, HD_EARG, "a language model of the kind %s has no attention: gpt has",
                      hd_lm_names[m->opt.kind]);
}

hd_status hd_attention_collect(hd_attention_maps *out, hd_run *r, const hd_attender *m,
                               const hd_attention_ask *ask, hd_err *err)
{
    size_t layers[HD_ATTENTION_KINDS], heads[HD_ATTENTION_KINDS];
    hd_attention_maps a = {0};
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        stock all = stock_of(m, (hd_attention_kind)k);
        layers[k] = all.layers, heads[k] = all.heads;
    }
    hd_status s = m->lm && m->lm->opt.kind != HD_LM_gpt ? refuse_kind(m->lm, err) : HD_OK;
    if (!s) s = check_ask(m, ask, err);
    if (!s)
        s = hd_attention_init(&a, m->lm ? 0 : ask->sources, m->bert ? 0 : ask->targets, layers, heads, err);
    if (!s) s = set_names(&a, m, ask, err);
    if (!s) s = run_with_probe(&a, r, m, ask, err);
    if (s) hd_attention_release(&a);
    *out = a;
    return s;
}

/* Why a model of two sides has none of a kind. */
static hd_status refuse_side(const hd_encdec *m, hd_attention_kind k, hd_err *err)
{
    char side[HD_STAGES_TEXT];
    if (k == HD_ATTENTION_CROSS)
        return hd_err_set(err, HD_EARG,
                          "the model has no attention from its decoder to its encoder: it was trained with "
                          "--decoder-context %s",
                          hd_context_names[m->opt.recurrent.context]);
    return hd_err_set(err, HD_EARG, "the model has no %s: its %s is %s", hd_attention_title(k),
                      hd_attention_name(k),
                      hd_stages_text(k == HD_ATTENTION_ENCODER ? &m->opt.encoder : &m->opt.decoder, side));
}

hd_status hd_attention_check(const hd_attender *m, const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_kind own = m->bert ? HD_ATTENTION_ENCODER
                            : m->lm ? HD_ATTENTION_DECODER
                                    : HD_ATTENTION_CROSS;
    hd_attention_kind k = pick->kind ? (hd_attention_kind)(pick->kind - 1) : own;
    stock s = stock_of(m, k);
    if (m->lm && m->lm->opt.kind != HD_LM_gpt) return refuse_kind(m->lm, err);
    if (m->encdec && !s.layers) return refuse_side(m->encdec, k, err);
    return hd_attention_pick_check(pick, k, s.layers, s.heads, err);
}
