/* Texts that captioners and speech recognizers learn: as they are learned, in ids, and what a step is sent of
   them. */
#include "check.h"

#include "task/seq2seq/targets.h"

static void put_upper(hd_text *to, hd_line from, bool cased)
{
    for (size_t i = 0; i < from.size; i++) {
        char c = from.text[i];
        hd_text_add(to, &(char){cased || c < 'a' || c > 'z' ? c : (char)(c - 32)}, 1);
    }
}

static const hd_line lines[] = {{"ab", 2}, {"", 0}, {"abba", 4}, {"b", 1}};

/* Texts of letters, and the tokenizer that has learned them. */
static hd_targets targets_of(hd_tokenizer **t)
{
    hd_targets x = {0};
    hd_err err = {0};
    if (hd_targets_take(&x, lines, COUNT_OF(lines), false, put_upper, &err)) fail_msg("%s", err.text);
    hd_targets_walk walk = {&x, 0};
    if (hd_tokenizer_train(t, HD_TOKENIZER_characters, hd_targets_feed(&walk), &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    return x;
}

static void texts_are_kept_as_they_are_learned(void **state)
{
    (void)state;
    hd_tokenizer *t = NULL;
    hd_targets_cut cut;
    hd_err err = {0};
    hd_targets x = targets_of(&t);
    assert_int_equal(x.count, 4);
    assert_string_equal(x.text[2].text, "ABBA");
    assert_string_equal(x.text[1].text, "");
    assert_int_equal(hd_targets_encode(&x, t, 9, &cut, &err), HD_OK);
    assert_int_equal(cut.count, 0);
    assert_int_equal(hd_targets_sum(&x, (const uint32_t[]){2, 1, 2}, 3), 5 + 1 + 5);
    assert_int_equal(hd_targets_encode(&x, t, 1, &cut, &err), HD_OK);
    assert_int_equal(cut.count, 2);
    assert_int_equal(cut.first, 0);
    assert_int_equal(cut.tokens, 2);
    assert_int_equal(hd_targets_tokens(&x, 2), 2);
    assert_int_equal(hd_targets_take(&x, lines, 2, true, put_upper, &err), HD_OK); /* others in their place */
    assert_int_equal(x.count, 2);
    assert_string_equal(x.text[0].text, "ab");
    hd_targets_release(&x);
    hd_targets_release(&x);
    hd_tokenizer_free(t);
}

static void assert_ids(hd_run *r, const int32_t *ids, size_t count, const int32_t *expected)
{
    int32_t is[16];
    r->backend->download(r->backend, is, ids, count * sizeof *is);
    for (size_t i = 0; i < count; i++) assert_int_equal(is[i], expected[i]);
}

/* A text begins with the start for who reads it and ends with the end for who says it; CTC gets neither. */
static void a_step_is_sent_what_is_read_and_said(void **state)
{
    (void)state;
    enum { START = 1, END = 2 };
    hd_tokenizer *t = NULL;
    hd_targets_cut cut;
    hd_err err = {0};
    hd_targets_sent sent;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_targets x = targets_of(&t);
    assert_int_equal(hd_targets_encode(&x, t, 9, &cut, &err), HD_OK);
    const int32_t one = x.id[0], two = x.id[1];
    const hd_targets_ask ask = {.which = (const uint32_t[]){2, 1, 0},
                                .key = (const int32_t[]){20, 10, 0},
                                .items = 3,
                                .special = {.start = START, .end = END},
                                .labels = true};
    hd_run_begin(&r, HD_INFERENCE);
    assert_true(hd_targets_send(&r, &sent, &x, &ask));
    assert_run_ok(&r);
    assert_ids(&r, sent.input, 9, (const int32_t[]){START, one, two, two, one, START, START, one, two});
    assert_ids(&r, sent.output, 9, (const int32_t[]){one, two, two, one, END, END, one, two, END});
    assert_ids(&r, sent.label, 6, (const int32_t[]){one, two, two, one, one, two});
    assert_ids(&r, sent.seg->len, 3, (const int32_t[]){5, 1, 3});
    assert_ids(&r, sent.labels->len, 3, (const int32_t[]){4, 0, 2});
    hd_targets_release(&x);
    hd_tokenizer_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_kept_as_they_are_learned),
                                       cmocka_unit_test(a_step_is_sent_what_is_read_and_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
