/* Shortlists while decoding. Easy to get wrong: sums over a row depend on where its columns stand, so the
   columns of a row are those of its own sentence, in the order of tokens, whatever the others have. */
#include "model/encdec/narrowing.h"

#include <string.h>

#include "base/mem.h"

enum {
    GRAIN = 256, /* columns of scores are a multiple: no sum ends within a vector */
    WHOLE_FROM = 3,
    WHOLE_OF = 4, /* from this share of all rows on copies of them are not worth it */
};

struct hd_narrowing {
    const hd_encdec *model;
    const hd_shortlist *list;
    size_t items, joined;
    int32_t *forced;        /* tokens of prefixes */
    size_t *forced_end;     /* [items] */
    hd_columns *of;         /* [items]: of those that are there; id is the block of both lists */
    size_t *seat;           /* item of each seat */
    const hd_columns **row; /* the same as columns */
    size_t seats, room;
    size_t united;       /* seats when they were last put together */
    size_t first;        /* seat of the first row of the scores that were made last */
    bool reading;        /* the next are of those that joined last */
    int32_t *place;      /* [targets]: of a token in the union, -1: it is not there */
    hd_backend *backend; /* that part is prepared by */
    hd_tensor part, part_bias;
    hd_real *values; /* of part, then of its bias */
    size_t values_room;
    bool whole; /* the layer itself serves */
};

void hd_shortlist_free(hd_shortlist *s)
{
    if (!s) return;
    hd_mem_free(s->begin);
    hd_mem_free(s->target);
    hd_mem_free(s->always);
    hd_mem_free(s);
}

hd_status hd_narrowing_new(hd_narrowing **out, const hd_encdec *m, const hd_shortlist *list, size_t items,
                           const int32_t *prefix, const int32_t *prefix_len, hd_err *err)
{
    size_t rows = 0;
    if (list->sources != m->opt.source_vocab || list->targets != m->opt.target_vocab)
        return hd_err_set(err, HD_EARG, "the shortlist is for vocabularies of %zu and %zu, not %zu and %zu",
                          list->sources, list->targets, m->opt.source_vocab, m->opt.target_vocab);
    for (size_t i = 0; prefix_len && i < items; i++) rows += (size_t)prefix_len[i];
    hd_narrowing *n = hd_mem_zero(sizeof *n);
    if (!n) return hd_err_nomem(err, sizeof *n);
    *n = (hd_narrowing){.model = m,
                        .list = list,
                        .items = items,
                        .forced = hd_mem_array(rows + 1, sizeof *n->forced),
                        .forced_end = hd_mem_array(items + 1, sizeof *n->forced_end),
                        .of = hd_mem_array(items + 1, sizeof *n->of),
                        .place = hd_mem_array(list->targets, sizeof *n->place)};
    if (!n->forced || !n->forced_end || !n->of || !n->place)
        return hd_narrowing_free(n), hd_err_nomem(err, items * sizeof *n->of);
    if (rows) memcpy(n->forced, prefix, rows * sizeof *n->forced);
    for (size_t i = 0; i < items; i++)
        n->forced_end[i] = (i ? n->forced_end[i - 1] : 0) + (prefix_len ? (size_t)prefix_len[i] : 0);
    *out = n;
    return HD_OK;
}

void hd_narrowing_free(hd_narrowing *n)
{
    if (!n) return;
    if (n->backend) n->backend->unprepare(n->backend, &n->part);
    for (size_t i = 0; n->of && i < n->items; i++) hd_mem_free((void *)n->of[i].id);
    hd_mem_free(n->forced);
    hd_mem_free(n->forced_end);
    hd_mem_free(n->of);
    hd_mem_free(n->seat);
    hd_mem_free(n->row);
    hd_mem_free(n->place);
    hd_mem_free(n->values);
    hd_mem_free(n);
}

/* -- the tokens of an item -- */

static void mark(int32_t *place, const int32_t *id, size_t count)
{
    for (size_t i = 0; i < count; i++) place[id[i]] = 0;
}

/* A token is marked where its place is not below 0. Those of an item, in their order. */
static bool list_item(hd_run *r, hd_narrowing *n, size_t item, const int32_t *source, size_t length)
{
    const hd_shortlist *l = n->list;
    const size_t from = item ? n->forced_end[item - 1] : 0;
    size_t count = 0;
    memset(n->place, -1, l->targets * sizeof *n->place);
    mark(n->place, l->always, l->always_count);
    mark(n->place, n->forced + from, n->forced_end[item] - from);
    for (size_t i = 0; i < length; i++) {
        const size_t s = (size_t)source[i];
        mark(n->place, l->target + l->begin[s], l->begin[s + 1] - l->begin[s]);
        if (l->copies) n->place[s] = 0;
    }
    for (size_t t = 0; t < l->targets; t++) count += n->place[t] >= 0;
    int32_t *id = hd_mem_array(2 * count + 1, sizeof *id), *to = id;
    if (!id) return hd_fail(r, HD_ENOMEM, "shortlist: %zu tokens", count), false;
    for (size_t t = 0; t < l->targets; t++)
        if (n->place[t] >= 0) *to++ = (int32_t)t;
    n->of[item] = (hd_columns){id, to, count};
    return true;
}

/* -- the tokens of all that are there -- */

static bool make_room(hd_run *r, hd_narrowing *n, size_t numbers)
{
    if (numbers <= n->values_room) return true;
    hd_mem_free(n->values);
    n->values = hd_mem_array(numbers, sizeof *n->values);
    n->values_room = n->values ? numbers : 0;
    return n->values || (hd_fail(r, HD_ENOMEM, "shortlist: %zu numbers", numbers), false);
}

/* Rows of the output layer in the order of tokens, in the form that the layer has. */
static void gather(hd_run *r, hd_narrowing *n, size_t count)
{
    const hd_tensor *w = &n->model->output->t,
                    *bias = n->model->output_bias ? &n->model->output_bias->t : NULL;
    const size_t cols = hd_cols_of(w);
    if (n->backend) n->backend->unprepare(n->backend, &n->part);
    if (!make_room(r, n, count * (cols + 1))) return;
    hd_real *row = n->values, *b = row + count * cols;
    for (size_t t = 0; t < n->list->targets; t++) {
        if (n->place[t] < 0) continue;
        memcpy(row, (const hd_real *)w->data + t * w->stride, cols * sizeof *row);
        row += cols;
        if (bias) *b++ = ((const hd_real *)bias->data)[t];
    }
    n->part = hd_shaped(n->values, HD_REAL, 2, (const size_t[]){count, cols});
    n->part_bias = hd_shaped(n->values + count * cols, HD_REAL, 2, (const size_t[]){1, count});
    n->backend = r->backend;
    if (w->prepared && n->backend->prepare(n->backend, &n->part, HD_DECODING))
        hd_fail(r, HD_ENOMEM, "shortlist: a form of %zu x %zu weights", count, cols);
}

static void unite(hd_run *r, hd_narrowing *n)
{
    const hd_tensor *w = &n->model->output->t;
    const size_t all = n->list->targets;
    int32_t count = 0;
    n->united = n->seats;
    memset(n->place, -1, all * sizeof *n->place);
    for (size_t i = 0; i < n->seats; i++)
        if (!i || n->seat[i] != n->seat[i - 1]) mark(n->place, n->row[i]->id, n->row[i]->count);
    for (size_t t = 0; t < all; t++)
        if (n->place[t] >= 0) n->place[t] = count++;
    n->whole = w->dtype != HD_REAL || !w->data || WHOLE_OF * (size_t)count > WHOLE_FROM * all;
    for (size_t t = 0; n->whole && t < all; t++) n->place[t] = (int32_t)t;
    if (!n->whole) gather(r, n, (size_t)count);
    for (size_t i = 0; i < n->seats; i++) {
        int32_t *from = (int32_t *)n->row[i]->from;
        for (size_t c = 0; c < n->row[i]->count; c++) from[c] = n->place[n->row[i]->id[c]];
    }
}

/* -- seats -- */

static bool seat_all(hd_run *r, hd_narrowing *n, size_t seats)
{
    size_t room = n->room;
    if (hd_mem_reserve(&n->seat, &room, seats, sizeof *n->seat, &r->err)) return false;
    if (hd_mem_reserve(&n->row, &n->room, seats, sizeof *n->row, &r->err)) return false;
    n->seats = seats;
    return true;
}

static void forget_gone(hd_run *r, hd_narrowing *n)
{
    bool *here = hd_host_take(r, n->joined + 1);
    if (!here) return;
    for (size_t i = 0; i < n->seats; i++) here[n->seat[i]] = true;
    for (size_t i = 0; i < n->joined; i++) {
        if (here[i]) continue;
        hd_mem_free((void *)n->of[i].id);
        n->of[i] = (hd_columns){0};
    }
}

void hd_narrowing_join(hd_run *r, hd_narrowing *n, const hd_arrivals *a)
{
    const int32_t *source = a->ids;
    const size_t live = n->seats;
    if (r->err.status) return;
    if (!r->backend->narrow) {
        hd_fail(r, HD_EMISSING, "a shortlist needs the CPU: use --device cpu, or leave it out");
        return;
    }
    forget_gone(r, n);
    if (!seat_all(r, n, live + a->items)) return;
    for (size_t i = 0; i < a->items; i++) {
        const size_t item = n->joined + i;
        if (!list_item(r, n, item, source, (size_t)a->len[i])) return;
        source += a->len[i];
        n->seat[live + i] = item, n->row[live + i] = &n->of[item];
    }
    n->joined += a->items;
    n->first = live, n->reading = true;
    unite(r, n);
}

void hd_narrowing_pick(hd_run *r, hd_narrowing *n, const int32_t *parent, size_t count)
{
    size_t *seat = hd_host_take(r, count * sizeof *seat + 1);
    if (!seat) return;
    for (size_t i = 0; i < count; i++) seat[i] = n->seat[parent[i]];
    if (!seat_all(r, n, count)) return;
    for (size_t i = 0; i < count; i++) n->seat[i] = seat[i], n->row[i] = &n->of[seat[i]];
    if (2 * count <= n->united) unite(r, n); /* most have left, and none have come in their place */
}

hd_tensor *hd_narrowing_logits(hd_run *r, hd_narrowing *n, hd_tensor *x)
{
    const hd_encdec *m = n->model;
    hd_tensor *whole = &m->output->t, *bias = m->output_bias ? &m->output_bias->t : NULL;
    size_t most = 0;
    if (!x || r->err.status) return NULL;
    if (!n->reading) n->first = 0;
    n->reading = false;
    if (hd_rows_of(x) != n->seats - n->first)
        return hd_fail(r, HD_ESHAPE, "shortlist: %zu rows of %zu seats", hd_rows_of(x), n->seats - n->first);
    for (size_t i = n->first; i < n->seats; i++) most = n->row[i]->count > most ? n->row[i]->count : most;
    return hd_linear_narrow(r, x,
                            &(hd_narrowed){.part = n->whole ? whole : &n->part,
                                           .part_bias = !bias      ? NULL
                                                        : n->whole ? bias
                                                                   : &n->part_bias,
                                           .whole = whole,
                                           .bias = bias,
                                           .columns = n->row + n->first,
                                           .wide = (most / GRAIN + 1) * GRAIN});
}

const hd_columns *const *hd_narrowing_columns(const hd_narrowing *n)
{
    return n->row + n->first;
}
