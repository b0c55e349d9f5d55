/* Tensor descriptions and conversions. Easy to get wrong here: a reference that rounds as the code does;
   small floats are checked against their definition, by the neighbors of every value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/tensor.h"

static const size_t shape4[4] = {2, 3, 4, 5};

static void dtypes_are_found_by_their_name(void **state)
{
    (void)state;
#define X(name, text, bytes)                         \
    {                                                \
        hd_dtype t = HD_DTYPES;                      \
        assert_true(hd_dtype_find(&t, text));        \
        assert_int_equal(t, HD_##name);              \
        assert_string_equal(hd_dtype_name(t), text); \
        assert_int_equal(hd_dtype_bytes(t), bytes);  \
    }
    HD_DTYPE_LIST(X)
#undef X
    hd_dtype t = HD_F32;
    assert_false(hd_dtype_find(&t, "f32"));
    assert_false(hd_dtype_find(&t, "F8_E4M3"));
    assert_string_equal(hd_dtype_name(HD_DTYPES), "unknown");
    assert_int_equal(hd_dtype_bytes(HD_DTYPES), 0);
}

static void rows_times_columns_is_the_count(void **state)
{
    (void)state;
    static const struct {
        int rank;
        size_t rows, cols;
        const char *text;
    } cases[] = {
        {0, 1, 1, "[]"}, {1, 1, 2, "[2]"}, {2, 2, 3, "[2,3]"}, {3, 6, 4, "[2,3,4]"}, {4, 24, 5, "[2,3,4,5]"}};
    for (size_t i = 0; i < 5; i++) {
        char buf[64];
        hd_tensor t = hd_shaped(NULL, HD_F16, cases[i].rank, shape4);
        assert_int_equal(hd_rows_of(&t), cases[i].rows);
        assert_int_equal(hd_cols_of(&t), cases[i].cols);
        assert_int_equal(hd_count_of(&t), cases[i].rows * cases[i].cols);
        assert_int_equal(t.stride, cases[i].cols);
        assert_int_equal(t.dtype, HD_F16);
        assert_true(hd_is_dense(&t));
        assert_string_equal(hd_shape_text(&t, buf, sizeof buf), cases[i].text);
    }
}

static void shape_text_is_cut_to_its_room(void **state)
{
    (void)state;
    hd_tensor t = hd_shaped(NULL, HD_F32, 4, shape4);
    for (size_t room = 1; room < 12; room++) {
        char buf[12];
        memset(buf, '#', sizeof buf);
        hd_shape_text(&t, buf, room);
        assert_int_equal(strlen(buf), room - 1 < 9 ? room - 1 : 9);
        assert_memory_equal(buf, "[2,3,4,5]", strlen(buf));
        if (room < 12) assert_int_equal(buf[room], '#');
    }
}

static void shapes_are_compared_by_rank_and_size(void **state)
{
    (void)state;
    hd_tensor a = hd_shaped(NULL, HD_F32, 2, (size_t[]){3, 4}),
              b = hd_shaped(NULL, HD_I8, 2, (size_t[]){3, 4});
    hd_tensor c = hd_shaped(NULL, HD_F32, 2, (size_t[]){4, 3}),
              d = hd_shaped(NULL, HD_F32, 3, (size_t[]){3, 4, 1});
    assert_true(hd_same_shape(&a, &b));
    assert_false(hd_same_shape(&a, &c));
    assert_false(hd_same_shape(&a, &d));
}

static void views_share_the_data(void **state)
{
    (void)state;
    hd_real x[4 * 6];
    for (int i = 0; i < 24; i++) x[i] = (hd_real)i;
    hd_tensor m = hd_matrix(x, 4, 6), cols = hd_view_cols(&m, 2, 3), rows = hd_view_rows(&m, 1, 2);
    assert_ptr_equal(cols.data, x + 2);
    assert_int_equal(hd_cols_of(&cols), 3);
    assert_int_equal(hd_rows_of(&cols), 4);
    assert_int_equal(cols.stride, 6);
    assert_false(hd_is_dense(&cols));
    assert_ptr_equal(rows.data, x + 6);
    assert_int_equal(hd_rows_of(&rows), 2);
    assert_true(hd_is_dense(&rows));
    hd_tensor both = hd_view_rows(&cols, 3, 1);
    assert_ptr_equal(both.data, x + 3 * 6 + 2);
    assert_int_equal(both.stride, 6);
    assert_true(hd_is_dense(&both)); /* one row has no gap */
    hd_tensor again = hd_view_cols(&cols, 1, 1);
    assert_ptr_equal(again.data, x + 3);
    assert_int_equal(again.stride, 6);
    hd_tensor nothing = hd_matrix(NULL, 4, 6);
    assert_null(hd_view_cols(&nothing, 2, 3).data);
}

static double number_at(const void *data, hd_dtype dtype, size_t i)
{
    double x;
    hd_convert(&x, HD_F64, (const char *)data + i * hd_dtype_bytes(dtype), dtype, 1);
    return x;
}

static double small(uint16_t bits, hd_dtype dtype)
{
    return number_at(&bits, dtype, 0);
}

static uint16_t rounded(double x, hd_dtype dtype)
{
    uint16_t bits;
    hd_convert(&bits, dtype, &x, HD_F64, 1);
    return bits;
}

/* By the definition of the format, in double, without looking at bits of doubles. */
static double defined(uint16_t bits, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1),
        fraction = bits & ((1 << fraction_bits) - 1);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static void every_small_float_is_read_as_defined_and_written_back(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        hd_dtype dtype = k ? HD_BF16 : HD_F16;
        for (uint32_t bits = 0; bits < 65536; bits++) {
            double x = small((uint16_t)bits, dtype), want = defined((uint16_t)bits, k ? 8 : 5);
            if (isnan(want)) {
                assert_true(isnan(x));
                assert_true(isnan(small(rounded(x, dtype), dtype)));
                continue;
            }
            assert_memory_equal(&x, &want, sizeof x); /* also the sign of zero */
            assert_int_equal(rounded(x, dtype), bits);
        }
    }
}

/* Between each value and the next: the middle goes to the even one, the doubles beside the middle to the
 * nearer. */
static void small_floats_round_to_nearest_even(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        hd_dtype dtype = k ? HD_BF16 : HD_F16;
        uint16_t infinity = k ? 0x7f80 : 0x7c00;
        for (uint16_t bits = 0; bits < infinity; bits++) {
            double x = small(bits, dtype), step = x - small(bits ? (uint16_t)(bits - 1) : 1, dtype);
            double next = bits + 1 == infinity ? x + fabs(step) : small((uint16_t)(bits + 1), dtype);
            double middle = x + (next - x) / 2; /* exact: one more bit than the small float */
            uint16_t even = bits & 1 ? (uint16_t)(bits + 1) : bits;
            assert_int_equal(rounded(middle, dtype), even);
            assert_int_equal(rounded(nextafter(middle, 0), dtype), bits);
            assert_int_equal(rounded(nextafter(middle, INFINITY), dtype), bits + 1);
            assert_int_equal(rounded(-middle, dtype), even | 0x8000);
        }
        assert_int_equal(rounded(1e300, dtype), infinity);
        assert_int_equal(rounded(k ? 0x1.4p128 : 0x1.4p16, dtype), infinity); /* just beyond: not a NaN */
        assert_int_equal(rounded(-INFINITY, dtype), infinity | 0x8000);
        assert_int_equal(rounded(1e-300, dtype), 0);
        assert_int_equal(rounded(-5e-324, dtype), 0x8000);
    }
}

static void floats_become_integers_toward_zero_and_saturate(void **state)
{
    (void)state;
    static const struct {
        double x;
        int64_t i64;
        int32_t i32;
        uint8_t u8;
        int8_t i8;
        uint8_t boolean;
    } cases[] = {
        {0, 0, 0, 0, 0, 0},
        {-0.0, 0, 0, 0, 0, 0},
        {0.99, 0, 0, 0, 0, 1},
        {-0.99, 0, 0, 0, 0, 1},
        {1.5, 1, 1, 1, 1, 1},
        {-1.5, -1, -1, 0, -1, 1},
        {127.9, 127, 127, 127, 127, 1},
        {128, 128, 128, 128, 127, 1},
        {-129, -129, -129, 0, -128, 1},
        {255.5, 255, 255, 255, 127, 1},
        {256, 256, 256, 255, 127, 1},
        {3e9, 3000000000, INT32_MAX, 255, 127, 1},
        {-3e9, -3000000000, INT32_MIN, 0, -128, 1},
        {1e19, INT64_MAX, INT32_MAX, 255, 127, 1},
        {0x1p63, INT64_MAX, INT32_MAX, 255, 127, 1},
        {-0x1p63, INT64_MIN, INT32_MIN, 0, -128, 1},
        {-1e19, INT64_MIN, INT32_MIN, 0, -128, 1},
        {INFINITY, INT64_MAX, INT32_MAX, 255, 127, 1},
        {-INFINITY, INT64_MIN, INT32_MIN, 0, -128, 1},
        {NAN, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t i64;
        int32_t i32;
        uint8_t u8, boolean;
        int8_t i8;
        hd_convert(&i64, HD_I64, &cases[i].x, HD_F64, 1);
        hd_convert(&i32, HD_I32, &cases[i].x, HD_F64, 1);
        hd_convert(&u8, HD_U8, &cases[i].x, HD_F64, 1);
        hd_convert(&i8, HD_I8, &cases[i].x, HD_F64, 1);
        hd_convert(&boolean, HD_BOOL, &cases[i].x, HD_F64, 1);
        assert_true(i64 == cases[i].i64);
        assert_int_equal(i32, cases[i].i32);
        assert_int_equal(u8, cases[i].u8);
        assert_int_equal(i8, cases[i].i8);
        assert_int_equal(boolean, cases[i].boolean);
    }
}

static void integers_saturate_and_keep_every_bit(void **state)
{
    (void)state;
    int64_t x[] = {INT64_MIN, -300, -1, 0, 1, 200, 300, (int64_t)1 << 40, INT64_MAX, ((int64_t)1 << 53) + 1};
    int64_t back[10];
    int32_t i32[10];
    uint8_t u8[10];
    float f32[10];
    hd_convert(back, HD_I64, x, HD_I64, 10);
    assert_memory_equal(back, x, sizeof x);
    hd_convert(i32, HD_I32, x, HD_I64, 10);
    hd_convert(u8, HD_U8, x, HD_I64, 10);
    hd_convert(f32, HD_F32, x, HD_I64, 10);
    assert_int_equal(i32[0], INT32_MIN);
    assert_int_equal(i32[7], INT32_MAX);
    assert_int_equal(u8[1], 0);
    assert_int_equal(u8[5], 200);
    assert_int_equal(u8[6], 255);
    for (int i = 0; i < 10; i++) assert_true(f32[i] == (float)x[i]);
    hd_convert(back, HD_I64, i32, HD_I32, 10);
    assert_int_equal(back[1], -300);
    hd_convert(back, HD_I64, (int8_t[]){-128, 127}, HD_I8, 2);
    assert_int_equal(back[0], -128);
    hd_convert(back, HD_I64, (uint8_t[]){255, 128}, HD_U8, 2);
    assert_int_equal(back[0], 255);
}

/* Just above the tie between two BF16 numbers by less than a double can hold: by way of a double it would
 * look like the tie. */
static void large_integers_are_rounded_once(void **state)
{
    (void)state;
    int64_t tie = ((int64_t)1 << 62) + ((int64_t)1 << 54);
    int64_t x[] = {tie - 1, tie, tie + 1, -tie - 1, INT64_MIN, INT64_MAX};
    uint16_t y[6];
    hd_convert(y, HD_BF16, x, HD_I64, 6);
    assert_int_equal(y[0], 0x5e80);
    assert_int_equal(y[1], 0x5e80);
    assert_int_equal(y[2], 0x5e81);
    assert_int_equal(y[3], 0xde81);
    assert_int_equal(y[4], 0xdf00);
    assert_int_equal(y[5], 0x5f00);
    hd_convert(y, HD_F16, (int64_t[]){65519, 65520, 2049, 2051}, HD_I64, 4);
    assert_int_equal(y[0], 0x7bff);
    assert_int_equal(y[1], 0x7c00);
    assert_int_equal(y[2], 0x6800);
    assert_int_equal(y[3], 0x6802);
}

static void bools_become_zero_or_one(void **state)
{
    (void)state;
    uint8_t stored[] = {0, 1, 2, 255}, b[4];
    float f[4];
    hd_convert(b, HD_BOOL, stored, HD_BOOL, 4);
    hd_convert(f, HD_F32, stored, HD_BOOL, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b[i], i > 0);
        assert_true(f[i] == (i > 0));
    }
}

/* Every pair of dtypes, at unaligned addresses, for counts around the size of a block. */
static void counts_and_alignment_do_not_matter(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 255, 256, 257, 600};
    static char source[600 * 8 + 8], target[600 * 8 + 8];
    for (int from = 0; from < HD_DTYPES; from++) {
        for (int to = 0; to < HD_DTYPES; to++) {
            for (size_t c = 0; c < 7; c++) {
                size_t wide = hd_dtype_bytes((hd_dtype)to);
                for (size_t i = 0; i < 600; i++)
                    hd_convert(source + 1 + i * hd_dtype_bytes((hd_dtype)from), (hd_dtype)from,
                               &(double){(double)(i % 128)}, HD_F64, 1);
                memset(target, 0x55, sizeof target);
                hd_convert(target + 3, (hd_dtype)to, source + 1, (hd_dtype)from, counts[c]);
                for (size_t i = 0; i < counts[c]; i++) {
                    double want = from == HD_BOOL || to == HD_BOOL ? i % 128 != 0 : (double)(i % 128);
                    assert_true(number_at(target + 3, (hd_dtype)to, i) == want);
                }
                assert_int_equal(target[2], 0x55);
                assert_int_equal(target[3 + counts[c] * wide], 0x55);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_are_found_by_their_name),
        cmocka_unit_test(rows_times_columns_is_the_count),
        cmocka_unit_test(shape_text_is_cut_to_its_room),
        cmocka_unit_test(shapes_are_compared_by_rank_and_size),
        cmocka_unit_test(views_share_the_data),
        cmocka_unit_test(every_small_float_is_read_as_defined_and_written_back),
        cmocka_unit_test(small_floats_round_to_nearest_even),
        cmocka_unit_test(floats_become_integers_toward_zero_and_saturate),
        cmocka_unit_test(integers_saturate_and_keep_every_bit),
        cmocka_unit_test(large_integers_are_rounded_once),
        cmocka_unit_test(bools_become_zero_or_one),
        cmocka_unit_test(counts_and_alignment_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
