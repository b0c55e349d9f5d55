/* Lines of handwriting on their way to the model. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "op/replay.h"
#include "task/write/training.h"

/* Streams of the seed: one an epoch. */
#define STREAM 0x7772697465000000u

enum { WINDOW = 16 }; /* batches whose lines are sorted by length together */

/* -- characters -- */

hd_status hd_write_lines_make(hd_write_lines *out, const hd_strokes *s, const hd_tokenizer *t, hd_err *err)
{
    hd_ids ids = {0};
    hd_status st = HD_OK;
    *out = (hd_write_lines){.strokes = s, .first_id = hd_mem_array(s->count + 1, sizeof *out->first_id)};
    if (!out->first_id) return hd_err_nomem(err, (s->count + 1) * sizeof *out->first_id);
    for (size_t i = 0; !st && i < s->count; i++) {
        const char *text = hd_strokes_text(s, i);
        out->first_id[i] = ids.count;
        st = hd_tokenizer_encode_ids(t, text, strlen(text), &ids, err);
    }
    out->first_id[s->count] = ids.count;
    out->id = ids.at;
    return st;
}

void hd_write_lines_release(hd_write_lines *l)
{
    hd_mem_free(l->id);
    hd_mem_free(l->first_id);
    *l = (hd_write_lines){0};
}

size_t hd_write_points(const hd_strokes *s, const uint32_t *which, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += hd_strokes_points(s, which[i]) - 1;
    return n;
}

/* -- a batch -- */

/* Steps of captured graphs are many: of their lengths there should be few kinds. */
hd_bounds hd_write_bounds(const hd_run *r, const int32_t *len, size_t count, size_t step)
{
    hd_bounds b = {.items = count};
    for (size_t i = 0; i < count; i++) {
        b.rows += (size_t)len[i];
        if ((size_t)len[i] > b.longest) b.longest = (size_t)len[i];
    }
    if (!hd_fills_now(r)) return b;
    b.longest = (b.longest + step - 1) / step * step;
    b.rows = b.longest * count;
    return b;
}

static void fill_line(hd_real *in, hd_real *next, const hd_pen_point *p, size_t points,
                      const hd_pen_scale *scale)
{
    in[0] = in[1] = 0, in[2] = p[0].lift;
    for (size_t k = 1; k < points; k++) {
        hd_pen_scaled(next + 3 * (k - 1), scale, p + k - 1);
        if (k + 1 < points) memcpy(in + 3 * k, next + 3 * (k - 1), 3 * sizeof *in);
    }
}

static bool send_points(hd_run *r, hd_handwriting_batch *to, const hd_strokes *s, const uint32_t *which,
                        size_t count, const hd_seg *seg, const hd_pen_scale *scale)
{
    size_t rows = seg->rows, at = 0;
    hd_real *in = hd_host_take(r, (6 * rows + 1) * sizeof *in), *next = in + 3 * rows;
    if (!in) return false;
    for (size_t i = 0; i < count; i++) {
        size_t points = hd_strokes_points(s, which[i]);
        fill_line(in + 3 * at, next + 3 * at, hd_strokes_line(s, which[i]), points, scale);
        at += points - 1;
    }
    for (; at < rows; at++) next[3 * at + 2] = -1; /* of no line */
    to->point = (hd_rows){hd_from(r, rows, 3, in), seg};
    to->next = hd_from(r, rows, 3, next);
    return to->point.t && to->next;
}

uint64_t hd_write_send_text(hd_run *r, hd_handwriting_batch *to, const hd_write_lines *l,
                            const uint32_t *which, size_t count)
{
    int32_t *letters = hd_host_take(r, (count + 1) * sizeof *letters);
    size_t ids = 0;
    for (size_t i = 0; letters && i < count; i++) {
        letters[i] = (int32_t)(l->first_id[which[i] + 1] - l->first_id[which[i]]);
        ids += (size_t)letters[i];
    }
    int32_t *id = hd_host_take(r, (ids + 1) * sizeof *id);
    if (!letters || !id) return 0;
    for (size_t i = 0, at = 0; i < count; at += (size_t)letters[i++])
        if (letters[i]) memcpy(id + at, l->id + l->first_id[which[i]], (size_t)letters[i] * sizeof *id);
    hd_bounds text = hd_write_bounds(r, letters, count, 16);
    to->text = hd_seg_within(r, letters, count, NULL, text);
    to->ids = hd_ids_within(r, id, ids, text.rows);
    return hd_shape_of(text, ids);
}

uint64_t hd_write_send(hd_run *r, hd_handwriting_batch *to, const hd_write_lines *l, const uint32_t *which,
                       size_t count, const hd_pen_scale *scale, bool window)
{
    int32_t *len = hd_host_take(r, (count + 1) * sizeof *len),
            *key = hd_host_take(r, (count + 1) * sizeof *key);
    uint64_t text = 1;
    *to = (hd_handwriting_batch){0};
    for (size_t i = 0; len && key && i < count; i++)
        len[i] = (int32_t)hd_strokes_points(l->strokes, which[i]) - 1, key[i] = (int32_t)which[i];
    if (!len || !key) return 0;
    hd_bounds points = hd_write_bounds(r, len, count, 64);
    hd_seg *seg = hd_seg_within(r, len, count, key, points);
    if (!seg) return 0;
    if (window) seg->steps = hd_unroll(r, seg);
    if (window) text = hd_write_send_text(r, to, l, which, count);
    send_points(r, to, l->strokes, which, count, seg, scale);
    return hd_shape_mix(hd_shape_of(points, seg->full ? points.rows : 0), text);
}

/* -- the order of lines -- */

hd_status hd_write_order_make(hd_write_order *o, size_t count, size_t each, hd_err *err)
{
    *o = (hd_write_order){.count = count, .each = each, .batches = (count + each - 1) / each};
    o->line = hd_mem_array(count, sizeof *o->line);
    o->batch = hd_mem_array(o->batches, sizeof *o->batch);
    o->length = hd_mem_array(count, sizeof *o->length);
    return o->line && o->batch && o->length ? HD_OK : hd_err_nomem(err, count * sizeof *o->line);
}

void hd_write_order_release(hd_write_order *o)
{
    hd_mem_free(o->line);
    hd_mem_free(o->batch);
    hd_mem_free(o->length);
    *o = (hd_write_order){0};
}

static void shuffle(uint32_t *x, size_t count, hd_rng *rng)
{
    for (size_t i = 0; i < count; i++) x[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        uint32_t j = hd_rng_below(rng, (uint32_t)i), keep = x[i - 1];
        x[i - 1] = x[j], x[j] = keep;
    }
}

/* Equal lengths by their number, so that the order is one whatever sorts. */
static int by_length(const void *a, const void *b)
{
    const hd_write_length *x = a, *y = b;
    if (x->points != y->points) return x->points < y->points ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

void hd_write_order_form(hd_write_order *o, const hd_strokes *s, uint64_t seed, uint64_t epoch)
{
    if (o->formed && o->epoch == epoch) return;
    hd_rng rng = hd_rng_make(seed, STREAM + epoch);
    shuffle(o->line, o->count, &rng);
    for (size_t from = 0; from < o->count; from += o->each * WINDOW) {
        size_t n = o->count - from < o->each * WINDOW ? o->count - from : o->each * WINDOW;
        for (size_t i = 0; i < n; i++)
            o->length[i] = (hd_write_length){o->line[from + i], hd_strokes_points(s, o->line[from + i])};
        qsort(o->length, n, sizeof *o->length, by_length);
        for (size_t i = 0; i < n; i++) o->line[from + i] = o->length[i].line;
    }
    shuffle(o->batch, o->batches, &rng);
    o->epoch = epoch, o->formed = true;
}

const uint32_t *hd_write_order_batch(const hd_write_order *o, size_t turn, size_t *count)
{
    size_t from = o->batch[turn] * o->each;
    *count = o->count - from < o->each ? o->count - from : o->each;
    return o->line + from;
}
