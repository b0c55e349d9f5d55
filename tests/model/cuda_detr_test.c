/* The Detection Transformer on the device against the cpu: loss and gradients of a training step. Objects are
   assigned on the host by what each side found, which differs by roundings alone. */
#include "device.h"
#include "model/detr_toy.h"

/* As for other models (cuda_model_test.c). */
#define TOLERANCE      1e-4
#define TOLERANCE_BF16 2e-2
#define COSINE         0.999
#define COSINE_BF16    0.97

typedef struct outcome {
    double loss;
    hd_real *grad;
    size_t trainable;
} outcome;

/* Takes the backend over. */
static outcome outcome_of(hd_backend *b, bool anchors, int groups, float reach)
{
    hd_err err = {0};
    hd_detr *m = NULL;
    hd_run r = run_on(b);
    hd_detr_opt o = dt_opt(anchors, 2);
    o.stack.width = 64, o.stack.heads = 2, o.stack.inner = 128, o.reach = reach;
    if (hd_detr_new(&m, b, &o, true, &err) || hd_detr_draw(m, 3, &err)) fail_msg("%s", err.text);
    hd_params *p = &m->params;
    outcome out = {.trainable = p->trainable, .grad = malloc(p->trainable * sizeof *out.grad)};
    hd_run_begin(&r, HD_TRAIN);
    out.loss = hd_loss_total(&r, dt_loss(&r, m, dt_objects, groups));
    hd_backward(&r);
    assert_run_ok(&r);
    b->download(b, out.grad, p->grad, p->trainable * sizeof *out.grad);
    assert_string_equal(b->error, "");
    hd_detr_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
    return out;
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool anchors;
        int groups;
        float reach;
    } cases[] = {{"learned queries", false, 0, 0},
                 {"anchors", true, 0, 0},
                 {"anchors and noised boxes", true, 3, 0},
                 {"... that see what is near", true, 3, 0.5f}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        outcome a = outcome_of(backend_of("cpu", 2), cases[i].anchors, cases[i].groups, cases[i].reach);
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            outcome b = outcome_of(device_new(*p), cases[i].anchors, cases[i].groups, cases[i].reach);
            double off = fabs(b.loss - a.loss) / a.loss, cosine = cosine_of(a.grad, b.grad, a.trainable);
            print_message("%-26s %s: loss off by %.1e, cosine 1 - %.1e\n", cases[i].name,
                          f32 ? "f32 " : "bf16", off, 1 - cosine);
            if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16))) fail_msg("loss %.8g, not %.8g", b.loss, a.loss);
            if (!(cosine > (f32 ? COSINE : COSINE_BF16))) fail_msg("cosine %.5f", cosine);
            free(b.grad);
        }
        free(a.grad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu)};
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
