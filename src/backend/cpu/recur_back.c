/* Recurrent cells over time, backward: the steps of recur.c from last to first. The gradient of w is not
   computed here: dz and h before each row give it in one product over all rows. */
#include "backend/cpu/walk.h"

#define ROW static __attribute__((noinline)) void

/* Of each: in dh the gradient of the row's h; out dh what passes it by beside w, dz, and d = the gradient of
 * w h + bias. */
ROW rnn_row(hd_real *dh, hd_real *d, hd_real *dz, const hd_real *h, size_t n, hd_unary act)
{
    switch (act) {
#define X(name, which, value, slope)     \
    case HD_##name:                      \
        HD_COLUMNS(n, {                  \
            vec x = L_FILL(h, 1), y = x; \
            (void)x, (void)y;            \
            vec v = L(dh) * (slope);     \
            S(d, v), S(dz, v);           \
        });                              \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        memcpy(d, dh, n * sizeof *d), memcpy(dz, dh, n * sizeof *dz);
    }
}

ROW gru_row(hd_real *dh, hd_real *d, hd_real *dz, hd_real *dn, const hd_real *before, const hd_real *kept,
            size_t n)
{
    const hd_real *ku = kept + n, *kn = ku + n, *kq = kn + n;
    hd_real *du = d + n, *dq = du + n, *dzu = dz + n, *dzn = dzu + n;
    vec one = hd_set(1);
    HD_COLUMNS(n, {
        vec r = L(kept), u = L(ku), new = L(kn), q = L(kq), g = L(dh), h = L(before);
        vec dnew = g * (one - u) * (one - new *new), dr = dnew * q * r * (one - r),
            dupdate = g * (h - new) * u * (one - u);
        S(d, dr), S(du, dupdate), S(dq, dnew * r), S(dn, dnew * r);
        S(dz, dr), S(dzu, dupdate), S(dzn, dnew);
        S(dh, g * u);
    });
}

ROW lstm_row(const hd_real *dh, hd_real *dc, hd_real *d, hd_real *dz, const hd_real *c_before,
             const hd_real *kept, size_t n)
{
    const hd_real *kf = kept + n, *kg = kf + n, *ko = kg + n, *kc = ko + n;
    hd_real *df = d + n, *dg = df + n, *dout = dg + n, *zf = dz + n, *zg = zf + n, *zo = zg + n;
    vec one = hd_set(1);
    HD_COLUMNS(n, {
        vec in = L(kept), forget = L(kf), new = L(kg), out = L(ko), t = hd_tanh(L(kc)), g = L(dh);
        vec cell = L(dc) + g * out * (one - t * t);
        vec a = cell * new *in *(one - in), b = cell *L(c_before) * forget *(one - forget),
            e = cell *in *(one - new *new), f = g *t *out *(one - out);
        S(d, a), S(df, b), S(dg, e), S(dout, f);
        S(dz, a), S(zf, b), S(zg, e), S(zo, f);
        S(dc, cell * forget);
    });
}

/* n numbers of the step before: of tensor t from column `at` on, or of the start. */
static const hd_real *step_before(const lane *l, size_t i, const hd_tensor *t, size_t at, size_t start,
                                  const hd_real *zeros)
{
    const hd_tensor *s = l->walk->re->start;
    if (l->time) return hd_row(t, lane_row(l, i, l->time - 1)) + at;
    return s && start < hd_cols_of(s) ? hd_row(s, lane_item(l, i)) + start : zeros;
}

static void back_rows(void *arg, size_t begin, size_t end, int worker)
{
    const lane *l = arg;
    const hd_recur_back_args *a = l->walk->args;
    size_t n = l->walk->width;
    const hd_real *zeros = l->walk->zeros;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        size_t row = lane_row(l, i, l->time);
        hd_real *dh = l->h + i * n, *d = l->gates + i * l->walk->gates * n, *dz = hd_row(a->dz, row);
        const hd_real *dy = a->dy ? hd_row(a->dy, row) : NULL, *kept = a->kept ? hd_row(a->kept, row) : NULL,
                      *before = step_before(l, i, a->y, 0, 0, zeros);
        if (dy) HD_COLUMNS(n, { S(dh, L(dh) + L(dy)); });
        if (a->re.cell == HD_RNN)
            rnn_row(dh, d, dz, hd_row(a->y, row), n, a->re.act);
        else if (a->re.cell == HD_GRU)
            gru_row(dh, d, dz, hd_row(a->dn, row), before, kept, n);
        else
            lstm_row(dh, l->c + i * n, d, dz, step_before(l, i, a->kept, 4 * n, n, zeros), kept, n);
        if (a->before) memcpy(hd_row(a->before, row), before, n * sizeof *before);
    }
}

static void add_row(hd_real *to, const hd_real *x, size_t n)
{
    HD_COLUMNS(n, { S(to, L(to) + L(x)); });
}

static void back_lane(lane *l)
{
    const walk *w = l->walk;
    const hd_recur_back_args *a = w->args;
    size_t n = w->width;
    for (size_t i = 0; i < l->items; i++) {
        lane_state(l->h + i * n, a->dlast, lane_item(l, i), 0, n);
        if (a->re.cell == HD_LSTM) lane_state(l->c + i * n, a->dlast, lane_item(l, i), n, n);
    }
    l->product = (hd_product){.c = l->h,
                              .c_stride = n,
                              .a = l->gates,
                              .a_stride = w->gates * n,
                              .b = w->packed,
                              .b_depth = w->gates * n,
                              .n = n,
                              .k = w->gates * n,
                              .add = a->re.cell == HD_GRU};
    l->active = 0;
    for (l->time = l->items ? lane_length(l, 0) : 0; l->time-- > 0;) {
        lane_active(l);
        lane_rows(l, back_rows);
        lane_multiply(l);
    }
    for (size_t i = 0; a->dstart && i < l->items; i++) {
        hd_real *to = hd_row(a->dstart, lane_item(l, i));
        add_row(to, l->h + i * n, n);
        if (hd_cols_of(a->dstart) > n) add_row(to + n, l->c + i * n, n);
    }
}

hd_status KERNEL(recur_back)(hd_backend *b, const hd_recur_back_args *a)
{
    walk w = {.cpu = (hd_cpu *)b, .args = a, .re = &a->re, .run = back_lane};
    return walk_run(&w, true);
}
