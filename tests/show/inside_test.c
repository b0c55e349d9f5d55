/* How much of a word's attention lies inside the object that it names. */
#include "check.h"
#include "show/picture/inside.h"

enum { WORDS = 6, CELLS = 4, LEAD = 1 };

static const char *const words[WORDS] = {"a", "red", "circle", "circle", "\xe2\x96\x81square", "</s>"};

/* A picture of 2 x 2 cells behind a token; each word looks at one cell, some at the token as well. */
static hd_attention_maps maps_of(const size_t cell[WORDS])
{
    hd_err err = {0};
    hd_attention_maps a;
    const size_t layers[HD_ATTENTION_KINDS] = {[HD_ATTENTION_CROSS] = 1},
                 heads[HD_ATTENTION_KINDS] = {[HD_ATTENTION_CROSS] = 1};
    if (hd_attention_init(&a, LEAD + CELLS, WORDS, layers, heads, &err)) fail_msg("%s", err.text);
    a.scene.lead = LEAD, a.scene.height = a.scene.width = 2;
    for (size_t i = 0; i < WORDS; i++) {
        float *w = a.part[HD_ATTENTION_CROSS].weight + i * (LEAD + CELLS);
        a.output[i] = (hd_shown_token){.piece = words[i]};
        w[0] = i % 2 ? 0.5f : 0, w[LEAD + cell[i]] = i % 2 ? 0.5f : 1;
    }
    return a;
}

static void words_count_with_the_object_that_they_name(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_vocab labels = {0};
    hd_inside sum = {0};
    /* cells 0 1 / 2 3 of 50 x 100 pixels each: half of the first, all of the second, a quarter of the last */
    static const hd_box boxes[] = {{0, 0, 0, 25, 100}, {0, 50, 0, 50, 100}, {1, 75, 150, 25, 50}};
    assert_int_equal(hd_vocab_add(&labels, "circle", 6, &err), HD_OK);
    assert_int_equal(hd_vocab_add(&labels, "square", 6, &err), HD_OK);
    hd_attention_maps a = maps_of((size_t[]){2, 0, 0, 1, 3, 3});
    assert_int_equal(hd_inside_add(&sum, &a, boxes, 3, &labels, 200, 100, &err), HD_OK);
    /* red 0.5, circle 0.5; the second circle is the second box, 1; square 0.25: "circle" before it is a label
     */
    assert_int_equal(sum.words, 4);
    assert_int_equal(sum.most, 1);
    assert_float_equal((float)sum.share, 2.25f, 1e-6f);
    assert_float_equal((float)sum.area, 0.125f + 0.125f + 0.25f + 0.0625f, 1e-6f);
    hd_attention_release(&a);
    hd_vocab_release(&labels);
}

static void other_words_do_not_count(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_vocab labels = {0};
    hd_inside sum = {0};
    static const hd_box box = {0, 0, 0, 10, 10};
    assert_int_equal(hd_vocab_add(&labels, "dog", 3, &err), HD_OK);
    hd_attention_maps a = maps_of((size_t[]){0, 0, 0, 0, 0, 0});
    assert_int_equal(hd_inside_add(&sum, &a, &box, 1, &labels, 20, 20, &err), HD_OK);
    assert_int_equal(sum.words, 0);
    hd_attention_release(&a);
    hd_vocab_release(&labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_count_with_the_object_that_they_name),
                                       cmocka_unit_test(other_words_do_not_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
