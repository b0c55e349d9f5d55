/* The lecture's example as a model: its weights land where the engine reads them, its table names all of it,
   and it behaves as a Transformer must. The numbers themselves are compared in tests/show/explain_test.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "show/lecture.h"
#include "text/tokenizer.h"
#include "train/optimizer.h"

enum { N = HD_LECTURE_LENGTH, VOCAB = HD_LECTURE_VOCAB };

typedef struct fixture {
    hd_backend *backend;
    hd_run run;
    hd_encdec *model;
} fixture;

static fixture start(void)
{
    fixture f = {0};
    hd_err err = {0};
    assert_int_equal(hd_backend_new(&f.backend, "cpu", &(hd_backend_opt){.threads = 2}, &err), HD_OK);
    assert_int_equal(hd_run_init(&f.run, f.backend, &err), HD_OK);
    if (hd_lecture_new(&f.model, f.backend, 0, true, &err)) fail_msg("%s", err.text);
    return f;
}

static void stop(fixture *f)
{
    hd_encdec_free(f->model);
    hd_run_release(&f->run);
    hd_backend_free(f->backend);
}

static const hd_lecture_matrix *named(const char *name)
{
    for (const hd_lecture_matrix *x = hd_lecture_matrices; x->name; x++)
        if (!strcmp(x->name, name)) return x;
    fail_msg("there is no %s", name);
    return NULL;
}

/* Rows of the decoder for the worked pair with `reads` as its input. */
static hd_rows forward(hd_run *r, const hd_encdec *m, const int32_t reads[N])
{
    const int32_t len[] = {N};
    hd_encoded memory = hd_encdec_encode(
        r, m,
        &(hd_items){.seg = hd_seg_of(r, len, 1, NULL), .ids = hd_ints(r, hd_lecture_pairs[0].source, N)});
    return hd_encdec_decode(r, m, hd_ints(r, reads, N), hd_seg_of(r, len, 1, NULL), memory, NULL);
}

static void logits_of(fixture *f, const int32_t reads[N], hd_real out[N * VOCAB])
{
    hd_run_begin(&f->run, HD_INFERENCE);
    hd_rows y = forward(&f->run, f->model, reads);
    if (!hd_read(&f->run, hd_encdec_logits(&f->run, f->model, y), out)) fail_msg("%s", f->run.err.text);
}

static void vocabulary_follows_the_rule(void **state)
{
    (void)state;
    static const char *const first[] = {"<SOS>", "<EOS>", "<PAD>"};
    int count[VOCAB] = {0};
    for (int i = 0; i < 3; i++) assert_string_equal(hd_lecture_words[i], first[i]);
    assert_string_equal(hd_lecture_words[HD_LECTURE_EOS], "<EOS>");
    for (int i = 0; i < HD_LECTURE_PAIRS; i++)
        for (int j = 0; j < N; j++)
            count[hd_lecture_pairs[i].source[j]]++, count[hd_lecture_pairs[i].target[j]]++;
    for (int i = 3; i < VOCAB; i++) assert_true(count[i] > 0); /* behind <SOS>, <EOS>, <PAD> */
    for (int i = 4; i < VOCAB; i++) {
        bool rarer = count[i] < count[i - 1], same = count[i] == count[i - 1];
        assert_true(rarer || (same && strcmp(hd_lecture_words[i - 1], hd_lecture_words[i]) < 0));
    }
}

/* -- the vocabulary, from the text of the pairs -- */

static const char *const texts[] = {"how are you", "i am fine", "i am fine", "how about yourself"};

static bool next_text(void *context, hd_line *line)
{
    size_t *at = context;
    if (*at == 4) return false;
    *line = (hd_line){texts[*at], strlen(texts[*at])};
    ++*at;
    return true;
}

/* heed's own list of words, learned from the two pairs as a corpus is: behind the specials the words of the
   slide in the slide's order. Text becomes ids and comes back. */
static void words_are_learned_from_the_text_of_the_pairs(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    size_t at = 0;
    if (hd_tokenizer_train(&t, HD_TOKENIZER_words, (hd_feed){next_text, &at}, &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    size_t specials = hd_tokenizer_size(t) - (VOCAB - 3);
    for (size_t i = 3; i < VOCAB; i++)
        assert_string_equal(hd_tokenizer_piece(t, (int32_t)(specials + i - 3)), hd_lecture_words[i]);
    for (size_t i = 0; i < specials; i++) assert_int_equal(hd_tokenizer_piece(t, (int32_t)i)[0], '<');
    for (size_t i = 0; i < 4; i++) {
        const int32_t *want = i % 2 ? hd_lecture_pairs[i / 2].target : hd_lecture_pairs[i / 2].source;
        hd_ids ids = {0};
        hd_text back = {0};
        assert_int_equal(hd_tokenizer_encode_ids(t, texts[i], strlen(texts[i]), &ids, &err), HD_OK);
        assert_int_equal(ids.count, N);
        for (size_t j = 0; j < N; j++) assert_int_equal(ids.at[j] - (int32_t)specials + 3, want[j]);
        assert_int_equal(hd_tokenizer_decode(t, ids.at, ids.count, &back, &err), HD_OK);
        assert_string_equal(back.data, texts[i]);
        hd_ids_release(&ids);
        hd_text_release(&back);
    }
    hd_tokenizer_free(t);
}

static void names_are_unique_and_in_order(void **state)
{
    (void)state;
    size_t count = 0;
    for (const hd_lecture_matrix *x = hd_lecture_matrices; x->name; x++, count++) {
        assert_non_null(x->engine);
        assert_non_null(x->formula);
        assert_int_equal(hd_lecture_learned(x), hd_lecture_weight(x) != NULL);
        if (count) assert_true(x->section >= x[-1].section);
        for (const hd_lecture_matrix *y = x + 1; y->name; y++) {
            assert_string_not_equal(x->name, y->name);
            assert_string_not_equal(x->engine, y->engine);
        }
    }
    assert_int_equal(count, 82);
}

static void table_covers_every_parameter(void **state)
{
    (void)state;
    fixture f = start();
    size_t numbers = 0;
    for (const hd_lecture_matrix *x = hd_lecture_matrices; x->name; x++)
        if (hd_lecture_learned(x)) numbers += hd_count_of(&hd_params_find(&f.model->params, x->engine)->t);
    assert_int_equal(numbers, 809);
    assert_int_equal(hd_params_size(&f.model->params), 809);
    stop(&f);
}

static void weights_are_turned_on_the_way_in_and_out(void **state)
{
    (void)state;
    fixture f = start();
    hd_real shown[HD_LECTURE_LARGEST], kept[HD_LECTURE_LARGEST];
    for (const hd_lecture_matrix *x = hd_lecture_matrices; x->name; x++) {
        if (!hd_lecture_learned(x)) continue;
        const hd_param *p = hd_params_find(&f.model->params, x->engine);
        size_t rows = hd_lecture_length(x->rows), cols = hd_lecture_length(x->cols);
        assert_int_equal(hd_lecture_read(f.model, x, false, shown), HD_OK);
        assert_int_equal(hd_params_get(&f.model->params, p, &p->t, kept), HD_OK);
        for (size_t i = 0; i < hd_count_of(&p->t); i++)
            assert_true(shown[i] == (hd_real)hd_lecture_weight(x)[i]);
        if (x->kind != HD_LECTURE_WEIGHT) continue;
        assert_int_equal(hd_rows_of(&p->t), cols); /* [out, in] */
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++) assert_true(kept[j * rows + i] == shown[i * cols + j]);
    }
    stop(&f);
}

static void positions_are_sines_and_cosines_in_turn(void **state)
{
    (void)state;
    fixture f = start();
    hd_real pe[HD_LECTURE_LARGEST];
    static const double row1[] = {0.84147098, 0.54030231, 0.04639922, 0.99892298, 0.00215443, 0.99999768};
    assert_int_equal(hd_lecture_read(f.model, named("pe"), false, pe), HD_OK);
    for (int j = 0; j < 6; j++) {
        assert_true(pe[j] == (j % 2));
        assert_true(fabs((double)pe[6 + j] - row1[j]) < 1e-7);
    }
    stop(&f);
}

static void later_words_do_not_change_earlier_rows(void **state)
{
    (void)state;
    fixture f = start();
    hd_real a[N * VOCAB], b[N * VOCAB];
    logits_of(&f, (const int32_t[]){0, 6, 3}, a);
    for (int changed = 1; changed < N; changed++) {
        int32_t reads[] = {0, 6, 3};
        reads[changed] = 10;
        logits_of(&f, reads, b);
        for (int i = 0; i < changed * VOCAB; i++) assert_true(a[i] == b[i]);
        double moved = 0;
        for (int i = changed * VOCAB; i < N * VOCAB; i++) moved = fmax(moved, fabs((double)(a[i] - b[i])));
        assert_true(moved > 0.01);
    }
    stop(&f);
}

/* The same bits: on the CPU a row does not depend on which rows come with it. */
static void word_by_word_equals_all_at_once(void **state)
{
    (void)state;
    fixture f = start();
    hd_run *r = &f.run;
    const int32_t reads[N] = {0, 6, 3}, whole[] = {N}, one[] = {1};
    hd_real all[N * VOCAB], step[VOCAB];
    hd_cache *cache = NULL;
    hd_err err = {0};
    logits_of(&f, reads, all);
    assert_int_equal(hd_encdec_cache(&cache, f.model, 1, &err), HD_OK);
    for (int t = 0; t < N; t++) {
        hd_run_begin(r, HD_INFERENCE);
        hd_encoded memory = {0};
        if (!t)
            memory = hd_encdec_encode(r, f.model,
                                      &(hd_items){.seg = hd_seg_of(r, whole, 1, NULL),
                                                  .ids = hd_ints(r, hd_lecture_pairs[0].source, N)});
        hd_rows y =
            hd_encdec_decode(r, f.model, hd_ints(r, reads + t, 1), hd_seg_of(r, one, 1, NULL), memory, cache);
        if (!hd_read(r, hd_encdec_logits(r, f.model, y), step)) fail_msg("%s", r->err.text);
        for (int j = 0; j < VOCAB; j++) assert_true(step[j] == all[t * VOCAB + j]);
    }
    hd_cache_free(cache);
    stop(&f);
}

/* Mean loss of the worked pair; backward with `back`. */
static double loss_of(fixture *f, bool back)
{
    hd_run *r = &f->run;
    hd_run_begin(r, back ? HD_TRAIN : HD_INFERENCE);
    hd_rows y = forward(r, f->model, (const int32_t[]){0, 6, 3});
    hd_tensor *rows =
        hd_encdec_loss(r, f->model, y, hd_ints(r, hd_lecture_pairs[0].target, N), &(hd_loss_opt){.coef = 1});
    double loss = hd_loss_total(r, rows) / N;
    if (back) hd_backward(r);
    if (r->err.status) fail_msg("%s", r->err.text);
    return loss;
}

static void one_step_of_sgd_gives_the_known_loss(void **state)
{
    (void)state;
    fixture f = start();
    hd_optimizer sgd;
    hd_err err = {0};
    double norm = 0;
    assert_int_equal(hd_optimizer_init(&sgd, &f.model->params, &(hd_optimizer_opt){.kind = HD_OPT_SGD}, &err),
                     HD_OK);
    assert_true(fabs(loss_of(&f, true) - 3.44390847) < 1e-6);
    assert_int_equal(hd_optimizer_step(&f.run, &sgd, 0.1, N, &norm, NULL), HD_OK);
    assert_true(fabs(norm - 1.83148654) < 1e-6);
    assert_true(fabs(loss_of(&f, false) - 3.10910895) < 1e-6);
    hd_optimizer_release(&sgd);
    stop(&f);
}

static void every_parameter_has_a_gradient(void **state)
{
    (void)state;
    fixture f = start();
    hd_real g[HD_LECTURE_LARGEST];
    loss_of(&f, true);
    for (const hd_lecture_matrix *x = hd_lecture_matrices; x->name; x++) {
        if (!hd_lecture_learned(x)) continue;
        assert_int_equal(hd_lecture_read(f.model, x, true, g), HD_OK);
        size_t rows = x->kind == HD_LECTURE_BIAS ? 1 : hd_lecture_length(x->rows),
               cols = hd_lecture_length(x->cols);
        double largest = 0;
        for (size_t i = 0; i < rows * cols; i++) largest = fmax(largest, fabs((double)g[i]));
        if (!(largest > 1e-4)) fail_msg("%s: largest gradient %g", x->name, largest);
        if (x->kind != HD_LECTURE_TABLE) continue;
        bool source = !strcmp(x->name, "enc.embedding_table"); /* words that were not read have none */
        for (size_t i = 0; i < rows; i++) {
            bool read = source ? i == 5 || i == 8 || i == 9 : i == 0 || i == 6 || i == 3;
            assert_int_equal(g[i * cols] != 0, read);
        }
    }
    stop(&f);
}

static void eps_of_pytorch_moves_little(void **state)
{
    (void)state;
    fixture f = start();
    hd_err err = {0};
    hd_real a[N * VOCAB], b[N * VOCAB];
    double moved = 0;
    logits_of(&f, (const int32_t[]){0, 6, 3}, a);
    hd_encdec_free(f.model);
    assert_int_equal(hd_lecture_new(&f.model, f.backend, 1e-5f, false, &err), HD_OK);
    logits_of(&f, (const int32_t[]){0, 6, 3}, b);
    for (int i = 0; i < N * VOCAB; i++) moved = fmax(moved, fabs((double)(a[i] - b[i])));
    assert_true(fabs(moved - 1.7e-5) < 3e-6); /* the lecture's note says 1.7e-5 */
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabulary_follows_the_rule),
        cmocka_unit_test(words_are_learned_from_the_text_of_the_pairs),
        cmocka_unit_test(names_are_unique_and_in_order),
        cmocka_unit_test(table_covers_every_parameter),
        cmocka_unit_test(weights_are_turned_on_the_way_in_and_out),
        cmocka_unit_test(positions_are_sines_and_cosines_in_turn),
        cmocka_unit_test(later_words_do_not_change_earlier_rows),
        cmocka_unit_test(word_by_word_equals_all_at_once),
        cmocka_unit_test(one_step_of_sgd_gives_the_known_loss),
        cmocka_unit_test(every_parameter_has_a_gradient),
        cmocka_unit_test(eps_of_pytorch_moves_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
