/* Papers: all that was put in is in the text, the JSON and the page, escaped; files of every kind; and every
   allocation may fail. */
#include "check.h"
#include "scratch.h"

#include <jansson.h>

#include "base/mem.h"
#include "view/paper/paper.h"
#include "view/plot.h"

static const double x[] = {1, 2, 3}, y[] = {10, NAN, 1000}, low[] = {9, NAN, 900}, high[] = {11, NAN, 1100};
static const char *const names[] = {"q<0>", "q1"};

static void fill(hd_paper *r)
{
    hd_paper_init(r);
    r->name = "sample", r->title = "A <title> & more", r->source = "lecture 000, row 1";
    r->about = "It is \"so\".", r->setting = "seed 1";
    hd_paper_say(r, "%d words & <tags>", 3);
    hd_paper_table_of(r, "T < U", 2, 1);
    for (int i = 0; i < 6; i++) hd_paper_cell(r, "<c%d>", i);
    hd_paper_plot(r, &(hd_series_plot){.title = "P > Q", .across = "steps", .upward = "norm", .log_y = true});
    hd_paper_line(r, "l & m", &(hd_series){.x = x, .y = y, .low = low, .high = high, .count = 3});
    hd_paper_line(r, "plain", &(hd_series){.x = x, .y = x, .count = 3});
    hd_paper_cells(r, &(hd_cells){.title = "M",
                                  .across = "keys",
                                  .downward = "queries",
                                  .value = y,
                                  .rows = 1,
                                  .cols = 2,
                                  .row = names,
                                  .col = names,
                                  .full = 10,
                                  .digits = 1});
    hd_twig twig[] = {{.parent = -1, .name = "<sos>", .value = 1, .state = HD_TWIG_BEST},
                      {.parent = 0, .name = "a", .value = 0.25, .state = HD_TWIG_PRUNED},
                      {.parent = 0, .name = "b", .value = 0.75, .state = HD_TWIG_BEST}};
    hd_paper_tree(r, &(hd_tree){.title = "Tree", .about = "shares", .twig = twig, .count = 3, .digits = 2});
    static const double turns[] = {1, 0, 0, 1};
    hd_paper_film(
        r, &(hd_film){.cells = {.title = "F", .rows = 1, .cols = 2, .row = names, .full = 1, .digits = 1},
                      .value = turns,
                      .caption = names,
                      .count = 2});
    hd_paper_claim(r, "This is <true>.", true, "By %d.", 7);
    hd_paper_claim(r, "This is not.", false, "Not by %d.", 8);
    hd_paper_note(r, "Too strong: %s", "it is <nearly> so.");
}

static void assert_in(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in %s", part, text);
}

static void notes_do_not_turn_the_verdict(void **state)
{
    (void)state;
    hd_paper r;
    hd_err err = {0};
    fill(&r);
    assert_int_equal(hd_paper_status(&r, &err), HD_OK);
    assert_true(hd_paper_held(&r));
    hd_paper_claim(&r, "Nor is this.", false, "%s", "");
    assert_false(hd_paper_held(&r));
    hd_paper_release(&r);
    assert_false(hd_paper_held(&r)); /* nothing claimed, nothing held */
    hd_paper_cell(&r, "without a table");
    hd_paper_line(&r, "without a plot", &(hd_series){0});
    hd_paper_note(&r, "without a claim");
    assert_int_equal(hd_paper_status(&r, &err), HD_OK);
    hd_paper_release(&r);
}

static void text_has_all(void **state)
{
    (void)state;
    static const char *const said[] = {"A <title> & more",
                                       "It is \"so\".",
                                       "lecture 000, row 1; seed 1",
                                       "3 words & <tags>",
                                       "T < U",
                                       "<c5>",
                                       "P > Q",
                                       "l & m",
                                       "Held: This is <true>.",
                                       "By 7.",
                                       "10.0",
                                       "<sos> 1.00\n├─ a 0.25  pruned\n└─ b 0.75  <- found\n",
                                       "Did not hold as worded: This is not.",
                                       "Too strong: it is <nearly> so."};
    hd_paper r;
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = 80, .utf8 = true};
    fill(&r);
    hd_paper_text(&pen, &r);
    for (size_t i = 0; i < COUNT_OF(said); i++) assert_in(out.data, said[i]);
    assert_null(strchr(out.data, '\033'));
    hd_text_release(&out);
    hd_paper_release(&r);
}

static json_t *member(json_t *o, size_t i, const char *key)
{
    json_t *m = json_object_get(json_array_get(o, i), key);
    if (!m) fail_msg("no member %s of part %zu", key, i);
    return m;
}

static void json_has_all(void **state)
{
    (void)state;
    hd_paper r;
    hd_text out = {0};
    json_error_t e;
    fill(&r);
    hd_paper_json(&out, &r);
    json_t *o = json_loads(out.data, JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", e.text, out.data);
    assert_true(json_is_true(json_object_get(o, "held")));
    json_t *claims = json_object_get(o, "claims"), *parts = json_object_get(o, "parts");
    assert_string_equal(json_string_value(member(claims, 0, "claim")), "This is <true>.");
    assert_true(json_is_false(member(claims, 1, "held")));
    assert_string_equal(json_string_value(member(claims, 1, "note")), "Too strong: it is <nearly> so.");
    assert_int_equal(json_array_size(parts), 6);
    assert_string_equal(json_string_value(member(parts, 0, "text")), "3 words & <tags>");
    json_t *row = json_array_get(member(parts, 1, "rows"), 2);
    assert_string_equal(json_string_value(json_array_get(row, 1)), "<c5>");
    json_t *line = member(parts, 2, "lines");
    assert_true(json_number_value(json_array_get(member(line, 0, "high"), 2)) == 1100);
    assert_true(json_is_null(json_array_get(member(line, 0, "y"), 1)));
    assert_null(json_object_get(json_array_get(line, 1), "low"));
    row = json_array_get(member(parts, 3, "rows"), 0);
    assert_true(json_number_value(json_array_get(row, 0)) == 10);
    assert_string_equal(json_string_value(json_array_get(member(parts, 3, "row_names"), 0)), "q<0>");
    json_t *twigs = member(parts, 4, "twigs");
    assert_int_equal(json_integer_value(member(twigs, 0, "parent")), -1);
    assert_string_equal(json_string_value(member(twigs, 1, "state")), "pruned");
    assert_true(json_number_value(member(twigs, 2, "value")) == 0.75);
    row = json_array_get(json_array_get(member(parts, 5, "frames"), 1), 0);
    assert_true(json_number_value(json_array_get(row, 1)) == 1);
    assert_string_equal(json_string_value(json_array_get(member(parts, 5, "captions"), 0)), "q<0>");
    json_decref(o);
    hd_text_release(&out);
    hd_paper_release(&r);
}

/* Frames are groups that are seen in turn, and none is left open. */
static void films_move(void **state)
{
    (void)state;
    hd_paper r;
    hd_text out = {0};
    hd_err err = {0};
    fill(&r);
    assert_int_equal(hd_paper_html(&out, &r, NULL, &err), HD_OK);
    int open = 0, close = 0;
    for (const char *p = out.data; (p = strstr(p, "<g class=\"frame\"")); p++) open++;
    for (const char *p = out.data; (p = strstr(p, "</g>")); p++) close++;
    assert_true(open == 2 && close == 2);
    assert_in(out.data, "@keyframes f2{0%{visibility:visible}16.6667%,100%{visibility:hidden}}");
    assert_in(out.data, "animation-delay:-3.6s");
    assert_in(out.data, "animation-delay:-3s");
    assert_in(out.data, "prefers-reduced-motion");
    hd_text_release(&out);
    hd_paper_release(&r);
}

static void pages_are_escaped(void **state)
{
    (void)state;
    static const char *const said[] = {
        "<title>A &lt;title&gt; &amp; more</title>",
        "<a href=\"up.html?a=1&amp;b=2\">",
        "<p>3 words &amp; &lt;tags&gt;</p>",
        "<figcaption>T &lt; U</figcaption>",
        "<th class=\"l\">&lt;c0&gt;</th><th>&lt;c1&gt;</th></tr>",
        "<td>&lt;c5&gt;</td></tr>",
        "P &gt; Q",
        "<div class=\"claim no\">\n<p><b>Did not hold as worded:</b> This is not.</p>",
    };
    hd_paper r;
    hd_text out = {0};
    hd_err err = {0};
    fill(&r);
    assert_int_equal(hd_paper_html(&out, &r, "up.html?a=1&b=2", &err), HD_OK);
    for (size_t i = 0; i < COUNT_OF(said); i++) assert_in(out.data, said[i]);
    static const char *const never[] = {"<c0>", "<tags>", "<nearly>", "q<0>", "<?xml", "http-equiv", "src="};
    for (size_t i = 0; i < COUNT_OF(never); i++)
        if (strstr(out.data, never[i])) fail_msg("'%s' is in %s", never[i], out.data);
    hd_text_release(&out);
    hd_paper_release(&r);
}

/* The first line lies under the second one and is wider, so that both are seen; the tenth has the color of
   the second and is drawn in dashes. A row is cells by tabs. */
static void lines_are_told_apart(void **state)
{
    (void)state;
    static const double n[] = {1, 2, 3};
    hd_paper r;
    hd_text out = {0};
    hd_err err = {0};
    hd_paper_init(&r);
    r.title = r.about = r.source = "lines";
    hd_paper_plot(&r, &(hd_series_plot){.title = "P", .across = "x", .upward = "y"});
    for (int i = 0; i < 10; i++) {
        const double up[] = {i < 2 ? 1 : i, i < 2 ? 2 : i, i < 2 ? 3 : i};
        hd_paper_line(&r, "line", &(hd_series){.x = n, .y = up, .count = 3});
    }
    hd_paper_table_of(&r, "T", 3, 0);
    hd_paper_row(&r, "a\t%d %%\tb", 7);
    assert_int_equal(hd_paper_html(&out, &r, NULL, &err), HD_OK);
    assert_in(out.data, "stroke-width=\"4\" stroke=\"#4292c6\"");
    assert_in(out.data, "stroke-width=\"2.4\" stroke=\"#d95f02\"");
    size_t lines = 0;
    for (const char *at = out.data; (at = strstr(at, "stroke=\"#d95f02\"")); at++) lines++;
    assert_true(lines > 30); /* dashes: whole lines would be six */
    assert_in(out.data, "<th>a</th><th>7 %</th><th>b</th></tr>");
    hd_text_release(&out);
    hd_paper_release(&r);
}

/* Lines of an axis by powers, as whole numbers where they can be. */
static void powers_are_read_at_a_glance(void **state)
{
    (void)state;
    static const struct {
        double x[3];
        const char *said[3];
    } all[] = {{{4, 8, 32}, {">4</text>", ">16</text>", ">32</text>"}},
               {{4, 64, 1024}, {">4</text>", ">256</text>", ">1024</text>"}},
               {{1e-9, 1e-5, 1}, {">1e-06</text>", ">0.01</text>", ">1</text>"}}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        hd_paper r;
        hd_text out = {0};
        hd_err err = {0};
        hd_paper_init(&r);
        r.title = r.about = r.source = "powers";
        hd_paper_plot(&r, &(hd_series_plot){.title = "P", .across = "x", .upward = "y", .log_x = true});
        hd_paper_line(&r, "a", &(hd_series){.x = all[i].x, .y = (double[]){50, 60, 70}, .count = 3});
        assert_int_equal(hd_paper_html(&out, &r, NULL, &err), HD_OK);
        for (int k = 0; k < 3; k++) assert_in(out.data, all[i].said[k]);
        hd_text_release(&out);
        hd_paper_release(&r);
    }
}

static void files_of_every_kind(void **state)
{
    (void)state;
    static const struct {
        const char *file, *begin;
        bool cairo;
    } kinds[] = {{"p.html", "<!DOCTYPE html>", false},
                 {"p.json", "{\"name\": \"sample\"", false},
                 {"p.SVG", "<?xml", false},
                 {"p.png", "\x89PNG", true},
                 {"p.pdf", "%PDF", true}};
    hd_paper r;
    hd_err err = {0};
    fill(&r);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t size;
        if (kinds[i].cairo && hd_drawing_missing) continue;
        if (hd_paper_check(at("%s", kinds[i].file), &err) || hd_paper_save(at("%s", kinds[i].file), &r, &err))
            fail_msg("%s", err.text);
        char *bytes = get_file(at("%s", kinds[i].file), &size);
        if (strncmp(bytes, kinds[i].begin, strlen(kinds[i].begin)))
            fail_msg("%s begins with %.20s", kinds[i].file, bytes);
        free(bytes);
    }
    assert_int_equal(hd_paper_check(at("p.txt"), &err), HD_EARG);
    assert_in(err.text, "must end in .html, .json, .svg, .png or .pdf");
    assert_int_not_equal(hd_paper_check(at("none/p.html"), &err), HD_OK);
    assert_false(is_there(at("none")));
    hd_paper_release(&r);
}

/* Whatever allocation fails: an error and no leak, or a whole page. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    const size_t blocks = hd_mem_now().blocks;
    for (size_t n = 1;; n++) {
        hd_paper r;
        hd_text page = {0}, json = {0}, text = {0};
        hd_text_pen pen = {.to = &text, .width = 80};
        hd_err err = {0};
        const size_t calls = hd_mem_now().calls;
        hd_mem_fail_at(n);
        fill(&r);
        hd_status s = hd_paper_status(&r, &err);
        if (!s) s = hd_paper_html(&page, &r, NULL, &err);
        if (!s) hd_paper_json(&json, &r), s = hd_text_status(&json, &err);
        if (!s) hd_paper_text(&pen, &r), s = hd_text_status(&text, &err);
        const bool over = hd_mem_now().calls - calls < n;
        hd_mem_fail_at(0);
        assert_true(s == HD_OK ? over : s == HD_ENOMEM && *err.text);
        if (!s) assert_in(page.data, "</html>");
        hd_text_release(&page);
        hd_text_release(&json);
        hd_text_release(&text);
        hd_paper_release(&r);
        assert_int_equal(hd_mem_now().blocks, blocks);
        if (over) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_do_not_turn_the_verdict),
        cmocka_unit_test(text_has_all),
        cmocka_unit_test(json_has_all),
        cmocka_unit_test(pages_are_escaped),
        cmocka_unit_test(lines_are_told_apart),
        cmocka_unit_test(powers_are_read_at_a_glance),
        cmocka_unit_test(files_of_every_kind),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(films_move),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
