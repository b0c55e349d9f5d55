/* Norms of feature maps. */
#include "nn/map_norm.h"

#include <math.h>

#include "base/mem.h"

#define EPS      1e-5f
#define MOMENTUM 0.1f /* of the running statistics: torch's */

const char *const hd_map_norm_names[HD_MAP_NORMS + 1] = {
#define X(name) #name,
    HD_MAP_NORM_LIST(X)
#undef X
        NULL};

static int groups_of(size_t width)
{
    int groups = HD_MAP_NORM_GROUPS;
    while (width % (size_t)groups) groups--;
    return groups;
}

hd_map_norm hd_map_norm_make(hd_params *p, size_t width, hd_map_norm_kind kind, const char *name)
{
    const hd_init zero = {HD_INIT_ZERO, 0, 0}, one = {HD_INIT_ONE, 0, 0};
    hd_map_norm n = {.kind = kind, .groups = groups_of(width), .eps = EPS};
    n.gain = hd_param_add(p, width, 0, one, "%s.weight", name);
    n.bias = hd_param_add(p, width, 0, zero, "%s.bias", name);
    if (kind == HD_MAP_NORM_batch) {
        n.mean = hd_param_moving(p, width, zero, "%s.running_mean", name);
        n.variance = hd_param_moving(p, width, one, "%s.running_var", name);
    } else if (kind == HD_MAP_NORM_frozen) {
        n.mean = hd_param_add(p, width, 0, zero, "%s.running_mean", name);
        n.variance = hd_param_add(p, width, 0, one, "%s.running_var", name);
        hd_param *const all[] = {n.gain, n.bias, n.mean, n.variance};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (all[i]) all[i]->trainable = false;
    }
    return n;
}

hd_rows hd_map_norm_of(hd_run *r, const hd_map_norm *n, hd_rows x, hd_tensor *add, hd_unary act)
{
    if (n->kind == HD_MAP_NORM_group)
        return hd_group_norm(
            r, x, &n->gain->t, &n->bias->t,
            &(hd_group_norm_opt){.groups = n->groups, .eps = n->eps, .act = act, .add = add});
    return hd_rows_with(x, hd_batch_norm(r, x.t, &n->gain->t, &n->bias->t, x.seg,
                                         &(hd_batch_norm_opt){.eps = n->eps,
                                                              .momentum = MOMENTUM,
                                                              .frozen = n->kind == HD_MAP_NORM_frozen,
                                                              .act = act,
                                                              .add = add,
                                                              .mean = &n->mean->t,
                                                              .variance = &n->variance->t}));
}

/* v: gain, bias, mean, variance, each of `width` numbers. */
static void fold(hd_real *v, hd_real *weight, size_t width, size_t cols, double eps)
{
    hd_real *gain = v, *bias = v + width, *mean = bias + width, *variance = mean + width;
    for (size_t c = 0; c < width; c++) {
        double scale = (double)gain[c] / sqrt((double)variance[c] + eps);
        for (size_t k = 0; k < cols; k++)
            weight[c * cols + k] = (hd_real)((double)weight[c * cols + k] * scale);
        bias[c] = (hd_real)((double)bias[c] - (double)mean[c] * scale);
        gain[c] = (hd_real)sqrt(1 + eps), mean[c] = 0, variance[c] = 1;
    }
}

hd_status hd_map_norm_fold(hd_params *p, const hd_map_norm *n, hd_param *weight, hd_err *err)
{
    hd_param *const of[] = {n->gain, n->bias, n->mean, n->variance};
    size_t width = hd_count_of(&n->gain->t), count = hd_count_of(&weight->t);
    if (n->kind == HD_MAP_NORM_group)
        return hd_err_set(err, HD_EARG, "group norm has no statistics that could be folded into weights");
    if (hd_rows_of(&weight->t) != width)
        return hd_err_set(err, HD_ESHAPE, "a norm of %zu columns behind a layer of %zu", width,
                          hd_rows_of(&weight->t));
    hd_real *v = hd_mem_array(4 * width + count, sizeof *v), *w = v + 4 * width;
    if (!v) return hd_err_nomem(err, (4 * width + count) * sizeof *v);
    hd_status s = hd_params_get(p, weight, &weight->t, w);
    for (size_t i = 0; !s && i < 4; i++) s = hd_params_get(p, of[i], &of[i]->t, v + i * width);
    if (!s) fold(v, w, width, count / width, (double)n->eps);
    if (!s) s = hd_params_set(p, weight, w);
    for (size_t i = 0; !s && i < 4; i++) s = hd_params_set(p, of[i], v + i * width);
    hd_mem_free(v);
    return s;
}
