/* Collecting attention weights with a probe. Easy to get wrong: a probe is offered [Tq*Tk, H], heads
   innermost; maps have heads outermost. */
#include <stdio.h>
#include <string.h>

#include "nn/frames.h"
#include "nn/pixels.h"
#include "show/attention.h"
#include "show/picture/scene.h"

static const struct {
    const char *stack, *sublayer;
} offered[] = {
#define X(id, name, stack, sublayer, title) {stack ".", sublayer},
    HD_ATTENTION_LIST(X)
#undef X
};

/* Copies a text, if it was given. */
static hd_status set_text(const char **to, hd_arena *memory, hd_line text, hd_err *err)
{
    if (text.text) *to = hd_shown_text(memory, text, err);
    return text.text && !*to ? HD_ENOMEM : HD_OK;
}

/* An encoder-decoder reads a start token and predicts the target; a language model reads the target. */
static hd_status set_names(hd_attention_maps *a, const hd_model *m, const hd_attention_ask *q, hd_err *err)
{
    const bool both = m->type->decode, masks = !a->targets;
    const size_t first = q->second && q->second < a->sources ? q->second : a->sources;
    const struct {
        hd_shown_token *to;
        const int32_t *ids;
        size_t count;
        const hd_tokenizer *pieces;
        hd_line text;
    } list[] = {
        {a->input, &q->start, both, q->target_pieces, {0}},
        {a->source, q->source, first, q->source_pieces, q->source_text[0]},
        {a->source + first, q->source + first, a->sources - first, q->source_pieces, q->source_text[1]},
        {both ? a->output : a->input, q->target, a->targets, q->target_pieces, q->target_text}};
    hd_status s = set_text(&a->sentence, &a->memory, q->sentence, err);
    if (!s) s = set_text(&a->translation, &a->memory, q->translation, err);
    for (size_t i = 0; !s && i < sizeof list / sizeof *list; i++)
        s = hd_shown_tokens(list[i].to, &a->memory, list[i].ids, list[i].count, list[i].pieces, list[i].text,
                            masks, err);
    a->score = q->score;
    a->place = q->place;
    return s;
}

/* -- collecting -- */

static bool wants(const hd_attention_ask *q, int kind)
{
    return !q->kinds || q->kinds & 1u << kind;
}

typedef struct collection {
    hd_attention_maps *into;
    const hd_attention_ask *ask;
    hd_attention_layers has[HD_ATTENTION_KINDS];
    int kind;                           /* of the last offer */
    size_t layer, row;                  /* the layer of the last offer, and the row after it */
    size_t rows;                        /* taken of all layers */
    size_t offered[HD_ATTENTION_KINDS]; /* columns, those that are not shown among them */
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

/* Of those that are offered; what stands for padding is left out. */
static size_t shown_times(const collection *c, int k)
{
    const hd_attention_sound *s = c->ask->sound;
    if (!s || !s->heard || k == HD_ATTENTION_DECODER) return c->offered[k];
    size_t all = (size_t)s->frames->frames[0], heard = s->heard < all ? s->heard : all;
    return (c->offered[k] * heard + all - 1) / all;
}

/* Over a picture and over sound the sizes are those of the first offer. */
static bool size_part(collection *c, hd_run *r, const hd_offer *offer, int k)
{
    hd_attention_part *p = &c->into->part[k];
    const int32_t *rows = hd_seg_lens(r, offer->seg), *cols = hd_seg_lens(r, offer->keys);
    if (p->weight || !rows || !cols) return p->weight;
    c->offered[k] = (size_t)cols[0];
    p->cols = k == HD_ATTENTION_DECODER && c->ask->prompts ? c->ask->targets : shown_times(c, k);
    p->rows = k == HD_ATTENTION_ENCODER ? p->cols : c->ask->targets ? c->ask->targets : (size_t)rows[0];
    p->masked = k == HD_ATTENTION_DECODER && c->ask->targets;
    bool decides =
        k == HD_ATTENTION_CROSS || (k == HD_ATTENTION_ENCODER && !wants(c->ask, HD_ATTENTION_CROSS));
    if (c->ask->sound && decides && !hd_attention_scene_times(c->into, r, p->cols)) return false;
    if (c->ask->picture && k != HD_ATTENTION_DECODER && !hd_attention_scene_grid(c->into, r, offer->keys))
        return false;
    hd_attention_part_make(p, &c->into->memory, &r->err);
    return p->weight;
}

/* weight [columns, heads] of one row; heads that share one get the same. */
static void take_row(const hd_attention_part *p, size_t layer, size_t row, const hd_real *weight,
                     size_t heads)
{
    for (size_t h = 0; h < p->heads; h++) {
        float *to = p->weight + ((layer * p->heads + h) * p->rows + row) * p->cols;
        for (size_t j = 0; j < p->cols; j++) to[j] = (float)weight[j * heads + h % heads];
    }
}

/* A recurrent decoder offers one row at a time. */
static void keep(collection *c, hd_run *r, const hd_offer *offer, int k, size_t layer)
{
    const hd_attention_part *p = &c->into->part[k];
    if (!size_part(c, r, offer, k)) return;
    size_t cols = c->offered[k] ? c->offered[k] : p->cols, rows = hd_rows_of(offer->t) / cols,
           heads = hd_cols_of(offer->t), skip = k == HD_ATTENTION_ENCODER ? 0 : c->ask->prompts,
           all = k == HD_ATTENTION_ENCODER ? cols : skip + p->rows;
    bool goes_on = c->kind == k && c->layer == layer && c->row < all;
    size_t from = goes_on ? c->row : 0;
    if (hd_rows_of(offer->t) != rows * cols || from + rows > all || heads > p->heads) {
        hd_fail(r, HD_ESHAPE, "attention: %s is %zu x %zu, expected %zu x %zu", offer->name,
                hd_rows_of(offer->t), hd_cols_of(offer->t), (all - from) * cols, p->heads);
        return;
    }
    hd_real *weight = hd_host_take(r, hd_count_of(offer->t) * sizeof *weight);
    if (!weight || !hd_read(r, offer->t, weight)) return;
    c->kind = k, c->layer = layer, c->row = from + rows;
    for (size_t i = 0; i < rows; i++) {
        size_t row = from + i - skip; /* below 0: of the prompt */
        if (row >= p->rows) continue;
        take_row(p, layer, row, weight + (i * cols + (k == HD_ATTENTION_DECODER ? skip : 0)) * heads, heads);
        c->rows++;
    }
}

static void collect(void *context, hd_run *r, const hd_offer *offer)
{
    collection *c = context;
    size_t layer;
    if (!offer->keys) hd_attention_keep_experts(c->into, r, offer);
    if (!offer->keys || offer->gradient) return;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        if (is_weights(offer->name, k, &c->has[k], &layer)) keep(c, r, offer, k, layer);
}

static void run_sides(hd_run *r, const hd_model *m, const hd_attention_ask *q)
{
    const int32_t from = (int32_t)q->sources, to = (int32_t)q->targets;
    int32_t *input = hd_host_take(r, q->targets * sizeof *input);
    for (size_t i = 0; input && i < q->targets; i++) input[i] = i ? q->target[i - 1] : q->start;
    const hd_items source = {.ids = hd_ints(r, q->source, q->sources), .seg = hd_seg_of(r, &from, 1, NULL)},
                   target = {.ids = hd_ints(r, input, q->targets), .seg = hd_seg_of(r, &to, 1, NULL)};
    m->type->decode(r, m->self, &source, &target);
}

/* The text is the source of an encoder, the target of a language model. */
static void run_text(hd_run *r, const hd_model *m, const hd_attention_ask *q)
{
    const int32_t *ids = q->sources ? q->source : q->target;
    const size_t count = q->sources ? q->sources : q->targets;
    const int32_t len = (int32_t)count;
    int32_t *type = q->second ? hd_host_take(r, count * sizeof *type) : NULL;
    for (size_t i = 0; type && i < count; i++) type[i] = i >= q->second;
    hd_model_rows(r, m,
                  &(hd_items){.ids = hd_ints(r, ids, count),
                              .type = type ? hd_ints(r, type, count) : NULL,
                              .seg = hd_seg_of(r, &len, 1, NULL)});
}

static void run_sound(hd_run *r, const hd_model *m, const hd_attention_ask *q)
{
    hd_frames *frames = hd_host_take(r, sizeof *frames);
    size_t count = q->prompts + q->targets;
    int32_t *input = hd_host_take(r, (count + 1) * sizeof *input), to = (int32_t)count;
    if (!frames || !input || !hd_frames_send(r, frames, q->sound->frames)) return;
    for (size_t i = 0; i < q->prompts; i++) input[i] = q->prompt[i];
    for (size_t i = 0; i < q->targets; i++) input[q->prompts + i] = i ? q->target[i - 1] : q->start;
    m->type->decode(r, m->self, &(hd_items){.frames = frames},
                    &(hd_items){.ids = hd_ints(r, input, count), .seg = hd_seg_of(r, &to, 1, NULL)});
}

/* A picture has the segments that the model makes of it. */
static void run_picture(hd_run *r, const hd_model *m, const hd_attention_ask *q)
{
    const hd_image_prepare *how = m->type->sizes(m->self).image;
    hd_image im = {0};
    const hd_image *const all[] = {&im};
    hd_pixels *pixels = hd_host_take(r, sizeof *pixels);
    int32_t *input = hd_host_take(r, (q->targets + 1) * sizeof *input), to = (int32_t)q->targets;
    if (!pixels || !input || hd_image_prepared(&im, q->picture, how, &r->err)) return;
    for (size_t i = 0; i < q->targets; i++) input[i] = i ? q->target[i - 1] : q->start;
    hd_pixels_send_images(r, pixels, all, 1, how);
    const hd_items source = {.pixels = pixels};
    if (m->type->decode)
        m->type->decode(r, m->self, &source,
                        &(hd_items){.ids = hd_ints(r, input, q->targets), .seg = hd_seg_of(r, &to, 1, NULL)});
    else
        hd_model_rows(r, m, &source);
    hd_image_release(&im);
}

static hd_status run_with_probe(hd_attention_maps *a, hd_run *r, const hd_model *m, const hd_attention_ask *q,
                                hd_err *err)
{
    size_t wanted = 0;
    collection c = {.into = a, .ask = q, .kind = -1};
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        if (wants(q, k)) c.has[k] = m->type->attention(m->self, (hd_attention_kind)k);
    const bool encodes = wants(q, HD_ATTENTION_ENCODER) || !m->type->decode;
    const hd_probe probe = {.take = collect, .context = &c, .within = encodes ? NULL : "dec"},
                   *before = r->probe;
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    (q->picture ? run_picture : q->sound ? run_sound : m->type->decode ? run_sides : run_text)(r, m, q);
    r->probe = before;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) wanted += a->part[k].layers * a->part[k].rows;
    hd_status s = hd_run_status(r, err);
    if (!s && c.rows != wanted)
        s = hd_err_set(err, HD_EMISSING, "attention: the model offered %zu of %zu rows", c.rows, wanted);
    return s;
}

/* The text of an encoder is the source, that of a language model the target; an encoder-decoder has both. */
static hd_status check_ask(const hd_model *m, const hd_attention_ask *q, hd_err *err)
{
    static const char of[] = "attention: ";
    const hd_model_sizes n = m->type->sizes(m->self);
    const bool both = m->type->decode;
    const size_t target_vocab = both ? n.target_vocab : n.vocab;
    hd_status s = HD_OK;
    if (q->picture && !n.image)
        return hd_err_set(err, HD_EARG, "attention: the model reads text, not pictures");
    if (!q->picture && n.image)
        return hd_err_set(err, HD_EARG, "attention: the model reads pictures, not text");
    if (!q->sound != !n.sound)
        return hd_err_set(err, HD_EARG, "attention: the model %s sound",
                          n.sound ? "reads nothing but" : "does not read");
    if (m->type->attends != HD_ATTENTION_DECODER && !q->picture && !q->sound)
        s = hd_shown_check(of, both ? "source" : "text", q->source, q->sources, n.vocab, n.positions, err);
    if (!s && q->prompts)
        s = hd_shown_check(of, "prompt", q->prompt, q->prompts, target_vocab, n.positions - q->targets, err);
    for (size_t i = 0; !s && i < q->alignings; i++) {
        const hd_attention_layers cross = m->type->attention(m->self, HD_ATTENTION_CROSS);
        const hd_attention_head *a = &q->aligned[i];
        if (a->layer < 0 || (size_t)a->layer >= cross.layers || a->head < 0 || (size_t)a->head >= cross.heads)
            s = hd_err_set(err, HD_EARG, "attention: there is no head %d in layer %d", a->head, a->layer);
    }
    if (!s && m->type->attends != HD_ATTENTION_ENCODER && (both || !q->picture))
        s = hd_shown_check(of, both ? "target" : "text", q->target, q->targets, target_vocab, n.positions,
                           err);
    if (!s && both) s = hd_shown_check(of, "target's start", &q->start, 1, target_vocab, n.positions, err);
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
        layers[k] = wants(ask, k) ? all.layers : 0, heads[k] = all.heads;
    }
    if (!s) s = check_ask(m, ask, err);
    if (!s && (ask->picture || ask->sound)) {
        s = hd_attention_scene_begin(&a, m, ask, layers, heads, err);
        if (!s) s = run_with_probe(&a, r, m, ask, err);
        if (!s) s = hd_attention_scene_names(&a, ask, err);
        if (s) hd_attention_release(&a);
        *out = a;
        return s;
    }
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

/* -- parts of a translation -- */

static hd_line text_of(const char *text, hd_span s)
{
    return (hd_line){text + s.begin, s.end - s.begin};
}

static hd_attention_ask ask_part(const hd_attention_of *of, size_t part)
{
    const hd_translation *found = of->found;
    const hd_hypothesis *h = &found->hypothesis[0];
    size_t source = part ? found->source_end[part - 1] : 0, target = part ? h->end[part - 1] : 0;
    hd_attention_ask ask = {.source = found->source + source,
                            .sources = found->source_end[part] - source,
                            .start = hd_tokenizer_special(of->by->tokenizer[1]).start,
                            .target = h->ids + target,
                            .targets = h->end[part] - target,
                            .source_pieces = of->by->tokenizer[0],
                            .target_pieces = of->by->tokenizer[1],
                            .score = h->scores[part],
                            .place = {of->number, part + 1, found->parts},
                            .kinds = of->kinds};
    if (!of->line.text) return ask;
    ask.sentence = ask.source_text[0] = text_of(of->line.text, found->part[part]);
    ask.translation = text_of(h->text, h->part[part]);
    ask.target_text = of->prefix;
    return ask;
}

hd_status hd_attention_parts(hd_run *r, const hd_attention_of *of, hd_attention_take *take, void *context,
                             hd_err *err)
{
    const hd_model model = of->by->model;
    hd_status s = HD_OK;
    for (size_t part = 0; !s && of->found->count && part < of->found->parts; part++) {
        hd_attention_maps maps;
        const hd_attention_ask ask = ask_part(of, part);
        if (!ask.targets) continue;
        s = hd_attention_collect(&maps, r, &model, &ask, err);
        if (!s) s = take(context, part, &maps, err);
        hd_attention_release(&maps);
    }
    return s;
}
