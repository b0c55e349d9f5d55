/* The matrix of confusions: every number in the table, in JSON and in the picture, and files of every kind.
 */
#include "check.h"
#include "scratch.h"

#include <jansson.h>

#include "base/lines.h"
#include "view/confusion.h"
#include "view/plot.h"

static const char *const labels[] = {"Deutsch", "a & <b>", "größer"};
static hd_confusion matrix;

static hd_confusion_view view_of(void)
{
    return (hd_confusion_view){.of = &matrix, .label = labels, .title = "Confusions"};
}

static int fill(void **state)
{
    hd_err err = {0};
    if (scratch_make(state) || hd_confusion_init(&matrix, 3, &err)) return -1;
    static const size_t count[3][3] = {{12, 3, 0}, {1, 4, 0}, {0, 0, 0}};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            for (size_t n = 0; n < count[i][k]; n++) hd_confusion_add(&matrix, i, k);
    return 0;
}

static int drop(void **state)
{
    hd_confusion_release(&matrix);
    return scratch_remove(state);
}

static void the_table_has_every_number(void **state)
{
    (void)state;
    hd_text out = {0};
    hd_pen pen = {.to = &out, .width = 80, .utf8 = true};
    hd_confusion_view v = view_of();
    hd_confusion_text(&pen, &v);
    assert_string_equal(out.data, "         Deut… a & … größ…    right\n"
                                  "Deutsch     12     3     .   80.0 %\n"
                                  "a & <b>      1     4     .   80.0 %\n"
                                  "größer       .     .     .        -\n"
                                  "accuracy 80.00 % (16 of 20), macro-F1 76.19 %, Matthews 0.5447\n");
    hd_text_release(&out);
}

static void json_has_every_number(void **state)
{
    (void)state;
    hd_text out = {0};
    json_error_t e;
    hd_confusion_view v = view_of();
    hd_confusion_json(&out, &v);
    json_t *o = json_loads(out.data, 0, &e);
    if (!o) fail_msg("%s: %s", e.text, out.data);
    assert_true(fabs(json_number_value(json_object_get(o, "accuracy")) - 0.8) < 1e-8);
    json_t *second = json_array_get(json_object_get(o, "labels"), 1);
    assert_string_equal(json_string_value(json_object_get(second, "label")), "a & <b>");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(second, "taken_for"), 0)), 1);
    assert_int_equal(json_integer_value(json_object_get(second, "guessed")), 7);
    json_decref(o);
    hd_text_release(&out);
}

static void the_picture_has_every_number(void **state)
{
    (void)state;
    hd_err err = {0};
    size_t size;
    hd_confusion_view v = view_of();
    if (hd_plot_check(at("c.svg"), &err) || hd_confusion_save(at("c.svg"), &v, &err))
        fail_msg("%s", err.text);
    char *svg = get_file(at("c.svg"), &size);
    assert_int_equal(hd_utf8_good(svg, size), size);
    static const char *const said[] = {">12<",
                                       ">3<",
                                       ">1<",
                                       ">4<",
                                       ">größer<",
                                       ">a &amp; &lt;b&gt;<",
                                       "Deutsch as a &amp; &lt;b&gt;: 3 of 15",
                                       "</svg>\n"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(svg, said[i])) fail_msg("'%s' is not in %s", said[i], svg);
    int cells = 0;
    for (const char *p = svg; (p = strstr(p, "<rect")); p++) cells++;
    assert_int_equal(cells, 9 + 1);
    free(svg);
    if (hd_drawing_missing) return;
    static const char *const files[] = {"c.png", "c.pdf"}, *const begins[] = {"\x89PNG", "%PDF"};
    for (int i = 0; i < 2; i++) {
        if (hd_confusion_save(at("%s", files[i]), &v, &err)) fail_msg("%s", err.text);
        char *bytes = get_file(at("%s", files[i]), &size);
        assert_memory_equal(bytes, begins[i], 4);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_every_number),
        cmocka_unit_test(json_has_every_number),
        cmocka_unit_test(the_picture_has_every_number),
    };
    return cmocka_run_group_tests(tests, fill, drop);
}
