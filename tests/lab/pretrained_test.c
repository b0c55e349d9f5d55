/* Experiments on models that learned from plain text: what they say of the engine as it is, and of one that
 * is broken. */
#include "lab/lab.h"

/* Updates that change nothing. */
static hd_status idle(hd_backend *b, const hd_update_args *a)
{
    (void)b, (void)a;
    return HD_OK;
}

/* Nobody sees what comes later. */
static void forward(hd_attention *at)
{
    at->mask = HD_CAUSAL;
}

/* Everybody does. */
static void leaking(hd_attention *at)
{
    at->mask = HD_FULL;
}

/* Rows without a label have one. */
static hd_status labeling(hd_backend *b, const hd_cross_entropy_args *a)
{
    hd_cross_entropy_args other = *a;
    size_t rows = hd_rows_of(a->x);
    int32_t *target = calloc(rows + 1, sizeof *target);
    for (size_t i = 0; i < rows; i++) target[i] = a->target[i] < 0 ? 0 : a->target[i];
    other.target = target;
    hd_status s = lab_whole.cross_entropy(b, &other);
    free(target);
    return s;
}

/* What is rewarded becomes less likely. */
static hd_status spiteful(hd_backend *b, const hd_cross_entropy_args *a)
{
    hd_cross_entropy_args other = *a;
    if (a->policy_rows) other.coef = -a->coef;
    return lab_whole.cross_entropy(b, &other);
}

/* Every key counts the same. */
static void blind(hd_attention *at)
{
    at->scale = 0;
}

static void both_sides_tell(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "fill")));
    lab_break_attention(&l, forward);
    const hd_paper *p = lab_run(&l, "fill");
    assert_true(!p->claim[0].held && p->claim[1].held && !p->claim[2].held && !p->claim[3].held);
    lab_mend(&l);
    l.backend->kernel.cross_entropy = labeling;
    p = lab_run(&l, "fill");
    assert_true(p->claim[0].held && !p->claim[1].held);
    lab_close(&l);
}

static void plain_text_helps(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "pretraining")));
    lab_break_attention(&l, leaking);
    assert_true(!lab_run(&l, "pretraining")->claim[0].held);
    lab_mend(&l);
    l.backend->kernel.update = idle;
    const hd_paper *p = lab_run(&l, "pretraining");
    assert_true(p->claim[0].held && !p->claim[1].held && !p->claim[2].held && !p->claim[3].held);
    assert_true(p->claim[4].held && !p->claim[5].held && p->claim[6].held);
    lab_close(&l);
}

static void rewards_teach(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "rewards")));
    l.backend->kernel.cross_entropy = spiteful;
    const hd_paper *p = lab_run(&l, "rewards");
    assert_true(p->claim[0].held && !p->claim[1].held && p->claim[2].held && p->claim[3].held);
    lab_close(&l);
}

/* With a model of the user's: cli/lab. */
static void averages_are_computed_again(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    const hd_paper *p = lab_run(&l, "glue");
    assert_true(hd_paper_held(p) && p->claims == 4 && !p->claim[1].held);
    lab_close(&l);
}

static void short_vectors_do(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "latent")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "latent");
    assert_true(!p->claim[0].held && !p->claim[1].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_tell),  cmocka_unit_test(plain_text_helps),
        cmocka_unit_test(rewards_teach),    cmocka_unit_test(averages_are_computed_again),
        cmocka_unit_test(short_vectors_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
