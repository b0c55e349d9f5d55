/* Experiments on language models: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* Updates that change nothing. */
static hd_status idle(hd_backend *b, const hd_update_args *a)
{
    (void)b, (void)a;
    return HD_OK;
}

/* Distances are not looked at. */
static void placeless(hd_attention *at)
{
    at->distance = NULL;
}

/* Biases that do not follow the loads. */
static hd_status unmoved(hd_backend *b, const hd_balance_args *a)
{
    hd_balance_args other = *a;
    other.rate = 0;
    return lab_whole.balance(b, &other);
}

static void kinds_stand_on_a_ladder(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "ladder")));
    l.backend->kernel.update = idle;
    const hd_paper *p = lab_run(&l, "ladder");
    assert_true(!hd_paper_held(p) && !p->claim[0].held);
    lab_close(&l);
}

static void biases_even_out_loads(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "experts")));
    l.backend->kernel.balance = unmoved;
    const hd_paper *p = lab_run(&l, "experts");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[1].held);
    lab_close(&l);
}

static void distances_reach_beyond(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "relative")));
    lab_break_attention(&l, placeless);
    assert_true(!hd_paper_held(lab_run(&l, "relative")));
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_stand_on_a_ladder),
        cmocka_unit_test(biases_even_out_loads),
        cmocka_unit_test(distances_reach_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
