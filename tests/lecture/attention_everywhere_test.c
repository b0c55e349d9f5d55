/* Attention as one technique: every model that looks at something does it by the same operation of the
   engine, counted in the backend's own table. */
#include "model/classifier_toy.h"
#include "model/encdec_cases.h"

static size_t calls;
static __typeof__(((hd_backend *)0)->kernel.attend) attend;

static hd_status counted(hd_backend *b, const hd_attend_args *a)
{
    calls++;
    return attend(b, a);
}

/* From here on its attention is counted. */
static void count(hd_backend *b)
{
    attend = b->kernel.attend, b->kernel.attend = counted;
    calls = 0;
}

static size_t of_encdec(const char *name, const toy_batch *b)
{
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++) {
        if (strcmp(encdec_cases[i].name, name)) continue;
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[i]);
        encdec_open(&m, &o, 1);
        count(m.backend);
        free(toy_logits(&m, b));
        toy_close(&m);
        return calls;
    }
    fail_msg("there is no %s", name);
    return 0;
}

static size_t of_classifier(const hd_classifier_opt *o)
{
    classifier_toy t;
    ct_open(&t, o, false);
    count(t.backend);
    hd_run_begin(&t.run, HD_INFERENCE);
    hd_class_batch b = ct_batch(&t, 0, CT_ITEMS, false);
    free(host_copy(&t.run, hd_classifier_logp(&t.run, t.m, &b)));
    ct_close(&t);
    return calls;
}

static void every_model_attends_by_the_one_operation(void **state)
{
    (void)state;
    const toy_batch b = toy_range(2, 1);
    size_t words = b.target_rows;
    const struct {
        const char *name;
        size_t
            calls; /* a layer is one; a recurrent decoder that asks before the word has one for each word */
    } encdecs[] = {{"transformer", 3},
                   {"t5", 6},
                   {"bi-gru under blocks", 1 + words},
                   {"gru", words},
                   {"late dot", 1},
                   {"late additive", 1},
                   {"local-p", words},
                   {"late, two heads", 1},
                   {"fixed", 0},
                   {"mlp", 0}}; /* a network scores, then a weighted sum */
    for (size_t i = 0; i < COUNT_OF(encdecs); i++) {
        size_t found = of_encdec(encdecs[i].name, &b);
        if (found != encdecs[i].calls)
            fail_msg("%s: attends %zu times, not %zu", encdecs[i].name, found, encdecs[i].calls);
    }
    hd_classifier_opt blocks = ct_opt("transformer:2", HD_POOL_mean),
                      bert = ct_opt_from("bert", HD_POOL_first), gpt = ct_opt_from("gpt", HD_POOL_last),
                      cells = ct_opt("gru", HD_POOL_last);
    assert_int_equal(of_classifier(&blocks), 2);
    assert_int_equal(of_classifier(&bert), 2);
    assert_int_equal(of_classifier(&gpt), 1);
    assert_int_equal(of_classifier(&cells), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_attends_by_the_one_operation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
