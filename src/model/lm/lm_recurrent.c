/* Recurrent language models: token vectors, stacked cells, output layer, dropout between all of them. State
   is carried in one STATE slot a layer; nothing flows back into it. */
#include "base/mem.h"
#include "model/formula.h"
#include "model/lm/lm_parts.h"
#include "model/prepare.h"
#include "model/stepper_parts.h"
#include "nn/recurrent.h"

typedef struct recurrent {
    hd_params params;
    hd_lm_words words;
    hd_recurrent layers;
} recurrent;

static void drop(hd_lm *m)
{
    recurrent *x = m->model;
    hd_params_release(&x->params);
    hd_mem_free(x);
}

static hd_cell cell_of(hd_lm_kind kind)
{
    return kind == HD_LM_gru ? HD_GRU : kind == HD_LM_lstm ? HD_LSTM : HD_RNN;
}

static hd_status make(hd_lm *m, hd_backend *b, hd_err *err)
{
    const hd_lm_opt *o = &m->opt;
    hd_recurrent_opt r = {.cell = cell_of(o->kind),
                          .act = o->stack.act,
                          .in = o->stack.width,
                          .width = o->stack.width,
                          .layers = o->stack.layers,
                          .dropout = o->stack.dropout,
                          .name = "rnn"};
    hd_status s = hd_lm_check_width(o, err);
    if (s) return s;
    if (o->kind == HD_LM_rnn && o->stack.act != HD_IDENTITY && o->stack.act != HD_tanh &&
        o->stack.act != HD_sigmoid && o->stack.act != HD_relu)
        return hd_err_set(err, HD_EARG, "rnn: the cell is tanh, sigmoid or relu, not %s",
                          hd_unary_name(o->stack.act));
    if (o->stack.layers < 1 || o->stack.layers > HD_RECURRENT_LAYERS)
        return hd_err_set(err, HD_EARG, "%s: %d layers; it must be 1 to %d", hd_lm_names[o->kind],
                          o->stack.layers, HD_RECURRENT_LAYERS);
    recurrent *x = m->model = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    hd_params_init(&x->params, b);
    x->words = hd_lm_words_make(&x->params, o, o->stack.width, o->stack.width);
    x->layers = hd_recurrent_make(&x->params, &r);
    m->params = &x->params;
    return HD_OK;
}

static hd_status state(hd_cache **out, const hd_lm *m, size_t items, hd_err *err)
{
    hd_slot_kind kinds[HD_RECURRENT_LAYERS];
    for (int l = 0; l < m->opt.stack.layers; l++) kinds[l] = HD_STATE;
    return hd_cache_new(out, kinds, (size_t)m->opt.stack.layers, items, err);
}

static hd_rows embedded(hd_run *r, const hd_lm *m, const int32_t *ids, const hd_seg *seg)
{
    const recurrent *x = m->model;
    hd_front f =
        hd_tokens_make(NULL, &(hd_tokens_opt){.shared = x->words.table, .dropout = m->opt.stack.dropout});
    return hd_front_rows(r, &f, &(hd_items){.seg = seg, .ids = ids});
}

/* Rows before the output layer. */
static hd_rows hidden(hd_run *r, const hd_lm *m, const int32_t *ids, const hd_seg *seg, hd_cache *cache)
{
    const recurrent *x = m->model;
    hd_rows h = hd_recurrent_of(r, &x->layers, embedded(r, m, ids, seg), NULL, NULL, hd_cache_slot(cache, 0));
    return h.t ? hd_rows_with(h, hd_dropout(r, h.t, m->opt.stack.dropout, h.seg)) : h;
}

static hd_tensor *loss_of(hd_run *r, const hd_lm *m, hd_rows h, const int32_t *target, const hd_loss_opt *opt)
{
    const hd_dense *out = &((const recurrent *)m->model)->words.out;
    return hd_linear_cross_entropy(r, h.t, &out->w->t, &out->b->t, target, opt);
}

static hd_tensor *loss(hd_run *r, const hd_lm *m, const hd_lm_batch *b, hd_cache *cache,
                       const hd_loss_opt *opt)
{
    return loss_of(r, m, hidden(r, m, b->ids, b->seg, cache), b->target, opt);
}

static hd_tensor *logits(hd_run *r, const hd_lm *m, hd_rows h)
{
    const recurrent *x = m->model;
    const hd_dense *out = &x->words.out;
    hd_tensor *y = hd_linear_output(r, h.t, &out->w->t, out->b ? &out->b->t : NULL);
    return hd_probe_offer(r, "logits", y, h.seg);
}

/* -- a token a step -- */

static hd_tensor *forward(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg)
{
    return hd_stepping_end(r, s, logits(r, s->model, hidden(r, s->model, ids, seg, s->cache)));
}

/* Only the last rows of the prompts meet the output layer. */
static hd_tensor *read(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_seg *seg = hd_seg_of(r, a->len, a->items, NULL);
    hd_rows h = hidden(r, s->model, hd_ints(r, a->ids, a->rows), seg, s->cache);
    h = (hd_rows){hd_reduce(r, h.t, seg, HD_LAST), hd_single_rows(r, a->items)};
    return hd_stepping_end(r, s, logits(r, s->model, h));
}

static hd_stepping_ask ask_of(const hd_lm *m, const int32_t *ids, const int32_t *len, size_t items)
{
    return (hd_stepping_ask){"prompt", ids, len, items, m->opt.vocab, INT32_MAX};
}

static hd_status wait(hd_stepper *out, const int32_t *ids, const int32_t *len, size_t n, hd_err *err)
{
    hd_stepping *s = out->context;
    const hd_stepping_ask q = ask_of(s->model, ids, len, n);
    return hd_stepping_wait(out, s, &q, err);
}

static hd_status stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err)
{
    (void)start;
    const hd_lm *m = self;
    const hd_stepping_ask q = ask_of(m, ids, len, items);
    hd_stepping *s = NULL;
    hd_status st = hd_stepping_new(&s, m, &q, err);
    if (!st) st = state(&s->cache, m, 0, err);
    if (st) return hd_stepping_free(s), st;
    s->serial = m->params->serial;
    s->read = read, s->forward = forward;
    *out = hd_stepping_stepper(s, m->opt.vocab);
    out->wait = wait;
    return HD_OK;
}

static double flops(const void *self, double windows, double length, double outputs)
{
    (void)outputs;
    const hd_lm *m = self;
    double gates = (double)hd_cell_gates(cell_of(m->opt.kind)), d = (double)m->opt.stack.width;
    return 2 * windows * length * d * (m->opt.stack.layers * gates * 2 * d + (double)m->opt.vocab);
}

/* Dropout stands behind the last layer, too. */
static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    const hd_lm *m = self;
    if (layers == m->opt.stack.layers) return hidden(r, m, in->ids, in->seg, NULL);
    hd_recurrent first = ((const recurrent *)m->model)->layers;
    first.layers = layers;
    return hd_recurrent_of(r, &first, embedded(r, m, in->ids, in->seg), NULL, NULL, NULL);
}

static const recurrent *cells_of(const void *self)
{
    return ((const hd_lm *)self)->model;
}

static size_t width(const void *self, int layer)
{
    (void)layer;
    return ((const hd_lm *)self)->opt.stack.width;
}

static hd_param *table(const void *self)
{
    return cells_of(self)->words.table;
}

static void prepare(hd_preparing *p, const void *self)
{
    const recurrent *x = cells_of(self);
    hd_prepare_recurrent(p, &x->layers);
    hd_prepare_beside(p, x->words.out.w);
}

static void describe(const void *self, hd_details *to)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_details_text(to, "model", hd_lm_names[o->kind]);
    hd_details_whole(to, "layers", (uint64_t)o->stack.layers);
    hd_details_whole(to, "context", o->context);
    hd_details_whole(to, "width", o->stack.width);
}

static const char *formula(const void *self, const char *name)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    const hd_stage_kind kinds[] = {
        [HD_RNN] = HD_STAGE_rnn, [HD_GRU] = HD_STAGE_gru, [HD_LSTM] = HD_STAGE_lstm};
    return hd_formula_cell(&(hd_stage){.kind = kinds[cell_of(o->kind)]}, o->stack.act, name);
}

#define TYPE(NAME)                                                                                        \
    {                                                                                                     \
        HD_LM_COMMON, .name = NAME, .describe = describe, .rows = rows, .width = width, .table = table,   \
                      .stepper = stepper, .prepare = prepare, .flops = flops, .formula = formula, .lm = { \
                          .make = make,                                                                   \
                          .free = drop,                                                                   \
                          .loss = loss,                                                                   \
                          .state = state,                                                                 \
                          .loss_of = loss_of                                                              \
                      }                                                                                   \
    }
const hd_model_type hd_model_rnn = TYPE("rnn"), hd_model_gru = TYPE("gru"), hd_model_lstm = TYPE("lstm");
