/* Experiments on sound: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* Every key counts the same. */
static void blind(hd_attention *at)
{
    at->scale = 0;
}

static void attention_follows_the_sound(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "listen")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "listen");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[1].held && !p->claim[3].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_follows_the_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
