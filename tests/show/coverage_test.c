/* Words that got hardly any attention: pieces of a word count together, marks do not count, and Chinese
   characters are words of their own. */
#include "check.h"

#include "show/coverage.h"

enum { MOST = 8 };

typedef struct sample {
    const char *line;
    size_t count; /* pieces, the end among them */
    struct {
        uint32_t begin, end;
        float weight; /* of a step, of all the same */
    } piece[MOST];
    const char *skipped; /* apart by a bar */
} sample;

static const sample samples[] = {
    {"the dog barks", 4, {{0, 3, 0.5f}, {3, 7, 0.01f}, {7, 13, 0.4f}, {13, 13, 0.09f}}, "dog"},
    /* two pieces, of which one is enough; "▁un" has the space before it */
    {"an unread book", 5, {{0, 2, 0.5f}, {2, 5, 0.01f}, {5, 9, 0.2f}, {9, 14, 0.2f}, {14, 14, 0.09f}}, ""},
    {"an unread book",
     5,
     {{0, 2, 0.5f}, {2, 5, 0.01f}, {5, 9, 0.01f}, {9, 14, 0.2f}, {14, 14, 0.28f}},
     "unread"},
    {"go , go .", 5, {{0, 2, 0.5f}, {3, 4, 0}, {5, 7, 0.4f}, {8, 9, 0}, {9, 9, 0.1f}}, ""},
    {"我来了", 4, {{0, 3, 0.5f}, {3, 6, 0.01f}, {6, 9, 0.02f}, {9, 9, 0.47f}}, "来|了"},
    /* a character as bytes: the first have none of it */
    {"a ö", 4, {{0, 1, 0.5f}, {2, 2, 0.01f}, {2, 4, 0.01f}, {4, 4, 0.48f}}, "ö"},
    {"a ö", 4, {{0, 1, 0.5f}, {2, 2, 0.1f}, {2, 4, 0.01f}, {4, 4, 0.48f}}, ""},
    {"it's well-known", 3, {{0, 4, 0.01f}, {5, 15, 0.01f}, {15, 15, 0.98f}}, "it's|well-known"},
};

static void words_below_a_tenth_are_skipped(void **state)
{
    (void)state;
    enum { ROWS = 2, LAYERS = 2, HEADS = 2 };
    for (size_t n = 0; n < COUNT_OF(samples); n++) {
        const sample *s = &samples[n];
        hd_err err = {0};
        hd_attention_maps a;
        hd_piece piece[MOST] = {0};
        const size_t layers[] = {0, 0, LAYERS}, heads[] = {0, 0, HEADS};
        if (hd_attention_init(&a, s->count, ROWS, layers, heads, &err)) fail_msg("%s", err.text);
        for (size_t i = 0; i < s->count; i++)
            piece[i] = (hd_piece){.begin = s->piece[i].begin, .end = s->piece[i].end};
        for (size_t i = 0; i < (size_t)LAYERS * HEADS * ROWS * s->count; i++)
            a.part[HD_ATTENTION_CROSS].weight[i] = s->piece[i % s->count].weight;
        hd_line line = {s->line, strlen(s->line)};
        hd_skipped_list list = {0};
        if (hd_coverage_skipped(&list, &a, piece, line, &err)) fail_msg("%s", err.text);
        char found[128] = "";
        for (size_t i = 0; i < list.count; i++) {
            assert_true(list.at[i].coverage < 0.1);
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", i ? "|" : "",
                     (int)(list.at[i].word.end - list.at[i].word.begin), s->line + list.at[i].word.begin);
        }
        if (strcmp(found, s->skipped))
            fail_msg("%zu: '%s' skips '%s', not '%s'", n, s->line, found, s->skipped);
        hd_skipped_release(&list);
        hd_attention_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_below_a_tenth_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
