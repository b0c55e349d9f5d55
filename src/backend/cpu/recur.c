/* Recurrent cells over time, forward. Items are walked together, longest first: those that are still going at
   a step are the first rows of one state matrix, so that a step is one product with w. Lanes of items go
   their way on one worker each; few items are one lane, and the workers share its products. No sum crosses
   items, so neither changes a bit. */
#include "backend/cpu/walk.h"

/* The functions of a row are never inlined: compilers fuse multiply-adds loop by loop. */
#define ROW static __attribute__((noinline)) void

/* Of each: h, and c, before and after; g = w h + bias; z of the row; kept or NULL. */
ROW rnn_row(hd_real *h, const hd_real *g, const hd_real *z, size_t n, hd_unary act)
{
    HD_COLUMNS(n, { S(h, L(z) + L(g)); });
    KERNEL(apply)(act, h, h, n);
}

ROW gru_row(hd_real *h, const hd_real *g, const hd_real *z, hd_real *kept, size_t n)
{
    const hd_real *gu = g + n, *gn = gu + n, *zu = z + n, *zn = zu + n;
    hd_real *ku = kept ? kept + n : NULL, *kn = kept ? ku + n : NULL, *kq = kept ? kn + n : NULL;
    HD_COLUMNS(n, {
        vec r = hd_sigmoid(L(z) + L(g)), u = hd_sigmoid(L(zu) + L(gu)), q = L(gn);
        vec new = hd_tanh(L(zn) + r * q);
        S(h, new + u *(L(h) - new));
        if (kept) S(kept, r), S(ku, u), S(kn, new), S(kq, q);
    });
}

ROW lstm_row(hd_real *h, hd_real *c, const hd_real *g, const hd_real *z, hd_real *kept, size_t n)
{
    const hd_real *gf = g + n, *gg = gf + n, *go = gg + n, *zf = z + n, *zg = zf + n, *zo = zg + n;
    hd_real *kf = kept ? kept + n : NULL, *kg = kept ? kf + n : NULL, *ko = kept ? kg + n : NULL,
            *kc = kept ? ko + n : NULL;
    HD_COLUMNS(n, {
        vec in = hd_sigmoid(L(z) + L(g)), forget = hd_sigmoid(L(zf) + L(gf)), new = hd_tanh(L(zg) + L(gg)),
            out = hd_sigmoid(L(zo) + L(go));
        vec cell = forget * L(c) + in * new;
        S(c, cell);
        S(h, out * hd_tanh(cell));
        if (kept) S(kept, in), S(kf, forget), S(kg, new), S(ko, out), S(kc, cell);
    });
}

static void forward_rows(void *arg, size_t begin, size_t end, int worker)
{
    const lane *l = arg;
    const hd_recur_args *a = l->walk->args;
    size_t n = l->walk->width;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        size_t row = lane_row(l, i, l->time);
        hd_real *h = l->h + i * n, *kept = a->kept ? hd_row(a->kept, row) : NULL;
        const hd_real *z = hd_row(a->z, row), *g = l->gates + i * l->walk->gates * n;
        if (a->re.cell == HD_RNN)
            rnn_row(h, g, z, n, a->re.act);
        else if (a->re.cell == HD_GRU)
            gru_row(h, g, z, kept, n);
        else
            lstm_row(h, l->c + i * n, g, z, kept, n);
        memcpy(hd_row(a->y, row), h, n * sizeof *h);
    }
}

static void forward_lane(lane *l)
{
    const walk *w = l->walk;
    const hd_recur_args *a = w->args;
    size_t n = w->width;
    for (size_t i = 0; i < l->items; i++) {
        lane_state(l->h + i * n, a->re.start, lane_item(l, i), 0, n);
        if (a->re.cell == HD_LSTM) lane_state(l->c + i * n, a->re.start, lane_item(l, i), n, n);
    }
    l->product = (hd_product){.c = l->gates,
                              .c_stride = w->gates * n,
                              .a = l->h,
                              .a_stride = n,
                              .b = w->packed,
                              .b_depth = n,
                              .n = w->gates * n,
                              .k = n,
                              .bias = a->re.bias ? a->re.bias->data : NULL};
    for (l->time = 0; lane_active(l); l->time++) {
        lane_multiply(l);
        lane_rows(l, forward_rows);
    }
    for (size_t i = 0; a->last && i < l->items; i++) {
        hd_real *to = hd_row(a->last, lane_item(l, i));
        memcpy(to, l->h + i * n, n * sizeof *to);
        if (a->re.cell == HD_LSTM) memcpy(to + n, l->c + i * n, n * sizeof *to);
    }
}

hd_status KERNEL(recur)(hd_backend *b, const hd_recur_args *a)
{
    walk w = {.cpu = (hd_cpu *)b, .args = a, .re = &a->re, .run = forward_lane};
    return walk_run(&w, false);
}
