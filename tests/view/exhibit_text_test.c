/* The page of an exhibit, to the letter: tokens beside numbers, one row over tokens turned with bars, long
   rows cut. The numbers are made up. */
#include "check.h"

#include "view/explain/exhibit_text.h"

static hd_shown_token source[] = {{7,
                                   "\xE2\x96\x81"
                                   "der",
                                   NULL},
                                  {9, "Hund", NULL},
                                  {3, "</s>", NULL}},
                      read[] = {{2, "<s>", NULL}, {5, "the", NULL}};
static hd_exhibit_step steps[] = {{{2, "<s>", NULL}, {5, "the", NULL}, 0.75, true, 0, 0.5},
                                  {{5, "the", NULL}, {6, "dog", NULL}, 0.5, true, 1, 0.625}};
static const hd_real rows[] = {0.5f, -1.25f, 0.001f, -0.001f, 2, 3, 4, 5},
                     weights[] = {0.25f, 0.5f, 0.25f, 0, 0.75f, 0.25f}, many[] = {-INFINITY, 1, 2},
                     probs[] = {0.5f, 0.25f};

static hd_exhibit_item items[] = {
    {"dec.0.K", "Decoder", "x W_K", HD_EXHIBIT_READ, HD_EXHIBIT_CHANNELS, 0, 2, 4, rows, false},
    {"dec.0.cross.softmax", "Decoder, layer 1, cross-attention", "exp(score) / sum", HD_EXHIBIT_NOW,
     HD_EXHIBIT_SOURCE, 2, 1, 3, weights, false},
    {"dec.0.masked", "Decoder, layer 1, cross-attention", NULL, HD_EXHIBIT_NOW, HD_EXHIBIT_CHANNELS, 0, 1, 3,
     many, false},
    {"logits", "Output", "y W", HD_EXHIBIT_NOW, HD_EXHIBIT_WORDS, 0, 1, 2, rows, false},
    {"probs", "Output", "softmax", HD_EXHIBIT_NOW, HD_EXHIBIT_WORDS, 0, 1, 2, probs, false},
};

static hd_exhibit_choice top[] = {{{6, "dog", NULL}, 0.5, 0.5}, {{4, " ", NULL}, 0.25, -1.25}},
                         counted[] = {{{6, "dog", NULL}, 0.5, (double)NAN}};

static hd_exhibit exhibit(void)
{
    return (hd_exhibit){.model = "gru:1 to gru:1",
                        .source = source,
                        .sources = 3,
                        .read = read,
                        .reads = 2,
                        .translation = "the dog",
                        .step = steps,
                        .steps = 2,
                        .shown = 2,
                        .item = items,
                        .items = COUNT_OF(items),
                        .top = top,
                        .answers = 1,
                        .tops = 2};
}

static hd_text page_of(const hd_exhibit *x, const hd_exhibit_look *look)
{
    hd_err err = {0};
    hd_text page = {0};
    if (hd_exhibit_text(&page, x, look, &err)) fail_msg("%s", err.text);
    return page;
}

static void assert_page(const hd_exhibit *x, const hd_exhibit_look *look, const char *expected)
{
    hd_text page = page_of(x, look);
    size_t same = 0, line = 0;
    while (page.data[same] && page.data[same] == expected[same])
        line = page.data[same++] == '\n' ? same : line;
    if (page.data[same] || expected[same])
        fail_msg("from '%.60s', not '%.60s'", page.data + line, expected + line);
    hd_text_release(&page);
}

static void a_page_to_the_letter(void **state)
{
    (void)state;
    hd_exhibit x = exhibit();
    assert_page(&x, &(hd_exhibit_look){.width = 50, .digits = 2},
                "Encoder-decoder, gru:1 to gru:1\n"
                "\n"
                "-- Source: pieces and ids ------------------------\n"
                "  \xE2\x96\x81"
                "der 7  Hund 9  </s> 3\n"
                "\n"
                "-- Translation, step by step ---------------------\n"
                "  the dog\n"
                "  step  reads  says     p  looks most at\n"
                "     1  <s>    the   0.75  \xE2\x96\x81"
                "der 0.50\n"
                "     2  the    dog   0.50  Hund 0.62\n"
                "\n"
                "What follows is the encoder, then step 2 of the\n"
                "decoder.\n"
                "\n"
                "-- Decoder ---------------------------------------\n"
                "\n"
                "dec.0.K  2 x 4  = x W_K\n"
                "  <s>   0.50 -1.25  0.00  0.00\n"
                "  the   2.00  3.00  4.00  5.00\n"
                "\n"
                "-- Decoder, layer 1, cross-attention -------------\n"
                "\n"
                "dec.0.cross.softmax  1 x 3, mean of 2 heads  =\n"
                "mean of exp(score) / sum\n"
                "  \xE2\x96\x81"
                "der  0.12  ###\n"
                "  Hund  0.62  ###############\n"
                "  </s>  0.25  ######\n"
                "\n"
                "dec.0.masked  1 x 3\n"
                "  the  -inf 1.00 2.00\n"
                "\n"
                "-- Output ----------------------------------------\n"
                "\n"
                "logits  1 x 2  = y W\n"
                "\n"
                "probs  1 x 2  = softmax\n"
                "\n"
                "  token    id   logit       p\n"
                "  dog       6    0.50    0.50  #########\n"
                "  _         4   -1.25    0.25  ####\n");
}

static void parts_heads_and_columns_can_be_picked(void **state)
{
    (void)state;
    hd_exhibit x = exhibit();
    assert_page(&x,
                &(hd_exhibit_look){.width = 60, .digits = 1, .utf8 = true, .head = 2, .only = "*.softmax"},
                "── Decoder, layer 1, cross-attention ───────────────────────\n"
                "\n"
                "dec.0.cross.softmax  1 × 3, head 2 of 2  = exp(score) / sum\n"
                "  ▁der  0.0\n"
                "  Hund  0.8  ██████████████████\n"
                "  </s>  0.2  ██████\n");
    assert_page(&x, &(hd_exhibit_look){.width = 60, .digits = 1, .columns = 3, .only = "*.K"},
                "-- Decoder -------------------------------------------------\n"
                "\n"
                "dec.0.K  2 x 4  = x W_K\n"
                "  <s>   0.5 -1.2  0.0 ... 1 more\n"
                "  the   2.0  3.0  4.0 ... 1 more\n");
    hd_text logits = page_of(&x, &(hd_exhibit_look){.width = 60, .digits = 1, .only = "logits"});
    assert_non_null(
        strstr(logits.data, "dog       6     0.5")); /* with its table, though probs is left out */
    hd_text_release(&logits);
}

/* Whatever the width, and however wide the numbers are. */
static void lines_fit_and_have_no_blanks_behind(void **state)
{
    (void)state;
    hd_exhibit x = exhibit();
    hd_real wide[600];
    fill_normal(wide, COUNT_OF(wide), 100, 5);
    items[0].value = wide, items[0].cols = 300;
    for (int width = 60; width < 140; width += 7)
        for (int digits = 1; digits <= 9; digits += 4) {
            hd_text page = page_of(&x, &(hd_exhibit_look){.width = width, .digits = digits});
            for (char *line = page.data, *end; *line; line = end + 1) {
                end = strchr(line, '\n');
                assert_true(end - line <= width + 4); /* bytes: two tokens have two more than columns */
                if (end > line && end[-1] == ' ') fail_msg("'%.*s'", (int)(end - line), line);
            }
            assert_non_null(strstr(page.data, " more\n"));
            hd_text_release(&page);
        }
    items[0].value = rows, items[0].cols = 4;
}

static void counts_and_features_have_their_lines(void **state)
{
    (void)state;
    hd_exhibit_feature feature = {1, 77, 0.5};
    hd_exhibit x = {.kind = HD_EXHIBIT_LANGUAGE,
                    .model = "ngram",
                    .read = read,
                    .reads = 2,
                    .top = counted,
                    .answers = 1,
                    .tops = 1,
                    .share = {{0, 2, 10, 4, 0.5, 0.2, 0.2}, {1, 1, 2, 2, 0.5, 0.5, 0.35}},
                    .shares = 2,
                    .discounts = true};
    hd_text page = page_of(&x, &(hd_exhibit_look){.width = 80, .digits = 2});
    assert_non_null(strstr(page.data, "How dog got its probability"));
    assert_non_null(
        strstr(page.data, "\n  after anything  seen 2 of 10, 4 kinds  discount 0.50, passed 0.20  p 0.20\n"));
    assert_non_null(strstr(page.data, "\n  after the  seen 1 of 2, 2 kinds  discount 0.50, passed 0.50"));
    hd_text_release(&page);
    x.shares = 0, x.features = 1, x.feature = &feature, x.bias = -0.25;
    page = page_of(&x, &(hd_exhibit_look){.width = 80, .digits = 2});
    assert_non_null(strstr(page.data, "\n  bias -0.25\n  last 1: bucket 77, weight 0.50\n"));
    hd_text_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_to_the_letter),
        cmocka_unit_test(parts_heads_and_columns_can_be_picked),
        cmocka_unit_test(lines_fit_and_have_no_blanks_behind),
        cmocka_unit_test(counts_and_features_have_their_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
