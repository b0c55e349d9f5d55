/* The matrix product on one thread: what gemm splits over threads and attention uses per head. Each element
   of the result is one chain of multiply-adds over k in rising order (in blocks of K_BLOCK), whatever the
   number of rows: a row's result does not depend on the rows beside it. */
#ifndef HD_BACKEND_CPU_PRODUCT_PRODUCT_H
#define HD_BACKEND_CPU_PRODUCT_PRODUCT_H

#include "backend/cpu/cpu.h"

/* a: [M,K] with k contiguous (a_transposed false) or [K,M] with m contiguous. b is packed: strips of STRIP
 * columns, each [K,STRIP]. */
typedef struct hd_product {
    hd_real *c;
    size_t c_stride;
    const hd_real *a;
    size_t a_stride;
    bool a_transposed;
    const hd_real *b;
    size_t b_depth;          /* k that it was packed with; more than k when only a part is used */
    const uint16_t *rounded; /* not NULL: instead of b, packed alike in bf16 */
    const void *weight;      /* not NULL: instead of b, what a form has packed (form/form.h) */
    const hd_real *panels;   /* not NULL: instead of a, all of it as KERNEL(pack_panels) packs it */
    size_t b_stride; /* not 0: b is not packed but stored [N,K] with rows this far apart, for few rows of a */
    bool b_across;   /* then it is stored [K,N] */
    size_t m, n, k;
    bool add;
    const hd_real *bias; /* [n], or NULL */
    hd_real *before;     /* before the activation, strided like c */
    size_t before_stride;
    hd_unary act;
    /* for forms, which are of no vector set: KERNEL(finish) */
    void (*finish)(const struct hd_product *p, size_t row, size_t rows, size_t j0, size_t j1);
} hd_product;

size_t KERNEL(strip)(void);                     /* columns of a strip */
size_t KERNEL(tile_rows)(void);                 /* rows that go through together */
size_t KERNEL(packed_size)(size_t n, size_t k); /* numbers in packed b */
size_t KERNEL(panel_size)(void);                /* numbers of scratch for one thread's product */

/* Whether m rows of a should meet a b as it lies, rather than be packed for them. */
bool KERNEL(as_it_lies)(size_t m, size_t k);

/* Whether rows of a are read as they lie where so many columns are multiplied at once, rather than packed. */
bool KERNEL(rows_lie)(const hd_product *p, size_t columns);

/* Whether neither such rows nor a b [K,N] with rows b_stride apart need be packed for all columns. */
bool KERNEL(both_lie)(const hd_product *p, size_t b_stride);

/* Packs columns [from, to) (from a multiple of the strip) of b [K,N], or of its transpose when b is stored
 * [N,K]. */
void KERNEL(pack)(hd_real *to, const hd_real *b, size_t stride, bool transposed, size_t n, size_t k,
                  size_t from, size_t till);

/* Packs rows [row, row + rows) of a, k from kb on, a panel for each tile. */
void KERNEL(pack_rows)(hd_real *to, const hd_product *p, size_t row, size_t rows, size_t kb, size_t kn);

/* All of a, for workers that share the columns of b: tiles [tile, tile_end) of p->m rows, into
   KERNEL(panels_size) numbers. */
size_t KERNEL(panels_size)(size_t m, size_t k);
void KERNEL(pack_panels)(hd_real *to, const hd_product *p, size_t tile, size_t tile_end);

/* Rows [row, row_end) and strips of columns [strip, strip_end) of the product. panel: scratch of
 * KERNEL(panel_size). */
void KERNEL(product)(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     hd_real *panel);

/* What comes behind the sums of rows [row, row+rows), columns [j0, j1): `before` and the activation. */
void KERNEL(finish)(const hd_product *p, size_t row, size_t rows, size_t j0, size_t j1);

/* In place over [rows, cols], one row after the other. */
void KERNEL(apply)(hd_unary f, hd_real *y, const hd_real *x, size_t n);

#endif
