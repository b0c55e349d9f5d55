/* Relative attention: products of queries with the vectors of distances (Music Transformer). A tile of
   queries is multiplied with the vectors once, and query and key find theirs at a column that moves by one
   from query to query; neither [L,L,D] nor a skewed [L,L] exists. Easy to get wrong: all keys beyond the
   table share its first vector, so their gradients add up there. */
#include "backend/cpu/attend/head.h"

/* One query in its row of the band: key j is at column j + shift, keys before `edge` at column 0. */
typedef struct skew {
    ptrdiff_t at, edge, shift; /* at: the query's key position */
} skew;

static skew skew_of(const hd_head *h, size_t a)
{
    ptrdiff_t at = (ptrdiff_t)a + h->shift, last = (ptrdiff_t)hd_head_span(h) - 1;
    return (skew){at, at - last, last - at};
}

static size_t within(ptrdiff_t x, size_t lo, size_t hi)
{
    return x <= (ptrdiff_t)lo ? lo : x < (ptrdiff_t)hi ? (size_t)x : hi;
}

void KERNEL(head_distances)(const hd_head *h, hd_real *s, size_t stride, size_t a, size_t n, hd_reach r,
                            const hd_real *packed, hd_real *band, hd_real *panel)
{
    size_t span = hd_head_span(h), wide = hd_band_stride(h->at), strip = KERNEL(strip)(),
           first = hd_band_first(h, a, n, r);
    if (first >= span) return;
    hd_product p = {.c = band,
                    .c_stride = wide,
                    .a = hd_head_q(h, h->q, a),
                    .a_stride = h->q->stride,
                    .b = packed,
                    .b_depth = h->d,
                    .m = n,
                    .n = span,
                    .k = h->d};
    if (!packed) {
        p.c += first, p.n -= first, p.b_stride = h->at->distance->stride;
        p.b = hd_head_distances(h, h->at->distance) + first * p.b_stride;
    }
    KERNEL(product)(&p, 0, n, packed ? first / strip : 0, (p.n + strip - 1) / strip, panel);
    for (size_t i = 0; i < n; i++, s += stride, band += wide) {
        skew k = skew_of(h, a + i);
        size_t end = within(k.at + 1, r.lo, r.hi), near = within(k.edge, r.lo, end), j = r.lo;
        for (; j < near; j++) s[j] += band[0];
        hd_real *to = s + j;
        const hd_real *from = band + (ptrdiff_t)j + k.shift;
        HD_COLUMNS(end - j, { S(to, L(to) + L(from)); });
    }
}

void KERNEL(band_back)(const hd_head *h, hd_real *band, const hd_real *ds, size_t stride, size_t a, size_t n,
                       hd_reach r)
{
    size_t span = hd_head_span(h), wide = hd_band_stride(h->at), first = hd_band_first(h, a, n, r);
    for (size_t i = 0; i < n; i++, ds += stride, band += wide) {
        skew k = skew_of(h, a + i);
        size_t end = within(k.at + 1, r.lo, r.hi), near = within(k.edge, r.lo, end), j = r.lo;
        for (size_t c = first; c < span; c++) band[c] = 0;
        for (; j < near; j++) band[0] += ds[j];
        for (; j < end; j++) band[(ptrdiff_t)j + k.shift] += ds[j];
    }
}
