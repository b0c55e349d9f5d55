/* CPUs whose weights are bf16: of each form of this processor, widened by its vector set, and widened by
   plain C. Include after check.h. */
#ifndef ROUNDING_H
#define ROUNDING_H

#include "backend/cpu/form/form.h"

extern const hd_cpu_isa hd_cpu_isa_base;

/* The n-th form of bf16 in the list that this processor has; NULL after the last. */
CHECK_UNUSED static const hd_form *rounding_form(int n)
{
    static const hd_form *const all[] = {
#define X(name) &hd_form_##name,
        HD_FORM_LIST(X)
#undef X
            NULL};
    for (const hd_form *const *f = all; *f; f++)
        if ((*f)->stores == HD_BF16 && (*f)->needs && (*f)->needs() && n-- == 0) return *f;
    return NULL;
}

CHECK_UNUSED static int rounding_kinds(void)
{
    int n = 0;
    while (rounding_form(n)) n++;
    return n + 2;
}

/* kind: less than rounding_kinds(). */
CHECK_UNUSED static hd_backend *rounding_backend(int threads, int kind)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_backend_opt opt = {.threads = threads, .precision = HD_PRECISION_BF16};
    if (hd_backend_new(&b, "cpu", &opt, &err)) fail_msg("%s", err.text);
    hd_cpu *cpu = (hd_cpu *)b;
    const hd_form *form = rounding_form(kind);
    if (!form && kind == rounding_kinds() - 1) cpu->set = &hd_cpu_isa_base, cpu->set->fill(&b->kernel);
    cpu->form = form ? form : cpu->set->widened;
    return b;
}

#endif
