/* The page: what is in it parses, gives the weights back, and nothing in a token gets out of it. */
#include "view/maps.h"

#include <jansson.h>

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

/* The JSON of block n. */
static json_t *block_of(const char *page, size_t n)
{
    static const char begin[] = "<script type=\"application/json\" class=\"sentence\"",
                      title[] = " data-title=\"";
    json_error_t e;
    const char *at = page;
    for (size_t i = 0; i <= n; i++) {
        at = strstr(i ? at + 1 : at, begin);
        assert_non_null(at);
    }
    at = strstr(at, title);
    at = at ? strchr(at + strlen(title), '"') : NULL;
    assert_true(at && at[1] == '>');
    const char *end = strstr(at, "</script>");
    json_t *x = json_loadb(at + 2, (size_t)(end - at - 2), JSON_REJECT_DUPLICATES, &e);
    if (!x) fail_msg("sentence %zu: %s", n, e.text);
    return x;
}

static unsigned digit(char c)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(all, c);
    assert_true(c && at);
    return (unsigned)(at - all);
}

static void assert_weights(const json_t *part, const hd_attention_part *p, bool masked)
{
    size_t from = (size_t)json_integer_value(json_object_get(part, "layer")) - 1,
           layers = (size_t)json_integer_value(json_object_get(part, "layers")),
           first = (size_t)json_integer_value(json_object_get(part, "head")) - 1,
           heads = (size_t)json_integer_value(json_object_get(part, "heads"));
    const char *at = json_string_value(json_object_get(part, "weights"));
    assert_int_equal(json_integer_value(json_object_get(part, "rows")), p->rows);
    assert_int_equal(json_integer_value(json_object_get(part, "cols")), p->cols);
    assert_int_equal(json_is_true(json_object_get(part, "masked")), masked);
    for (size_t k = 0; k < layers * heads; k++)
        for (size_t i = 0; i < p->rows; i++)
            for (size_t j = 0; j < (masked ? i + 1 : p->cols); j++, at += 4) {
                uint32_t bits = (digit(at[0]) << 18 | digit(at[1]) << 12 | digit(at[2]) << 6 | digit(at[3]))
                                << 8;
                float v, w = hd_attention_at(p, from + k / heads, first + k % heads)[i * p->cols + j];
                memcpy(&v, &bits, sizeof v);
                assert_true(fabs((double)v - (double)w) <= (double)w * 0x1p-16); /* 16 bits, rounded */
            }
    assert_int_equal(*at, 0);
}

static void weights_read_back_to_four_digits(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a[2] = {maps_of(&(maps_shape){6, 4, 2, 3, NULL, NULL}),
                              maps_of(&(maps_shape){1, 9, 1, 1, NULL, NULL})};
    maps_write(&f, "a.html", NULL, a, 2);
    char *page = maps_read(&f, "a.html", NULL);
    for (size_t i = 0; i < 2; i++) {
        json_t *x = block_of(page, i), *attention = json_object_get(x, "attention");
        assert_int_equal(json_array_size(json_object_get(x, "source_tokens")), a[i].sources);
        for (int k = 0; k < HD_ATTENTION_KINDS; k++)
            assert_weights(json_object_get(attention, hd_attention_name((hd_attention_kind)k)), &a[i].part[k],
                           k == HD_ATTENTION_DECODER);
        json_decref(x);
    }
    free(page);
    maps_write(&f, "b.html", &(hd_attention_pick){1 + HD_ATTENTION_CROSS, 2, 3}, a, 1);
    page = maps_read(&f, "b.html", NULL);
    json_t *x = block_of(page, 0), *attention = json_object_get(x, "attention");
    assert_int_equal(json_object_size(attention), 1);
    assert_weights(json_object_get(attention, "cross"), &a[0].part[HD_ATTENTION_CROSS], false);
    json_decref(x);
    free(page);
    for (int i = 0; i < 2; i++) hd_attention_release(&a[i]);
    maps_folder_free(&f);
}

static void the_page_needs_nothing_from_outside(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){3, 3, 1, 1, NULL, NULL});
    maps_write(&f, "a.html", NULL, &a, 1);
    char *page = maps_read(&f, "a.html", NULL);
    static const char *const never[] = {"http:", "https:", " src=", " href=", "@import", "url(", "import("};
    for (size_t i = 0; i < COUNT_OF(never); i++)
        if (strstr(page, never[i])) fail_msg("the page has %s", never[i]);
    assert_non_null(strstr(page, "Content-Security-Policy\" content=\"default-src 'none'"));
    assert_int_equal(strncmp(page, "<!doctype html>", 15), 0);
    assert_int_equal(count_of(page, "<style>"), 1);
    assert_int_equal(count_of(page, "</style>"), 1);
    assert_int_equal(count_of(page, "<script"), 2); /* one sentence and the page's own */
    assert_int_equal(count_of(page, "</script>"), 2);
    assert_non_null(strstr(page, "prefers-color-scheme"));
    assert_non_null(strstr(page, "</html>"));
    assert_null(strstr(page, "<!-- sentences -->"));
    free(page);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static void no_token_gets_out_of_its_block(void **state)
{
    (void)state;
    static const char *const evil[] = {"</script>", "<!--<script>", "\"><script>alert(1)</script>", "'",
                                       "&lt;"};
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){5, 5, 1, 1, evil, evil});
    maps_write(&f, "tokens.html", NULL, &a, 1); /* the title is made of tokens */
    a.sentence = evil[2];
    a.translation = evil[1];
    maps_write(&f, "texts.html", NULL, &a, 1);
    for (int i = 0; i < 2; i++) {
        char *page = maps_read(&f, i ? "texts.html" : "tokens.html", NULL);
        assert_int_equal(count_of(page, "<script"), 2);
        assert_int_equal(count_of(page, "</script>"), 2);
        json_t *x = block_of(page, 0), *tokens = json_object_get(x, "source_tokens");
        for (size_t t = 0; t < COUNT_OF(evil); t++)
            assert_string_equal(json_string_value(json_array_get(tokens, t)), evil[t]);
        json_decref(x);
        free(page);
    }
    hd_attention_release(&a);
    maps_folder_free(&f);
}

/* Two parts of line 3 and a line of its own: each is called what it is. */
static void parts_of_a_line_are_told_apart(void **state)
{
    (void)state;
    static const char arabic[] = "كيف حالك (يا صديقي)؟";
    maps_folder f = maps_folder_new();
    hd_attention_maps a[3];
    for (size_t i = 0; i < 3; i++) {
        a[i] = maps_of(&(maps_shape){3, 3, 1, 1, NULL, NULL});
        a[i].place = i < 2 ? (hd_attention_place){3, i + 1, 2} : (hd_attention_place){4, 1, 1};
        a[i].sentence = arabic;
        a[i].translation = "Hi .";
    }
    a[0].source[1].piece = "house*", a[0].source[1].word = "house";
    maps_write(&f, "a.html", NULL, a, 3);
    char *page = maps_read(&f, "a.html", NULL);
    static const char *const places[] = {" data-place=\"3, part 1 of 2\"", " data-place=\"3, part 2 of 2\"",
                                         " data-place=\"4\""};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(count_of(page, places[i]), 1);
        json_t *x = block_of(page, i);
        assert_int_equal(json_integer_value(json_object_get(x, "line")), i < 2 ? 3 : 4);
        assert_int_equal(json_integer_value(json_object_get(x, "part")), i < 2 ? (int)i + 1 : 0);
        assert_int_equal(json_integer_value(json_object_get(x, "parts")), i < 2 ? 2 : 0);
        assert_int_equal(json_array_size(json_object_get(x, "source_unknown")), i == 0);
        json_decref(x);
    }
    free(page);
    for (int i = 0; i < 3; i++) hd_attention_release(&a[i]);
    maps_folder_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_read_back_to_four_digits),
        cmocka_unit_test(the_page_needs_nothing_from_outside),
        cmocka_unit_test(no_token_gets_out_of_its_block),
        cmocka_unit_test(parts_of_a_line_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
