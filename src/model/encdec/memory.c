/* Sources that were encoded before, and a stepper on them. */
#include "model/encdec/memory.h"

#include <string.h>

#include "base/mem.h"
#include "model/stepper_parts.h"

void hd_memory_release(hd_memory *m)
{
    if (m->rows.data) m->backend->release(m->backend, m->rows.data, m->bytes);
    hd_mem_free(m->len);
    *m = (hd_memory){0};
}

static hd_status make_room(hd_memory *m, hd_run *r, size_t bytes, size_t items, hd_err *err)
{
    if (m->rows.data && m->backend == r->backend && m->bytes >= bytes && m->items >= items) return HD_OK;
    hd_memory_release(m);
    m->backend = r->backend;
    m->len = hd_mem_array(items + 1, sizeof *m->len);
    if (!m->len) return hd_err_nomem(err, items * sizeof *m->len);
    m->rows.data = r->backend->alloc(r->backend, bytes);
    m->bytes = bytes;
    return m->rows.data ? HD_OK : hd_backend_nomem(r->backend, bytes, err);
}

hd_status hd_memory_fill(hd_memory *out, hd_run *r, const hd_encdec *m, const hd_items *in, hd_err *err)
{
    if (hd_encdec_recurs(m))
        return hd_err_set(err, HD_EARG, "a recurrent decoder reads more than the encoder's rows");
    const hd_rows rows = hd_encdec_encode(r, m, in).rows;
    const int32_t *len = rows.t && rows.seg ? hd_seg_lens(r, rows.seg) : NULL;
    hd_status s = hd_run_status(r, err);
    if (s || !len) return s ? s : hd_err_set(err, HD_EARG, "nothing was encoded");
    size_t bytes = hd_bytes_of(rows.t);
    s = make_room(out, r, bytes ? bytes : 1, rows.seg->items, err);
    if (s) return s;
    void *data = out->rows.data;
    out->rows = hd_shaped(data, rows.t->dtype, 2, (const size_t[]){hd_rows_of(rows.t), hd_cols_of(rows.t)});
    out->items = rows.seg->items;
    memcpy(out->len, len, out->items * sizeof *len);
    r->backend->copy(r->backend, data, rows.t->data, bytes);
    return HD_OK;
}

hd_encoded hd_memory_rows(hd_run *r, const hd_memory *m, size_t first, size_t items)
{
    size_t begin = 0, count = 0;
    for (size_t i = 0; i < first; i++) begin += (size_t)m->len[i];
    for (size_t i = 0; i < items; i++) count += (size_t)m->len[first + i];
    hd_tensor *part = hd_host_take(r, sizeof *part);
    if (!part) return (hd_encoded){0};
    *part = hd_view_rows(&m->rows, begin, count);
    return (hd_encoded){.rows = {part, hd_seg_of(r, m->len + first, items, NULL)}};
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
                                 hd_memory_rows(r, s->recall->memory, first, a->items), s->cache);
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
    size_t n = what->memory->items;
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
    for (size_t i = 0; i < n; i++) s->room[i] = (int32_t)(o->positions + 1) - what->len[i];
    *out = hd_stepping_stepper(s, o->target_vocab);
    return HD_OK;
}
