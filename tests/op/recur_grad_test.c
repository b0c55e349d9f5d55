/* Gradients of the recurrent cells: every cell and function, both directions, with and without bias and
 * start, rows used, the last state used, or both; with empty items, gaps and items of one row. */
#include "op/gradient.h"

typedef enum used { ROWS, LAST, BOTH } used;
typedef enum layout { RAGGED, EMPTY, GAPS, SINGLE, MANY } layout;

typedef struct shape {
    hd_cell cell;
    hd_unary act;
    bool reverse, bias, start;
    used used;
    layout layout;
} shape;

enum { R = 9, N = 4, C = 5 };

static const hd_seg *segments(hd_run *r, layout l)
{
    static const int32_t lens[][N] = {{3, 1, 4, 1}, {4, 0, 5, 0}, {2, 3, 0, 1}, {9, 0, 0, 0}},
                         begin[] = {1, 4, 0, 7};
    if (l == GAPS) return seg_at(r, begin, lens[l], N, R, false); /* row 0 and row 3 belong to no item */
    if (l == MANY) {
        int32_t len[40];
        for (int i = 0; i < 40; i++) len[i] = i % 4;
        return hd_seg_of(r, len, 40, NULL);
    }
    return hd_seg_of(r, lens[l], N, NULL);
}

/* Leaves: z, w, then bias and start where there are any. */
static hd_tensor *recur(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    const hd_seg *seg = segments(r, s->layout);
    hd_recur_opt o = {s->cell, s->act, s->reverse};
    hd_tensor *last = NULL;
    hd_tensor *y = hd_recur(r, (hd_rows){x[0], seg}, x[1], s->bias ? x[2] : NULL,
                            s->start ? x[2 + s->bias] : NULL, &o, s->used == ROWS ? NULL : &last)
                       .t;
    if (s->used == ROWS) return y;
    if (!y || s->used == LAST) return last;
    hd_tensor *square = hd_mul(r, y, y), *flat = hd_reduce(r, square, seg, HD_SUM);
    return flat ? hd_concat_cols(r, (hd_tensor *const[]){flat, last, last}, 3) : NULL;
}

/* Two layers, the second one backward from where the first one ended: states flow between ops as slices. */
static hd_tensor *stacked(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_rows z = {x[0], segments(r, s->layout)};
    hd_recur_opt o = {s->cell, s->act, false}, back = {s->cell, s->act, true};
    hd_tensor *last = NULL, *end = NULL;
    hd_rows y = hd_recur(r, z, x[1], x[2], NULL, &o, &last);
    hd_tensor *h = hd_slice_cols(r, last, 0, C);
    y = hd_recur(r, hd_rows_with(z, hd_linear(r, y.t, x[3], NULL, HD_IDENTITY)), x[1], x[2],
                 s->start ? last : h, &back, &end);
    hd_tensor *cell = end ? hd_slice_cols(r, end, hd_cols_of(end) - C, C) : NULL;
    return y.t ? hd_add(r, hd_mul(r, y.t, y.t), hd_broadcast(r, cell, z.seg)) : NULL;
}

/* The same states by steps of one row, and rows of two items share z. */
static hd_tensor *twice(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    const int32_t one[] = {1, 1, 1};
    hd_rows z = {x[0], hd_seg_of(r, one, 3, NULL)};
    hd_recur_opt o = {s->cell, s->act, false};
    hd_tensor *state = NULL, *sum = NULL;
    for (int t = 0; t < 3; t++) {
        hd_tensor *y = hd_recur(r, z, x[1], x[2], state, &o, &state).t;
        sum = t ? hd_add(r, sum, y) : y;
    }
    return sum;
}

#define SHAPE(...)        \
    .opt = &(const shape) \
    {                     \
        __VA_ARGS__       \
    }
#define Z(gates)    LEAF("z", R, gates *C)
#define ODD_Z       LEAF("z", R, C, .fill = ODD)
#define W(gates)    LEAF("w", gates *C, C)
#define SMALL_W     LEAF("w", C, C, .fill = SMALL)
#define BIAS(gates) LEAF("bias", 1, gates *C)
#define H0          LEAF("start", N, C)
#define HC          LEAF("start", N, 2 * C)

static const gradient_case cases[] = {
    CASE("rnn tanh", recur, LEAVES_OF(Z(1), W(1)), SHAPE(.cell = HD_RNN, .act = HD_tanh)),
    CASE("rnn tanh bias start", recur, LEAVES_OF(Z(1), W(1), BIAS(1), H0),
         SHAPE(.cell = HD_RNN, .act = HD_tanh, .bias = true, .start = true)),
    CASE("rnn tanh reverse start, both used", recur, LEAVES_OF(Z(1), W(1), H0),
         SHAPE(.cell = HD_RNN, .act = HD_tanh, .reverse = true, .start = true, .used = BOTH)),
    CASE(
        "rnn sigmoid bias start", recur, LEAVES_OF(Z(1), W(1), BIAS(1), H0),
        SHAPE(.cell = HD_RNN, .act = HD_sigmoid, .bias = true, .start = true, .used = BOTH, .layout = EMPTY)),
    CASE("rnn relu start", recur, LEAVES_OF(ODD_Z, SMALL_W, H0),
         SHAPE(.cell = HD_RNN, .act = HD_relu, .start = true)),
    CASE("rnn relu reverse, both used", recur, LEAVES_OF(ODD_Z, SMALL_W),
         SHAPE(.cell = HD_RNN, .act = HD_relu, .reverse = true, .used = BOTH)),
    CASE("rnn gaps", recur, LEAVES_OF(Z(1), W(1), BIAS(1), H0),
         SHAPE(.cell = HD_RNN, .act = HD_tanh, .bias = true, .start = true, .used = BOTH, .layout = GAPS)),
    CASE("gru", recur, LEAVES_OF(Z(3), W(3)), SHAPE(.cell = HD_GRU)),
    CASE("gru bias", recur, LEAVES_OF(Z(3), W(3), BIAS(3)), SHAPE(.cell = HD_GRU, .bias = true)),
    CASE("gru start", recur, LEAVES_OF(Z(3), W(3), H0), SHAPE(.cell = HD_GRU, .start = true)),
    CASE("gru bias start, last used", recur, LEAVES_OF(Z(3), W(3), BIAS(3), H0),
         SHAPE(.cell = HD_GRU, .bias = true, .start = true, .used = LAST)),
    CASE("gru bias start, both used", recur, LEAVES_OF(Z(3), W(3), BIAS(3), H0),
         SHAPE(.cell = HD_GRU, .bias = true, .start = true, .used = BOTH)),
    CASE("gru empty items, last used", recur, LEAVES_OF(Z(3), W(3), BIAS(3), H0),
         SHAPE(.cell = HD_GRU, .bias = true, .start = true, .used = LAST, .layout = EMPTY)),
    CASE("gru reverse", recur, LEAVES_OF(Z(3), W(3), BIAS(3)),
         SHAPE(.cell = HD_GRU, .reverse = true, .bias = true)),
    CASE("gru reverse empty start, both used", recur, LEAVES_OF(Z(3), W(3), BIAS(3), H0),
         SHAPE(.cell = HD_GRU, .reverse = true, .bias = true, .start = true, .used = BOTH, .layout = EMPTY)),
    CASE("gru gaps", recur, LEAVES_OF(Z(3), W(3), BIAS(3), H0),
         SHAPE(.cell = HD_GRU, .bias = true, .start = true, .used = BOTH, .layout = GAPS)),
    CASE("gru one item", recur, LEAVES_OF(Z(3), W(3), BIAS(3)),
         SHAPE(.cell = HD_GRU, .bias = true, .layout = SINGLE)),
    CASE("gru many items", recur,
         LEAVES_OF(LEAF("z", 60, 6), LEAF("w", 6, 2), LEAF("bias", 1, 6), LEAF("start", 40, 2)),
         SHAPE(.cell = HD_GRU, .bias = true, .start = true, .used = BOTH, .layout = MANY)),
    CASE("lstm", recur, LEAVES_OF(Z(4), W(4)), SHAPE(.cell = HD_LSTM)),
    CASE("lstm bias", recur, LEAVES_OF(Z(4), W(4), BIAS(4)), SHAPE(.cell = HD_LSTM, .bias = true)),
    CASE("lstm start of h", recur, LEAVES_OF(Z(4), W(4), H0), SHAPE(.cell = HD_LSTM, .start = true)),
    CASE("lstm start of h and c", recur, LEAVES_OF(Z(4), W(4), HC), SHAPE(.cell = HD_LSTM, .start = true)),
    CASE("lstm start of h, both used, empty items", recur, LEAVES_OF(Z(4), W(4), H0),
         SHAPE(.cell = HD_LSTM, .start = true, .used = BOTH, .layout = EMPTY)),
    CASE("lstm bias start, last used", recur, LEAVES_OF(Z(4), W(4), BIAS(4), HC),
         SHAPE(.cell = HD_LSTM, .bias = true, .start = true, .used = LAST)),
    CASE("lstm bias start, both used", recur, LEAVES_OF(Z(4), W(4), BIAS(4), HC),
         SHAPE(.cell = HD_LSTM, .bias = true, .start = true, .used = BOTH)),
    CASE("lstm empty items, both used", recur, LEAVES_OF(Z(4), W(4), BIAS(4), HC),
         SHAPE(.cell = HD_LSTM, .bias = true, .start = true, .used = BOTH, .layout = EMPTY)),
    CASE("lstm reverse empty start, both used", recur, LEAVES_OF(Z(4), W(4), BIAS(4), HC),
         SHAPE(.cell = HD_LSTM, .reverse = true, .bias = true, .start = true, .used = BOTH, .layout = EMPTY)),
    CASE("lstm gaps", recur, LEAVES_OF(Z(4), W(4), BIAS(4), HC),
         SHAPE(.cell = HD_LSTM, .bias = true, .start = true, .used = BOTH, .layout = GAPS)),
    CASE("lstm many items, reverse", recur,
         LEAVES_OF(LEAF("z", 60, 8), LEAF("w", 8, 2), LEAF("bias", 1, 8), LEAF("start", 40, 4)),
         SHAPE(.cell = HD_LSTM, .reverse = true, .bias = true, .start = true, .used = BOTH, .layout = MANY)),
    CASE("lstm fixed start", recur, LEAVES_OF(Z(4), W(4), BIAS(4), LEAF("start", N, 2 * C, .fixed = true)),
         SHAPE(.cell = HD_LSTM, .bias = true, .start = true, .used = BOTH)),
    CASE("gru fixed weights", recur,
         LEAVES_OF(Z(3), LEAF("w", 3 * C, C, .fixed = true), LEAF("bias", 1, 3 * C, .fixed = true)),
         SHAPE(.cell = HD_GRU, .bias = true)),
    CASE("gru fixed inputs", recur, LEAVES_OF(LEAF("z", R, 3 * C, .fixed = true), W(3), BIAS(3)),
         SHAPE(.cell = HD_GRU, .bias = true)),
    CASE("two rnns", stacked, LEAVES_OF(Z(1), W(1), BIAS(1), LEAF("between", C, C)),
         SHAPE(.cell = HD_RNN, .act = HD_tanh, .layout = EMPTY)),
    CASE("two grus", stacked, LEAVES_OF(Z(3), W(3), BIAS(3), LEAF("between", 3 * C, C)),
         SHAPE(.cell = HD_GRU, .start = true, .layout = EMPTY)),
    CASE("two lstms", stacked, LEAVES_OF(Z(4), W(4), BIAS(4), LEAF("between", 4 * C, C)),
         SHAPE(.cell = HD_LSTM, .start = true)),
    CASE("two lstms that share h", stacked, LEAVES_OF(Z(4), W(4), BIAS(4), LEAF("between", 4 * C, C)),
         SHAPE(.cell = HD_LSTM)),
    CASE("gru step by step", twice, LEAVES_OF(LEAF("z", 3, 3 * C), W(3), BIAS(3)), SHAPE(.cell = HD_GRU)),
    CASE("lstm step by step", twice, LEAVES_OF(LEAF("z", 3, 4 * C), W(4), BIAS(4)), SHAPE(.cell = HD_LSTM)),
};

static void gradients_of_recurrent_cells_are_those_of_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_recurrent_cells_are_those_of_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
