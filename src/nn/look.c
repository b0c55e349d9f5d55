/* Looks at a memory. Easy to get wrong: hypotheses of one sentence share its rows, so per-hypothesis data
   must not be stored beside those rows unless each one has its own copy. Weights that a loss reads come out
   of the fused kernel as further columns of the context: the values get one-hot columns of their positions,
   or columns of ones from there on, which give sums of weights. */
#include "nn/look.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "nn/block/heads.h"

const char *const hd_scoring_names[HD_SCORINGS + 1] = {
#define X(name, text) #name,
    HD_SCORING_LIST(X)
#undef X
};

const char *const hd_locality_names[HD_LOCALITIES + 1] = {
#define X(NAME, name, text) name,
    HD_LOCALITY_LIST(X)
#undef X
};

static hd_tensor *value(hd_param *p)
{
    return p ? &p->t : NULL;
}

static hd_dense dense(hd_params *p, const hd_look_opt *o, size_t in, size_t out, bool bias, const char *what)
{
    char name[160];
    snprintf(name, sizeof name, "%s.%s", o->name, what);
    return hd_dense_make(p, in, out, &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}, .no_bias = !bias}, name);
}

static bool learned(hd_scoring s)
{
    return s == HD_SCORING_additive || s == HD_SCORING_mlp;
}

static void fail(hd_params *p, const char *text)
{
    if (!p->err.status) hd_err_set(&p->err, HD_EARG, "attention: %s", text);
}

static void check(hd_params *p, const hd_look_opt *o)
{
    size_t keys = o->project || learned(o->score) ? o->width : o->memory;
    if (o->heads < 1 || keys % (size_t)o->heads) fail(p, "the heads do not divide the width of the keys");
    if (!learned(o->score) && o->score != HD_SCORING_bilinear && !o->project && o->query != o->memory)
        fail(p, "dot and scaled scores need decoder and encoder states of the same width: add "
                "--attention-projections, or use --attention-score bilinear or additive");
    if (o->score == HD_SCORING_mlp && (o->heads > 1 || o->locality != HD_LOCALITY_GLOBAL))
        fail(p, "the mlp score has one head and sees all keys");
    if (o->locality != HD_LOCALITY_GLOBAL && o->window < 1) fail(p, "local attention needs a window");
    if (o->weighed && o->heads > 1)
        fail(p, "--attention-penalty and --attention-order need attention of one head");
}

hd_look hd_look_make(hd_params *p, const hd_look_opt *o)
{
    hd_look l = {.opt = *o};
    bool project = o->project || o->heads > 1, own = learned(o->score);
    size_t keys = own || project ? o->width : o->memory;
    l.opt.name = NULL, l.opt.project = project;
    check(p, &l.opt);
    if (p->err.status) return l;
    if (own || project || o->score == HD_SCORING_bilinear)
        l.q = dense(p, o, o->query, keys, own || project, "query");
    if (own || project) l.k = dense(p, o, o->memory, o->width, true, "key");
    if (project) l.v = dense(p, o, o->memory, o->width, true, "value");
    if (own)
        l.score = hd_param_add(p, 1, o->width, (hd_init){HD_INIT_XAVIER, 1, 0}, "%s.score.weight", o->name);
    if (o->score == HD_SCORING_mlp) l.hidden = dense(p, o, o->width, o->width, true, "hidden");
    if (o->locality == HD_LOCALITY_PREDICTED) {
        l.place = dense(p, o, o->query, o->width, false, "place");
        l.sure = dense(p, o, o->width, 1, false, "sure");
    }
    if (o->locality == HD_LOCALITY_MONOTONE)
        l.places = hd_param_hidden(p, o->positions, 1, (hd_init){HD_INIT_TABLE, 0, 0});
    if (o->gate) l.gate = dense(p, o, o->query, 1, true, "gate");
    if (o->weighed) l.marks = hd_param_hidden(p, o->weighed, o->weighed, (hd_init){HD_INIT_TABLE, 0, 0});
    l.out = project ? o->width : o->memory;
    return l;
}

static hd_status fill_marks(hd_params *p, const hd_look *l, hd_err *err)
{
    size_t n = l->opt.weighed;
    hd_real *table = hd_mem_array(n * n, sizeof *table);
    if (!table) return hd_err_nomem(err, n * n * sizeof *table);
    memset(table, 0, n * n * sizeof *table);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < (l->opt.summed ? n : i + 1); k++) table[i * n + k] = 1;
    hd_status s = hd_params_set(p, l->marks, table);
    hd_mem_free(table);
    return s;
}

hd_status hd_look_fill(hd_params *p, const hd_look *l, hd_err *err)
{
    hd_status marked = l->marks ? fill_marks(p, l, err) : HD_OK;
    if (marked || !l->places) return marked;
    size_t n = l->opt.positions;
    hd_real *table = hd_mem_array(n, sizeof *table);
    if (!table) return hd_err_nomem(err, n * sizeof *table);
    for (size_t i = 0; i < n; i++) table[i] = (hd_real)i;
    hd_status s = hd_params_set(p, l->places, table);
    hd_mem_free(table);
    return s;
}

static hd_tensor *mapped(hd_run *r, const hd_dense *d, hd_tensor *x)
{
    return d->w ? hd_dense_of(r, d, x, HD_IDENTITY) : x;
}

/* [R, L] of the rows of a memory. */
static hd_tensor *marks_of(hd_run *r, const hd_look *l, hd_rows memory)
{
    if (!memory.t) return NULL;
    size_t most = memory.seg->longest;
    if (most > l->opt.weighed)
        return hd_fail(
            r, HD_ESHAPE,
            "attention: a memory of %zu rows is too long for --attention-penalty or --attention-order: %zu",
            most, l->opt.weighed);
    return hd_slice_cols(r, hd_gather(r, value(l->marks), memory.seg->pos, hd_rows_of(memory.t), 1), 0, most);
}

hd_seen hd_look_memory(hd_run *r, const hd_look *l, hd_rows memory, hd_slot *slot)
{
    hd_seen m = {memory, memory, NULL, NULL};
    if (!slot || !slot->filled) {
        m.k.t = mapped(r, &l->k, memory.t);
        m.v.t = mapped(r, &l->v, memory.t);
    }
    if (slot) m.k = hd_slot_fixed(r, slot, m.k), m.v = hd_slot_fixed(r, slot + 1, m.v);
    if (slot && l->opt.score == HD_SCORING_mlp)
        m.k = hd_slot_spread(r, slot), m.v = hd_slot_spread(r, slot + 1);
    if (l->opt.locality == HD_LOCALITY_PREDICTED && m.k.t)
        m.length = hd_reduce(r, hd_ones(r, hd_rows_of(m.k.t), 1), m.k.seg, HD_SUM);
    if (l->marks && r->training && !slot && (m.marks = marks_of(r, l, memory)))
        m.v.t = hd_concat_cols(r, (hd_tensor *[]){m.v.t, m.marks}, 2);
    return m;
}

static hd_tensor *mlp(hd_run *r, const hd_look *l, hd_rows q, const hd_seen *m)
{
    if (!q.t || !m->k.t || !m->v.t) return NULL;
    hd_tensor *s = hd_apply(r, hd_add(r, hd_broadcast(r, q.t, m->k.seg), m->k.t), HD_tanh);
    s = hd_linear(r, hd_dense_of(r, &l->hidden, s, HD_tanh), value(l->score), NULL, HD_IDENTITY);
    hd_probe_offer_scores(r, "scores", s, q.seg, m->k.seg);
    s = hd_segment_softmax(r, s, m->k.seg);
    hd_probe_offer_scores(r, "softmax", s, q.seg, m->k.seg);
    s = hd_dropout(r, s, l->opt.dropout, m->k.seg);
    return hd_reduce(r, hd_mul(r, m->v.t, s), m->k.seg, HD_SUM);
}

hd_tensor *hd_look_places(hd_run *r, const hd_look *l, const int32_t *pos, size_t rows)
{
    /* in bf16 position 257 would be 256 */
    return l->places ? hd_gather(r, hd_reals_of(r, value(l->places)), pos, rows, 1) : NULL;
}

/* The position each query looks at, [Rq, 1]; NULL: all. */
static hd_tensor *center(hd_run *r, const hd_look *l, hd_rows q, const hd_seen *m, hd_tensor *places)
{
    if (!l->place.w) return places;
    hd_tensor *p = hd_dense_of(r, &l->sure, hd_dense_of(r, &l->place, q.t, HD_tanh), HD_sigmoid);
    return hd_mul(r, p, hd_broadcast(r, m->length, q.seg));
}

/* The context of what attention gave, and the weights where it carries them. */
static hd_tensor *context_of(hd_run *r, const hd_look *l, hd_rows q, const hd_seen *m, hd_tensor *c,
                             hd_tensor **weights)
{
    if (weights && m->marks) *weights = hd_slice_cols(r, c, l->out, hd_cols_of(m->marks));
    if (m->marks) c = hd_slice_cols(r, c, 0, l->out);
    if (!l->gate.w) return c;
    hd_tensor *gate = hd_probe_offer(r, "gate", hd_dense_of(r, &l->gate, q.t, HD_sigmoid), q.seg);
    return hd_mul(r, c, gate);
}

hd_tensor *hd_look_of(hd_run *r, const hd_look *l, hd_rows q, const hd_seen *m, hd_tensor *places,
                      hd_tensor **weights)
{
    const hd_look_opt *o = &l->opt;
    if (weights) *weights = NULL;
    if (!q.t) return NULL;
    hd_probe_enter(r, "cross");
    hd_probe_offer(r, "query", q.t, q.seg);
    hd_rows asked = hd_rows_with(q, hd_probe_offer(r, "Q", mapped(r, &l->q, q.t), q.seg));
    hd_probe_offer(r, "K", m->k.t, m->k.seg);
    hd_probe_offer(r, "V", m->v.t, m->v.seg);
    hd_attend_opt a = {.heads = o->heads,
                       .scale = o->score == HD_SCORING_scaled ? 0 : 1,
                       .dropout = o->dropout,
                       .score = o->score == HD_SCORING_additive ? HD_ADDITIVE : HD_DOT,
                       .additive = value(l->score),
                       .center = center(r, l, q, m, places)};
    if (a.center) a.window = o->window, a.sigma = l->place.w ? (float)o->window / 2 : 0;
    hd_tensor *c = o->score == HD_SCORING_mlp ? mlp(r, l, asked, m) : hd_attend(r, asked, m->k, m->v, &a).t;
    c = hd_heads_scaled(r, context_of(r, l, q, m, c, weights), (size_t)o->heads, NULL);
    hd_probe_offer(r, "context", c, q.seg);
    hd_probe_leave(r);
    return c;
}
