/* A precision by its name, as benchmarks are given it. */
#ifndef BENCH_PRECISION_H
#define BENCH_PRECISION_H

#include <string.h>

#include "backend/backend.h"

/* -1: there is no such precision. */
static inline int precision_of(const char *name)
{
    for (int i = 0; hd_precision_names[i]; i++)
        if (!strcmp(hd_precision_names[i], name)) return i;
    return -1;
}

#endif
