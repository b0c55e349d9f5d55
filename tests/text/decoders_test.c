/* The tokenizers of published decoders give the ids and texts that Hugging Face's tokenizers give: their
   split patterns, normalizers, bytes of unknown characters and decoders, on 12,000 lines. The digests come
   from tests/hub/published/tokenizers_check.py. HEED_VOCABS in the environment names a folder that it made of
   real vocabularies. */
#include <dirent.h>
#include <sys/time.h>

#include "data/fixture.h"
#include "outcome.h"
#include "text/lines.h"
#include "text/tokenizer_find.h"

#define PUBLISHED HEED_SOURCE "/tests/text/published/"

enum { LINES = 12000 };

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

static const struct {
    const char *name;
    uint64_t ids, texts;
} small[] = {
    {"llama3", 0xa3eb6a92dede2a7du, 0xc3bdaf566c22ba68u},
    {"qwen", 0xd3d9327b176a35f3u, 0x1a11cb2f15263aa9u},
    {"deepseek", 0xeece02e3ed8dd8b7u, 0xc3bdaf566c22ba68u},
    {"tekken", 0x199ef04b02941482u, 0xc3bdaf566c22ba68u},
    {"smollm", 0x07fa1023caaea0d2u, 0xc3bdaf566c22ba68u},
    {"llama2", 0x3f3f3e14d684de89u, 0x54e5c1061b84e112u},
    {"mistral", 0x77cb8c55a1b886bfu, 0x50bfc865ce9f9df2u},
    {"gemma", 0x6711399873bea7bbu, 0xe5fa9ef61b15a5e2u},
};

/* Places go on from piece to piece and stay within the text. */
static void check_places(const hd_pieces *p, size_t size)
{
    for (size_t i = 0; i < p->count; i++) {
        assert_true(p->at[i].begin <= p->at[i].end && p->at[i].end <= size);
        if (i) assert_true(p->at[i].begin >= p->at[i - 1].begin);
    }
}

static void small_ones_equal_the_reference(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(small); k++) {
        char path[HD_PATH];
        snprintf(path, sizeof path, PUBLISHED "%s/tokenizer.json", small[k].name);
        hd_tokenizer *t = opened(path);
        uint64_t s = 20261115, ids = 0xcbf29ce484222325u, texts = ids;
        hd_text line = {0}, back = {0};
        hd_pieces p = {0};
        hd_ids list = {0};
        hd_err err = {0};
        for (int i = 0; i < LINES; i++) {
            line_next(&line, &s);
            p.count = list.count = back.size = 0;
            ASSERT_OK(hd_tokenizer_encode(t, line.data, line.size, &p, &err), err);
            check_places(&p, line.size);
            ASSERT_OK(hd_ids_add_pieces(&list, &p, &err), err);
            digest_add(&ids, (uint32_t)list.count);
            for (size_t n = 0; n < list.count; n++) digest_add(&ids, (uint32_t)list.at[n]);
            ASSERT_OK(hd_tokenizer_decode(t, list.at, list.count, &back, &err), err);
            for (size_t n = 0; n < back.size; n++) digest_add(&texts, (uint8_t)back.data[n]);
        }
        if (ids != small[k].ids) fail_msg("%s: ids differ", small[k].name);
        if (texts != small[k].texts) fail_msg("%s: decoded texts differ", small[k].name);
        hd_text_release(&line), hd_text_release(&back);
        hd_pieces_release(&p), hd_ids_release(&list);
        hd_tokenizer_free(t);
    }
}

/* -- real vocabularies -- */

static double seconds(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (double)now.tv_sec + 1e-6 * (double)now.tv_usec;
}

/* One line of both files; the number of differences: ids, texts. */
static bool compare_line(const hd_tokenizer *t, FILE *texts, FILE *ids, size_t *bytes, double *taken,
                         int wrong[2])
{
    size_t size, back_size, count;
    if (fscanf(texts, "%zu %zu", &size, &back_size) != 2 || fscanf(ids, "%zu", &count) != 1) return false;
    assert_int_equal(fgetc(texts), '\n');
    char *text = malloc(size + back_size + 1);
    assert_int_equal(fread(text, 1, size + back_size, texts), size + back_size);
    hd_ids got = {0};
    hd_text back = {0};
    hd_err err = {0};
    double begin = seconds();
    ASSERT_OK(hd_tokenizer_encode_ids(t, text, size, &got, &err), err);
    *taken += seconds() - begin, *bytes += size;
    ASSERT_OK(hd_tokenizer_decode(t, got.at, got.count, &back, &err), err);
    bool same = got.count == count;
    for (size_t i = 0; i < count; i++) {
        int32_t id = 0;
        assert_int_equal(fscanf(ids, "%d", &id), 1);
        same = same && got.at[i] == id;
    }
    if (!same && wrong[0]++ < 3) print_message("ids differ: %.*s\n", (int)size, text);
    bool alike =
        !same || (back.size == back_size && !memcmp(back.data ? back.data : "", text + size, back_size));
    if (!alike && wrong[1]++ < 3)
        print_message("texts differ: '%s' '%.*s'\n", back.data, (int)back_size, text + size);
    free(text);
    hd_ids_release(&got), hd_text_release(&back);
    return true;
}

static void compare_folder(const char *vocabs, const char *name)
{
    char path[HD_PATH], file[HD_PATH + 16];
    snprintf(path, sizeof path, "%s/%s", vocabs, name);
    hd_tokenizer *t = opened(path);
    snprintf(file, sizeof file, "%s/texts.bin", path);
    FILE *texts = fopen(file, "rb");
    snprintf(file, sizeof file, "%s/ids.txt", path);
    FILE *ids = fopen(file, "rb");
    assert_non_null(texts);
    assert_non_null(ids);
    size_t bytes = 0, lines = 0;
    double taken = 0;
    int wrong[2] = {0, 0};
    while (compare_line(t, texts, ids, &bytes, &taken, wrong)) lines++;
    print_message("%s: %zu lines, %d differ in ids, %d in texts, %.1f MB/s\n", name, lines, wrong[0],
                  wrong[1], (double)bytes / taken / 1e6);
    assert_true(lines > 0 && !wrong[0] && !wrong[1]);
    fclose(texts), fclose(ids);
    hd_tokenizer_free(t);
}

static void real_ones_equal_the_reference(void **state)
{
    (void)state;
    const char *vocabs = getenv("HEED_VOCABS");
    DIR *d = vocabs ? opendir(vocabs) : NULL;
    if (!d) leave_out("HEED_VOCABS names no folder of real vocabularies");
    for (struct dirent *e; (e = readdir(d));)
        if (*e->d_name != '.') compare_folder(vocabs, e->d_name);
    closedir(d);
}

/* -- what users type -- */

static size_t count_of(const hd_ids *ids, int32_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < ids->count; i++) n += ids->at[i] == id;
    return n;
}

static void typed_text_has_no_control_tokens(void **state)
{
    (void)state;
    static const char text[] = "<|end_of_text|><think> the<|end_of_text|> <think> cat";
    hd_tokenizer *t = opened(PUBLISHED "llama3/tokenizer.json");
    hd_ids ids = {0}, all = {0};
    hd_text back = {0};
    hd_err err = {0};
    int32_t end = hd_tokenizer_id(t, "<|end_of_text|>"), think = hd_tokenizer_id(t, "<think>");
    const hd_byte_span typed[] = {{15, 18}, {26, sizeof text - 1}};
    ASSERT_OK(hd_tokenizer_encode_typed(t, text, sizeof text - 1, typed, 2, &ids, &err), err);
    ASSERT_OK(hd_tokenizer_encode_typed(t, text, sizeof text - 1, NULL, 0, &all, &err), err);
    assert_int_equal(count_of(&ids, end), 1);
    assert_int_equal(count_of(&ids, think), 0); /* the first is half in a typed span */
    assert_int_equal(count_of(&all, end), 2);
    assert_int_equal(count_of(&all, think), 2);
    ASSERT_OK(hd_tokenizer_decode(t, ids.at, ids.count, &back, &err), err);
    assert_string_equal(back.data, text + 15);
    hd_text_release(&back);
    hd_ids_release(&ids), hd_ids_release(&all);
    hd_tokenizer_free(t);
}

/* -- tokens around texts -- */

static void config_says_what_is_around_a_text(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int lead; /* of 500: the first special token; -1: none */
        size_t framed;
    } cases[] = {
        {NULL, 500, 2},
        {"{\"bos_token\": \"<|begin_of_text|>\", \"eos_token\": \"<|end_of_text|>\"}", 500, 2},
        {"{\"bos_token\": {\"content\": \"<|begin_of_text|>\"}, \"eos_token\": \"<|end_of_text|>\","
         " \"add_bos_token\": true, \"add_eos_token\": true}",
         500, 3},
        {"{\"bos_token\": null, \"eos_token\": \"<|end_of_text|>\", \"add_bos_token\": false}", -1, 1},
    };
    char bytes[1 << 16];
    FILE *f = fopen(PUBLISHED "llama3/tokenizer.json", "rb");
    assert_non_null(f);
    put_file("tokenizer.json", bytes, fread(bytes, 1, sizeof bytes, f));
    fclose(f);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_pieces p = {0};
        hd_err err = {0};
        if (cases[i].config) put_text("tokenizer_config.json", cases[i].config);
        hd_tokenizer *t = opened(in_folder("tokenizer.json"));
        ASSERT_OK(hd_tokenizer_encode_framed(t, (hd_line){"e", 1}, NULL, &p, &err), err);
        assert_int_equal(hd_tokenizer_lead(t), cases[i].lead);
        assert_int_equal(p.count, cases[i].framed);
        assert_int_equal(hd_tokenizer_special(t).end, 501);
        hd_pieces_release(&p);
        hd_tokenizer_free(t);
    }
}

/* A megabyte without a cut: were the work to grow with its square, the test would not end. */
static void long_texts_are_fast(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    uint64_t s = 3;
    for (size_t i = 0; i < SIZE; i++) text[i] = "the cat son\xcc\x81"[line_below(&s, 13)];
    for (size_t k = 0; k < COUNT_OF(small); k++) {
        char path[HD_PATH];
        snprintf(path, sizeof path, PUBLISHED "%s/tokenizer.json", small[k].name);
        hd_tokenizer *t = opened(path);
        hd_ids ids = {0};
        hd_err err = {0};
        ASSERT_OK(hd_tokenizer_encode_ids(t, text, SIZE, &ids, &err), err);
        hd_ids_release(&ids);
        hd_tokenizer_free(t);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_equal_the_reference),
        cmocka_unit_test(real_ones_equal_the_reference),
        cmocka_unit_test(typed_text_has_no_control_tokens),
        cmocka_unit_test(config_says_what_is_around_a_text),
        cmocka_unit_test(long_texts_are_fast),
    };
    return outcome(cmocka_run_group_tests(tests, make_folder, remove_folder));
}
