/* heed.h alone, in C and in C++ (header_test.cc): it needs no other header and both see the same structs. */
#include "heed.h"

#include "check.h"

size_t header_sizes(size_t *to, size_t room);
int header_refusal(char *text, size_t size);

static void cpp_sees_the_same_structs(void **state)
{
    (void)state;
    size_t seen[8], known[] = {sizeof(heed_error),           sizeof(heed_model_options),
                               sizeof(heed_context_options), sizeof(heed_translate_options),
                               sizeof(heed_hypothesis),      sizeof(heed_translation),
                               sizeof(heed_results),         sizeof(heed_attention)};
    assert_int_equal(header_sizes(seen, COUNT_OF(seen)), COUNT_OF(known));
    for (size_t i = 0; i < COUNT_OF(known); i++) assert_int_equal(seen[i], known[i]);
}

static void cpp_can_call(void **state)
{
    (void)state;
    char text[512];
    assert_int_equal(header_refusal(text, sizeof text), HEED_EFILE);
    assert_string_equal(text, "/nowhere/at/all: there is no such folder");
}

static void defaults_are_those_of_the_header(void **state)
{
    (void)state;
    heed_translate_options o;
    heed_translate_options_init(&o, sizeof o);
    assert_int_equal(o.size, sizeof o);
    assert_int_equal(o.beam, 5);
    assert_int_equal(o.n_best, 1);
    assert_int_equal(o.length_penalty, HEED_LENGTH_AVERAGE);
    assert_true(o.alpha == 0.6 && o.max_ratio == 2 && o.temperature == 1);
    assert_int_equal(o.seed, 1);
    assert_int_equal(o.search, HEED_SEARCH_BEAM);
    assert_null(o.prefix);
    assert_null(o.attention);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpp_sees_the_same_structs),
        cmocka_unit_test(cpp_can_call),
        cmocka_unit_test(defaults_are_those_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
