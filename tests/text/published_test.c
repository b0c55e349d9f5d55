/* The tokenizers of published checkpoints give the ids, offsets and texts that Hugging Face's tokenizers and
   sentencepiece give, on 12,000 lines of all kinds of characters. The digests come from published/make.py. */
#include <pthread.h>

#include "data/fixture.h"
#include "text/lines.h"
#include "text/tokenizer_find.h"
#include "text/unigram_model.h"

#define PUBLISHED HEED_SOURCE "/tests/text/published/"

enum { LINES = 12000 };

static const uint64_t seed = 20261115, digest_start = 0xcbf29ce484222325u;

static void digest_add(uint64_t *d, uint32_t number)
{
    for (int i = 0; i < 4; i++) *d = (*d ^ (number >> 8 * i & 0xff)) * 0x100000001b3u;
}

static hd_tokenizer *opened(const char *path)
{
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_open_any(&t, path, false, &err), err);
    return t;
}

static void write_model(const char *name)
{
    hd_text model = unigram_model();
    put_file(name, model.data, model.size);
    hd_text_release(&model);
}

static void copy_in(const char *from, const char *name)
{
    char bytes[1 << 16];
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    put_file(name, bytes, fread(bytes, 1, sizeof bytes, f));
    fclose(f);
}

/* -- the digests -- */

static void the_lines_are_those_of_the_script(void **state)
{
    (void)state;
    uint64_t d = digest_start, s = seed;
    hd_text line = {0};
    for (int i = 0; i < LINES; i++) {
        line_next(&line, &s);
        uint32_t count = 0;
        for (size_t k = 0; k < line.size; k++) count += ((uint8_t)line.data[k] & 0xc0) != 0x80;
        digest_add(&d, count);
        for (size_t k = 0; k < line.size;) {
            int32_t point;
            k +=
                (size_t)utf8proc_iterate((uint8_t *)line.data + k, (utf8proc_ssize_t)(line.size - k), &point);
            digest_add(&d, (uint32_t)point);
        }
    }
    hd_text_release(&line);
    assert_true(d == 0x569f28d34f715064u);
}

typedef struct digests {
    uint64_t single, pair, decoded;
} digests;

static void add_pieces(uint64_t *d, const hd_pieces *p, bool types)
{
    digest_add(d, (uint32_t)p->count);
    for (size_t i = 0; i < p->count; i++) {
        digest_add(d, (uint32_t)p->at[i].id);
        digest_add(d, p->at[i].begin);
        digest_add(d, p->at[i].end);
        if (types) digest_add(d, (uint32_t)p->at[i].type);
    }
}

static void add_text(uint64_t *d, const hd_tokenizer *t, const hd_pieces *p)
{
    hd_ids ids = {0};
    hd_text text = {0};
    hd_err err = {0};
    ASSERT_OK(hd_ids_reserve(&ids, p->count + 1, &err), err);
    for (size_t i = 0; i < p->count; i++) ids.at[ids.count++] = p->at[i].id;
    ASSERT_OK(hd_tokenizer_decode(t, ids.at, ids.count, &text, &err), err);
    digest_add(d, (uint32_t)text.size);
    for (size_t i = 0; i < text.size; i++) digest_add(d, (uint8_t)text.data[i]);
    hd_text_release(&text);
    hd_ids_release(&ids);
}

static digests digests_of(const hd_tokenizer *t)
{
    digests d = {digest_start, digest_start, digest_start};
    uint64_t s = seed;
    hd_text line[2] = {{0}, {0}};
    hd_pieces p = {0};
    hd_err err = {0};
    for (int i = 0; i < LINES; i++) {
        hd_text *text = &line[i & 1];
        line_next(text, &s);
        p.count = 0;
        ASSERT_OK(hd_tokenizer_encode(t, text->data, text->size, &p, &err), err);
        add_text(&d.decoded, t, &p);
        hd_pieces_count_characters(&p, 0, (hd_line){text->data, text->size});
        add_pieces(&d.single, &p, false);
        if (!(i & 1)) continue;
        const hd_line pair[2] = {{line[0].data, line[0].size}, {line[1].data, line[1].size}};
        p.count = 0;
        ASSERT_OK(hd_tokenizer_encode_framed(t, pair[0], &pair[1], &p, &err), err);
        for (int k = 0; k < 2; k++) hd_pieces_count_characters(&p, k, pair[k]);
        add_pieces(&d.pair, &p, true);
    }
    hd_pieces_release(&p);
    hd_text_release(&line[0]);
    hd_text_release(&line[1]);
    return d;
}

static void check(const char *path, hd_tokenizer_kind kind, digests expected)
{
    hd_tokenizer *t = opened(path);
    assert_int_equal(hd_tokenizer_kind_of(t), kind);
    digests d = digests_of(t);
    hd_tokenizer_free(t);
    if (d.single != expected.single) fail_msg("%s: ids or offsets differ", path);
    if (expected.pair && d.pair != expected.pair) fail_msg("%s: pairs differ", path);
    if (expected.decoded && d.decoded != expected.decoded) fail_msg("%s: decoded texts differ", path);
}

static void bpe_equals_the_reference(void **state)
{
    (void)state;
    check(PUBLISHED "gpt2", HD_TOKENIZER_bpe,
          (digests){0x3e86383463c82572u, 0x9cfab798cb1fe41au, 0x52c73e8f6b86a820u});
    check(PUBLISHED "roberta", HD_TOKENIZER_bpe,
          (digests){0x601d2837a550c81du, 0x35684a8a8712d3bau, 0xa50fc381f4b84fa0u});
}

static void wordpiece_equals_the_reference(void **state)
{
    (void)state;
    check(PUBLISHED "bert", HD_TOKENIZER_wordpiece,
          (digests){0x824e57efff170beeu, 0x00e45c1dad3c950bu, 0x15f511d863774844u});
    check(PUBLISHED "bert-cased", HD_TOKENIZER_wordpiece,
          (digests){0xfd38e72fd3648aaau, 0xcd0a66182eca1247u, 0x1a15f758c63a66ceu});
}

static void marian_and_t5_equal_the_reference(void **state)
{
    (void)state;
    write_model("source.spm");
    write_model("spiece.model");
    copy_in(PUBLISHED "marian/vocab.json", "vocab.json");
    check(in_folder("source.spm"), HD_TOKENIZER_marian, (digests){0x4be1c083fe816c5eu, 0, 0});
    check(in_folder("spiece.model"), HD_TOKENIZER_t5, (digests){0x8378f9724ae32e1du, 0, 0});
}

/* -- files, saves and failures -- */

static const struct {
    const char *path; /* of the tokenizer; those of SentencePiece are written to the test's folder */
    const char *files[4];
} kept[] = {
    {PUBLISHED "gpt2/vocab.json", {"vocab.json", "merges.txt"}},
    {PUBLISHED "roberta/tokenizer.json", {"tokenizer.json"}},
    {PUBLISHED "bert/vocab.txt", {"vocab.txt"}},
    {PUBLISHED "bert-cased/tokenizer.json", {"tokenizer.json"}},
    {"source.spm", {"source.spm", "vocab.json"}},
    {"spiece.model", {"spiece.model"}},
};

static const char *kept_path(size_t i)
{
    if (*kept[i].path == '/') return kept[i].path;
    write_model(kept[i].path);
    copy_in(PUBLISHED "marian/vocab.json", "vocab.json");
    return in_folder(kept[i].path);
}

static void assert_same_encoding(const hd_tokenizer *a, const hd_tokenizer *b)
{
    hd_pieces p = {0}, q = {0};
    hd_err err = {0};
    hd_text line = {0};
    uint64_t s = 5;
    assert_int_equal(hd_tokenizer_size(a), hd_tokenizer_size(b));
    for (int i = 0; i < 100; i++) {
        line_next(&line, &s);
        p.count = q.count = 0;
        const hd_line text = {line.data, line.size};
        ASSERT_OK(hd_tokenizer_encode_framed(a, text, &text, &p, &err), err);
        ASSERT_OK(hd_tokenizer_encode_framed(b, text, &text, &q, &err), err);
        assert_int_equal(p.count, q.count);
        for (size_t k = 0; k < p.count; k++) assert_int_equal(p.at[k].id, q.at[k].id);
    }
    hd_text_release(&line);
    hd_pieces_release(&p);
    hd_pieces_release(&q);
}

/* In a model's folder, under the name the kind has there, on either side. */
static void saved_files_keep_their_names_and_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        hd_tokenizer *t = opened(kept_path(i));
        hd_tokenizer_kind kind = hd_tokenizer_kind_of(t);
        remove_folder(NULL);
        make_folder(NULL);
        for (int place = 0; place < HD_PLACES; place++) {
            hd_tokenizer *again = NULL;
            hd_err err = {0};
            const char *name = hd_tokenizer_file(kind, (hd_tokenizer_place)place);
            ASSERT_OK(hd_tokenizer_save(t, in_folder(name), &err), err);
            ASSERT_OK(hd_tokenizer_open(&again, kind, in_folder(name), &err), err);
            assert_same_encoding(t, again);
            hd_tokenizer_free(again);
        }
        for (int k = 0; kept[i].files[k]; k++) assert_int_equal(access(in_folder(kept[i].files[k]), F_OK), 0);
        hd_tokenizer_free(t);
    }
}

/* A folder whose tokenizer was another one before does not keep a file that would be read instead. */
static void a_save_replaces_what_was_there(void **state)
{
    (void)state;
    hd_tokenizer *parts = opened(PUBLISHED "gpt2"), *whole = opened(PUBLISHED "roberta"), *again = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_tokenizer_save(parts, in_folder("vocab.json"), &err), err);
    ASSERT_OK(hd_tokenizer_save(whole, in_folder("vocab.json"), &err), err);
    ASSERT_OK(hd_tokenizer_open(&again, HD_TOKENIZER_bpe, in_folder("vocab.json"), &err), err);
    assert_same_encoding(whole, again);
    assert_int_equal(access(in_folder("merges.txt"), F_OK), -1);
    hd_tokenizer_free(parts);
    hd_tokenizer_free(whole);
    hd_tokenizer_free(again);
}

static void specials_are_known_by_name(void **state)
{
    (void)state;
    static const struct {
        size_t which;
        const char *pad, *unk, *start, *end, *mask;
    } want[] = {{0, NULL, NULL, "<|endoftext|>", "<|endoftext|>", NULL},
                {1, "<pad>", "<unk>", "<s>", "</s>", "<mask>"},
                {2, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
                {4, "<pad>", "<unk>", "<pad>", "</s>", NULL},
                {5, "<pad>", "<unk>", "<pad>", "</s>", NULL}};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        hd_tokenizer *t = opened(kept_path(want[i].which));
        hd_special s = hd_tokenizer_special(t);
        const int32_t id[5] = {s.pad, s.unk, s.start, s.end, s.mask};
        const char *const name[5] = {want[i].pad, want[i].unk, want[i].start, want[i].end, want[i].mask};
        for (int k = 0; k < 5; k++)
            if (name[k])
                assert_string_equal(hd_tokenizer_piece(t, id[k]), name[k]);
            else
                assert_int_equal(id[k], -1);
        if (want[i].which == 5)
            assert_int_equal(hd_tokenizer_id(t, "<extra_id_0>"), hd_tokenizer_size(t) - 1);
        hd_tokenizer_free(t);
    }
}

static void a_language_code_is_one_piece(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t end; /* of the first piece */
        const char *first;
    } cases[] = {{">>fr<< the", 6, ">>fr<<"}, {">>fr<<<the", 6, ">>fr<<"}, {">>x<<<< the", 5, "<unk>"}};
    hd_tokenizer *t = opened(kept_path(4));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_pieces p = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode(t, cases[i].text, strlen(cases[i].text), &p, &err), err);
        assert_string_equal(hd_tokenizer_piece(t, p.at[0].id), cases[i].first);
        assert_int_equal(p.at[0].end, cases[i].end);
        hd_pieces_release(&p);
    }
    hd_tokenizer_free(t);
}

/* Bytes that are not UTF-8 are told apart by their ids, and each has its place. */
static void bpe_has_a_piece_for_every_byte(void **state)
{
    (void)state;
    hd_tokenizer *t = opened(PUBLISHED "gpt2");
    hd_err err = {0};
    for (int first = 0; first < 256; first += 5)
        for (int second = 0; second < 256; second++) {
            const char text[2] = {(char)first, (char)second};
            hd_pieces p = {0};
            ASSERT_OK(hd_tokenizer_encode(t, text, 2, &p, &err), err);
            assert_true(p.count == 1 || p.count == 2);
            assert_int_equal(p.at[0].begin, 0);
            assert_int_equal(p.at[p.count - 1].end, 2);
            if (p.count == 2) assert_int_equal(p.at[0].end, 1);
            hd_pieces_release(&p);
        }
    hd_tokenizer_free(t);
}

/* A megabyte without a space: were the work to grow with its square, the test would not end. */
static void long_words_are_fast(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    uint64_t s = 3;
    for (size_t i = 0; i < SIZE; i++) text[i] = "thecatson"[line_below(&s, 9)];
    for (size_t i = 0; i < 4; i++) {
        hd_tokenizer *t = opened(kept[i].path);
        hd_ids ids = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode_ids(t, text, SIZE, &ids, &err), err);
        assert_true(ids.count >= 1 && ids.count <= SIZE);
        hd_ids_release(&ids);
        hd_tokenizer_free(t);
    }
    free(text);
}

typedef struct sharer {
    pthread_t thread;
    const hd_tokenizer *t;
    uint64_t digest;
} sharer;

static void *encode_lines(void *context)
{
    sharer *me = context;
    uint64_t s = 11;
    hd_text line = {0};
    hd_pieces p = {0};
    me->digest = digest_start;
    for (int i = 0; i < 1000; i++) {
        line_next(&line, &s);
        p.count = 0;
        if (hd_tokenizer_encode(me->t, line.data, line.size, &p, NULL)) me->t = NULL;
        add_pieces(&me->digest, &p, false);
    }
    hd_pieces_release(&p);
    hd_text_release(&line);
    return NULL;
}

static void threads_may_share_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        sharer all[4] = {{0}};
        hd_tokenizer *t = opened(kept[i].path);
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            all[k].t = t;
            assert_int_equal(pthread_create(&all[k].thread, NULL, encode_lines, &all[k]), 0);
        }
        for (size_t k = 0; k < COUNT_OF(all); k++) pthread_join(all[k].thread, NULL);
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            assert_ptr_equal(all[k].t, t);
            assert_true(all[k].digest == all[0].digest);
        }
        hd_tokenizer_free(t);
    }
}

static size_t walked;

static hd_status open_and_use(hd_err *err)
{
    static const char text[] = "the [MASK] naïve<|endoftext|> unbelievable 中 ²x <s>";
    hd_tokenizer *t = NULL;
    hd_pieces p = {0};
    hd_text out = {0};
    const hd_line line = {text, sizeof text - 1};
    hd_status s = hd_tokenizer_open_any(
        &t, *kept[walked].path == '/' ? kept[walked].path : in_folder(kept[walked].path), false, err);
    if (!s) s = hd_tokenizer_encode_framed(t, line, &line, &p, err);
    for (size_t i = 0; !s && i < p.count; i++) s = hd_tokenizer_decode(t, &p.at[i].id, 1, &out, err);
    hd_text_release(&out);
    hd_pieces_release(&p);
    hd_tokenizer_free(t);
    return s;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    for (walked = 0; walked < COUNT_OF(kept); walked++) {
        kept_path(walked);
        walk_through_failures(open_and_use);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lines_are_those_of_the_script),
        cmocka_unit_test(bpe_equals_the_reference),
        cmocka_unit_test(wordpiece_equals_the_reference),
        cmocka_unit_test(marian_and_t5_equal_the_reference),
        cmocka_unit_test(saved_files_keep_their_names_and_meaning),
        cmocka_unit_test(a_save_replaces_what_was_there),
        cmocka_unit_test(specials_are_known_by_name),
        cmocka_unit_test(a_language_code_is_one_piece),
        cmocka_unit_test(bpe_has_a_piece_for_every_byte),
        cmocka_unit_test(long_words_are_fast),
        cmocka_unit_test(threads_may_share_one),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
