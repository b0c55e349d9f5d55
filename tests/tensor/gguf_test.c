/* GGUF files: what they hold comes out, and broken ones are refused. Numbers of quantized blocks are those of
   the Python package gguf 0.19. */
#include <math.h>

#include "base/mem.h"
#include "data/fixture.h"
#include "tensor/gguf_file.h"
#include "tensor/tensor.h"

static hd_gguf *parsed(const hd_text *file)
{
    hd_gguf *g = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_gguf_parse(&g, file->data, file->size, "a.gguf", &err), err);
    return g;
}

static void refused(const hd_text *file, size_t size, const char *message)
{
    hd_gguf *g = NULL;
    hd_err err = {0};
    char *copy = malloc(size + 1); /* of its own, so that a read past its end is seen */
    memcpy(copy, file->data, size);
    assert_int_equal(hd_gguf_parse(&g, copy, size, "a.gguf", &err), HD_EFORMAT);
    assert_null(g);
    if (!strstr(err.text, message)) fail_msg("'%s' has no '%s'", err.text, message);
    free(copy);
}

/* -- values -- */

static hd_text values(void)
{
    hd_text t = {0};
    const double big = 2.5;
    gguf_begin(&t, 0, 6);
    gguf_key_u32(&t, "llama.block_count", 30);
    gguf_key_f32(&t, "llama.eps", 0.5f);
    gguf_key_text(&t, "general.name", "SmolLM");
    gguf_key(&t, "flag", HD_GGUF_BOOL);
    gguf_put(&t, "\1", 1);
    gguf_key(&t, "words", HD_GGUF_LIST);
    gguf_u32(&t, HD_GGUF_TEXT);
    gguf_u64(&t, 3);
    for (int i = 0; i < 3; i++) gguf_text(&t, (const char *[]){"a", "", "bcd"}[i]);
    gguf_key(&t, "reals", HD_GGUF_LIST);
    gguf_u32(&t, HD_GGUF_F64);
    gguf_u64(&t, 1);
    gguf_put(&t, &big, sizeof big);
    return t;
}

static void values_are_read(void **state)
{
    (void)state;
    hd_text file = values();
    hd_gguf *g = parsed(&file);
    int64_t whole = 0;
    double real = 0;
    bool flag = false;
    hd_line text;
    assert_true(hd_gguf_whole(hd_gguf_find(g, "llama.block_count"), &whole) && whole == 30);
    assert_true(hd_gguf_real(hd_gguf_find(g, "llama.eps"), &real) && real == 0.5);
    assert_false(hd_gguf_whole(hd_gguf_find(g, "llama.eps"), &whole));
    assert_true(hd_gguf_text(hd_gguf_find(g, "general.name"), &text) && text.size == 6);
    assert_true(hd_gguf_switch(hd_gguf_find(g, "flag"), &flag) && flag);
    assert_null(hd_gguf_find(g, "other"));
    assert_false(hd_gguf_text(NULL, &text));
    hd_gguf_value rest = *hd_gguf_find(g, "words"), item;
    size_t sizes[3], n = 0;
    while (hd_gguf_next(&rest, &item)) {
        assert_true(hd_gguf_text(&item, &text));
        sizes[n++] = text.size;
    }
    assert_true(n == 3 && sizes[0] == 1 && sizes[1] == 0 && sizes[2] == 3);
    rest = *hd_gguf_find(g, "reals");
    assert_true(hd_gguf_next(&rest, &item) && hd_gguf_real(&item, &real) && real == 2.5);
    assert_false(hd_gguf_next(&rest, &item));
    hd_gguf_free(g);
    hd_text_release(&file);
}

/* -- tensors -- */

static const struct {
    const char *name;
    uint32_t type;
    size_t numbers, bytes;
    struct {
        int at; /* -1: no more */
        float value;
    } half[2];
    double first, last, sum, weighted;
} blocks[] = {
    {"Q4_0", 2, 32, 18, {{0, .5f}, {-1, 0}}, -1.5, 0, -10.5, -259},
    {"Q4_1", 3, 32, 20, {{0, .25f}, {2, -1.5f}}, 2.25, 1.5, 13.25, 203.75},
    {"Q8_0", 8, 32, 34, {{0, .125f}, {-1, 0}}, 10.625, -6, -22, -1010},
    {"Q4_K", 12, 256, 144, {{0, .0625f}, {2, .03125f}}, 19.71875, 3.03125, 3402.5, 473302.5},
    {"Q6_K", 14, 256, 210, {{208, .015625f}, {-1, 0}}, -22.359375, -0.9375, 72.0625, 12256.5625},
};

static void blocks_are_widened_as_the_reference_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        uint8_t block[256];
        float x[512];
        hd_text file = {0};
        for (size_t k = 0; k < blocks[i].bytes; k++) block[k] = (uint8_t)(k * 37 + 11);
        for (int k = 0; k < 2 && blocks[i].half[k].at >= 0; k++)
            hd_convert(block + blocks[i].half[k].at, HD_F16, &blocks[i].half[k].value, HD_F32, 1);
        gguf_begin(&file, 1, 0);
        gguf_tensor(&file, "w", 2, blocks[i].numbers, blocks[i].type, 0);
        gguf_pad(&file, 32);
        for (int k = 0; k < 2; k++) gguf_put(&file, block, blocks[i].bytes);
        hd_gguf *g = parsed(&file);
        const hd_gguf_tensor *t = hd_gguf_tensor_of(g, "w");
        assert_non_null(t);
        assert_int_equal(t->shape[0], 2);
        assert_int_equal(t->shape[1], blocks[i].numbers);
        hd_gguf_widen(t, x);
        double sum = 0, weighted = 0;
        size_t n = blocks[i].numbers;
        for (size_t k = 0; k < n; k++) sum += (double)x[k], weighted += (double)x[k] * (double)(k + 1);
        if ((double)x[0] != blocks[i].first || (double)x[n - 1] != blocks[i].last || sum != blocks[i].sum ||
            weighted != blocks[i].weighted)
            fail_msg("%s: %g %g %g %g", blocks[i].name, (double)x[0], (double)x[n - 1], sum, weighted);
        assert_memory_equal(x, x + n, n * sizeof *x);
        hd_gguf_free(g);
        hd_text_release(&file);
    }
}

static void plain_numbers_are_widened(void **state)
{
    (void)state;
    static const uint32_t type[] = {0, 1, 30};
    static const hd_dtype same[] = {HD_F32, HD_F16, HD_BF16};
    const float value[3] = {1, -2.5f, 0.375f};
    for (size_t i = 0; i < COUNT_OF(type); i++) {
        uint8_t bytes[12];
        float x[3];
        hd_text file = {0};
        hd_convert(bytes, same[i], value, HD_F32, 3);
        gguf_begin(&file, 1, 1);
        gguf_key_u32(&file, "general.alignment", 64);
        gguf_tensor(&file, "w", 0, 3, type[i], 64);
        gguf_pad(&file, 64);
        for (int k = 0; k < 64; k++) gguf_put(&file, "x", 1);
        gguf_put(&file, bytes, 3 * hd_dtype_bytes(same[i]));
        hd_gguf *g = parsed(&file);
        assert_int_equal(hd_gguf_count(g), 1);
        assert_int_equal(hd_gguf_at(g, 0)->rank, 1);
        hd_gguf_widen(hd_gguf_at(g, 0), x);
        assert_memory_equal(x, value, sizeof value);
        hd_gguf_free(g);
        hd_text_release(&file);
    }
}

/* -- broken files -- */

static void every_cut_is_refused(void **state)
{
    (void)state;
    hd_text file = values();
    for (size_t size = 0; size < file.size; size++) refused(&file, size, "");
    hd_text_release(&file);
}

static void broken_files_say_why(void **state)
{
    (void)state;
    hd_text file = {0};
#define CASE(message, ...) \
    file.size = 0;         \
    __VA_ARGS__;           \
    refused(&file, file.size, message)
    CASE("not a GGUF file", hd_text_put(&file, "GGML"); gguf_u64(&file, 0));
    CASE("version 50331648 of GGUF", hd_text_put(&file, "GGUF"); gguf_u32(&file, 3u << 24));
    CASE("more tensors than it can", gguf_begin(&file, 1ull << 60, 0));
    CASE("more keys than it can", gguf_begin(&file, 0, 1ull << 60));
    CASE("key \"a\" is there twice", gguf_begin(&file, 0, 2); gguf_key_u32(&file, "a", 1);
         gguf_key_u32(&file, "a", 1));
    CASE("a name is empty", gguf_begin(&file, 0, 1); gguf_key_u32(&file, "", 1));
    CASE("a type that is not known", gguf_begin(&file, 0, 1); gguf_key(&file, "abcdefgh", 77));
    CASE("cut short", gguf_begin(&file, 0, 1); gguf_key(&file, "abcd", HD_GGUF_LIST);
         gguf_u32(&file, HD_GGUF_TEXT); gguf_u64(&file, 1ull << 60));
    CASE("cut short", gguf_begin(&file, 0, 1); gguf_key(&file, "abcd", HD_GGUF_LIST);
         gguf_u32(&file, HD_GGUF_U64); gguf_u64(&file, 1ull << 61));
    CASE("a type that is not known", gguf_begin(&file, 0, 1); gguf_key(&file, "abcd", HD_GGUF_LIST);
         gguf_u32(&file, HD_GGUF_LIST); gguf_u64(&file, 1));
    CASE("\"general.alignment\"", gguf_begin(&file, 0, 1); gguf_key_u32(&file, "general.alignment", 0));
    CASE("the type 77; heed reads F32", gguf_begin(&file, 1, 0); gguf_tensor(&file, "w", 1, 4, 77, 0));
    CASE("no whole number of blocks", gguf_begin(&file, 1, 0); gguf_tensor(&file, "w", 8, 4, 8, 0));
    CASE("its size is none", gguf_begin(&file, 1, 0); gguf_tensor(&file, "w", 1ull << 40, 1ull << 40, 0, 0));
    CASE("its size is none", gguf_begin(&file, 1, 0); gguf_tensor(&file, "w", 1, 0, 0, 0));
    CASE("'w': its numbers are not in the file", gguf_begin(&file, 1, 0); gguf_tensor(&file, "w", 1, 4, 0, 8);
         gguf_pad(&file, 32); gguf_u64(&file, 0));
    CASE("it is there twice", gguf_begin(&file, 2, 0); gguf_tensor(&file, "w", 1, 1, 0, 0);
         gguf_tensor(&file, "w", 1, 1, 0, 0); gguf_pad(&file, 32); gguf_u64(&file, 0));
    CASE("more than 4 dimensions", gguf_begin(&file, 1, 0); gguf_text(&file, "w"); gguf_u32(&file, 5);
         gguf_u64(&file, 1); gguf_u64(&file, 1));
    hd_text_release(&file);
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    hd_text file = values();
    size_t blocks_before = hd_mem_now().blocks;
    for (size_t n = 1;; n++) {
        hd_gguf *g = NULL;
        hd_err err = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_gguf_parse(&g, file.data, file.size, "a.gguf", &err);
        hd_mem_fail_at(0);
        hd_gguf_free(g);
        assert_int_equal(hd_mem_now().blocks, blocks_before);
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
    }
    hd_text_release(&file);
}

static void files_are_mapped(void **state)
{
    (void)state;
    hd_text file = values();
    hd_gguf *g = NULL;
    hd_err err = {0};
    const char *path = put_file("a.gguf", file.data, file.size);
    ASSERT_OK(hd_gguf_open(&g, path, &err), err);
    assert_string_equal(hd_gguf_file(g), path);
    hd_gguf_free(g);
    g = NULL;
    assert_int_equal(hd_gguf_open(&g, in_folder("none.gguf"), &err), HD_EFILE);
    hd_text_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(blocks_are_widened_as_the_reference_does),
        cmocka_unit_test(plain_numbers_are_widened),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(broken_files_say_why),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(files_are_mapped),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
