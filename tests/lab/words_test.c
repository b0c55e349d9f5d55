/* Experiments on words and language: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* What is taken away is added. */
static hd_status sums_alone(hd_backend *b, const hd_mix_args *a)
{
    hd_mix_args other = *a;
    other.b = (float)fabs((double)a->b);
    return lab_whole.mix(b, &other);
}

static void king_minus_man_plus_woman_is_queen(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "vectors")));
    l.backend->kernel.mix = sums_alone;
    const hd_paper *p = lab_run(&l, "vectors");
    assert_true(p->claim[0].held && !p->claim[1].held);
    lab_close(&l);
}

static hd_status logarithms(hd_backend *b, const hd_softmax_args *a)
{
    hd_softmax_args other = *a;
    other.log = !a->log;
    return lab_whole.softmax(b, &other);
}

static void counts_are_a_language_model(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "ngram")));
    l.backend->kernel.softmax = logarithms;
    const hd_paper *p = lab_run(&l, "ngram");
    assert_true(p->claim[0].held && !p->claim[3].held);
    lab_close(&l);
}

static void without_similarities(hd_attention *at)
{
    at->ragged = NULL;
}

static void a_word_moves_toward_its_neighbor(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    const hd_paper *p = lab_run(&l, "apple");
    assert_true(hd_paper_held(p) && !p->claim[1].held && p->claim[1].note); /* it is no softmax */
    lab_break_attention(&l, without_similarities);
    p = lab_run(&l, "apple");
    assert_true(!p->claim[0].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(king_minus_man_plus_woman_is_queen),
        cmocka_unit_test(counts_are_a_language_model),
        cmocka_unit_test(a_word_moves_toward_its_neighbor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
