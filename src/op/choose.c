/* Choices over a row: no gradient flows through them. */
#include "op/op.h"

#include <string.h>

#include "base/mem.h"

static hd_tensor *top_of(hd_run *r, hd_tensor *x, int k, bool log, hd_tensor **values)
{
    if (values) *values = NULL;
    if (!x) return NULL;
    if (k < 1 || (size_t)k > hd_cols_of(x))
        return hd_fail(r, HD_EARG, "top: k is %d, a row has %zu columns", k, hd_cols_of(x));
    hd_tensor *v = values ? hd_new_reals(r, hd_rows_of(x), (size_t)k) : NULL,
              *ids = hd_new_ints(r, hd_rows_of(x), (size_t)k);
    HD_CALL(r, top, .ids = ids, .values = v, .x = x, .k = k, .log = log);
    if (r->err.status) return NULL;
    if (values) *values = v;
    return ids;
}

hd_tensor *hd_top(hd_run *r, hd_tensor *x, int k, hd_tensor **values)
{
    return top_of(r, x, k, false, values);
}

/* Cards compute log-softmax in the step that they replay. */
hd_tensor *hd_top_log(hd_run *r, hd_tensor *x, int k, hd_tensor **logp)
{
    return r->backend->capture ? top_of(r, hd_log_softmax(r, x), k, false, logp)
                               : top_of(r, x, k, true, logp);
}

/* Usually they are adjacent in memory, and then one transfer brings both. */
bool hd_top_read(hd_run *r, const hd_tensor *ids, const hd_tensor *values, int32_t *id, hd_real *value)
{
    if (!ids || !values || r->err.status) return false;
    size_t first = hd_bytes_of(values), gap = (size_t)((char *)ids->data - (char *)values->data);
    char *both = gap >= first && gap < first + HD_ALIGN ? hd_host_take(r, gap + hd_bytes_of(ids)) : NULL;
    if (both) {
        r->backend->download(r->backend, both, values->data, gap + hd_bytes_of(ids));
        memcpy(value, both, first);
        memcpy(id, both + gap, hd_bytes_of(ids));
        return true;
    }
    r->backend->download(r->backend, id, ids->data, hd_bytes_of(ids));
    return hd_read(r, values, value);
}

hd_tensor *hd_argmax(hd_run *r, hd_tensor *x)
{
    return hd_top(r, x, 1, NULL);
}

hd_tensor *hd_sample(hd_run *r, hd_tensor *x, const hd_sample_opt *opt, hd_tensor **logp)
{
    if (logp) *logp = NULL;
    if (!x) return NULL;
    if (!(opt->temperature > 0) || !(opt->top_p > 0) || opt->top_k < 0)
        return hd_fail(r, HD_EARG, "sample: temperature %g, top_p %g, top_k %d", (double)opt->temperature,
                       (double)opt->top_p, opt->top_k);
    if (!hd_seg_fits(r, "sample", x, opt->seg, true)) return NULL;
    hd_tensor *ids = hd_new_ints(r, hd_rows_of(x), 1), *p = logp ? hd_new_reals(r, hd_rows_of(x), 1) : NULL;
    hd_draw draw = hd_draw_next(r, 0, opt->seg);
    HD_CALL(r, sample, .ids = ids, .logp = p, .x = x, .temperature = opt->temperature, .top_p = opt->top_p,
            .top_k = opt->top_k, .draw = draw);
    if (r->err.status) return NULL;
    if (logp) *logp = p;
    return ids;
}
