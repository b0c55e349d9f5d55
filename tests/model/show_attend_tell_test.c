/* The decoder of Show, Attend and Tell against PyTorch: torch.nn.LSTMCell and the formulas of the paper, in
   double. Weight number p is a wave, 0.7 sin(1.7 k + 0.9 p + 0.3); annotations are token vectors of {2 3 1 5}
   and {4 1}, inputs {0 3 2} and {0 5 4}. */
#include "check.h"
#include "model/encdec/encdec.h"
#include "model/golden.h"

/* Numbers have 9 digits; what is computed is float. */
#define TOLERANCE 2e-6

enum { ITEMS = 2, ASKED = 3, V = 6, MOST = 64 };

static const char *const names[] = {"model.encoder.embed_tokens.weight",
                                    "model.decoder.embed_tokens.weight",
                                    "model.decoder.rnn.weight_ih_l0",
                                    "model.decoder.rnn.weight_context_l0",
                                    "model.decoder.rnn.weight_hh_l0",
                                    "model.decoder.rnn.bias_ih_l0",
                                    "model.decoder.rnn.bias_hh_l0",
                                    "model.decoder.attention.query.weight",
                                    "model.decoder.attention.query.bias",
                                    "model.decoder.attention.key.weight",
                                    "model.decoder.attention.key.bias",
                                    "model.decoder.attention.score.weight",
                                    "model.decoder.attention.gate.weight",
                                    "model.decoder.attention.gate.bias",
                                    "model.decoder.begin_l0.weight",
                                    "model.decoder.begin_l0.bias",
                                    "model.decoder.read_l0.weight",
                                    "model.decoder.read_l0.bias",
                                    "model.decoder.read_context.weight",
                                    "lm_head.weight",
                                    "final_logits_bias"};

static void set(hd_encdec *m, size_t number)
{
    hd_real x[MOST];
    for (size_t i = 0; i < m->params.count; i++) {
        hd_param *p = m->params.list[i];
        if (!p->name || strcmp(p->name, names[number])) continue;
        assert_true(hd_count_of(&p->t) <= MOST);
        for (size_t k = 0; k < MOST; k++)
            x[k] = (hd_real)(0.7 * sin(1.7 * (double)k + 0.9 * (double)number + 0.3));
        assert_int_equal(hd_params_set(&m->params, p, x), HD_OK);
        return;
    }
    fail_msg("there is no %s", names[number]);
}

static hd_encdec *open_model(golden *g, float penalty)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    hd_encdec_opt o = {
        .stack.width = 4,
        .stack.inner = 1,
        .source_vocab = V,
        .target_vocab = V,
        .positions = 8,
        .output_bias = true,
        .recurrent = {
            .begin = HD_BEGINNING_maps, .read = HD_READING_residual, .gate = true, .penalty = penalty}};
    size_t has = 0;
    if (hd_stages_read(&o.encoder, "none", &err) || hd_stages_read(&o.decoder, "lstm:1", &err) ||
        hd_encdec_new(&m, g->backend, &o, penalty > 0, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(names); i++) set(m, i);
    for (size_t i = 0; i < m->params.count; i++) has += m->params.list[i]->name && !m->params.list[i]->alias;
    assert_int_equal(has, COUNT_OF(names));
    return m;
}

static hd_tensor *log_probs(hd_run *r, const hd_encdec *m)
{
    static const int32_t source[] = {2, 3, 1, 5, 4, 1}, len[] = {4, 2}, input[] = {0, 3, 2, 0, 5, 4},
                         asked[] = {ASKED, ASKED};
    hd_encoded memory = hd_encdec_encode(
        r, m, &(hd_items){.seg = hd_seg_of(r, len, ITEMS, NULL), .ids = hd_ints(r, source, 6)});
    hd_rows y = hd_encdec_decode(r, m, hd_ints(r, input, ITEMS * ASKED), hd_seg_of(r, asked, ITEMS, NULL),
                                 memory, NULL);
    return hd_log_softmax(r, hd_encdec_logits(r, m, y));
}

static void words_are_as_probable_as_in_pytorch(void **state)
{
    (void)state;
    static const double want[] = {
        -3.761905650, -2.774495928, -2.876129571, -3.165550183, -1.786739672, -0.433354065,
        -2.572976160, -2.255417078, -2.930430144, -3.546989379, -2.163626440, -0.475186472,
        -3.177065460, -2.706154884, -3.182704227, -3.607527231, -2.089238019, -0.357925156,
        -3.743721685, -2.763223570, -2.871812885, -3.166416375, -1.789662155, -0.434669140,
        -1.582930419, -1.297221212, -2.255389659, -3.332448173, -2.466643688, -1.217632485,
        -2.030288989, -1.751262393, -2.571167589, -3.401132046, -2.243944906, -0.735373061};
    for (int training = 0; training < 2; training++) {
        golden g = golden_start();
        hd_encdec *m = open_model(&g, training ? 1.0f : 0.0f);
        hd_run_begin(&g.run, training ? HD_TRAIN : HD_INFERENCE);
        golden_check(&g.run, "log-probabilities", log_probs(&g.run, m), want, COUNT_OF(want), TOLERANCE);
        hd_encdec_free(m);
        golden_stop(&g);
    }
}

/* Of every item sum_i (1 - sum_t alpha_ti)^2, the shorter one without what is behind its end. */
static void the_penalty_is_as_in_pytorch(void **state)
{
    (void)state;
    static const double want[] = {0.365458740, 0.649618423};
    golden g = golden_start();
    golden_catch c = {.name = "dec.0.penalty", .probe = {.take = golden_take, .context = &c}};
    hd_encdec *m = open_model(&g, 1);
    hd_run_begin(&g.run, HD_TRAIN);
    g.run.probe = &c.probe;
    assert_non_null(log_probs(&g.run, m));
    g.run.probe = NULL;
    assert_int_equal(c.count, ITEMS);
    golden_numbers("penalty", c.value, want, ITEMS, TOLERANCE);
    hd_encdec_free(m);
    golden_stop(&g);
}

/* A gate of the state that asks, and weights of all annotations, a number for each. */
static void a_word_has_a_weight_for_every_annotation(void **state)
{
    (void)state;
    /* of a word of the first item and of the second, step after step */
    static const double first[] = {0.212332318, 0.249886433, 0.213375144,
                                   0.324406105, 0.580010246, 0.419989754},
                        gate[] = {0.279672496, 0.276364404};
    golden g = golden_start();
    golden_catch c = {.name = "dec.0.cross.softmax", .probe = {.take = golden_take, .context = &c}};
    hd_encdec *m = open_model(&g, 0);
    static const int32_t source[] = {2, 3, 1, 5, 4, 1}, len[] = {4, 2}, input[] = {0, 0}, asked[] = {1, 1};
    for (int k = 0; k < 2; k++) {
        hd_run *r = &g.run;
        if (k) c.name = "dec.0.cross.gate";
        hd_run_begin(r, HD_INFERENCE);
        r->probe = &c.probe;
        hd_encoded memory = hd_encdec_encode(
            r, m, &(hd_items){.seg = hd_seg_of(r, len, ITEMS, NULL), .ids = hd_ints(r, source, 6)});
        hd_encdec_decode(r, m, hd_ints(r, input, 2), hd_seg_of(r, asked, ITEMS, NULL), memory, NULL);
        r->probe = NULL;
        assert_int_equal(c.count, k ? 2 : 6);
        golden_numbers(c.name, c.value, k ? gate : first, c.count, TOLERANCE);
    }
    hd_encdec_free(m);
    golden_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_as_probable_as_in_pytorch),
                                       cmocka_unit_test(the_penalty_is_as_in_pytorch),
                                       cmocka_unit_test(a_word_has_a_weight_for_every_annotation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
