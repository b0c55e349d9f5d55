/* Gradients through time: products of Jacobians, one for each step between two words. */
#include <math.h>

#include "base/rng.h"
#include "lab/memory/net.h"

enum { FAR = 40, WIDTH = 16, INPUTS = 64 };

static const hd_net_kind kinds[] = {HD_NET_logistic, HD_NET_tanh, HD_NET_gru, HD_NET_lstm, HD_NET_attention};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* |d last row / d row k steps before|, k = 0 .. FAR, for one input; added to norm. */
static hd_status add_norms(double *norm, hd_net *n, uint64_t seed, hd_err *err)
{
    hd_real in[(FAR + 1) * WIDTH], g[(FAR + 1) * WIDTH];
    hd_rng rng = hd_rng_make(seed, 1);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) in[i] = (hd_real)hd_rng_normal(&rng);
    hd_run *r = n->run;
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

static hd_status norms_of(double *norm, const hd_lab *lab, hd_net_kind kind, uint64_t seed, hd_err *err)
{
    hd_net n;
    hd_status s = hd_net_open(
        &n, lab->run, &(hd_net_opt){.kind = kind, .width = WIDTH, .words = 1, .seed = seed, .remember = 3},
        err);
    for (size_t k = 0; k <= FAR; k++) norm[k] = 0;
    for (uint64_t i = 0; !s && i < INPUTS; i++) s = add_norms(norm, &n, seed * 1000 + i, err);
    hd_net_close(&n);
    return s;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const int shown[] = {1, 5, 10, 20, FAR};
    static const char *const names[KINDS] = {"rnn (logistic)", "rnn (tanh)", "gru, begun to remember",
                                             "lstm, begun to remember", "self-attention"};
    double norm[KINDS][HD_LAB_SEEDS][FAR + 1], x[FAR + 1], mean[KINDS][FAR + 1], low[FAR + 1], high[FAR + 1];
    hd_spread by[KINDS]; /* the factor from one step to the next */
    hd_status s = HD_OK;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; !s && i < lab->seeds; i++) {
            s = norms_of(norm[k][i], lab, kinds[k], lab->seed + (uint64_t)i, err);
            if (!s) s = hd_lab_tell(lab, (k + (i + 1.0) / lab->seeds) / KINDS, err);
        }
    if (s) return s;

    hd_paper_plot(to,
                  &(hd_series_plot){.title = "The gradient of the last state",
                                    .across = "steps between the input and the last state",
                                    .upward = "norm of the gradient (mean of 64 inputs, spread of all seeds)",
                                    .log_y = true});
    for (int k = 0; k < KINDS; k++) {
        double factor[HD_LAB_SEEDS];
        for (int d = 0; d <= FAR; d++) {
            double v[HD_LAB_SEEDS];
            for (int i = 0; i < lab->seeds; i++) v[i] = norm[k][i][d];
            hd_spread one = hd_spread_of(v, (size_t)lab->seeds);
            x[d] = d, mean[k][d] = one.mean, low[d] = one.low, high[d] = one.high;
        }
        for (int i = 0; i < lab->seeds; i++)
            factor[i] = pow(norm[k][i][FAR] / norm[k][i][1], 1.0 / (FAR - 1));
        by[k] = hd_spread_of(factor, (size_t)lab->seeds);
        hd_paper_line(
            to, names[k],
            &(hd_series){.x = x + 1, .y = mean[k] + 1, .low = low + 1, .high = high + 1, .count = FAR});
    }
    hd_paper_table_of(to, "Norm of the gradient by distance, and its factor from step to step", 7, 1);
    hd_paper_cell(to, "layer");
    for (int c = 0; c < 5; c++) hd_paper_cell(to, "%d", shown[c]);
    hd_paper_cell(to, "factor a step");
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", names[k]);
        for (int c = 0; c < 5; c++) hd_paper_cell(to, "%.1e", mean[k][shown[c]]);
        hd_paper_cell(to, "%.3f (%.3f to %.3f)", by[k].mean, by[k].low, by[k].high);
    }

    hd_paper_claim(
        to, "In a simple recurrent network gradients vanish with the distance.",
        by[0].high < 0.9 && by[1].high < 0.9,
        "Each step leaves %.0f %% of the gradient with logistic cells and %.0f %% with tanh; after "
        "%d steps %.0e and %.0e of it are left.",
        100 * by[0].mean, 100 * by[1].mean, FAR, mean[0][FAR] / mean[0][1], mean[1][FAR] / mean[1][1]);
    hd_paper_claim(
        to, "Gates keep them longer.", by[2].low > by[1].high && by[3].low > by[1].high,
        "A GRU leaves %.0f %% a step and an LSTM %.0f %%, with gates that begin open (a bias of 3).",
        100 * by[2].mean, 100 * by[3].mean);
    hd_paper_claim(to, "In self-attention a gradient does not depend on the distance.",
                   by[4].low > 0.98 && by[4].high < 1.02, "The factor a step is %.4f (%.4f to %.4f).",
                   by[4].mean, by[4].low, by[4].high);
    return HD_OK;
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
