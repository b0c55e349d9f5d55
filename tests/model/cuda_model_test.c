/* Whole models on the device against the cpu: one training step of every kind of Transformer and of GPT, the
   lectures' worked example, and what happens when the device has no memory left. */
#include <jansson.h>

#include "device.h"
#include "show/lecture.h"
#include "model/toy.h"

/* f32: the same numbers summed in another order, through up to 60 ops. Of the norm of each parameter's
   gradient; a bias of keys has a gradient of 0 but for rounding, so a share of the whole norm is let pass. */
#define TOLERANCE 1e-4
#define FLOOR     1e-6
/* bf16: every activation is rounded by 2^-9 at most. */
#define TOLERANCE_BF16 1e-2
#define COSINE_BF16    0.99

enum { ITEMS = 32 };

/* -- one step -- */

typedef enum norm_place { POST, PRE } norm_place;

typedef struct variant {
    const char *name;
    bool gpt;
    norm_place norm;
    hd_unary act;
    bool tied, learned, bias, recompute, plain;
    float dropout;
    size_t width, heads, inner, vocab; /* 0: those of toy.h */
    int relative, block;
    int lora;    /* the rank; 0: all weights are learned */
    int experts; /* all of which are used: where rounding changes the choice, nothing can be compared */
} variant;

static const variant variants[] = {
    {"post-norm relu tied", .act = HD_relu, .tied = true},
    {"pre-norm gelu untied", .norm = PRE, .act = HD_gelu, .bias = true},
    {"post-norm gelu untied, learned positions", .act = HD_gelu, .learned = true},
    {"pre-norm relu tied, output bias", .norm = PRE, .act = HD_relu, .tied = true, .bias = true},
    {"plain, as in the lectures", .act = HD_relu, .plain = true},
    {"post-norm, dropout", .act = HD_relu, .tied = true, .dropout = 0.2f},
    {"pre-norm, dropout", .norm = PRE, .act = HD_gelu, .dropout = 0.2f},
    {"post-norm, dropout, recompute", .act = HD_gelu, .tied = true, .dropout = 0.2f, .recompute = true},
    {"pre-norm, dropout, recompute", .norm = PRE, .act = HD_relu, .bias = true, .dropout = 0.2f,
     .recompute = true},
    {"post-norm, heads of 64, 1000 words", .act = HD_relu, .tied = true, .dropout = 0.1f, .width = 256,
     .heads = 4, .inner = 512, .vocab = 1000},
    {"pre-norm, heads of 20, 999 words", .norm = PRE, .act = HD_gelu, .dropout = 0.1f, .width = 100,
     .heads = 5, .inner = 300, .vocab = 999},
    {"gpt", .gpt = true, .norm = PRE, .act = HD_gelu_tanh},
    {"gpt, dropout", .gpt = true, .norm = PRE, .act = HD_gelu, .dropout = 0.2f},
    {"gpt post-norm, dropout", .gpt = true, .act = HD_relu, .dropout = 0.2f},
    {"gpt, relative attention", .gpt = true, .norm = PRE, .act = HD_gelu, .dropout = 0.2f, .relative = 5},
    {"gpt, relative attention, blocks, heads of 64", .gpt = true, .norm = PRE, .act = HD_gelu,
     .dropout = 0.1f, .width = 128, .heads = 2, .inner = 256, .vocab = 100, .relative = 6, .block = 3},
    {"gpt, experts", .gpt = true, .norm = PRE, .act = HD_silu, .experts = 4},
    {"gpt, experts, 1000 words", .gpt = true, .norm = PRE, .act = HD_silu, .width = 256, .heads = 4,
     .inner = 512, .vocab = 1000, .experts = 6},
    {"gpt, LoRA", .gpt = true, .norm = PRE, .act = HD_gelu, .dropout = 0.2f, .lora = 3},
    {"gpt, experts, LoRA", .gpt = true, .norm = PRE, .act = HD_silu, .experts = 4, .lora = 8},
    {"gpt, heads of 64, 1000 words, LoRA", .gpt = true, .norm = PRE, .act = HD_gelu_tanh, .dropout = 0.1f,
     .width = 256, .heads = 4, .inner = 512, .vocab = 1000, .lora = 16},
    {"gpt, heads of 64, 1000 words", .gpt = true, .norm = PRE, .act = HD_gelu_tanh, .dropout = 0.1f,
     .width = 256, .heads = 4, .inner = 512, .vocab = 1000},
};

static hd_encdec_opt transformer_of(const variant *v)
{
    hd_encdec_opt o = toy_opt();
    if (v->width) o.stack.width = v->width, o.stack.heads = (int)v->heads, o.stack.inner = v->inner;
    if (v->vocab) o.source_vocab = o.target_vocab = v->vocab;
    o.tied = v->tied, o.stack.pre_norm = v->norm == PRE, o.stack.plain = v->plain, o.output_bias = v->bias;
    o.stack.act = v->act, o.learned_positions = v->learned, o.stack.recompute = v->recompute;
    o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = v->dropout;
    return o;
}

static hd_gpt_opt gpt_of(const variant *v)
{
    hd_gpt_opt o = toy_gpt_opt();
    o.stack.relative_span = v->relative, o.stack.local_block = v->block;
    if (v->width) o.stack.width = v->width, o.stack.heads = (int)v->heads, o.stack.inner = v->inner;
    if (v->vocab) o.vocab = v->vocab;
    o.stack.pre_norm = v->norm != POST, o.stack.act = v->act;
    o.stack.dropout = o.stack.attention_dropout = v->dropout;
    o.lora = (hd_lora_opt){.rank = v->lora, .alpha = 2 * v->lora, .dropout = v->dropout, .targets = "all"};
    if (!v->experts) return o;
    o.names = &hd_gpt_names_llama, o.no_positions = true;
    o.stack.rms = o.stack.gated = o.stack.unbiased = true, o.stack.inner = v->inner ? v->inner : 48;
    o.stack.experts = (hd_experts_opt){.count = v->experts,
                                       .used = v->experts,
                                       .shared = 1,
                                       .inner = o.stack.inner / 2,
                                       .balance = 0.01f,
                                       .first = 1};
    return o;
}

typedef struct outcome {
    double loss;
    hd_real *grad;
    size_t trainable;
} outcome;

/* Takes the backend over. The parameters' table, for what lies where in the gradient, stays in *m. */
static outcome outcome_of(toy *m, hd_backend *b, const variant *v)
{
    hd_encdec_opt t = transformer_of(v);
    hd_gpt_opt g = gpt_of(v);
    static toy_batch batch;
    batch = toy_range(0, ITEMS);
    *m = (toy){.backend = b, .run = run_on(b)};
    if (v->gpt)
        m->g = toy_gpt(b, &g, true), m->params = &m->g->params;
    else
        m->t = toy_transformer(b, &t, true), m->params = &m->t->params;
    if (v->lora) { /* the weights that stay are drawn, too */
        m->params->files = HD_FILES_ALL;
        assert_int_equal(hd_params_draw(m->params, 1, NULL), HD_OK);
    }
    stir(m->params);
    outcome o = {.loss = toy_back(m, &batch, 0.1f, 5), .trainable = m->params->trainable};
    o.grad = toy_copy(m, m->params->grad);
    assert_string_equal(b->error, "");
    return o;
}

typedef void on_param(const char *name, const hd_real *a, const hd_real *b, size_t n, double whole);

static void each_param(const hd_params *p, const outcome *a, const outcome *b, on_param *check)
{
    double whole = norm_of(a->grad, a->trainable);
    assert_true(whole > 0);
    for (size_t i = 0; i < p->count; i++) {
        const hd_param *one = p->list[i];
        if (one->alias || !one->trainable || !one->grad.data) continue;
        size_t at = (size_t)((const hd_real *)one->grad.data - p->grad);
        check(one->name ? one->name : "hidden", a->grad + at, b->grad + at, hd_count_of(&one->grad), whole);
    }
}

static double worst;

static void near(const char *name, const hd_real *a, const hd_real *b, size_t n, double whole)
{
    double limit = TOLERANCE * norm_of(a, n) + FLOOR * whole, off = distance_between(a, b, n);
    if (!(off <= limit)) fail_msg("%s: off by %.3g of %.3g, all have %.3g", name, off, norm_of(a, n), whole);
    worst = fmax(worst, off / limit);
}

/* Parameters whose gradient counts point the same way. */
static void same_way(const char *name, const hd_real *a, const hd_real *b, size_t n, double whole)
{
    if (norm_of(a, n) < 0.01 * whole) return;
    double c = cosine_of(a, b, n);
    if (!(c > COSINE_BF16)) fail_msg("%s: the cosine is %.4f", name, c);
    worst = fmax(worst, 1 - c);
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        toy here, there;
        outcome a = outcome_of(&here, backend_of("cpu", 2), &variants[i]);
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            outcome b = outcome_of(&there, device_new(*p), &variants[i]);
            double off = fabs(b.loss - a.loss) / a.loss;
            worst = 0;
            if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16)))
                fail_msg("%s: loss %.8g, expected %.8g", variants[i].name, b.loss, a.loss);
            each_param(there.params, &a, &b, f32 ? near : same_way);
            if (!f32 && !(cosine_of(a.grad, b.grad, a.trainable) > COSINE_BF16))
                fail_msg("%s: cosine %.4f", variants[i].name, cosine_of(a.grad, b.grad, a.trainable));
            print_message("%-42s %s: loss off by %.1e, gradients: %s %.2g\n", variants[i].name,
                          f32 ? "f32 " : "bf16", off, f32 ? "of the limit" : "1 - cosine", worst);
            free(b.grad);
            toy_close(&there);
        }
        free(a.grad);
        toy_close(&here);
    }
}

/* The same computation: f32 keeps its bits but for the order in which gradients meet; bf16 rounds a pre-norm
   stream once more where it is cut. */
static void recomputing_changes_nothing(void **state)
{
    (void)state;
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (int norm = 0; norm < 2; norm++) {
            toy m[2];
            outcome o[2];
            bool f32 = *p == HD_PRECISION_F32;
            for (int k = 0; k < 2; k++)
                o[k] = outcome_of(&m[k], device_new(*p),
                                  &(variant){"", .norm = (norm_place)norm, .act = HD_gelu, .dropout = 0.1f,
                                             .recompute = k});
            double off = fabs(o[1].loss - o[0].loss) / o[0].loss;
            double grads =
                distance_between(o[0].grad, o[1].grad, o[0].trainable) / norm_of(o[0].grad, o[0].trainable);
            print_message("%s: loss off by %.1e, gradients by %.1e\n", f32 ? "f32 " : "bf16", off, grads);
            assert_true(off <= (f32 ? 1e-6 : TOLERANCE_BF16) && grads <= (f32 ? 1e-5 : 0.05));
            for (int k = 0; k < 2; k++) free(o[k].grad), toy_close(&m[k]);
        }
}

/* Products read the same bf16 numbers, so that a step has the same bits whether weights are in f32 beside
   them or not. */
static void weights_in_bf16_alone_give_the_same_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        toy m[2];
        outcome o[2];
        hd_backend *b[2] = {device_new(HD_PRECISION_BF16), device_new(HD_PRECISION_BF16)};
        b[1]->small_weights = true;
        for (int k = 0; k < 2; k++) o[k] = outcome_of(&m[k], b[k], &variants[i]);
        if (b[0]->compute == HD_BF16) assert_true(m[1].params->small > 0);
        assert_true(o[0].loss >= o[1].loss && o[0].loss <= o[1].loss);
        for (size_t j = 0; j < m[0].params->count; j++) {
            const hd_param *x = m[0].params->list[j], *y = m[1].params->list[j];
            if (x->alias || !x->grad.data) continue;
            size_t from = (size_t)((const hd_real *)x->grad.data - m[0].params->grad),
                   to = (size_t)((const hd_real *)y->grad.data - m[1].params->grad);
            if (memcmp(o[0].grad + from, o[1].grad + to, hd_count_of(&x->grad) * sizeof(hd_real)))
                fail_msg("%s: the gradient of %s differs", variants[i].name, x->name ? x->name : "one");
        }
        for (int k = 0; k < 2; k++) free(o[k].grad), toy_close(&m[k]);
    }
}

/* -- the lectures' example -- */

/* float32 sums of six products on numbers up to 4 */
static const double matrix_tolerance = 4e-6, gradient_tolerance = 1e-5;

static hd_explain *explain_on(hd_backend *b, int train)
{
    hd_err err = {0};
    hd_explain *x = NULL;
    if (hd_explain_run(&x, b, &(hd_explain_opt){true, train}, &err)) fail_msg("%s", err.text);
    hd_backend_free(b);
    return x;
}

static double gap(const char *name, const hd_real *a, const hd_real *b, size_t n, double tolerance)
{
    double most = 0;
    for (size_t i = 0; a && i < n; i++) {
        if (a[i] == b[i]) continue; /* both -inf, too */
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= tolerance))
            fail_msg("%s: number %zu is %.9g, expected %.9g", name, i, (double)b[i], (double)a[i]);
        most = fmax(most, d);
    }
    return most;
}

static void the_lectures_example_has_its_numbers(void **state)
{
    (void)state;
    hd_explain *a = explain_on(backend_of("cpu", 1), 0), *b = explain_on(device_new(HD_PRECISION_F32), 0);
    double values = 0, gradients = 0;
    assert_int_equal(a->matrices, b->matrices);
    for (size_t i = 0; i < a->matrices; i++) {
        const hd_explain_matrix *x = &a->matrix[i], *y = &b->matrix[i];
        values = fmax(values, gap(x->of->name, x->value, y->value, x->rows * x->cols, matrix_tolerance));
        gradients = fmax(gradients,
                         gap(x->of->name, x->gradient, y->gradient, x->rows * x->cols, gradient_tolerance));
    }
    print_message("%zu matrices off by %.1e, their gradients by %.1e\n", a->matrices, values, gradients);
    assert_true(fabs(b->loss - 3.44390847) < 2e-6);
    assert_true(fabs(hd_explain_norm(b) - 1.83148654) < 4e-6);
    for (int i = 0; i < HD_LECTURE_LENGTH; i++)
        assert_int_equal(b->token[i].predicted, ((const int32_t[]){0, 5, 0})[i]);
    hd_explain_free(a), hd_explain_free(b);
}

static double golden_number(const json_t *v)
{
    return json_is_string(v) ? -INFINITY : json_number_value(v);
}

static void its_numbers_are_those_of_the_slides(void **state)
{
    (void)state;
    json_error_t e;
    json_t *root = json_load_file(HEED_SOURCE "/tests/show/lecture.json", 0, &e), *value;
    if (!root) fail_msg("lecture.json:%d: %s", e.line, e.text);
    const char *name;
    double most = 0;
    hd_explain *x = explain_on(device_new(HD_PRECISION_F32), 0);
    json_t *all = json_object_get(root, "matrices");
    assert_int_equal(json_object_size(all), x->matrices);
    json_object_foreach(all, name, value)
    {
        const hd_explain_matrix *m = hd_explain_find(x, name);
        if (!m) fail_msg("%s is missing", name);
        hd_real expected[HD_LECTURE_LARGEST];
        for (size_t i = 0; i < m->rows * m->cols; i++) {
            const json_t *row = hd_lecture_is_vector(m->of) ? value : json_array_get(value, i / m->cols);
            expected[i] =
                (hd_real)golden_number(json_array_get(row, hd_lecture_is_vector(m->of) ? i : i % m->cols));
        }
        most = fmax(most, gap(name, expected, m->value, m->rows * m->cols, matrix_tolerance));
    }
    print_message("off by %.1e\n", most);
    hd_explain_free(x);
    json_decref(root);
}

/* Trained a while it answers both questions; losses go the cpu's way while rounding has not grown. */
static void its_training_goes_as_on_the_cpu(void **state)
{
    (void)state;
    enum { STEPS = 60, NEAR = 10 };
    hd_explain *a = explain_on(backend_of("cpu", 1), STEPS),
               *b = explain_on(device_new(HD_PRECISION_F32), STEPS);
    for (size_t i = 0; i < NEAR; i++)
        if (!(fabs(a->step[i].loss - b->step[i].loss) <= 1e-3 * a->step[i].loss))
            fail_msg("step %zu: loss %.8g, expected %.8g", i, b->step[i].loss, a->step[i].loss);
    print_message("loss %.4f to %.4f; on the cpu to %.4f; right from step %zu, %zu\n", b->step[0].loss,
                  b->step[STEPS - 1].loss, a->step[STEPS - 1].loss, hd_explain_first_right(b),
                  hd_explain_first_right(a));
    assert_true(b->step[STEPS - 1].loss < 0.5 * b->step[0].loss);
    hd_explain_free(a), hd_explain_free(b);
}

/* -- no memory -- */

/* A device that is full, for all but small requests: what is asked of it is more than any has. (Filling it up
   would leave nothing to whoever else uses it.) */
static void *(*true_alloc)(hd_backend *b, size_t bytes);

static void *alloc_when_full(hd_backend *b, size_t bytes)
{
    return true_alloc(b, bytes > (size_t)16 << 20 ? (size_t)1 << 42 : bytes);
}

static void fill_up(hd_backend *b)
{
    true_alloc = b->alloc, b->alloc = alloc_when_full;
    if (device_is_cpu()) hd_mem_limit((size_t)1 << 32); /* where memory is promised that is not there */
}

static void empty_again(hd_backend *b)
{
    b->alloc = true_alloc;
    hd_mem_limit(0);
}

/* One error that says how much was asked and had, and nothing that stays behind. */
static void assert_told(const hd_backend *b, hd_status s, const hd_err *err)
{
    print_message("%s\n", err->text);
    assert_int_equal(s, HD_ENOMEM);
    assert_int_equal(err->status, HD_ENOMEM);
    assert_string_equal(b->error, "");
    if (device_is_cpu()) return;
    assert_non_null(strstr(err->text, "GiB asked"));
    assert_non_null(strstr(err->text, "left"));
}

/* The loss of a step of a small model; its bits are the same as long as the device is well. */
static double small_step(hd_backend *b)
{
    static toy_batch batch;
    batch = toy_range(0, 8);
    hd_encdec_opt o = toy_opt();
    toy m = {.backend = b, .run = run_on(b)};
    m.t = toy_transformer(b, &o, true), m.params = &m.t->params;
    hd_err err = {0};
    if (hd_optimizer_init(&m.optimizer, m.params, &(hd_optimizer_opt){.kind = HD_OPT_ADAM}, &err))
        fail_msg("%s", err.text);
    for (uint32_t i = 1; i < 4; i++) toy_step(&m, &batch, 0, 0.01, i);
    double loss = toy_back(&m, &batch, 0, 4);
    assert_string_equal(b->error, "");
    hd_optimizer_release(&m.optimizer);
    hd_encdec_free(m.t);
    hd_run_release(&m.run);
    return loss;
}

static void a_model_too_large_is_refused_and_a_smaller_one_works(void **state)
{
    (void)state;
    hd_backend *b = device_new(HD_PRECISION_F32);
    hd_err err = {0};
    hd_encdec *m = NULL;
    hd_gpt *g = NULL;
    hd_encdec_opt o = toy_opt();
    hd_gpt_opt p = toy_gpt_opt();
    double before = small_step(b);
    size_t used = b->used;
    o.stack.width = 4096, o.stack.inner = 16384, o.positions = 16;
    o.source_vocab = o.target_vocab = (size_t)1 << 24; /* 256 GiB of embeddings */
    p.stack.width = 4096, p.vocab = (size_t)1 << 24;
    if (device_is_cpu()) hd_mem_limit((size_t)1 << 32); /* where memory is promised that is not there */
    assert_told(b, hd_encdec_new(&m, b, &o, true, &err), &err);
    assert_null(m);
    err = (hd_err){0};
    assert_told(b, hd_gpt_new(&g, b, &p, false, &err), &err);
    assert_null(g);
    hd_mem_limit(0);
    assert_int_equal(b->used, used);
    assert_true(small_step(b) == before);
    hd_backend_free(b);
}

static void a_full_device_is_told_and_works_once_there_is_room(void **state)
{
    (void)state;
    hd_backend *b = device_new(HD_PRECISION_F32);
    hd_err err = {0};
    double before = small_step(b);
    hd_encdec_opt o = toy_opt();
    o.source_vocab = o.target_vocab = 400000; /* 49 MiB of numbers */
    hd_encdec *m = toy_transformer(b, &o, true);
    hd_run r = run_on(b);
    hd_optimizer adam = {0};
    fill_up(b);

    hd_status s = hd_optimizer_init(&adam, &m->params, &(hd_optimizer_opt){.kind = HD_OPT_ADAM}, &err);
    assert_told(b, s, &err);

    hd_run_begin(&r, HD_TRAIN); /* 98 MiB of activations */
    assert_null(hd_apply(&r, hd_new(&r, 400000, 64), HD_relu));
    assert_told(b, r.err.status, &r.err);

    hd_run_begin(&r, HD_INFERENCE); /* the next step begins as if nothing had been */
    hd_real x[6] = {1, 2, 3, 4, 5, 6}, y[6];
    assert_true(hd_read(&r, hd_scale(&r, hd_from(&r, 2, 3, x), 2), y));
    for (int i = 0; i < 6; i++) assert_true(y[i] == 2 * x[i]);

    empty_again(b);
    err = (hd_err){0};
    if (hd_optimizer_init(&adam, &m->params, &(hd_optimizer_opt){.kind = HD_OPT_ADAM}, &err))
        fail_msg("%s", err.text);
    hd_optimizer_release(&adam);
    hd_encdec_free(m);
    hd_run_release(&r);
    assert_true(small_step(b) == before);
    hd_backend_free(b);
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
        cmocka_unit_test(recomputing_changes_nothing),
        cmocka_unit_test(weights_in_bf16_alone_give_the_same_step),
        cmocka_unit_test(the_lectures_example_has_its_numbers),
        cmocka_unit_test(its_numbers_are_those_of_the_slides),
        cmocka_unit_test(its_training_goes_as_on_the_cpu),
        cmocka_unit_test(a_model_too_large_is_refused_and_a_smaller_one_works),
        cmocka_unit_test(a_full_device_is_told_and_works_once_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
