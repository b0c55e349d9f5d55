/* Files of torch.save: the tensors are those of PyTorch, and a pickle that does more than make them is
   refused. The files come from torch/make.py. */
#include "check.h"
#include "scratch.h"

#include "tensor/safetensors.h"

#define FILES HEED_SOURCE "/tests/tensor/torch/"

static hd_safetensors *opened(const char *name)
{
    char path[512];
    hd_err err = {0};
    hd_safetensors *s = NULL;
    snprintf(path, sizeof path, FILES "%s", name);
    if (hd_torch_open(&s, path, &err)) fail_msg("%s", err.text);
    return s;
}

static const hd_entry *entry_of(const hd_safetensors *s, const char *name, const char *type, int rank,
                                size_t count)
{
    const hd_entry *e = hd_safetensors_find(s, name);
    assert_non_null(e);
    assert_string_equal(e->type, type);
    assert_int_equal(e->rank, rank);
    assert_int_equal(e->count, count);
    return e;
}

static void tensors_are_those_of_torch(void **state)
{
    (void)state;
    static const char *const names[] = {"archive.bin", "legacy.bin"};
    for (size_t f = 0; f < COUNT_OF(names); f++) {
        hd_safetensors *s = opened(names[f]);
        hd_err err = {0};
        assert_int_equal(hd_safetensors_count(s), 8);
        const hd_entry *table = entry_of(s, "table", "F32", 2, 12), *tied = entry_of(s, "tied", "F32", 2, 12);
        const hd_entry *part = entry_of(s, "part", "F32", 2, 6);
        assert_ptr_equal(table->data, tied->data);
        assert_int_equal(table->shape[0], 4);
        assert_int_equal(table->shape[1], 3);
        float numbers[12];
        memcpy(numbers, table->data, sizeof numbers);
        for (int i = 0; i < 12; i++) assert_true(numbers[i] == (float)i / 8);
        memcpy(numbers, part->data, part->bytes);
        for (int i = 0; i < 6; i++) assert_true(numbers[i] == (float)(i + 3) / 8);
        int64_t count;
        memcpy(&count, entry_of(s, "count", "I64", 0, 1)->data, sizeof count);
        assert_int_equal(count, 7);
        entry_of(s, "none", "F32", 2, 0);
        entry_of(s, "grown", "F32", 1, 2);
        for (int i = 0; i < 2; i++) {
            float wide[2];
            hd_tensor to =
                i ? hd_shaped(wide, HD_F32, 2, (size_t[]){2, 1}) : hd_shaped(wide, HD_F32, 1, (size_t[]){2});
            if (hd_safetensors_load(s, i ? "brain" : "half", &to, &err)) fail_msg("%s", err.text);
            assert_true(wide[0] == 1.5f && wide[1] == -2.0f);
        }
        hd_safetensors_free(s);
    }
}

static void fails(const char *path, const char *why)
{
    hd_err err = {0};
    hd_safetensors *s = NULL;
    hd_status st = hd_torch_open(&s, path, &err);
    assert_null(s);
    assert_int_equal(st, HD_EFORMAT);
    if (!strstr(err.text, why) || !strstr(err.text, path)) fail_msg("%s", err.text);
}

static void what_is_more_than_tensors_is_refused(void **state)
{
    (void)state;
    fails(FILES "call.bin", "it names __builtin__.print, which no dictionary of tensors needs");
    fails(FILES "nested.bin", "\"model\" is not a tensor");
    fails(FILES "turned.bin", "is not contiguous");
    fails(FILES "make.py", "neither an archive nor a pickle of torch.save");
}

#define PROGRAM(text) text, sizeof text - 1

/* The smallest pickles that do something, as the dictionary of a legacy file. */
static void hostile_programs_are_refused(void **state)
{
    (void)state;
    static const char head[] = "\x80\x02\x8a\x0al\xfc\x9c"
                               "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    static const struct {
        const char *program;
        size_t size;
        const char *why;
    } bad[] = {
        {PROGRAM("\x80\x02"
                 "cos\nsystem\nX\x02\x00\x00\x00ls\x85R."),
         "it names os.system"},
        {PROGRAM("\x80\x04}."), "a protocol above 3"},
        {PROGRAM("\x80\x02i"), "the operation 0x69"},
        {PROGRAM("\x80\x02."), "the stack is too short"},
        {PROGRAM("\x80\x02R."), "what is called is no name"},
        {PROGRAM("\x80\x02Nu."), "a mark is not there"},
        {PROGRAM("\x80\x02(s."), "the stack is too short"},
        {PROGRAM("\x80\x02N(Nt\x85s."), "the stack is too short"},
        {PROGRAM("\x80\x02KKNNs."), "items are set in what has none"},
        {PROGRAM("\x80\x02j\xff\xff\xff\xff."), "a value that was kept is not there"},
        {PROGRAM("\x80\x02X\xff\xff\xff\xff"), "it is cut short"},
        {PROGRAM("\x80\x02K\x05Q."), "a storage is unclear"},
        {PROGRAM("\x80\x02"
                 "ctorch._utils\n_rebuild_tensor_v2\n)R."),
         "a tensor is unclear"},
        {PROGRAM("\x80\x02"
                 "ctorch._utils\n_rebuild_parameter\n)R."),
         "a call is unclear"},
        {PROGRAM("\x80\x02"
                 "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storage"
                 "ctorch\nFloatStorage\nX\1\0\0\0kX\3\0\0\0"
                 "cpuK\1NtQK\0(K\5t(K\1t\x89NtR."),
         "a tensor reaches past its storage"},
        {PROGRAM("\x80\x02"
                 "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storage"
                 "ctorch\nFloatStorage\nX\1\0\0\0kX\3\0\0\0"
                 "cpuK\1NtQK\2(K\1t(K\1t\x89NtR."),
         "a tensor reaches past its storage"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char bytes[256];
        size_t size = sizeof head - 1;
        hd_err err = {0};
        hd_safetensors *s = NULL;
        memcpy(bytes, head, size);
        memcpy(bytes + size, bad[i].program, bad[i].size);
        hd_status st = hd_torch_parse(&s, bytes, size + bad[i].size, "it", &err);
        assert_int_equal(st, HD_EFORMAT);
        if (!strstr(err.text, bad[i].why)) fail_msg("%zu: %s", i, err.text);
    }
}

/* Every file with one byte changed, and cut at each length, does no harm. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    static const char *const names[] = {"archive.bin", "legacy.bin"};
    volatile size_t checked = 0;
    for (size_t f = 0; f < COUNT_OF(names); f++) {
        char path[512];
        size_t size = 0;
        snprintf(path, sizeof path, FILES "%s", names[f]);
        char *whole = get_file(path, &size);
        for (size_t i = 0; i < size; i++) {
            char *copy = malloc(size); /* of its own, so that the sanitizer sees its end */
            hd_err err = {0};
            hd_safetensors *s = NULL;
            memcpy(copy, whole, size);
            if (i & 1) copy[i] ^= (char)(1 << (i / 2 % 8));
            if (!hd_torch_parse(&s, copy, i & 1 ? size : i, "it", &err)) {
                uint8_t sum = 0;
                for (size_t k = 0; k < hd_safetensors_count(s); k++)
                    for (size_t b = 0; b < hd_safetensors_at(s, k)->bytes; b++)
                        sum ^= hd_safetensors_at(s, k)->data[b];
                if (sum == 1) checked++; /* reads every byte that an entry has */
            }
            hd_safetensors_free(s);
            free(copy);
        }
        free(whole);
    }
}

static void failing_allocations_are_told(void **state)
{
    (void)state;
    hd_status st = HD_ENOMEM;
    size_t before = hd_mem_now().blocks, n = 0;
    while (st == HD_ENOMEM) {
        hd_err err = {0};
        hd_safetensors *s = NULL;
        hd_mem_fail_at(++n);
        st = hd_torch_open(&s, FILES "archive.bin", &err);
        hd_mem_fail_at(0);
        if (st) assert_non_null(strstr(err.text, "memory"));
        hd_safetensors_free(s);
        assert_int_equal(hd_mem_now().blocks, before);
    }
    assert_int_equal(st, HD_OK);
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_those_of_torch),
        cmocka_unit_test(what_is_more_than_tensors_is_refused),
        cmocka_unit_test(hostile_programs_are_refused),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(failing_allocations_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
