/* Tensor descriptions, views and conversion between storage dtypes. Easy to get wrong: rounding twice. Every
   number goes through one exact middle form (double for floats, int64 for integers) and is rounded once, when
   it is stored. */
#include "tensor/tensor.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers are stored as in safetensors files: little-endian"
#endif

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define X(name, text, bytes) [HD_##name] = {text, bytes},
    HD_DTYPE_LIST(X)
#undef X
};

const char *hd_dtype_name(hd_dtype t)
{
    return (size_t)t < HD_DTYPES ? dtypes[t].name : "unknown";
}

size_t hd_dtype_bytes(hd_dtype t)
{
    return (size_t)t < HD_DTYPES ? dtypes[t].bytes : 0;
}

bool hd_dtype_find(hd_dtype *out, const char *name)
{
    for (int i = 0; i < HD_DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (hd_dtype)i;
            return true;
        }
    }
    return false;
}

size_t hd_rows_of(const hd_tensor *t)
{
    size_t rows = 1;
    for (int i = 0; i + 1 < t->rank; i++) rows *= t->shape[i];
    return rows;
}

size_t hd_count_of(const hd_tensor *t)
{
    return hd_rows_of(t) * hd_cols_of(t);
}

bool hd_same_shape(const hd_tensor *a, const hd_tensor *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

bool hd_is_dense(const hd_tensor *t)
{
    return t->stride == hd_cols_of(t) || hd_rows_of(t) <= 1 || hd_cols_of(t) == 0;
}

size_t hd_bytes_of(const hd_tensor *t)
{
    return hd_count_of(t) * hd_dtype_bytes(t->dtype);
}

hd_tensor hd_matrix(void *data, size_t rows, size_t cols)
{
    return hd_shaped(data, HD_REAL, 2, (size_t[]){rows, cols});
}

hd_tensor hd_shaped(void *data, hd_dtype dtype, int rank, const size_t *shape)
{
    hd_tensor t = {.data = data, .dtype = dtype, .rank = rank < HD_RANK ? rank : HD_RANK};
    for (int i = 0; i < t.rank; i++) t.shape[i] = shape[i];
    t.stride = hd_cols_of(&t);
    return t;
}

static void *data_at(const hd_tensor *t, size_t element)
{
    return t->data ? (char *)t->data + element * hd_dtype_bytes(t->dtype) : NULL; /* NULL in dry runs */
}

hd_tensor hd_view_cols(const hd_tensor *t, size_t from, size_t count)
{
    hd_tensor v = hd_shaped(data_at(t, from), t->dtype, t->rank, t->shape);
    if (v.rank < 1) v.rank = 1;
    v.shape[v.rank - 1] = count;
    v.stride = t->stride;
    return v;
}

hd_tensor hd_view_rows(const hd_tensor *t, size_t from, size_t count)
{
    hd_tensor v = hd_shaped(data_at(t, from * t->stride), t->dtype, 2, (size_t[]){count, hd_cols_of(t)});
    v.stride = t->stride;
    return v;
}

/* --- small floats: 1 sign bit, then exponent and fraction as F16 (5, 10) or BF16 (8, 7) --- */

static double unpack_f16(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const uint64_t wide = exponent == 31 ? 2047 : (uint64_t)exponent - 15 + 1023;
    uint64_t bits = wide << 52 | (uint64_t)fraction << 42;
    double x = fraction * 0x1p-24; /* zero and subnormals */
    if (exponent) memcpy(&x, &bits, sizeof x);
    return h & 0x8000 ? -x : x;
}

static double unpack_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds to nearest even straight from the double: through float some ties would be rounded twice. */
static uint16_t pack_small(double x, int exponent_bits)
{
    const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const uint64_t infinity = (uint64_t)((1 << exponent_bits) - 1) << fraction_bits;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t sign = bits >> 63 << 15, fraction = bits & (UINT64_MAX >> 12);
    const int exponent = (int)(bits >> 52 & 2047) - 1023 + bias;
    if (x != x)
        return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1) | fraction >> (52 - fraction_bits));
    if (exponent > 2 * bias) return (uint16_t)(sign | infinity);
    int drop = 52 - fraction_bits + (exponent < 1 ? 1 - exponent : 0);
    if (drop > 54) return (uint16_t)sign; /* below half of the smallest subnormal */
    uint64_t whole = fraction | (uint64_t)1 << 52, kept = whole >> drop;
    uint64_t rest = whole & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
    if (rest > half || (rest == half && kept & 1)) kept++;
    /* the leading 1 of a normal number adds one to the exponent, as does a carry (up to infinity) */
    if (exponent >= 1) kept += (uint64_t)(exponent - 1) << fraction_bits;
    return (uint16_t)(sign | kept);
}

/* For F16 and BF16 only: the part of a large integer that a double cannot hold is kept as one sticky bit,
   so that a tie remains only if it was one. */
static double sticky(int64_t x)
{
    if (x > -((int64_t)1 << 53) && x < (int64_t)1 << 53) return (double)x;
    uint64_t u = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    u = (u & ~(uint64_t)2047) | (u & 2047 ? 2048 : 0);
    return x < 0 ? -(double)u : (double)u;
}

static int64_t to_int(double x, int64_t low, int64_t high)
{
    if (x != x) return 0;
    if (x <= (double)low) return low;
    if (x >= (double)high) return high; /* (double)INT64_MAX is 2^63: everything below it can be cast */
    return (int64_t)x;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* --- blocks of numbers between storage and the middle forms; memcpy because storage may be unaligned --- */

enum { BLOCK = 256 };

#define LOAD(type, expression)                                  \
    for (size_t i = 0; i < count; i++) {                        \
        type x;                                                 \
        memcpy(&x, (const char *)src + i * sizeof x, sizeof x); \
        to[i] = expression;                                     \
    }                                                           \
    return

#define STORE(type, expression)                           \
    for (size_t i = 0; i < count; i++) {                  \
        type y = (type)(expression);                      \
        memcpy((char *)dst + i * sizeof y, &y, sizeof y); \
    }                                                     \
    return

static void load_floats(double *to, const void *src, hd_dtype from, size_t count)
{
    switch (from) {
    case HD_F64:
        LOAD(double, x);
    case HD_F32:
        LOAD(float, (double)x);
    case HD_F16:
        LOAD(uint16_t, unpack_f16(x));
    case HD_BF16:
        LOAD(uint16_t, unpack_bf16(x));
    default:
        return;
    }
}

static void load_ints(int64_t *to, const void *src, hd_dtype from, size_t count)
{
    switch (from) {
    case HD_I64:
        LOAD(int64_t, x);
    case HD_I32:
        LOAD(int32_t, x);
    case HD_U8:
        LOAD(uint8_t, x);
    case HD_I8:
        LOAD(int8_t, x);
    case HD_BOOL:
        LOAD(uint8_t, x != 0);
    default:
        return;
    }
}

static void store_floats(void *dst, hd_dtype to, const double *x, size_t count)
{
    switch (to) {
    case HD_F64:
        STORE(double, x[i]);
    case HD_F32:
        STORE(float, x[i]);
    case HD_F16:
        STORE(uint16_t, pack_small(x[i], 5));
    case HD_BF16:
        STORE(uint16_t, pack_small(x[i], 8));
    case HD_I64:
        STORE(int64_t, to_int(x[i], INT64_MIN, INT64_MAX));
    case HD_I32:
        STORE(int32_t, to_int(x[i], INT32_MIN, INT32_MAX));
    case HD_U8:
        STORE(uint8_t, to_int(x[i], 0, UINT8_MAX));
    case HD_I8:
        STORE(int8_t, to_int(x[i], INT8_MIN, INT8_MAX));
    case HD_BOOL:
        STORE(uint8_t, x[i] < 0 || x[i] > 0);
    default:
        return;
    }
}

static void store_ints(void *dst, hd_dtype to, const int64_t *x, size_t count)
{
    switch (to) {
    case HD_F64:
        STORE(double, x[i]);
    case HD_F32:
        STORE(float, x[i]);
    case HD_F16:
        STORE(uint16_t, pack_small(sticky(x[i]), 5));
    case HD_BF16:
        STORE(uint16_t, pack_small(sticky(x[i]), 8));
    case HD_I64:
        STORE(int64_t, x[i]);
    case HD_I32:
        STORE(int32_t, clamp(x[i], INT32_MIN, INT32_MAX));
    case HD_U8:
        STORE(uint8_t, clamp(x[i], 0, UINT8_MAX));
    case HD_I8:
        STORE(int8_t, clamp(x[i], INT8_MIN, INT8_MAX));
    case HD_BOOL:
        STORE(uint8_t, x[i] != 0);
    default:
        return;
    }
}

bool hd_dtype_is_float(hd_dtype t)
{
    return t == HD_F64 || t == HD_F32 || t == HD_F16 || t == HD_BF16;
}

static bool is_finite(hd_real x)
{
    return fabs((double)x) <= (sizeof x == sizeof(float) ? (double)FLT_MAX : DBL_MAX);
}

/* In blocks and without a branch: compilers vectorize that, which is seven times as fast. */
bool hd_all_finite(const hd_real *x, size_t count)
{
    enum { AT_ONCE = 64 };
    int bad = 0;
    size_t i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        for (size_t k = 0; k < AT_ONCE; k++) bad |= !is_finite(x[i + k]);
    for (; i < count; i++) bad |= !is_finite(x[i]);
    return !bad;
}

void hd_convert(void *dst, hd_dtype to, const void *src, hd_dtype from, size_t count)
{
    if (!count) return;
    if (to == from && to != HD_BOOL) { /* a stored bool of 2 becomes 1 */
        memcpy(dst, src, count * hd_dtype_bytes(to));
        return;
    }
    union {
        double x[BLOCK];
        int64_t n[BLOCK];
    } middle;
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t some = count - done < BLOCK ? count - done : BLOCK;
        const char *s = (const char *)src + done * hd_dtype_bytes(from);
        char *d = (char *)dst + done * hd_dtype_bytes(to);
        if (hd_dtype_is_float(from)) {
            load_floats(middle.x, s, from, some);
            store_floats(d, to, middle.x, some);
        } else {
            load_ints(middle.n, s, from, some);
            store_ints(d, to, middle.n, some);
        }
    }
}

const char *hd_shape_text(const hd_tensor *t, char *buf, size_t size)
{
    if (!size) return buf;
    size_t used = 0;
    for (int i = 0; i < t->rank && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%c%zu", i ? ',' : '[', t->shape[i]);
    if (used < size) snprintf(buf + used, size - used, t->rank ? "]" : "[]");
    return buf;
}
