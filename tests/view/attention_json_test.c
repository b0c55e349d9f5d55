/* The JSON file, read back by Jansson. */
#include "view/maps.h"

#include <jansson.h>

static json_t *read_back(const maps_folder *f, const char *name)
{
    json_error_t e;
    char *text = maps_read(f, name, NULL);
    assert_non_null(text);
    json_t *x = json_loads(text, JSON_REJECT_DUPLICATES, &e);
    if (!x) fail_msg("%s:%d: %s", name, e.line, e.text);
    free(text);
    return x;
}

static const json_t *sentence_of(const json_t *x, size_t i)
{
    return json_array_get(json_object_get(x, "sentences"), i);
}

static void assert_names(const json_t *sentence, const char *key, const hd_shown_token *names, size_t count)
{
    const json_t *list = json_object_get(sentence, key);
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(json_string_value(json_array_get(list, i)), hd_shown_plain(&names[i]));
}

/* Layers and heads of a part from the given ones on. */
static void assert_part(const json_t *x, const hd_attention_part *p, size_t layer, size_t head)
{
    for (size_t l = 0; l < json_array_size(x); l++) {
        const json_t *heads = json_array_get(x, l);
        for (size_t h = 0; h < json_array_size(heads); h++) {
            const json_t *rows = json_array_get(heads, h);
            const float *weight = hd_attention_at(p, layer + l, head + h);
            assert_int_equal(json_array_size(rows), p->rows);
            for (size_t i = 0; i < p->rows; i++) {
                const json_t *row = json_array_get(rows, i);
                assert_int_equal(json_array_size(row), p->cols);
                for (size_t j = 0; j < p->cols; j++)
                    assert_true((float)json_number_value(json_array_get(row, j)) == weight[i * p->cols + j]);
            }
        }
    }
}

static void assert_size(const json_t *x, size_t layers, size_t heads)
{
    assert_int_equal(json_array_size(x), layers);
    for (size_t l = 0; l < layers; l++) assert_int_equal(json_array_size(json_array_get(x, l)), heads);
}

static void numbers_read_back_exactly(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a[2] = {maps_of(&(maps_shape){7, 5, 3, 2, NULL, NULL}),
                              maps_of(&(maps_shape){1, 1, 1, 1, NULL, NULL})};
    a[0].part[0].weight[0] = 1e-30f, a[0].part[0].weight[1] = 1, a[0].part[0].weight[2] = 1.0f / 3;
    a[1].score = -INFINITY;
    a[0].sentence = "ein Satz";
    maps_write(&f, "a.json", NULL, a, 2);
    json_t *x = read_back(&f, "a.json");
    assert_int_equal(json_integer_value(json_object_get(x, "format")), 1);
    assert_null(json_object_get(x, "only"));
    assert_int_equal(json_array_size(json_object_get(x, "sentences")), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *s = sentence_of(x, i);
        assert_names(s, "source_tokens", a[i].source, a[i].sources);
        assert_names(s, "input_tokens", a[i].input, a[i].targets);
        assert_names(s, "output_tokens", a[i].output, a[i].targets);
        const json_t *attention = json_object_get(s, "attention");
        assert_int_equal(json_object_size(attention), HD_ATTENTION_KINDS);
        for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
            const json_t *part = json_object_get(attention, hd_attention_name((hd_attention_kind)k));
            assert_size(part, a[i].part[k].layers, a[i].part[k].heads);
            assert_part(part, &a[i].part[k], 0, 0);
        }
    }
    assert_string_equal(json_string_value(json_object_get(sentence_of(x, 0), "source")), "ein Satz");
    assert_true(json_is_null(json_object_get(sentence_of(x, 0), "translation")));
    assert_true(json_real_value(json_object_get(sentence_of(x, 0), "score")) == -1.25);
    assert_true(json_is_null(json_object_get(sentence_of(x, 1), "score")));
    json_decref(x);
    for (int i = 0; i < 2; i++) hd_attention_release(&a[i]);
    maps_folder_free(&f);
}

static void any_token_is_valid(void **state)
{
    (void)state;
    static const char *const odd[] = {"\"", "\\", "\n\t\x01\x7f", "</script>", "日本", "\xEF\xBF\xBE",
                                      "",   " "};
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){8, 8, 1, 1, odd, odd});
    maps_write(&f, "odd.json", NULL, &a, 1);
    json_t *x = read_back(&f, "odd.json");
    assert_names(sentence_of(x, 0), "source_tokens", a.source, 8);
    assert_names(sentence_of(x, 0), "output_tokens", a.output, 8);
    json_decref(x);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static void a_file_can_be_restricted(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){4, 3, 3, 4, NULL, NULL});
    maps_write(&f, "cross.json", &(hd_attention_pick){1 + HD_ATTENTION_CROSS, 2, 3}, &a, 1);
    json_t *x = read_back(&f, "cross.json"), *only = json_object_get(x, "only");
    const json_t *attention = json_object_get(sentence_of(x, 0), "attention");
    assert_string_equal(json_string_value(json_object_get(only, "kind")), "cross");
    assert_int_equal(json_integer_value(json_object_get(only, "layer")), 2);
    assert_int_equal(json_integer_value(json_object_get(only, "head")), 3);
    assert_int_equal(json_object_size(attention), 1);
    assert_size(json_object_get(attention, "cross"), 1, 1);
    assert_part(json_object_get(attention, "cross"), &a.part[HD_ATTENTION_CROSS], 1, 2);
    json_decref(x);
    maps_write(&f, "head.json", &(hd_attention_pick){.head = 4}, &a, 1);
    x = read_back(&f, "head.json");
    attention = json_object_get(sentence_of(x, 0), "attention");
    assert_int_equal(json_object_size(attention), 3);
    assert_size(json_object_get(attention, "encoder"), 3, 1);
    assert_part(json_object_get(attention, "encoder"), &a.part[HD_ATTENTION_ENCODER], 0, 3);
    json_decref(x);
    maps_write(&f, "none.json", &(hd_attention_pick){.layer = 9}, &a, 1);
    x = read_back(&f, "none.json");
    assert_size(json_object_get(json_object_get(sentence_of(x, 0), "attention"), "encoder"), 0, 0);
    json_decref(x);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static void no_sentence_is_an_empty_list(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    maps_write(&f, "none.json", NULL, NULL, 0);
    json_t *x = read_back(&f, "none.json");
    assert_int_equal(json_array_size(json_object_get(x, "sentences")), 0);
    json_decref(x);
    maps_folder_free(&f);
}

static void memory_does_not_grow_with_the_file(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    char path[128];
    hd_err err = {0};
    hd_attention_file *file = NULL;
    hd_attention_maps a = maps_of(&(maps_shape){30, 30, 4, 4, NULL, NULL});
    assert_int_equal(hd_attention_file_open(&file, maps_path(&f, "a.json", path), NULL, &err), HD_OK);
    size_t peak[2];
    for (int round = 0; round < 2; round++) {
        hd_mem_peak_reset();
        for (int i = 0; i < 4; i++) assert_int_equal(hd_attention_file_add(file, &a, &err), HD_OK);
        peak[round] = hd_mem_now().peak;
    }
    assert_int_equal(hd_attention_file_close(file, &err), HD_OK);
    size_t size;
    free(maps_read(&f, "a.json", &size));
    assert_true(size > 4000000);
    assert_true(peak[1] <= peak[0] && peak[0] - hd_mem_now().used < 600000);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back_exactly),          cmocka_unit_test(any_token_is_valid),
        cmocka_unit_test(a_file_can_be_restricted),           cmocka_unit_test(no_sentence_is_an_empty_list),
        cmocka_unit_test(memory_does_not_grow_with_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
