/* The CPU backend: its instance, memory, packed weights, and the choice of the instruction set. Everything
   that computes is in the kernel files beside this one, compiled once per set. */
#include "backend/cpu/cpu.h"

#ifdef HD_HAVE_avx2
#include <cpuid.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HD_HAVE_bf16
#include <sys/auxv.h>
#endif

#include "backend/ranks.h"
#include "base/system/machine.h"
#include "base/mem.h"

#define HD_ISA_TABLE(isa) extern const hd_cpu_isa hd_cpu_isa_##isa;
#ifdef HD_HAVE_avx512
HD_ISA_TABLE(avx512)
#endif
#ifdef HD_HAVE_avx2
HD_ISA_TABLE(avx2)
#endif
#ifdef HD_HAVE_bf16
HD_ISA_TABLE(bf16)
#endif
HD_ISA_TABLE(base)

#ifdef HD_HAVE_avx2
/* clang 14 does not know this name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

/* The n-th set that this build has and this processor can run, the fastest first; NULL after the last. */
static const hd_cpu_isa *usable_isa(int n)
{
    const hd_cpu_isa *set[4];
    int count = 0;
#ifdef HD_HAVE_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("fma"))
        set[count++] = &hd_cpu_isa_avx512;
#endif
#ifdef HD_HAVE_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
        set[count++] = &hd_cpu_isa_avx2;
#endif
#ifdef HD_HAVE_bf16
    if (getauxval(AT_HWCAP2) & HWCAP2_BF16) set[count++] = &hd_cpu_isa_bf16;
#endif
    set[count++] = &hd_cpu_isa_base;
    return n < count ? set[n] : NULL;
}

/* The set named by HEED_ISA, otherwise the fastest. Naming the set of another machine reproduces its bits. */
static hd_status choose_isa(const hd_cpu_isa **out, hd_err *err)
{
    const char *asked = getenv("HEED_ISA");
    char names[96] = "";
    *out = usable_isa(0);
    if (!asked || !*asked) return HD_OK;
    for (int i = 0; usable_isa(i); i++) {
        size_t used = strlen(names);
        *out = usable_isa(i);
        if (!strcmp(asked, (*out)->name)) return HD_OK;
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", (*out)->name);
    }
    return hd_err_set(err, HD_EARG, "HEED_ISA=%s: this processor and build have %s", asked, names);
}

static void *cpu_alloc(hd_backend *b, size_t bytes)
{
    (void)b;
    return hd_mem_new(bytes);
}

static void cpu_release(hd_backend *b, void *block, size_t bytes)
{
    (void)b, (void)bytes;
    hd_mem_free(block);
}

static void cpu_copy(hd_backend *b, void *to, const void *from, size_t bytes)
{
    (void)b;
    if (bytes) memcpy(to, from, bytes);
}

/* More logits would not fit the cache, fewer would pack their weight too often. */
enum { CLEAR_UNIT = 64 * 1024, LOGITS = 16 << 20 };

typedef struct clearing {
    char *block;
    size_t bytes;
} clearing;

static void clear_part(void *arg, size_t begin, size_t end, int worker)
{
    const clearing *c = arg;
    size_t from = begin * CLEAR_UNIT, till = end * CLEAR_UNIT < c->bytes ? end * CLEAR_UNIT : c->bytes;
    (void)worker;
    memset(c->block + from, 0, till - from);
}

static void cpu_clear(hd_backend *b, void *block, size_t bytes)
{
    clearing c = {block, bytes};
    hd_team_run(((hd_cpu *)b)->team, (bytes + CLEAR_UNIT - 1) / CLEAR_UNIT, 1, clear_part, &c);
}

static void cpu_unprepare(hd_backend *b, hd_tensor *w)
{
    (void)b;
    hd_mem_free(w->prepared);
    w->prepared = NULL;
}

static hd_status cpu_prepare(hd_backend *b, hd_tensor *w, hd_use use)
{
    const hd_cpu_isa *set = ((hd_cpu *)b)->set;
    size_t out = hd_rows_of(w), in = hd_cols_of(w);
    cpu_unprepare(b, w);
    if (use == HD_TRAINING) return HD_OK;
    if (b->weights == HD_BF16 && use != HD_RECURRING) {
        w->prepared = hd_mem_array(set->bf16_size(out, in), sizeof(uint16_t));
        if (w->prepared) set->bf16_pack(w->prepared, w->data, w->stride, out, in);
    } else if (use != HD_PREDICTING) {
        w->prepared = hd_mem_array(set->packed_size(out, in), sizeof(hd_real));
        if (w->prepared) set->pack(w->prepared, w->data, w->stride, out, in);
    } else {
        return HD_OK;
    }
    return w->prepared ? HD_OK : HD_ENOMEM;
}

static hd_status cpu_rank_sum(hd_backend *b, hd_real *x, size_t count)
{
    return b->ranks > 1 ? hd_ranks_sum(x, count) : HD_OK;
}

static hd_status cpu_rank_sum_begin(hd_backend *b, size_t which, hd_real *x, size_t count)
{
    (void)b, (void)which;
    return hd_ranks_sum_begin(x, count);
}

static hd_status cpu_rank_sum_end(hd_backend *b)
{
    (void)b;
    return hd_ranks_sum_end();
}

static char *grown(char **block, size_t *size, size_t bytes)
{
    if (*size >= bytes && *block) return *block;
    hd_mem_free(*block);
    *size = 0;
    *block = hd_mem_new(bytes);
    if (*block) *size = bytes;
    return *block;
}

char *hd_cpu_scratch(hd_cpu *cpu, size_t each)
{
    size_t workers = (size_t)hd_team_size(cpu->team), total;
    each = (each + HD_ALIGN) / HD_ALIGN * HD_ALIGN;
    if (each <= cpu->scratch_each) return cpu->scratch;
    if (!hd_size_mul(each, workers, &total)) return NULL;
    char *block = grown(&cpu->scratch, &cpu->scratch_size, total);
    cpu->scratch_each = block ? each : 0;
    return block;
}

char *hd_cpu_shared(hd_cpu *cpu, size_t bytes)
{
    return grown(&cpu->shared, &cpu->shared_size, bytes + HD_ALIGN);
}

static void cpu_free(hd_backend *b)
{
    hd_cpu *cpu = (hd_cpu *)b;
    hd_team_free(cpu->team);
    hd_mem_free(cpu->scratch);
    hd_mem_free(cpu->shared);
    hd_mem_free(cpu);
}

hd_status hd_backend_new_cpu(hd_backend **out, const hd_backend_opt *opt, hd_err *err)
{
    bool small = opt && opt->precision == HD_PRECISION_BF16;
    if (small && opt->training)
        return hd_err_set(err, HD_EARG, "the CPU trains in f32: bf16 needs a CUDA device");
    hd_cpu *cpu = hd_mem_zero(sizeof *cpu);
    if (!cpu) return hd_err_nomem(err, sizeof *cpu);
    cpu->base = (hd_backend){.name = "cpu",
                             .compute = HD_REAL,
                             .weights = small ? HD_BF16 : HD_REAL,
                             .logits = LOGITS,
                             .alloc = cpu_alloc,
                             .release = cpu_release,
                             .upload = cpu_copy,
                             .download = cpu_copy,
                             .copy = cpu_copy,
                             .clear = cpu_clear,
                             .prepare = cpu_prepare,
                             .unprepare = cpu_unprepare,
                             .rank_sum = cpu_rank_sum,
                             .rank_sum_begin = hd_ranks() > 1 ? cpu_rank_sum_begin : NULL,
                             .rank_sum_end = cpu_rank_sum_end,
                             .rank = hd_rank(),
                             .ranks = hd_ranks(),
                             .free = cpu_free};
    hd_status s = choose_isa(&cpu->set, err);
    if (!s) cpu->set->fill(&cpu->base.kernel);
    if (!s) s = hd_team_new(&cpu->team, opt ? opt->threads : 0, err);
    if (s) {
        hd_mem_free(cpu);
        return s;
    }
    cpu->base.team = cpu->team;
    snprintf(cpu->base.detail, sizeof cpu->base.detail, "cpu, %d threads, %s%s", hd_team_size(cpu->team),
             cpu->set->name, small ? ", weights of bf16" : "");
    *out = &cpu->base;
    return HD_OK;
}

void hd_backend_list_cpu(hd_device_fn *tell, void *context)
{
    hd_device d = {.backend = "cpu", .units = hd_team_cores()};
    hd_machine_memory(&d.memory, &d.left);
    const hd_cpu_isa *set = NULL;
    hd_err err = {0};
    if (choose_isa(&set, &err)) snprintf(d.why, sizeof d.why, "%.*s", (int)sizeof d.why - 1, err.text);
    if (!d.why[0]) snprintf(d.name, sizeof d.name, "%s", set->name);
    tell(context, &d);
}
