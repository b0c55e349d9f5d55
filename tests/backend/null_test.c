/* The dry run: a training step on the null backend asks for exactly the memory that the same step takes on
 * the cpu, and gets none. */
#include "op/everything.h"

typedef struct need {
    size_t step, grads, host;
    size_t real; /* bytes that were really allocated */
} need;

static need measure(const char *backend, const step_shape *shape)
{
    size_t before = hd_mem_now().used;
    hd_backend *b = backend_of(backend, 2);
    hd_run r = run_on(b);
    step s;
    step_forward(&r, shape, &s);
    hd_backward(&r);
    assert_run_ok(&r);
    need n = {r.step.peak, r.grads.peak, r.host.peak, hd_mem_now().used - before};
    hd_run_release(&r);
    hd_backend_free(b);
    assert_int_equal(hd_mem_now().used, before);
    return n;
}

static void a_dry_run_measures_the_real_one(void **state)
{
    (void)state;
    const step_shape shapes[] = {
        {.len = {5, 3, 7, 1, 0, 2}, .cols = 8},
        {.len = {5, 3, 7, 1, 0, 2}, .cols = 8, .host_segments = true},
        {.len = {90, 31, 7, 150, 0, 1}, .cols = 64, .host_segments = true},
    };
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        need real = measure("cpu", &shapes[i]), dry = measure("null", &shapes[i]);
        assert_int_equal(dry.step, real.step);
        assert_int_equal(dry.grads, real.grads);
        assert_int_equal(dry.host, real.host);
    }
}

static void a_dry_run_takes_no_memory_for_data(void **state)
{
    (void)state;
    const step_shape shape = {.len = {300, 200, 100, 400, 0, 1}, .cols = 512, .host_segments = true};
    need dry = measure("null", &shape);
    assert_true(dry.step > 50000000 && dry.grads > 10000000);
    assert_true(dry.real < 1 << 20); /* descriptions, on the host */
}

static void the_null_backend_says_so(void **state)
{
    (void)state;
    hd_backend *b = backend_of("null", 1);
    assert_true(b->dry);
    assert_string_equal(b->name, "null");
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *x = random_rows(&r, 3, 4, 1, 1);
    hd_real host[12] = {1};
    assert_true(hd_read(&r, x, host)); /* nothing is there: zeros */
    for (int i = 0; i < 12; i++) assert_true(host[i] == 0);
    assert_int_equal(b->prepare(b, x, HD_DECODING), HD_OK);
    b->unprepare(b, x);
    assert_int_equal(b->rank_sum(b, x->data, 12), HD_OK);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void an_unknown_device_is_named_beside_those_there_are(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = NULL;
    assert_int_equal(hd_backend_new(&b, "abacus", NULL, &err), HD_EMISSING);
    assert_null(b);
    assert_non_null(strstr(err.text, "abacus"));
    assert_non_null(strstr(err.text, "cpu"));
    hd_backend_free(NULL);
}

static void a_device_is_found_by_the_name_of_its_backend(void **state)
{
    (void)state;
    hd_device any, cpu;
    assert_true(hd_backend_find(&any, "auto") && !any.why[0]);
    assert_true(hd_backend_find(&cpu, "cpu"));
    assert_string_equal(cpu.backend, "cpu");
    assert_false(hd_backend_find(&any, "abacus"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_found_by_the_name_of_its_backend),
        cmocka_unit_test(a_dry_run_measures_the_real_one),
        cmocka_unit_test(a_dry_run_takes_no_memory_for_data),
        cmocka_unit_test(the_null_backend_says_so),
        cmocka_unit_test(an_unknown_device_is_named_beside_those_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
