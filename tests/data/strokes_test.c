/* Stroke fonts, files of strokes and handwriting that is made: what is read, what is refused, and that a seed
   decides. */
#include "check.h"
#include "data/strokes/saying.h"
#include "data/strokes/scribe.h"
#include "outcome.h"
#include "scratch.h"

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* -- files of strokes -- */

static void a_file_comes_back_as_it_was_written(void **state)
{
    (void)state;
    const hd_pen_point line[] = {{0, 0, false}, {1.5f, -2, false}, {3, 4, true}, {-7, 1e6f, true}};
    hd_text t = {0};
    hd_err err = {0};
    hd_strokes s = {0};
    hd_strokes_put(&t, "a b", line, 4);
    assert_string_equal(t.data, "a b\t0,0 1.50,-2 3,4;-7,1000000\n");
    hd_strokes_put(&t, "", line, 1);
    put(at("s.tsv"), t.data);
    if (hd_strokes_read(&s, at("s.tsv"), &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 2);
    assert_string_equal(hd_strokes_text(&s, 0), "a b");
    assert_string_equal(hd_strokes_text(&s, 1), "");
    assert_int_equal(hd_strokes_points(&s, 0), 4);
    for (int i = 0; i < 4; i++) {
        const hd_pen_point *p = &hd_strokes_line(&s, 0)[i];
        assert_true(p->x == line[i].x && p->y == line[i].y && p->lift == line[i].lift);
    }
    assert_true(hd_strokes_line(&s, 1)[0].lift); /* the last point of a line always is */
    hd_text_release(&t);
    hd_strokes_release(&s);
}

static void bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {{"", "no handwriting"},
               {"a\t0,0\nabc\n", "s.tsv:2: there is no tab"},
               {"a\004\t0,0\n", "s.tsv:1: there is a control character in the text"},
               {"a\t\n", "s.tsv:1: a point is not two numbers"},
               {"a\t0\n", "a point is not two numbers"},
               {"a\t0,\n", "a point is not two numbers"},
               {"a\t0,x\n", "a point is not two numbers"},
               {"a\t0,0 \n", "a point is not two numbers"},
               {"a\t0,0;;1,1\n", "a point is not two numbers"},
               {"a\t0,0,0\n", "behind a point there is no space"},
               {"a\tnan,0\n", "a point is not two numbers"},
               {"a\tinf,0\n", "a point is not two numbers"},
               {"a\t1e300,0\n", "a point is not two numbers"},
               {"a\t0,20000000\n", "at most 10 million"},
               {"\xff\t0,0\n", "UTF-8"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_strokes s = {0};
        put(at("s.tsv"), bad[i].text);
        if (!hd_strokes_read(&s, at("s.tsv"), &err)) fail_msg("%s is read", bad[i].text);
        if (!strstr(err.text, bad[i].why)) fail_msg("%s: %s, not %s", bad[i].text, err.text, bad[i].why);
        hd_strokes_release(&s);
    }
    hd_err err = {0};
    hd_strokes s = {0};
    FILE *f = fopen(at("s.tsv"), "wb");
    fputs("a\t", f);
    for (int i = 0; i <= HD_STROKES_POINTS; i++) fputs(i ? " 0,0" : "0,0", f);
    fclose(f);
    assert_true(hd_strokes_read(&s, at("s.tsv"), &err) && strstr(err.text, "20000 points"));
    hd_strokes_release(&s);
}

static void a_part_is_held_back_by_the_seed(void **state)
{
    (void)state;
    hd_strokes s = {0}, held = {0};
    hd_err err = {0};
    for (int i = 0; i < 100; i++) {
        char text[8];
        const hd_pen_point p[] = {{0, 0, false}, {(float)i, 1, true}};
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(hd_strokes_add(&s, (hd_line){text, strlen(text)}, p, 2, &err), HD_OK);
    }
    assert_int_equal(hd_strokes_split(&s, 0.2, 1, &held, &err), HD_OK);
    assert_int_equal(s.count + held.count, 100);
    assert_in_range(held.count, 8, 35);
    for (size_t i = 0; i < held.count; i++) /* text and points stay together */
        assert_true(atof(hd_strokes_text(&held, i)) == (double)hd_strokes_line(&held, i)[1].x);
    hd_strokes_release(&s);
    hd_strokes_release(&held);
}

/* -- fonts -- */

static char *font_text(const char *first)
{
    char *text = malloc(96 * 64);
    size_t size = (size_t)sprintf(text, "%s\n", first);
    for (int i = 1; i < 96; i++) size += (size_t)sprintf(text + size, "12345  5MWOORR RSS\n");
    return text;
}

static void a_font_is_read(void **state)
{
    (void)state;
    hd_font *f = malloc(sizeof *f);
    hd_err err = {0};
    char *text = font_text("  699  1JZ");
    put(at("f.jhf"), text);
    if (hd_font_read(f, at("f.jhf"), &err)) fail_msg("%s", err.text);
    const hd_glyph *space = hd_font_glyph(f, ' '), *a = hd_font_glyph(f, 'a');
    assert_true(space->left == -8 && space->right == 8 && !space->count);
    assert_int_equal(a->count, 3);
    const hd_font_point *p = f->point + a->first;
    assert_true(p[0].x == -3 && p[0].y == -3 && p[0].up && !p[1].up && p[2].up && p[2].x == 1);
    assert_null(hd_font_glyph(f, 31));
    assert_null(hd_font_glyph(f, 200));
    free(text), free(f);
}

static void bad_fonts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *first, *why;
    } bad[] = {{"", "too short"},
               {"  699  1J", "too short"},
               {"  699  0JZ", "count is none"},
               {"  699 -1JZ", "count is none"},
               {"  6x9  1JZ", "number or count"},
               {"  699999JZ", "fewer pairs"},
               {"  699  2JZ", "fewer pairs"},
               {"  699  1JZAA", "more pairs"},
               {"  699  1ZJ", "right edge"},
               {"  699  2JZ\x01\x7f", "visible"}};
    hd_font *f = malloc(sizeof *f);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        char *text = font_text(bad[i].first);
        put(at("f.jhf"), text);
        if (!hd_font_read(f, at("f.jhf"), &err)) fail_msg("'%s' is read", bad[i].first);
        if (!strstr(err.text, bad[i].why) || !strstr(err.text, "f.jhf:1:"))
            fail_msg("'%s': %s, not %s", bad[i].first, err.text, bad[i].why);
        free(text);
    }
    hd_err err = {0};
    put(at("f.jhf"), "  699  1JZ\n");
    assert_true(hd_font_read(f, at("f.jhf"), &err) && strstr(err.text, "f.jhf:2: the file ends early"));
    free(f);
}

/* -- handwriting -- */

static hd_scribe *scribe_or_leave(void)
{
    hd_scribe *s = NULL;
    hd_err err = {0};
    if (hd_scribe_open(&s, HD_FONTS_FOLDER, &err)) {
        assert_non_null(strstr(err.text, "hershey-fonts-data"));
        leave_out("%s", err.text);
    }
    return s;
}

static void lines_follow_from_seed_and_number(void **state)
{
    (void)state;
    hd_scribe *s = scribe_or_leave();
    hd_text text[2] = {{0}};
    hd_pen_points points[2] = {{0}};
    hd_err err = {0};
    double all = 0, letters = 0;
    for (uint64_t i = 0; i < 200; i++) {
        for (int twice = 0; twice < 2; twice++)
            assert_int_equal(hd_scribe_line(&text[twice], &points[twice], s, 7, i, &err), HD_OK);
        assert_string_equal(text[0].data, text[1].data);
        assert_int_equal(points[0].count, points[1].count);
        for (size_t k = 0; k < points[0].count; k++)
            assert_true(points[0].at[k].x == points[1].at[k].x && points[0].at[k].y == points[1].at[k].y &&
                        points[0].at[k].lift == points[1].at[k].lift);
        assert_in_range(text[0].size, 1, HD_SAYING_MOST);
        assert_true(points[0].at[0].x == 0 && points[0].at[0].y == 0);
        assert_true(points[0].at[points[0].count - 1].lift);
        all += (double)points[0].count, letters += (double)text[0].size;
    }
    if (all / letters < 14 || all / letters > 26) fail_msg("%g points a character", all / letters);
    for (int i = 0; i < 2; i++) hd_text_release(&text[i]), hd_pen_points_release(&points[i]);
    hd_scribe_free(s);
}

static void points_lie_a_step_apart(void **state)
{
    (void)state;
    hd_scribe *s = scribe_or_leave();
    hd_rng rng = hd_rng_make(1, 1);
    hd_pen_points p = {0};
    hd_err err = {0};
    hd_hand h = {.font = HD_SCRIBE_futural, .scale = 1, .length = 1, .bend_length = 1, .step = 2};
    assert_int_equal(hd_scribe_write(&p, s, &h, "llll", &rng, &err), HD_OK);
    for (size_t i = 1; i < p.count; i++) {
        double d = hypot((double)(p.at[i].x - p.at[i - 1].x), (double)(p.at[i].y - p.at[i - 1].y));
        if (!p.at[i - 1].lift && !p.at[i].lift && fabs(d - 200) > 1.5) fail_msg("%zu: %g apart", i, d);
        if (!p.at[i - 1].lift && d > 302) fail_msg("%zu: %g apart", i, d); /* half a step may be added */
    }
    size_t strokes = 0;
    for (size_t i = 0; i < p.count; i++) strokes += p.at[i].lift;
    assert_int_equal(strokes, 4);
    assert_true(hd_scribe_write(&p, s, &h, "\xc3\xa4", &rng, &err) && strstr(err.text, "ASCII"));
    hd_pen_points_release(&p);
    hd_scribe_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_comes_back_as_it_was_written),
        cmocka_unit_test(bad_files_are_refused_with_their_line),
        cmocka_unit_test(a_part_is_held_back_by_the_seed),
        cmocka_unit_test(a_font_is_read),
        cmocka_unit_test(bad_fonts_are_refused),
        cmocka_unit_test(lines_follow_from_seed_and_number),
        cmocka_unit_test(points_lie_a_step_apart),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
