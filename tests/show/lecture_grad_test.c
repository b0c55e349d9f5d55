/* Self-attention with the lecture's weights does not know the order of its words: rows in another order give
   the same rows in that order. In double, where only the order of sums differs. */
#include "check.h"

#include "show/lecture.h"

enum { N = 5, C = HD_LECTURE_WIDTH };

static void the_encoder_without_positions_is_equivariant(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_encdec *m = NULL;
    if (hd_lecture_new(&m, b, 0, false, &err)) fail_msg("%s", err.text);
    static const int32_t order[][N] = {{3, 0, 4, 2, 1}, {4, 3, 2, 1, 0}, {1, 0, 2, 3, 4}};
    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (int placed = 0; placed < 2; placed++) {
            hd_run_begin(&r, HD_INFERENCE);
            const hd_seg *seg = hd_seg_of(&r, (int32_t[]){N}, 1, NULL);
            const hd_stack *stack = &m->encoder.stage[0].stack;
            const int32_t *index = hd_ints(&r, order[k], N);
            hd_tensor *x = random_rows(&r, N, C, 1, 3), *moved = hd_gather(&r, x, index, N, 1);
            if (placed) { /* with positions it does know */
                hd_tensor *p = hd_gather(&r, &m->encoder.front.position->t, seg->pos, N, 1);
                x = hd_add(&r, x, p), moved = hd_add(&r, moved, p);
            }
            hd_tensor *y = hd_stack_of(&r, stack, (hd_rows){x, seg}, (hd_rows){0}, NULL).t,
                      *z = hd_stack_of(&r, stack, (hd_rows){moved, seg}, (hd_rows){0}, NULL).t;
            hd_real *want = host_copy(&r, hd_gather(&r, y, index, N, 1)), *got = host_copy(&r, z);
            double far = 0;
            for (size_t i = 0; i < N * C; i++) far = fmax(far, fabs((double)want[i] - (double)got[i]));
            if (placed ? far < 1e-2 : far > 1e-14)
                fail_msg("order %zu%s: off by %g", k, placed ? ", placed" : "", far);
            free(want), free(got);
        }
    hd_encdec_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_encoder_without_positions_is_equivariant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
