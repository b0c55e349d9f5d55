/* Parameters that tests draw themselves. Include after check.h. */
#ifndef STIR_H
#define STIR_H

#include "nn/param.h"

static void stir_one(hd_params *p, hd_param *one, double deviation, uint64_t seed)
{
    size_t n = hd_count_of(&one->t);
    hd_real *x = malloc(n * sizeof *x);
    fill_normal(x, n, deviation, seed);
    for (size_t k = 0; one->init.kind == HD_INIT_ONE && k < n; k++) x[k] += 1;
    hd_params_set(p, one, x);
    free(x);
}

/* Gains of 1 and biases of 0, all there is in a maxent model, hide mistakes: they are moved. */
CHECK_UNUSED static void stir(hd_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (one->name && !one->alias && (one->init.kind == HD_INIT_ZERO || one->init.kind == HD_INIT_ONE))
            stir_one(p, one, 0.3, 1000 + i);
    }
}

/* So that all weights matter. */
CHECK_UNUSED static void stir_all(hd_params *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name && !p->list[i]->alias) stir_one(p, p->list[i], 0.4, 100 + i);
}

#endif
