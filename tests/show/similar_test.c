/* Where a word stands and what its vectors are: whole words, folded as the tokenizer folds, of several
   pieces, at several places. */
#include "check.h"
#include "scratch.h"

#include "show/words.h"
#include "task/owned.h"

static hd_backend *backend;
static hd_run run;
static hd_model_folder model; /* an uncased BERT of drawn weights */

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nan\napple\nis\nsweet\nin\ntaste\n.\nwe\ncan\nmake\njuice\nand\njam\n"
    "from\na\nday\nkeeps\nthe\ndoctor\naway\ninvestors\nhave\nlove\n-"
    "\nhate\nrelationship\nwith\niphone\nboth\n"
    "hu\n##awe\n##i\nwireless\ncharging\nfeatures\nsteve\njobs\nreturned\nto\n11\n##96\npine\n##apple\n##s\n,"
    "\n'\n"
    "苹\n果\n好\n";

/* The lectures' sentences. */
enum { SENTENCES = 6 };
static const char *const sentences[SENTENCES] = {
    "An apple is sweet in taste.",
    "We can make juice and jam from apple.",
    "An apple a day keeps the doctor away.",
    "Investors in Apple have a love-hate relationship with the iPhone.",
    "Both Apple and Huawei have wireless charging features.",
    "Steve Jobs returned to Apple in 1196."};

static int make(void **state)
{
    hd_err err = {0};
    if (scratch_make(state)) return -1;
    backend = backend_of("cpu", 1);
    run = run_on(backend);
    put_file(at("vocab.txt"), vocabulary);
    hd_bert *m = NULL;
    if (hd_tokenizer_open(&model.tokenizer[0], HD_TOKENIZER_wordpiece, at("vocab.txt"), &err))
        fail_msg("%s", err.text);
    hd_bert_opt o = {.stack.layers = 2,
                     .stack.heads = 2,
                     .stack.width = 16,
                     .stack.inner = 24,
                     .vocab = hd_masked_vocab(model.tokenizer[0]),
                     .positions = 32};
    if (hd_bert_new(&m, backend, &o, false, &err) || hd_params_draw(&m->params, 5, &err))
        fail_msg("%s", err.text);
    hd_model_folder_take(&model, HD_TRAIN_MLM, hd_bert_model(m));
    return 0;
}

static int drop(void **state)
{
    hd_model_folder_release(&model);
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state);
}

enum { MOST = 16 };
static const char *why[MOST];

static hd_similar similar(const char *word, const char *const *text, size_t count, hd_embed_opt opt)
{
    hd_err err = {0};
    hd_similar s;
    hd_line line[MOST];
    for (size_t i = 0; i < count; i++) line[i] = (hd_line){text[i], strlen(text[i])};
    hd_similar_init(&s, word);
    if (hd_similar_add(&s, &run, &model, line, count, 0, &opt, why, &err)) fail_msg("%s", err.text);
    return s;
}

static void a_word_is_found_in_every_sentence(void **state)
{
    (void)state;
    hd_similar s =
        similar("APPLE", sentences, SENTENCES, (hd_embed_opt){0}); /* folded as the tokenizer does */
    assert_int_equal(s.count, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_null(why[i]);
        assert_int_equal(s.at[i].line, i + 1);
        assert_string_equal(s.at[i].text, sentences[i]);
        assert_int_equal(s.at[i].end - s.at[i].begin, 5);
        assert_int_equal(strncasecmp(sentences[i] + s.at[i].begin, "apple", 5), 0);
    }
    hd_similar_release(&s);
}

/* Symmetric, with ones in the diagonal; in the table a word has one vector, behind a layer as many as places.
 */
static void the_table_knows_no_sentence_and_a_layer_does(void **state)
{
    (void)state;
    for (int layer = 0; layer <= 2; layer++) {
        hd_similar s =
            similar("apple", sentences, SENTENCES, (hd_embed_opt){.layer = layer, .table = !layer});
        for (size_t i = 0; i < SENTENCES; i++)
            for (size_t k = 0; k < SENTENCES; k++) {
                double c = hd_similar_cosine(&s, i, k);
                assert_true(c == hd_similar_cosine(&s, k, i));
                assert_true(i != k || fabs(c - 1) < 1e-12);
                assert_true(layer ? i == k || c < 0.9999 : fabs(c - 1) < 1e-12);
            }
        hd_similar_release(&s);
    }
}

static void pieces_of_a_word_are_averaged(void **state)
{
    (void)state;
    static const char *const text[] = {"Both Huawei and apple", "we hate pineapples, the doctor"};
    static const struct {
        const char *word;
        size_t line, first, last; /* rows of the line */
    } cases[] = {{"huawei", 0, 2, 4}, {"pineapples", 1, 3, 5}, {"and", 0, 5, 5}, {"the doctor", 1, 7, 8}};
    hd_err err = {0};
    hd_embeddings e;
    hd_line line[] = {{text[0], strlen(text[0])}, {text[1], strlen(text[1])}};
    if (hd_embed_lines(&e, &run, &model, line, 2, &(hd_embed_opt){.pool = HD_POOLING_NONE, .layer = 1}, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_similar s = similar(cases[i].word, text, 2, (hd_embed_opt){.layer = 1});
        double mean[16] = {0}, length = 0;
        assert_int_equal(s.count, 1);
        assert_int_equal(s.at[0].line, cases[i].line + 1);
        assert_string_equal(why[1 - cases[i].line], "the word is not in it");
        for (size_t row = cases[i].first; row <= cases[i].last; row++)
            for (size_t c = 0; c < 16; c++) mean[c] += (double)e.of[cases[i].line].vector[row * 16 + c];
        for (size_t c = 0; c < 16; c++) length += mean[c] * mean[c];
        for (size_t c = 0; c < 16; c++) assert_true(fabs(s.vector[c] - mean[c] / sqrt(length)) < 1e-12);
        hd_similar_release(&s);
    }
    hd_embeddings_release(&e);
}

static void only_whole_words_count_and_each_of_them(void **state)
{
    (void)state;
    static const struct {
        const char *word, *text;
        size_t places, begin[3];
    } cases[] = {{"apple", "pineapple", 0, {0}},
                 {"apple", "apples", 0, {0}},
                 {"apple", "Apple, apple and APPLE", 3, {0, 7, 17}},
                 {"apple", "an 'apple'", 1, {4}},
                 {"apple",
                  "\xe2\x80\x9c"
                  "apple\xe2\x80\x9d",
                  1,
                  {3}},
                 {"apple", "apple-jam", 1, {0}},
                 {"apple", "apple_jam", 0, {0}},
                 {"apple",
                  "\xc3\xa9"
                  "apple",
                  0,
                  {0}},
                 {"love-hate", "a love-hate day", 1, {2}},
                 {"苹果", "好苹果好", 1, {3}},
                 {"day", "an apple a day", 1, {11}},
                 {"unknown", "an unknown an other", 1, {3}}, /* by its letters: not every [UNK] is it */
                 {"unknown", "an Unknown", 0, {0}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_similar s = similar(cases[i].word, &cases[i].text, 1, (hd_embed_opt){0});
        if (s.count != cases[i].places) fail_msg("'%s': %zu places", cases[i].text, s.count);
        for (size_t k = 0; k < s.count; k++) assert_int_equal(s.at[k].begin, cases[i].begin[k]);
        assert_true(!why[0] == !!s.count);
        hd_similar_release(&s);
    }
}

static void lines_go_on_where_the_last_ones_ended(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_similar all = similar("apple", sentences, SENTENCES, (hd_embed_opt){0}), s;
    hd_similar_init(&s, "apple");
    for (size_t i = 0; i < SENTENCES; i++) {
        hd_line line = {sentences[i], strlen(sentences[i])};
        if (hd_similar_add(&s, &run, &model, &line, 1, i, &(hd_embed_opt){0}, why, &err))
            fail_msg("%s", err.text);
    }
    assert_int_equal(s.count, all.count);
    assert_memory_equal(s.vector, all.vector, s.count * s.width * sizeof *s.vector);
    for (size_t i = 0; i < SENTENCES; i++) assert_int_equal(s.at[i].line, i + 1);
    hd_similar_release(&s);
    hd_similar_release(&all);
}

static void what_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    char far[256] = "";
    for (int i = 0; i < 40; i++) strcat(far, "a ");
    strcat(far, "apple");
    const char *const text[] = {"an apple", "", "\xff apple", far, "no such word", "an [MASK] apple"};
    hd_similar s = similar("apple", text, COUNT_OF(text), (hd_embed_opt){0});
    assert_int_equal(s.count, 2);
    assert_int_equal(s.at[1].line, 6);
    assert_string_equal(why[1], "the word is not in it");
    assert_string_equal(why[2], "not UTF-8");
    assert_string_equal(why[3], "longer than the model can take");
    assert_string_equal(why[4], "the word is not in it");
    hd_similar_release(&s);
}

static void words_that_are_none_and_too_many_places_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "\xff"};
    hd_line line = {"apple apple apple apple apple apple apple apple apple apple", 59};
    hd_similar s;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_similar_init(&s, bad[i]);
        assert_int_equal(hd_similar_add(&s, &run, &model, &line, 1, 0, &(hd_embed_opt){0}, why, &err),
                         HD_EARG);
        hd_similar_release(&s);
    }
    hd_err err = {0};
    hd_similar_init(&s, "apple");
    for (size_t i = 0; i < HD_SIMILAR_MOST / 10; i++)
        assert_int_equal(hd_similar_add(&s, &run, &model, &line, 1, i, &(hd_embed_opt){0}, why, &err), HD_OK);
    assert_int_equal(s.count, HD_SIMILAR_MOST);
    assert_int_equal(hd_similar_add(&s, &run, &model, &line, 1, 0, &(hd_embed_opt){0}, why, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "more than 1000 places"));
    hd_similar_release(&s);
}

static void no_allocation_that_fails_leaks(void **state)
{
    (void)state;
    hd_line line[] = {{"an apple", 8}, {"Apple is sweet", 14}};
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (hd_status st = HD_ENOMEM; st; n++) {
        hd_err err = {0};
        hd_similar s;
        hd_similar_init(&s, "apple");
        hd_mem_fail_at(n);
        st = hd_similar_add(&s, &run, &model, line, 2, 0, &(hd_embed_opt){0}, why, &err);
        hd_mem_fail_at(0);
        assert_int_equal(st, err.status);
        hd_similar_release(&s);
        run.err = (hd_err){0};
        if (hd_mem_now().blocks > blocks) fail_msg("blocks are left by failure %zu", n);
    }
    assert_in_range(n, 8, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_found_in_every_sentence),
        cmocka_unit_test(the_table_knows_no_sentence_and_a_layer_does),
        cmocka_unit_test(pieces_of_a_word_are_averaged),
        cmocka_unit_test(only_whole_words_count_and_each_of_them),
        cmocka_unit_test(lines_go_on_where_the_last_ones_ended),
        cmocka_unit_test(what_cannot_be_read_is_left_out),
        cmocka_unit_test(words_that_are_none_and_too_many_places_are_refused),
        cmocka_unit_test(no_allocation_that_fails_leaks),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
