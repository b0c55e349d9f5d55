/* Llama and its kin: logits are those of transformers, a token at a time is the whole text, every option is
   kept in config.json, and what does not go together is refused. */
#include "model/llama_toy.h"

static void logits_are_those_of_transformers(void **state)
{
    (void)state;
    int32_t ids[LLAMA_TEXT];
    llama_text(ids);
    for (size_t k = 0; k < COUNT_OF(llama_cases); k++) {
        const llama_case *c = &llama_cases[k];
        lm_toy t;
        hd_lm_opt o = llama_opt(c);
        lm_open(&t, &o, 2, false);
        llama_fill(t.m->params, c->from_one);
        hd_real *got = llama_logits(&t, ids, LLAMA_TEXT);
        for (size_t i = 0; i < LLAMA_GOLDEN; i++) {
            double have = (double)got[llama_places[i][0] * LLAMA_VOCAB + llama_places[i][1]],
                   want = (double)c->golden[i];
            if (!(fabs(have - want) < 1e-5)) /* sums of a few dozen floats, four blocks deep */
                fail_msg("%s, row %d: %.7f, not %.7f", c->name, llama_places[i][0], have, want);
        }
        free(got);
        lm_close(&t);
    }
}

static void a_token_at_a_time_is_the_whole_text(void **state)
{
    (void)state;
    int32_t ids[LLAMA_TEXT], prompt = 5;
    llama_text(ids);
    for (size_t k = 0; k < COUNT_OF(llama_cases); k++) {
        lm_toy t;
        hd_err err = {0};
        hd_lm_opt o = llama_opt(&llama_cases[k]);
        lm_open(&t, &o, 1, false);
        hd_real *want = llama_logits(&t, ids, LLAMA_TEXT);
        hd_stepper s = {0};
        if (t.m->type->stepper(&s, t.m, ids, &prompt, 1, 0, &err)) fail_msg("%s", err.text);
        for (int32_t at = prompt - 1; at < LLAMA_TEXT; at++) {
            hd_run_begin(&t.run, HD_INFERENCE);
            hd_tensor *y =
                at < prompt ? s.join(&t.run, s.context, 1) : s.step(&t.run, s.context, &ids[at], 1);
            hd_real *got = host_copy(&t.run, y), *row = want + (size_t)at * LLAMA_VOCAB;
            double sum = 0; /* steps give logarithms of probabilities */
            for (size_t c = 0; c < LLAMA_VOCAB; c++) sum += exp((double)row[c]);
            for (size_t c = 0; c < LLAMA_VOCAB; c++)
                if (!(fabs((double)got[c] - ((double)row[c] - log(sum))) < 1e-5))
                    fail_msg("%s, token %d", llama_cases[k].name, at);
            free(got);
        }
        hd_stepper_release(&s);
        free(want);
        lm_close(&t);
    }
}

/* With vectors as wide as rows, that are the rows, and no rotation latent attention is attention: one block
   with its first weights the identity, whose rows have a root mean square of 1, as its norm gives them. */
static void latent_attention_of_full_rank_is_attention(void **state)
{
    (void)state;
    enum { WIDTH = 16, HEADS = 4, HEAD = WIDTH / HEADS };
    const llama_case plain = {.opt = {.stack.unbiased = true, .no_positions = true, .stack.layers = 1}};
    hd_lm_opt o[2] = {llama_opt(&plain), llama_opt(&plain)};
    o[0].stack.kv_heads = o[1].stack.kv_heads = 0;
    o[1].stack.latent = (hd_latent_opt){.rank = WIDTH, .plain = HEAD, .value = HEAD};
    int32_t ids[LLAMA_TEXT];
    hd_real *logits[2];
    llama_text(ids);
    for (int k = 0; k < 2; k++) {
        lm_toy t;
        lm_open(&t, &o[k], 1, false);
        hd_params *p = t.m->params;
        llama_fill(p, false);
        hd_real w[3][WIDTH][WIDTH], both[HEADS][2][HEAD][WIDTH], one[WIDTH][WIDTH] = {0};
        for (size_t i = 0; i < 3; i++) fill_normal(&w[i][0][0], WIDTH * WIDTH, 0.3, 9 + i);
        for (size_t i = 0; i < WIDTH; i++) {
            one[i][i] = 1;
            for (size_t v = 0; v < 2; v++) memcpy(both[i / HEAD][v][i % HEAD], w[1 + v][i], sizeof w[0][0]);
        }
        hd_real ones[WIDTH];
        for (size_t i = 0; i < WIDTH; i++) ones[i] = 1;
        hd_params_set(p, hd_params_find(p, "layers.0.input_layernorm.weight"), ones);
        hd_params_set(p, hd_params_find(p, "layers.0.self_attn.q_proj.weight"), &w[0][0][0]);
        if (k) {
            hd_params_set(p, hd_params_find(p, "layers.0.self_attn.kv_a_layernorm.weight"), ones);
            hd_params_set(p, hd_params_find(p, "layers.0.self_attn.kv_a_proj_with_mqa.weight"), &one[0][0]);
            hd_params_set(p, hd_params_find(p, "layers.0.self_attn.kv_b_proj.weight"), &both[0][0][0][0]);
        } else {
            hd_params_set(p, hd_params_find(p, "layers.0.self_attn.k_proj.weight"), &w[1][0][0]);
            hd_params_set(p, hd_params_find(p, "layers.0.self_attn.v_proj.weight"), &w[2][0][0]);
        }
        logits[k] = llama_logits(&t, ids, LLAMA_TEXT);
        lm_close(&t);
    }
    for (size_t i = 0; i < LLAMA_TEXT * LLAMA_VOCAB; i++) /* the eps of two norms */
        assert_true(fabs((double)logits[0][i] - (double)logits[1][i]) < 1e-4);
    free(logits[0]), free(logits[1]);
}

static void config_keeps_every_option(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(llama_cases); k++) {
        hd_text text[2] = {{0}, {0}};
        hd_err err = {0};
        hd_lm_opt o = llama_opt(&llama_cases[k]), again;
        hd_text_put(&text[0], "{\"x\": 0");
        hd_lm_config_write(&text[0], &o);
        hd_text_put(&text[0], "}");
        json_t *root = json_loads(text[0].data, 0, NULL);
        assert_non_null(root);
        hd_model_config c = {.object = root, .err = &err, .path = "config.json"};
        hd_lm_config_read(&c, &again);
        if (c.status) fail_msg("%s", err.text);
        hd_text_put(&text[1], "{\"x\": 0");
        hd_lm_config_write(&text[1], &again);
        hd_text_put(&text[1], "}");
        assert_string_equal(text[0].data, text[1].data);
        again.start = o.start, again.end = o.end, again.unk = o.unk, again.order = o.order;
        assert_memory_equal(&again.stack.rotary, &o.stack.rotary, sizeof o.stack.rotary);
        assert_int_equal(again.stack.window, o.stack.window);
        assert_true(again.logit_cap == o.logit_cap && again.stack.score_cap == o.stack.score_cap);
        json_decref(root);
        hd_text_release(&text[0]);
        hd_text_release(&text[1]);
    }
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    const struct {
        hd_lm_opt o;
        const char *says;
    } cases[] = {
        {{.stack.window = 1}, "2 tokens or more"},
        {{.stack.window = -3}, "2 tokens or more"},
        {{.stack.score_cap = -1}, "not negative"},
        {{.stack.score_cap = 1, .stack.relative_span = 8}, "relative"},
        {{ROTARY(10000), .stack.relative_span = 8}, "do not go with relative"},
        {{ROTARY(10000), .stack.head_width = 3}, "pairs of columns"},
        {{.stack.latent.rank = 4, .stack.unbiased = true}, "latent attention of rank 4"},
        {{.stack.latent = {.rank = 4, .plain = 4, .rotated = 2, .value = 4}},
         "latent attention has no biases"},
        {{.stack.latent = {.rank = 4, .plain = 4, .value = 4}, .stack.unbiased = true, ROTARY(10000)},
         "columns that are rotated"},
    };
    hd_backend *b = backend_of("cpu", 1);
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        llama_case c = {.opt = cases[k].o};
        hd_lm_opt o = llama_opt(&c);
        hd_err err = {0};
        hd_lm *m = NULL;
        assert_int_equal(hd_lm_new(&m, &o, b, false, &err), HD_EARG);
        if (!strstr(err.text, cases[k].says)) fail_msg("case %zu: %s", k, err.text);
    }
    llama_case c = {.opt = {.stack.output_norms = true}};
    hd_lm_opt o = llama_opt(&c);
    hd_err err = {0};
    hd_lm *m = NULL;
    o.stack.pre_norm = false;
    assert_int_equal(hd_lm_new(&m, &o, b, false, &err), HD_EARG);
    o = llama_opt(&(llama_case){.opt = {.stack.qk_norm = HD_QK_NORM_HEAD}});
    o.kind = HD_LM_gpt; /* GPT-2's tensors have no names for it */
    assert_int_equal(hd_lm_new(&m, &o, b, false, &err), HD_EARG);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_transformers),
        cmocka_unit_test(a_token_at_a_time_is_the_whole_text),
        cmocka_unit_test(latent_attention_of_full_rank_is_attention),
        cmocka_unit_test(config_keeps_every_option),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
