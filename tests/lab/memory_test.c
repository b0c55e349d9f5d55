/* Experiments on memory: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* Keys that are far away are not seen. */
static void near_sighted(hd_attention *at)
{
    at->window = 3;
}

/* Every key counts the same. */
static void blind(hd_attention *at)
{
    at->scale = 0;
}

static void gradients_vanish(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "vanishing")));
    lab_break_attention(&l, near_sighted);
    const hd_paper *p = lab_run(&l, "vanishing");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[2].held);
    lab_close(&l);
}

static void gaps_are_forgotten(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "forgetting")));
    lab_break_attention(&l, near_sighted);
    const hd_paper *p = lab_run(&l, "forgetting");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[2].held);
    lab_close(&l);
}

static void one_vector_is_a_bottleneck(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "bottleneck")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "bottleneck");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[1].held);
    lab_close(&l);
}

/* Attention that is computed over and over. */
static hd_status slow(hd_backend *b, const hd_attend_args *a)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 200; i++) s = lab_whole.attend(b, a);
    return s;
}

/* That attention is faster is a matter of the machine and what else it does: only that it is judged is
   tested, by attention that cannot be. */
static void recurrent_networks_wait(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    const hd_paper *p = lab_run(&l, "parallel");
    assert_true(p->claim[0].held && p->claim[1].held);
    l.backend->kernel.attend = slow;
    p = lab_run(&l, "parallel");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[2].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_vanish),
        cmocka_unit_test(gaps_are_forgotten),
        cmocka_unit_test(one_vector_is_a_bottleneck),
        cmocka_unit_test(recurrent_networks_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
