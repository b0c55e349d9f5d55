/* The CPU backend: its instance, memory and packed weights. Everything that computes is in the kernel files
   beside this one, compiled once per vector set, and in product forms, which form/form.c chooses, too. */
#include "backend/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/form/form.h"
#include "backend/ranks.h"
#include "base/system/machine.h"
#include "base/system/team_share.h"
#include "base/mem.h"

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

/* More logits would not fit the cache, fewer would pack their weight too often; packing weighs more beside
   faster products. */
enum { CLEAR_UNIT = 64 * 1024, LOGITS = 16 << 20, ROUNDED_LOGITS = 32 << 20 };

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

typedef struct packing {
    const hd_form *form;
    hd_packing b;
    void *to;
} packing;

static void pack_part(void *arg, size_t begin, size_t end, int worker)
{
    const packing *p = arg;
    (void)worker;
    p->form->pack(p->to, &p->b, begin, end);
}

/* What a form cannot hold is read as it is. */
static hd_status pack(const hd_cpu *cpu, const hd_form *form, hd_tensor *w, const hd_packing *from)
{
    const size_t bytes = form->size(from->n, from->k) * (from->int8.fine ? 2 : 1);
    if (!bytes) return HD_OK;
    w->prepared = hd_mem_new(bytes);
    if (!w->prepared) return HD_ENOMEM;
    packing p = {form, *from, w->prepared};
    hd_team_run(cpu->team, (p.b.n + form->strip - 1) / form->strip,
                1 + 4 * HD_GRAIN / (form->strip * (p.b.k + 1)), pack_part, &p);
    return HD_OK;
}

static hd_status cpu_prepare(hd_backend *b, hd_tensor *w, hd_use use)
{
    const hd_cpu *cpu = (hd_cpu *)b;
    const hd_form *form = use == HD_RECURRING ? cpu->set->f32 : cpu->form;
    if (!w->data && hd_count_of(w)) return w->prepared ? HD_OK : HD_EARG; /* its form is all there is */
    cpu_unprepare(b, w);
    if (use == HD_TRAINING || (use == HD_PREDICTING && form == cpu->set->f32)) return HD_OK;
    return pack(cpu, form, w,
                &(hd_packing){w->data, w->stride, hd_rows_of(w), hd_cols_of(w), .transposed = true});
}

static hd_status cpu_prepare_int8(hd_backend *b, hd_tensor *w, const hd_int8_weight *q)
{
    const hd_cpu *cpu = (hd_cpu *)b;
    if (!q->row && !w->data && hd_count_of(w)) return w->prepared ? HD_OK : HD_EARG;
    cpu_unprepare(b, w);
    return pack(cpu, cpu->form, w, &(hd_packing){w->data, w->stride, hd_rows_of(w), hd_cols_of(w), true, *q});
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
    size_t workers = (size_t)hd_team_all(cpu->team), total;
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

static const hd_form *form_for(hd_precision precision, const hd_cpu_choice *best)
{
    return precision == HD_PRECISION_BF16   ? best->bf16
           : precision == HD_PRECISION_INT8 ? best->int8
                                            : best->set->f32;
}

static void describe(hd_cpu *cpu);

static bool cpu_take_int8(hd_backend *b)
{
    hd_cpu *cpu = (hd_cpu *)b;
    hd_cpu_choice best = {0};
    hd_err err = {0};
    if (!cpu->free_choice || b->weights == HD_I8) return b->weights == HD_I8;
    if (hd_cpu_choose(&best, &err) || !best.int8) return false;
    cpu->form = best.int8, b->weights = HD_I8;
    describe(cpu);
    return true;
}

static void describe(hd_cpu *cpu)
{
    const hd_form *f = cpu->form == cpu->set->f32 ? NULL : cpu->form;
    snprintf(cpu->base.detail, sizeof cpu->base.detail, "cpu, %d threads, %s%s%s%s%s",
             hd_team_size(cpu->team), cpu->set->name, f ? ", weights of " : "",
             !f                   ? ""
             : f->stores == HD_I8 ? "int8"
                                  : "bf16",
             f ? " by " : "", f ? f->name : "");
}

hd_status hd_backend_new_cpu(hd_backend **out, const hd_backend_opt *opt, hd_err *err)
{
    const hd_precision precision = opt ? opt->precision : HD_PRECISION_AUTO;
    if (precision == HD_PRECISION_INT8 && opt->training)
        return hd_err_set(err, HD_EARG, "int8 is for inference only: models are trained in f32 or bf16");
    hd_cpu *cpu = hd_mem_zero(sizeof *cpu);
    if (!cpu) return hd_err_nomem(err, sizeof *cpu);
    cpu->base = (hd_backend){.name = "cpu",
                             .compute = HD_REAL,
                             .weights = HD_REAL,
                             .logits = LOGITS,
                             .alloc = cpu_alloc,
                             .release = cpu_release,
                             .upload = cpu_copy,
                             .download = cpu_copy,
                             .copy = cpu_copy,
                             .clear = cpu_clear,
                             .prepare = cpu_prepare,
                             .unprepare = cpu_unprepare,
                             .prepare_int8 = cpu_prepare_int8,
                             .take_int8 = cpu_take_int8,
                             .narrow = hd_cpu_narrow,
                             .rank_sum = cpu_rank_sum,
                             .rank_sum_begin = hd_ranks() > 1 ? cpu_rank_sum_begin : NULL,
                             .rank_sum_end = cpu_rank_sum_end,
                             .rank = hd_rank(),
                             .ranks = hd_ranks(),
                             .free = cpu_free};
    hd_cpu_choice best = {0};
    hd_status s = hd_cpu_choose(&best, err);
    if (!s) cpu->set = best.set, cpu->form = form_for(precision, &best), cpu->unprepared = best.set->f32;
    if (!s) cpu->base.rescore = cpu->set->rescore;
    if (!s && opt && opt->training) cpu->unprepared = cpu->form;
    if (!s && cpu->unprepared->stores != HD_REAL) cpu->base.logits = ROUNDED_LOGITS;
    if (!s && !cpu->form) s = hd_err_set(err, HD_EARG, "the engine in double has no int8");
    cpu->free_choice = precision == HD_PRECISION_AUTO && !(opt && opt->training);
    if (!s) cpu->base.weights = cpu->form->stores, cpu->set->fill(&cpu->base.kernel);
    if (!s) s = hd_team_new(&cpu->team, opt ? opt->threads : 0, err);
    if (s) {
        hd_mem_free(cpu);
        return s;
    }
    cpu->base.team = cpu->team;
    describe(cpu);
    *out = &cpu->base;
    return HD_OK;
}

void hd_backend_list_cpu(hd_device_fn *tell, void *context)
{
    hd_device d = {.backend = "cpu", .units = hd_team_cores()};
    hd_machine_memory(&d.memory, &d.left);
    hd_cpu_choice best = {0};
    hd_err err = {0};
    if (hd_cpu_choose(&best, &err)) {
        snprintf(d.why, sizeof d.why, "%.*s", (int)sizeof d.why - 1, err.text);
    } else {
        snprintf(d.name, sizeof d.name, "%s", best.set->name);
        snprintf(d.kernels, sizeof d.kernels, "for bf16 by %s%s%s", best.bf16->name,
                 best.int8 ? ", int8 by " : "", best.int8 ? best.int8->name : "");
    }
    tell(context, &d);
}
