/* Tokenized corpora: the same ids as sentence by sentence, whoever does the work, and the policies for long
 * ones. */
#include "data/fixture.h"

#include "data/corpus.h"
#include "data/reader.h"

static hd_tokenizer *words;

static int learn_words(void **state)
{
    hd_err err = {0};
    if (make_folder(state)) return -1;
    return hd_tokenizer_train(&words, HD_TOKENIZER_words, FEED("a b c d e f g h"), &(hd_tokenizer_opt){0},
                              &err) != HD_OK;
}

static int drop_words(void **state)
{
    hd_tokenizer_free(words);
    return remove_folder(state);
}

static void read_pair(hd_sentences *s, const char *source, const char *target)
{
    hd_err err = {0};
    put_text("source", source);
    put_text("target", target);
    ASSERT_OK(hd_sentences_read(s,
                                &(hd_read_opt){.source = in_folder("source"), .target = in_folder("target")},
                                NULL, &err),
              err);
}

static void assert_ids(const hd_corpus *c, int side, size_t i, const char *text)
{
    hd_text out = {0};
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_decode(words, c->side[side].id + c->side[side].begin[i], hd_corpus_len(c, side, i),
                                  &out, &err),
              err);
    assert_string_equal(out.data, text);
    hd_text_release(&out);
}

static const hd_tokenizer *const *both(void)
{
    static const hd_tokenizer *pair[2];
    pair[0] = pair[1] = words;
    return pair;
}

static void long_sentences_are_left_out_cut_or_refused(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_corpus c = {0};
    hd_report r;
    hd_err err = {0};
    heard h = {{0}, 0};
    hd_log log = {hear, &h, HD_WARN};
    read_pair(&s, "a b\na b c d\n\nc\nd e f g h\n", "a\nb\nc\nd e f g\ne f g h\n");
    ASSERT_OK(hd_corpus_make(&c, &s, both(), &(hd_corpus_opt){.longest = 3, .log = &log}, &r, &err), err);
    assert_int_equal(c.count, 1);
    assert_int_equal(r.kept, 1);
    assert_int_equal(r.lines, 4);
    assert_int_equal(r.fault[HD_FAULT_too_long].count, 3);
    assert_int_equal(r.fault[HD_FAULT_too_long].first, 2);
    assert_non_null(strstr(
        h.last, "source: 3 of 4 lines are longer than allowed and were left out; the first is line 2"));
    hd_corpus_release(&c);
    ASSERT_OK(hd_corpus_make(&c, &s, both(),
                             &(hd_corpus_opt){.longest = 3, .too_long = HD_POLICY_CUT, .log = &log}, &r,
                             &err),
              err);
    assert_int_equal(c.count, 4);
    assert_int_equal(r.fault[HD_FAULT_too_long].count, 3); /* a pair counts once */
    assert_ids(&c, 0, 1, "a b c");
    assert_ids(&c, 1, 2, "d e f");
    assert_ids(&c, 1, 3, "e f g");
    assert_non_null(strstr(h.last, "were cut"));
    hd_corpus_release(&c);
    hd_corpus_make(&c, &s, both(), &(hd_corpus_opt){.longest = 3, .too_long = HD_POLICY_ERROR}, &r, &err);
    assert_error(&err, HD_ELIMIT,
                 "source:2: 4 tokens, 3 are allowed (skip or cut long lines, or allow longer)");
    err = (hd_err){0};
    ASSERT_OK(hd_corpus_make(&c, &s, both(), &(hd_corpus_opt){.longest = 1}, &r, &err) != HD_EFORMAT, err);
    assert_error(&err, HD_EFORMAT, "source: none of its 4 lines can be used");
    hd_sentences_release(&s);
}

/* U+00A0 is no blank line to the reader, and no word either. */
static void sentences_without_tokens_are_empty(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_corpus c = {0};
    hd_report r;
    hd_err err = {0};
    read_pair(&s, "a\n\xc2\xa0\n", "b\nc\n");
    ASSERT_OK(hd_corpus_make(&c, &s, both(), &(hd_corpus_opt){0}, &r, &err), err);
    assert_int_equal(c.count, 1);
    assert_int_equal(r.fault[HD_FAULT_empty].count, 1);
    assert_int_equal(r.fault[HD_FAULT_empty].first, 2);
    hd_corpus_release(&c);
    hd_corpus_make(&c, &s, both(), &(hd_corpus_opt){.empty = HD_POLICY_ERROR}, &r, &err);
    assert_error(&err, HD_EFORMAT, "source:2: the line has no tokens");
    hd_sentences_release(&s);
}

/* More than two blocks, lengths of all kinds. */
static void read_many(hd_sentences *s)
{
    hd_text text[2] = {{0}};
    for (int i = 0; i < 40000; i++)
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k <= (i * (side + 3)) % 7; k++)
                hd_text_print(&text[side], "%c ", "abcdefgh"[(i + k * side) % 8]);
            hd_text_put(&text[side], "\n");
        }
    read_pair(s, text[0].data, text[1].data);
    hd_text_release(&text[0]);
    hd_text_release(&text[1]);
}

static void a_team_gives_the_same_corpus(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_corpus alone = {0}, shared = {0};
    hd_err err = {0};
    hd_team *team = NULL;
    read_many(&s);
    ASSERT_OK(hd_team_new(&team, 4, &err), err);
    ASSERT_OK(hd_corpus_make(&alone, &s, both(), &(hd_corpus_opt){.longest = 6}, NULL, &err), err);
    ASSERT_OK(hd_corpus_make(&shared, &s, both(), &(hd_corpus_opt){.longest = 6, .team = team}, NULL, &err),
              err);
    assert_true(alone.count > 20000 && alone.count < 40000);
    assert_int_equal(alone.count, shared.count);
    assert_int_equal(alone.hash, shared.hash);
    for (int side = 0; side < 2; side++) {
        assert_memory_equal(alone.side[side].begin, shared.side[side].begin,
                            (alone.count + 1) * sizeof(size_t));
        assert_memory_equal(alone.side[side].id, shared.side[side].id,
                            alone.side[side].begin[alone.count] * sizeof(int32_t));
    }
    assert_ids(&alone, 0, 0, "a");
    hd_corpus_release(&alone);
    hd_corpus_release(&shared);
    hd_sentences_release(&s);
    hd_team_free(team);
}

static void the_hash_tells_corpora_apart(void **state)
{
    (void)state;
    static const char *const source[] = {"a b\nc\n", "a\nb c\n", "b a\nc\n", "c\na b\n", "a b\nd\n"};
    uint64_t hash[COUNT_OF(source)];
    for (size_t i = 0; i < COUNT_OF(source); i++) {
        hd_sentences s = {0};
        hd_corpus c = {0};
        hd_err err = {0};
        read_pair(&s, source[i], "a\nb\n");
        ASSERT_OK(hd_corpus_make(&c, &s, both(), &(hd_corpus_opt){0}, NULL, &err), err);
        hash[i] = c.hash;
        for (size_t k = 0; k < i; k++) assert_true(hash[k] != hash[i]);
        hd_corpus_release(&c);
        hd_sentences_release(&s);
    }
}

static hd_sentences walked;

static hd_status make_corpus(hd_err *err)
{
    hd_corpus c = {0};
    hd_status s = hd_corpus_make(&c, &walked, both(), &(hd_corpus_opt){0}, NULL, err);
    hd_corpus_release(&c);
    return s;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    read_many(&walked);
    walk_through_failures(make_corpus);
    hd_sentences_release(&walked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sentences_are_left_out_cut_or_refused),
        cmocka_unit_test(sentences_without_tokens_are_empty),
        cmocka_unit_test(a_team_gives_the_same_corpus),
        cmocka_unit_test(the_hash_tells_corpora_apart),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, learn_words, drop_words);
}
