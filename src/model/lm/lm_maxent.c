/* Maximum entropy over hashed contexts: logits are the bias plus one row of a table [buckets, V] for each
   length of context. Easy to get wrong: the hash is part of the model, the same on every machine and for
   ever. */
#include "base/mem.h"
#include "model/formula.h"
#include "model/lm/lm_parts.h"
#include "model/stepper_parts.h"

typedef struct maxent {
    hd_params params;
    hd_param *table, *bias;
} maxent;

static void drop(hd_lm *m)
{
    maxent *x = m->model;
    hd_params_release(&x->params);
    hd_mem_free(x);
}

enum { TABLE = 1 << 25 }; /* weights, where nobody says how many buckets there are */

static size_t buckets_of(size_t vocab)
{
    size_t n = 1024;
    while (2 * n * vocab <= TABLE) n *= 2;
    return n;
}

static hd_status make(hd_lm *m, hd_backend *b, hd_err *err)
{
    const hd_lm_opt *o = &m->opt;
    const hd_init zero = {HD_INIT_ZERO, 0, 0};
    hd_status s = hd_lm_check_order(o, err);
    if (s) return s;
    if (!o->buckets) m->opt.buckets = buckets_of(o->vocab);
    if (o->buckets > INT32_MAX) return hd_err_set(err, HD_EARG, "maxent: %zu buckets", o->buckets);
    maxent *x = m->model = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    hd_params_init(&x->params, b);
    x->table = hd_param_add(&x->params, o->buckets, o->vocab, zero, "features.weight");
    x->bias = hd_param_add(&x->params, o->vocab, 0, zero, "features.bias");
    m->params = &x->params;
    return HD_OK;
}

/* The finalizer of splitmix64: every bit of h and the token reaches every bit of the result. */
static uint64_t mix(uint64_t h, int32_t token)
{
    h += 0x9e3779b97f4a7c15u + (uint64_t)(uint32_t)token;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static void features(const hd_lm *m, int32_t *out)
{
    uint64_t h = 0;
    for (int k = 0; k + 1 < m->opt.order; k++) {
        h = mix(h, out[k]);
        out[k] = (int32_t)(h % m->opt.buckets);
    }
}

static hd_tensor *logits(hd_run *r, const hd_lm *m, const int32_t *before, const hd_seg *seg)
{
    const maxent *x = m->model;
    if (!seg || !before) return NULL;
    hd_tensor *y = hd_gather(r, &x->table->t, before, seg->rows, 1);
    for (size_t k = 1; k + 1 < (size_t)m->opt.order; k++)
        y = hd_gather_add(r, y, &x->table->t, before + k * seg->rows);
    return hd_probe_offer(r, "logits", hd_add(r, y, &x->bias->t), seg);
}

static hd_tensor *loss(hd_run *r, const hd_lm *m, const hd_lm_batch *b, hd_cache *state,
                       const hd_loss_opt *opt)
{
    (void)state;
    return hd_cross_entropy(r, logits(r, m, b->before, b->seg), b->target, opt);
}

static hd_tensor *scores(hd_run *r, const void *model, const int32_t *window, size_t live)
{
    const hd_lm *m = model;
    return logits(r, m, hd_lm_before(r, m, window, live), hd_single_rows(r, live));
}

static hd_status stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err)
{
    (void)start;
    return hd_lm_looking_stepper(out, self, scores, ids, len, items, err);
}

static double flops(const void *self, double windows, double length, double outputs)
{
    (void)outputs;
    const hd_lm *m = self;
    return windows * length * m->opt.order * (double)m->opt.vocab;
}

static void describe(const void *self, hd_details *to)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_details_text(to, "model", hd_lm_names[o->kind]);
    hd_details_whole(to, "order", (uint64_t)o->order);
    hd_details_whole(to, "features", o->buckets);
}

static const char *formula(const void *self, const char *name)
{
    (void)self;
    return hd_formula_is(name, "logits") ? "bias + a row of weights for each context" : NULL;
}

const hd_model_type hd_model_maxent = {
    HD_LM_COMMON,
    .name = "maxent",
    .describe = describe,
    .stepper = stepper,
    .formula = formula,
    .flops = flops,
    .lm = {.make = make, .free = drop, .loss = loss, .looks_back = true, .features = features},
};
