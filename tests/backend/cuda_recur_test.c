/* Recurrent cells and their way back on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t items, width;
    int least, most;
} batches[] = {{1, 1, 1, 1},   {1, 5, 7, 7},  {3, 8, 1, 4},    {5, 32, 0, 6},    {17, 33, 0, 9},
               {40, 48, 1, 1}, {4, 64, 0, 0}, {16, 100, 0, 5}, {64, 256, 1, 40}, {33, 520, 0, 20}};
enum { LARGE = 8 };

typedef struct way {
    const char *name;
    hd_cell cell;
    hd_unary act;
    bool reverse, bias, start, bare, last, rows; /* bare: an LSTM's start is h alone */
    int how;
} way;

static const way ways[] = {
    {"rnn tanh", HD_RNN, HD_tanh, .bias = true, .start = true, .last = true, .rows = true},
    {"rnn sigmoid", HD_RNN, HD_sigmoid, .reverse = true, .rows = true, .how = GAPS | FILL},
    {"rnn relu", HD_RNN, HD_relu, .bias = true, .start = true, .last = true, .how = LOOSE},
    {"gru", HD_GRU, HD_tanh, .bias = true, .start = true, .last = true, .rows = true, .how = GAPS | FILL},
    {"gru bare", HD_GRU, HD_tanh, .rows = true},
    {"gru back", HD_GRU, HD_tanh, .reverse = true, .bias = true, .start = true, .last = true, .how = LOOSE},
    {"lstm", HD_LSTM, HD_tanh, .bias = true, .start = true, .last = true, .rows = true},
    {"lstm bare", HD_LSTM, HD_tanh, .rows = true, .how = LOOSE},
    {"lstm h", HD_LSTM, HD_tanh, .bias = true, .start = true, .bare = true, .last = true, .rows = true,
     .how = GAPS},
    {"lstm back", HD_LSTM, HD_tanh, .reverse = true, .bias = true, .start = true, .last = true, .rows = true,
     .how = GAPS | FILL | LOOSE},
};

#define EACH_CASE(p, i, k)                                      \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(batches); i++)          \
            for (size_t k = 0; k < COUNT_OF(ways); k++)         \
                if (i < LARGE || (!small_only() && (p)->layout == DENSE))

static twin_seg *seg_for(pair *p, size_t i, const way *w)
{
    begin_case(p, "%s%s of %zu items of %d-%d, width %zu", w->name, w->reverse ? " reverse" : "",
               batches[i].items, batches[i].least, batches[i].most, batches[i].width);
    return seg_from(p, lengths(p, batches[i].items, batches[i].least, batches[i].most), batches[i].items,
                    w->how);
}

typedef struct cell {
    twin *w, *bias, *start;
} cell;

/* Weights that neither fade out nor blow up, over tens of steps either. */
static cell cell_for(pair *p, size_t i, const way *w)
{
    size_t n = batches[i].width, wide = hd_cell_gates(w->cell) * n,
           states = w->cell == HD_LSTM && !w->bare ? 2 : 1;
    double spread = (w->act == HD_relu ? 0.5 : 1) / sqrt((double)n);
    return (cell){twin_normal(p, "w", wide, n, PARAM, spread),
                  w->bias ? twin_normal(p, "bias", 1, wide, PARAM, 0.3) : NULL,
                  w->start ? twin_normal(p, "start", batches[i].items, states * n, REAL, 0.5) : NULL};
}

#define RECURRENCE(v, c, seg_)                                                              \
    {                                                                                       \
        (v)->cell, (v)->act, (v)->reverse, ON((c).w), ON((c).bias), ON((c).start), ON(seg_) \
    }

static void recur(void **state)
{
    pair *p = pair_of(state);
    EACH_CASE(p, i, k)
    for (int keep = 0; keep < 2; keep++) {
        const way *v = &ways[k];
        twin_seg *seg = seg_for(p, i, v);
        cell c = cell_for(p, i, v);
        size_t n = batches[i].width, states = v->cell == HD_LSTM ? 2 : 1, keeps = hd_cell_keeps(v->cell);
        twin *z = twin_owned(p, "z", seg, hd_cell_gates(v->cell) * n, ACT, 1),
             *y = twin_result(p, "y", seg->rows, n, ACT, false),
             *last = v->last ? twin_result(p, "last", seg->items, states * n, REAL, false) : NULL,
             *kept = keep && keeps ? twin_result(p, "kept", seg->rows, keeps * n, ACT, false) : NULL;
        RUN(p, recur, .y = ON(y), .last = ON(last), .kept = ON(kept), .z = ON(z),
            .re = RECURRENCE(v, c, seg));
        check_rows(p, y, seg->owned);
        check_rows(p, kept, seg->owned);
        check(p, last);
    }
    pair_done(p);
}

/* y and kept are what the cpu's recur gave: the same numbers go into both sides. */
static void share(pair *p, twin *t)
{
    if (!t || p->broken) return;
    float *whole = twin_read(p, t, 0), *x = malloc((t->rows * t->cols + 1) * sizeof *x);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++) {
            float v = whole[r * t->wide + t->left + c];
            x[r * t->cols + c] = p->bf16 && (t->kind & KIND) == ACT ? of_bf16(bf16_of(v)) : v;
        }
    for (int side = 0; side < 2; side++) twin_load(p, t, side, x);
    free(whole), free(x);
}

static void recur_back(void **state)
{
    pair *p = pair_of(state);
    EACH_CASE(p, i, k)
    {
        const way *v = &ways[k];
        twin_seg *seg = seg_for(p, i, v);
        cell c = cell_for(p, i, v);
        size_t n = batches[i].width, wide = hd_cell_gates(v->cell) * n, states = v->cell == HD_LSTM ? 2 : 1,
               keeps = hd_cell_keeps(v->cell);
        twin *z = twin_owned(p, "z", seg, wide, ACT, 1), *y = twin_result(p, "y", seg->rows, n, ACT, false),
             *kept = keeps ? twin_result(p, "kept", seg->rows, keeps * n, ACT, false) : NULL;
        RUN_ON(p, 0, recur, .y = ON(y), .kept = ON(kept), .z = ON(z), .re = RECURRENCE(v, c, seg));
        share(p, y), share(p, kept);
        twin *dz = twin_result(p, "dz", seg->rows, wide, ACT, false),
             *dn = v->cell == HD_GRU ? twin_result(p, "dn", seg->rows, n, ACT, false) : NULL,
             *before = v->bias ? twin_result(p, "before", seg->rows, n, ACT, false) : NULL,
             *dstart = c.start ? twin_result(p, "dstart", seg->items, c.start->cols, REAL, true) : NULL,
             *dy = v->rows ? twin_owned(p, "dy", seg, n, ACT, 1) : NULL,
             *dlast = v->last ? twin_normal(p, "dlast", seg->items, states * n, REAL, 1) : NULL;
        RUN(p, recur_back, .dz = ON(dz), .dn = ON(dn), .before = ON(before), .dstart = ON(dstart),
            .dy = ON(dy), .dlast = ON(dlast), .y = ON(y), .kept = ON(kept), .re = RECURRENCE(v, c, seg));
        check_rows(p, dz, seg->owned);
        check_rows(p, dn, seg->owned);
        check_rows(p, before, seg->owned);
        check(p, dstart);
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(recur), PAIR_TEST(recur_back))
