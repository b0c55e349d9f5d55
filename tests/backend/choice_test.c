/* Which product forms a backend takes: those that HEED_CPU names, the fastest otherwise, and others where the
   kernel refuses the tiles of AMX. */
#include "check.h"
#include "rounding.h"

#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool refusing; /* the kernel gives no tiles */

/* Before that of the C library. */
long syscall(long number, ...)
{
    long x[6], result = -1;
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++) x[i] = va_arg(rest, long);
    va_end(rest);
#if defined(__x86_64__)
    enum { REQUEST = 0x1023 };
    register long r10 __asm__("r10") = x[3], r8 __asm__("r8") = x[4], r9 __asm__("r9") = x[5];
    if (refusing && number == SYS_arch_prctl && x[0] == REQUEST) return -1;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(x[0]), "S"(x[1]), "d"(x[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long r8 __asm__("x8") = number, r0 __asm__("x0") = x[0], r1 __asm__("x1") = x[1],
                     r2 __asm__("x2") = x[2], r3 __asm__("x3") = x[3], r4 __asm__("x4") = x[4],
                     r5 __asm__("x5") = x[5];
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r8), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
    result = r0;
#endif
    return result < 0 && result > -4096 ? -1 : result;
}

/* NULL: refused. */
static const hd_form *chosen(const char *named, hd_precision precision)
{
    static const hd_form *form;
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_backend_opt opt = {.threads = 1, .precision = precision};
    if (named) setenv("HEED_CPU", named, 1);
    const hd_status s = hd_backend_new(&b, "cpu", &opt, &err);
    unsetenv("HEED_CPU");
    form = s ? NULL : ((hd_cpu *)b)->form;
    if (form && form->stores != HD_REAL && !strstr(b->detail, form->name)) fail_msg("%s", b->detail);
    hd_backend_free(b);
    return form;
}

static const hd_form *bf16(const char *named)
{
    return chosen(named, HD_PRECISION_BF16);
}

static void every_form_can_be_asked_for(void **state)
{
    (void)state;
    for (int i = 0; rounding_form(i); i++) assert_ptr_equal(bf16(rounding_form(i)->name), rounding_form(i));
    assert_string_equal(bf16("widened")->name, "widened");
    assert_string_equal(chosen("plain", HD_PRECISION_INT8)->name, "plain");
    assert_null(bf16("abacus"));
}

/* A form that is slow here is not taken for being in the list. */
static void the_fastest_form_is_taken(void **state)
{
    (void)state;
    const hd_form *expected = NULL;
    for (int i = 0; !expected && rounding_form(i); i++)
        if (!rounding_form(i)->slow || !rounding_form(i)->slow()) expected = rounding_form(i);
    if (expected)
        assert_ptr_equal(bf16(NULL), expected);
    else
        assert_string_equal(bf16(NULL)->name, "widened");
}

static void without_tiles_others_are_taken(void **state)
{
    (void)state;
    refusing = true;
    assert_true(strcmp(bf16(NULL)->name, "amx"));
    assert_true(strcmp(chosen(NULL, HD_PRECISION_INT8)->name, "amx"));
    assert_null(bf16("amx"));
    the_fastest_form_is_taken(state);
#ifdef __x86_64__
    if (hd_form_avx512_bf16.needs && hd_form_avx512_bf16.needs())
        assert_ptr_equal(bf16("avx512_bf16"), &hd_form_avx512_bf16);
#endif
    refusing = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_can_be_asked_for),
        cmocka_unit_test(the_fastest_form_is_taken),
        cmocka_unit_test(without_tiles_others_are_taken),
    };
    unsetenv("HEED_CPU");
    unsetenv("HEED_ISA");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
