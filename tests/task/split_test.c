/* Lines in parts: where they are cut, that nothing is lost, and what is refused. The model takes 15 words and
   an end, and was trained with 7 and an end. */
#include "task/small.h"

#include "task/translate/parts.h"

static hd_backend *backend;
static hd_model_folder *words, *characters;

/* The parts of a line as text, "a b | c". A part ends with the end token, which is not shown. */
static const char *parts_of(const hd_model_folder *t, hd_line line, const hd_line *prefix,
                            const hd_translate_opt *opt, hd_translation *to)
{
    static char out[1 << 16];
    hd_err err = {0};
    hd_parts p = {0};
    hd_text text = {0};
    *to = (hd_translation){0};
    if (hd_parts_add(&p, t, 5, line, prefix, opt, to, &err)) fail_msg("%s", err.text);
    assert_int_equal(p.count, to->parts);
    size_t at = 0;
    for (size_t i = 0; i < p.count; i++) {
        const hd_part *part = &p.at[i];
        assert_true(part->line == 5 && part->index == i && part->begin == at && part->size > 1);
        assert_true(part->size <= hd_model_folder_encdec(t)->opt.positions);
        at += part->size;
        assert_int_equal(p.ids.at[at - 1], hd_tokenizer_special(t->tokenizer[0]).end);
        if (i) hd_text_put(&text, "|");
        if (hd_tokenizer_decode(t->tokenizer[0], p.ids.at + part->begin, part->size, &text, &err))
            fail_msg("%s", err.text);
    }
    assert_int_equal(at, p.ids.count);
    snprintf(out, sizeof out, "%s", text.data ? text.data : "");
    hd_text_release(&text);
    hd_parts_release(&p);
    return out;
}

static void lines_are_cut_where_it_hurts_least(void **state)
{
    (void)state;
    static const struct {
        const char *line, *parts;
        size_t longest;
    } cases[] = {
        {"a b c", "a b c", 0},
        {"", "", 0},
        {"   ", "", 0},
        {"a b c d e f g", "a b c d e f g", 0},             /* as long as what it was trained with */
        {"a b c d e f g h", "a b c d e f g|h", 0},         /* no better place than a space */
        {"a b . c d e ! f g h", "a b . c d e !|f g h", 0}, /* the last end of a sentence */
        {"a b . c d e f g h", "a b .|c d e f g h", 0},     /* even an early one */
        {"a b c d , e f g h", "a b c d ,|e f g h", 0},     /* a comma, in the second half */
        {"a , b c d e f g h", "a , b c d e f|g h", 0},     /* but not in the first */
        {"a b c , d ; e f g", "a b c , d ;|e f g", 0},     /* the later of two */
        {"a b c d . e f g a b ? c d e f ! g", "a b c d .|e f g a b ?|c d e f ! g", 0},
        {"a b c d", "a b|c d", 2}, /* --max-source */
        {"a b c d", "a|b|c|d", 1},
        {"  a b   c d  ", "a b|c d", 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_translation to;
        const char *parts =
            parts_of(words, line_of(cases[i].line), NULL,
                     &(hd_translate_opt){.sentences = HD_SENTENCES_KEEP, .longest = cases[i].longest}, &to);
        if (strcmp(parts, cases[i].parts)) fail_msg("'%s' gives '%s'", cases[i].line, parts);
        assert_true(!to.status && !to.cut);
    }
}

/* By default and with `split` every sentence is a part, however short; one longer than what was trained with
   is cut as before. */
static void every_sentence_is_a_part(void **state)
{
    (void)state;
    static const struct {
        const char *line, *parts;
        size_t longest;
    } cases[] = {
        {"a b c", "a b c", 0},
        {"", "", 0},
        {"a . b . c .", "a .|b .|c .", 0},
        {"a b . c ! d ? e", "a b .|c !|d ?|e", 0},
        {"a . b . c . d . e . f . g . h . a . b . c . d .", "a .|b .|c .|d .|e .|f .|g .|h .|a .|b .|c .|d .",
         0},
        {"a . b c d e f g h , a b c . d", "a .|b c d e f g h|, a b c .|d", 0},
        {"a b . c d .", "a|b|.|c|d|.", 1},
        {"a\n\nb", "a|b", 0}, /* paragraphs */
        {"a\nb", "a b", 0},
    };
    static const hd_sentences_mode modes[] = {HD_SENTENCES_AUTO, HD_SENTENCES_SPLIT};
    for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(modes); i++) {
        const size_t k = i / COUNT_OF(modes);
        hd_translation to;
        hd_translate_opt o = {.sentences = modes[i % COUNT_OF(modes)], .longest = cases[k].longest};
        const char *parts = parts_of(words, line_of(cases[k].line), NULL, &o, &to);
        if (strcmp(parts, cases[k].parts)) fail_msg("'%s' gives '%s'", cases[k].line, parts);
        assert_true(!to.status && !to.cut);
    }
}

/* A T5 is told in its text what to do, which a second part would lack. */
static void a_t5_keeps_its_lines_unless_told_otherwise(void **state)
{
    (void)state;
    const hd_encdec_names *own = hd_model_folder_encdec(words)->opt.names;
    hd_translation to;
    hd_model_folder_encdec(words)->opt.names = &hd_encdec_t5;
    parts_of(words, line_of("a b . c ."), NULL, &(hd_translate_opt){0}, &to);
    assert_int_equal(to.parts, 1);
    parts_of(words, line_of("a b . c ."), NULL, &(hd_translate_opt){.sentences = HD_SENTENCES_SPLIT}, &to);
    assert_int_equal(to.parts, 2);
    hd_model_folder_encdec(words)->opt.names = own;
}

/* Where each part and each token is in its line. */
static void parts_and_pieces_know_their_bytes(void **state)
{
    (void)state;
    static const char line[] = " a b .  c xyz d e f g h , a .";
    static const char *const parts[] = {"a b .", "c xyz d e f g h", ", a ."};
    hd_err err = {0};
    hd_parts p = {0};
    hd_translation to = {0};
    if (hd_parts_add(&p, words, 0, line_of(line), NULL, &(hd_translate_opt){0}, &to, &err))
        fail_msg("%s", err.text);
    assert_int_equal(p.count, COUNT_OF(parts));
    assert_int_equal(p.pieces.count, p.ids.count);
    for (size_t i = 0; i < p.count; i++) {
        hd_span s = p.at[i].bytes;
        if (s.end - s.begin != strlen(parts[i]) || memcmp(line + s.begin, parts[i], s.end - s.begin))
            fail_msg("part %zu is '%.*s'", i, (int)(s.end - s.begin), line + s.begin);
        for (size_t k = p.at[i].begin; k < p.at[i].begin + p.at[i].size; k++) {
            const hd_piece *x = &p.pieces.at[k];
            bool end = k + 1 == p.at[i].begin + p.at[i].size;
            char word[8];
            snprintf(word, sizeof word, "%.*s", (int)(x->end - x->begin), line + x->begin);
            assert_int_equal(x->id, p.ids.at[k]);
            assert_true(x->begin >= s.begin && x->end <= s.end);
            assert_string_equal(word, end                  ? ""
                                      : x->id == HD_UNK_ID ? "xyz"
                                                           : hd_tokenizer_piece(words->tokenizer[0], x->id));
        }
    }
    hd_parts_release(&p);
}

/* Characters of several bytes, and marks that need no space behind them. */
static void a_cut_is_never_inside_a_character(void **state)
{
    (void)state;
    hd_translation to;
    hd_translate_opt o = {.sentences = HD_SENTENCES_KEEP};
    assert_string_equal(parts_of(characters, line_of("ÖÖÖÖÖÖÖÖÖÖ"), NULL, &o, &to), "ÖÖÖÖÖÖÖ|ÖÖÖ");
    assert_string_equal(parts_of(characters, line_of("abc。defgh"), NULL, &o, &to), "abc。|defgh");
    assert_string_equal(parts_of(characters, line_of("ab.cdefgh"), NULL, &o, &to),
                        "ab.cdef|gh"); /* as in 3.14 */
    assert_string_equal(parts_of(characters, line_of("ab. cdefgh"), NULL, &o, &to), "ab.|cdefgh");
    o.longest = 1;
    assert_string_equal(parts_of(characters, line_of("Ö。Ö"), NULL, &o, &to), "Ö|。|Ö");
}

static void too_long_a_line_is_split_truncated_or_skipped(void **state)
{
    (void)state;
    const char *line = "a b c d e f g h a b c d e f g h"; /* 16: one more than the model takes */
    hd_translation to;
    parts_of(words, line_of(line), NULL, &(hd_translate_opt){.too_long = HD_LONG_SPLIT}, &to);
    assert_true(to.parts == 3 && !to.status && !to.cut);
    const char *cut =
        parts_of(words, line_of(line), NULL, &(hd_translate_opt){.too_long = HD_LONG_TRUNCATE}, &to);
    assert_string_equal(cut, "a b c d e f g h a b c d e f g");
    assert_true(to.parts == 1 && !to.status && to.cut);
    parts_of(words, line_of(line), NULL, &(hd_translate_opt){.too_long = HD_LONG_SKIP}, &to);
    assert_true(!to.parts && to.status == HD_ELIMIT);
    assert_string_equal(to.why, "longer than the model can take");
    static const char short_and_long[] = "a . b c d e f g h a b c d e f g h a b . c .";
    parts_of(words, line_of(short_and_long), NULL, &(hd_translate_opt){.too_long = HD_LONG_SKIP}, &to);
    assert_true(!to.parts && to.status == HD_ELIMIT); /* one sentence of it is too long */
    cut = parts_of(words, line_of(short_and_long), NULL, &(hd_translate_opt){.too_long = HD_LONG_TRUNCATE},
                   &to);
    assert_string_equal(cut, "a .|b c d e f g h a b c d e f g h|c .");
    assert_true(to.parts == 3 && !to.status && to.cut);
    line = "a b c d e f g h a b c d e f g"; /* 15 are not too long, only more than it was trained with */
    parts_of(words, line_of(line), NULL, &(hd_translate_opt){.too_long = HD_LONG_SKIP}, &to);
    assert_true(to.parts == 1 && !to.status && !to.cut);
    parts_of(words, line_of(line), NULL, &(hd_translate_opt){.too_long = HD_LONG_TRUNCATE}, &to);
    assert_true(to.parts == 1 && !to.cut);
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    static const hd_line good = {"A", 1}, latin = {"\xfc", 1}, zero = {"A\0B", 3}, none = {NULL, 0};
    static const struct {
        hd_line line;
        const hd_line *prefix;
        bool force;
        const char *why;
    } cases[] = {
        {{"a \xfc b", 5}, NULL, false, "not UTF-8"},
        {{"a \xc3", 3}, NULL, false, "not UTF-8"},
        {{"a\0b", 3}, NULL, false, "holds a zero byte"},
        {{"a", 1}, &latin, false, "its given translation is not UTF-8"},
        {{"a", 1}, &zero, true, "its given translation holds a zero byte"},
        {{"a", 1}, &none, true, "no tab: a source, a tab and its translation are expected"},
        {{"a", 1}, &none, false, NULL},
        {{"a", 1}, &good, true, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_translation to;
        parts_of(words, cases[i].line, cases[i].prefix, &(hd_translate_opt){.force = cases[i].force}, &to);
        assert_int_equal(to.parts, !cases[i].why);
        assert_int_equal(to.status, cases[i].why ? HD_EFORMAT : HD_OK);
        if (cases[i].why) assert_string_equal(to.why, cases[i].why);
    }
}

/* A beginning longer than a translation may become is refused here: the search would fail for all lines. */
static void prefixes_are_kept_within_their_limits(void **state)
{
    (void)state;
    static const char many[] = "A B C D E F G H A B C D E F G H"; /* 16 */
    static const struct {
        size_t prefix, max_length;
        double ratio;
        bool force, good;
    } cases[] = {
        {16, 0, 0, false, true}, {16, 16, 0, false, true}, {16, 15, 0, false, false}, {4, 0, 2, false, true},
        {5, 0, 2, false, false}, {5, 0, 2.5, false, true}, {15, 3, 2, true, true}, /* and the end: 16 */
        {16, 3, 2, true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_translation to;
        hd_line prefix = {many, 2 * cases[i].prefix - 1};
        hd_translate_opt o = {.search = {.max_length = cases[i].max_length, .max_ratio = cases[i].ratio},
                              .force = cases[i].force};
        parts_of(words, line_of("a"), &prefix, &o, &to); /* two tokens with its end */
        assert_int_equal(to.status, cases[i].good ? HD_OK : HD_ELIMIT);
        assert_int_equal(to.parts, cases[i].good);
    }
    hd_translation to;
    hd_line prefix = {"A", 1};
    parts_of(words, line_of("a b c d e f g h"), &prefix, &(hd_translate_opt){0}, &to);
    assert_int_equal(to.parts, 1); /* one translation goes with one source: it is not split */
    parts_of(words, line_of("a b c d e f g h a b c d e f g h"), &prefix, &(hd_translate_opt){0}, &to);
    assert_int_equal(to.status, HD_ELIMIT);
}

/* All words of a megabyte come out again, in order, and in a time that grows with its size alone. */
static void nothing_of_a_megabyte_is_lost(void **state)
{
    (void)state;
    enum { WORDS = 1 << 19 };
    hd_err err = {0};
    hd_translation to = {0};
    hd_parts p = {0};
    char *text = malloc(2 * WORDS);
    for (size_t i = 0; i < WORDS; i++) text[2 * i] = (char)('a' + i * i % 7 % 8), text[2 * i + 1] = ' ';
    if (hd_parts_add(&p, words, 0, (hd_line){text, 2 * WORDS}, NULL, &(hd_translate_opt){0}, &to, &err))
        fail_msg("%s", err.text);
    size_t word = 0;
    for (size_t i = 0; i < p.count; i++)
        for (size_t k = 0; k + 1 < p.at[i].size; k++, word++) {
            const char *piece = hd_tokenizer_piece(words->tokenizer[0], p.ids.at[p.at[i].begin + k]);
            assert_true(word < WORDS && piece[0] == text[2 * word] && !piece[1]);
        }
    assert_int_equal(word, WORDS);
    hd_parts_release(&p);
    memset(text, 'x', 2 * WORDS); /* one word that is in no vocabulary */
    to = (hd_translation){0};
    if (hd_parts_add(&p, words, 0, (hd_line){text, 2 * WORDS}, NULL, &(hd_translate_opt){0}, &to, &err))
        fail_msg("%s", err.text);
    assert_int_equal(to.parts, 1);
    hd_parts_release(&p);
    if (hd_parts_add(&p, characters, 0, (hd_line){text, 2 * WORDS}, NULL, &(hd_translate_opt){0}, &to, &err))
        fail_msg("%s", err.text);
    assert_int_equal(p.ids.count, 2 * WORDS + p.count);
    hd_parts_release(&p);
    free(text);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_line prefix = line_of("A B"), line = line_of("a b c d e f . g h a b c");
    for (int forced = 0; forced < 2; forced++) {
        size_t blocks = hd_mem_now().blocks, n = 1;
        for (hd_status s = HD_ENOMEM; s; n++) {
            hd_err err = {0};
            hd_translation to = {0};
            hd_parts p = {0};
            hd_mem_fail_at(n);
            s = hd_parts_add(&p, words, 0, line, forced ? &prefix : NULL,
                             &(hd_translate_opt){.force = forced}, &to, &err);
            hd_mem_fail_at(0);
            assert_int_equal(s, err.status);
            hd_parts_release(&p);
            assert_int_equal(hd_mem_now().blocks, blocks);
        }
        assert_in_range(n, 4, 100);
    }
}

static int open_all(void **state)
{
    (void)state;
    backend = backend_of("cpu", 1);
    words = small_make(backend, HD_TOKENIZER_words, false, false);
    characters = small_make(backend, HD_TOKENIZER_characters, false, false);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    folder_free(words);
    folder_free(characters);
    hd_backend_free(backend);
    return hd_mem_now().blocks != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_cut_where_it_hurts_least),
        cmocka_unit_test(every_sentence_is_a_part),
        cmocka_unit_test(a_t5_keeps_its_lines_unless_told_otherwise),
        cmocka_unit_test(parts_and_pieces_know_their_bytes),
        cmocka_unit_test(a_cut_is_never_inside_a_character),
        cmocka_unit_test(too_long_a_line_is_split_truncated_or_skipped),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(prefixes_are_kept_within_their_limits),
        cmocka_unit_test(nothing_of_a_megabyte_is_lost),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
