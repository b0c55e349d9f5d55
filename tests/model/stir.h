/* Parameters that were drawn as constants, moved. Include after check.h. */
#ifndef STIR_H
#define STIR_H

#include "nn/param.h"

/* Gains of 1 and biases of 0, all there is in a maxent model, hide mistakes: they are moved. */
CHECK_UNUSED static void stir(hd_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias || (one->init.kind != HD_INIT_ZERO && one->init.kind != HD_INIT_ONE))
            continue;
        size_t n = hd_count_of(&one->t);
        hd_real *x = malloc(n * sizeof *x);
        fill_normal(x, n, 0.3, 1000 + i);
        for (size_t k = 0; one->init.kind == HD_INIT_ONE && k < n; k++) x[k] += 1;
        hd_params_set(p, one, x);
        free(x);
    }
}

#endif
