/* The matrix of confusions: every number in the table, in JSON and in the picture, and files of every kind.
 */
#include "check.h"
#include "scratch.h"

#include <jansson.h>

#include "base/file/lines.h"
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
            for (size_t n = 0; n < count[i][k]; n++) hd_confusion_add(&matrix, i, k, &err);
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
    hd_text_pen pen = {.to = &out, .width = 80, .utf8 = true};
    hd_confusion_view v = view_of();
    assert_int_equal(hd_confusion_text(&pen, &v, NULL), HD_OK);
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
    assert_int_equal(hd_confusion_json(&out, &v, NULL), HD_OK);
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

/* Of many labels only what occurs is listed: the matrix would be the square of them. */
static void many_labels_are_listed(void **state)
{
    (void)state;
    enum { MANY = HD_CONFUSION_MATRIX + 1 };
    static char name[MANY][8];
    static const char *label[MANY];
    hd_confusion c;
    hd_err err = {0};
    hd_text out = {0}, json = {0};
    hd_text_pen pen = {.to = &out, .width = 40, .utf8 = true};
    for (size_t i = 0; i < MANY; i++) label[i] = name[i], snprintf(name[i], sizeof name[i], "l%zu", i);
    if (hd_confusion_init(&c, MANY, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < 7; i++)
        for (size_t n = 0; n <= i % 4; n++) assert_int_equal(hd_confusion_add(&c, 3, 3 + i, &err), HD_OK);
    assert_int_equal(hd_confusion_add(&c, 200, 200, &err), HD_OK);
    hd_confusion_view v = {.of = &c, .label = label, .title = "Many"};
    assert_int_equal(hd_confusion_text(&pen, &v, &err), HD_OK);
    /* by hand: l3 has 1 + 2 + 3 + 4 + 1 + 2 + 3 items, of which 1 is right; F1 2 / 17 and 1, of 8 labels;
       Matthews (2 17 - 17) / sqrt(17² - 257) / sqrt(17² - 45) */
    assert_string_equal(out.data, "l3                      6.2 % of 16: l6 4, l5 3, l9 3, l4 2, l8 2, ...\n"
                                  "l200                  100.0 % of 1: l200 1\n"
                                  "accuracy 11.76 % (2 of 17), macro-F1 13.97 %, Matthews 0.1924\n");
    assert_int_equal(hd_confusion_json(&json, &v, &err), HD_OK);
    json_error_t e;
    json_t *o = json_loads(json.data, JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", e.text, json.data);
    json_t *rows = json_object_get(o, "labels"),
           *taken = json_object_get(json_array_get(rows, 3), "taken_for");
    assert_int_equal(json_object_size(taken), 7);
    assert_int_equal(json_integer_value(json_object_get(taken, "l6")), 4);
    taken = json_object_get(json_array_get(rows, 0), "taken_for");
    assert_true(json_is_object(taken) && !json_object_size(taken));
    json_decref(o);
    assert_int_equal(hd_confusion_save(at("many.svg"), &v, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "many.svg: a matrix of 201 labels is too large to draw: at most 200"));
    hd_text_release(&out);
    hd_text_release(&json);
    hd_confusion_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_every_number),
        cmocka_unit_test(json_has_every_number),
        cmocka_unit_test(the_picture_has_every_number),
        cmocka_unit_test(many_labels_are_listed),
    };
    return cmocka_run_group_tests(tests, fill, drop);
}
