/* Collecting attention weights with a probe. Easy to get wrong: a probe is offered [Tq*Tk, H], heads
   innermost; what is kept has heads outermost. */
#include "task/attention.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *name, *stack, *sublayer, *title;
} kinds[] = {
#define X(id, name, stack, sublayer, title) {name, stack, sublayer, title},
    HD_ATTENTION_LIST(X)
#undef X
};

const char *const hd_attention_choices[] = {"auto",
#define X(id, name, stack, sublayer, title) name,
                                            HD_ATTENTION_LIST(X)
#undef X
                                                NULL};

const char *hd_attention_name(hd_attention_kind k)
{
    return kinds[k].name;
}

const char *hd_attention_title(hd_attention_kind k)
{
    return kinds[k].title;
}

void hd_attention_release(hd_attention_maps *a)
{
    for (size_t i = 0; a->source && i < a->sources + a->targets + 1; i++) hd_mem_free(a->source[i]);
    hd_mem_free(a->source); /* input and output lie in the same block */
    hd_mem_free(a->sentence);
    hd_mem_free(a->translation);
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) hd_mem_free(a->part[k].weight);
    *a = (hd_attention_maps){0};
}

static hd_status make_part(hd_attention_part *p, hd_err *err)
{
    size_t layer, cells, all;
    if (!hd_size_mul(p->rows, p->cols, &cells) || !hd_size_mul(cells, p->heads, &layer) ||
        !hd_size_mul(layer, p->layers, &all))
        return hd_err_set(err, HD_ELIMIT, "attention of %zu over %zu tokens does not fit in memory", p->rows,
                          p->cols);
    p->weight = hd_mem_array(all, sizeof *p->weight);
    return p->weight ? HD_OK : hd_err_nomem(err, all * sizeof *p->weight);
}

hd_status hd_attention_init(hd_attention_maps *out, size_t sources, size_t targets,
                            const size_t layers[HD_ATTENTION_KINDS], const size_t heads[HD_ATTENTION_KINDS],
                            hd_err *err)
{
    hd_attention_maps a = {.sources = sources, .targets = targets};
    size_t names = sources + targets + 1;
    hd_status s = HD_OK;
    a.source = hd_mem_array(names, sizeof *a.source);
    if (!a.source) s = hd_err_nomem(err, names * sizeof *a.source);
    if (!s) a.input = a.source + sources, a.output = a.input + 1;
    for (int k = 0; !s && k < HD_ATTENTION_KINDS; k++) {
        a.part[k] = (hd_attention_part){.layers = layers[k],
                                        .heads = heads[k],
                                        .rows = k == HD_ATTENTION_ENCODER ? sources : targets,
                                        .cols = k == HD_ATTENTION_DECODER ? targets : sources};
        s = make_part(&a.part[k], err);
    }
    if (s) hd_attention_release(&a);
    *out = a;
    return s;
}

/* The text with U+FFFD for every byte that is not UTF-8; zero bytes count as such. Returns its length; writes
   where `to` is not NULL. */
static size_t clean(char *to, const char *text, size_t size)
{
    static const char instead[] = "\xEF\xBF\xBD";
    size_t length = 0;
    while (size) {
        size_t zero = strnlen(text, size), good = hd_utf8_good(text, zero);
        if (to) memcpy(to + length, text, good);
        length += good, text += good, size -= good;
        if (!size) break;
        if (to) memcpy(to + length, instead, 3);
        length += 3, text++, size--;
    }
    if (to) to[length] = 0;
    return length;
}

hd_status hd_attention_set_name(char **to, const char *text, size_t size, hd_err *err)
{
    size_t bytes = clean(NULL, text, size) + 1;
    char *copy = hd_mem_new(bytes);
    if (!copy) return hd_err_nomem(err, bytes);
    clean(copy, text, size);
    hd_mem_free(*to);
    *to = copy;
    return HD_OK;
}

static hd_status set_piece(char **to, const hd_tokeniser *t, int32_t id, hd_err *err)
{
    char number[16];
    const char *piece = t ? hd_tokeniser_piece(t, id) : NULL;
    if (!piece) snprintf(number, sizeof number, "%d", id), piece = number;
    return hd_attention_set_name(to, piece, strlen(piece), err);
}

static hd_status set_names(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err)
{
    hd_status s = set_piece(&a->input[0], q->target_pieces, q->start, err);
    for (size_t i = 0; !s && i < a->sources; i++)
        s = set_piece(&a->source[i], q->source_pieces, q->source[i], err);
    for (size_t i = 0; !s && i < a->targets; i++)
        s = set_piece(&a->output[i], q->target_pieces, q->target[i], err);
    if (!s && q->sentence.text)
        s = hd_attention_set_name(&a->sentence, q->sentence.text, q->sentence.size, err);
    if (!s && q->translation.text)
        s = hd_attention_set_name(&a->translation, q->translation.text, q->translation.size, err);
    a->score = q->score;
    return s;
}

/* -- what a model has -- */

/* The layers of a kind: those of the stages one after the other, each with the heads it has. Where heads
   differ, a layer of fewer shows them by turns. */
typedef struct stock {
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

static stock stock_of(const hd_encdec *m, hd_attention_kind k)
{
    const hd_stages *side = k == HD_ATTENTION_ENCODER ? &m->opt.encoder : &m->opt.decoder;
    stock s = {0};
    for (int i = 0; i < side->count; i++) {
        const hd_stage *x = &side->at[i];
        bool looks =
            k == HD_ATTENTION_CROSS && hd_stage_recurs(x) && m->opt.recurrent.context == HD_CONTEXT_attention;
        if (looks) add_stage(&s, i, 1, m->cells.look.opt.heads);
        if (x->kind == HD_STAGE_transformer) add_stage(&s, i, x->layers, m->opt.heads);
    }
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

/* Whether an offer is a layer's weights, and which: "dec.0.cross.softmax", "dec.stage1.0.self.softmax". */
static bool is_weights(const char *name, int k, const stock *s, size_t *layer)
{
    char start[16] = "", expected[64];
    for (int i = 0; i < HD_STAGES; i++)
        for (size_t l = 0; l < s->count[i]; l++) {
            if (i) snprintf(start, sizeof start, "stage%d.", i);
            snprintf(expected, sizeof expected, "%s.%s%zu.%s.softmax", kinds[k].stack, start, l,
                     kinds[k].sublayer);
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

static hd_status run_with_probe(hd_attention_maps *a, hd_run *r, const hd_encdec *m,
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
    const int32_t from = (int32_t)q->sources, to = (int32_t)q->targets;
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    int32_t *input = hd_host_take(r, q->targets * sizeof *input);
    for (size_t i = 0; input && i < q->targets; i++) input[i] = i ? q->target[i - 1] : q->start;
    hd_encoded memory =
        hd_encdec_encode(r, m, hd_ints(r, q->source, q->sources), hd_seg_of(r, &from, 1, NULL));
    hd_encdec_decode(r, m, hd_ints(r, input, q->targets), hd_seg_of(r, &to, 1, NULL), memory, NULL);
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

hd_status hd_attention_collect(hd_attention_maps *out, hd_run *r, const hd_encdec *m,
                               const hd_attention_ask *ask, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    size_t layers[HD_ATTENTION_KINDS], heads[HD_ATTENTION_KINDS];
    hd_attention_maps a = {0};
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        stock all = stock_of(m, (hd_attention_kind)k);
        layers[k] = all.layers, heads[k] = all.heads;
    }
    hd_status s = check_ids("source", ask->source, ask->sources, o->source_vocab, o->positions, err);
    if (!s) s = check_ids("target", ask->target, ask->targets, o->target_vocab, o->positions, err);
    if (!s) s = check_ids("target's start", &ask->start, 1, o->target_vocab, o->positions, err);
    if (!s) s = hd_attention_init(&a, ask->sources, ask->targets, layers, heads, err);
    if (!s) s = set_names(&a, ask, err);
    if (!s) s = run_with_probe(&a, r, m, ask, err);
    if (s) hd_attention_release(&a);
    *out = a;
    return s;
}

static hd_status check_pick(const hd_attention_pick *p, hd_attention_kind k, size_t layers, size_t heads,
                            hd_err *err)
{
    if (!layers) return hd_err_set(err, HD_EARG, "the model has no %s", kinds[k].title);
    if (p->layer < 0 || (size_t)p->layer > layers)
        return hd_err_set(err, HD_EARG, "there is no layer %d in %s: they are 1 to %zu", p->layer,
                          kinds[k].title, layers);
    if (p->head < 0 || (size_t)p->head > heads)
        return hd_err_set(err, HD_EARG, "there is no head %d in %s: they are 1 to %zu", p->head,
                          kinds[k].title, heads);
    return HD_OK;
}

static hd_attention_kind kind_of(const hd_attention_pick *p)
{
    return p->kind ? (hd_attention_kind)(p->kind - 1) : HD_ATTENTION_CROSS;
}

hd_status hd_attention_check(const hd_encdec *m, const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_kind k = kind_of(pick);
    stock s = stock_of(m, k);
    char side[HD_STAGES_TEXT];
    if (s.layers) return check_pick(pick, k, s.layers, s.heads, err);
    if (k == HD_ATTENTION_CROSS)
        return hd_err_set(err, HD_EARG,
                          "the model has no attention from its decoder to its encoder: it was trained with "
                          "--context %s",
                          hd_context_names[m->opt.recurrent.context]);
    return hd_err_set(err, HD_EARG, "the model has no %s: its %s is %s", kinds[k].title, kinds[k].name,
                      hd_stages_text(k == HD_ATTENTION_ENCODER ? &m->opt.encoder : &m->opt.decoder, side));
}

static void mean_of_heads(float *to, const hd_attention_part *p, size_t layer)
{
    for (size_t i = 0; i < p->rows * p->cols; i++) {
        double sum = 0;
        for (size_t h = 0; h < p->heads; h++) sum += (double)hd_attention_at(p, layer, h)[i];
        to[i] = (float)(sum / (double)p->heads);
    }
}

hd_status hd_attention_map_of(hd_attention_map *out, const hd_attention_maps *a,
                              const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_kind k = kind_of(pick);
    const hd_attention_part *p = &a->part[k];
    hd_status s = check_pick(pick, k, p->layers, p->heads, err);
    if (s) return s;
    hd_attention_map m = {.kind = k,
                          .layer = pick->layer ? (size_t)pick->layer : p->layers,
                          .layers = p->layers,
                          .head = (size_t)pick->head,
                          .heads = p->heads,
                          .rows = p->rows,
                          .cols = p->cols,
                          .row = k == HD_ATTENTION_ENCODER   ? a->source
                                 : k == HD_ATTENTION_DECODER ? a->input
                                                             : a->output,
                          .col = k == HD_ATTENTION_DECODER ? a->input : a->source};
    size_t cells = p->rows * p->cols; /* make_part has seen that it does not overflow */
    m.weight = hd_mem_array(cells, sizeof *m.weight);
    if (!m.weight) return hd_err_nomem(err, cells * sizeof *m.weight);
    if (m.head)
        memcpy(m.weight, hd_attention_at(p, m.layer - 1, m.head - 1), cells * sizeof *m.weight);
    else
        mean_of_heads(m.weight, p, m.layer - 1);
    *out = m;
    return HD_OK;
}

void hd_attention_map_release(hd_attention_map *m)
{
    hd_mem_free(m->weight);
    *m = (hd_attention_map){0};
}

const char *hd_attention_map_title(const hd_attention_map *m, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s, layer %zu of %zu, ", kinds[m->kind].title, m->layer, m->layers);
    size_t at = n < 0 || (size_t)n >= size ? size : (size_t)n;
    if (m->head || m->heads == 1)
        snprintf(buf + at, size - at, "head %zu of %zu", m->head ? m->head : 1, m->heads);
    else
        snprintf(buf + at, size - at, "mean of %zu heads", m->heads);
    if (size) buf[0] = (char)toupper((unsigned char)buf[0]);
    return buf;
}
