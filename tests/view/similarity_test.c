/* The matrix of one word's cosines: every number in the table, in JSON and in the picture. The numbers are
   those that the lectures show of "apple". */
#include "check.h"
#include "scratch.h"

#include <jansson.h>

#include "view/plot.h"
#include "view/similarity.h"

enum { PLACES = 6 };

static const char *const text[PLACES] = {"An apple is sweet in taste.",
                                         "We can make juice and jam from apple.",
                                         "An apple a day keeps the doctor away.",
                                         "Investors in Apple have a love-hate relationship with the iPhone.",
                                         "Both Apple and Huawei have wireless charging features.",
                                         "Steve Jobs returned to Apple in 1196."};

/* The two that the lectures do not say, of places 1 and 3 and of places 4 and 6, are the least within their
   sense here. */
static const double lecture[PLACES][PLACES] = {
    {1, 0.74, 0.71, 0.53, 0.48, 0.50}, {0.74, 1, 0.71, 0.51, 0.48, 0.47}, {0.71, 0.71, 1, 0.46, 0.42, 0.44},
    {0.53, 0.51, 0.46, 1, 0.82, 0.72}, {0.48, 0.48, 0.42, 0.82, 1, 0.72}, {0.50, 0.47, 0.44, 0.72, 0.72, 1}};

static double vector[PLACES][PLACES];
static hd_place place[PLACES];
static hd_similar apples = {
    .word = "apple", .at = place, .vector = vector[0], .count = PLACES, .width = PLACES};

/* Vectors of length 1 with these cosines (Cholesky): there are some, the matrix is one of cosines. */
static int fill(void **state)
{
    for (size_t i = 0; i < PLACES; i++) {
        for (size_t k = 0; k <= i; k++) {
            double rest = lecture[i][k];
            for (size_t c = 0; c < k; c++) rest -= vector[i][c] * vector[k][c];
            if (i == k && rest <= 0) return -1;
            vector[i][k] = i == k ? sqrt(rest) : rest / vector[k][k];
        }
        size_t begin = (size_t)(strstr(text[i], "pple") - text[i]) - 1;
        place[i] = (hd_place){.line = i + 1, .text = text[i], .begin = begin, .end = begin + 5};
    }
    return scratch_make(state);
}

static hd_similarity_view view_of(void)
{
    return (hd_similarity_view){.of = &apples, .layer = 12, .title = "Cosines of <apple>"};
}

/* The lectures' claim, of their own numbers. */
static void senses_are_nearer_to_themselves(void **state)
{
    (void)state;
    double within = 1, across = -1;
    for (size_t i = 0; i < PLACES; i++)
        for (size_t k = 0; k < PLACES; k++) {
            double c = hd_similar_cosine(&apples, i, k);
            assert_true(fabs(c - lecture[i][k]) < 1e-12 && c == hd_similar_cosine(&apples, k, i));
            if (i / 3 == k / 3)
                within = fmin(within, c);
            else
                across = fmax(across, c);
        }
    assert_true(fabs(within - 0.71) < 1e-12 && fabs(across - 0.53) < 1e-12);
}

static void the_table_has_every_number(void **state)
{
    (void)state;
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = 80, .utf8 = true};
    hd_similarity_view v = view_of();
    hd_similarity_text(&pen, &v);
    assert_string_equal(out.data, "   1  line 1: An [apple] is sweet in taste.\n"
                                  "   2  line 2: …make juice and jam from [apple].\n"
                                  "   3  line 3: An [apple] a day keeps the doctor …\n"
                                  "   4  line 4: Investors in [Apple] have a love-hate relati…\n"
                                  "   5  line 5: Both [Apple] and Huawei have wireles…\n"
                                  "   6  line 6: Steve Jobs returned to [Apple] in 1196.\n"
                                  "\n"
                                  "         1     2     3     4     5     6\n"
                                  "   1  1.00  0.74  0.71  0.53  0.48  0.50\n"
                                  "   2  0.74  1.00  0.71  0.51  0.48  0.47\n"
                                  "   3  0.71  0.71  1.00  0.46  0.42  0.44\n"
                                  "   4  0.53  0.51  0.46  1.00  0.82  0.72\n"
                                  "   5  0.48  0.48  0.42  0.82  1.00  0.72\n"
                                  "   6  0.50  0.47  0.44  0.72  0.72  1.00\n");
    hd_text_release(&out);
}

static void json_has_every_number(void **state)
{
    (void)state;
    hd_text out = {0};
    json_error_t e;
    hd_similarity_view v = view_of();
    hd_similarity_json(&out, &v);
    json_t *o = json_loads(out.data, JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", e.text, out.data);
    assert_string_equal(json_string_value(json_object_get(o, "word")), "apple");
    assert_int_equal(json_integer_value(json_object_get(o, "layer")), 12);
    for (size_t i = 0; i < PLACES; i++) {
        json_t *p = json_array_get(json_object_get(o, "places"), i);
        assert_int_equal(json_integer_value(json_object_get(p, "line")), i + 1);
        assert_int_equal(json_integer_value(json_object_get(p, "begin")), place[i].begin);
        assert_int_equal(json_integer_value(json_object_get(p, "end")), place[i].end);
        assert_string_equal(json_string_value(json_object_get(p, "text")), text[i]);
        json_t *row = json_array_get(json_object_get(o, "cosines"), i);
        assert_int_equal(json_array_size(row), PLACES);
        for (size_t k = 0; k < PLACES; k++)
            assert_true(fabs(json_number_value(json_array_get(row, k)) - lecture[i][k]) < 1e-8);
    }
    json_decref(o);
    hd_text_release(&out);
}

static void the_picture_has_every_number(void **state)
{
    (void)state;
    hd_err err = {0};
    size_t size;
    hd_similarity_view v = view_of();
    if (hd_plot_check(at("s.svg"), &err) || hd_similarity_save(at("s.svg"), &v, &err))
        fail_msg("%s", err.text);
    char *svg = get_file(at("s.svg"), &size);
    assert_int_equal(hd_utf8_good(svg, size), size);
    static const char *const said[] = {
        ">0.82<",  ">0.42<", ">1.00<", ">An [apple] is sweet in taste.<", "Cosines of &lt;apple&gt;",
        "</svg>\n"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(svg, said[i])) fail_msg("'%s' is not in %s", said[i], svg);
    int cells = 0;
    for (const char *p = svg; (p = strstr(p, "<rect")); p++) cells++;
    assert_int_equal(cells, PLACES * PLACES + 1);
    free(svg);
    if (hd_drawing_missing) return;
    static const char *const files[] = {"s.png", "s.pdf"}, *const begins[] = {"\x89PNG", "%PDF"};
    for (int i = 0; i < 2; i++) {
        if (hd_similarity_save(at("%s", files[i]), &v, &err)) fail_msg("%s", err.text);
        char *bytes = get_file(at("%s", files[i]), &size);
        assert_memory_equal(bytes, begins[i], 4);
        free(bytes);
    }
}

/* A long word in long lines of wide letters and controls is cut between letters, and nothing is written
   behind what there is room for. */
static void contexts_are_cut_between_letters(void **state)
{
    (void)state;
    char line[4000];
    size_t n = 0;
    for (int i = 0; i < 1200; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s", i % 7 ? "语" : "\t");
    for (size_t begin = 3; begin < 40; begin++) {
        if (((unsigned char)line[begin] & 0xc0) == 0x80) continue;
        size_t end = begin + 3000;
        while (((unsigned char)line[end] & 0xc0) == 0x80) end++;
        hd_place wide = {.line = 1, .text = line, .begin = begin, .end = end};
        hd_similar one = {.word = "x", .at = &wide, .vector = vector[0], .count = 1, .width = PLACES};
        hd_similarity_view v = {.of = &one, .title = "t"};
        hd_text out = {0};
        hd_text_pen pen = {.to = &out, .width = 80, .utf8 = true};
        hd_similarity_text(&pen, &v);
        assert_int_equal(hd_utf8_good(out.data, out.size), out.size);
        assert_null(strchr(out.data, '\t'));
        hd_text_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senses_are_nearer_to_themselves),
        cmocka_unit_test(the_table_has_every_number),
        cmocka_unit_test(json_has_every_number),
        cmocka_unit_test(the_picture_has_every_number),
        cmocka_unit_test(contexts_are_cut_between_letters),
    };
    return cmocka_run_group_tests(tests, fill, scratch_remove);
}
