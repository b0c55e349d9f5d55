/* Vectors of sentences for benchmarks: one for each, of its tokens alone. */
#include "check.h"

#include "task/bench/vectors.h"

enum { WIDTH = 16, ITEMS = 3 };

static void each_sentence_has_the_vector_of_its_tokens(void **state)
{
    (void)state;
    static const int32_t ids[] = {3, 5, 7, 2, 3, 5, 7, 9, 9}, len[] = {3, 1, 3}, more[] = {3, 1, 300};
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_run r = {0};
    hd_bench_vectors v = {0};
    assert_int_equal(hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = 1}, &err), HD_OK);
    assert_int_equal(hd_run_init(&r, b, &err), HD_OK);
    assert_int_equal(hd_bench_vectors_make(&v, b, 1, 2, WIDTH, 20, &err), HD_OK);
    assert_int_equal(hd_bench_vectors_run(&v, &r, ids, len, ITEMS, &err), HD_OK);
    assert_memory_equal(v.vectors, v.vectors + 2 * WIDTH, WIDTH * sizeof *v.vectors);
    assert_memory_not_equal(v.vectors, v.vectors + WIDTH, WIDTH * sizeof *v.vectors);
    assert_true(hd_bench_vectors_flops(&v, 2, 8) > hd_bench_vectors_flops(&v, 1, 8));
    assert_int_equal(hd_bench_vectors_run(&v, &r, ids, more, 257, &err), HD_ELIMIT);
    hd_bench_vectors_release(&v);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_sentence_has_the_vector_of_its_tokens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
