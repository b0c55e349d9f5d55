/* Encoder-decoders of every kind on the device against the cpu: one training step, fed the truth and soft
   words of its own, with factors of heads, and steps that are captured and replayed. */
#include "device.h"
#include "model/encdec_cases.h"
#include "model/heads.h"
#include "nn/unroll.h"
#include "op/replay.h"

/* As in cuda_model_test.c: f32 sums in another order, bf16 rounds every activation by 2^-9. */
#define TOLERANCE      1e-4
#define TOLERANCE_BF16 2e-2
#define COSINE_BF16    0.98

static const hd_feeding soft = {HD_FEEDING_gumbel, 0.6f, 1};

/* Takes the backend over. */
static void open_on(toy *m, hd_backend *b, const encdec_case *c, bool fed)
{
    hd_err err = {0};
    hd_encdec_opt o = encdec_opt(c);
    o.stack.width = 32, o.stack.inner = 64, o.stack.dropout = o.source_dropout = 0.1f;
    *m = (toy){.backend = b, .run = run_on(b)};
    m->t = toy_transformer(b, &o, true), m->params = &m->t->params;
    stir(m->params);
    if (fed && hd_encdec_feed(m->t, &soft, &err)) fail_msg("%s", err.text);
}

static bool can_be_fed(const encdec_case *c)
{
    return !strstr(c->decoder, "transformer") && !c->r.no_feedback;
}

static void compare(const char *name, const char *how, bool f32, double loss, double want, const hd_real *a,
                    const hd_real *b, size_t n)
{
    double off = fabs(loss - want) / want, apart = distance_between(a, b, n) / norm_of(a, n),
           cosine = cosine_of(a, b, n);
    print_message("%-32s %-7s %s: loss off by %.1e, gradients by %.1e\n", name, how, f32 ? "f32 " : "bf16",
                  off, apart);
    if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16)))
        fail_msg("%s: loss %.8g, expected %.8g", name, loss, want);
    if (f32 ? !(apart <= TOLERANCE) : !(cosine > COSINE_BF16)) fail_msg("%s: cosine %.4f", name, cosine);
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 24);
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++)
        for (int fed = 0; fed <= can_be_fed(&encdec_cases[i]); fed++) {
            const encdec_case *c = &encdec_cases[i];
            toy here, there;
            open_on(&here, backend_of("cpu", 2), c, fed);
            double want = toy_back(&here, &b, 0.1f, 5);
            hd_real *x = toy_copy(&here, here.params->grad);
            for (const hd_precision *p = device_precisions(); *p; p++) {
                open_on(&there, device_new(*p), c, fed);
                double loss = toy_back(&there, &b, 0.1f, 5);
                hd_real *y = toy_copy(&there, there.params->grad);
                compare(c->name, fed ? "own" : "truth", *p == HD_PRECISION_F32, loss, want, x, y,
                        here.params->trainable);
                assert_string_equal(there.backend->error, "");
                free(y);
                toy_close(&there);
            }
            free(x);
            toy_close(&here);
        }
}

/* Forward and backward, captured where that can be; the sum of the losses. */
static double captured_step(toy *m, const toy_batch *b, uint32_t number)
{
    hd_run *r = &m->run;
    m->run.now.number = number;
    hd_run_begin(r, HD_TRAIN);
    hd_bounds in = hd_bounds_now(r, b->source_len, b->items), out = hd_bounds_now(r, b->target_len, b->items);
    int32_t source[2048] = {0}, input[2048] = {0}, target[2048];
    assert_true(in.rows <= COUNT_OF(source) && out.rows <= COUNT_OF(input));
    memcpy(source, b->source, b->source_rows * sizeof *source);
    memcpy(input, b->input, b->target_rows * sizeof *input);
    for (size_t i = 0; i < out.rows; i++) target[i] = i < b->target_rows ? b->target[i] : -1;
    hd_seg *from = hd_seg_within(r, b->source_len, b->items, b->key, in),
           *to = hd_seg_within(r, b->target_len, b->items, b->key, out);
    const int32_t *ids[] = {hd_ints(r, source, in.rows), hd_ints(r, input, out.rows),
                            hd_ints(r, target, out.rows)};
    if (hd_encdec_unrolls(m->t)) to->steps = hd_unroll(r, to);
    uint64_t shape = hd_shape_mix(in.rows, out.rows);
    if (!hd_replay(r, m->params->serial, shape, NULL)) {
        hd_capture(r, m->params->serial, shape);
        hd_rows y = hd_encdec_decode(
            r, m->t, ids[1], to, hd_encdec_encode(r, m->t, &(hd_items){.seg = from, .ids = ids[0]}), NULL);
        hd_loss_put(r, hd_encdec_loss(r, m->t, y, ids[2], &(hd_loss_opt){.coef = 1, .smoothing = 0.1f}));
        hd_backward(r);
        hd_captured(r, NULL);
    }
    assert_run_ok(r);
    hd_step block;
    r->backend->download(r->backend, &block, r->block, sizeof block);
    return (double)block.loss;
}

/* Gradients add up over four steps with draws of their own. */
static void captured_steps_are_those_that_are_not(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 24);
    size_t replays = 0;
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++)
        for (int fed = 0; fed <= can_be_fed(&encdec_cases[i]); fed++) {
            const encdec_case *c = &encdec_cases[i];
            toy plain, m;
            double want = 0, loss = 0;
            open_on(&plain, device_new(HD_PRECISION_F32), c, fed),
                open_on(&m, device_new(HD_PRECISION_F32), c, fed);
            m.run.captures = true;
            device_count_replays(m.backend);
            for (uint32_t number = 1; number <= 4; number++) {
                want = toy_back(&plain, &b, 0.1f, number);
                loss = captured_step(&m, &b, number);
            }
            hd_real *x = toy_copy(&plain, plain.params->grad), *y = toy_copy(&m, m.params->grad);
            compare(c->name, fed ? "own" : "truth", true, loss, want, x, y, m.params->trainable);
            if (m.backend->capture) replays += device_replays();
            free(x), free(y);
            toy_close(&plain), toy_close(&m);
        }
    print_message("%zu replays\n", replays);
    assert_true(device_is_cpu() || replays > 0);
}

/* Gives the run factors, no two heads of a layer alike and some off; false where nothing attends. */
static bool scale_heads(toy *m, hd_heads *h)
{
    hd_err err = {0};
    const hd_model of = hd_encdec_model(m->t);
    if (hd_heads_init(h, &of, &err)) return false;
    for (size_t i = 0; i < h->layers; i++)
        for (size_t k = 0; k < h->layer[i].heads; k++)
            h->layer[i].factor[k] = (hd_real)((i + 2 * k) % 5) * (hd_real)0.375;
    m->run.heads = h;
    return true;
}

/* Also where a step without factors was captured before. */
static void factors_of_heads_do_what_they_do_on_the_cpu(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 24);
    size_t attending = 0;
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++) {
        const encdec_case *c = &encdec_cases[i];
        toy here, there;
        hd_heads ours = {0}, theirs = {0};
        open_on(&here, backend_of("cpu", 2), c, false);
        if (scale_heads(&here, &ours)) {
            double want = toy_back(&here, &b, 0.1f, 5);
            hd_real *x = toy_copy(&here, here.params->grad);
            for (const hd_precision *p = device_precisions(); *p; p++) {
                open_on(&there, device_new(*p), c, false);
                captured_step(&there, &b, 5), captured_step(&there, &b, 5);
                hd_backend *on = there.backend;
                on->clear(on, there.params->grad, there.params->trainable * sizeof(hd_real));
                assert_true(scale_heads(&there, &theirs));
                double loss = captured_step(&there, &b, 5);
                hd_real *y = toy_copy(&there, there.params->grad);
                compare(c->name, "heads", *p == HD_PRECISION_F32, loss, want, x, y, here.params->trainable);
                free(y);
                toy_close(&there);
                hd_heads_release(&theirs);
            }
            free(x);
            attending++;
        }
        toy_close(&here);
        hd_heads_release(&ours);
    }
    assert_true(attending > 0);
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
        cmocka_unit_test(captured_steps_are_those_that_are_not),
        cmocka_unit_test(factors_of_heads_do_what_they_do_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
