/* The feed-forward network over a window (Bengio): the vectors of the tokens before, side by side, the
   nearest first; one hidden layer; the output layer. */
#include "base/mem.h"
#include "model/formula.h"
#include "model/lm/lm_parts.h"
#include "model/prepare.h"
#include "model/stepper_parts.h"

typedef struct window {
    hd_params params;
    hd_lm_words words;
    hd_dense hidden;
    hd_unary act;
    size_t inner;
} window;

static void drop(hd_lm *m)
{
    window *x = m->model;
    hd_params_release(&x->params);
    hd_mem_free(x);
}

static hd_status make(hd_lm *m, hd_backend *b, hd_err *err)
{
    const hd_lm_opt *o = &m->opt;
    hd_status s = hd_lm_check_order(o, err);
    if (!s) s = hd_lm_check_width(o, err);
    if (s) return s;
    window *x = m->model = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    hd_params_init(&x->params, b);
    x->act = o->stack.act == HD_IDENTITY ? HD_tanh : o->stack.act;
    x->inner = o->stack.inner ? o->stack.inner : o->stack.width;
    x->hidden = hd_dense_make(&x->params, (size_t)(o->order - 1) * o->stack.width, x->inner,
                              &(hd_dense_opt){.init = {HD_INIT_TORCH, 1, 0}}, "hidden");
    x->words = hd_lm_words_make(&x->params, o, o->stack.width, x->inner);
    m->params = &x->params;
    return HD_OK;
}

/* Rows before the output layer. */
static hd_tensor *hidden(hd_run *r, const hd_lm *m, const int32_t *before, const hd_seg *seg)
{
    const window *x = m->model;
    hd_tensor *token[HD_LM_ORDER_MOST];
    size_t count = (size_t)m->opt.order - 1;
    if (!seg || !before) return NULL;
    for (size_t k = 0; k < count; k++) {
        token[k] = hd_embed(r, &x->words.table->t, before + k * seg->rows, seg->rows, 1);
        if (!token[k]) return NULL;
    }
    hd_tensor *all = count > 1 ? hd_concat_cols(r, token, count) : token[0];
    all = hd_dropout(r, hd_probe_offer(r, "X", all, seg), m->opt.stack.dropout, seg);
    hd_tensor *h = hd_probe_offer(r, "h", hd_dense_of(r, &x->hidden, all, x->act), seg);
    return hd_dropout(r, h, m->opt.stack.dropout, seg);
}

static hd_param *table(const void *self)
{
    return ((const window *)((const hd_lm *)self)->model)->words.table;
}

static hd_tensor *loss(hd_run *r, const hd_lm *m, const hd_lm_batch *b, hd_cache *state,
                       const hd_loss_opt *opt)
{
    const hd_dense *out = &((const window *)m->model)->words.out;
    (void)state;
    return hd_linear_cross_entropy(r, hidden(r, m, b->before, b->seg), &out->w->t, &out->b->t, b->target,
                                   opt);
}

static hd_tensor *logits(hd_run *r, const void *model, const int32_t *tokens, size_t live)
{
    const hd_lm *m = model;
    const window *x = m->model;
    const hd_seg *seg = hd_single_rows(r, live);
    hd_tensor *h = hidden(r, m, hd_lm_before(r, m, tokens, live), seg);
    hd_tensor *y = hd_dense_of(r, &x->words.out, h, HD_IDENTITY);
    return hd_probe_offer(r, "logits", y, seg);
}

static hd_status stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err)
{
    (void)start;
    return hd_lm_looking_stepper(out, self, logits, ids, len, items, err);
}

static double flops(const void *self, double windows, double length, double outputs)
{
    (void)outputs;
    const hd_lm *m = self;
    const window *x = m->model;
    double in = (double)(m->opt.order - 1) * (double)m->opt.stack.width, inner = (double)x->inner;
    return 2 * windows * length * inner * (in + (double)m->opt.vocab);
}

static void prepare(hd_preparing *p, const void *self)
{
    const window *x = ((const hd_lm *)self)->model;
    hd_prepare(p, x->hidden.w);
    hd_prepare_beside(p, x->words.out.w);
}

static void describe(const void *self, hd_details *to)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_details_text(to, "model", hd_lm_names[o->kind]);
    hd_details_whole(to, "order", (uint64_t)o->order);
    hd_details_whole(to, "width", o->stack.width);
}

static const char *formula(const void *self, const char *name)
{
    (void)self;
    if (hd_formula_is(name, "h")) return "act(X W + b)";
    return hd_formula_is(name, "X") ? "rows of the last tokens in the table, the nearest first" : NULL;
}

const hd_model_type hd_model_ffnn = {
    HD_LM_COMMON,
    .name = "ffnn",
    .describe = describe,
    .table = table,
    .stepper = stepper,
    .prepare = prepare,
    .formula = formula,
    .flops = flops,
    .lm = {.make = make, .free = drop, .loss = loss, .looks_back = true},
};
