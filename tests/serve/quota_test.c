/* Tokens a minute. */
#include "check.h"

#include "outcome.h"
#include "serve/quota.h"

static void tokens_are_saved_up_for_a_minute(void **state)
{
    (void)state;
    static hd_quota q = {.rate = 60};
    double retry = 0;
    assert_true(hd_quota_take(&q, 1, 60, 100, &retry));
    assert_false(hd_quota_take(&q, 1, 30, 100, &retry));
    assert_float_equal(retry, 30, 1e-9);
    assert_true(hd_quota_take(&q, 2, 60, 100, &retry)); /* another's are another's */
    assert_false(hd_quota_take(&q, 1, 30, 129, &retry));
    assert_true(hd_quota_take(&q, 1, 30, 130.1, &retry));
    assert_true(hd_quota_take(&q, 1, 60, 1000, &retry));
    assert_false(hd_quota_take(&q, 1, 1, 1000, &retry));
}

static void more_than_a_minutes_is_owed(void **state)
{
    (void)state;
    static hd_quota q = {.rate = 60};
    double retry = 0;
    assert_true(hd_quota_take(&q, 1, 180, 100, &retry));
    assert_false(hd_quota_take(&q, 1, 1, 219, &retry));
    assert_true(hd_quota_take(&q, 1, 1, 221.1, &retry));
}

static void without_a_rate_everything_goes(void **state)
{
    (void)state;
    static hd_quota q;
    double retry = 0;
    for (int i = 0; i < 10; i++) assert_true(hd_quota_take(&q, 1, 1u << 30, 0, &retry));
}

/* More owners than there are places: those that were quiet for longest are forgotten, nothing else happens.
 */
static void many_owners_find_room(void **state)
{
    (void)state;
    static hd_quota q = {.rate = 60};
    double retry = 0;
    const uint64_t most = 3 * HD_QUOTA_OWNERS;
    for (uint64_t i = 0; i < most; i++)
        assert_true(hd_quota_take(&q, i * 2654435761u, 60, 100 + (double)i * 1e-3, &retry));
    assert_false(hd_quota_take(&q, (most - 1) * 2654435761u, 60, 113, &retry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_saved_up_for_a_minute),
        cmocka_unit_test(more_than_a_minutes_is_owed),
        cmocka_unit_test(without_a_rate_everything_goes),
        cmocka_unit_test(many_owners_find_room),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
