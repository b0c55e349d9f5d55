/* Attention in training with products of bf16, forward and backward, against the same in f32: close for all
   shapes of masks and lengths, and the same bits for any number of threads. */
#include "backend/cpu/form/form.h"
#include "check.h"

enum { ITEMS = 3, HEADS = 4, MOST_ROWS = 400 };

extern const hd_cpu_isa hd_cpu_isa_base;

typedef struct shape {
    const char *name;
    int32_t tq[ITEMS], tk[ITEMS];
    int kv_heads, d, dv;
    hd_mask mask;
    int window;
    float dropout;
} shape;

static const shape shapes[] = {
    {"short", {5, 2, 20}, {5, 2, 20}, HEADS, 8, 8, HD_FULL, 0, 0},
    {"odd sizes, causal", {13, 31, 3}, {13, 31, 3}, HEADS, 5, 7, HD_CAUSAL, 0, 0.2f},
    {"cross", {17, 1, 25}, {9, 30, 14}, HEADS, 32, 32, HD_FULL, 0, 0.1f},
    {"shared keys", {20, 7, 61}, {20, 7, 61}, 2, 16, 16, HD_CAUSAL, 0, 0},
    {"long, causal", {130, 57, 112}, {130, 57, 112}, HEADS, 24, 24, HD_CAUSAL, 0, 0},
    {"long, a window", {150, 70, 60}, {150, 70, 60}, 2, 16, 20, HD_CAUSAL, 21, 0.1f},
};

typedef enum kept { Y, DQ, DK, DV, KEPT } kept; /* what comes out */

typedef struct result {
    hd_real *x[KEPT];
    size_t count[KEPT];
} result;

static hd_backend *backend_in(hd_precision precision, int threads, bool plain)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_backend_opt opt = {.threads = threads, .precision = precision, .training = true};
    if (hd_backend_new(&b, "cpu", &opt, &err)) fail_msg("%s", err.text);
    hd_cpu *cpu = (hd_cpu *)b;
    if (!plain) return b;
    cpu->set = &hd_cpu_isa_base, cpu->set->fill(&b->kernel);
    cpu->form = cpu->unprepared = precision == HD_PRECISION_BF16 ? cpu->set->widened : cpu->set->f32;
    return b;
}

static size_t rows_of(const int32_t *len)
{
    size_t rows = 0;
    for (int i = 0; i < ITEMS; i++) rows += (size_t)len[i];
    assert_true(rows <= MOST_ROWS);
    return rows;
}

static hd_tensor *filled(hd_run *r, size_t rows, size_t cols, uint64_t seed)
{
    hd_tensor *t = hd_new(r, rows, cols);
    assert_non_null(t);
    fill_normal(t->data, rows * cols, 1, seed);
    return t;
}

static result attend(const shape *s, hd_precision precision, int threads, bool plain)
{
    hd_backend *b = backend_in(precision, threads, plain);
    hd_run run = run_on(b), *r = &run;
    hd_run_begin(r, HD_TRAIN);
    size_t rq = rows_of(s->tq), rk = rows_of(s->tk), keys = (size_t)(s->kv_heads * s->d),
           values = (size_t)(s->kv_heads * s->dv);
    hd_tensor *q = filled(r, rq, (size_t)(HEADS * s->d), 1), *k = filled(r, rk, keys, 2),
              *v = filled(r, rk, values, 3), *dy = filled(r, rq, (size_t)(HEADS * s->dv), 4),
              *y = filled(r, rq, (size_t)(HEADS * s->dv), 5), *lse = filled(r, rq, HEADS, 6),
              *dq = filled(r, rq, (size_t)(HEADS * s->d), 7), *dk = filled(r, rk, keys, 8),
              *dv = filled(r, rk, values, 9);
    hd_attention at = {.heads = HEADS,
                       .kv_heads = s->kv_heads,
                       .scale = 1 / sqrtf((float)s->d),
                       .mask = s->mask,
                       .window = s->window,
                       .qseg = hd_seg_of(r, s->tq, ITEMS, NULL),
                       .kseg = hd_seg_of(r, s->tk, ITEMS, NULL)};
    at.draw = hd_draw_next(r, s->dropout, at.qseg);
    assert_int_equal(
        b->kernel.attend(b, &(hd_attend_args){.y = y, .q = q, .k = k, .v = v, .lse = lse, .at = &at}), HD_OK);
    hd_attend_back_args back = {.dq = dq,
                                .dk = dk,
                                .dv = dv,
                                .fresh_q = true,
                                .fresh_v = true,
                                .dy = dy,
                                .y = y,
                                .q = q,
                                .k = k,
                                .v = v,
                                .lse = lse,
                                .at = &at};
    assert_int_equal(b->kernel.attend_back(b, &back), HD_OK);
    assert_run_ok(r);
    const hd_tensor *out[KEPT] = {y, dq, dk, dv};
    result to = {0};
    for (int i = 0; i < KEPT; i++) to.x[i] = host_copy(r, out[i]), to.count[i] = hd_count_of(out[i]);
    hd_run_release(r);
    hd_backend_free(b);
    return to;
}

static void release(result *r)
{
    for (int i = 0; i < KEPT; i++) free(r->x[i]);
}

/* Scores of about 1 err by 0.004 at most, and so do their exponentials, by chance in both directions. */
static void training_in_bf16_is_close_to_f32(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int plain = 0; plain < 2; plain++) {
            result f32 = attend(&shapes[i], HD_PRECISION_F32, 1, plain),
                   small = attend(&shapes[i], HD_PRECISION_BF16, 1, plain);
            for (int k = 0; k < KEPT; k++) {
                double error = relative_error(f32.x[k], small.x[k], f32.count[k]);
                if (!(error > 1e-5 && error < 0.01))
                    fail_msg("%s, plain %d: number %d is %.2g from that in f32", shapes[i].name, plain, k,
                             error);
            }
            release(&f32), release(&small);
        }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        result one = attend(&shapes[i], HD_PRECISION_BF16, 1, false);
        for (int threads = 2; threads <= 4; threads++) {
            result all = attend(&shapes[i], HD_PRECISION_BF16, threads, false);
            for (int k = 0; k < KEPT; k++)
                assert_memory_equal(one.x[k], all.x[k], one.count[k] * sizeof(hd_real));
            release(&all);
        }
        release(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_in_bf16_is_close_to_f32),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
