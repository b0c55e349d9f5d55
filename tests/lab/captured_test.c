/* Experiments on a device that captures steps. Theirs are not captured, and so not filled up with rows that
   would be learned from or counted. */
#include "lab/decoding/looks.h"
#include "lab/lab.h"
#include "lab/pretrained/school.h"
#include "lab/sound/listener.h"
#include "recorder.h"

enum { BEAM = 3 };

static void open_on(laboratory *l, bool captures)
{
    *l = (laboratory){.backend = backend_of("cpu", 1)};
    if (captures) recorder_attach(l->backend);
    l->run = run_on(l->backend);
    l->lab = (hd_lab){.run = &l->run, .seed = 1, .seeds = 1};
}

static hd_real *copy_of(const hd_params *p, size_t *count)
{
    hd_real *all = malloc(p->trainable * sizeof *all);
    p->backend->download(p->backend, all, p->value, p->trainable * sizeof *all);
    *count = p->trainable;
    return all;
}

static hd_real *taught_listener(laboratory *l, size_t *count)
{
    hd_listener x;
    hd_err err = {0};
    if (hd_listener_open(&x, &l->run, "pyramid:2", 1, &err) || hd_listener_learn(&x, 3, 3, 0.01, &err))
        fail_msg("%s", err.text);
    hd_real *value = copy_of(&x.model->params, count);
    hd_listener_close(&x);
    return value;
}

static hd_real *rewarded_school(laboratory *l, size_t *count)
{
    hd_school x;
    hd_err err = {0};
    if (hd_school_open(&x, &l->lab, 1, &err) || hd_school_turn(&x, 1, &err)) fail_msg("%s", err.text);
    hd_real *value = copy_of(x.pupil.model->params, count);
    hd_school_close(&x);
    return value;
}

static void learners_learn_what_they_learn_elsewhere(void **state)
{
    (void)state;
    hd_real *(*const taught[])(laboratory *, size_t *) = {taught_listener, rewarded_school};
    for (size_t i = 0; i < COUNT_OF(taught); i++) {
        hd_real *value[2];
        size_t count = 0;
        for (int captures = 0; captures < 2; captures++) {
            laboratory l;
            open_on(&l, captures);
            value[captures] = taught[i](&l, &count);
            lab_close(&l);
        }
        assert_memory_equal(value[0], value[1], count * sizeof **value);
        free(value[0]), free(value[1]);
    }
}

static void nobody_looks_who_is_no_path(void **state)
{
    (void)state;
    laboratory l;
    hd_learner x;
    hd_looks looks;
    hd_err err = {0};
    hd_learner_opt o = hd_learner_block(HD_EXERCISE_reverse, 6, 16, 1);
    o.encoder = "bi-gru:1", o.decoder = "gru:1";
    open_on(&l, true);
    if (hd_learner_open(&x, &l.run, &o, &err)) fail_msg("%s", err.text);
    hd_learner_draw(x.lot, &x, 0, 1);
    if (hd_looks_search(&looks, &x, BEAM, false, &err)) fail_msg("%s", err.text);
    assert_true(looks.extended > HD_LOOKS_ITEMS * BEAM);
    assert_int_equal(looks.looks, looks.extended);
    hd_looks_release(&looks);
    hd_learner_close(&x);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learners_learn_what_they_learn_elsewhere),
        cmocka_unit_test(nobody_looks_who_is_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
