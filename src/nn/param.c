/* Parameter records and their flat buffers. The order of the buffer is trainable (by group and decay),
 * running statistics, all else: hd_params_ready is the only place that knows it. */
#include "nn/param.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/serial.h"
#include "nn/block/lora.h"

enum { FIRST_SLOTS = 1024 };
enum { SPACING = HD_ALIGN / sizeof(hd_real) }; /* parameters begin on cache lines */

void hd_params_init(hd_params *p, hd_backend *backend)
{
    *p = (hd_params){.backend = backend, .serial = hd_serial()};
    for (int i = 0; i < HD_PARAM_GROUPS; i++) p->factor[i] = 1;
}

/* Of what is not in bf16 alone. */
static size_t value_bytes(const hd_params *p)
{
    return (p->total - p->small - p->fixed) * sizeof(hd_real);
}

void hd_params_release(hd_params *p)
{
    if (!p->backend) return;
    hd_backend_gone(p->backend, p->serial);
    for (size_t i = 0; i < p->count; i++) {
        p->backend->unprepare(p->backend, &p->list[i]->t);
        hd_lora_free(p->list[i]->lora);
        hd_mem_free(p->list[i]->name);
        hd_mem_free(p->list[i]);
    }
    hd_mem_free(p->list), hd_mem_free(p->balanced), hd_mem_free(p->slot);
    hd_safetensors_free(p->file);
    if (p->value) p->backend->release(p->backend, p->value, value_bytes(p));
    if (p->grad) p->backend->release(p->backend, p->grad, p->trainable * sizeof(hd_real));
    if (p->shadow) p->backend->release(p->backend, p->shadow, p->total * sizeof *p->shadow);
    *p = (hd_params){0};
}

/* -- names: of experts there are tens of thousands -- */

/* The slot of a name, or the empty one for it. There is always one. */
static uint32_t *slot_of(const hd_params *p, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *c = name; *c; c++) h = (h ^ (uint8_t)*c) * 0x100000001b3u;
    for (size_t i = (h ^ h >> 32) & (p->slots - 1);; i = (i + 1) & (p->slots - 1))
        if (!p->slot[i] || !strcmp(p->list[p->slot[i] - 1]->name, name)) return &p->slot[i];
}

/* Makes room for one more. */
static hd_status grow_slots(hd_params *p)
{
    if (p->renamed || 2 * (p->count + 1) <= p->slots) return HD_OK;
    size_t slots = p->slots ? 2 * p->slots : FIRST_SLOTS;
    uint32_t *slot = hd_mem_array(slots, sizeof *slot);
    if (!slot) return hd_err_nomem(&p->err, slots * sizeof *slot);
    hd_mem_free(p->slot);
    p->slot = slot, p->slots = slots;
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name) *slot_of(p, p->list[i]->name) = (uint32_t)i + 1;
    return HD_OK;
}

void hd_param_rename(hd_params *p, hd_param *one, char *name)
{
    hd_mem_free(one->name);
    one->name = name, p->renamed = true;
}

static hd_param *add(hd_params *p, size_t rows, size_t cols, hd_init init, const char *name)
{
    if (p->err.status) return NULL;
    if (name && hd_params_find(p, name))
        return hd_err_set(&p->err, HD_EARG, "two parameters are called '%s'", name), NULL;
    if (hd_mem_reserve(&p->list, &p->room, p->count + 1, sizeof *p->list, &p->err) || grow_slots(p))
        return NULL;
    hd_param *one = hd_mem_zero(sizeof *one);
    char *copy = name && one ? hd_mem_text(name) : NULL;
    if (!one || (name && !copy)) return hd_mem_free(one), hd_err_nomem(&p->err, sizeof *one), NULL;
    const size_t shape[2] = {rows, cols};
    *one = (hd_param){.name = copy,
                      .t = hd_shaped(NULL, HD_REAL, cols ? 2 : 1, shape),
                      .init = init,
                      .trainable = init.kind != HD_INIT_TABLE,
                      .decay = cols > 0};
    one->t.is_param = true;
    if (copy && !p->renamed) *slot_of(p, copy) = (uint32_t)p->count + 1;
    return p->list[p->count++] = one;
}

#define FORMATTED(name)                          \
    char name[256];                              \
    va_list args_;                               \
    va_start(args_, format);                     \
    vsnprintf(name, sizeof name, format, args_); \
    va_end(args_)

hd_param *hd_param_add(hd_params *p, size_t rows, size_t cols, hd_init init, const char *format, ...)
{
    FORMATTED(name);
    return add(p, rows, cols, init, name);
}

hd_param *hd_param_hidden(hd_params *p, size_t rows, size_t cols, hd_init init)
{
    return add(p, rows, cols, init, NULL);
}

hd_param *hd_param_moving(hd_params *p, size_t count, hd_init init, const char *format, ...)
{
    FORMATTED(name);
    hd_param *one = add(p, count, 0, init, name);
    if (one) one->trainable = false, one->moving = true;
    return one;
}

static hd_param *add_part(hd_params *p, hd_param *whole, size_t row, size_t rows, hd_init init,
                          const char *name)
{
    if (!whole) return NULL;
    hd_param *one = add(p, rows, whole->t.rank == 2 ? hd_cols_of(&whole->t) : 0, init, name);
    if (one) one->whole = whole, one->row = row, one->next = whole->part, whole->part = one;
    return one;
}

hd_param *hd_param_part(hd_params *p, hd_param *whole, size_t row, size_t rows, hd_init init,
                        const char *format, ...)
{
    FORMATTED(name);
    return add_part(p, whole, row, rows, init, name);
}

hd_param *hd_param_view(hd_params *p, hd_param *whole, size_t row, size_t rows)
{
    return add_part(p, whole, row, rows, (hd_init){HD_INIT_TABLE, 0, 0}, NULL);
}

hd_param *hd_param_alias(hd_params *p, hd_param *of, const char *format, ...)
{
    if (!of) return NULL;
    FORMATTED(name);
    hd_param *one = add(p, hd_rows_of(&of->t), hd_cols_of(&of->t), of->init, name);
    if (one) one->alias = of;
    return one;
}

void hd_params_balance(hd_params *p, const hd_balanced *b)
{
    if (p->err.status ||
        hd_mem_reserve(&p->balanced, &p->balance_room, p->balances + 1, sizeof *p->balanced, &p->err))
        return;
    p->balanced[p->balances++] = *b;
}

void hd_param_shape(hd_param *one, int rank, const size_t *shape)
{
    if (!one) return;
    one->rank = rank;
    memcpy(one->shape, shape, (size_t)rank * sizeof *shape);
}

void hd_param_matrices(hd_param *one, size_t first, size_t second, size_t third)
{
    const size_t rows[HD_PARAM_MATRICES] = {first, second, third};
    if (one) memcpy(one->matrix, rows, sizeof rows);
}

hd_param *hd_params_find(const hd_params *p, const char *name)
{
    if (!p->renamed) {
        uint32_t found = p->slots ? *slot_of(p, name) : 0;
        return found ? p->list[found - 1] : NULL;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name && !strcmp(p->list[i]->name, name)) return p->list[i];
    return NULL;
}

/* A storage is frozen if any of its names is: three tensors of a file are one product, and a tied table is
   one table. */
static size_t freeze(hd_params *p, const char *pattern)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || fnmatch(pattern, one->name, 0)) continue;
        one->trainable = false;
        if (one->whole) one->whole->trainable = false;
        if (one->alias) one->alias->trainable = false;
        n++;
    }
    return n;
}

hd_status hd_params_freeze(hd_params *p, hd_frozen frozen, hd_err *err)
{
    for (size_t i = 0; i < frozen.count; i++)
        if (!freeze(p, frozen.pattern[i]))
            return hd_err_set(err, HD_EARG, "no parameter matches '%s': nothing to freeze",
                              frozen.pattern[i]);
    return HD_OK;
}

static bool owns(const hd_param *one)
{
    return !one->whole && !one->alias;
}

static size_t place(hd_param *one, size_t at)
{
    one->at = at;
    return (at + hd_count_of(&one->t) + SPACING - 1) / SPACING * SPACING;
}

/* Whether it is kept in bf16 alone: matrices that only products read, which take no other form. Those of a
   base that stays lose nothing by it. */
static bool is_small(const hd_params *p, const hd_param *one, bool training)
{
    const hd_param *owner = one->whole ? one->whole : one;
    return training && p->backend->compute == HD_BF16 && owner->matrix[0] &&
           (p->backend->small_weights || (p->files == HD_FILES_ADAPTER && !owner->trainable));
}

typedef struct laying { /* which are laid out */
    bool training, small, moving;
    int group;
    bool decay;
} laying;

/* Lays out the trainable owners of a group; returns the next free offset. */
static size_t lay_out(hd_params *p, size_t at, const laying *l)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (owns(one) && one->trainable && one->group == l->group && one->decay == l->decay &&
            is_small(p, one, l->training) == l->small)
            at = place(one, at);
    }
    return at;
}

static size_t lay_out_fixed(hd_params *p, size_t at, const laying *l)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (owns(one) && !one->trainable && one->moving == l->moving &&
            is_small(p, one, l->training) == l->small)
            at = place(one, at);
    }
    return at;
}

/* All of them: small ones first, then the other trainable ones, and small ones that stay last. */
static void lay_out_all(hd_params *p, bool training)
{
    size_t at = 0;
    p->ranges = 0;
    for (int small = 1; small >= 0; small--) {
        for (int group = 0; group < HD_PARAM_GROUPS; group++)
            for (int decay = 1; decay >= 0; decay--) {
                size_t begin = at;
                at = lay_out(p, at, &(laying){training, small, false, group, decay});
                if (at > begin) p->range[p->ranges++] = (hd_group){begin, at, decay, small, p->factor[group]};
            }
        if (small) p->small = at;
    }
    p->trainable = at;
    p->moving = lay_out_fixed(p, at, &(laying){.training = training, .moving = true}) - at;
    at = lay_out_fixed(p, at + p->moving, &(laying){.training = training});
    p->total = lay_out_fixed(p, at, &(laying){.training = training, .small = true});
    p->fixed = p->total - at;
}

static void point(hd_params *p, hd_param *one, bool training)
{
    const hd_param *owner = one->whole ? one->whole : one;
    size_t at = owner->at + one->row * (one->t.rank == 2 ? hd_cols_of(&one->t) : 1);
    bool small = is_small(p, one, training);
    if (small)
        one->t.data = p->shadow + at, one->t.dtype = HD_BF16;
    else
        one->t.data = hd_params_at(p, at), one->t.prepared = p->shadow ? p->shadow + at : NULL;
    one->t.wants_grad = training && owner->trainable;
    one->t.grad = NULL;
    if (!one->t.wants_grad) return;
    one->grad = one->t;
    one->grad.dtype = HD_REAL;
    one->grad.data = p->grad + at;
    one->grad.is_param = one->grad.wants_grad = false;
    one->grad.prepared = NULL;
    one->t.grad = &one->grad;
}

hd_status hd_params_ready(hd_params *p, bool training, hd_err *err)
{
    if (p->err.status) return hd_err_set(err, p->err.status, "%s", p->err.text);
    lay_out_all(p, training);
    p->value = p->backend->alloc(p->backend, value_bytes(p));
    p->grad = training ? p->backend->alloc(p->backend, p->trainable * sizeof(hd_real)) : NULL;
    bool small = p->backend->compute == HD_BF16;
    if (small) p->shadow = p->backend->alloc(p->backend, p->total * sizeof *p->shadow);
    if (!p->value || (training && !p->grad) || (small && !p->shadow))
        return hd_backend_nomem(p->backend, p->total * sizeof(hd_real), err);
    if (p->backend->team)
        hd_mem_clear(p->value, value_bytes(p)); /* pages of what stays in a file are never touched */
    else
        p->backend->clear(p->backend, p->value, value_bytes(p));
    if (small) p->backend->clear(p->backend, p->shadow, p->total * sizeof *p->shadow);
    if (training) p->backend->clear(p->backend, p->grad, p->trainable * sizeof(hd_real));
    for (size_t i = 0; i < p->count; i++)
        if (!p->list[i]->alias) point(p, p->list[i], training);
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->alias) {
            p->list[i]->t = p->list[i]->alias->t;
            p->list[i]->grad = p->list[i]->alias->grad;
        }
    return HD_OK;
}

static hd_status renew(hd_params *p, size_t from, size_t count)
{
    size_t end = from + count, last = p->total - p->fixed;
    if (from < p->small) from = p->small;
    if (end > last) end = last;
    if (!p->shadow || from >= end) return HD_OK;
    hd_cast_args a = {p->shadow + from, hd_params_at(p, from), end - from};
    return p->backend->kernel.cast(p->backend, &a);
}

hd_status hd_params_renew(hd_params *p, hd_err *err)
{
    hd_status s = renew(p, 0, p->total);
    return s ? hd_err_set(err, s, "the weights: %s", p->backend->error) : HD_OK;
}

bool hd_params_has(const hd_params *p, const hd_param *one)
{
    return one->name && !one->alias &&
           (p->files == HD_FILES_ALL || one->adapter == (p->files == HD_FILES_ADAPTER));
}

/* Through a copy in bf16. */
static hd_status set_small(const hd_params *p, const hd_param *one, const hd_real *host)
{
    size_t count = hd_count_of(&one->t);
    uint16_t *x = hd_mem_array(count, sizeof *x);
    if (!x) return HD_ENOMEM;
    hd_convert(x, HD_BF16, host, HD_REAL, count);
    p->backend->upload(p->backend, one->t.data, x, count * sizeof *x);
    hd_mem_free(x);
    return HD_OK;
}

static hd_status get_small(const hd_params *p, const hd_tensor *from, hd_real *host)
{
    size_t count = hd_count_of(from);
    uint16_t *x = hd_mem_array(count, sizeof *x);
    if (!x) return HD_ENOMEM;
    p->backend->download(p->backend, x, from->data, count * sizeof *x);
    hd_convert(host, HD_REAL, x, HD_BF16, count);
    hd_mem_free(x);
    return HD_OK;
}

hd_status hd_params_set(hd_params *p, hd_param *one, const hd_real *host)
{
    size_t count = hd_count_of(&one->t);
    if (one->t.dtype == HD_BF16) return set_small(p, one, host);
    if (host != one->t.data) p->backend->upload(p->backend, one->t.data, host, count * sizeof *host);
    return renew(p, p->small + (size_t)((hd_real *)one->t.data - p->value), count);
}

hd_status hd_params_get(const hd_params *p, const hd_param *one, const hd_tensor *from, hd_real *host)
{
    if (!from->data) return HD_EARG;
    if (from->dtype == HD_BF16) return get_small(p, from, host);
    p->backend->download(p->backend, host, from->data, hd_count_of(&one->t) * sizeof *host);
    return HD_OK;
}

size_t hd_params_size(const hd_params *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name && !p->list[i]->alias) n += hd_count_of(&p->list[i]->t);
    return n;
}
