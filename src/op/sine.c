/* The sine code of positions. */
#include "op/op.h"

typedef struct sine_opt {
    float scale, temperature;
} sine_opt;

static void sine_back(hd_run *r, const hd_node *n)
{
    const sine_opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[0], NULL);
    if (dx)
        HD_CALL(r, sine, .dx = dx, .dy = n->y->grad, .x = n->in[0], .scale = o->scale,
                .temperature = o->temperature);
}

hd_tensor *hd_sine(hd_run *r, hd_tensor *x, size_t each, float scale, float temperature)
{
    if (!x) return NULL;
    if (hd_cols_of(x) % 2 || each % 2 || !each)
        return hd_fail(r, HD_ESHAPE, "sine: %zu numbers of %zu columns each: both must be even",
                       hd_cols_of(x), each);
    hd_tensor *y = hd_new(r, hd_rows_of(x), hd_cols_of(x) * each);
    HD_CALL(r, sine, .y = y, .x = x, .scale = scale, .temperature = temperature);
    sine_opt o = {scale, temperature};
    return hd_record_opt(r, y, NULL, sine_back, o, x);
}
