/* safetensors files: hostile ones refused, each with its own message; saved ones read back. Easy to get wrong
   here: a bad file that is refused for another reason than the one it was made for, so every case names a
   part of the message it must get. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "tensor/safetensors.h"

/* --- bytes of files --- */

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

/* A file: length, header, then `data` counting bytes. Exactly as large as it is, so that a sanitizer sees one
 * byte more. */
static bytes file_of(uint64_t length, const char *header, size_t header_size, size_t data)
{
    bytes f = {.size = 8 + header_size + data};
    f.data = malloc(f.size);
    assert_non_null(f.data);
    memcpy(f.data, &length, 8);
    memcpy(f.data + 8, header, header_size);
    for (size_t i = 0; i < data; i++) f.data[8 + header_size + i] = (uint8_t)(i + 1);
    return f;
}

static bytes file_with(const char *header, size_t data)
{
    return file_of(strlen(header), header, strlen(header), data);
}

static hd_safetensors *parsed(bytes f)
{
    hd_safetensors *s = NULL;
    hd_err err = {0};
    hd_status status = hd_safetensors_parse(&s, f.data, f.size, "good", &err);
    if (status) fail_msg("refused: %s", err.text);
    return s;
}

static void assert_refused(const char *title, bytes f, const char *why)
{
    hd_safetensors *s = NULL;
    hd_err err = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_status status = hd_safetensors_parse(&s, f.data, f.size, "bad.safetensors", &err);
    if (status != HD_EFORMAT || s) fail_msg("%s: status %d: %s", title, status, err.text);
    if (strncmp(err.text, "bad.safetensors: ", 17) != 0 || !strstr(err.text, why))
        fail_msg("%s: expected '%s' in: %s", title, why, err.text);
    assert_int_equal(hd_mem_now().blocks, blocks);
    free(f.data);
}

/* --- hostile headers --- */

#define A(rest)  "{\"a\":{" rest "}}"
#define F32_2    "\"dtype\":\"F32\",\"shape\":[2],"
#define AT(b, e) "\"data_offsets\":[" #b "," #e "]"

static const struct {
    const char *title, *header;
    size_t data;
    const char *why;
} hostile[] = {
    /* JSON */
    {"empty object in spaces only", "   ", 0, "ends in the middle of the JSON"},
    {"no JSON", "hello", 0, "is not JSON"},
    {"JSON cut", "{\"a\":{\"dtype\":", 0, "ends in the middle of the JSON"},
    {"array at top", "[]", 0, "header is an array, not an object"},
    {"string at top", "\"a\"", 0, "is not JSON"},
    {"number at top", "5", 0, "is not JSON"},
    {"two objects", "{}{}", 0, "something after the JSON object"},
    {"trailing comma", "{\"a\":1,}", 0, "is not JSON"},
    {"comment", "{/* */}", 0, "is not JSON"},
    {"single quotes", "{'a':1}", 0, "is not JSON"},
    {"byte-order mark", "\xef\xbb\xbf{}", 0, "is not JSON"},
    {"not UTF-8 in a name", "{\"\xff\":1}", 0, "is not UTF-8"},
    {"overlong UTF-8", "{\"\xc0\xaf\":1}", 0, "is not UTF-8"},
    {"surrogate in UTF-8", "{\"\xed\xa0\x80\":1}", 0, "is not UTF-8"},
    {"UTF-8 cut", "{\"\xe2\x82", 0, "is not UTF-8"},
    {"not UTF-8 outside of strings", "{}\xfe", 0, "is not UTF-8"},
    {"lone surrogate escape", "{\"\\ud800\":1}", 0, "invalid Unicode"},
    {"NUL escape in a name", "{\"a\\u0000b\":1}", 0, "NUL character in a name"},
    {"NUL escape in a string", "{\"a\":\"x\\u0000\"}", 0, "NUL character in a string"},
    {"newline in a name", "{\"a\nb\":1}", 0, "unexpected newline"},
    {"NaN", "{\"a\":NaN}", 0, "is not JSON"},
    {"leading zero", A(F32_2 "\"data_offsets\":[00,8]"), 8, "is not JSON"},
    {"the same tensor twice", "{\"x.weight\":{" F32_2 AT(0, 8) "},\"x.weight\":{" F32_2 AT(8, 16) "}}", 16,
     "the same name twice: duplicate object key near '\"x.weight\"'"},
    {"the same long name twice",
     "{\"model.decoder.layers.0.weight\":{" F32_2 AT(0, 8) "},\"model.decoder.layers.0.weight\":{}}", 8,
     "\"model.decoder.layers.0.weight\"'"},
    {"the same name twice by an escape", "{\"a\":{" F32_2 AT(0, 8) "},\"\\u0061\":{}}", 8,
     "the same name twice"},
    {"dtype twice", A("\"dtype\":\"F32\"," F32_2 AT(0, 8)), 8, "the same name twice"},
    {"metadata twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "the same name twice"},
    {"metadata key twice", "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "the same name twice"},
    /* metadata */
    {"metadata is a string", "{\"__metadata__\":\"pt\"}", 0, "__metadata__ is a string, not an object"},
    {"metadata is null", "{\"__metadata__\":null}", 0, "__metadata__ is null, not an object"},
    {"metadata is an array", "{\"__metadata__\":[]}", 0, "__metadata__ is an array, not an object"},
    {"metadata number", "{\"__metadata__\":{\"epoch\":3}}", 0, "value of 'epoch' is 3, not a string"},
    {"metadata nested", "{\"__metadata__\":{\"x\":{}}}", 0, "value of 'x' is an object, not a string"},
    /* entries */
    {"entry is a number", "{\"a\":7}", 0, "tensor 'a': its entry is 7, not an object"},
    {"entry is an array", "{\"a\":[]}", 0, "tensor 'a': its entry is an array, not an object"},
    {"entry is null", "{\"a\":null}", 0, "tensor 'a': its entry is null, not an object"},
    {"entry is empty", "{\"a\":{}}", 0, "tensor 'a': has no dtype"},
    {"no dtype", A("\"shape\":[2]," AT(0, 8)), 8, "tensor 'a': has no dtype"},
    {"no shape", A("\"dtype\":\"F32\"," AT(0, 8)), 8, "tensor 'a': has no shape"},
    {"no data_offsets", A("\"dtype\":\"F32\",\"shape\":[2]"), 8, "tensor 'a': has no data_offsets"},
    {"dtype is a number", A("\"dtype\":32,\"shape\":[2]," AT(0, 8)), 8, "dtype is 32, not a string"},
    {"dtype is null", A("\"dtype\":null,\"shape\":[2]," AT(0, 8)), 8, "dtype is null, not a string"},
    {"unknown dtype", A("\"dtype\":\"F128\",\"shape\":[2]," AT(0, 8)), 8, "dtype 'F128' is unknown"},
    {"dtype in small letters", A("\"dtype\":\"f32\",\"shape\":[2]," AT(0, 8)), 8, "dtype 'f32' is unknown"},
    {"empty dtype", A("\"dtype\":\"\",\"shape\":[2]," AT(0, 8)), 8, "dtype '' is unknown"},
    /* shape */
    {"shape is a number", A("\"dtype\":\"F32\",\"shape\":2," AT(0, 8)), 8, "shape is 2, not an array"},
    {"shape is an object", A("\"dtype\":\"F32\",\"shape\":{}," AT(0, 8)), 8,
     "shape is an object, not an array"},
    {"negative size", A("\"dtype\":\"F32\",\"shape\":[1,-2]," AT(0, 8)), 8, "shape[1] is negative: -2"},
    {"two negative sizes", A("\"dtype\":\"F32\",\"shape\":[-1,-2]," AT(0, 8)), 8, "shape[0] is negative: -1"},
    {"real size", A("\"dtype\":\"F32\",\"shape\":[2.5]," AT(0, 8)), 8, "shape[0] is 2.5, not an integer"},
    {"whole real size", A("\"dtype\":\"F32\",\"shape\":[2.0]," AT(0, 8)), 8, "shape[0] is 2, not an integer"},
    {"exponent size", A("\"dtype\":\"F32\",\"shape\":[2e0]," AT(0, 8)), 8, "not an integer"},
    {"text size", A("\"dtype\":\"F32\",\"shape\":[\"2\"]," AT(0, 8)), 8,
     "shape[0] is a string, not an integer"},
    {"true size", A("\"dtype\":\"F32\",\"shape\":[true]," AT(0, 8)), 8, "shape[0] is true, not an integer"},
    {"nested shape", A("\"dtype\":\"F32\",\"shape\":[[2]]," AT(0, 8)), 8,
     "shape[0] is an array, not an integer"},
    {"size 2^63", A("\"dtype\":\"U8\",\"shape\":[9223372036854775808]," AT(0, 0)), 0,
     "integers must be below 2^63"},
    {"size 2^63 beside 0", A("\"dtype\":\"U8\",\"shape\":[0,9223372036854775808]," AT(0, 0)), 0,
     "9223372036854775808'"},
    {"size 2^64", A("\"dtype\":\"U8\",\"shape\":[18446744073709551616]," AT(0, 0)), 0,
     "integers must be below 2^63"},
    {"size 2^64+2", A("\"dtype\":\"F32\",\"shape\":[18446744073709551618]," AT(0, 8)), 8,
     "integers must be below 2^63"},
    {"size below -2^63", A("\"dtype\":\"U8\",\"shape\":[-9223372036854775809]," AT(0, 0)), 0, "out of range"},
    {"huge real size", A("\"dtype\":\"U8\",\"shape\":[1e999]," AT(0, 0)), 0, "real number overflow"},
    {"product 2^64", A("\"dtype\":\"U8\",\"shape\":[4294967296,4294967296]," AT(0, 0)), 0,
     "shape overflows: 4294967296 * 4294967296 at shape[1]"},
    {"product 2^64+2^33 in three", A("\"dtype\":\"U8\",\"shape\":[2,4294967297,4294967296]," AT(0, 0)), 0,
     "shape overflows: 8589934594 * 4294967296 at shape[2]"},
    {"product overflows before a 0", A("\"dtype\":\"U8\",\"shape\":[4294967296,4294967296,0]," AT(0, 0)), 0,
     "shape overflows"},
    {"bits overflow", A("\"dtype\":\"F32\",\"shape\":[4611686018427387904]," AT(0, 0)), 0,
     "size overflows: 4611686018427387904 numbers of 32 bits"},
    {"bits overflow to a small number", A("\"dtype\":\"F32\",\"shape\":[576460752303423490]," AT(0, 8)), 8,
     "size overflows: 576460752303423490 numbers of 32 bits"},
    /* data_offsets */
    {"offsets are a number", A(F32_2 "\"data_offsets\":8"), 8, "data_offsets is 8, not an array"},
    {"offsets are an object", A(F32_2 "\"data_offsets\":{}"), 8, "data_offsets is an object, not an array"},
    {"no offsets", A(F32_2 "\"data_offsets\":[]"), 8, "data_offsets has 0 numbers, not 2"},
    {"one offset", A(F32_2 "\"data_offsets\":[8]"), 8, "data_offsets has 1 numbers, not 2"},
    {"three offsets", A(F32_2 "\"data_offsets\":[0,8,8]"), 8, "data_offsets has 3 numbers, not 2"},
    {"text offsets", A(F32_2 "\"data_offsets\":[\"0\",8]"), 8, "data_offsets[0] is a string, not an integer"},
    {"real offset", A(F32_2 "\"data_offsets\":[0,8.5]"), 8, "data_offsets[1] is 8.5, not an integer"},
    {"null offset", A(F32_2 "\"data_offsets\":[0,null]"), 8, "data_offsets[1] is null, not an integer"},
    {"negative offset", A(F32_2 AT(-8, 0)), 8, "data_offsets[0] is negative: -8"},
    {"begin after end", A(F32_2 AT(8, 0)), 8, "data_offsets begin at 8, after their end 0"},
    {"past the data", A(F32_2 AT(0, 8)), 7, "data_offsets [0,8] reach past the 7 bytes of data"},
    {"far past the data", A(F32_2 AT(9223372036854775799, 9223372036854775807)), 8,
     "data_offsets [9223372036854775799,9223372036854775807] reach past the 8 bytes of data"},
    {"offset 2^63", A(F32_2 AT(0, 9223372036854775808)), 8, "integers must be below 2^63"},
    {"offset wraps to 8", A(F32_2 AT(0, 18446744073709551624)), 8, "integers must be below 2^63"},
    /* size against shape */
    {"too few bytes", A(F32_2 AT(0, 4)), 4, "2 numbers of type F32 take 8 bytes, data_offsets give 4"},
    {"too many bytes", A(F32_2 AT(0, 12)), 12, "2 numbers of type F32 take 8 bytes, data_offsets give 12"},
    {"scalar of no bytes", A("\"dtype\":\"F64\",\"shape\":[]," AT(0, 0)), 0,
     "1 numbers of type F64 take 8 bytes"},
    {"bytes for an empty tensor", A("\"dtype\":\"F32\",\"shape\":[0]," AT(0, 4)), 4,
     "0 numbers of type F32 take 0 bytes"},
    {"half a byte of F4", A("\"dtype\":\"F4\",\"shape\":[3]," AT(0, 2)), 2,
     "3 numbers of 4 bits do not fill whole bytes"},
    {"F6 not in whole bytes", A("\"dtype\":\"F6_E3M2\",\"shape\":[3]," AT(0, 3)), 3,
     "3 numbers of 6 bits do not fill"},
    {"F4 of the wrong size", A("\"dtype\":\"F4\",\"shape\":[4]," AT(0, 4)), 4,
     "4 numbers of type F4 take 2 bytes"},
    /* layout */
    {"hole at the start", A(F32_2 AT(4, 12)), 12, "tensor 'a': is the first but begins at byte 4: hole"},
    {"hole between", "{\"a\":{" F32_2 AT(0, 8) "},\"b\":{" F32_2 AT(9, 17) "}}", 17,
     "tensor 'b': begins at byte 9: hole after 'a' that ends at 8"},
    {"overlap", "{\"a\":{" F32_2 AT(0, 8) "},\"b\":{" F32_2 AT(7, 15) "}}", 15,
     "tensor 'b': begins at byte 7, overlapping 'a' that ends at 8"},
    {"the same bytes twice", "{\"b\":{" F32_2 AT(0, 8) "},\"a\":{" F32_2 AT(0, 8) "}}", 8,
     "tensor 'b': begins at byte 0, overlapping 'a' that ends at 8"},
    {"empty tensor inside another",
     "{\"a\":{" F32_2 AT(0, 8) "},\"b\":{\"dtype\":\"U8\",\"shape\":[0]," AT(4, 4) "}}", 8,
     "tensor 'b': begins at byte 4, overlapping 'a' that ends at 8"},
    {"empty tensor after a hole", A("\"dtype\":\"U8\",\"shape\":[0]," AT(3, 3)), 3, "begins at byte 3: hole"},
    {"trailing bytes", A(F32_2 AT(0, 8)), 9, "1 trailing bytes: tensors end at 8, data has 9"},
    {"data without tensors", "{}", 5, "5 trailing bytes: tensors end at 0, data has 5"},
    {"the second of two is bad",
     "{\"a\":{" F32_2 AT(0, 8) "},\"b\":{\"dtype\":\"I8\",\"shape\":[1]," AT(8, 10) "}}", 10,
     "tensor 'b': 1 numbers of type I8 take 1 bytes, data_offsets give 2"},
};

static void every_hostile_header_is_refused_for_its_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        assert_refused(hostile[i].title, file_with(hostile[i].header, hostile[i].data), hostile[i].why);
}

#define GOOD A(F32_2 AT(0, 8))

static void every_wrong_header_length_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t length;
        const char *why;
    } cases[] = {
        {0, "header length is 0"},
        {1, "ends in the middle of the JSON"},
        {100000000, "header length 100000000 does not fit in a file of"},
        {100000001, "header length 100000001 is above the limit of 100000000"},
        {(uint64_t)1 << 63, "header length 9223372036854775808 is above the limit"},
        {UINT64_MAX, "header length 18446744073709551615 is above the limit"},
        {UINT64_MAX - 7, "is above the limit"}, /* 8 + length wraps to 0 */
        {strlen(GOOD) - 1, "ends in the middle of the JSON"},
        {strlen(GOOD) + 1, "something after the JSON object"}, /* takes a byte of data for the header */
        {strlen(GOOD) + 9, "does not fit in a file of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused("header length", file_of(cases[i].length, GOOD, strlen(GOOD), 8), cases[i].why);
    for (size_t size = 0; size < 8; size++) {
        bytes f = {malloc(size + 1), size};
        memset(f.data, 1, size + 1);
        assert_refused("short file", f, size ? "too short for the header's length" : "file is empty");
    }
    assert_refused("length alone", file_of(2, "", 0, 0), "header length 2 does not fit in a file of 8 bytes");
}

static void nul_bytes_in_the_header_are_refused(void **state)
{
    (void)state;
    static const char between[] = "{\0}", in_name[] = "{\"a\0b\":{}}", padding[] = "{}\0\0\0\0\0\0";
    assert_refused("NUL between", file_of(3, between, 3, 0), "NUL byte, at byte 1");
    assert_refused("NUL in a name", file_of(10, in_name, 10, 0), "NUL byte, at byte 3");
    assert_refused("padding of NUL", file_of(8, padding, 8, 0), "NUL byte, at byte 2");
    assert_refused("all NUL", file_of(8, "\0\0\0\0\0\0\0\0", 8, 0), "NUL byte, at byte 0");
}

static void deep_json_is_refused(void **state)
{
    (void)state;
    static const char *const starts[] = {
        "", "{\"a\":", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8],\"shape\":"};
    for (size_t i = 0; i < 3; i++) {
        for (int object = 0; object < 2; object++) {
            char *text = malloc(2000000), *end = text + sprintf(text, "%s", starts[i]);
            for (int k = 0; k < 300000; k++) end += sprintf(end, object ? "{\"\":" : "[");
            assert_refused("deep", file_of((uint64_t)(end - text), text, (size_t)(end - text), 0),
                           "nested too deep");
            free(text);
        }
    }
}

static void a_long_hostile_name_leaves_room_for_the_reason(void **state)
{
    (void)state;
    char header[6000];
    memset(header, 'n', sizeof header);
    memcpy(header, "{\"", 2);
    strcpy(header + 5000, "\\u001b[2J\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}");
    assert_refused("long name", file_with(header, 8),
                   "nnn': 3 numbers of type F32 take 12 bytes, data_offsets give 8");
    static const char escape[] =
        "{\"\\u001b[2J\\n\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}";
    assert_refused("control characters", file_with(escape, 8), "tensor '?[2J?': 3 numbers");
}

/* --- what is valid --- */

static const char rich[] =
    "{\"__metadata__\":{\"format\":\"pt\",\"note\":\"gr\xc3\xbc\xc3\x9f\"},"
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[32,38]},"
    "\"s\":{\"shape\":[],\"data_offsets\":[0,8],\"dtype\":\"I64\"},"
    "\"e\":{\"dtype\":\"F16\",\"shape\":[0,7],\"data_offsets\":[32,32]},"
    "\"deep\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,2],\"data_offsets\":[38,40],\"more\":[{}]}}  \n";

static void a_valid_file_shows_all_its_entries(void **state)
{
    (void)state;
    bytes f = file_with(rich, 40);
    hd_safetensors *s = parsed(f);
    static const char *const names[] = {"b", "deep", "e", "s", "w"};
    assert_int_equal(hd_safetensors_count(s), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(hd_safetensors_at(s, i)->name, names[i]);
        assert_ptr_equal(hd_safetensors_find(s, names[i]), hd_safetensors_at(s, i));
    }
    assert_null(hd_safetensors_at(s, 5));
    assert_null(hd_safetensors_find(s, "__metadata__"));
    assert_null(hd_safetensors_find(s, ""));
    assert_string_equal(hd_safetensors_meta(s, "format"), "pt");
    assert_string_equal(hd_safetensors_meta(s, "note"), "gr\xc3\xbc\xc3\x9f");
    assert_null(hd_safetensors_meta(s, "w"));
    const hd_entry *w = hd_safetensors_find(s, "w"), *deep = hd_safetensors_find(s, "deep");
    const hd_entry *e = hd_safetensors_find(s, "e"), *scalar = hd_safetensors_find(s, "s");
    assert_true(w->known);
    assert_int_equal(w->dtype, HD_F32);
    assert_int_equal(w->rank, 2);
    assert_int_equal(w->shape[0], 2);
    assert_int_equal(w->shape[1], 3);
    assert_int_equal(w->count, 6);
    assert_int_equal(w->bytes, 24);
    assert_ptr_equal(w->data, f.data + f.size - 40 + 8);
    assert_int_equal(scalar->rank, 0);
    assert_int_equal(scalar->count, 1);
    assert_int_equal(e->count, 0);
    assert_int_equal(e->shape[1], 7);
    assert_int_equal(deep->rank, 6);
    assert_int_equal(deep->shape[5], 2);
    assert_true(deep->known);
    hd_safetensors_free(s);
    free(f.data);
}

static void every_type_of_the_format_is_taken_by_its_size(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        size_t bytes; /* of 8 numbers */
        bool known;
    } types[] = {
        {"BOOL", 8, true},     {"U8", 8, true},       {"I8", 8, true},           {"F8_E4M3", 8, false},
        {"F8_E5M2", 8, false}, {"F8_E8M0", 8, false}, {"F8_E4M3FNUZ", 8, false}, {"F8_E5M2FNUZ", 8, false},
        {"I16", 16, false},    {"U16", 16, false},    {"F16", 16, true},         {"BF16", 16, true},
        {"I32", 32, true},     {"U32", 32, false},    {"F32", 32, true},         {"I64", 64, true},
        {"U64", 64, false},    {"F64", 64, true},     {"C64", 64, false},        {"F4", 4, false},
        {"F6_E2M3", 6, false}, {"F6_E3M2", 6, false},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[200];
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%zu]}}",
                 types[i].type, types[i].bytes);
        bytes f = file_with(header, types[i].bytes);
        hd_safetensors *s = parsed(f);
        const hd_entry *e = hd_safetensors_at(s, 0);
        assert_string_equal(e->type, types[i].type);
        assert_int_equal(e->known, types[i].known);
        assert_int_equal(e->bytes, types[i].bytes);
        double x[8];
        hd_err err = {0};
        bool whole = types[i].known && !hd_dtype_is_float(e->dtype);
        hd_tensor to = hd_shaped(x, whole ? HD_I64 : HD_F32, 2, (size_t[]){2, 4});
        hd_status status = hd_safetensors_load(s, "a", &to, &err);
        assert_int_equal(status, types[i].known ? HD_OK : HD_EMISSING);
        if (status) assert_non_null(strstr(err.text, types[i].type));
        hd_safetensors_free(s);
        free(f.data);
    }
}

static void spaces_around_the_header_are_fine(void **state)
{
    (void)state;
    static const char *const headers[] = {"{}", "{}      ", " \t\r\n{} \t\r\n", "{ \"__metadata__\" : { } }"};
    for (size_t i = 0; i < 4; i++) {
        bytes f = file_with(headers[i], 0);
        hd_safetensors *s = parsed(f);
        assert_int_equal(hd_safetensors_count(s), 0);
        assert_null(hd_safetensors_find(s, "a"));
        assert_null(hd_safetensors_meta(s, "a"));
        hd_safetensors_free(s);
        free(f.data);
    }
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    bytes whole = file_with(rich, 40);
    for (size_t size = 0; size < whole.size; size++) {
        bytes part = {malloc(size ? size : 1), size};
        memcpy(part.data, whole.data, size);
        assert_refused("truncated", part, "");
    }
    hd_safetensors_free(parsed(whole));
    free(whole.data);
}

/* 200 tensors, so that the parse needs many chunks; at each allocation it must end cleanly. */
static void every_failing_allocation_ends_in_enomem(void **state)
{
    (void)state;
    char header[40000], *end = header + sprintf(header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < 200; i++)
        end += sprintf(end,
                       ",\"a.rather.long.name.of.a.tensor.%d\":{\"dtype\":\"U8\",\"shape\":[1,2],\"data_"
                       "offsets\":[%d,%d]}",
                       i, 2 * i, 2 * i + 2);
    strcpy(end, "}");
    bytes f = file_with(header, 400);
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (;; n++) {
        hd_safetensors *s = NULL;
        hd_err err = {0};
        size_t calls = hd_mem_now().calls;
        hd_mem_fail_at(n);
        hd_status status = hd_safetensors_parse(&s, f.data, f.size, "name", &err);
        hd_mem_fail_at(0);
        if (hd_mem_now().calls - calls < n) { /* there is no n-th one */
            assert_int_equal(status, HD_OK);
            assert_int_equal(hd_safetensors_count(s), 200);
            hd_safetensors_free(s);
            break;
        }
        assert_int_equal(status, HD_ENOMEM);
        assert_non_null(strstr(err.text, "out of memory"));
        assert_null(s);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 6);
    assert_int_equal(hd_mem_now().blocks, blocks);
    free(f.data);
}

/* Jansson's lexer must not go on after a lack of memory: every limit, so that it strikes in the middle of
 * every token. */
static void every_limit_of_memory_ends_in_enomem(void **state)
{
    (void)state;
    char header[9000], *end = header + sprintf(header, "{\"");
    memset(end, 'n', 8000); /* a token that outgrows chunk after chunk */
    strcpy(end + 8000, "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}");
    bytes f = file_with(header, 8);
    size_t blocks = hd_mem_now().blocks;
    bool done = false;
    for (size_t limit = 1; !done; limit += 509) {
        hd_safetensors *s = NULL;
        hd_err err = {0};
        hd_mem_limit(hd_mem_now().used + limit);
        hd_status status = hd_safetensors_parse(&s, f.data, f.size, "name", &err);
        hd_mem_limit(0);
        done = status == HD_OK;
        if (!done) assert_int_equal(status, HD_ENOMEM);
        hd_safetensors_free(s);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    free(f.data);
}

/* --- loading --- */

static void unaligned_data_is_converted(void **state)
{
    (void)state;
    for (size_t pad = 0; pad < 8; pad++) { /* shifts the data by the header's length */
        char header[200] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[1,9]},"
                           "\"z\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
        for (size_t i = 0; i < pad; i++) strcat(header, " ");
        bytes f = file_with(header, 9);
        memcpy(f.data + f.size - 8, (float[]){1.5f, -2}, 8);
        hd_safetensors *s = parsed(f);
        double x[2];
        hd_tensor to = hd_shaped(x, HD_F64, 1, (size_t[]){2});
        assert_int_equal(hd_safetensors_load(s, "a", &to, NULL), HD_OK);
        assert_true(x[0] == 1.5 && x[1] == -2);
        hd_safetensors_free(s);
        free(f.data);
    }
}

static void a_load_that_does_not_fit_is_refused_with_both_shapes(void **state)
{
    (void)state;
    bytes f = file_with(rich, 40);
    hd_safetensors *s = parsed(f);
    float x[12] = {0};
    static const struct {
        const char *name;
        int rank;
        size_t shape[4];
        hd_status status;
        const char *why;
    } cases[] = {
        {"w", 2, {3, 2}, HD_ESHAPE, "tensor 'w' has shape [2,3], [3,2] is wanted"},
        {"w", 1, {6}, HD_ESHAPE, "tensor 'w' has shape [2,3], [6] is wanted"},
        {"w", 3, {2, 3, 1}, HD_ESHAPE, "tensor 'w' has shape [2,3], [2,3,1] is wanted"},
        {"s", 1, {1}, HD_ESHAPE, "tensor 's' has shape [], [1] is wanted"},
        {"deep", 4, {1, 1, 1, 1}, HD_ESHAPE, "tensor 'deep' has shape [1,1,1,1]..., [1,1,1,1] is wanted"},
        {"none", 1, {1}, HD_EFORMAT, "has no tensor 'none'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_err err = {0};
        hd_tensor to = hd_shaped(x, HD_F32, cases[i].rank, cases[i].shape);
        assert_int_equal(hd_safetensors_load(s, cases[i].name, &to, &err), cases[i].status);
        if (!strstr(err.text, cases[i].why) || !strstr(err.text, "good: ")) fail_msg("%s", err.text);
    }
    hd_err err = {0};
    hd_tensor wide = hd_shaped(x, HD_F32, 2, (size_t[]){2, 6}), strided = hd_view_cols(&wide, 0, 3);
    assert_int_equal(hd_safetensors_load(s, "w", &strided, &err), HD_EARG);
    assert_non_null(strstr(err.text, "strided"));
    for (int i = 0; i < 12; i++) assert_true(x[i] == 0);
    hd_safetensors_free(s);
    free(f.data);
}

/* --- saving --- */

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-safetensors-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when a temporary file was left */
}

static hd_safetensors *opened(void)
{
    hd_safetensors *s = NULL;
    hd_err err = {0};
    if (hd_safetensors_open(&s, path, &err)) fail_msg("%s", err.text);
    return s;
}

static void save(const hd_named *entries, size_t count, const hd_meta *meta, size_t metas)
{
    hd_err err = {0};
    if (hd_safetensors_save(path, entries, count, meta, metas, &err)) fail_msg("%s", err.text);
}

static void every_dtype_comes_back_from_a_save(void **state)
{
    (void)state;
    static const double numbers[] = {0, 1, 2, 100, 127, 3};
    char data[HD_DTYPES][6 * 8];
    hd_tensor tensor[HD_DTYPES];
    hd_named entries[HD_DTYPES];
    for (int t = 0; t < HD_DTYPES; t++) {
        hd_convert(data[t], (hd_dtype)t, numbers, HD_F64, 6);
        tensor[t] = hd_shaped(data[t], (hd_dtype)t, 2, (size_t[]){2, 3});
        entries[t] = (hd_named){hd_dtype_name((hd_dtype)t), &tensor[t]};
    }
    save(entries, HD_DTYPES, NULL, 0);
    hd_safetensors *s = opened();
    assert_int_equal(hd_safetensors_count(s), HD_DTYPES);
    for (int from = 0; from < HD_DTYPES; from++) {
        const hd_entry *e = hd_safetensors_find(s, hd_dtype_name((hd_dtype)from));
        assert_int_equal(e->dtype, from);
        assert_memory_equal(e->data, data[from], e->bytes);
        assert_int_equal((uintptr_t)e->data % hd_dtype_bytes((hd_dtype)from), 0); /* wider ones first */
        for (int to = 0; to < HD_DTYPES; to++) {
            char back[6 * 8], want[6 * 8];
            hd_tensor target = hd_shaped(back, (hd_dtype)to, 2, (size_t[]){2, 3});
            hd_convert(want, (hd_dtype)to, data[from], (hd_dtype)from, 6);
            bool alike = hd_dtype_is_float((hd_dtype)from) == hd_dtype_is_float((hd_dtype)to);
            hd_status status = hd_safetensors_load(s, e->name, &target, NULL);
            assert_int_equal(status, alike ? HD_OK : HD_EFORMAT);
            if (alike) assert_memory_equal(back, want, 6 * hd_dtype_bytes((hd_dtype)to));
        }
    }
    hd_safetensors_free(s);
}

/* The bits of a float are an integer, too: another type in the header must not become other weights. */
static void integers_are_not_taken_as_weights(void **state)
{
    (void)state;
    static const char *const types[] = {"I32", "I64", "U8", "I8", "BOOL"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[200], why[80];
        size_t bytes_each = i == 0 ? 4 : i == 1 ? 8 : 1;
        snprintf(header, sizeof header, "{\"w\":{\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[0,%zu]}}",
                 types[i], 2 * bytes_each);
        snprintf(why, sizeof why, "good: tensor 'w' is of type %s, and weights are F32", types[i]);
        bytes f = file_with(header, 2 * bytes_each);
        hd_safetensors *s = parsed(f);
        float x[2];
        hd_err err = {0};
        hd_tensor to = hd_shaped(x, HD_F32, 1, (size_t[]){2});
        assert_int_equal(hd_safetensors_load(s, "w", &to, &err), HD_EFORMAT);
        if (!strstr(err.text, why)) fail_msg("%s", err.text);
        hd_safetensors_free(s);
        free(f.data);
    }
}

static void halves_round_on_the_way(void **state)
{
    (void)state;
    float x[] = {1.00048828125f, 1.00146484375f, 65519, 65520, 1e-8f},
          y[5]; /* ties to even, range, underflow */
    uint16_t h[5];
    static const uint16_t want[] = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 0};
    hd_tensor wide = hd_shaped(x, HD_F32, 1, (size_t[]){5}), half = hd_shaped(h, HD_F16, 1, (size_t[]){5});
    save(&(hd_named){"x", &wide}, 1, NULL, 0);
    hd_safetensors *s = opened();
    assert_int_equal(hd_safetensors_load(s, "x", &half, NULL), HD_OK);
    assert_memory_equal(h, want, sizeof h);
    hd_safetensors_free(s);
    save(&(hd_named){"x", &half}, 1, NULL, 0);
    s = opened();
    hd_tensor back = hd_shaped(y, HD_F32, 1, (size_t[]){5});
    assert_int_equal(hd_safetensors_load(s, "x", &back, NULL), HD_OK);
    assert_true(y[0] == 1 && y[1] == 1.001953125f && y[2] == 65504 && y[3] > 1e38f && y[4] == 0);
    hd_safetensors_free(s);
}

static void scalars_empty_and_strided_tensors_come_back(void **state)
{
    (void)state;
    float one = 42, wide[4 * 6], back[12];
    for (int i = 0; i < 24; i++) wide[i] = (float)i;
    hd_tensor scalar = hd_shaped(&one, HD_F32, 0, NULL), empty = hd_shaped(NULL, HD_F32, 2, (size_t[]){0, 5});
    hd_tensor whole = hd_shaped(wide, HD_F32, 2, (size_t[]){4, 6}), cols = hd_view_cols(&whole, 2, 3);
    const hd_named entries[] = {{"scalar", &scalar}, {"empty", &empty}, {"cols", &cols}};
    save(entries, 3, NULL, 0);
    hd_safetensors *s = opened();
    hd_tensor to_scalar = hd_shaped(back, HD_F32, 0, NULL),
              to_cols = hd_shaped(back, HD_F32, 2, (size_t[]){4, 3});
    hd_tensor to_empty = hd_shaped(NULL, HD_F32, 2, (size_t[]){0, 5});
    assert_int_equal(hd_safetensors_load(s, "scalar", &to_scalar, NULL), HD_OK);
    assert_true(back[0] == 42);
    assert_int_equal(hd_safetensors_load(s, "empty", &to_empty, NULL), HD_OK);
    assert_int_equal(hd_safetensors_load(s, "cols", &to_cols, NULL), HD_OK);
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 3; c++) assert_true(back[r * 3 + c] == (float)(r * 6 + 2 + c));
    hd_safetensors_free(s);
}

static void the_bytes_are_those_of_the_format(void **state)
{
    (void)state;
    float f[] = {1};
    uint8_t u[] = {7, 8};
    int64_t n[] = {-1};
    hd_tensor tf = hd_shaped(f, HD_F32, 1, (size_t[]){1}), tu = hd_shaped(u, HD_U8, 1, (size_t[]){2});
    hd_tensor tn = hd_shaped(n, HD_I64, 0, NULL);
    const hd_named entries[] = {{"z", &tu}, {"b", &tf}, {"y", &tn}, {"a", &tf}};
    save(entries, 4, &(hd_meta){"format", "pt"}, 1);
    static const char want[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                               "\"y\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                               "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
                               "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[12,16]},"
                               "\"z\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[16,18]}}";
    static const uint8_t data[] = {255, 255, 255, 255, 255, 255, 255, 255, 0,
                                   0,   128, 63,  0,   0,   128, 63,  7,   8};
    hd_map m = {0};
    assert_int_equal(hd_map_open(&m, path, NULL), HD_OK);
    uint64_t length;
    memcpy(&length, m.data, 8);
    assert_int_equal(length % 8, 0);
    assert_int_equal(length, (strlen(want) + 7) / 8 * 8);
    assert_memory_equal(m.data + 8, want, strlen(want));
    for (size_t i = strlen(want); i < length; i++) assert_int_equal(m.data[8 + i], ' ');
    assert_int_equal(m.size, 8 + length + sizeof data);
    assert_memory_equal(m.data + 8 + length, data, sizeof data);
    hd_map_close(&m);
}

static void odd_names_and_metadata_come_back(void **state)
{
    (void)state;
    float x = 1;
    hd_tensor t = hd_shaped(&x, HD_F32, 0, NULL);
    static const char *const names[] = {"", "a\"b\\c/d", "tab\there\n", "gr\xc3\xbc\xc3\x9f",
                                        "\xf0\x9f\x98\x80"};
    hd_named entries[5];
    hd_meta meta[5];
    for (int i = 0; i < 5; i++) {
        entries[i] = (hd_named){names[i], &t};
        meta[i] = (hd_meta){names[i], names[4 - i]};
    }
    save(entries, 5, meta, 5);
    hd_safetensors *s = opened();
    assert_int_equal(hd_safetensors_count(s), 5);
    for (int i = 0; i < 5; i++) {
        assert_non_null(hd_safetensors_find(s, names[i]));
        assert_string_equal(hd_safetensors_meta(s, names[i]), names[4 - i]);
    }
    hd_safetensors_free(s);
    save(NULL, 0, NULL, 0);
    s = opened();
    assert_int_equal(hd_safetensors_count(s), 0);
    hd_safetensors_free(s);
}

static void what_could_not_be_read_back_is_not_saved(void **state)
{
    (void)state;
    float x = 1;
    hd_tensor t = hd_shaped(&x, HD_F32, 0, NULL), h = hd_shaped(&x, HD_F16, 0, NULL);
    hd_tensor huge = hd_shaped(&x, HD_F32, 2, (size_t[]){0, SIZE_MAX}),
              narrow = hd_shaped(&x, HD_F32, 2, (size_t[]){1, 1});
    hd_tensor large = hd_shaped(&x, HD_F32, 2, (size_t[]){(size_t)1 << 40, (size_t)1 << 40});
    narrow.stride = 0;
    const struct {
        hd_named entries[2];
        size_t count;
        hd_meta meta[2];
        size_t metas;
        const char *why;
    } cases[] = {
        {{{"a", &t}, {"a", &t}}, 2, {{0}}, 0, "two values under the name 'a'"},
        {{{"a", &t}, {"a", &h}},
         2,
         {{0}},
         0,
         "two values under the name 'a'"}, /* not beside each other when sorted */
        {{{"__metadata__", &t}}, 1, {{0}}, 0, "cannot be named __metadata__"},
        {{{"__metadata__", &t}}, 1, {{"k", "v"}}, 1, "cannot be named __metadata__"},
        {{{"\xff", &t}}, 1, {{0}}, 0, "not UTF-8"},
        {{{"a", &t}}, 1, {{"k", "1"}, {"k", "2"}}, 2, "two values under the name 'k'"},
        {{{"a", &t}}, 1, {{"k", "\xc0\xaf"}}, 1, "'k': name or value is not UTF-8"},
        {{{"a", &t}}, 1, {{"\xff", "v"}}, 1, "not UTF-8"},
        {{{"a", NULL}}, 1, {{0}}, 0, "no valid type, rank or stride"},
        {{{"a", &narrow}}, 1, {{0}}, 0, "no valid type, rank or stride"},
        {{{"a", &huge}}, 1, {{0}}, 0, "too large"},
        {{{"a", &large}}, 1, {{0}}, 0, "too large"},
    };
    unlink(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_err err = {0};
        size_t blocks = hd_mem_now().blocks;
        assert_int_equal(
            hd_safetensors_save(path, cases[i].entries, cases[i].count, cases[i].meta, cases[i].metas, &err),
            HD_EARG);
        if (!strstr(err.text, cases[i].why) || !strstr(err.text, path)) fail_msg("%s", err.text);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

static void assert_old_file_stands(float want)
{
    float x = 0;
    hd_tensor to = hd_shaped(&x, HD_F32, 0, NULL);
    hd_safetensors *s = opened();
    assert_int_equal(hd_safetensors_load(s, "old", &to, NULL), HD_OK);
    assert_true(x == want);
    hd_safetensors_free(s);
    assert_int_equal(files_in_folder(), 1);
}

static void limit_file_size(rlim_t most)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = most;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, most == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
}

static void a_failing_save_leaves_the_old_file(void **state)
{
    (void)state;
    static float big[100000];
    float x = 5;
    hd_tensor old = hd_shaped(&x, HD_F32, 0, NULL), rows = hd_shaped(big, HD_F32, 2, (size_t[]){100, 1000});
    hd_tensor cols = hd_view_cols(&rows, 0, 500);
    const hd_tensor *const targets[] = {&rows, &cols};
    save(&(hd_named){"old", &old}, 1, NULL, 0);
    static const rlim_t limits[] = {0, 4, 100, 5000, 150000};
    for (size_t i = 0; i < 5; i++) {
        for (int k = 0; k < 2; k++) {
            hd_err err = {0};
            limit_file_size(limits[i]);
            hd_status status = hd_safetensors_save(path, &(hd_named){"new", targets[k]}, 1, NULL, 0, &err);
            limit_file_size(RLIM_INFINITY);
            assert_int_equal(status, HD_EFILE);
            assert_non_null(strstr(err.text, path));
            assert_non_null(strstr(err.text, "File too large"));
            assert_old_file_stands(5);
        }
    }
}

static void every_failing_allocation_in_a_save_leaves_the_old_file(void **state)
{
    (void)state;
    float x = 6;
    hd_tensor t = hd_shaped(&x, HD_F32, 0, NULL), m = hd_shaped(&x, HD_F32, 2, (size_t[]){1, 1});
    save(&(hd_named){"old", &t}, 1, NULL, 0);
    const hd_named entries[] = {
        {"first.rather.long.name", &t}, {"second.rather.long.name", &m}, {"third", &t}};
    const hd_meta meta[] = {{"format", "pt"}, {"made", "by a test with a long value"}};
    size_t blocks = hd_mem_now().blocks, n = 1;
    json_set_alloc_funcs(hd_mem_new, hd_mem_free); /* so that Jansson's fail, too */
    for (;; n++) {
        hd_err err = {0};
        size_t calls = hd_mem_now().calls;
        hd_mem_fail_at(n);
        hd_status status = hd_safetensors_save(path, entries, 3, meta, 2, &err);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, blocks);
        if (hd_mem_now().calls - calls < n) {
            assert_int_equal(status, HD_OK);
            break;
        }
        assert_int_equal(status, HD_ENOMEM);
        assert_old_file_stands(6);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(n > 40);
    hd_safetensors *s = opened();
    assert_int_equal(hd_safetensors_count(s), 3);
    hd_safetensors_free(s);
}

static void every_failing_allocation_in_an_open_ends_in_enomem(void **state)
{
    (void)state;
    float x = 7;
    hd_tensor t = hd_shaped(&x, HD_F32, 0, NULL);
    save(&(hd_named){"old", &t}, 1, NULL, 0);
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (;; n++) {
        hd_safetensors *s = NULL;
        hd_err err = {0};
        size_t calls = hd_mem_now().calls;
        hd_mem_fail_at(n);
        hd_status status = hd_safetensors_open(&s, path, &err);
        hd_mem_fail_at(0);
        bool reached = hd_mem_now().calls - calls >= n;
        assert_int_equal(status, reached ? HD_ENOMEM : HD_OK);
        hd_safetensors_free(s);
        assert_int_equal(hd_mem_now().blocks, blocks);
        if (!reached) break;
    }
    assert_true(n > 4);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    hd_safetensors *s = NULL;
    hd_err err = {0};
    assert_int_equal(hd_safetensors_open(&s, "/nowhere/model.safetensors", &err), HD_EFILE);
    assert_non_null(strstr(err.text, "/nowhere/model.safetensors"));
    memset(&err, 0, sizeof err);
    assert_int_equal(hd_safetensors_open(&s, folder, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "folder"));
    assert_null(s);
    hd_safetensors_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hostile_header_is_refused_for_its_reason),
        cmocka_unit_test(every_wrong_header_length_is_refused),
        cmocka_unit_test(nul_bytes_in_the_header_are_refused),
        cmocka_unit_test(deep_json_is_refused),
        cmocka_unit_test(a_long_hostile_name_leaves_room_for_the_reason),
        cmocka_unit_test(a_valid_file_shows_all_its_entries),
        cmocka_unit_test(every_type_of_the_format_is_taken_by_its_size),
        cmocka_unit_test(spaces_around_the_header_are_fine),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_failing_allocation_ends_in_enomem),
        cmocka_unit_test(every_limit_of_memory_ends_in_enomem),
        cmocka_unit_test(unaligned_data_is_converted),
        cmocka_unit_test(a_load_that_does_not_fit_is_refused_with_both_shapes),
        cmocka_unit_test(every_dtype_comes_back_from_a_save),
        cmocka_unit_test(integers_are_not_taken_as_weights),
        cmocka_unit_test(halves_round_on_the_way),
        cmocka_unit_test(scalars_empty_and_strided_tensors_come_back),
        cmocka_unit_test(the_bytes_are_those_of_the_format),
        cmocka_unit_test(odd_names_and_metadata_come_back),
        cmocka_unit_test(what_could_not_be_read_back_is_not_saved),
        cmocka_unit_test(a_failing_save_leaves_the_old_file),
        cmocka_unit_test(every_failing_allocation_in_a_save_leaves_the_old_file),
        cmocka_unit_test(every_failing_allocation_in_an_open_ends_in_enomem),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
