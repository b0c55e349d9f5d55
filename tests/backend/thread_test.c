/* The same bits whatever the number of threads, and whatever else is in the batch. Sizes are above the grain
 * of the kernels, so that work is really split. */
#include "op/everything.h"

static const step_shape large = {.len = {90, 31, 7, 150, 0, 1}, .cols = 64, .host_segments = true};

static void a_training_step_has_the_same_bits_on_1_to_4_threads(void **state)
{
    (void)state;
    hd_real *first = NULL;
    size_t count = 0;
    for (int threads = 1; threads <= 4; threads++) {
        hd_backend *b = backend_of("cpu", threads);
        hd_run r = run_on(b);
        for (int again = 0; again < 3; again++) {
            step s;
            size_t n;
            step_forward(&r, &large, &s);
            assert_run_ok(&r);
            hd_real *all = step_numbers(&r, &s, &n);
            assert_run_ok(&r);
            for (size_t i = 0; i < n; i++) assert_true(isfinite(all[i]));
            if (first && (n != count || memcmp(first, all, n * sizeof *all)))
                fail_msg("other bits on %d threads", threads);
            if (first)
                free(all);
            else
                first = all, count = n;
        }
        hd_run_release(&r);
        hd_backend_free(b);
    }
    free(first);
}

/* Heads that share one center add to the same numbers. */
static void shared_centers_have_the_same_bits_on_1_to_4_threads(void **state)
{
    (void)state;
    enum { ROWS = 120, HEADS = 8, D = 2 };
    hd_real first[ROWS], now[ROWS];
    for (int threads = 1; threads <= 4; threads++) {
        hd_backend *b = backend_of("cpu", threads);
        hd_run r = run_on(b);
        for (int again = 0; again < 10; again++) {
            hd_run_begin(&r, HD_TRAIN);
            hd_rows x = {random_rows(&r, ROWS, HEADS * D, 1, 1),
                         hd_seg_of(&r, (const int32_t[]){ROWS}, 1, NULL)};
            hd_tensor *center = random_rows(&r, ROWS, 1, 20, 2);
            center->wants_grad = true;
            hd_rows y =
                hd_attend(&r, x, x, x, &(hd_attend_opt){.heads = HEADS, .center = center, .sigma = 5});
            hd_sum_loss(&r, hd_mul(&r, y.t, random_rows(&r, ROWS, HEADS * D, 1, 3)), 1);
            hd_backward(&r);
            assert_run_ok(&r);
            hd_read(&r, center->grad, threads == 1 && !again ? first : now);
            if (threads > 1 || again) assert_memory_equal(first, now, sizeof now);
        }
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

enum { C = 48, ITEMS = 3 };

/* A small model over the rows of items [from, from+n) of a corpus; returns its result and the gradient of its
 * input, item by item. */
static void run_items(hd_run *r, const int32_t *len, size_t from, size_t n, hd_real *y, hd_real *dx)
{
    static const int32_t key[ITEMS] = {50, 3, 8};
    size_t before = 0, rows = 0;
    for (size_t i = 0; i < from; i++) before += (size_t)len[i];
    for (size_t i = from; i < from + n; i++) rows += (size_t)len[i];
    hd_real x[256 * C];
    fill_normal(x, 256 * C, 1, 11);
    hd_run_begin(r, HD_TRAIN);
    const hd_seg *seg = hd_seg_of(r, len + from, n, key + from);
    hd_tensor *in = hd_from(r, rows, C, x + before * C);
    in->wants_grad = true;
    hd_tensor *h = hd_linear(r, in, random_rows(r, C, C, 0.2, 12), random_rows(r, 1, C, 0.2, 13), HD_gelu);
    hd_rows q = {hd_dropout(r, h, 0.1f, seg), seg};
    q = hd_attend(r, q, q, q, &(hd_attend_opt){.heads = 4, .mask = HD_CAUSAL, .dropout = 0.1f});
    h = hd_norm_residual(r, h, q.t, random_rows(r, 1, C, 1, 14), NULL,
                         &(hd_norm_opt){.eps = 1e-5f, .dropout = 0.2f, .seg = seg}, NULL);
    h = hd_add(r, hd_softmax(r, h), hd_segment_softmax(r, h, seg));
    h = hd_add(r, h, hd_broadcast(r, hd_reduce(r, h, seg, HD_MEAN), seg));
    hd_sum_loss(r, hd_mul(r, h, h), 1);
    assert_true(hd_read(r, h, y + before * C));
    hd_backward(r);
    assert_true(hd_read(r, in->grad, dx + before * C));
}

static void an_item_has_the_same_bits_alone_and_in_a_batch(void **state)
{
    (void)state;
    const int32_t len[ITEMS] = {70, 9, 130};
    static hd_real y[256 * C], dx[256 * C], alone_y[256 * C], alone_dx[256 * C];
    for (int threads = 1; threads <= 3; threads++) {
        hd_backend *b = backend_of("cpu", threads);
        hd_run r = run_on(b);
        run_items(&r, len, 0, ITEMS, y, dx);
        for (size_t i = 0; i < ITEMS; i++) run_items(&r, len, i, 1, alone_y, alone_dx);
        assert_memory_equal(y, alone_y, sizeof y);
        assert_memory_equal(dx, alone_dx, sizeof dx);
        run_items(&r, len, 1, 2, alone_y, alone_dx);
        assert_memory_equal(y, alone_y, sizeof y);
        assert_memory_equal(dx, alone_dx, sizeof dx);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_step_has_the_same_bits_on_1_to_4_threads),
        cmocka_unit_test(shared_centers_have_the_same_bits_on_1_to_4_threads),
        cmocka_unit_test(an_item_has_the_same_bits_alone_and_in_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
