/* The part of cmocka that tests of kernels use, for processors whose cmocka is not installed. A failure ends
   the program. */
#ifndef CMOCKA_H
#define CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};

/* clang-format off */
#define fail_msg(...) \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))
#define assert_true(x)             ((x) ? (void)0 : fail_msg("not %s", #x))
#define assert_null(x)             assert_true(!(x))
#define assert_non_null(x)         assert_true((x) != NULL)
#define assert_int_equal(a, b)     assert_true((long long)(a) == (long long)(b))
#define assert_memory_equal(a, b, n) assert_true(!memcmp(a, b, n))
#define print_message              printf
#define cmocka_unit_test(f)        {#f, f}
#define cmocka_run_group_tests(list, begin, end) run_tests(list, sizeof(list) / sizeof *(list))
/* clang-format on */

static inline int run_tests(const struct CMUnitTest *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        list[i].test(NULL);
        printf("[       OK ] %s\n", list[i].name);
    }
    printf("[  PASSED  ] %zu test(s).\n", count);
    return 0;
}

#endif
