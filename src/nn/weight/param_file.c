/* The values of parameters: drawn, and in safetensors files. In memory a weight is always [out, in]; one
   stored as [in, out] is transposed on the way. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "nn/weight/form.h"

/* -- drawing -- */

static uint64_t name_hash(const char *name)
{
    uint64_t h = 1469598103934665603u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 1099511628211u;
    return h;
}

static void draw(hd_real *x, const hd_param *one, hd_rng *rng)
{
    size_t n = hd_count_of(&one->t), rows = hd_rows_of(&one->t), cols = hd_cols_of(&one->t);
    double scale = one->init.scale > 0 ? (double)one->init.scale : 1,
           fan = (double)(one->init.fan ? one->init.fan : cols), reach = 0;
    if (one->init.kind == HD_INIT_XAVIER) reach = scale * sqrt(6.0 / (double)(rows + cols));
    if (one->init.kind == HD_INIT_TORCH) reach = scale / sqrt(fan);
    for (size_t i = 0; i < n; i++) {
        double v = one->init.kind == HD_INIT_ONE ? 1 : 0;
        if (one->init.kind == HD_INIT_NORMAL) v = scale * hd_rng_normal(rng);
        if (reach > 0) v = reach * (2 * hd_rng_unit(rng) - 1);
        x[i] = (hd_real)v;
    }
}

hd_status hd_params_draw(hd_params *p, uint64_t seed, hd_err *err)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!hd_params_has(p, one) || one->init.kind == HD_INIT_TABLE) continue;
        size_t bytes = hd_count_of(&one->t) * sizeof(hd_real);
        hd_real *x = hd_mem_new(bytes);
        if (!x) return hd_err_nomem(err, bytes);
        hd_rng rng = hd_rng_make(seed, name_hash(one->name));
        draw(x, one, &rng);
        hd_status s = hd_params_set(p, one, x);
        hd_mem_free(x);
        if (s) return hd_err_set(err, s, "the weights: %s", p->backend->error);
    }
    return hd_params_renew(p, err);
}

/* -- copies of numbers, converted and transposed -- */

enum {
    SQUARE = 64,     /* numbers on a side of the squares that are transposed */
    SLICE = 1 << 22, /* numbers of a file that are in memory at once */
    CHECKED = 4096,  /* numbers that are converted, then checked while they are in the cache */
};

typedef struct moving {
    hd_real *to;
    const uint8_t *from; /* perhaps unaligned */
    hd_dtype type;       /* of from */
    size_t rows, cols;   /* of from, if it is transposed */
    atomic_bool *broken; /* set if a number is not finite */
} moving;

static const uint8_t *number_at(const moving *m, size_t i)
{
    return m->from + i * hd_dtype_bytes(m->type);
}

static void move_part(void *arg, size_t begin, size_t end, int worker)
{
    const moving *m = arg;
    (void)worker;
    for (size_t at = begin, count; at < end; at += count) {
        count = end - at < CHECKED ? end - at : CHECKED;
        hd_convert(m->to + at, HD_REAL, number_at(m, at), m->type, count);
        if (!hd_all_finite(m->to + at, count)) atomic_store(m->broken, true);
    }
}

static void turn_square(const moving *m, size_t row, size_t col)
{
    hd_real square[SQUARE * SQUARE];
    size_t rows = m->rows - row < SQUARE ? m->rows - row : SQUARE,
           cols = m->cols - col < SQUARE ? m->cols - col : SQUARE;
    for (size_t i = 0; i < rows; i++) {
        hd_convert(square + i * SQUARE, HD_REAL, number_at(m, (row + i) * m->cols + col), m->type, cols);
        if (!hd_all_finite(square + i * SQUARE, cols)) atomic_store(m->broken, true);
    }
    for (size_t j = 0; j < cols; j++) {
        hd_real *to = m->to + (col + j) * m->rows + row;
        for (size_t i = 0; i < rows; i++) to[i] = square[i * SQUARE + j];
    }
}

/* to[cols][rows] = the transpose of from[rows][cols]: the columns of squares from begin to end. */
static void turn_part(void *arg, size_t begin, size_t end, int worker)
{
    const moving *m = arg;
    (void)worker;
    for (size_t c = begin; c < end; c++)
        for (size_t row = 0; row < m->rows; row += SQUARE) turn_square(m, row, c * SQUARE);
}

/* team NULL: alone. */
static void share(hd_team *team, size_t count, size_t grain, hd_team_fn *fn, moving *m)
{
    if (team)
        hd_team_run(team, count, grain, fn, m);
    else
        fn(m, 0, count, 0);
}

static void turn(hd_team *team, moving m)
{
    share(team, (m.cols + SQUARE - 1) / SQUARE, 1, turn_part, &m);
}

/* The shape in the file: swapped for transposed ones. */
static hd_tensor file_shape(const hd_param *one, hd_real *data)
{
    if (one->rank) return hd_shaped(data, HD_REAL, one->rank, one->shape);
    size_t shape[2] = {one->t.shape[0], one->t.rank == 2 ? one->t.shape[1] : 0};
    if (one->transposed) shape[0] = one->t.shape[1], shape[1] = one->t.shape[0];
    return hd_shaped(data, HD_REAL, one->t.rank, shape);
}

static const hd_entry *find(const hd_params *p, const hd_safetensors *s, const char *name)
{
    const hd_entry *e = hd_safetensors_find(s, name);
    if (e || !p->prefix) return e;
    char longer[512];
    snprintf(longer, sizeof longer, "%s%s", p->prefix, name);
    return hd_safetensors_find(s, longer);
}

static const hd_entry *find_any_name(const hd_params *p, const hd_safetensors *s, const hd_param *one)
{
    const hd_entry *e = find(p, s, one->name);
    for (size_t i = 0; !e && i < p->count; i++)
        if (p->list[i]->alias == one) e = find(p, s, p->list[i]->name);
    return e;
}

/* The first file that has it; if none has, the first file, for the message. */
static const hd_safetensors *find_file(const hd_params *p, const hd_safetensors *const *file, size_t files,
                                       const hd_param *one, const hd_entry **e)
{
    for (size_t i = 0; i < files; i++)
        if ((*e = find_any_name(p, file[i], one))) return file[i];
    return *e = NULL, file[0];
}

/* Pages of the file are dropped once read: model and file are never both in memory. False: a number is not
   finite. */
static bool read_numbers(hd_real *to, hd_team *team, const hd_param *one, const hd_safetensors *s,
                         const hd_entry *e)
{
    size_t width = hd_dtype_bytes(e->dtype);
    atomic_bool broken = false;
    moving m = {to, e->data, e->dtype, one->t.shape[1], one->t.shape[0], &broken};
    if (one->transposed) {
        turn(team, m);
        hd_safetensors_forget(s, e->data, e->bytes);
        return !broken;
    }
    for (size_t at = 0; at < e->count; at += SLICE) {
        size_t count = e->count - at < SLICE ? e->count - at : SLICE;
        m.to = to + at, m.from = e->data + at * width;
        share(team, count, SLICE / 64, move_part, &m);
        hd_safetensors_forget(s, m.from, count * width);
    }
    return !broken;
}

hd_status hd_param_values(const hd_params *p, const hd_param *one, hd_real *to, const hd_safetensors *s,
                          const hd_entry *e, hd_err *err)
{
    if (read_numbers(to, p->backend->team, one, s, e)) return HD_OK;
    return hd_err_set(err, HD_ENUMBER,
                      "%s: tensor '%.120s' holds NaN or infinite numbers: the training that wrote it "
                      "diverged, or the file is damaged",
                      hd_safetensors_file(s), e->name);
}

/* Directly into the parameter if its memory is on the host. */
static hd_status load_data(hd_params *p, hd_param *one, const hd_safetensors *s, const hd_entry *e,
                           hd_err *err)
{
    size_t bytes = hd_count_of(&one->t) * sizeof(hd_real);
    hd_team *team = p->backend->team;
    hd_real *to = team ? one->t.data : hd_mem_new(bytes);
    if (!to) return hd_err_nomem(err, bytes);
    hd_status st = hd_param_values(p, one, to, s, e, err);
    if (!st) st = hd_params_set(p, one, to);
    if (!team) hd_mem_free(to);
    return st;
}

hd_status hd_param_read(hd_params *p, hd_param *one, const hd_safetensors *s, const hd_entry *e, hd_err *err)
{
    hd_param *owner = hd_param_owner(one);
    const bool packed = p->stays == HD_DECODING || p->backend->weights != HD_REAL;
    if (p->stays && packed && owner->product && e->data && p->backend->team) {
        one->lies = e, owner->late = true;
        return HD_OK;
    }
    if (e->data) return load_data(p, one, s, e, err);
    float *made = hd_mem_array(e->count, sizeof *made);
    if (!made) return hd_err_nomem(err, e->bytes);
    hd_entry whole = *e;
    whole.data = (const uint8_t *)made;
    hd_status st = hd_safetensors_make(s, e, made, err);
    if (!st) st = load_data(p, one, s, &whole, err);
    hd_mem_free(made);
    return st;
}

static hd_status clear_one(hd_params *p, hd_param *one)
{
    p->backend->clear(p->backend, one->t.data, hd_bytes_of(&one->t));
    return one->t.dtype == HD_BF16 ? HD_OK : hd_params_set(p, one, one->t.data);
}

hd_status hd_params_load_all(hd_params *p, const hd_safetensors *const *file, size_t files, hd_err *err)
{
    hd_status st = HD_OK;
    for (size_t i = 0; !st && i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!hd_params_has(p, one) || one->fresh) continue;
        hd_tensor shape = file_shape(one, NULL);
        const hd_entry *e;
        const hd_safetensors *s = find_file(p, file, files, one, &e);
        if (!e && one->optional) {
            st = clear_one(p, one);
            continue;
        }
        if (e && e->known && e->dtype == HD_I8) {
            st = hd_param_read_int8(p, one, s, e, err);
            continue;
        }
        st = hd_safetensors_match(&e, s, e ? e->name : one->name, &shape, err);
        if (!st) st = hd_param_read(p, one, s, e, err);
    }
    return st;
}

hd_status hd_params_load(hd_params *p, const hd_safetensors *s, hd_err *err)
{
    return hd_params_load_all(p, &s, 1, err);
}

typedef struct saving {
    const hd_params *params;
    const hd_param **one; /* by entry */
} saving;

hd_tensor hd_param_in_file(const hd_param *one)
{
    return file_shape(one, NULL);
}

hd_status hd_param_fetch(const hd_params *p, const hd_param *one, hd_real *to, hd_err *err)
{
    hd_team *team = p->backend->team;
    if (!one->transposed) return hd_params_get(p, one, &one->t, to);
    size_t bytes = hd_count_of(&one->t) * sizeof(hd_real);
    hd_real *values = team ? one->t.data : hd_mem_new(bytes);
    if (!values) return hd_err_nomem(err, bytes);
    hd_status st = team ? HD_OK : hd_params_get(p, one, &one->t, values);
    atomic_bool broken = false; /* whether to save such weights is the caller's decision */
    moving m = {to, (const uint8_t *)values, HD_REAL, one->t.shape[0], one->t.shape[1], &broken};
    if (!st) turn(team, m);
    if (!team) hd_mem_free(values);
    return st;
}

/* For parameters on a device or transposed ones. */
static hd_status fetch(void *context, size_t i, void *to, hd_err *err)
{
    const saving *f = context;
    return hd_param_fetch(f->params, f->one[i], to, err);
}

hd_status hd_params_save(const hd_params *p, const char *path, const hd_meta *meta, size_t metas, hd_err *err)
{
    size_t n = 0;
    hd_named *entry = hd_mem_array(p->count + 1, sizeof *entry);
    hd_tensor *shape = hd_mem_array(p->count + 1, sizeof *shape);
    saving from = {p, hd_mem_array(p->count + 1, sizeof *from.one)};
    hd_status st = entry && shape && from.one ? HD_OK : hd_err_nomem(err, p->count * sizeof *shape);
    for (size_t i = 0; !st && i < p->count; i++) {
        const hd_param *one = p->list[i];
        if (!hd_params_has(p, one)) continue;
        shape[n] = file_shape(one, p->backend->team && !one->transposed ? one->t.data : NULL);
        entry[n] = (hd_named){one->name, &shape[n]};
        from.one[n++] = one;
    }
    if (!st) st = hd_safetensors_save_fetched(path, entry, n, meta, metas, fetch, &from, err);
    hd_mem_free(from.one);
    hd_mem_free(shape);
    hd_mem_free(entry);
    return st;
}
