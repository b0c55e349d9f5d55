/* A CPU whose weights are bf16: by the best form of this machine, or widened by plain C. Include after
 * check.h. */
#ifndef ROUNDING_H
#define ROUNDING_H

#include "backend/cpu/form/form.h"

extern const hd_cpu_isa hd_cpu_isa_base;

CHECK_UNUSED static hd_backend *rounding_backend(int threads, bool plain)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_backend_opt opt = {.threads = threads, .precision = HD_PRECISION_BF16};
    if (hd_backend_new(&b, "cpu", &opt, &err)) fail_msg("%s", err.text);
    hd_cpu *cpu = (hd_cpu *)b;
    if (plain) cpu->set = &hd_cpu_isa_base, cpu->form = cpu->set->widened, cpu->set->fill(&b->kernel);
    return b;
}

#endif
