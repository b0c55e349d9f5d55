/* Neighbors and sums of words in a table that was made by hand: the lectures' features of cat, king and the
   rest, with the cosines that belong to it. */
#include "show/words.h"
#include "task/owned.h"

#include "task/small.h"

enum { CAT, KITTEN, DOG, HOUSES, MAN, WOMAN, KING, QUEEN, WORDS, FEATURES = 7 };

static const char *const words[WORDS + 1] = {"cat",   "kitten", "dog",   "houses", "man",
                                             "woman", "king",   "queen", NULL};
static const double table[WORDS][FEATURES] = {
    {0.6, 0.9, 0.1, 0.4, -0.7, -0.3, -0.2},  {0.5, 0.8, -0.1, 0.2, -0.6, -0.5, -0.1},
    {0.7, -0.1, 0.4, 0.3, -0.4, -0.1, -0.3}, {-0.8, -0.4, -0.5, 0.1, -0.9, 0.3, 0.8},
    {0.6, -0.2, 0.8, 0.9, -0.1, -0.9, -0.7}, {0.7, 0.3, 0.9, -0.7, 0.1, -0.5, -0.4},
    {0.5, -0.4, 0.7, 0.8, 0.9, -0.7, -0.6},  {0.8, -0.1, 0.8, -0.9, 0.8, -0.5, -0.9}};

static hd_backend *backend;
static hd_model_folder model;

static hd_model_folder *language_of(hd_tokenizer_kind unit, hd_lm_kind kind)
{
    hd_err err = {0};
    hd_model_folder *l = hd_mem_zero(sizeof *l);
    hd_lm *lm = NULL;
    l->tokenizer[0] = small_tokenizer(unit, words);
    hd_special special = hd_tokenizer_special(l->tokenizer[0]);
    hd_lm_opt o = {.stack.pre_norm = true,
                   .kind = kind,
                   .vocab = hd_tokenizer_size(l->tokenizer[0]),
                   .start = special.start,
                   .end = special.end,
                   .unk = special.unk,
                   .order = 3,
                   .smoothing = HD_SMOOTHING_KNESER_NEY,
                   .stack.layers = 1,
                   .stack.width = FEATURES};
    if (hd_lm_new(&lm, &o, backend, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(l, HD_TRAIN_LM, hd_lm_model(lm));
    return l;
}

/* The vectors of words; those of other ids are all 9, longer than any and near to none but each other. */
static void fill_table(hd_model_folder *l)
{
    hd_param *p = hd_model_folder_lm(l)->type->table(hd_model_folder_lm(l));
    size_t rows = hd_rows_of(&p->t);
    hd_real *x = malloc(rows * FEATURES * sizeof *x);
    for (size_t i = 0; i < rows * FEATURES; i++) x[i] = 9;
    for (size_t i = 0; i < WORDS; i++) {
        int32_t id = hd_tokenizer_id(l->tokenizer[0], words[i]);
        for (size_t c = 0; id >= 0 && c < FEATURES; c++) x[(size_t)id * FEATURES + c] = (hd_real)table[i][c];
    }
    assert_int_equal(hd_params_set(hd_model_folder_lm(l)->params, p, x), HD_OK);
    free(x);
}

static int make(void **state)
{
    (void)state;
    backend = backend_of("cpu", 1);
    hd_model_folder *l = language_of(HD_TOKENIZER_words, HD_LM_rnn);
    fill_table(l);
    model = owned(l);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    hd_model_folder_release(&model);
    hd_backend_free(backend);
    return 0;
}

static hd_neighbors found(const char *sum, size_t top)
{
    hd_err err = {0};
    hd_terms terms;
    hd_neighbors n = {0};
    if (hd_terms_read(&terms, sum, &err) || hd_neighbors_find(&n, &model, &terms, top, &err))
        fail_msg("%s: %s", sum, err.text);
    return n;
}

static const char *piece_of(int32_t id)
{
    return hd_tokenizer_piece(model.tokenizer[0], id);
}

static void neighbors_come_by_their_cosines(void **state)
{
    (void)state;
    static const struct {
        int word;
        double cosine;
    } expected[] = {{KITTEN, 0.960769}, {DOG, 0.611237},    {MAN, 0.441999},    {WOMAN, 0.310851},
                    {KING, 0.011979},   {QUEEN, -0.043971}, {HOUSES, -0.208201}};
    hd_neighbors n = found("cat", 100);
    assert_int_equal(n.count, COUNT_OF(expected)); /* neither specials nor the cat itself */
    for (size_t i = 0; i < n.count; i++) {
        assert_string_equal(piece_of(n.at[i].id), words[expected[i].word]);
        assert_true(fabs(n.at[i].cosine - expected[i].cosine) < 2e-6);
    }
    hd_neighbors_release(&n);
    n = found("cat", 2);
    assert_int_equal(n.count, 2);
    hd_neighbors_release(&n);
}

static void king_minus_man_plus_woman_is_queen(void **state)
{
    (void)state;
    static const char *const sums[] = {"king - man + woman", "woman + king - man", "  king -\tman  + woman "};
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        hd_neighbors n = found(sums[i], 5);
        assert_int_equal(n.count, 5);
        assert_string_equal(piece_of(n.at[0].id), "queen");
        assert_true(fabs(n.at[0].cosine - 0.9209) < 5e-5);
        for (size_t k = 0; k < n.count; k++)
            for (int w = MAN; w <= KING; w++) assert_string_not_equal(piece_of(n.at[k].id), words[w]);
        hd_neighbors_release(&n);
    }
}

static void words_of_several_pieces_have_their_mean(void **state)
{
    (void)state;
    hd_model_folder letters = owned(language_of(HD_TOKENIZER_characters, HD_LM_rnn));
    hd_err err = {0};
    assert_int_equal(hd_params_draw(letters.model.params, 3, &err), HD_OK);
    hd_param *p = letters.model.type->table(letters.model.self);
    size_t rows = hd_rows_of(&p->t);
    hd_real *x = malloc(rows * FEATURES * sizeof *x);
    assert_int_equal(hd_params_get(letters.model.params, p, &p->t, x), HD_OK);
    const hd_tokenizer *t = letters.tokenizer[0];
    double mean[FEATURES];
    for (size_t c = 0; c < FEATURES; c++) {
        mean[c] = 0;
        for (const char *l = "man"; *l; l++)
            mean[c] += (double)x[(size_t)hd_tokenizer_id(t, (char[2]){*l, 0}) * FEATURES + c] / 3;
        mean[c] -= (double)x[(size_t)hd_tokenizer_id(t, "d") * FEATURES + c]; /* a word of one piece */
    }
    hd_terms terms;
    hd_neighbors n = {0};
    if (hd_terms_read(&terms, "man - d", &err) || hd_neighbors_find(&n, &letters, &terms, 100, &err))
        fail_msg("%s", err.text);
    assert_true(n.count > 3);
    for (size_t i = 0; i < n.count; i++) {
        const hd_real *v = x + (size_t)n.at[i].id * FEATURES;
        double ab = 0, aa = 0, bb = 0;
        for (size_t c = 0; c < FEATURES; c++)
            ab += mean[c] * (double)v[c], aa += mean[c] * mean[c], bb += (double)v[c] * (double)v[c];
        assert_true(fabs(ab / sqrt(aa * bb) - n.at[i].cosine) < 1e-9);
        assert_true(!i || n.at[i - 1].cosine >= n.at[i].cosine);
        assert_null(strpbrk(hd_tokenizer_piece(t, n.at[i].id), "mand"));
    }
    hd_neighbors_release(&n);
    free(x);
    hd_model_folder_release(&letters);
}

static void what_is_no_sum_of_words_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {{"", "there is no word"},
                 {"  ", "there is no word"},
                 {"king -", "no word after the last sign"},
                 {"- man", "'-' is where a word should be"},
                 {"king man", "'man' is where a + or - should be"},
                 {"king + - man", "'-' is where a word should be"},
                 {"king -man", "'-man' is where a + or - should be"},
                 {"a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a", "more than 16 words"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_terms terms;
        assert_int_equal(hd_terms_read(&terms, cases[i].text, &err), HD_EARG);
        if (!strstr(err.text, cases[i].says)) fail_msg("'%s': '%s'", cases[i].text, err.text);
    }
    static const struct {
        const char *text, *says;
    } sums[] = {{"king - unicorn", "no pieces for 'unicorn'"},
                {"king - king", "the sum points nowhere"},
                {"king + \xff", "not UTF-8"}};
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        hd_err err = {0};
        hd_terms terms;
        hd_neighbors n;
        assert_int_equal(hd_terms_read(&terms, sums[i].text, &err), HD_OK);
        assert_int_equal(hd_neighbors_find(&n, &model, &terms, 3, &err), HD_EARG);
        assert_null(n.at);
        if (!strstr(err.text, sums[i].says)) fail_msg("'%s': '%s'", sums[i].text, err.text);
    }
}

static void models_without_a_table_are_refused(void **state)
{
    (void)state;
    hd_model_folder counted = owned(language_of(HD_TOKENIZER_words, HD_LM_ngram));
    hd_err err = {0};
    hd_neighbors n = {0};
    hd_terms terms;
    assert_int_equal(hd_terms_read(&terms, "cat", &err), HD_OK);
    assert_int_equal(hd_neighbors_find(&n, &counted, &terms, 3, &err), HD_EARG);
    assert_non_null(strstr(err.text, "ngram has no embedding table"));
    hd_model_folder_release(&counted);
}

static void no_allocation_that_fails_leaks(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks, n = 1;
    hd_terms terms;
    assert_int_equal(hd_terms_read(&terms, "king - man", &(hd_err){0}), HD_OK);
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_neighbors out;
        hd_mem_fail_at(n);
        s = hd_neighbors_find(&out, &model, &terms, 3, &err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        hd_neighbors_release(&out);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 4, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbors_come_by_their_cosines),
        cmocka_unit_test(king_minus_man_plus_woman_is_queen),
        cmocka_unit_test(words_of_several_pieces_have_their_mean),
        cmocka_unit_test(what_is_no_sum_of_words_is_said),
        cmocka_unit_test(models_without_a_table_are_refused),
        cmocka_unit_test(no_allocation_that_fails_leaks),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
