/* Tensors: descriptions of numbers stored elsewhere (host or device memory). Up to four dimensions,
   row-major; a row view keeps its parent's distance between rows, so a slice by columns costs nothing. */
#ifndef HD_TENSOR_TENSOR_H
#define HD_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name in safetensors, bytes */
#define HD_DTYPE_LIST(X) \
    X(F64, "F64", 8)     \
    X(F32, "F32", 4)     \
    X(F16, "F16", 2)     \
    X(BF16, "BF16", 2)   \
    X(I64, "I64", 8)     \
    X(I32, "I32", 4)     \
    X(U8, "U8", 1)       \
    X(I8, "I8", 1)       \
    X(BOOL, "BOOL", 1)

typedef enum hd_dtype {
#define X(name, text, bytes) HD_##name,
    HD_DTYPE_LIST(X)
#undef X
        HD_DTYPES
} hd_dtype;

/* The engine computes in hd_real. It is float; the test build that checks gradients compiles it as double. */
#ifdef HD_REAL_DOUBLE
typedef double hd_real;
#define HD_REAL HD_F64
#else
typedef float hd_real;
#define HD_REAL HD_F32
#endif

enum { HD_RANK = 4 };

typedef struct hd_tensor hd_tensor;
struct hd_tensor {
    void *data;
    hd_dtype dtype;
    int rank;              /* 0 .. HD_RANK; rank 1 counts as one row */
    size_t shape[HD_RANK]; /* the last one is the columns, the product of the others the rows */
    size_t stride;         /* elements from one row to the next; >= columns */

    /* used by op/ alone */
    hd_tensor *grad; /* same shape; NULL until backward reaches it */
    hd_tensor *base; /* the tensor this is a view of, or NULL */
    size_t offset;   /* of a view in its base, in elements */
    bool wants_grad; /* it takes part in backward */
    bool is_param;   /* owned by a model: gradient in the flat buffer, never released */
    void *prepared;  /* backend's own form of a weight (backend.prepare, or its shadow), or NULL */
};

const char *hd_dtype_name(hd_dtype t);
size_t hd_dtype_bytes(hd_dtype t);
bool hd_dtype_find(hd_dtype *out, const char *name);
bool hd_dtype_is_float(hd_dtype t);

size_t hd_rows_of(const hd_tensor *t); /* product of all dimensions but the last; 1 for rank 0 and 1 */
/* last dimension; 1 for rank 0 */
static inline size_t hd_cols_of(const hd_tensor *t)
{
    return t->rank > 0 ? t->shape[t->rank - 1] : 1;
}
size_t hd_count_of(const hd_tensor *t);
bool hd_same_shape(const hd_tensor *a, const hd_tensor *b);
bool hd_is_dense(const hd_tensor *t);   /* rows follow each other without gaps */
size_t hd_bytes_of(const hd_tensor *t); /* of its numbers, gaps not counted */

/* Describes data as [rows, cols] (hd_matrix) or any shape (hd_shaped). */
hd_tensor hd_matrix(void *data, size_t rows, size_t cols);
hd_tensor hd_shaped(void *data, hd_dtype dtype, int rank, const size_t *shape);

/* Views that share data: columns [from, from+count) or rows [from, from+count) of a [rows, cols] tensor. */
hd_tensor hd_view_cols(const hd_tensor *t, size_t from, size_t count);
hd_tensor hd_view_rows(const hd_tensor *t, size_t from, size_t count);

/* Converts count numbers between storage dtypes; src may be unaligned. To a smaller float: round to nearest
   even; float to integer: toward zero, saturating; NaN becomes 0. */
void hd_convert(void *dst, hd_dtype to, const void *src, hd_dtype from, size_t count);

bool hd_all_finite(const hd_real *x, size_t count); /* neither NaN nor infinite */

/* "[3,4]" into buf, for messages; returns buf. */
const char *hd_shape_text(const hd_tensor *t, char *buf, size_t size);

#endif
