/* Gradients through time: products of Jacobians, one for each step between two words. */
#include <math.h>

#include "base/rng.h"
#include "lab/memory/net.h"
#include "lab/sweep.h"

enum { FAR = 40, WIDTH = 16, INPUTS = 64 };

static const hd_net_kind kinds[] = {HD_NET_logistic, HD_NET_tanh, HD_NET_gru, HD_NET_lstm, HD_NET_attention};
enum { KINDS = sizeof kinds / sizeof *kinds };
static const char *const names[KINDS] = {"rnn (logistic)", "rnn (tanh)", "gru, begun to remember",
                                         "lstm, begun to remember", "self-attention"};

/* |d last row / d row k steps before|, k = 0 .. FAR, for one input; added to norm. */
static hd_status add_norms(double *norm, hd_net *n, uint64_t seed, hd_err *err)
{
    hd_real in[(FAR + 1) * WIDTH], g[(FAR + 1) * WIDTH];
    hd_rng rng = hd_rng_make(seed, 1);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) in[i] = (hd_real)hd_rng_normal(&rng);
    hd_run *r = n->course.run;
    hd_run_begin(r, HD_TRAIN);
    hd_rows x = {hd_from(r, FAR + 1, WIDTH, in), hd_seg_of(r, (int32_t[]){FAR + 1}, 1, NULL)};
    if (x.t) x.t->wants_grad = true;
    hd_rows y = hd_net_of(n, x);
    hd_sum_loss(r, hd_reduce(r, y.t, y.seg, HD_LAST), 1);
    hd_backward(r);
    if (!hd_run_status(r, err)) hd_read(r, x.t->grad, g);
    hd_status s = hd_run_status(r, err);
    for (size_t k = 0; !s && k <= FAR; k++) {
        double squares = 0;
        for (size_t j = 0; j < WIDTH; j++) squares += pow((double)g[(FAR - k) * WIDTH + j], 2);
        norm[k] += sqrt(squares) / INPUTS;
    }
    return s;
}

/* k = 1 .. FAR. */
static hd_status norms_of(double *norm, const hd_lab *lab, size_t k, uint64_t seed, void *context,
                          hd_err *err)
{
    double all[FAR + 1] = {0};
    hd_net n;
    (void)context;
    hd_status s = hd_net_open(
        &n, lab->run,
        &(hd_net_opt){.kind = kinds[k], .width = WIDTH, .words = 1, .seed = seed, .remember = 3}, err);
    for (uint64_t i = 0; !s && i < INPUTS; i++) s = add_norms(all, &n, seed * 1000 + i, err);
    for (size_t d = 1; d <= FAR; d++) norm[d - 1] = all[d];
    hd_net_close(&n);
    return s;
}

/* What one step leaves of a gradient. */
static hd_spread factor_of(const hd_sweep *w, size_t k, const hd_lab *lab)
{
    double factor[HD_LAB_SEEDS];
    for (int i = 0; i < lab->seeds; i++)
        factor[i] = pow(w->value[k][i][FAR - 1] / w->value[k][i][0], 1.0 / (FAR - 1));
    return hd_spread_of(factor, (size_t)lab->seeds);
}

/* What is left of it after all. */
static double left_of(const hd_sweep *w, size_t k)
{
    return w->spread[k][FAR - 1].mean / w->spread[k][0].mean;
}

static void judge(hd_paper *to, const hd_sweep *w, const hd_lab *lab)
{
    hd_spread by[KINDS];
    for (size_t k = 0; k < KINDS; k++) by[k] = factor_of(w, k, lab);
    hd_paper_claim(
        to, "In a simple recurrent network gradients vanish with the distance.",
        by[0].high < 0.9 && by[1].high < 0.9,
        "Each step leaves %.0f %% of the gradient with logistic cells and %.0f %% with tanh; after "
        "%d steps %.0e and %.0e of it are left.",
        100 * by[0].mean, 100 * by[1].mean, FAR, left_of(w, 0), left_of(w, 1));
    hd_paper_claim(
        to, "Gates keep them longer.", by[2].low > by[1].high && by[3].low > by[1].high,
        "A GRU leaves %.0f %% a step and an LSTM %.0f %%, with gates that begin open (a bias of 3).",
        100 * by[2].mean, 100 * by[3].mean);
    hd_paper_claim(to, "In self-attention a gradient does not depend on the distance.",
                   by[4].low > 0.98 && by[4].high < 1.02, "The factor a step is %.4f (%.4f to %.4f).",
                   by[4].mean, by[4].low, by[4].high);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, names, sizeof *names, KINDS, NULL, FAR, err);
    if (s) return s;
    w->title = "The gradient of the last state", w->across = "steps between the input and the last state";
    w->upward = "norm of the gradient (mean of 64 inputs, spread of all seeds)", w->log_y = true;
    w->caption = "Norm of the gradient by distance", w->corner = "layer", w->format = "%.0e", w->every = 13;
    s = hd_sweep_measure(w, lab, norms_of, NULL, err);
    if (!s) {
        hd_paper_say(
            to, "Each layer reads a sequence of random vectors. The norm of the gradient says how much the "
                "last state would change with an input that stands so many steps before it; the axis "
                "upward goes by powers of ten.");
        hd_sweep_put(to, w, lab);
        judge(to, w, lab);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_vanishing = {
    .name = "vanishing",
    .title = "Gradients through time",
    .lecture = 4,
    .rows = "16, 17, 19",
    .claim = "What a word far back contributed to a recurrent state hardly gets a gradient: it is a product "
             "of one Jacobian for each step, which vanishes or explodes. Gates help, and attention has no "
             "such product.",
    .run = run,
};
