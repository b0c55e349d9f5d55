/* How evenly experts are used. */
#include "train/experts/load.h"

#include <math.h>

#include "backend/ranks.h"

static double violation_of(const hd_real *load, size_t n)
{
    double sum = 0, most = 0;
    for (size_t e = 0; e < n; e++) sum += (double)load[e], most = fmax(most, (double)load[e]);
    return sum > 0 ? most * (double)n / sum - 1 : 0;
}

static void add(hd_expert_load *l, const hd_real *load, size_t n)
{
    if (l->layers == HD_EXPERT_LAYERS) return;
    double v = violation_of(load, n), before = (double)l->layers;
    l->violation[l->layers++] = v;
    l->mean = (l->mean * before + v) / (before + 1);
}

hd_expert_load hd_expert_load_last(const hd_params *p)
{
    hd_expert_load out = {0};
    for (size_t i = 0; i < p->balances; i++) {
        hd_real load[HD_EXPERTS_MOST];
        const hd_tensor *was = &p->balanced[i].was->t;
        p->backend->download(p->backend, load, was->data, hd_bytes_of(was));
        add(&out, load, hd_count_of(was));
    }
    return out;
}

void hd_expert_load_begin(hd_run *r)
{
    r->counting = true;
}

hd_status hd_expert_load_end(hd_run *r, const hd_params *p, hd_expert_load *out, hd_err *err)
{
    hd_status s = HD_OK;
    *out = (hd_expert_load){0};
    r->counting = false;
    for (size_t i = 0; i < p->balances; i++) {
        hd_real load[HD_EXPERTS_MOST];
        const hd_tensor *t = &p->balanced[i].load->t;
        p->backend->download(p->backend, load, t->data, hd_bytes_of(t));
        p->backend->clear(p->backend, t->data, hd_bytes_of(t));
        if (!s && r->backend->ranks > 1) s = hd_ranks_sum(load, hd_count_of(t));
        add(out, load, hd_count_of(t));
    }
    return s ? hd_err_set(err, s, "the loads of experts: %s", hd_status_text(s)) : HD_OK;
}
