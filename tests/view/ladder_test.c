/* The ladder's plot: all names and numbers, bars as long as what they stand for, in every format. */
#include "check.h"
#include "scratch.h"

#include "base/file/lines.h"
#include "view/ladder.h"
#include "view/plot.h"

static const hd_rung rungs[] = {{"ngram & <co>", "ngram, char", 2.5},
                                {"gru", NULL, 2},
                                {"broken", "rnn, char", NAN},
                                {"größer", "gpt, subword", 1.25}};

static hd_ladder ladder_of(size_t count)
{
    return (hd_ladder){.rung = rungs, .count = count, .title = "The ladder"};
}

static void save(const char *path, size_t count)
{
    hd_err err = {0};
    hd_ladder l = ladder_of(count);
    if (hd_plot_check(path, &err) || hd_ladder_save(path, &l, &err)) fail_msg("%s", err.text);
}

/* Widths of the bars, which are all 18 high. */
static size_t bars_in(const char *svg, double *width, size_t room)
{
    size_t n = 0;
    for (const char *at = svg; (at = strstr(at, "<rect")); at++) {
        double x, y, w, h;
        if (sscanf(at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, &y, &w, &h) != 4)
            fail_msg("%.80s", at);
        if (h < 18 || h > 18) continue;
        assert_true(n < room);
        width[n++] = w;
    }
    return n;
}

static void bars_stand_for_bits(void **state)
{
    (void)state;
    size_t size;
    double width[8];
    save(at("l.svg"), 4);
    char *svg = get_file(at("l.svg"), &size);
    assert_int_equal(hd_utf8_good(svg, size), size);
    assert_int_equal(bars_in(svg, width, 8), 4);
    assert_true(width[0] > 100 && width[2] >= 0 && width[2] <= 0);
    assert_true(fabs(width[1] / width[0] - 2 / 2.5) < 1e-4 && fabs(width[3] / width[0] - 0.5) < 1e-4);
    static const char *const said[] = {"<title>The ladder</title>",
                                       ">ngram &amp; &lt;co&gt;<",
                                       ">2.500<",
                                       ">2.000<",
                                       ">1.250<",
                                       ">größer<",
                                       ">gpt, subword<",
                                       ">-<",
                                       "bits per character",
                                       "</svg>\n"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(svg, said[i])) fail_msg("no '%s' in %s", said[i], svg);
    assert_null(strstr(svg, "nan"));
    free(svg);
}

static void few_rungs_and_none_are_drawn(void **state)
{
    (void)state;
    double width[8];
    for (size_t n = 0; n < 2; n++) {
        save(at("few.svg"), n);
        char *svg = get_file(at("few.svg"), NULL);
        assert_int_equal(bars_in(svg, width, 8), n);
        free(svg);
    }
}

static void other_formats_are_what_they_claim(void **state)
{
    (void)state;
    hd_err err = {0};
    if (hd_drawing_missing) {
        hd_ladder l = ladder_of(4);
        assert_int_equal(hd_plot_check(at("l.png"), &err), HD_EMISSING);
        assert_int_equal(hd_ladder_save(at("l.pdf"), &l, &err), HD_EMISSING);
        return;
    }
    save(at("l.PNG"), 4);
    save(at("l.pdf"), 4);
    char *png = get_file(at("l.PNG"), NULL), *pdf = get_file(at("l.pdf"), NULL);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(pdf, "%PDF-1.4", 8);
    free(png);
    free(pdf);
}

static void what_cannot_be_written_is_said_before(void **state)
{
    (void)state;
    static const char *const bad[] = {"l.gif", "l", ".svg", "l.svg/"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        assert_int_equal(hd_plot_check(at("%s", bad[i]), &err), HD_EARG);
        assert_non_null(strstr(err.text, ".svg, .png or .pdf"));
    }
    hd_err err = {0};
    assert_int_equal(hd_plot_check(at("nowhere/l.svg"), &err), HD_EFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_stand_for_bits),
        cmocka_unit_test(few_rungs_and_none_are_drawn),
        cmocka_unit_test(other_formats_are_what_they_claim),
        cmocka_unit_test(what_cannot_be_written_is_said_before),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
