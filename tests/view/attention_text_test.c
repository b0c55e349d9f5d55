/* Attention in a terminal. */
#include "view/maps.h"

#include "view/attention/text.h"
#include "view/draw/text_pen.h"

static const char *const source[] = {"我", "love", "the very long word", "."}, *const target[] = {"ich", "\n",
                                                                                                  "</s>"};
static const float weight[] = {0.9f, 0.05f, 0.05f, 0, 0.1f, 0.5f, 0.3f, 0.1f, 0.25f, 0.25f, 0.25f, 0.25f};

static hd_attention_maps small_maps(void)
{
    hd_attention_maps a = maps_of(&(maps_shape){4, 3, 1, 1, source, target});
    memcpy(a.part[HD_ATTENTION_CROSS].weight, weight, sizeof weight);
    return a;
}

static char *text_of(const hd_attention_maps *a, const hd_attention_look *look)
{
    hd_text t = {0};
    hd_err err = {0};
    if (hd_attention_text(&t, a, look, &err)) fail_msg("%s", err.text);
    char *copy = strdup(t.data);
    hd_text_release(&t);
    return copy;
}

static void a_small_map_looks_like_this(void **state)
{
    (void)state;
    static const struct {
        hd_attention_look look;
        const char *text;
    } cases[] = {{{80, false, true, {0}},
                  "Cross-attention, layer 1 of 1, head 1 of 1\n"
                  "\n"
                  "      我  love the very lo… .\n"
                  "ich   ███\n"
                  "↵         ▒▒▒▒ ░░░░░░░░░░░░\n"
                  "</s>  ░░░ ░░░░ ░░░░░░░░░░░░ ░░░\n"
                  "\n"
                  "░ from 0.2   ▒ 0.4   ▓ 0.6   █ 0.8\n"
                  "\n"
                  "ich  → 我           0.90 ██████████████▍\n"
                  "↵    → love         0.50 ████████\n"
                  "</s> → 我           0.25 ████\n"},
                 {{80, true, true, {0}}, NULL},
                 {{28, false, false, {0}},
                  "Cross-attention, layer 1 of\n"
                  "1, head 1 of 1\n"
                  "\n"
                  "      我  love the ve~ .\n"
                  "ich   ###\n"
                  "\\n        :::: .......\n"
                  "</s>  ... .... ....... ...\n"
                  "\n"
                  ". from 0.2   : 0.4   + 0.6\n"
                  "# 0.8\n"
                  "\n"
                  "ich  > 我      0.90 #######\n"
                  "\\n   > love    0.50 ####\n"
                  "</s> > 我      0.25 ##\n"}};
    hd_attention_maps a = small_maps();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = text_of(&a, &cases[i].look);
        if (cases[i].text) assert_string_equal(text, cases[i].text);
        free(text);
    }
    hd_attention_release(&a);
}

static void color_shades_cells_with_numbers_in_them(void **state)
{
    (void)state;
    hd_attention_maps a = small_maps();
    char *text = text_of(&a, &(hd_attention_look){80, true, true, {0}});
    assert_non_null(
        strstr(text, "\nich   \033[38;5;16;48;5;117m 90\033[0m \033[38;5;252;48;5;235m  5 \033[0m"));
    assert_null(strstr(text, "░"));
    free(text);
    hd_attention_release(&a);
}

/* Long and odd sentences, at every width: nothing is wider, nothing ends in a blank, every token is a row. */
static void lines_fit(void **state)
{
    (void)state;
    static const maps_shape shapes[] = {{17, 15, 2, 2, NULL, NULL},
                                        {120, 60, 1, 2, NULL, NULL},
                                        {1, 1, 1, 1, NULL, NULL},
                                        {4, 3, 1, 1, source, target}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int width = 40; width <= 100; width += 20)
            for (int utf8 = 0; utf8 < 2; utf8++)
                for (int kind = 0; kind <= HD_ATTENTION_KINDS; kind++) {
                    hd_attention_maps a = maps_of(&shapes[i]);
                    char *text = text_of(&a, &(hd_attention_look){width, false, utf8, {.kind = kind}}),
                         *line = text;
                    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
                        *end = 0;
                        if (hd_text_pen_columns(line) > width)
                            fail_msg("%d columns: %s", hd_text_pen_columns(line), line);
                        assert_true(end == line || end[-1] != ' ');
                    }
                    assert_int_equal(*line, 0);
                    free(text);
                    hd_attention_release(&a);
                }
}

static void wide_characters_count_two_columns(void **state)
{
    (void)state;
    assert_int_equal(hd_text_pen_columns("日本語"), 6);
    assert_int_equal(hd_text_pen_columns("é▁→"), 3);
    assert_int_equal(hd_text_pen_columns("e\xCC\x81"), 1); /* a combining accent has none */
    assert_int_equal(hd_text_pen_columns(""), 0);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    hd_attention_maps a = maps_of(&(maps_shape){30, 20, 1, 2, NULL, NULL});
    size_t blocks = hd_mem_now().blocks, n = 0;
    for (size_t calls = n; calls >= n;) {
        hd_err err = {0};
        hd_text t = {0};
        size_t before = hd_mem_now().calls;
        hd_mem_fail_at(++n);
        hd_status s = hd_attention_text(&t, &a, &(hd_attention_look){80, true, true, {0}}, &err);
        hd_mem_fail_at(0);
        calls = hd_mem_now().calls - before;
        hd_text_release(&t);
        assert_int_equal(s, calls >= n ? HD_ENOMEM : HD_OK);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 5);
    hd_attention_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_map_looks_like_this),
        cmocka_unit_test(color_shades_cells_with_numbers_in_them),
        cmocka_unit_test(lines_fit),
        cmocka_unit_test(wide_characters_count_two_columns),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
