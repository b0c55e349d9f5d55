/* Product forms: what b of a product is packed as and multiplied by. A vector set, for which kernels are
   compiled, and a form are two choices: a set has an f32 form and one that widens bf16, all others are files
   of this folder, compiled once for the instructions they need. */
#ifndef HD_BACKEND_CPU_FORM_FORM_H
#define HD_BACKEND_CPU_FORM_FORM_H

#include "backend/cpu/product/product.h"

/* b before it is packed. */
typedef struct hd_packing {
    const hd_real *b;
    size_t stride, n, k;
    bool transposed; /* stored [N,K], as weights [out,in] are; else [K,N], for forms that train */
    hd_int8_weight
        int8; /* for forms of int8: what is known of b; its rows, if there are any, instead of it */
} hd_packing;

/* Each element is one sum over k in an order that depends on nothing but the form, so a row's result does not
   depend on the rows beside it. */
typedef struct hd_form {
    const char *name;                   /* of the instructions */
    hd_dtype stores;                    /* the kind of number it is stored in */
    size_t strip;                       /* columns that stay together */
    size_t rows;                        /* of a tile: workers that share rows take whole ones */
    size_t (*size)(size_t n, size_t k); /* bytes of packed b, of each line of it; 0: it cannot hold it */
    /* Strips [strip, strip_end) of b; `to` is where all of it begins. Each writes what belongs to it, so that
       workers share the strips. */
    void (*pack)(void *to, const hd_packing *b, size_t strip, size_t strip_end);
    size_t (*scratch)(size_t k); /* bytes for one thread's product */
    /* Rows [row, row_end) and strips [strip, strip_end) of the product with p->weight. Where p->a_transposed
       is set, which only forms that train are given, a is [K,M]. */
    void (*multiply)(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     char *scratch);
    /* Where workers share the columns, all rows are packed by all of them beforehand: bytes of that, and
       tiles [tile, tile_end) of it, for p->panels. NULL: each packs them for itself. */
    size_t (*panels)(size_t m, size_t k);
    void (*pack_panels)(void *to, const hd_product *p, size_t tile, size_t tile_end);
    bool trains;         /* x w^T, dz w and dz^T x: packs b from [K,N], too, takes a [K,M] and p->b_depth */
    bool (*needs)(void); /* whether this processor has what it needs; NULL: the compiler had not */
    bool (*slow)(void);  /* whether it is slower here than those behind it: for who names it; NULL: never */
} hd_form;

/* Packed b from row k on, a multiple of the strip, for products with a part of it (p->b_depth is that of the
   whole): of forms that train, whose strips have the numbers of a row, or of some rows, side by side. */
static inline const void *hd_form_below(const hd_form *f, const void *packed, size_t k)
{
    return (const char *)packed + k * f->strip * hd_dtype_bytes(f->stores);
}

/* The fastest of a kind first, unless it is slow. */
#if defined(HD_REAL_DOUBLE)
#define HD_FORM_LIST(X)
#elif defined(__aarch64__)
#define HD_FORM_LIST(X) X(bfmmla) X(smmla) X(sdot) X(plain)
#elif defined(__x86_64__)
#define HD_FORM_LIST(X) \
    X(amx_bf16) X(avx512_bf16) X(amx_int8) X(avx512_vnni) X(avx_vnni) X(avx2_int8) X(plain)
#else
#define HD_FORM_LIST(X) X(plain)
#endif

#define X(name) extern const hd_form hd_form_##name;
HD_FORM_LIST(X)
#undef X

/* What a backend computes with: the fastest sets and forms of this processor, or those that HEED_CPU in the
   environment names, separated by commas; a kind of which it names none has its fastest. HEED_ISA is its
   former name. */
typedef struct hd_cpu_choice {
    const hd_cpu_isa *set;
    const hd_form *bf16, *int8; /* int8 is NULL where the engine is in double */
} hd_cpu_choice;

hd_status hd_cpu_choose(hd_cpu_choice *out, hd_err *err);

hd_status hd_cpu_narrow(hd_backend *b, const hd_narrow_args *a); /* backend.narrow */

#endif
