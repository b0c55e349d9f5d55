/* The tokenizer sentencepiece: the ids are the library's, offsets lead back into the text, and neither a
   hostile text nor a hostile model ends the process. */
#include "text/sentencepiece_test.h"

#include <fcntl.h>

#include "base/file/file.h"
#include "base/rng.h"
#include "data/fixture.h"
#include "text/sentencepiece/sentencepiece_check.h"

enum { LONGEST = 4096 };

/* Real text where it is there; otherwise sentences made of a few words. */
typedef struct corpus_walk {
    hd_lines *lines[2];
    int side, made;
    char made_line[200];
} corpus_walk;

static bool real(void)
{
    return !access(MULTI30K "val.en.gz", R_OK);
}

static bool next_of_corpus(void *context, hd_line *line)
{
    static const char *const word[] = {"the",    "Mann",    "läuft",  "isst",  "über",
                                       "street", "walking", "walked", "walks", "Straße"};
    corpus_walk *w = context;
    hd_err err = {0};
    if (real()) {
        for (; w->side < 2; w->side++) {
            ASSERT_OK(hd_lines_next(w->lines[w->side], line, &err), err);
            if (line->text) return true;
        }
        return false;
    }
    if (w->made == 500) return false;
    hd_rng rng = hd_rng_make(1, (uint64_t)w->made++);
    char *to = w->made_line;
    for (int i = 0; i < 8; i++) to += sprintf(to, "%s ", word[hd_rng_below(&rng, COUNT_OF(word))]);
    *line = (hd_line){w->made_line, (size_t)(to - w->made_line)};
    return true;
}

static hd_feed corpus_open(corpus_walk *w)
{
    hd_err err = {0};
    *w = (corpus_walk){0};
    if (real()) {
        ASSERT_OK(hd_lines_open(&w->lines[0], MULTI30K "val.en.gz", NULL, &err), err);
        ASSERT_OK(hd_lines_open(&w->lines[1], MULTI30K "val.de.gz", NULL, &err), err);
    }
    return (hd_feed){next_of_corpus, w};
}

static void corpus_close(corpus_walk *w)
{
    hd_lines_close(w->lines[0]);
    hd_lines_close(w->lines[1]);
}

static hd_tokenizer *learn(const hd_tokenizer_opt *opt)
{
    corpus_walk w;
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, corpus_open(&w), opt, &err), err);
    corpus_close(&w);
    return t;
}

static size_t vocab(void)
{
    return real() ? 2000 : 320;
}

static hd_tokenizer *shared_model; /* byte-pair, learned once */

static int learn_shared(void **state)
{
    if (make_folder(state)) return -1;
    shared_model = learn(&(hd_tokenizer_opt){.vocab = vocab()});
    hd_err err = {0};
    return hd_tokenizer_save(shared_model, in_folder("shared.spm"), &err) != HD_OK;
}

static int drop_shared(void **state)
{
    hd_tokenizer_free(shared_model);
    return remove_folder(state);
}

static void specials_have_their_ids(void **state)
{
    (void)state;
    for (int i = 0; i < HD_SPECIALS; i++) {
        assert_string_equal(hd_tokenizer_piece(shared_model, i), hd_special_piece[i]);
        assert_int_equal(hd_tokenizer_id(shared_model, hd_special_piece[i]), i);
    }
    assert_int_equal(hd_tokenizer_size(shared_model), vocab());
    assert_int_equal(hd_tokenizer_id(shared_model, "no such piece"), -1);
    assert_null(hd_tokenizer_piece(shared_model, (int32_t)vocab()));
}

/* Before any other test asks for a piece: the library may allocate at the first call only. */
static void pieces_are_known_without_memory(void **state)
{
    (void)state;
    cpp_fail_at(1);
    const char *piece = hd_tokenizer_piece(shared_model, HD_END_ID);
    size_t size = hd_tokenizer_size(shared_model);
    cpp_fail_at(0);
    assert_string_equal(piece, hd_special_piece[HD_END_ID]);
    assert_int_equal(size, vocab());
}

static void a_failing_allocation_of_the_library_is_told(void **state)
{
    (void)state;
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    cpp_fail_at(1);
    hd_status s = hd_tokenizer_open(&t, HD_TOKENIZER_sentencepiece, in_folder("shared.spm"), &err);
    assert_true(cpp_fail_at(0) > 0);
    assert_int_equal(s, HD_ENOMEM);
    assert_non_null(strstr(err.text, "out of memory"));
    assert_null(t);
}

static void learning_twice_gives_the_same_file(void **state)
{
    (void)state;
    for (int unigram = 0; unigram < 2; unigram++) {
        hd_map file[2] = {{0}};
        hd_err err = {0};
        for (int i = 0; i < 2; i++) {
            hd_tokenizer *t = learn(&(hd_tokenizer_opt){.vocab = vocab() - 10, .unigram = unigram});
            const char *path = in_folder(i ? "second" : "first");
            ASSERT_OK(hd_tokenizer_save(t, path, &err), err);
            ASSERT_OK(hd_map_open(&file[i], path, &err), err);
            hd_tokenizer_free(t);
        }
        assert_int_equal(file[0].size, file[1].size);
        assert_memory_equal(file[0].data, file[1].data, file[0].size);
        hd_map_close(&file[0]);
        hd_map_close(&file[1]);
    }
}

static void ids_and_text_are_the_librarys(void **state)
{
    (void)state;
    corpus_walk w;
    hd_line line;
    hd_feed feed = corpus_open(&w);
    direct *d = direct_open(in_folder("shared.spm"));
    assert_non_null(d);
    assert_int_equal(direct_size(d), hd_tokenizer_size(shared_model));
    while (feed.next(feed.context, &line)) {
        static int expected[LONGEST];
        static char text[LONGEST];
        hd_ids ids = {0};
        hd_text out = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode_ids(shared_model, line.text, line.size, &ids, &err), err);
        assert_int_equal(direct_encode(d, line.text, line.size, expected, LONGEST), ids.count);
        assert_memory_equal(ids.at, expected, ids.count * sizeof(int));
        ASSERT_OK(hd_tokenizer_decode(shared_model, ids.at, ids.count, &out, &err), err);
        assert_int_equal(direct_decode(d, expected, ids.count, text, LONGEST), out.size);
        assert_memory_equal(out.data, text, out.size);
        hd_ids_release(&ids);
        hd_text_release(&out);
    }
    corpus_close(&w);
    direct_close(d);
}

/* Spaces at the ends are dropped and runs of them count as one; nothing else may be lost. */
static bool same_words(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < a_size && a[i] == ' ') i++;
        while (j < b_size && b[j] == ' ') j++;
        if (i == a_size || j == b_size) return i == a_size && j == b_size;
        if (a[i++] != b[j++]) return false;
    }
}

static void text_comes_back_and_offsets_cover_it(void **state)
{
    (void)state;
    corpus_walk w;
    hd_line line;
    hd_feed feed = corpus_open(&w);
    size_t lines = 0, same = 0;
    while (feed.next(feed.context, &line)) {
        hd_pieces p = {0};
        hd_ids ids = {0};
        hd_text out = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode(shared_model, line.text, line.size, &p, &err), err);
        ASSERT_OK(hd_tokenizer_encode_ids(shared_model, line.text, line.size, &ids, &err), err);
        assert_int_equal(p.count, ids.count);
        for (size_t i = 0; i < p.count; i++) {
            assert_int_equal(p.at[i].id, ids.at[i]);
            if (i) assert_int_equal(p.at[i].begin, p.at[i - 1].end);
            assert_true(p.at[i].begin <= p.at[i].end && p.at[i].end <= line.size);
        }
        assert_int_equal(p.at[0].begin, 0);
        for (size_t i = p.at[p.count - 1].end; i < line.size; i++) assert_int_equal(line.text[i], ' ');
        ASSERT_OK(hd_tokenizer_decode(shared_model, ids.at, ids.count, &out, &err), err);
        same += same_words(line.text, line.size, out.data, out.size);
        lines++;
        hd_pieces_release(&p);
        hd_ids_release(&ids);
        hd_text_release(&out);
    }
    corpus_close(&w);
    assert_true(lines >= 500 &&
                same * 1000 >= lines * 990); /* the rest has signs that are normalized, as no-break spaces */
}

static void unknown_characters_become_bytes(void **state)
{
    (void)state;
    const char *text = "日 \xf0\x9f\x99\x82";
    hd_pieces p = {0};
    hd_text out = {0};
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_encode(shared_model, text, strlen(text), &p, &err), err);
    static const char *const piece[] = {"▁",      "<0xE6>", "<0x97>", "<0xA5>", "▁",
                                        "<0xF0>", "<0x9F>", "<0x99>", "<0x82>"};
    assert_int_equal(p.count, COUNT_OF(piece));
    int32_t ids[COUNT_OF(piece)];
    for (size_t i = 0; i < p.count; i++)
        assert_string_equal(hd_tokenizer_piece(shared_model, ids[i] = p.at[i].id), piece[i]);
    assert_int_equal(p.at[1].end, 0); /* the last byte has the character */
    assert_int_equal(p.at[3].begin, 0);
    assert_int_equal(p.at[3].end, 3);
    assert_int_equal(p.at[8].end, strlen(text));
    ASSERT_OK(hd_tokenizer_decode(shared_model, ids, p.count, &out, &err), err);
    assert_string_equal(out.data, text);
    out.size = 0;
    ASSERT_OK(hd_tokenizer_decode(shared_model, ids, 3, &out, &err), err); /* half a character */
    assert_string_equal(out.data, "\xef\xbf\xbd\xef\xbf\xbd");
    hd_text_release(&out);
    hd_pieces_release(&p);
}

static void odd_ids_decode(void **state)
{
    (void)state;
    int32_t word = 0; /* any that begins with a space: which are learned depends on the library's version */
    while (strncmp(hd_tokenizer_piece(shared_model, word), "▁", strlen("▁")) ||
           strlen(hd_tokenizer_piece(shared_model, word)) < strlen("▁") + 2)
        word++;
    const int32_t ids[] = {HD_START_ID, -1, word, HD_PAD_ID, 1 << 30, INT32_MIN, HD_UNK_ID, word, HD_END_ID};
    hd_text out = {0};
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_decode(shared_model, ids, COUNT_OF(ids), &out, &err), err);
    assert_int_equal(hd_utf8_good(out.data, out.size), out.size);
    assert_non_null(strstr(out.data, hd_tokenizer_piece(shared_model, word) + strlen("▁")));
    hd_text_release(&out);
}

static void too_large_is_lowered_too_small_is_refused(void **state)
{
    (void)state;
    for (int unigram = 0; unigram < 2; unigram++) {
        heard h = {{0}, 0};
        hd_log log = {hear, &h, HD_INFO};
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        hd_tokenizer_opt opt = {.vocab = 5000, .unigram = unigram, .log = &log};
        ASSERT_OK(
            hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, FEED("a man sees a dog", "a dog"), &opt, &err),
            err);
        assert_true(hd_tokenizer_size(t) < 400);
        assert_int_equal(h.count, 1);
        assert_non_null(strstr(h.last, "info: the text supports a vocabulary of "));
        hd_tokenizer_free(t);
        opt.vocab = 262;
        assert_int_equal(
            hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, FEED("a man sees a dog", "a dog"), &opt, &err),
            HD_EARG);
        assert_error(
            &err, HD_EARG,
            "a vocabulary of 262 is too small: specials, bytes and the characters of the text are 269");
        err = (hd_err){0};
        opt.coverage = 0.5;
        hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, FEED("a"), &opt, &err);
        assert_error(&err, HD_EARG, "not between 0.98 and 1");
    }
}

/* Each of these would make the library end the process, or leave it without a text. */
static void odd_texts_are_learned_from_or_refused(void **state)
{
    (void)state;
    size_t size = 300000;
    char *word = malloc(size + 1), *marks = malloc(size + 1);
    memset(word, 'x', size);
    for (size_t i = 0; i < size; i++) marks[i] = "\xe2\x96\x81"[i % 3];
    word[size] = marks[size] = 0;
    const struct {
        const char *line;
        bool good;
    } cases[] = {{" ", false},
                 {"\t\x01\x7f", false},
                 {"\xe2\x96\x81", false},
                 {"\xef\xbf\xbd", false},
                 {"\xe2\x80\x8b", false},
                 {"\xe2\x96\x85 dog", false},
                 {marks, false},
                 {"\xff\xfe", false},
                 {"a", true},
                 {word, true},
                 {".", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int unigram = 0; unigram < 2; unigram++) {
            hd_tokenizer *t = NULL;
            hd_err err = {0};
            hd_tokenizer_opt opt = {.vocab = 300, .unigram = unigram};
            hd_status s = hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, FEED(cases[i].line), &opt, &err);
            assert_int_equal(s, cases[i].good ? HD_OK : HD_EARG);
            hd_tokenizer_free(t);
        }
    }
    free(word);
    free(marks);
}

static void any_bytes_are_encoded(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(3, 3);
    for (int i = 0; i < 2000; i++) {
        char text[64];
        size_t size = hd_rng_below(&rng, sizeof text);
        for (size_t k = 0; k < size; k++) text[k] = (char)hd_rng_below(&rng, i % 2 ? 256 : 128);
        hd_pieces p = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode(shared_model, text, size, &p, &err), err);
        for (size_t k = 0; k < p.count; k++) assert_true(p.at[k].id >= 0 && p.at[k].end <= size);
        hd_pieces_release(&p);
    }
}

static void a_foreign_model_keeps_its_ids(void **state)
{
    (void)state;
    hd_text lines = {0};
    for (int i = 0; i < 50; i++) hd_text_print(&lines, "a man sees the dog and the cat number %d\n", i);
    put_file("lines.txt", lines.data, lines.size);
    hd_text_release(&lines);
    char prefix[256];
    snprintf(prefix, sizeof prefix, "%s", in_folder("foreign"));
    assert_int_equal(direct_train(in_folder("lines.txt"), prefix, "--vocab_size=60 --hard_vocab_limit=false"),
                     0);
    direct *d = direct_open(in_folder("foreign.model"));
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_sentencepiece, in_folder("foreign.model"), &err), err);
    hd_special s = hd_tokenizer_special(t);
    assert_int_equal(s.unk, 0);
    assert_int_equal(s.start, 1);
    assert_int_equal(s.end, 2);
    assert_int_equal(s.pad, direct_size(d)); /* it has none: behind its last */
    assert_int_equal(hd_tokenizer_size(t), direct_size(d) + 1);
    assert_string_equal(hd_tokenizer_piece(t, s.pad), "<pad>");
    assert_int_equal(hd_tokenizer_id(t, "<pad>"), s.pad);
    int expected[64];
    hd_ids ids = {0};
    hd_text out = {0};
    ASSERT_OK(hd_tokenizer_encode_ids(t, "the dog sees 7", 14, &ids, &err), err);
    assert_int_equal(direct_encode(d, "the dog sees 7", 14, expected, 64), ids.count);
    assert_memory_equal(ids.at, expected, ids.count * sizeof(int));
    ASSERT_OK(hd_ids_reserve(&ids, 1, &err), err);
    ids.at[ids.count++] = s.pad;
    ASSERT_OK(hd_tokenizer_decode(t, ids.at, ids.count, &out, &err), err);
    assert_string_equal(out.data, "the dog sees 7");
    hd_text_release(&out);
    hd_ids_release(&ids);
    hd_tokenizer_free(t);
    direct_close(d);
}

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        {"", 0, "not a SentencePiece model: it has no pieces"},
        {"<pad>\n<unk>\n", 12, "not a SentencePiece model: "},
        {"\x0a\x05\x0a\x03"
         "abc",
         7, "unk is not defined"},
        {"\x0a\x7f\x0a\x03"
         "abc",
         7, "damaged or cut short"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "damaged or cut short"},
        {"\x0a\x05\x0a\x03"
         "abc\x1a\x04\x12\x02xy",
         13, "its normalization table is cut short"},
        {"\x0a\x05\x0a\x03"
         "abc\x1a\x09\x12\x07\xff\xff\xff\xff"
         "abc",
         18, "its normalization table is damaged"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        put_file("bad.model", cases[i].bytes, cases[i].size);
        hd_tokenizer_open(&t, HD_TOKENIZER_sentencepiece, in_folder("bad.model"), &err);
        assert_error(&err, HD_EFORMAT, cases[i].message);
        assert_non_null(strstr(err.text, "bad.model: "));
        assert_null(t);
    }
}

/* Bytes changed, cut and repeated at random, mostly in the normalization table, which the library follows
 * blindly. */
static void damaged_models_do_no_harm(void **state)
{
    (void)state;
    hd_map map = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(11, 1);
    ASSERT_OK(hd_map_open(&map, in_folder("shared.spm"), &err), err);
    uint8_t *bytes = malloc(map.size);
    int opened = 0;
    for (int i = 0; i < 200; i++) {
        memcpy(bytes, map.data, map.size);
        for (uint32_t k = 1 + hd_rng_below(&rng, 30); k; k--)
            bytes[hd_rng_below(&rng, (uint32_t)map.size)] = (uint8_t)hd_rng_u32(&rng);
        size_t size = i % 10 ? map.size : hd_rng_below(&rng, (uint32_t)map.size);
        put_file("damaged.model", bytes, size);
        hd_tokenizer *t = NULL;
        err = (hd_err){0};
        if (hd_tokenizer_open(&t, HD_TOKENIZER_sentencepiece, in_folder("damaged.model"), &err)) continue;
        static const char *const text = "Ein Mann läuft ½ über die ﬁ Straße … ㎏ Å ①.";
        hd_ids ids = {0};
        hd_text out = {0};
        opened++;
        for (size_t k = 0; k + 1 < strlen(text); k++)
            hd_tokenizer_encode_ids(t, text + k, strlen(text) - k, &ids, NULL);
        hd_tokenizer_decode(t, ids.at, ids.count, &out, NULL);
        hd_ids_release(&ids);
        hd_text_release(&out);
        hd_tokenizer_free(t);
    }
    assert_true(opened > 0); /* some damage does not show */
    free(bytes);
    hd_map_close(&map);
}

static void put_byte(hd_text *t, unsigned byte)
{
    hd_text_add(t, (const char[]){(char)byte}, 1);
}

static void put_varint(hd_text *t, size_t value)
{
    for (; value > 127; value >>= 7) put_byte(t, 128 | (unsigned)(value & 127));
    put_byte(t, (unsigned)value);
}

/* A model of one piece whose normalization table is this trie with two strings of two bytes. */
static hd_status check_trie(const uint32_t *unit, uint32_t units)
{
    hd_text model = {0};
    const uint32_t bytes = units * (uint32_t)sizeof *unit;
    size_t table = sizeof bytes + bytes + 4, normalizer = 1 + (table < 16384 ? 2U : 3U) + table;
    hd_text_add(&model,
                "\x0a\x05\x0a\x03"
                "abc\x1a",
                8);
    put_varint(&model, normalizer);
    put_byte(&model, 0x12);
    put_varint(&model, table);
    hd_text_add(&model, (const char *)&bytes, sizeof bytes);
    hd_text_add(&model, (const char *)unit, bytes);
    hd_text_add(&model, "x\0y\0", 4);
    hd_status s = hd_spm_check((const uint8_t *)model.data, model.size, NULL);
    hd_text_release(&model);
    return s;
}

/* Units of a double array: from place `from`, over the label, to `to`. */
static uint32_t link_unit(uint32_t from, uint32_t to_base, uint32_t label, bool value)
{
    return (from ^ to_base) << 10 | (uint32_t)value << 8 | label;
}

static void tries_that_lead_astray_are_refused(void **state)
{
    (void)state;
    uint32_t unit[40 * 256] = {0};
    const uint32_t root_base = 256, a = root_base ^ 'a', value = 512;
    unit[0] = link_unit(0, root_base, 0, false);
    unit[a] = link_unit(a, value, 'a', true);
    unit[value] = 0x80000000u | 2;
    assert_int_equal(check_trie(unit, 40 * 256), HD_OK); /* "a" becomes "y" */
    unit[value] = 0x80000000u | 4;                       /* behind the strings */
    assert_int_equal(check_trie(unit, 40 * 256), HD_EFORMAT);
    unit[value] = 0x80000000u | 2;
    unit[root_base] = link_unit(root_base, 1 << 20, 0, false); /* behind the trie, from a zero byte on */
    assert_int_equal(check_trie(unit, 40 * 256), HD_EFORMAT);
    unit[root_base] = link_unit(root_base, value, 0, false);
    assert_int_equal(check_trie(unit, 40 * 256), HD_OK);
    unit[root_base] = 0;
    assert_int_equal(check_trie(unit, 3 * 256 - 1), HD_EFORMAT); /* behind the trie */
    unit[0] = link_unit(0, 1 << 20, 0, false);
    assert_int_equal(check_trie(unit, 40 * 256), HD_EFORMAT);
    unit[0] = link_unit(0, root_base, 0, false);
    unit[a] = link_unit(a, root_base, 'a', false); /* "a" is below itself */
    assert_int_equal(check_trie(unit, 40 * 256), HD_EFORMAT);
    for (uint32_t keys = 30; keys < 36; keys++) { /* a, aa, aaa, ... */
        memset(unit, 0, sizeof unit);
        unit[0] = link_unit(0, root_base, 0, false);
        for (uint32_t k = 1; k <= keys; k++) {
            uint32_t place = 256 * k ^ 'a';
            unit[place] = link_unit(place, 256 * (k + 1), 'a', true);
            unit[256 * (k + 1)] = 0x80000000u;
        }
        assert_int_equal(check_trie(unit, 40 * 256), keys > 32 ? HD_EFORMAT : HD_OK);
    }
}

static void pieces_of_the_user_may_not_nest_too_deep(void **state)
{
    (void)state;
    for (unsigned deepest = 60; deepest <= 70; deepest++) {
        hd_text model = {0};
        hd_err err = {0};
        for (unsigned size = 1; size <= deepest; size++) { /* field 1 { field 1: "xxx", field 3: 4 } */
            put_byte(&model, 0x0a), put_byte(&model, size + 4), put_byte(&model, 0x0a),
                put_byte(&model, size);
            for (unsigned i = 0; i < size; i++) put_byte(&model, 'x');
            put_byte(&model, 0x18), put_byte(&model, 4);
        }
        assert_int_equal(hd_spm_check((const uint8_t *)model.data, model.size, &err),
                         deepest > 64 ? HD_EFORMAT : HD_OK);
        hd_text_release(&model);
    }
}

/* The library would write to stderr. */
static void nothing_is_printed(void **state)
{
    (void)state;
    fflush(stderr);
    int keep = dup(STDERR_FILENO), file = open(in_folder("stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(keep >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    hd_tokenizer *t = NULL, *u = NULL;
    hd_err err = {0};
    hd_status s = hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, FEED("a man", "\xe2\x96\x85", ""),
                                     &(hd_tokenizer_opt){.vocab = 1000}, &err);
    hd_tokenizer_free(t);
    put_file("bad.model",
             "\x0a\x05\x0a\x03"
             "abc",
             7);
    hd_status bad = hd_tokenizer_open(&u, HD_TOKENIZER_sentencepiece, in_folder("bad.model"), &err);
    fflush(stderr);
    dup2(keep, STDERR_FILENO);
    off_t printed = lseek(file, 0, SEEK_END);
    close(keep);
    close(file);
    assert_int_equal(s, HD_OK);
    assert_int_equal(bad, HD_EFORMAT);
    assert_int_equal(printed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_known_without_memory),
        cmocka_unit_test(specials_have_their_ids),
        cmocka_unit_test(a_failing_allocation_of_the_library_is_told),
        cmocka_unit_test(learning_twice_gives_the_same_file),
        cmocka_unit_test(ids_and_text_are_the_librarys),
        cmocka_unit_test(text_comes_back_and_offsets_cover_it),
        cmocka_unit_test(unknown_characters_become_bytes),
        cmocka_unit_test(odd_ids_decode),
        cmocka_unit_test(too_large_is_lowered_too_small_is_refused),
        cmocka_unit_test(odd_texts_are_learned_from_or_refused),
        cmocka_unit_test(any_bytes_are_encoded),
        cmocka_unit_test(a_foreign_model_keeps_its_ids),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(damaged_models_do_no_harm),
        cmocka_unit_test(tries_that_lead_astray_are_refused),
        cmocka_unit_test(pieces_of_the_user_may_not_nest_too_deep),
        cmocka_unit_test(nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, learn_shared, drop_shared);
}
