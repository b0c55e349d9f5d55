/* The CPU backend's instance and what its kernel files share. Kernel files are compiled once per instruction
   set: every function that crosses files is named by KERNEL(), which appends the set. */
#ifndef HD_BACKEND_CPU_CPU_H
#define HD_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "base/system/team.h"

#define HD_PASTE2(a, b) a##b
#define HD_PASTE(a, b)  HD_PASTE2(a, b)
#define KERNEL(name)    HD_PASTE(hd_cpu_##name##_, HD_ISA)

typedef struct hd_cpu {
    hd_backend base;
    hd_team *team;
    const struct hd_cpu_isa *set;
    const struct hd_form *form; /* of prepared weights, but those of recur, which have the set's f32 */
    bool free_choice;           /* no precision was asked for: that of a model may be taken */
    const struct hd_form
        *unprepared;        /* of b that is packed when it is multiplied: f32, or `form` in training */
    char *scratch, *shared; /* see hd_cpu_scratch, hd_cpu_shared */
    size_t scratch_each, scratch_size, shared_size;
} hd_cpu;

/* What an instruction set provides besides the kernels. */
typedef struct hd_cpu_isa {
    const char *name;
    void (*fill)(hd_kernels *table);
    const struct hd_form *f32, *widened; /* form/form.h */
    hd_status (*rescore)(hd_backend *b, const hd_rescore_args *a);
} hd_cpu_isa;

/* At least `each` bytes of scratch for every worker w, at result + w * cpu->scratch_each; and `bytes`
   shared by all. Contents are lost, and the earlier result is invalid. NULL on failure. */
char *hd_cpu_scratch(hd_cpu *cpu, size_t each);
char *hd_cpu_shared(hd_cpu *cpu, size_t bytes);

/* Rows of matrices in kernels. */
static inline hd_real *hd_row(const hd_tensor *t, size_t r)
{
    return (hd_real *)t->data + r * t->stride;
}

/* Grain: at least this many numbers per part of a parallel loop, or waking a thread costs more than it gains.
 */
enum { HD_GRAIN = 8192 };

static inline size_t hd_grain_rows(size_t cols)
{
    return cols ? 1 + HD_GRAIN / cols : 1;
}

#endif
