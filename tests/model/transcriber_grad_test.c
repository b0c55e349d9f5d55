/* The gradient of encoder-decoders over sound against differences, in double: pyramids over items of odd
   length, folded frames, blocks. Dropout is on: its masks are fixed by the step. */
#include "model/sound_toy.h"

/* The five-point rule, as for other models. */
#define H         1e-5
#define FLOOR     1e-3
#define TOLERANCE 1e-6

enum { SAMPLES = 6 };

static double loss_at(hd_run *r, const hd_encdec *m, bool back)
{
    hd_run_begin(r, HD_TRAIN);
    r->taping = back;
    const st_batch b = st_send(r, m);
    double loss = hd_loss_total(r, st_loss(r, m, &b));
    if (back) hd_backward(r);
    assert_run_ok(r);
    return loss;
}

static double slope(hd_run *r, const hd_encdec *m, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_at(r, m, false);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

static double worst_of(hd_run *r, const hd_encdec *m, const hd_param *p, double largest, hd_rng *rng)
{
    double worst = 0;
    for (size_t k = 0; k < SAMPLES; k++) {
        size_t at = hd_rng_below(rng, (uint32_t)hd_count_of(&p->t));
        double numeric = slope(r, m, (hd_real *)p->t.data + at), mine = (double)((hd_real *)p->grad.data)[at];
        double error = fabs(mine - numeric) / (fabs(mine) + fabs(numeric) + FLOOR * largest);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static void sound_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        hd_encdec *m = st_model(b, k, 8, 2);
        hd_rng rng = hd_rng_make(8, 8);
        double largest = 0, worst = 0;
        const char *where = "-";
        loss_at(&r, m, true);
        for (size_t i = 0; i < m->params.trainable; i++)
            largest = fmax(largest, fabs((double)m->params.grad[i]));
        for (size_t i = 0; i < m->params.count; i++) {
            const hd_param *p = m->params.list[i];
            if (!p->name || p->alias || !p->t.wants_grad) continue; /* tables of positions are not learned */
            double error = worst_of(&r, m, p, largest, &rng);
            if (!(error <= worst)) worst = error, where = p->name;
        }
        print_message("%-32s worst %.1e (%s)\n", st_kinds[k].name, worst, where);
        if (!(worst < TOLERANCE)) fail_msg("%s: %g in %s", st_kinds[k].name, worst, where);
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_goes_back_as_it_went_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
