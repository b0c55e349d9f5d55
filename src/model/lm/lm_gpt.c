/* GPT as a language model. A text can be longer than its positions: when a hypothesis has used them up, the
   later half of what it saw is read again into a new cache, so that a step costs about two on average and
   every token but a text's first ones has at least half of the context. Easy to get wrong: what a hypothesis
   forgets, and when, must not depend on those beside it. Since all are read again together, they look
   whether they must only every quarter of the context, and not each at a time of its own. */
#include <string.h>

#include "base/mem.h"
#include "model/gpt.h"
#include "model/formula.h"
#include "model/lm/lm_parts.h"
#include "model/prepare.h"

static void drop(hd_lm *m)
{
    hd_gpt_free(m->model);
}

static hd_status make(hd_lm *m, hd_backend *b, hd_err *err)
{
    const hd_lm_opt *o = &m->opt;
    if (!(o->stack.eps > 0)) m->opt.stack.eps = 1e-5f;
    hd_gpt_opt g = {.stack = o->stack,
                    .vocab = o->vocab,
                    .positions = o->context,
                    .embedding_dropout = o->embedding_dropout,
                    .untied = !o->tied};
    if (o->stack.act == HD_IDENTITY) g.stack.act = HD_gelu_tanh;
    hd_gpt *gpt = NULL;
    hd_status s = hd_gpt_make(&gpt, b, &g, err);
    if (s) return s;
    m->model = gpt;
    m->params = &gpt->params;
    return HD_OK;
}

static hd_tensor *loss(hd_run *r, const hd_lm *m, const hd_lm_batch *b, hd_cache *state,
                       const hd_loss_opt *opt)
{
    (void)state;
    return hd_gpt_loss(r, m->model, hd_gpt_forward(r, m->model, b->ids, b->seg, NULL), b->target, opt);
}

static hd_tensor *loss_of(hd_run *r, const hd_lm *m, hd_rows x, const int32_t *target, const hd_loss_opt *opt)
{
    return hd_gpt_loss(r, m->model, x, target, opt);
}

static double flops(const void *self, double windows, double length, double outputs)
{
    (void)outputs;
    return hd_gpt_flops(((const hd_lm *)self)->model, (size_t)windows, (size_t)length);
}

static const hd_gpt *gpt_of(const void *self)
{
    return ((const hd_lm *)self)->model;
}

static hd_rows rows(hd_run *r, const void *self, int layers, const int32_t *ids, const int32_t *type,
                    const hd_seg *seg)
{
    (void)type;
    return hd_gpt_rows_at_layer(r, gpt_of(self), layers, ids, seg);
}

static size_t width(const void *self, int layer)
{
    (void)layer;
    return ((const hd_lm *)self)->opt.stack.width;
}

static hd_param *table(const void *self)
{
    return gpt_of(self)->embedding.table;
}

/* -- a token a step, for as long as one likes -- */

typedef struct turning {
    const hd_lm *model;
    hd_stepper inner;
    int32_t *start, *source; /* [items] */
    int32_t *seen;           /* [live, positions]: what is in the cache, its first tokens first */
    int32_t *used;           /* [live]: how many those are */
    size_t live;
    size_t steps;
    bool raw;
} turning;

static void turning_free(void *context)
{
    turning *s = context;
    if (!s) return;
    hd_stepper_release(&s->inner);
    hd_mem_free(s->start);
    hd_mem_free(s->seen);
    hd_mem_free(s->used);
    hd_mem_free(s);
}

/* Steps between two looks; there is one more behind the first step, which reads the prompts. */
static size_t stride(const hd_lm *m)
{
    return m->opt.context < 8 ? 1 : m->opt.context / 4;
}

/* Those that cannot take as many tokens as come before the next look keep the last half of their context.
   Whether there are any. */
static bool forget(turning *s)
{
    size_t room = s->model->opt.context, keep = room / 2;
    size_t come = stride(s->model) - s->steps % stride(s->model);
    bool any = false;
    for (size_t i = 0; i < s->live; i++) {
        int32_t *seen = s->seen + i * room;
        size_t used = (size_t)s->used[i];
        if (used + come <= room) continue;
        memmove(seen, seen + used - keep, keep * sizeof *seen);
        s->used[i] = (int32_t)keep;
        any = true;
    }
    return any;
}

/* A new inner stepper that has read nothing yet: its prompts are what was seen, and then ids[i]. */
static hd_status begin_again(turning *s, const int32_t *ids, hd_err *err)
{
    size_t room = s->model->opt.context, rows = 0;
    int32_t *all = hd_mem_array(s->live * (room + 1), sizeof *all);
    if (!all) return hd_err_nomem(err, s->live * (room + 1) * sizeof *all);
    int32_t *len = all + s->live * room;
    for (size_t i = 0; i < s->live; i++) {
        memcpy(all + rows, s->seen + i * room, (size_t)s->used[i] * sizeof *all);
        rows += (size_t)s->used[i];
        all[rows++] = ids[i];
        len[i] = s->used[i] + 1;
    }
    hd_stepper next = {0};
    hd_status st = hd_gpt_stepper(&next, s->model->model, all, len, s->live, err);
    hd_mem_free(all);
    if (st) return st;
    hd_stepper_release(&s->inner);
    s->inner = next;
    return HD_OK;
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    turning *s = context;
    size_t room = s->model->opt.context;
    if (live != s->live) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, %zu are alive", live, s->live);
    bool look = s->steps == 1 || (s->steps && s->steps % stride(s->model) == 0);
    if (look && forget(s) && begin_again(s, ids, &r->err)) return NULL;
    s->steps++;
    *s->inner.raw = s->raw;
    hd_tensor *y = s->inner.step(r, s->inner.context, ids, live);
    for (size_t i = 0; y && i < live; i++) s->seen[i * room + (size_t)s->used[i]++] = ids[i];
    return y;
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    turning *s = context;
    size_t room = s->model->opt.context;
    for (size_t i = 0; i < n; i++)
        if (parent[i] < 0 || (size_t)parent[i] >= s->live)
            return hd_fail(r, HD_EARG, "pick: there is no hypothesis %d among %zu", parent[i], s->live),
                   HD_EARG;
    int32_t *seen = hd_mem_array(n * room, sizeof *seen), *used = hd_mem_array(n, sizeof *used);
    hd_status st = seen && used ? s->inner.pick(r, s->inner.context, parent, n)
                                : hd_err_nomem(&r->err, n * room * sizeof *seen);
    if (st) return hd_mem_free(seen), hd_mem_free(used), st;
    for (size_t i = 0; i < n; i++) {
        size_t from = (size_t)parent[i];
        used[i] = s->used[from];
        memcpy(seen + i * room, s->seen + from * room, (size_t)used[i] * sizeof *seen);
    }
    hd_mem_free(s->seen);
    hd_mem_free(s->used);
    s->seen = seen;
    s->used = used;
    s->live = n;
    return HD_OK;
}

/* All of a prompt but its last token, or as much of its end as fits. */
static void read_prompts(turning *s, const int32_t *ids, const int32_t *len)
{
    size_t room = s->model->opt.context;
    for (size_t i = 0; i < s->live; ids += len[i++]) {
        size_t before = (size_t)len[i] - 1, used = before < room ? before : room - 1;
        memcpy(s->seen + i * room, ids + before - used, used * sizeof *ids);
        s->used[i] = (int32_t)used;
        s->start[i] = ids[before];
        s->source[i] = len[i];
    }
}

static hd_status stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err)
{
    (void)start;
    const hd_lm *m = self;
    for (size_t i = 0; i < items; i++)
        if (len[i] < 1) return hd_err_set(err, HD_EARG, "prompt %zu is empty", i);
    turning *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    *s = (turning){.model = m, .live = items};
    s->start = hd_mem_array(2 * items, sizeof *s->start);
    s->seen = hd_mem_array(items * m->opt.context, sizeof *s->seen);
    s->used = hd_mem_array(items, sizeof *s->used);
    hd_status st =
        s->start && s->seen && s->used ? HD_OK : hd_err_nomem(err, items * m->opt.context * sizeof *s->seen);
    if (!st) {
        s->source = s->start + items;
        read_prompts(s, ids, len);
        st = begin_again(s, s->start, err);
    }
    if (st) return turning_free(s), st;
    *out = (hd_stepper){.vocab = m->opt.vocab,
                        .items = items,
                        .start = s->start,
                        .source = s->source,
                        .step = step,
                        .raw = &s->raw,
                        .pick = pick,
                        .free = turning_free,
                        .context = s};
    return HD_OK;
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_gpt(p, gpt_of(self));
}

static void describe(const void *self, hd_details *to)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_details_text(to, "model", hd_lm_names[o->kind]);
    hd_details_whole(to, "layers", (uint64_t)o->stack.layers);
    hd_details_whole(to, "context", o->context);
    hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    hd_details_whole(to, "width", o->stack.width);
}

static hd_attention_layers attention(const void *self, hd_attention_kind k)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_attention_layers a = {.bare = true};
    if (k == HD_ATTENTION_DECODER) hd_attention_layers_add(&a, 0, o->stack.layers, o->stack.heads);
    return a;
}

static const char *formula(const void *self, const char *name)
{
    if (hd_formula_is(name, "X")) return "emb + position";
    if (hd_formula_is(name, "logits")) return "y E^T: y is the row above, E the table of tokens";
    return hd_formula_block(((const hd_lm *)self)->opt.stack.pre_norm, name);
}

const hd_model_type hd_model_gpt = {
    HD_LM_COMMON,
    .name = "gpt",
    .describe = describe,
    .rows = rows,
    .width = width,
    .table = table,
    .stepper = stepper,
    .prepare = prepare,
    .attention = attention,
    .attends = HD_ATTENTION_DECODER,
    .formula = formula,
    .flops = flops,
    .lm = {.make = make, .free = drop, .loss = loss, .loss_of = loss_of},
};
