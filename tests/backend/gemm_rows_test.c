/* Few rows with a matrix [K,N] that is read as it lies: the bits are those of the same product with its
   transpose, on any number of threads. */
#include "check.h"

static void rows_meet_a_matrix_as_it_lies(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{1, 512, 128}, {2, 512, 128}, {1, 40, 700},
                                      {1, 4096, 65}, {2, 36, 3},    {1, 7, 9}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        hd_real *a = malloc(m * k * sizeof *a), *b = malloc(k * n * sizeof *b),
                *t = malloc(k * n * sizeof *t), *want = malloc(m * n * sizeof *want),
                *got = malloc(m * n * sizeof *got);
        fill_normal(a, m * k, 1, 1), fill_normal(b, k * n, 1, 2);
        for (size_t row = 0; row < k; row++)
            for (size_t c = 0; c < n; c++) t[c * k + row] = b[row * n + c];
        for (int threads = 1; threads <= 4; threads++) {
            hd_backend *cpu = backend_of("cpu", threads);
            hd_tensor ta = hd_shaped(a, HD_REAL, 2, (const size_t[]){m, k}),
                      tb = hd_shaped(b, HD_REAL, 2, (const size_t[]){k, n}),
                      tt = hd_shaped(t, HD_REAL, 2, (const size_t[]){n, k}),
                      y = hd_shaped(want, HD_REAL, 2, (const size_t[]){m, n});
            hd_gemm_args g = {.y = &y, .a = &ta, .b = &tt, .b_transposed = true};
            assert_int_equal(cpu->kernel.gemm(cpu, &g), HD_OK);
            y.data = got, g.b = &tb, g.b_transposed = false;
            assert_int_equal(cpu->kernel.gemm(cpu, &g), HD_OK);
            assert_memory_equal(want, got, m * n * sizeof *want);
            hd_backend_free(cpu);
        }
        free(a), free(b), free(t), free(want), free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_meet_a_matrix_as_it_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
