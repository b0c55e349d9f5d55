/* The iteration is Newton and Schulz's with five steps and coefficients that bring small singular values up
   fast: they end between 0.7 and 1.2, not at 1, which serves as well. */
#include "train/muon.h"

#include <math.h>

#include "base/mem.h"

enum { STEPS = 5 };
static const float A = 3.4445f, B = -4.7750f, C = 2.0315f;

/* Matrices of one parameter, one below the other: returns how many; `to` gets them unless it is NULL. */
static size_t matrices_of(const hd_param *one, const hd_group *range, hd_muon_matrix *to)
{
    size_t rows = hd_rows_of(&one->t), cols = hd_cols_of(&one->t), n = 0;
    for (size_t row = 0, i = 0; row < rows; n++) {
        size_t each = one->matrix[i];
        if (each > rows - row) each = rows - row;
        if (to) to[n] = (hd_muon_matrix){one->at + row * cols, each, cols, range->factor, range->decay};
        row += each;
        i = i + 1 < HD_PARAM_MATRICES && one->matrix[i + 1] ? i + 1 : 0;
    }
    return n;
}

/* All of them in the order of the flat buffers. */
static size_t gather(const hd_params *p, hd_muon_matrix *to)
{
    size_t n = 0;
    for (size_t g = 0; g < p->ranges; g++)
        for (size_t i = 0; i < p->count; i++) {
            const hd_param *one = p->list[i];
            bool own = one->trainable && !one->whole && !one->alias && one->matrix[0];
            if (!own || one->at < p->range[g].begin || one->at >= p->range[g].end) continue;
            n += matrices_of(one, &p->range[g], to ? to + n : NULL);
        }
    return n;
}

static size_t smaller(const hd_muon_matrix *one)
{
    return one->rows < one->cols ? one->rows : one->cols;
}

static size_t bytes_of(const hd_muon *m, size_t count)
{
    return count * hd_dtype_bytes(m->params->backend->compute);
}

static hd_status take_room(hd_muon *m, hd_err *err)
{
    hd_backend *b = m->params->backend;
    for (size_t i = 0; i < m->matrices; i++) {
        const hd_muon_matrix *one = &m->matrix[i];
        size_t count = one->rows * one->cols, square = smaller(one) * smaller(one);
        if (count > m->most) m->most = count;
        if (square > m->square) m->square = square;
    }
    m->direction = b->alloc(b, m->most * sizeof *m->direction);
    m->x = b->alloc(b, bytes_of(m, m->most)), m->mixed = b->alloc(b, bytes_of(m, m->most));
    m->by_itself = b->alloc(b, bytes_of(m, m->square)), m->twice = b->alloc(b, bytes_of(m, m->square));
    m->sum = b->alloc(b, sizeof *m->sum);
    if (!m->direction || !m->x || !m->mixed || !m->by_itself || !m->twice || !m->sum)
        return hd_backend_nomem(b, bytes_of(m, 2 * (m->most + m->square)), err);
    b->clear(b, m->sum, sizeof *m->sum);
    return HD_OK;
}

hd_status hd_muon_init(hd_muon *m, hd_params *params, const hd_muon_opt *opt, hd_err *err)
{
    *m = (hd_muon){.opt = *opt, .params = params, .matrices = gather(params, NULL)};
    if (!m->matrices)
        return hd_err_set(err, HD_EARG,
                          "muon: the model has no blocks of the Transformer, whose matrices it is for");
    m->matrix = hd_mem_array(m->matrices, sizeof *m->matrix);
    if (!m->matrix) return hd_err_nomem(err, m->matrices * sizeof *m->matrix);
    gather(params, m->matrix);
    return take_room(m, err);
}

void hd_muon_release(hd_muon *m)
{
    hd_backend *b = m->params ? m->params->backend : NULL;
    if (m->direction) b->release(b, m->direction, m->most * sizeof *m->direction);
    if (m->x) b->release(b, m->x, bytes_of(m, m->most));
    if (m->mixed) b->release(b, m->mixed, bytes_of(m, m->most));
    if (m->by_itself) b->release(b, m->by_itself, bytes_of(m, m->square));
    if (m->twice) b->release(b, m->twice, bytes_of(m, m->square));
    if (m->sum) b->release(b, m->sum, sizeof *m->sum);
    hd_mem_free(m->matrix);
    *m = (hd_muon){0};
}

size_t hd_muon_before(const hd_muon *m, size_t at)
{
    size_t n = 0;
    for (size_t i = 0; i < m->matrices && m->matrix[i].at < at; i++)
        n += m->matrix[i].rows * m->matrix[i].cols;
    return n;
}

static hd_tensor computed(const hd_muon *m, void *data, size_t rows, size_t cols)
{
    hd_tensor t = hd_matrix(data, rows, cols);
    t.dtype = m->params->backend->compute;
    return t;
}

/* x = A x + (B y + C y y) x with y = x x^T, of a matrix that is wider than high; of others the same of the
   transpose, with y = x^T x from the other side. */
static void iterate(hd_run *r, hd_tensor *x, hd_tensor *mixed, hd_tensor *y, hd_tensor *yy)
{
    bool high = hd_rows_of(x) > hd_cols_of(x);
    HD_CALL(r, gemm, .y = y, .a = x, .b = x, .a_transposed = high, .b_transposed = !high);
    HD_CALL(r, gemm, .y = yy, .a = y, .b = y);
    HD_CALL(r, mix, .y = yy, .x = y, .z = yy, .a = B, .b = C);
    HD_CALL(r, gemm, .y = mixed, .a = high ? x : yy, .b = high ? yy : x);
    HD_CALL(r, mix, .y = x, .x = x, .z = mixed, .a = A, .b = 1);
}

void hd_muon_step(hd_run *r, const hd_muon *m, const hd_muon_matrix *one, hd_real *first)
{
    hd_params *p = m->params;
    size_t count = one->rows * one->cols, square = smaller(one);
    hd_tensor x = computed(m, m->x, one->rows, one->cols),
              mixed = computed(m, m->mixed, one->rows, one->cols),
              y = computed(m, m->by_itself, square, square), yy = computed(m, m->twice, square, square);
    HD_CALL(r, moment, .y = m->direction, .grad = p->grad + one->at, .first = first + one->at, .count = count,
            .step = r->block, .momentum = m->opt.momentum);
    HD_CALL(r, square_sum, .sum = m->sum, .x = m->direction, .count = count);
    HD_CALL(r, unit, .y = &x, .x = m->direction, .sum = m->sum);
    for (int i = 0; i < STEPS; i++) iterate(r, &x, &mixed, &y, &yy);
    HD_CALL(r, descend, .value = one->at < p->small ? NULL : hd_params_at(p, one->at), .place = one->at,
            .shadow = p->shadow ? p->shadow + one->at : NULL, .x = &x, .step = r->block,
            .factor = one->factor * m->opt.ratio, .decay = one->decay ? m->opt.decay : 0,
            .scale = one->rows > one->cols ? sqrtf((float)one->rows / (float)one->cols) : 1);
}
