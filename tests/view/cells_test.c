/* Cells: numbers where they fit, shades where they do not, and a rectangle for each that is known. */
#include "check.h"
#include "scratch.h"

#include "view/draw/cells.h"
#include "view/plot.h"

static const double values[] = {1, -0.5, 0.25, NAN, 0.004, 0};
static const char *const rows[] = {"a & <b>", "ü"}, *const cols[] = {"x", "y", "z"};

static hd_cells cells_of(void)
{
    return (hd_cells){.title = "Cells <1>",
                      .across = "keys",
                      .downward = "queries",
                      .value = values,
                      .rows = 2,
                      .cols = 3,
                      .row = rows,
                      .col = cols,
                      .full = 1,
                      .digits = 2};
}

static void assert_text(const hd_cells *v, int width, bool utf8, const char *expected)
{
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = width, .utf8 = utf8};
    hd_cells_text(&pen, v);
    assert_string_equal(out.data, expected);
    hd_text_release(&out);
}

static void numbers_are_written_where_they_fit(void **state)
{
    (void)state;
    hd_cells v = cells_of();
    assert_text(&v, 80, true,
                "Cells <1>\n"
                "             x     y     z\n"
                "a & <b>   1.00 -0.50  0.25\n"
                "      ü         0.00  0.00\n"
                "down: queries; across: keys\n");
    assert_text(&v, 12, true, "Cells <1>\na & <b> █-·\n      ü    \ndown: queries; across: keys\n");
    assert_text(&v, 12, false, "Cells <1>\na & <b> #-.\n      ü    \ndown: queries; across: keys\n");
}

/* More columns than the terminal has are cut, not wrapped. */
static void shades_are_cut_at_the_edge(void **state)
{
    (void)state;
    double many[50];
    for (int i = 0; i < 50; i++) many[i] = 1;
    const hd_cells v = {.title = "t", .value = many, .rows = 1, .cols = 50, .full = 1, .digits = -1};
    assert_text(&v, 10, false, "t\n##########\n");
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) n++;
    return n;
}

static void the_drawing_has_each_known_cell(void **state)
{
    (void)state;
    hd_cells v = cells_of();
    hd_text_file svg = {0};
    hd_err err = {0};
    hd_drawing d = hd_cells_drawing(&v);
    if (hd_drawing_svg(&svg, &d, &err)) fail_msg("%s", err.text);
    assert_int_equal(times(svg.text.data, "<rect"), 5 + 1); /* and the paper */
    static const char *const said[] = {">a &amp; &lt;b&gt;<", ">ü<",     ">z<",    ">keys<",
                                       ">queries<",           ">-0.50<", ">1.00<", "Cells &lt;1&gt;"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(svg.text.data, said[i])) fail_msg("'%s' is not in %s", said[i], svg.text.data);
    hd_text_release(&svg.text);
    /* without numbers in the cells they are what a pointer shows */
    v.digits = -1;
    svg = (hd_text_file){0}, d = hd_cells_drawing(&v);
    if (hd_drawing_svg(&svg, &d, &err)) fail_msg("%s", err.text);
    assert_null(strstr(svg.text.data, ">-0.50<"));
    assert_non_null(strstr(svg.text.data, "<title>-0.5</title>"));
    hd_text_release(&svg.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_where_they_fit),
        cmocka_unit_test(shades_are_cut_at_the_edge),
        cmocka_unit_test(the_drawing_has_each_known_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
