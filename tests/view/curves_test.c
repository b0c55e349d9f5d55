/* Curves as a plot: a mark where each number belongs, lines between neighbors, all names, in every format.
 */
#include "check.h"
#include "scratch.h"

#include "base/file/lines.h"
#include "view/curves.h"
#include "view/plot.h"

enum { POINTS = 4 };

static const hd_curve_point points[POINTS] = {
    {"1-9", "n = 30"}, {"10-14", "n = 0"}, {"15-19", NULL}, {"20-", NULL}};
static const double first[POINTS] = {30, NAN, 20, 25}, second[POINTS] = {24, 22, 26, 28};
static const hd_curve curves[] = {{"a & <b>", first}, {"größer", second}};

static hd_curves curves_of(size_t count, size_t over)
{
    return (hd_curves){.title = "By length",
                       .across = "words",
                       .upward = "BLEU",
                       .point = points,
                       .points = over,
                       .curve = curves,
                       .curves = count};
}

static char *svg_of(hd_curves v)
{
    hd_err err = {0};
    size_t size;
    hd_drawing d = hd_curves_drawing(&v);
    if (hd_plot_check(at("c.svg"), &err) || hd_plot_save(at("c.svg"), &d, &err)) fail_msg("%s", err.text);
    char *svg = get_file(at("c.svg"), &size);
    assert_int_equal(hd_utf8_good(svg, size), size);
    assert_null(strstr(svg, "nan"));
    return svg;
}

typedef struct mark {
    double x, y; /* of its middle */
} mark;

/* Marks, which are all 7 wide and high. */
static size_t marks_in(const char *svg, mark *to, size_t room)
{
    size_t n = 0;
    for (const char *p = svg; (p = strstr(p, "<rect")); p++) {
        double x, y, w, h;
        if (sscanf(p, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, &y, &w, &h) != 4)
            fail_msg("%.80s", p);
        if (w < 7 || w > 7 || h < 7 || h > 7) continue;
        assert_true(n < room);
        to[n++] = (mark){x + 3.5, y + 3.5};
    }
    return n;
}

static size_t lines_in(const char *svg)
{
    size_t n = 0;
    for (const char *p = svg; (p = strstr(p, "<line")); p++) n++;
    return n;
}

static void marks_stand_for_numbers(void **state)
{
    (void)state;
    mark m[8];
    char *svg = svg_of(curves_of(2, POINTS));
    assert_int_equal(marks_in(svg, m, 8), 7);    /* one is not a number */
    assert_int_equal(lines_in(svg), 2 + 1 + 3);  /* beside the names, of the first, of the second */
    double unit = (m[1].y - m[0].y) / (30 - 20); /* pixels of one */
    assert_true(unit > 5);
    static const double value[] = {30, 20, 25, 24, 22, 26, 28};
    static const int place[] = {0, 2, 3, 0, 1, 2, 3};
    double apart = (m[1].x - m[0].x) / 2;
    for (size_t i = 0; i < 7; i++) {
        assert_true(fabs(m[i].y - m[0].y - (30 - value[i]) * unit) < 1e-2);
        assert_true(fabs(m[i].x - m[0].x - place[i] * apart) < 1e-2);
    }
    static const char *const said[] = {"<title>By length</title>",
                                       ">a &amp; &lt;b&gt;<",
                                       ">größer<",
                                       ">1-9<",
                                       ">20-<",
                                       ">n = 30<",
                                       ">words<",
                                       ">BLEU<",
                                       "<title>25.00</title>",
                                       ">30<",
                                       ">20<",
                                       "</svg>\n"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(svg, said[i])) fail_msg("no '%s' in %s", said[i], svg);
    free(svg);
}

static void lines_join_the_marks(void **state)
{
    (void)state;
    mark m[8];
    char *svg = svg_of(curves_of(2, POINTS)), *last = strstr(svg, "<line");
    for (char *p = last; p; p = strstr(p + 1, "<line")) last = p;
    double x, y, to_x, to_y;
    if (sscanf(last, "<line x1=\"%lf\" y1=\"%lf\" x2=\"%lf\" y2=\"%lf\"", &x, &y, &to_x, &to_y) != 4)
        fail_msg("%.80s", last);
    marks_in(svg, m, 8);
    assert_true(fabs(x - m[5].x) < 1e-2 && fabs(y - m[5].y) < 1e-2);
    assert_true(fabs(to_x - m[6].x) < 1e-2 && fabs(to_y - m[6].y) < 1e-2);
    free(svg);
}

static void little_and_nothing_are_drawn(void **state)
{
    (void)state;
    static const size_t curve_count[] = {0, 1, 1, 2}, point_count[] = {0, 0, 1, 1}, marks[] = {0, 0, 1, 2};
    mark m[8];
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        char *svg = svg_of(curves_of(curve_count[i], point_count[i]));
        assert_int_equal(marks_in(svg, m, 8), marks[i]);
        free(svg);
    }
}

static void other_formats_are_what_they_claim(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_curves v = curves_of(2, POINTS);
    hd_drawing d = hd_curves_drawing(&v);
    if (hd_drawing_missing) {
        assert_int_equal(hd_plot_save(at("c.png"), &d, &err), HD_EMISSING);
        return;
    }
    if (hd_plot_save(at("c.png"), &d, &err) || hd_plot_save(at("c.pdf"), &d, &err)) fail_msg("%s", err.text);
    char *png = get_file(at("c.png"), NULL), *pdf = get_file(at("c.pdf"), NULL);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(pdf, "%PDF-1.4", 8);
    free(png);
    free(pdf);
}

static void axes_have_round_numbers(void **state)
{
    (void)state;
    static const double range[] = {10, 8, 1, 0.37, 100, 45}, step[] = {2, 1, 0.2, 0.05, 20, 10};
    for (size_t i = 0; i < COUNT_OF(range); i++) assert_true(fabs(hd_plot_step(range[i]) - step[i]) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_stand_for_numbers),      cmocka_unit_test(lines_join_the_marks),
        cmocka_unit_test(little_and_nothing_are_drawn), cmocka_unit_test(other_formats_are_what_they_claim),
        cmocka_unit_test(axes_have_round_numbers),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
