/* A test that cannot run says why, and its program ends with 77, which CTest lists as Skipped: what was left
   out must not look as if it had passed. A program that uses leave_out returns
   outcome(cmocka_run_group_tests(...)). */
#ifndef OUTCOME_H
#define OUTCOME_H

static int outcome_left_out;

/* leave_out(FORMAT, ...): ends this test; what is missing, as of printf. */
#define leave_out(...)                                                                                \
    (print_message("skipped: "), print_message(__VA_ARGS__), print_message("\n"), outcome_left_out++, \
     _skip(__FILE__, __LINE__))

static int outcome(int failed)
{
    return failed ? failed : outcome_left_out ? 77 : 0;
}

#endif
