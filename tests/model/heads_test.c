/* Factors of attention heads: names, what a factor of 1 and of 0 is, steps with a cache, what is refused. */
#include "model/encdec_cases.h"
#include "model/heads.h"
#include "model/lm_toy.h"
#include "model/stepper.h"

enum { V = TOY_VOCAB };

static hd_heads heads_of(const hd_model *m, const char *list)
{
    hd_err err = {0};
    hd_heads h;
    if (hd_heads_init(&h, m, &err) || (list && hd_heads_set(&h, list, &err))) fail_msg("%s", err.text);
    return h;
}

static hd_heads encdec_heads(const toy *m, const char *list)
{
    const hd_model of = hd_encdec_model(m->t);
    return heads_of(&of, list);
}

/* No two heads alike, some of them off. */
static void mix(hd_heads *h)
{
    for (size_t i = 0; i < h->layers; i++)
        for (size_t k = 0; k < h->layer[i].heads; k++)
            h->layer[i].factor[k] = (hd_real)((i + 2 * k) % 5) * (hd_real)0.375;
}

static hd_real *logits_with(toy *m, const toy_batch *b, hd_heads *h)
{
    m->run.heads = h;
    hd_real *z = toy_logits(m, b);
    m->run.heads = NULL;
    return z;
}

/* Whether a kind of model of the list attends at all. */
static bool attends(const toy *m)
{
    const hd_model of = hd_encdec_model(m->t);
    hd_err err = {0};
    hd_heads h;
    hd_status s = hd_heads_init(&h, &of, &err);
    if (s) assert_int_equal(s, HD_EARG);
    hd_heads_release(&h);
    return !s;
}

static void a_factor_of_one_changes_no_bit_and_others_change_the_output(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 3);
    size_t attending = 0;
    for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
        encdec_open(&m, &o, 2);
        if (attends(&m)) {
            hd_heads h = encdec_heads(&m, NULL);
            size_t bytes = b.target_rows * V * sizeof(hd_real);
            hd_real *plain = toy_logits(&m, &b), *ones = logits_with(&m, &b, &h);
            assert_memory_equal(plain, ones, bytes);
            for (size_t i = 0; i < h.layers; i++) { /* each attention listens to its factors */
                h.layer[i].factor[h.layer[i].heads - 1] = (hd_real)0.5;
                hd_real *other = logits_with(&m, &b, &h);
                if (!memcmp(plain, other, bytes))
                    fail_msg("%s: nothing changes in %s", encdec_cases[c].name, h.layer[i].name);
                h.layer[i].factor[h.layer[i].heads - 1] = 1;
                free(other);
            }
            hd_real *again = toy_logits(&m, &b);
            assert_memory_equal(plain, again, bytes);
            free(plain), free(ones), free(again);
            hd_heads_release(&h);
            attending++;
        }
        toy_close(&m);
    }
    assert_true(attending > 20);
}

/* What is left of a sublayer without its heads is the bias of its output layer: the same as zeros in the
   weights of that layer. */
static void zeros_for_all_heads_equal_zeros_in_the_output_weights(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"enc.1.self.*=0", "model.encoder.layers.1.self_attn.out_proj.weight"},
        {"dec.0.self.*=0", "model.decoder.layers.0.self_attn.out_proj.weight"},
        {"dec.1.cross.*=0", "model.decoder.layers.1.encoder_attn.out_proj.weight"}};
    const toy_batch b = toy_range(0, 4);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        toy m;
        hd_encdec_opt o = toy_opt();
        toy_open(&m, 2, &o, NULL, NULL);
        stir(m.params);
        hd_heads h = encdec_heads(&m, cases[i][0]);
        hd_real *all = toy_logits(&m, &b), *off = logits_with(&m, &b, &h);
        size_t found = 0, n = b.target_rows * V;
        for (size_t p = 0; p < m.params->count; p++) {
            hd_param *one = m.params->list[p];
            if (!one->name || strcmp(one->name, cases[i][1])) continue;
            memset(one->t.data, 0, hd_bytes_of(&one->t)), found++;
        }
        assert_int_equal(found, 1);
        hd_real *without = toy_logits(&m, &b);
        assert_memory_equal(off, without, n * sizeof *off);
        assert_memory_not_equal(off, all, n * sizeof *off);
        free(all), free(off), free(without);
        hd_heads_release(&h);
        toy_close(&m);
    }
}

/* One token after the other through a cache; bit for bit, as without factors. */
static void steps_with_a_cache_equal_the_whole_forward(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
        toy m;
        hd_err err = {0};
        hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
        const toy_batch b = toy_range(7, 1);
        encdec_open(&m, &o, 2);
        if (attends(&m)) {
            hd_heads h = encdec_heads(&m, NULL);
            hd_cache *cache = NULL;
            mix(&h);
            hd_real *whole = logits_with(&m, &b, &h);
            assert_int_equal(hd_encdec_cache(&cache, m.t, 1, &err), HD_OK);
            m.run.heads = &h;
            for (size_t t = 0; t < b.target_rows; t++) {
                hd_run_begin(&m.run, HD_INFERENCE);
                hd_encoded memory = t ? (hd_encoded){0} : toy_encode(&m, &b);
                hd_rows y = hd_encdec_decode(&m.run, m.t, hd_ints(&m.run, b.input + t, 1),
                                             hd_seg_of(&m.run, (int32_t[]){1}, 1, NULL), memory, cache);
                hd_real *z = host_copy(&m.run, hd_encdec_logits(&m.run, m.t, y));
                if (memcmp(z, whole + t * V, V * sizeof *z)) fail_msg("%s: row %zu", encdec_cases[c].name, t);
                free(z);
            }
            m.run.heads = NULL;
            free(whole);
            hd_cache_free(cache);
            hd_heads_release(&h);
        }
        toy_close(&m);
    }
}

/* Latent attention multiplies in another order with a cache. */
static void a_language_model_steps_as_it_is_judged(void **state)
{
    (void)state;
    static const struct {
        hd_lm_kind kind;
        hd_latent_opt latent;
        double tolerance;
    } cases[] = {{HD_LM_gpt, {0}, 1e-5},
                 {HD_LM_llama, {0}, 1e-5},
                 {HD_LM_llama, {.rank = 6, .plain = 4, .rotated = 2, .value = 5}, 1e-5}};
    enum { N = 12 };
    int32_t text[N];
    lm_text(text, N, 3);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        hd_lm_opt o = lm_opt(cases[c].kind);
        o.stack.latent = cases[c].latent;
        if (o.stack.latent.rank) o.stack.kv_heads = 0;
        lm_toy t;
        lm_open(&t, &o, 2, false);
        const hd_model of = hd_lm_model(t.m);
        hd_heads h = heads_of(&of, "0.self.1=0.25,dec.1.self.0=0");
        const lm_windows w = {1, {0}, {N}};
        hd_err err = {0};
        hd_stepper s = {0};
        hd_real *plain = lm_losses(&t, text, N, &w, NULL);
        t.run.heads = &h;
        hd_real *loss = lm_losses(&t, text, N, &w, NULL);
        if (t.m->type->stepper(&s, t.m, (int32_t[]){LM_START}, (int32_t[]){1}, 1, 0, &err))
            fail_msg("%s", err.text);
        double changed = 0;
        for (size_t i = 0; i < N; i++) {
            hd_run_begin(&t.run, HD_INFERENCE);
            hd_real *p = host_copy(&t.run, i ? s.step(&t.run, s.context, text + i - 1, 1)
                                             : s.join(&t.run, s.context, 1));
            double off = fabs((double)p[text[i]] + (double)loss[i]);
            if (!(off < cases[c].tolerance)) fail_msg("case %zu, token %zu: off by %g", c, i, off);
            changed = fmax(changed, fabs((double)plain[i] - (double)loss[i]));
            free(p);
        }
        assert_true(changed > 1e-3);
        hd_stepper_release(&s);
        free(plain), free(loss);
        hd_heads_release(&h);
        lm_close(&t);
    }
}

static void assert_factors(const hd_heads *h, const char *layer, const double *expected)
{
    for (size_t i = 0; i < h->layers; i++)
        for (size_t k = 0; !strcmp(h->layer[i].name, layer) && k < h->layer[i].heads; k++)
            if ((double)h->layer[i].factor[k] != expected[k])
                fail_msg("%s.%zu: %g", layer, k, (double)h->layer[i].factor[k]);
}

static void lists_take_wildcards_and_the_last_one_wins(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    char name[HD_HEAD_NAME];
    toy_open(&m, 1, &o, NULL, NULL);
    hd_heads h = encdec_heads(&m, "dec.*.cross.*=0, dec.1.cross.2=0.5 ,enc.0.self.3=-2,*.1.self.0=1e-1");
    assert_int_equal(hd_heads_count(&h), 6 * 4);
    assert_factors(&h, "enc.0.self", (double[]){1, 1, 1, -2});
    assert_factors(&h, "enc.1.self", (double[]){(double)(hd_real)1e-1, 1, 1, 1});
    assert_factors(&h, "dec.0.self", (double[]){1, 1, 1, 1});
    assert_factors(&h, "dec.1.self", (double[]){(double)(hd_real)1e-1, 1, 1, 1});
    assert_factors(&h, "dec.0.cross", (double[]){0, 0, 0, 0});
    assert_factors(&h, "dec.1.cross", (double[]){0, 0, 0.5, 0});
    assert_string_equal(hd_head_name(&h.layer[1], 2, name), "enc.1.self.2");
    hd_heads_release(&h);
    toy_close(&m);
}

/* Stages have scopes of their own; a recurrent decoder has one head, and so may a layer beside it have two.
 */
static void stages_have_names(void **state)
{
    (void)state;
    toy m;
    hd_err err = {0};
    const encdec_case mixed = MODEL("-", "gru:1", "gru:1+transformer:1", .untied = true);
    hd_encdec_opt o = encdec_opt(&mixed);
    encdec_open(&m, &o, 1);
    hd_heads h = encdec_heads(&m, "dec.0.cross.0=0,dec.stage1.0.cross.1=0,dec.stage1.0.self.0=2");
    assert_int_equal(hd_heads_set(&h, "dec.0.cross.1=0", &err), HD_EARG);
    assert_string_equal(err.text, "the model has no head dec.0.cross.1: its heads are dec.stage1.0.self.0-1, "
                                  "dec.0.cross.0, dec.stage1.0.cross.0-1, counted from 0");
    hd_heads_release(&h);
    toy_close(&m);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    static const char has[] = "its heads are enc.0-1.self.0-3, dec.0-1.self.0-3, dec.0-1.cross.0-3, counted "
                              "from 0";
    static const struct {
        const char *list, *says;
    } cases[] = {{"", "'' is not HEAD=FACTOR"},
                 {"enc.0.self.0", "'enc.0.self.0' is not HEAD=FACTOR"},
                 {"=0", "'=0' is not HEAD=FACTOR"},
                 {"enc.0.self.0=", "is not HEAD=FACTOR"},
                 {"enc.0.self.0=x", "is not HEAD=FACTOR"},
                 {"enc.0.self.0=1x", "is not HEAD=FACTOR"},
                 {"enc.0.self.0=0,", "'' is not HEAD=FACTOR"},
                 {"enc.0.self.0=nan", "the factor of enc.0.self.0 is 'nan', not a finite number"},
                 {"enc.0.self.0=-inf", "not a finite number"},
                 {"enc.0.self.0=1e39", "not a finite number"},
                 {"enc.2.self.0=0", "no head enc.2.self.0"},
                 {"enc.0.self.4=0", "no head enc.0.self.4"},
                 {"enc.0.cross.0=0", has},
                 {"enc.0.self=0", has},
                 {"0.self.0=0", has},
                 {"*=0", has},
                 {"enc.0.self.0.0=0", has},
                 {"enc.0.self.00=0", has},
                 {"enc.0.self.0=0,enc.9.self.*=0", "no head enc.9.self.*"}};
    toy m;
    char longer[400] = "enc.0.self.";
    hd_encdec_opt o = toy_opt();
    toy_open(&m, 1, &o, NULL, NULL);
    hd_heads h = encdec_heads(&m, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        if (hd_heads_set(&h, cases[i].list, &err) != HD_EARG || !strstr(err.text, cases[i].says))
            fail_msg("'%s': %s", cases[i].list, err.text);
    }
    hd_err err = {0};
    memset(longer + 11, '1', 380);
    assert_int_equal(hd_heads_set(&h, longer, &err), HD_EARG);
    hd_heads_release(&h);
    toy_close(&m);
    lm_toy t;
    const hd_lm_opt plain = lm_opt(HD_LM_lstm);
    lm_open(&t, &plain, 1, false);
    const hd_model of = hd_lm_model(t.m);
    err = (hd_err){0};
    assert_int_equal(hd_heads_init(&h, &of, &err), HD_EARG);
    assert_non_null(strstr(err.text, "has no attention heads"));
    hd_heads_release(&h);
    lm_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_of_one_changes_no_bit_and_others_change_the_output),
        cmocka_unit_test(zeros_for_all_heads_equal_zeros_in_the_output_weights),
        cmocka_unit_test(steps_with_a_cache_equal_the_whole_forward),
        cmocka_unit_test(a_language_model_steps_as_it_is_judged),
        cmocka_unit_test(lists_take_wildcards_and_the_last_one_wins),
        cmocka_unit_test(stages_have_names),
        cmocka_unit_test(what_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
