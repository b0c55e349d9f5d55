/* The tokenizers words and characters, and what all tokenizers promise. */
#include "data/fixture.h"
#include "outcome.h"

static hd_tokenizer *trained(hd_tokenizer_kind kind, hd_feed lines, const hd_tokenizer_opt *opt)
{
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_train(&t, kind, lines, opt, &err), err);
    return t;
}

static void assert_pieces(const hd_tokenizer *t, const char *const *piece)
{
    size_t count = 0;
    while (piece[count]) count++;
    assert_int_equal(hd_tokenizer_size(t), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(hd_tokenizer_piece(t, (int32_t)i), piece[i]);
        assert_int_equal(hd_tokenizer_id(t, piece[i]), i);
    }
}

static void the_registry_has_every_kind(void **state)
{
    (void)state;
    for (int i = 0; i < HD_TOKENIZERS; i++) {
        assert_int_equal(hd_tokenizer_find(hd_tokenizer_name((hd_tokenizer_kind)i)), i);
        assert_true(strlen(hd_tokenizer_summary((hd_tokenizer_kind)i)) > 0);
    }
    assert_int_equal(hd_tokenizer_find("letters"), -1);
}

/* The lectures' rule: specials, then frequency falling, ties alphabetical. */
static void words_are_ranked_by_frequency_then_alphabet(void **state)
{
    (void)state;
    hd_tokenizer *t = trained(HD_TOKENIZER_words, FEED("b a b", "Zebra ant", "b a"), &(hd_tokenizer_opt){0});
    assert_pieces(t, (const char *const[]){"<pad>", "<unk>", "<s>", "</s>", "b", "a", "Zebra", "ant", NULL});
    hd_special s = hd_tokenizer_special(t);
    assert_int_equal(s.pad, HD_PAD_ID);
    assert_int_equal(s.unk, HD_UNK_ID);
    assert_int_equal(s.start, HD_START_ID);
    assert_int_equal(s.end, HD_END_ID);
    assert_null(hd_tokenizer_piece(t, 8));
    assert_null(hd_tokenizer_piece(t, -1));
    assert_int_equal(hd_tokenizer_id(t, "c"), -1);
    hd_tokenizer_free(t);
}

static void a_bound_keeps_the_frequent_ones(void **state)
{
    (void)state;
    heard h = {{0}, 0};
    hd_log log = {hear, &h, HD_INFO};
    hd_tokenizer *t =
        trained(HD_TOKENIZER_words, FEED("b a b", "Zebra ant", "b a"), &(hd_tokenizer_opt){.vocab = 6});
    assert_pieces(t, (const char *const[]){"<pad>", "<unk>", "<s>", "</s>", "b", "a", NULL});
    hd_tokenizer_free(t);
    t = trained(HD_TOKENIZER_words, FEED("b a b", "Zebra ant", "b a"), &(hd_tokenizer_opt){.least = 3});
    assert_pieces(t, (const char *const[]){"<pad>", "<unk>", "<s>", "</s>", "b", NULL});
    hd_tokenizer_free(t);
    t = trained(HD_TOKENIZER_words, FEED("b a"), &(hd_tokenizer_opt){.vocab = 100, .log = &log});
    assert_string_equal(h.last, "info: the text has 2 pieces: the vocabulary is 6, not 100");
    hd_tokenizer_free(t);
    hd_err err = {0};
    hd_tokenizer_train(&t, HD_TOKENIZER_words, FEED("b"), &(hd_tokenizer_opt){.vocab = 3}, &err);
    assert_error(&err, HD_EARG, "the specials alone are 4");
}

static void rare_words_are_forgotten_where_there_are_too_many(void **state)
{
    (void)state;
    enum { LINES = 400 };
    static char text[LINES][40];
    static const char *line[LINES + 1];
    hd_err err = {0};
    heard h = {0};
    hd_log log = {hear, &h, HD_INFO};
    for (int i = 0; i < LINES; i++) {
        snprintf(text[i], sizeof text[i], "the %s w%d", i % 2 ? "cat" : "dog", i);
        line[i] = text[i];
    }
    for (size_t counted = 0; counted <= 20; counted += 20) {
        hd_tokenizer *t = NULL;
        hd_feed feed = {next_of_array, &(array_walk){line}};
        ASSERT_OK(hd_tokenizer_train(&t, HD_TOKENIZER_words, feed,
                                     &(hd_tokenizer_opt){.counted = counted, .log = &log}, &err),
                  err);
        assert_int_equal(hd_tokenizer_id(t, "the"), 4);
        assert_int_equal(hd_tokenizer_id(t, "cat"), 5);
        assert_int_equal(hd_tokenizer_id(t, "dog"), 6);
        if (counted)
            assert_true(hd_tokenizer_size(t) <= 4 + 20 + 3);
        else
            assert_int_equal(hd_tokenizer_size(t), 4 + 3 + LINES);
        assert_int_equal(h.count, counted > 0);
        hd_tokenizer_free(t);
    }
    assert_non_null(strstr(h.last, "more than 20 different pieces"));
}

static void words_are_cut_at_spaces_and_marks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cut; /* pieces joined by | */
    } cases[] = {
        {"Hello, world!", "Hello|,|world|!"},
        {"  two\t\tspaces \xc2\xa0 here", "two|spaces|here"}, /* the last one is a no-break space */
        {"don't well-known O\xe2\x80\x99Neill", "don't|well-known|O\xe2\x80\x99Neill"},
        {"'quoted' - dash- -dash", "'|quoted|'|-|dash|-|-|dash"},
        {"Größe 3,5 m\xc2\xb2", "Größe|3|,|5|m\xc2\xb2"},
        {"日本語。", "日本語|。"},
        {"a\xff"
         "b",
         "a|\xff|b"}, /* not UTF-8 */
        {"", ""},
        {" ", ""},
        {"Ich habe einen Apfel gegessen .", "Ich|habe|einen|Apfel|gegessen|."},
    };
    hd_tokenizer *t = trained(HD_TOKENIZER_words, FEED("x"), &(hd_tokenizer_opt){0});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_pieces p = {0};
        hd_text cut = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode(t, cases[i].text, strlen(cases[i].text), &p, &err), err);
        hd_text_put(&cut, "");
        for (size_t k = 0; k < p.count; k++) {
            assert_int_equal(p.at[k].id, HD_UNK_ID);
            if (k) hd_text_put(&cut, "|");
            hd_text_add(&cut, cases[i].text + p.at[k].begin, p.at[k].end - p.at[k].begin);
        }
        assert_string_equal(cut.data, cases[i].cut);
        hd_text_release(&cut);
        hd_pieces_release(&p);
    }
    hd_tokenizer_free(t);
}

static void assert_decodes(const hd_tokenizer *t, const int32_t *ids, size_t count, const char *text)
{
    hd_text out = {0};
    hd_err err = {0};
    hd_text_put(&out, ">");
    ASSERT_OK(hd_tokenizer_decode(t, ids, count, &out, &err), err);
    assert_string_equal(out.data + 1, text);
    hd_text_release(&out);
}

static void any_ids_decode(void **state)
{
    (void)state;
    const int32_t ids[] = {HD_START_ID, 4, HD_UNK_ID, -7, 5, 1000000, HD_PAD_ID, HD_END_ID};
    hd_tokenizer *words = trained(HD_TOKENIZER_words, FEED("the the dog"), &(hd_tokenizer_opt){0});
    assert_decodes(words, ids, COUNT_OF(ids), "the <unk> <unk> dog <unk>");
    assert_decodes(words, ids, 0, "");
    hd_tokenizer_free(words);
    hd_tokenizer *characters = trained(HD_TOKENIZER_characters, FEED("ää x"), &(hd_tokenizer_opt){0});
    assert_decodes(characters, ids, COUNT_OF(ids), "ä\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
    hd_tokenizer_free(characters);
}

/* What a text writes is never a special. */
static void a_text_cannot_speak_specials(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_TOKENIZERS; kind++) {
        if (!hd_tokenizer_learns((hd_tokenizer_kind)kind)) continue;
        hd_tokenizer *t = trained((hd_tokenizer_kind)kind, FEED("<s> < s > / pad unk </s> <pad> <unk>"),
                                  &(hd_tokenizer_opt){.vocab = 300});
        hd_ids ids = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode_ids(t, "<s> </s> <pad>", 14, &ids, &err), err);
        assert_true(ids.count > 0);
        for (size_t i = 0; i < ids.count; i++)
            assert_false(ids.at[i] == HD_PAD_ID || ids.at[i] == HD_START_ID || ids.at[i] == HD_END_ID);
        hd_ids_release(&ids);
        hd_tokenizer_free(t);
    }
}

static void characters_keep_every_byte(void **state)
{
    (void)state;
    const char *text = "a  \t\nGrüße \xf0\x9f\x99\x82.";
    hd_tokenizer *t =
        trained(HD_TOKENIZER_characters, FEED("a  \t\nGrüße \xf0\x9f\x99\x82."), &(hd_tokenizer_opt){0});
    hd_pieces p = {0};
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_encode(t, text, strlen(text), &p, &err), err);
    assert_int_equal(p.count, 13);
    int32_t ids[13];
    for (size_t i = 0; i < p.count; i++) {
        ids[i] = p.at[i].id;
        assert_int_equal(p.at[i].begin, i ? p.at[i - 1].end : 0);
    }
    assert_int_equal(p.at[12].end, strlen(text));
    assert_decodes(t, ids, 13, text);
    hd_pieces_release(&p);
    hd_tokenizer_free(t);
}

static void saved_and_opened_is_the_same(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_TOKENIZERS; kind++) {
        if (!hd_tokenizer_learns((hd_tokenizer_kind)kind)) continue;
        hd_tokenizer *t = trained((hd_tokenizer_kind)kind, FEED("A man in a \\ café . \n\t", "naïve A man"),
                                  &(hd_tokenizer_opt){.vocab = 300});
        hd_tokenizer *again = NULL;
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_save(t, in_folder("vocab"), &err), err);
        ASSERT_OK(hd_tokenizer_open(&again, (hd_tokenizer_kind)kind, in_folder("vocab"), &err), err);
        assert_int_equal(hd_tokenizer_kind_of(again), kind);
        assert_int_equal(hd_tokenizer_size(t), hd_tokenizer_size(again));
        for (int32_t i = 0; i < (int32_t)hd_tokenizer_size(t); i++)
            assert_string_equal(hd_tokenizer_piece(t, i), hd_tokenizer_piece(again, i));
        hd_tokenizer_free(t);
        hd_tokenizer_free(again);
    }
}

static void no_text_no_vocabulary(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_TOKENIZERS; kind++) {
        if (!hd_tokenizer_learns((hd_tokenizer_kind)kind)) continue;
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        assert_int_equal(
            hd_tokenizer_train(&t, (hd_tokenizer_kind)kind, FEED(NULL), &(hd_tokenizer_opt){0}, &err),
            HD_EARG);
        assert_error(&err, HD_EARG, "there is no text");
        assert_null(t);
    }
}

static void what_is_published_is_not_learned(void **state)
{
    (void)state;
    static const char *const names[] = {"bpe", "wordpiece", "marian", "t5"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        hd_tokenizer_kind kind = (hd_tokenizer_kind)hd_tokenizer_find(names[i]);
        assert_false(hd_tokenizer_learns(kind));
        hd_tokenizer_train(&t, kind, FEED("a"), &(hd_tokenizer_opt){0}, &err);
        assert_error(&err, HD_EARG, "cannot be trained here: give an existing file");
        assert_null(t);
    }
}

/* "é b": the end follows each text, and what a text has is counted in characters. */
static void frames_and_characters(void **state)
{
    (void)state;
    hd_tokenizer *t = trained(HD_TOKENIZER_characters, FEED("é b"), &(hd_tokenizer_opt){0});
    hd_pieces p = {0};
    hd_err err = {0};
    const hd_line first = {"é b", 4}, second = {"b\xff\xc3\xa9", 4};
    ASSERT_OK(hd_tokenizer_encode_framed(t, first, &second, &p, &err), err);
    for (int k = 0; k < 2; k++) hd_pieces_count_characters(&p, k, k ? second : first);
    static const struct {
        uint32_t begin, end;
        int text, type;
    } want[] = {{0, 1, 0, 0}, {1, 2, 0, 0}, {2, 3, 0, 0}, {0, 0, -1, 0},
                {0, 1, 1, 1}, {1, 2, 1, 1}, {2, 3, 1, 1}, {0, 0, -1, 1}};
    assert_int_equal(p.count, COUNT_OF(want));
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.at[i].begin, want[i].begin);
        assert_int_equal(p.at[i].end, want[i].end);
        assert_int_equal(p.at[i].text, want[i].text);
        assert_int_equal(p.at[i].type, want[i].type);
    }
    assert_int_equal(p.at[3].id, HD_END_ID);
    assert_int_equal(p.at[7].id, HD_END_ID);
    hd_pieces_release(&p);
    hd_tokenizer_free(t);
}

static void words_of_real_text_come_back(void **state)
{
    (void)state;
    hd_lines *l = NULL;
    hd_line line;
    hd_err err = {0};
    if (access(MULTI30K "val.de.gz", R_OK)) leave_out(MULTI30K " is not there");
    hd_tokenizer *t[2] = {NULL, NULL};
    static const char *const text[] = {
        "abcdefghijklmnopqrstuvwxyzäöüßABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜ0123456789 .,-'\"!?()/&%:;", NULL};
    for (int i = 0; i < 2; i++)
        t[i] = trained(i ? HD_TOKENIZER_characters : HD_TOKENIZER_words,
                       (hd_feed){next_of_array, &(array_walk){text}}, &(hd_tokenizer_opt){0});
    ASSERT_OK(hd_lines_open(&l, MULTI30K "val.de.gz", NULL, &err), err);
    size_t same = 0;
    while (!hd_lines_next(l, &line, &err) && line.text) {
        hd_pieces p = {0};
        ASSERT_OK(hd_tokenizer_encode(t[0], line.text, line.size, &p, &err), err);
        size_t at = 0;
        for (size_t i = 0; i < p.count;
             i++) { /* every byte is in one piece or a space, some of them no-break */
            for (; at < p.at[i].begin; at++) assert_non_null(strchr(" \xc2\xa0", line.text[at]));
            assert_true(p.at[i].end > p.at[i].begin);
            at = p.at[i].end;
        }
        for (; at < line.size; at++) assert_non_null(strchr(" \xc2\xa0", line.text[at]));
        hd_pieces_release(&p);
        hd_ids ids = {0};
        hd_text out = {0};
        ASSERT_OK(hd_tokenizer_encode_ids(t[1], line.text, line.size, &ids, &err), err);
        ASSERT_OK(hd_tokenizer_decode(t[1], ids.at, ids.count, &out, &err), err);
        same += out.size == line.size && !memcmp(out.data, line.text, line.size);
        hd_text_release(&out);
        hd_ids_release(&ids);
    }
    assert_int_equal(err.status, HD_OK);
    assert_true(same > 1000); /* of 1014: some characters are not in the vocabulary above */
    hd_lines_close(l);
    hd_tokenizer_free(t[0]);
    hd_tokenizer_free(t[1]);
}

static hd_tokenizer_kind walked;

static hd_status train_and_use(hd_err *err)
{
    hd_tokenizer *t = NULL, *again = NULL;
    hd_pieces p = {0};
    hd_text out = {0};
    hd_ids ids = {0};
    hd_status s = hd_tokenizer_train(&t, walked, FEED("A man sees a dog .", "A dog ."),
                                     &(hd_tokenizer_opt){.vocab = 280}, err);
    if (!s) s = hd_tokenizer_encode(t, "A dog sees", 10, &p, err);
    if (!s) s = hd_tokenizer_encode_ids(t, "A dog sees", 10, &ids, err);
    if (!s) s = hd_tokenizer_decode(t, ids.at, ids.count, &out, err);
    if (!s) s = hd_tokenizer_save(t, in_folder("walked"), err);
    if (!s) s = hd_tokenizer_open(&again, walked, in_folder("walked"), err);
    hd_tokenizer_free(t);
    hd_tokenizer_free(again);
    hd_pieces_release(&p);
    hd_ids_release(&ids);
    hd_text_release(&out);
    return s;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_TOKENIZERS; kind++) {
        if (!hd_tokenizer_learns((hd_tokenizer_kind)kind)) continue;
        walked = (hd_tokenizer_kind)kind;
        walk_through_failures(train_and_use);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_has_every_kind),
        cmocka_unit_test(words_are_ranked_by_frequency_then_alphabet),
        cmocka_unit_test(a_bound_keeps_the_frequent_ones),
        cmocka_unit_test(rare_words_are_forgotten_where_there_are_too_many),
        cmocka_unit_test(words_are_cut_at_spaces_and_marks),
        cmocka_unit_test(any_ids_decode),
        cmocka_unit_test(a_text_cannot_speak_specials),
        cmocka_unit_test(characters_keep_every_byte),
        cmocka_unit_test(saved_and_opened_is_the_same),
        cmocka_unit_test(no_text_no_vocabulary),
        cmocka_unit_test(what_is_published_is_not_learned),
        cmocka_unit_test(frames_and_characters),
        cmocka_unit_test(words_of_real_text_come_back),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return outcome(cmocka_run_group_tests(tests, make_folder, remove_folder));
}
