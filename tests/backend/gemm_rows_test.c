/* Few rows with a matrix that is read as it lies: the bits are those of the same product with its transpose,
   and of many rows, for which it is packed, on any number of threads. So it is with gradients of weights. */
#include "check.h"

static void rows_meet_a_matrix_as_it_lies(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{1, 512, 128}, {2, 512, 128}, {1, 40, 700},   {1, 4096, 65},
                                      {2, 36, 3},    {1, 7, 9},     {3, 130, 1030}, {13, 150, 700}};
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

static hd_status multiply(hd_backend *cpu, hd_real *y, hd_real *a, hd_real *b, const size_t size[3],
                          bool turned)
{
    const size_t m = size[0], n = size[1], k = size[2];
    hd_tensor ta = hd_matrix(a, m, k), tb = turned ? hd_matrix(b, n, k) : hd_matrix(b, k, n),
              ty = hd_matrix(y, m, n);
    return cpu->kernel.gemm(cpu, &(hd_gemm_args){.y = &ty, .a = &ta, .b = &tb, .b_transposed = turned});
}

static void few_rows_have_the_bits_of_many(void **state)
{
    (void)state;
    enum { MANY = 1300, N = 300, K = 530 };
    static const size_t few[] = {5, 40, 107};
    hd_real *a = malloc(MANY * K * sizeof *a), *b = malloc(K * N * sizeof *b),
            *want = malloc(MANY * N * sizeof *want), *got = malloc(MANY * N * sizeof *got);
    fill_normal(a, MANY * K, 1, 1), fill_normal(b, K * N, 1, 2);
    for (int turned = 0; turned < 2; turned++)
        for (int threads = 1; threads <= 3; threads++) {
            hd_backend *cpu = backend_of("cpu", threads);
            assert_int_equal(multiply(cpu, want, a, b, (const size_t[]){MANY, N, K}, turned), HD_OK);
            for (size_t i = 0; i < COUNT_OF(few); i++) {
                assert_int_equal(multiply(cpu, got, a, b, (const size_t[]){few[i], N, K}, turned), HD_OK);
                assert_memory_equal(want, got, few[i] * N * sizeof *want);
            }
            hd_backend_free(cpu);
        }
    free(a), free(b), free(want), free(got);
}

/* dz [K,M] and x [K,N], side by side with others, so that their rows are `apart`. */
static void gradient(hd_backend *cpu, hd_real *y, const hd_real *dz, const hd_real *x, const size_t size[3],
                     size_t apart)
{
    const size_t m = size[0], n = size[1], k = size[2], wide = m + n + apart;
    hd_real *both = malloc(k * wide * sizeof *both);
    fill_normal(both, k * wide, 1, 3), fill_normal(y, m * n, 1, 4);
    for (size_t row = 0; row < k; row++) {
        memcpy(both + row * wide, dz + row * m, m * sizeof *dz);
        memcpy(both + row * wide + m, x + row * n, n * sizeof *x);
    }
    hd_tensor whole = hd_matrix(both, k, wide), a = hd_view_cols(&whole, 0, m),
              b = hd_view_cols(&whole, m, n), c = hd_matrix(y, m, n);
    if (!apart) a = hd_matrix((hd_real *)dz, k, m), b = hd_matrix((hd_real *)x, k, n);
    hd_gemm_args g = {.y = &c, .a = &a, .a_transposed = true, .b = &b, .add = true};
    assert_int_equal(cpu->kernel.gemm(cpu, &g), HD_OK);
    free(both);
}

/* Gradients of narrow layers are summed from rows in place, of wide ones from packed rows. */
static void gradients_have_the_same_bits_however_far_rows_lie_apart(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{128, 128, 1030}, {31, 48, 700}, {384, 256, 60}, {64, 70, 513},
                                      {200, 16, 5},     {13, 7, 1100}, {5, 128, 3}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        hd_real *dz = malloc(m * k * sizeof *dz), *x = malloc(k * n * sizeof *x),
                *want = malloc(m * n * sizeof *want), *got = malloc(m * n * sizeof *got);
        fill_normal(dz, m * k, 1, 1), fill_normal(x, k * n, 1, 2);
        for (int threads = 1; threads <= 4; threads++) {
            hd_backend *cpu = backend_of("cpu", threads);
            if (threads == 1) gradient(cpu, want, dz, x, sizes[i], 1000);
            gradient(cpu, got, dz, x, sizes[i], 0);
            assert_memory_equal(want, got, m * n * sizeof *want);
            hd_backend_free(cpu);
        }
        free(dz), free(x), free(want), free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_meet_a_matrix_as_it_lies),
        cmocka_unit_test(few_rows_have_the_bits_of_many),
        cmocka_unit_test(gradients_have_the_same_bits_however_far_rows_lie_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
