/* Sources that were encoded before, and a stepper on them. */
#include "model/encdec/memory.h"

#include "base/mem.h"
#include "model/stepper_parts.h"

void hd_memory_release(hd_memory *m)
{
    if (m->rows.data) m->backend->release(m->backend, m->rows.data, m->bytes);
    *m = (hd_memory){0};
}

static hd_status make_room(hd_memory *m, hd_run *r, size_t bytes, hd_err *err)
{
    if (m->rows.data && m->backend == r->backend && m->bytes >= bytes) return HD_OK;
    hd_memory_release(m);
    m->backend = r->backend;
    m->rows.data = r->backend->alloc(r->backend, bytes);
    m->bytes = bytes;
    return m->rows.data ? HD_OK : hd_backend_nomem(r->backend, bytes, err);
}

hd_status hd_memory_fill(hd_memory *out, hd_run *r, const hd_encdec *m, const hd_items *in, hd_err *err)
{
    if (hd_encdec_recurs(m))
        return hd_err_set(err, HD_EARG, "a recurrent decoder reads more than the encoder's rows");
    const hd_rows rows = hd_encdec_encode(r, m, in).rows;
    hd_status s = hd_run_status(r, err);
    if (s || !rows.t || !rows.seg) return s ? s : hd_err_set(err, HD_EARG, "nothing was encoded");
    if (rows.seg->items != 1)
        return hd_err_set(err, HD_EARG, "%zu items, a memory is of one", rows.seg->items);
    size_t bytes = hd_bytes_of(rows.t);
    s = make_room(out, r, bytes ? bytes : 1, err);
    if (s) return s;
    void *data = out->rows.data;
    out->rows = hd_shaped(data, rows.t->dtype, 2, (const size_t[]){hd_rows_of(rows.t), hd_cols_of(rows.t)});
    r->backend->copy(r->backend, data, rows.t->data, bytes);
    return HD_OK;
}

hd_encoded hd_memory_rows(hd_run *r, const hd_memory *const *m, size_t items)
{
    size_t count = 0;
    int32_t *len = hd_host_take(r, (items + 1) * sizeof *len);
    for (size_t i = 0; len && i < items; i++)
        len[i] = (int32_t)hd_rows_of(&m[i]->rows), count += hd_rows_of(&m[i]->rows);
    hd_tensor *all = items == 1 ? hd_host_take(r, sizeof *all)
                                : hd_new_of(r, m[0]->rows.dtype, count, hd_cols_of(&m[0]->rows));
    if (!len || !all) return (hd_encoded){0};
    if (items == 1) *all = m[0]->rows;
    char *to = all->data;
    for (size_t i = 0; items > 1 && i < items; i++) {
        size_t bytes = hd_bytes_of(&m[i]->rows);
        r->backend->copy(r->backend, to, m[i]->rows.data, bytes);
        to += bytes;
    }
    return (hd_encoded){.rows = {all, hd_seg_of(r, len, items, NULL)}};
}

/* -- a stepper -- */

/* What follows a row of each prompt, to the host. */
static void tell(hd_run *r, const hd_stepping *s, const hd_arrivals *a, hd_rows x, size_t first)
{
    const hd_encdec *m = s->model;
    const hd_recall *what = s->recall;
    int32_t *row = hd_host_take(r, (a->items + 1) * sizeof *row), begin = 0;
    if (!row) return;
    for (size_t i = 0; i < a->items; begin += a->len[i++]) row[i] = begin + what->row[first + i];
    hd_tensor *asked = hd_gather(r, x.t, hd_ints(r, row, a->items), a->items, 1);
    hd_tensor *logits = hd_encdec_logits(r, m, (hd_rows){asked, hd_single_rows(r, a->items)});
    hd_read(r, hd_log_softmax(r, logits), what->logp + first * m->opt.target_vocab);
}

static hd_tensor *read(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_encdec *m = s->model;
    size_t first = s->joined - a->items;
    const hd_seg *seg = hd_seg_of(r, a->len, a->items, NULL);
    hd_rows x = hd_encdec_decode(r, m, hd_ints(r, a->ids, a->rows), seg,
                                 hd_memory_rows(r, s->recall->memory + first, a->items), s->cache);
    if (s->recall->row) tell(r, s, a, x, first);
    x = (hd_rows){hd_reduce(r, x.t, seg, HD_LAST), hd_single_rows(r, a->items)};
    return hd_stepping_end(r, s, hd_encdec_logits(r, m, x));
}

static hd_tensor *forward(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg)
{
    const hd_encdec *m = s->model;
    hd_rows x = hd_encdec_decode(r, m, ids, seg, (hd_encoded){0}, s->cache);
    return hd_stepping_end(r, s, hd_encdec_logits(r, m, x));
}

hd_status hd_encdec_recall_stepper(hd_stepper *out, const hd_encdec *m, const hd_recall *what, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    size_t n = what->items, most = o->positions + 1;
    if (what->longest && what->longest < most) most = what->longest;
    hd_stepping *s = NULL;
    for (size_t i = 0; what->row && i < n; i++)
        if (what->row[i] < 0 || what->row[i] >= what->len[i])
            return hd_err_set(err, HD_EARG, "prompt %zu has no row %d", i, what->row[i]);
    hd_status st = hd_stepping_new(
        &s, m, &(hd_stepping_ask){"prompt", what->prompt, what->len, n, o->target_vocab, o->positions}, err);
    if (!st) st = hd_encdec_cache(&s->cache, m, 0, err);
    hd_recall *kept = st ? NULL : hd_mem_zero(sizeof *kept);
    if (!st && !kept) st = hd_err_nomem(err, sizeof *kept);
    if (st) return hd_stepping_free(s), st;
    *kept = *what;
    s->recall = kept;
    s->serial = m->params.serial, s->positions = o->positions;
    s->read = read, s->forward = forward;
    for (size_t i = 0; i < n; i++)
        s->room[i] = (size_t)what->len[i] < most ? (int32_t)most - what->len[i] : 1;
    *out = hd_stepping_stepper(s, o->target_vocab);
    return HD_OK;
}
