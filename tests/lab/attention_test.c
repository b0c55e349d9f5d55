/* Experiments on attention: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

static void unscaled(hd_attention *at)
{
    at->scale = 1;
}

static void seeing_all(hd_attention *at)
{
    at->mask = HD_FULL;
}

static void seeing_the_past(hd_attention *at)
{
    at->mask = HD_CAUSAL;
}

/* The experiment holds, and with attention changed so claim `turned` does not. */
static void holds_until(const char *name, void (*change)(hd_attention *at), size_t turned)
{
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, name)));
    lab_break_attention(&l, change);
    const hd_paper *p = lab_run(&l, name);
    assert_true(!hd_paper_held(p) && turned < p->claims && !p->claim[turned].held);
    lab_close(&l);
}

static void scores_are_those_of_the_formulas(void **state)
{
    (void)state;
    holds_until("scores", unscaled, 1);
}

static void scores_are_divided_by_the_root_of_the_width(void **state)
{
    (void)state;
    holds_until("scale", unscaled, 0);
}

static void attention_ignores_order(void **state)
{
    (void)state;
    holds_until("order", seeing_the_past, 1);
}

static void a_mask_hides_the_future(void **state)
{
    (void)state;
    holds_until("mask", seeing_all, 2);
}

static void single_headed(hd_attention *at)
{
    at->heads = at->kv_heads = 1;
}

static void heads_look_each_for_itself(void **state)
{
    (void)state;
    holds_until("heads", single_headed, 2);
}

/* Of a sum of two only the second is left. */
static hd_status lose_residuals(hd_backend *b, const hd_mix_args *a)
{
    hd_mix_args other = *a;
    if (a->z && !a->add && a->a == 1 && a->b == 1) other.a = 0;
    return lab_whole.mix(b, &other);
}

static void residuals_let_blocks_learn(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    const hd_paper *p = lab_run(&l, "block");
    for (size_t i = 0; i < 4; i++) assert_true(p->claim[i].held);
    l.backend->kernel.mix = lose_residuals;
    p = lab_run(&l, "block");
    assert_true(!hd_paper_held(p) && !p->claim[3].held);
    lab_close(&l);
}

/* Positions are the rows that are added. */
static hd_status lose_positions(hd_backend *b, const hd_gather_args *a)
{
    return a->add ? HD_OK : lab_whole.gather(b, a);
}

static void positions_tell_order(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    const hd_paper *p = lab_run(&l, "positions");
    assert_true(hd_paper_held(p) && !p->claim[4].held && p->claim[4].note); /* the strict fall is false */
    l.backend->kernel.gather = lose_positions;
    p = lab_run(&l, "positions");
    assert_true(!hd_paper_held(p) && !p->claim[5].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_formulas),
        cmocka_unit_test(scores_are_divided_by_the_root_of_the_width),
        cmocka_unit_test(attention_ignores_order),
        cmocka_unit_test(a_mask_hides_the_future),
        cmocka_unit_test(heads_look_each_for_itself),
        cmocka_unit_test(residuals_let_blocks_learn),
        cmocka_unit_test(positions_tell_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
