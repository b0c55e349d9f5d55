/* What all forms of 8-bit whole numbers share: packed weights and the loops around a tile. Weights have a
   scale for each output row, one line or two for all of them, and a factor for each column, by which rows of
   a are multiplied; these have a scale each and one line or two (int8_rows.h). Sums are exact in 32 bits, and
   y = sum * (scale * scale) + start is one fused multiply-add for each line of a with each of b, the smallest
   first, so that all forms give the same bits. A row with numbers that are not finite gets NaN for a scale;
   numbers below SMALLEST count as zeros. */
#ifndef HD_BACKEND_CPU_FORM_INT8_H
#define HD_BACKEND_CPU_FORM_INT8_H

#include "backend/cpu/form/int8_rows.h"

enum {
    INT8_FEW = 64,         /* rows that meet a strip one after the other */
    INT8_NEAR = 32 * 1024, /* bytes of a part's panels that stay in L1 beside a strip where there are more */
    INT8_WAIT = 1024 * 1024, /* bytes of parts that wait in L2 until all columns are done */
    INT8_MOST_PARTS = 16,
    INT8_BLOCK = 512 * 1024, /* bytes of b that stay in L2 with many rows */
    INT8_TALLEST = 32,       /* lines of a tile */
    INT8_WIDEST = 32,        /* columns of a tile */
    INT8_LINE = 64,          /* bytes that panels of AMX have of a line at once */
};

typedef struct int8_shape {
    size_t rows, strip;                /* of a tile: lines and columns */
    size_t unit;                       /* lines of a tile are filled up with zeros to a multiple */
    size_t step;                       /* k is filled up with zeros to a multiple */
    size_t deep_rows, deep;            /* of panels of a, and of strips of b */
    uint8_t turned;                    /* bits of a that are flipped: 0x80 adds 128 */
    void (*begin)(void), (*end)(void); /* around the tiles of a product, or NULL */
    void (*reads)(bool first);         /* NULL, or before tiles: they are the first to read their strips */
    /* sums [rows][strip], from start [strip] if bits are turned, of a panel and a strip `steps` deep */
    void (*tile)(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps);
} int8_shape;

/* -- a packed weight: scales (which cpu/rescore.c reads) and starts of its n outputs, factors of k, how many
   lines there are, then strips; second lines are a weight of their own behind it -- */

INLINE size_t int8_columns(const int8_shape *s, size_t n)
{
    return int8_up(n, s->strip);
}

INLINE size_t int8_head(const int8_shape *s, size_t n, size_t k)
{
    return int8_up(int8_columns(s, n) * (sizeof(float) + sizeof(int32_t)) + (k + 1) * sizeof(float), 64);
}

INLINE const float *int8_factors(const int8_shape *s, const void *weight, size_t n)
{
    return (const float *)weight + 2 * int8_columns(s, n);
}

INLINE float *int8_count(const int8_shape *s, const void *weight, size_t n, size_t k)
{
    return (float *)weight + 2 * int8_columns(s, n) + k;
}

INLINE size_t int8_size(const int8_shape *s, size_t n, size_t k)
{
    return k > HD_INT8_DEPTH ? 0 : int8_head(s, n, k) + int8_columns(s, n) * int8_up(k, s->step);
}

/* Eight numbers of both lines of row j of b from column l on, zeros behind its end. */
INLINE void int8_weights(int8_t chunk[2][INT8_CHUNK], const hd_packing *b, size_t j, size_t l, float inverse)
{
    const size_t left = l < b->k ? b->k - l : 0, count = left < INT8_CHUNK ? left : INT8_CHUNK;
    float some[INT8_CHUNK];
    memset(chunk, 0, 2 * INT8_CHUNK);
    if (b->int8.row) {
        memcpy(chunk[0], b->int8.row[j] + l, count);
        if (b->int8.fine) memcpy(chunk[1], b->int8.rest[j] + l, count);
    } else if (inverse > 0 && left) {
        const float *columns = b->int8.columns, *from = b->b + j * b->stride;
        for (size_t c = 0; c < INT8_CHUNK; c++)
            some[c] = c < count ? hd_int8_divided(from[l + c], columns ? columns + l + c : NULL) : 0;
        int8_first(chunk[0], some, inverse);
        if (b->int8.fine) int8_second(chunk[1], chunk[0], some, inverse);
    }
}

/* One of the lines. */
INLINE void int8_pack(const int8_shape *s, void *to, const hd_packing *b, size_t first, size_t end, int line)
{
    const size_t deep = int8_up(b->k, s->step), columns = int8_columns(s, b->n), strip = s->strip;
    for (size_t j = first * strip; j < end * strip && j < columns; j++) {
        const hd_int8_scale scale = j >= b->n ? (hd_int8_scale){0, 0}
                                    : b->int8.row
                                        ? (hd_int8_scale){b->int8.scale[j], 0}
                                        : hd_int8_scale_of(b->b + j * b->stride, b->int8.columns, b->k);
        int8_t *at = (int8_t *)to + int8_head(s, b->n, b->k) + j / strip * strip * deep,
               chunk[2][INT8_CHUNK] = {0};
        int32_t sum = 0;
        for (size_t l = 0; l < deep; l += INT8_CHUNK) {
            if (j < b->n) int8_weights(chunk, b, j, l, scale.inverse);
            int8_spread(at, strip, s->deep, j % strip, l, chunk[line]);
            for (int c = 0; c < INT8_CHUNK; c++) sum += chunk[line][c];
        }
        ((float *)to)[j] = line ? scale.scale * (1.0f / HD_INT8_PARTS) : scale.scale;
        ((int32_t *)to)[columns + j] = s->turned ? -128 * sum : 0;
    }
    for (size_t l = 0; !first && l < b->k; l++)
        ((float *)to)[2 * columns + l] = b->int8.columns ? b->int8.columns[l] : 1;
    if (!first) *int8_count(s, to, b->n, b->k) = b->int8.fine ? 2 : 1;
}

/* -- products -- */

typedef struct int8_row {
    float scale;
    bool two; /* lines */
} int8_row;

enum { INT8_GROUP = INT8_FEW + INT8_TALLEST }; /* rows at most */

typedef struct int8_part { /* rows [row, row+count) as panels of their lines, one for each tile */
    const hd_product *p;
    const int8_row *rows;
    const int8_t *panel;
    size_t row, count, lines, deep;
} int8_part;

/* Bytes of the panels of so many rows, each of which may have two lines. */
INLINE size_t int8_most(const int8_shape *s, size_t rows, size_t deep)
{
    return (2 * rows + s->rows) * deep;
}

typedef struct int8_room { /* of a worker: what is needed of all of its rows, a row, lines, panels */
    int8_row *rows;
    float *row;
    int8_t *line, *panels;
    size_t size; /* of the panels */
} int8_room;

INLINE size_t int8_held(const int8_shape *s, size_t deep)
{
    const size_t part = int8_most(s, INT8_GROUP, deep);
    return part > INT8_WAIT ? part : INT8_WAIT;
}

INLINE int8_room int8_room_at(const int8_shape *s, char *scratch, size_t deep)
{
    int8_row *rows = (int8_row *)scratch;
    float *row = (float *)(rows + INT8_MOST_PARTS * INT8_GROUP);
    int8_t *line = (int8_t *)(row + deep);
    return (int8_room){rows, row, line, line + (s->rows + 1) * deep, int8_held(s, deep)};
}

INLINE size_t int8_scratch(const int8_shape *s, size_t k)
{
    const size_t deep = int8_up(k, s->step);
    return INT8_MOST_PARTS * INT8_GROUP * sizeof(int8_row) + deep * sizeof(float) + (s->rows + 1) * deep +
           int8_held(s, deep);
}

INLINE int8_t *int8_panel(const int8_shape *s, int8_t *to, const int8_t *line, size_t lines, size_t deep)
{
    const size_t across = int8_up(lines, s->unit);
    const uint64_t turned = s->turned * 0x0101010101010101u;
    if (across > lines) memset(to, 0, across * deep);
    for (size_t i = 0; s->deep_rows == INT8_LINE && i < lines; i++)
        for (size_t l = 0; l < deep; l += INT8_LINE) {
            uint64_t all[INT8_LINE / sizeof turned];
            memcpy(all, line + i * deep + l, sizeof all);
            for (size_t c = 0; c < INT8_LINE / sizeof turned; c++) all[c] ^= turned;
            memcpy(to + l * across + i * INT8_LINE, all, sizeof all);
        }
    for (size_t i = 0; s->deep_rows < INT8_LINE && i < lines; i++)
        for (size_t l = 0; l < deep; l += INT8_CHUNK) {
            uint64_t eight;
            memcpy(&eight, line + i * deep + l, sizeof eight);
            eight ^= turned;
            int8_spread(to, across, s->deep_rows, i, l, (const int8_t *)&eight);
        }
    return to + across * deep;
}

/* Quantizes the rows of t to `panel` and returns what follows. Lines wait at `line` until there are enough
   for a tile: a second one may be the first of the next. */
INLINE int8_t *int8_panels(const int8_shape *s, int8_part *t, int8_row *rows, const int8_room *r,
                           int8_t *panel)
{
    const hd_product *p = t->p;
    const float *factor = int8_factors(s, p->weight, p->n);
    int8_t *line = r->line;
    size_t waiting = 0;
    t->panel = panel, t->rows = rows, t->lines = 0;
    for (size_t i = 0; i < t->count; i++) {
        const float *x = p->a + (t->row + i) * p->a_stride;
        const hd_int8_scale scale = int8_multiplied(r->row, x, factor, p->k);
        const size_t lines = int8_lines(line + waiting * t->deep, t->deep, r->row, p->k, scale);
        rows[i] = (int8_row){scale.scale, lines > 1}, t->lines += lines, waiting += lines;
        if (waiting < s->rows) continue;
        panel = int8_panel(s, panel, line, s->rows, t->deep), waiting -= s->rows;
        if (waiting) memcpy(line, line + s->rows * t->deep, t->deep);
    }
    return waiting ? int8_panel(s, panel, line, waiting, t->deep) : panel;
}

/* Quantizes rows from `row` on in parts, as many as there is room for; returns how many. */
INLINE size_t int8_parts(const int8_shape *s, int8_part *t, const hd_product *p, size_t row, size_t row_end,
                         size_t deep, const int8_room *r)
{
    const size_t near = INT8_NEAR / (deep + 1) / s->rows * s->rows, few = int8_up(INT8_FEW, s->rows),
                 most = row_end - row <= few || near > few ? few
                        : near                             ? near
                                                           : s->rows;
    int8_t *panel = r->panels;
    size_t n = 0;
    for (; n < INT8_MOST_PARTS && row < row_end; n++) {
        t[n] = (int8_part){
            .p = p, .row = row, .count = row_end - row < most ? row_end - row : most, .deep = deep};
        if (n && (size_t)(panel - r->panels) + int8_most(s, t[n].count, deep) > r->size) break;
        panel = int8_panels(s, t + n, r->rows + n * INT8_GROUP, r, panel);
        row += t[n].count;
    }
    return n;
}

/* Numbers at one place do not lie on those at another, but c may be start. */
#ifdef __clang__
#define INT8_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define INT8_APART _Pragma("GCC ivdep")
#endif

/* One row from the sums of its lines. */
INLINE void int8_store(float *c, const float *start, const int32_t *sums, size_t strip, size_t width,
                       int8_row row, const float *scale)
{
    const int32_t *second = sums + strip;
    if (row.two) {
        INT8_APART
        for (size_t l = 0; l < width; l++) {
            const float by = row.scale * scale[l];
            c[l] = __builtin_fmaf((float)sums[l], by,
                                  __builtin_fmaf((float)second[l], by * (1.0f / HD_INT8_PARTS), start[l]));
        }
    } else {
        INT8_APART
        for (size_t l = 0; l < width; l++)
            c[l] = __builtin_fmaf((float)sums[l], row.scale * scale[l], start[l]);
    }
}

/* Rows with a line each by a strip of two vectors, from `start` or, where that is NULL, from what c has. */
INLINE void int8_store_pairs(const int8_part *t, size_t j, const float *start, const int32_t *sums,
                             const float *scale)
{
    const hd_product *p = t->p;
    const vec by[2] = {hd_load(scale), hd_load(scale + VL)};
    float *c = p->c + t->row * p->c_stride + j;
    vec from[2] = {hd_load(start ? start : c), hd_load((start ? start : c) + VL)};
    for (size_t i = 0; i < t->count; i++, c += p->c_stride) UNROLL
    for (int h = 0; h < 2; h++, sums += VL) {
        ivec sum;
        memcpy(&sum, sums, sizeof sum);
        if (!start) from[h] = hd_load(c + h * VL);
        hd_store(c + h * VL,
                 hd_fma(__builtin_convertvector(sum, vec), hd_spread(t->rows[i].scale) * by[h], from[h]));
    }
}

/* Of one line of b; c begins with it, or it is added. */
INLINE void int8_strip(const int8_shape *s, const int8_part *t, size_t j, const void *weight, bool begins)
{
    static const float zeros[INT8_WIDEST];
    const hd_product *p = t->p;
    const float *scale = weight;
    const int32_t *start = (const int32_t *)weight + int8_columns(s, p->n);
    const int8_t *strip = (const int8_t *)weight + int8_head(s, p->n, p->k) + j * t->deep, *panel = t->panel;
    const size_t width = p->n - j < s->strip ? p->n - j : s->strip;
    int32_t sums[(2 * INT8_GROUP + INT8_TALLEST) * INT8_WIDEST] __attribute__((aligned(64)));
    for (size_t at = 0; at < t->lines; at += s->rows) {
        size_t lines = t->lines - at < s->rows ? t->lines - at : s->rows;
        s->tile(sums + at * s->strip, lines, start + j, panel, strip, t->deep / s->step);
        panel += int8_up(lines, s->unit) * t->deep;
    }
    if (s->strip == 2 * VL && width == s->strip && t->lines == t->count) {
        const float *from = p->add || !begins ? NULL : p->bias ? p->bias + j : zeros;
        int8_store_pairs(t, j, from, sums, scale + j);
        return;
    }
    const int32_t *of_row = sums;
    for (size_t i = 0; i < t->count; i++) {
        float *c = p->c + (t->row + i) * p->c_stride + j;
        const float *from = p->add || !begins ? c : p->bias ? p->bias + j : zeros;
        if (s->strip > 8 && width == s->strip) /* a number that the compiler knows */
            int8_store(c, from, of_row, s->strip, s->strip, t->rows[i], scale + j);
        else
            int8_store(c, from, of_row, s->strip, width, t->rows[i], scale + j);
        of_row += (t->rows[i].two ? 2 : 1) * s->strip;
    }
}

INLINE void int8_multiply(const int8_shape *s, const hd_product *p, size_t row, size_t row_end, size_t strip,
                          size_t strip_end, char *scratch)
{
    const size_t from = strip * s->strip, till = strip_end * s->strip < p->n ? strip_end * s->strip : p->n,
                 deep = int8_up(p->k, s->step), most = INT8_BLOCK / (deep + 1) / s->strip * s->strip;
    const int8_room room = int8_room_at(s, scratch, deep);
    const char *rest =
        *int8_count(s, p->weight, p->n, p->k) > 1 ? (const char *)p->weight + int8_size(s, p->n, p->k) : NULL;
    int8_part part[INT8_MOST_PARTS];
    for (size_t i = row, parts; i < row_end; i = part[parts - 1].row + part[parts - 1].count) {
        parts = int8_parts(s, part, p, i, row_end, deep, &room);
        const size_t block = parts == 1 ? till - from + 1 : most ? most : s->strip;
        if (s->begin) s->begin();
        for (size_t nb = from; nb < till; nb += block) {
            const size_t nb_end = till - nb < block ? till : nb + block;
            for (const int8_part *t = part; t < part + parts; t++) {
                if (s->reads) s->reads(t == part);
                for (size_t j = nb; j < nb_end; j += s->strip) {
                    if (rest) int8_strip(s, t, j, rest, true);
                    int8_strip(s, t, j, p->weight, !rest);
                }
                p->finish(p, t->row, t->count, nb, nb_end);
            }
        }
        if (s->end) s->end();
    }
}

/* The form NAME of `shape`, a constant, named TEXT where the processor passes `needs`. */
#define INT8_FORM(NAME, TEXT)                                                                             \
    static size_t size(size_t n, size_t k)                                                                \
    {                                                                                                     \
        return int8_size(&shape, n, k);                                                                   \
    }                                                                                                     \
    static void pack(void *to, const hd_packing *b, size_t strip, size_t strip_end)                       \
    {                                                                                                     \
        int8_pack(&shape, to, b, strip, strip_end, 0);                                                    \
        if (b->int8.fine) int8_pack(&shape, (char *)to + size(b->n, b->k), b, strip, strip_end, 1);       \
    }                                                                                                     \
    static size_t scratch_size(size_t k)                                                                  \
    {                                                                                                     \
        return int8_scratch(&shape, k);                                                                   \
    }                                                                                                     \
    static void multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end, \
                         char *scratch)                                                                   \
    {                                                                                                     \
        int8_multiply(&shape, p, row, row_end, strip, strip_end, scratch);                                \
    }                                                                                                     \
    const hd_form hd_form_##NAME = {.name = TEXT,                                                         \
                                    .stores = HD_I8,                                                      \
                                    .strip = STRIP,                                                       \
                                    .rows = ROWS,                                                         \
                                    .size = size,                                                         \
                                    .pack = pack,                                                         \
                                    .scratch = scratch_size,                                              \
                                    .multiply = multiply,                                                 \
                                    .needs = needs}

#endif
