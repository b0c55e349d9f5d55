/* Mixture of experts as a layer. */
#include "nn/block/experts.h"

#include <stdio.h>

#include "base/mem.h"

#define X(NAME, name, text) #name,
const char *const hd_router_names[HD_ROUTERS + 1] = {HD_ROUTER_LIST(X) NULL};
#undef X

enum { MOST_SHARED = 64 };

hd_status hd_experts_check(const hd_experts_opt *o, hd_err *err)
{
    if (!o->count) return HD_OK;
    if (o->count < 1 || o->count > HD_EXPERTS_MOST || o->used < 1 || o->used > o->count ||
        o->used > HD_EXPERTS_USED_MOST)
        return hd_err_set(err, HD_EARG, "%d of %d experts: a row uses 1 to %d of at most %d", o->used,
                          o->count, HD_EXPERTS_USED_MOST, HD_EXPERTS_MOST);
    if (!o->inner) return hd_err_set(err, HD_EARG, "experts have no hidden columns");
    if (o->shared < 0 || o->shared > MOST_SHARED)
        return hd_err_set(err, HD_EARG, "%d shared experts are not 0 to %d", o->shared, MOST_SHARED);
    if (o->first < 0 || o->every < 0)
        return hd_err_set(err, HD_EARG, "experts from layer %d, every %d: neither may be below 0", o->first,
                          o->every);
    if (o->groups && (o->groups < 0 || o->count % o->groups || o->groups_used < 1 ||
                      o->groups_used > o->groups || o->count / o->groups * o->groups_used < o->used))
        return hd_err_set(err, HD_EARG, "%d of %d groups of %d experts do not give each row %d experts",
                          o->groups_used, o->groups, o->count, o->used);
    return HD_OK;
}

bool hd_experts_at(const hd_experts_opt *o, int layer)
{
    return o->count && layer >= o->first && (!o->every || (layer + 1) % o->every == 0);
}

int hd_experts_layers(const hd_experts_opt *o, int layers)
{
    int n = 0;
    for (int l = 0; l < layers; l++) n += hd_experts_at(o, l);
    return n;
}

/* -- making -- */

/* Rows of each expert under names of their own, and all of its rows together for products. */
static void make_expert(hd_params *p, hd_experts *e, size_t width, hd_init init, const hd_expert_names *n,
                        const char *layer, size_t i)
{
    size_t inner = e->opt.inner;
    hd_param_part(p, e->in, 2 * i * inner, inner, init, "%s.%s.%zu.%s.weight", layer, n->experts, i, n->in);
    hd_param_part(p, e->in, (2 * i + 1) * inner, inner, init, "%s.%s.%zu.%s.weight", layer, n->experts, i,
                  n->gate);
    hd_param_part(p, e->out, i * width, width, init, "%s.%s.%zu.%s.weight", layer, n->experts, i, n->out);
    hd_param *in = hd_param_view(p, e->in, 2 * i * inner, 2 * inner),
             *out = hd_param_view(p, e->out, i * width, width);
    if (!in || !out) return;
    e->part[2 * i] = in, e->part[2 * i + 1] = out;
    e->part_in[i] = &in->t, e->part_out[i] = &out->t;
}

static void make_shared(hd_params *p, hd_experts *e, size_t width, hd_init init, const hd_expert_names *n,
                        const char *layer)
{
    size_t inner = (size_t)e->opt.shared * e->opt.inner;
    hd_dense_opt o = {.init = init, .no_bias = true};
    char in[256], gate[256], out[256];
    snprintf(in, sizeof in, "%s.%s.%s", layer, n->shared, n->in);
    snprintf(gate, sizeof gate, "%s.%s.%s", layer, n->shared, n->gate);
    snprintf(out, sizeof out, "%s.%s.%s", layer, n->shared, n->out);
    e->shared = (hd_ffn){.in = hd_dense_pair(p, width, inner, &o, (const char *const[]){in, gate}),
                         .out = hd_dense_make(p, inner, width, &o, out),
                         .act = e->act,
                         .gated = true};
    hd_param_matrices(e->shared.out.w, width, 0, 0);
}

static hd_param *counter(hd_params *p, size_t count)
{
    hd_param *one = hd_param_hidden(p, count, 0, (hd_init){HD_INIT_ZERO, 0, 0});
    if (one) one->trainable = false, one->moving = true;
    return one;
}

static bool take_parts(hd_experts *e, size_t count)
{
    e->part_in = hd_mem_array(count, sizeof *e->part_in);
    e->part_out = hd_mem_array(count, sizeof *e->part_out);
    e->part = hd_mem_array(2 * count, sizeof *e->part);
    return e->part_in && e->part_out && e->part;
}

hd_experts *hd_experts_make(hd_params *p, const hd_experts_opt *o, size_t width, hd_unary act, hd_init init,
                            int layers, const hd_expert_names *n, const char *layer)
{
    size_t count = (size_t)o->count;
    hd_experts *e = hd_mem_zero(sizeof *e);
    if (!e || !take_parts(e, count)) {
        hd_experts_free(e);
        if (!p->err.status) hd_err_nomem(&p->err, 4 * count * sizeof *e->part);
        return NULL;
    }
    e->opt = *o, e->act = act, e->layers = layers;
    e->router = hd_param_add(p, count, width, init, "%s.%s.weight", layer, n->router);
    if (o->bias)
        e->bias =
            hd_param_moving(p, count, (hd_init){HD_INIT_ZERO, 0, 0}, "%s.%s.%s", layer, n->router, n->bias);
    e->in = hd_param_hidden(p, 2 * count * o->inner, width, init);
    e->out = hd_param_hidden(p, count * width, o->inner, init);
    if (e->in && e->out) e->in->grouped = e->out->grouped = true;
    hd_param_matrices(e->in, o->inner, o->inner, 0), hd_param_matrices(e->out, width, 0, 0);
    for (size_t i = 0; i < count; i++) make_expert(p, e, width, init, n, layer, i);
    if (o->shared) make_shared(p, e, width, init, n, layer);
    e->load = counter(p, count), e->was = counter(p, count);
    hd_params_balance(p, &(hd_balanced){e->load, e->was, e->bias, o->bias_rate});
    return e;
}

void hd_experts_free(hd_experts *e)
{
    if (!e) return;
    hd_mem_free(e->part_in), hd_mem_free(e->part_out), hd_mem_free(e->part);
    hd_mem_free(e);
}

/* -- running -- */

static int32_t *zeros(hd_run *r, size_t count)
{
    int32_t *load = hd_step_take(r, count * sizeof *load);
    if (load) r->backend->clear(r->backend, load, count * sizeof *load);
    return load;
}

int32_t *hd_experts_load(hd_run *r, const hd_experts_opt *o)
{
    bool wanted = o->count && o->balance > 0 && !o->by_item && r->training && !r->err.status;
    return wanted ? zeros(r, (size_t)o->count) : NULL;
}

/* The balance loss. That of all layers is the mean over them of E * the sum of f P, f being the assignments
   of an expert by rows; that of an item is the sum of E / K * f P. Each row counts as much as in the loss. */
static void balance_of(hd_run *r, const hd_experts *e, hd_rows x, int32_t *load, hd_route_opt *o)
{
    float count = (float)e->opt.count;
    if (!r->taping && !load) return;
    if (e->opt.by_item && e->opt.balance > 0 && x.seg && x.seg->item) {
        o->loads = x.seg->items, o->load = zeros(r, o->loads * (size_t)e->opt.count);
        o->coef = e->opt.balance * count;
    } else if (load) {
        o->load = load, o->loads = 1, o->counted = r->again;
        o->coef = e->opt.balance * count * (float)e->opt.used / (float)e->layers;
    }
}

static hd_routing routing_of(const hd_experts_opt *o)
{
    return (hd_routing){.router = o->router,
                        .used = o->used,
                        .groups = o->groups > 1 ? o->groups : 0,
                        .groups_used = o->groups_used,
                        .group_best = o->router == HD_ROUTER_SIGMOID ? 2 : 1,
                        .normalized = o->normalized,
                        .scaling = o->scaling > 0 ? o->scaling : 1};
}

/* For probes: the weight of each expert [R,E], 0 where it is not used. */
static void offer(hd_run *r, const hd_experts *e, const hd_tensor *ids, const hd_tensor *weights,
                  const hd_seg *seg)
{
    if (!hd_probe_here(r) || r->err.status) return;
    size_t rows = hd_rows_of(ids), used = hd_cols_of(ids), count = (size_t)e->opt.count;
    int32_t *id = hd_host_take(r, rows * used * sizeof *id);
    hd_real *weight = hd_host_take(r, rows * (used + count) * sizeof *weight);
    if (!id || !weight || !hd_read(r, weights, weight)) return;
    r->backend->download(r->backend, id, ids->data, rows * used * sizeof *id);
    hd_real *each = weight + rows * used;
    for (size_t i = 0; i < rows * used; i++)
        if (id[i] >= 0) each[i / used * count + (size_t)id[i]] = weight[i];
    hd_probe_offer(r, "experts", hd_from(r, rows, count, each), seg);
}

hd_rows hd_experts_of(hd_run *r, const hd_experts *e, hd_rows x, int32_t *load)
{
    hd_tensor *ids = NULL;
    hd_dispatch d = {0};
    hd_route_opt o = {.how = routing_of(&e->opt)};
    balance_of(r, e, x, load, &o);
    hd_tensor *weights = hd_route(r, x, &e->router->t, e->bias ? &e->bias->t : NULL, &o, &ids);
    if (weights) offer(r, e, ids, weights, x.seg);
    bool counts = (r->training && !r->again) || r->counting;
    if (!weights || !hd_dispatch_of(r, &d, ids, (size_t)e->opt.count, counts ? &e->load->t : NULL))
        return hd_rows_with(x, NULL);
    hd_tensor *h = hd_grouped_linear(r, hd_dispatch_rows(r, x.t, &d), &e->in->t, e->part_in, &d);
    h = hd_gated(r, h, e->act);
    hd_tensor *y = hd_combine_experts(r, hd_grouped_linear(r, h, &e->out->t, e->part_out, &d), weights, &d);
    if (e->shared.in.w) {
        hd_probe_enter(r, "shared");
        y = hd_add(r, hd_ffn_of(r, &e->shared, x).t, y);
        hd_probe_leave(r);
    }
    return hd_rows_with(x, hd_probe_offer(r, "out", y, x.seg));
}

double hd_experts_flops(const hd_experts_opt *o, size_t width)
{
    double d = (double)width, f = (double)o->inner;
    return 2 * d * o->count + 6 * d * f * (o->used + o->shared);
}
