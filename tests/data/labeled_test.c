/* Items with labels: what the files say, what is refused, what repeats, what is held back, and their ids. */
#include "check.h"
#include "scratch.h"

#include "data/labels/examples.h"

typedef hd_status read_fn(hd_labeled *out, hd_vocab *labels, const char *path, hd_err *err);

static hd_status read_table(hd_labeled *out, hd_vocab *labels, const char *path, hd_err *err)
{
    return hd_labeled_table(out, labels, path, hd_labeled_name, err);
}

static hd_status read_numbers(hd_labeled *out, hd_vocab *labels, const char *path, hd_err *err)
{
    return hd_labeled_table(out, labels, path, hd_labeled_number, err);
}

static hd_labeled read_with(read_fn *read, hd_vocab *labels, const char *path)
{
    hd_err err = {0};
    hd_labeled x;
    if (read(&x, labels, path, &err)) fail_msg("%s", err.text);
    return x;
}

static void assert_unit(const hd_labeled *x, const hd_vocab *labels, size_t u, const char *text,
                        const char *label)
{
    hd_line got = hd_labeled_unit(x, u);
    assert_int_equal(got.size, strlen(text));
    assert_memory_equal(got.text, text, got.size);
    size_t item = 0;
    while (x->begin[item + 1] <= u) item++;
    size_t of_item = x->first[item], each = x->first[item + 1] - of_item > 1 ? u - x->begin[item] : 0;
    assert_string_equal(hd_vocab_piece(labels, x->label[of_item + each]), label);
}

static void put_unit(hd_labeled *x, const char *text, hd_err *err)
{
    hd_labeled_add(x, (hd_line){text, strlen(text)}, err);
}

static void assert_refused(read_fn *read, hd_vocab *labels, const char *path, const char *says)
{
    hd_err err = {0};
    hd_labeled x;
    size_t blocks = hd_mem_now().blocks;
    hd_status s = read(&x, labels, path, &err);
    if (!s || !strstr(err.text, says)) fail_msg("%s: '%s' does not say '%s'", path, err.text, says);
    assert_int_equal(s, err.status);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void make_folder(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s && mkdir %s", at("%s", name), at("%s", name));
    assert_int_equal(system(command), 0);
}

/* -- reading -- */

static void a_file_is_a_class(void **state)
{
    (void)state;
    hd_vocab labels = {0};
    make_folder("names");
    put_file(at("names/Zulu.txt"), "Zama\n");
    put_file(at("names/B.b.txt"), " Bo \r\n\n \t\nBi");
    put_file(at("names/Amis"), "Al\n");
    put_file(at("names/.hidden"), "\xff\n");
    assert_int_equal(mkdir(at("names/folder"), 0777), 0);
    hd_labeled x = read_with(hd_labeled_folder, &labels, at("names"));
    assert_int_equal(labels.count, 3);
    assert_int_equal(x.count, 4);
    assert_unit(&x, &labels, 0, "Al", "Amis");
    assert_unit(&x, &labels, 1, "Bo", "B.b");
    assert_unit(&x, &labels, 2, "Bi", "B.b");
    assert_unit(&x, &labels, 3, "Zama", "Zulu");
    assert_string_equal(hd_vocab_piece(&labels, 2), "Zulu");
    hd_labeled_release(&x);
    put_file(at("names/Empty.txt"), "\n \n");
    hd_vocab none = {0};
    assert_refused(hd_labeled_folder, &none, at("names"), "Empty.txt: there is no item in it");
    assert_refused(hd_labeled_folder, &labels, at("names"),
                   "\"Empty\" is none of the 3 that are known: Amis");
    put_file(at("names/Empty.txt"), "good\n\xff\xfe\n");
    assert_refused(hd_labeled_folder, &none, at("names"), "Empty.txt:2");
    put_bytes(at("names/Empty.txt"), "a\0b\n", 4);
    assert_refused(hd_labeled_folder, &none, at("names"), "Empty.txt:1: a zero byte");
    assert_refused(hd_labeled_folder, &none, at("nothing"), "nothing: cannot open the folder");
    make_folder("bare");
    assert_refused(hd_labeled_folder, &none, at("bare"), "there is no file in it");
    hd_vocab_release(&labels);
}

static void a_table_names_its_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "t.tsv:0: the first line must name the columns"},
               {"label\ttext\tlabel\nx\ty\tz\n", "t.tsv:1: two columns are called \"label\""},
               {"text\ttext\tlabel\nx\ty\tz\n", "t.tsv:1: two columns are called \"text\""},
               {"a\tb\n", "t.tsv:1: the first line must name the columns"},
               {"label\ttext\n", "there is no item in it"},
               {"label\ttext\ttext2\nx\ty\n", "t.tsv:2: a column is missing"},
               {"label\ttext\ttext2\nx\ty\t \n", "t.tsv:2: the text is empty"},
               {"label\ttext2\nx\ty\n", "t.tsv:1: the first line must name the columns"},
               {"label\ttext\nx\n", "t.tsv:2: a column is missing"},
               {"label\ttext\n\ty\n", "t.tsv:2: the label is empty"},
               {"label\ttext\nx\t \n", "t.tsv:2: the text is empty"},
               {"label\ttext\nx\ty\nx\t\xff\n", "t.tsv:3"}};
    hd_vocab labels = {0}, none = {0};
    put_file(at("t.tsv"),
             "\xef\xbb\xbfid\ttext\tlabel\n1\tgood day\ten\n\n2\tguten Tag\tde\n3\t\"so\" \tde\n");
    hd_labeled x = read_with(read_table, &labels, at("t.tsv"));
    assert_int_equal(x.count, 3);
    assert_unit(&x, &labels, 0, "good day", "en");
    assert_unit(&x, &labels, 1, "guten Tag", "de");
    assert_unit(&x, &labels, 2, "\"so\"", "de");
    assert_string_equal(hd_vocab_piece(&labels, 0), "de"); /* in alphabetical order */
    hd_labeled_release(&x);
    put_file(at("t.tsv"), "label\ttext\nen\tx\nfr\ty\n");
    assert_refused(read_table, &labels, at("t.tsv"), "t.tsv:3: the label \"fr\" is none of the 2");
    assert_int_equal(labels.count, 2);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_file(at("t.tsv"), bad[i].text);
        assert_refused(read_table, &none, at("t.tsv"), bad[i].says);
    }
    assert_refused(read_table, &none, at("nothing.tsv"), "nothing.tsv");
    hd_vocab_release(&labels);
}

static void a_table_may_have_pairs(void **state)
{
    (void)state;
    hd_vocab labels = {0};
    hd_err err = {0};
    put_file(at("t.tsv"), "text2\tlabel\ttext\nno\tx\tyes\nno\tx\tyes\nyes\tx\tno\n");
    hd_labeled x = read_with(read_table, &labels, at("t.tsv")), out = {0};
    size_t dropped = 0;
    assert_int_equal(x.count, 3);
    assert_int_equal(x.units, 6);
    assert_true(hd_labeled_pairs(&x));
    assert_unit(&x, &labels, 0, "yes", "x");
    assert_unit(&x, &labels, 1, "no", "x");
    if (hd_labeled_distinct(&x, &dropped, &err)) fail_msg("%s", err.text);
    assert_int_equal(dropped, 1); /* a pair the other way round is another one */
    if (hd_labeled_split(&x, 0.5, 1, &out, &err)) fail_msg("%s", err.text);
    assert_int_equal(x.count + out.count, 2);
    assert_true(hd_labeled_pairs(&x) && hd_labeled_pairs(&out));
    hd_labeled_release(&out);
    hd_labeled_release(&x);
    hd_vocab_release(&labels);
}

static void labels_may_be_numbers(void **state)
{
    (void)state;
    hd_vocab none = {0};
    static const double is[] = {1.5, -2, 0, 30, 1.5};
    static const char *const bad[] = {
        "",    "x",   "1,5",  "1.5.2", "1e999",
        "nan", "inf", "0x10", "1 2",   "1111111111111111111111111111111111111111111111111111111111111111111"};
    hd_err err = {0};
    put_file(at("t.tsv"), "label\ttext\n 1.5 \ta\n-2\tb\n0\tc\n+3e1\td\n1.50\ta\n");
    hd_labeled x = read_with(read_numbers, &none, at("t.tsv")), out = {0};
    for (size_t i = 0; i < COUNT_OF(is); i++) assert_true(fabs(x.value[i] - is[i]) < 1e-15 && x.label[i] < 0);
    size_t dropped = 0;
    if (hd_labeled_distinct(&x, &dropped, &err)) fail_msg("%s", err.text);
    assert_int_equal(dropped, 1);
    assert_true(fabs(x.value[3] - 30) < 1e-15);
    if (hd_labeled_split(&x, 0.5, 1, &out, &err)) fail_msg("%s", err.text);
    double sum = 0;
    for (size_t i = 0; i < 2; i++) sum += x.value[i] + out.value[i];
    assert_true(fabs(sum - 29.5) < 1e-15);
    hd_labeled_release(&out);
    hd_labeled_release(&x);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[128];
        snprintf(text, sizeof text, "label\ttext\n1\ta\n%s\tb\n", bad[i]);
        put_file(at("t.tsv"), text);
        assert_refused(read_numbers, &none, at("t.tsv"), "t.tsv:3: the label ");
    }
}

static void tokens_stand_one_a_line(void **state)
{
    (void)state;
    hd_vocab labels = {0}, none = {0};
    put_file(at("c"), "\n\nthe\tDET\ndog\tNN\tx\tNOUN\n\n\n  \nNew York\tNOUN");
    hd_labeled x = read_with(hd_labeled_tokens, &labels, at("c"));
    assert_int_equal(x.count, 2);
    assert_int_equal(x.units, 3);
    assert_int_equal(x.begin[1], 2);
    assert_unit(&x, &labels, 0, "the", "DET");
    assert_unit(&x, &labels, 1, "dog", "NOUN");
    assert_unit(&x, &labels, 2, "New York", "NOUN");
    hd_labeled_release(&x);
    put_file(at("c"), "the DET\n");
    assert_refused(hd_labeled_tokens, &none, at("c"), "c:1: no tab");
    put_file(at("c"), "the\tDET\n\n\tNOUN\n");
    assert_refused(hd_labeled_tokens, &none, at("c"), "c:3: the token is empty");
    put_file(at("c"), "the\t\n");
    assert_refused(hd_labeled_tokens, &none, at("c"), "c:1: the label is empty");
    put_file(at("c"), "\n");
    assert_refused(hd_labeled_tokens, &none, at("c"), "there is no item in it");
    hd_vocab_release(&labels);
}

/* -- parts -- */

/* `count` texts, each in `classes` classes, all of it `times`; in falling order with `down`. */
static hd_labeled numbers(size_t count, int classes, int times, bool down)
{
    hd_err err = {0};
    hd_labeled x = {0};
    for (int t = 0; t < times; t++)
        for (size_t i = 0; i < count; i++)
            for (int c = 0; c < classes; c++) {
                char text[32];
                snprintf(text, sizeof text, "item %zu", down ? count - 1 - i : i);
                put_unit(&x, text, &err);
                hd_labeled_mark(&x, c, NAN, &err);
                hd_labeled_end(&x, &err);
            }
    assert_int_equal(err.status, 0);
    return x;
}

static bool has(const hd_labeled *x, hd_line text)
{
    for (size_t i = 0; i < x->units; i++) {
        hd_line t = hd_labeled_unit(x, i);
        if (t.size == text.size && !memcmp(t.text, text.text, t.size)) return true;
    }
    return false;
}

static void what_is_there_twice_counts_once(void **state)
{
    (void)state;
    hd_err err = {0};
    size_t dropped = 0;
    hd_labeled x = numbers(50, 2, 3, false);
    if (hd_labeled_distinct(&x, &dropped, &err)) fail_msg("%s", err.text);
    assert_int_equal(dropped, 200);
    assert_int_equal(x.count, 100); /* the same text in another class is another item */
    hd_labeled y = numbers(50, 2, 1, false);
    assert_memory_equal(x.bytes, y.bytes, y.used);
    assert_memory_equal(x.label, y.label, y.units * sizeof *y.label);
    if (hd_labeled_distinct(&x, &dropped, &err)) fail_msg("%s", err.text);
    assert_int_equal(dropped, 0);
    hd_labeled_release(&x);
    hd_labeled_release(&y);
}

static hd_labeled held_of(hd_labeled *x, double fraction, uint64_t seed)
{
    hd_err err = {0};
    hd_labeled held;
    if (hd_labeled_split(x, fraction, seed, &held, &err)) fail_msg("%s", err.text);
    return held;
}

static void no_text_lies_in_both_parts(void **state)
{
    (void)state;
    hd_labeled x = numbers(200, 2, 2, false), held = held_of(&x, 0.1, 7);
    assert_int_equal(held.count, 20 * 4); /* all of a text's items move together */
    assert_int_equal(x.count, 180 * 4);
    for (size_t i = 0; i < held.units; i++) assert_false(has(&x, hd_labeled_unit(&held, i)));
    hd_labeled_release(&x);
    hd_labeled_release(&held);
}

static void the_seed_alone_decides_what_is_held_back(void **state)
{
    (void)state;
    hd_labeled x = numbers(200, 1, 1, false), a = held_of(&x, 0.1, 7);
    hd_labeled y = numbers(200, 2, 1, true), b = held_of(&y, 0.1, 7); /* another order, more labels */
    hd_labeled z = numbers(200, 1, 1, false), c = held_of(&z, 0.1, 8);
    size_t same = 0;
    for (size_t i = 0; i < a.units; i++) {
        assert_true(has(&b, hd_labeled_unit(&a, i)));
        same += has(&c, hd_labeled_unit(&a, i));
    }
    assert_in_range(same, 0, 10);
    hd_labeled all[] = {x, y, z, a, b, c};
    for (size_t i = 0; i < COUNT_OF(all); i++) hd_labeled_release(&all[i]);
}

static void each_part_has_something(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_labeled x = numbers(2, 1, 1, false), held = held_of(&x, 0.01, 1), none;
    assert_int_equal(held.count, 1);
    assert_int_equal(x.count, 1);
    assert_int_equal(hd_labeled_split(&x, 0.1, 1, &none, &err), HD_EARG);
    assert_non_null(strstr(err.text, "one item alone"));
    hd_labeled_release(&x);
    hd_labeled_release(&held);
}

/* -- ids -- */

static hd_tokenizer *characters_of(const hd_labeled *x)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    hd_labeled_walk walk = {x, 0};
    if (hd_tokenizer_train(&t, HD_TOKENIZER_characters, hd_labeled_feed(&walk), &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    return t;
}

static hd_examples examples_of(const hd_labeled *x, const hd_tokenizer *t, bool each, size_t longest)
{
    hd_err err = {0};
    hd_examples e;
    if (hd_examples_make(&e, x, t, &(hd_examples_opt){.each = each, .bare = each, .longest = longest}, &err))
        fail_msg("%s", err.text);
    return e;
}

static void a_text_stands_between_start_and_end(void **state)
{
    (void)state;
    hd_labeled x = numbers(12, 1, 1, false);
    hd_tokenizer *t = characters_of(&x);
    hd_examples e = examples_of(&x, t, false, 8), same = examples_of(&x, t, false, 9);
    assert_int_equal(e.count, 12);
    assert_int_equal(e.begin[1], 8); /* <s> i t e m _ 0 </s> */
    assert_int_equal(e.id[0], HD_START_ID);
    assert_int_equal(e.id[7], HD_END_ID);
    assert_int_equal(e.begin[11] + 8, e.begin[12]); /* "item 11" is cut */
    assert_int_equal(e.id[e.rows - 1], HD_END_ID);
    assert_int_equal(e.cut, 2);
    assert_int_equal(same.cut, 0);
    assert_true(e.hash != same.hash);
    hd_examples_release(&e);
    hd_examples_release(&same);
    hd_tokenizer_free(t);
    hd_labeled_release(&x);
}

static void two_texts_stand_behind_each_other(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_labeled x = {0};
    static const char *const texts[] = {"abcdef", "gh", "a", "b"};
    for (int i = 0; i < 4; i++) {
        put_unit(&x, texts[i], &err);
        if (i % 2) hd_labeled_mark(&x, i / 2, NAN, &err), hd_labeled_end(&x, &err);
    }
    hd_tokenizer *t = characters_of(&x);
    hd_examples whole = examples_of(&x, t, false, 100), cut = examples_of(&x, t, false, 8);
    static const char *const piece[] = {"<s>",  "a",   "b", "c",    "</s>", "g",   "h",
                                        "</s>", "<s>", "a", "</s>", "b",    "</s>"};
    assert_int_equal(whole.rows, 11 + 5);
    assert_int_equal(whole.cut, 0);
    assert_int_equal(whole.second[0], 8);
    assert_int_equal(cut.rows, COUNT_OF(piece)); /* the longer one is cut */
    for (size_t i = 0; i < cut.rows; i++) assert_string_equal(hd_tokenizer_piece(t, cut.id[i]), piece[i]);
    assert_int_equal(cut.cut, 1);
    assert_int_equal(cut.second[0], 5);
    assert_int_equal(cut.second[1], 3);
    assert_int_equal(cut.labels, 2);
    assert_true(cut.label[0] == 0 && cut.label[1] == 1);
    hd_examples_release(&whole);
    hd_examples_release(&cut);
    hd_tokenizer_free(t);
    hd_labeled_release(&x);
}

/* Two ends stand between the texts of a RoBERTa. */
static void a_pair_is_framed_as_the_tokenizer_says(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_labeled x = {0};
    hd_tokenizer *t = NULL;
    hd_pieces p = {0};
    const hd_line second = {"on a mat", 8};
    if (hd_tokenizer_open(&t, HD_TOKENIZER_bpe, HEED_SOURCE "/tests/text/published/roberta/tokenizer.json",
                          &err))
        fail_msg("%s", err.text);
    put_unit(&x, "the cat", &err), put_unit(&x, "on a mat", &err);
    hd_labeled_mark(&x, 0, NAN, &err), hd_labeled_end(&x, &err);
    hd_examples e = examples_of(&x, t, false, 100), cut = examples_of(&x, t, false, 6);
    assert_int_equal(hd_tokenizer_encode_framed(t, (hd_line){"the cat", 7}, &second, &p, &err), HD_OK);
    assert_int_equal(e.rows, p.count);
    for (size_t i = 0; i < p.count; i++) assert_int_equal(e.id[i], p.at[i].id);
    assert_int_equal(e.id[e.second[0] - 2], 2);
    assert_int_equal(cut.rows, 6);
    assert_int_equal(cut.id[2] == 2 && cut.id[3] == 2 && cut.id[5] == 2, 1);
    hd_examples_release(&e), hd_examples_release(&cut);
    hd_pieces_release(&p);
    hd_tokenizer_free(t);
    hd_labeled_release(&x);
}

/* Two items of one text: the first has `of_first` of the two labels, the second the others. */
static hd_labeled parted(int of_first)
{
    hd_err err = {0};
    hd_labeled x = {0};
    for (int i = 0, k = 0; i < 2; i++) {
        put_unit(&x, i ? "b" : "a", &err);
        for (; k < (i ? 2 : of_first); k++) hd_labeled_mark(&x, k, NAN, &err);
        hd_labeled_end(&x, &err);
    }
    assert_int_equal(err.status, 0);
    return x;
}

static void an_item_may_have_any_number_of_labels(void **state)
{
    (void)state;
    hd_err err = {0};
    uint64_t hash[3];
    for (int of_first = 0; of_first < 3; of_first++) {
        hd_labeled x = parted(of_first), held = {0};
        size_t dropped = 0, first = (size_t)of_first;
        hd_tokenizer *t = characters_of(&x);
        hd_examples e = examples_of(&x, t, false, 100);
        assert_int_equal(e.count, 2);
        assert_int_equal(e.labels, 2);
        assert_int_equal(e.first[1], first);
        hash[of_first] = e.hash;
        if (hd_labeled_distinct(&x, &dropped, &err) || hd_labeled_split(&x, 0.5, 1, &held, &err))
            fail_msg("%s", err.text);
        const hd_labeled *a = hd_labeled_unit(&x, 0).text[0] == 'a' ? &x : &held, *b = a == &x ? &held : &x;
        assert_true(a->labels == first && a->first[1] == first);
        assert_true(b->labels == 2 - first && b->first[1] == 2 - first);
        for (size_t k = 0; k < b->labels; k++) assert_int_equal(b->label[k], first + k);
        hd_examples_release(&e);
        hd_tokenizer_free(t);
        hd_labeled_release(&held);
        hd_labeled_release(&x);
    }
    assert_true(hash[0] != hash[1] && hash[1] != hash[2] && hash[0] != hash[2]);
}

static void every_token_has_its_row(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_labeled x = {0};
    static const char *const tokens[] = {"abc", "d", "", "ef"};
    for (int i = 0; i < 4; i++) put_unit(&x, tokens[i], &err), hd_labeled_mark(&x, i, NAN, &err);
    hd_labeled_end(&x, &err);
    hd_labeled_end(&x, &err); /* a line without tokens */
    hd_tokenizer *t = characters_of(&x);
    hd_examples e = examples_of(&x, t, true, 100), parted = examples_of(&x, t, true, 4);
    static const int32_t row[] = {0, 3, 4, 5}, in_parts[] = {0, 3, 0, 1};
    assert_int_equal(e.count, 1);
    assert_int_equal(e.rows, 7);
    assert_int_equal(e.id[4], HD_UNK_ID); /* nothing was found in it */
    assert_memory_equal(e.row, row, sizeof row);
    assert_false(e.plain);
    assert_int_equal(parted.count, 2);
    assert_int_equal(parted.labels, 4);
    assert_int_equal(parted.first[1], 2);
    assert_int_equal(parted.begin[1], 4);
    assert_memory_equal(parted.row, in_parts, sizeof in_parts);
    assert_int_equal(parted.cut, 1);
    hd_examples_release(&e);
    hd_examples_release(&parted);
    hd_tokenizer_free(t);
    hd_labeled_release(&x);
}

/* -- memory -- */

static void a_sentence_may_stand_between_start_and_end(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_labeled x = {0};
    hd_examples e;
    static const char *const tokens[] = {"ab", "c", "defg"};
    for (int i = 0; i < 3; i++) put_unit(&x, tokens[i], &err), hd_labeled_mark(&x, i, NAN, &err);
    hd_labeled_end(&x, &err);
    hd_tokenizer *t = characters_of(&x);
    if (hd_examples_make(&e, &x, t, &(hd_examples_opt){.each = true, .longest = 8}, &err))
        fail_msg("%s", err.text);
    static const char *const piece[] = {"<s>", "a", "b", "c", "</s>", "<s>", "d", "e", "f", "g", "</s>"};
    static const int32_t row[] = {1, 3, 1};
    assert_int_equal(e.count, 2);
    assert_int_equal(e.rows, COUNT_OF(piece));
    for (size_t i = 0; i < e.rows; i++) assert_string_equal(hd_tokenizer_piece(t, e.id[i]), piece[i]);
    for (size_t i = 0; i < 3; i++) assert_int_equal(e.row[i], row[i]);
    assert_int_equal(e.first[1], 2);
    assert_int_equal(e.cut, 1);
    hd_examples_release(&e);
    hd_tokenizer_free(t);
    hd_labeled_release(&x);
}

static hd_status everything(hd_err *err)
{
    hd_vocab labels = {0};
    hd_labeled x = {0}, held = {0};
    hd_examples e = {0};
    hd_tokenizer *t = NULL;
    hd_labeled_walk walk = {&x, 0};
    size_t dropped;
    hd_status s = hd_labeled_folder(&x, &labels, at("some"), err);
    if (!s) s = hd_labeled_distinct(&x, &dropped, err);
    if (!s) s = hd_labeled_split(&x, 0.4, 1, &held, err);
    if (!s)
        s = hd_tokenizer_train(&t, HD_TOKENIZER_words, hd_labeled_feed(&walk), &(hd_tokenizer_opt){0}, err);
    if (!s) s = hd_examples_make(&e, &x, t, &(hd_examples_opt){.each = true, .longest = 4}, err);
    hd_examples_release(&e);
    hd_tokenizer_free(t);
    hd_labeled_release(&held);
    hd_labeled_release(&x);
    hd_vocab_release(&labels);
    return s;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks, n = 1;
    make_folder("some");
    put_file(at("some/b"), "x\nx\ny z\n");
    put_file(at("some/a"), "u v w\n");
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        s = everything(&err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 20, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_class),
        cmocka_unit_test(a_table_names_its_columns),
        cmocka_unit_test(a_table_may_have_pairs),
        cmocka_unit_test(labels_may_be_numbers),
        cmocka_unit_test(tokens_stand_one_a_line),
        cmocka_unit_test(what_is_there_twice_counts_once),
        cmocka_unit_test(no_text_lies_in_both_parts),
        cmocka_unit_test(the_seed_alone_decides_what_is_held_back),
        cmocka_unit_test(each_part_has_something),
        cmocka_unit_test(a_text_stands_between_start_and_end),
        cmocka_unit_test(two_texts_stand_behind_each_other),
        cmocka_unit_test(a_pair_is_framed_as_the_tokenizer_says),
        cmocka_unit_test(an_item_may_have_any_number_of_labels),
        cmocka_unit_test(every_token_has_its_row),
        cmocka_unit_test(a_sentence_may_stand_between_start_and_end),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
