/* Models seen through their type alone. */
#include <string.h>

#include "check.h"

#include "model/bert_toy.h"
#include "model/classifier_toy.h"
#include "model/details.h"
#include "model/formula.h"
#include "model/lm_toy.h"
#include "model/toy.h"

static void every_model_of_the_list_is_found_by_its_name(void **state)
{
    (void)state;
#define X(name, text) assert_ptr_equal(hd_model_find(#name), &hd_model_##name);
    HD_MODEL_LIST(X)
#undef X
    assert_null(hd_model_find("no such model"));
    assert_null(hd_model_find(""));
}

/* Each name once, and room for what whoever shows them adds. */
static void check_details(const hd_model *m)
{
    hd_details d = {0};
    m->type->describe(m->self, &d);
    assert_in_range(d.count, 1, HD_DETAILS - 4);
    for (size_t i = 0; i < d.count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(d.at[i].name, d.at[k].name)) fail_msg("%s: %s twice", m->type->name, d.at[i].name);
}

/* What a type has goes together: rows have a width, and layers can be had. */
static void check_functions(const hd_model *m)
{
    const hd_model body = hd_model_body(m);
    const hd_model_sizes n = body.type->sizes(body.self);
    char title[2 * HD_STAGES_TEXT + 8];
    assert_true(strlen(m->type->title(m->self, title, sizeof title)) > 0);
    assert_int_equal(body.type->rows != NULL, body.type->width != NULL);
    if (!body.type->rows) assert_int_equal(n.layers, 0);
    if (body.type->rows) assert_true(body.type->width(body.self, 0) > 0);
    assert_true(n.vocab > 0 && n.positions > 0);
    if (!body.type->attention) return;
    const hd_attention_layers own = body.type->attention(body.self, body.type->attends);
    assert_true(own.layers > 0 && own.heads > 0);
    assert_non_null(hd_formula(&body, "softmax"));
}

static void check(hd_model m)
{
    check_details(&m);
    check_functions(&m);
}

static void language_models_say_what_they_have(void **state)
{
    (void)state;
    for (hd_lm_kind k = 0; k < HD_LM_KINDS; k++) {
        lm_toy t;
        hd_lm_opt o = lm_opt(k);
        lm_open(&t, &o, 1, false);
        assert_string_equal(t.m->type->name, hd_lm_names[k]);
        assert_int_equal(!t.m->params, t.m->type->lm.count != NULL);
        assert_int_equal(t.m->type->lm.loss != NULL, t.m->params != NULL);
        check(hd_lm_model(t.m));
        lm_close(&t);
    }
}

static void others_do_too(void **state)
{
    (void)state;
    bert_toy b;
    hd_bert_opt o = bt_opt();
    bt_open(&b, &o, 1);
    check(hd_bert_model(b.m));
    bt_close(&b);
    hd_backend *backend = backend_of("cpu", 1);
    hd_encdec_opt e = toy_opt();
    hd_encdec *m = toy_transformer(backend, &e, false);
    check(hd_encdec_model(m));
    hd_encdec_free(m);
    hd_backend_free(backend);
}

static void classifiers_are_those_of_their_bodies(void **state)
{
    (void)state;
    static const char *const bodies[] = {"bert", "gpt", "lstm"}, *const stages[] = {"transformer", "bi-gru",
                                                                                    "none"};
    for (size_t i = 0; i < COUNT_OF(bodies) + COUNT_OF(stages); i++) {
        bool own = i >= COUNT_OF(bodies);
        hd_classifier_opt o =
            own ? ct_opt(stages[i - COUNT_OF(bodies)], HD_POOL_mean) : ct_opt_from(bodies[i], HD_POOL_mean);
        classifier_toy t;
        ct_open(&t, &o, false);
        const hd_model m = hd_classifier_model(t.m), body = hd_model_body(&m);
        assert_string_equal(body.type->name, own ? "encoder" : bodies[i]);
        assert_string_equal(hd_formula(&m, "pooled"), "the mean of the rows");
        check(m);
        ct_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_of_the_list_is_found_by_its_name),
        cmocka_unit_test(language_models_say_what_they_have),
        cmocka_unit_test(others_do_too),
        cmocka_unit_test(classifiers_are_those_of_their_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
