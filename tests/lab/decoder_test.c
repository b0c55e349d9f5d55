/* Experiments on decoders: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* Every key counts the same. */
static void blind(hd_attention *at)
{
    at->scale = 0;
}

/* Cells that never let go of what they hold: the gate that keeps is open wide. */
static hd_status stubborn(hd_backend *b, const hd_recur_args *a)
{
    enum { KEEPING = 1 };
    hd_recur_args other = *a;
    hd_tensor bias = *a->re.bias;
    const size_t count = hd_count_of(&bias), width = count / hd_cell_gates(a->re.cell);
    hd_real *value = malloc(count * sizeof *value);
    assert_non_null(value);
    memcpy(value, bias.data, count * sizeof *value);
    for (size_t i = 0; i < width; i++) value[KEEPING * width + i] += 30;
    bias.data = value, other.re.bias = &bias;
    hd_status s = lab_whole.recur(b, &other);
    free(value);
    return s;
}

/* A walk that knows one direction. */
static hd_status onward(hd_backend *b, const hd_recur_args *a)
{
    hd_recur_args other = *a;
    other.re.reverse = false;
    return lab_whole.recur(b, &other);
}

static hd_status onward_back(hd_backend *b, const hd_recur_back_args *a)
{
    hd_recur_back_args other = *a;
    other.re.reverse = false;
    return lab_whole.recur_back(b, &other);
}

static void states_are_diluted(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "dilution")));
    l.backend->kernel.recur = stubborn;
    const hd_paper *p = lab_run(&l, "dilution");
    assert_true(!hd_paper_held(p) && !p->claim[0].held);
    lab_close(&l);
}

static void reversed_sources_are_easier(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "reversal")));
    l.backend->kernel.recur = onward, l.backend->kernel.recur_back = onward_back;
    const hd_paper *p = lab_run(&l, "reversal");
    assert_true(!hd_paper_held(p) && !p->claim[0].held);
    lab_close(&l);
}

static void any_first_state_will_do(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "start")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "start");
    assert_true(!hd_paper_held(p) && !p->claim[0].held && p->claim[1].held);
    lab_close(&l);
}

static void decoders_learn_where_to_look(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "alignment")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "alignment");
    assert_true(!hd_paper_held(p) && !p->claim[0].held);
    lab_close(&l);
}

/* Windows that are not kept to. */
static void farsighted(hd_attention *at)
{
    if (at->window > 0) at->window += 8;
}

static void windows_are_enough_where_order_is_kept(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "local")));
    lab_break_attention(&l, farsighted);
    const hd_paper *p = lab_run(&l, "local");
    assert_true(!hd_paper_held(p) && !p->claim[0].held);
    lab_close(&l);
}

static void the_truth_is_cheating(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "forcing")));
    l.backend->kernel.recur = stubborn;
    const hd_paper *p = lab_run(&l, "forcing");
    assert_true(!hd_paper_held(p) && !p->claim[1].held);
    lab_close(&l);
}

/* Attention that sees its neighbors alone. */
static void nearsighted(hd_attention *at)
{
    at->window = 1;
}

static void translators_are_compared_on_one_corpus(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "table2")));
    lab_break_attention(&l, nearsighted);
    const hd_paper *p = lab_run(&l, "table2");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[3].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_diluted),
        cmocka_unit_test(reversed_sources_are_easier),
        cmocka_unit_test(any_first_state_will_do),
        cmocka_unit_test(decoders_learn_where_to_look),
        cmocka_unit_test(windows_are_enough_where_order_is_kept),
        cmocka_unit_test(the_truth_is_cheating),
        cmocka_unit_test(translators_are_compared_on_one_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
