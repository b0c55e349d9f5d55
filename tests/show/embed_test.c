/* Vectors of lines: the rows of the model itself, pooled, whatever is read beside them. */
#include "show/embed.h"
#include "task/owned.h"

#include "task/readers.h"

enum { LINES = 8, READING = 8 /* the first readers have states */ };

static const char *const source_lines[LINES] = {"a b c", "",  "d",     "a b c d e f g h",
                                                "c b a", "d", "e . f", "h g"};
static const char *const spoken_lines[LINES] = {"the cat", "",  "a",     "the dog sat on the log",
                                                "cat the", "a", "a mat", "where is the dog?"};

typedef struct subject {
    hd_backend *backend;
    hd_run run;
    hd_model_folder model;
    hd_line line[LINES];
    size_t width;
} subject;

static subject subject_of(size_t which)
{
    subject s = {.backend = backend_of("cpu", 2)};
    s.run = run_on(s.backend);
    s.model = reader_of(s.backend, which);
    for (size_t i = 0; i < LINES; i++)
        s.line[i] = line_of(is_language(&s.model) ? spoken_lines[i] : source_lines[i]);
    s.width = s.model.model.type->width ? s.model.model.type->width(s.model.model.self, 0) : 16;
    return s;
}

static void subject_free(subject *s)
{
    hd_model_folder_release(&s->model);
    hd_run_release(&s->run);
    hd_backend_free(s->backend);
}

static hd_embeddings embed(subject *s, size_t from, size_t count, hd_embed_opt opt)
{
    hd_err err = {0};
    hd_embeddings e;
    if (hd_embed_lines(&e, &s->run, &s->model, s->line + from, count, &opt, &err)) fail_msg("%s", err.text);
    assert_int_equal(e.count, count);
    assert_int_equal(e.width, s->width);
    return e;
}

/* The rows of one line, by the model itself; *rows without those that have no token. The caller frees them.
 */
static hd_real *rows_of(subject *s, hd_line line, size_t *rows)
{
    hd_err err = {0};
    const hd_tokenizer *t = s->model.tokenizer[0];
    hd_ids ids = {0};
    const bool l = is_language(&s->model);
    hd_run *r = &s->run;
    assert_int_equal(hd_ids_reserve(&ids, 40, &err), HD_OK);
    if (l) ids.at[ids.count++] = hd_tokenizer_special(t).start;
    assert_int_equal(hd_tokenizer_encode_ids(t, line.text, line.size, &ids, &err), HD_OK);
    if (!l) ids.at[ids.count++] = hd_tokenizer_special(t).end;
    const int32_t len = (int32_t)ids.count;
    hd_run_begin(r, HD_INFERENCE);
    const int32_t *sent = hd_ints(r, ids.at, ids.count);
    const hd_seg *seg = hd_seg_of(r, &len, 1, NULL);
    hd_rows x = l ? hd_model_rows(r, &s->model.model, &(hd_items){.seg = seg, .ids = sent})
                  : hd_encdec_encode(r, s->model.model.self, &(hd_items){.seg = seg, .ids = sent}).rows;
    hd_real *all = host_copy(r, x.t);
    assert_int_equal(hd_cols_of(x.t), s->width);
    *rows = ids.count - l;
    if (l) memmove(all, all + s->width, *rows * s->width * sizeof *all);
    hd_ids_release(&ids);
    return all;
}

static void vectors_are_the_rows_of_the_model(void **state)
{
    (void)state;
    for (size_t which = 0; which < READING; which++) {
        subject s = subject_of(which);
        hd_embeddings e = embed(&s, 0, LINES, (hd_embed_opt){.pool = HD_POOLING_NONE, .rows = 9});
        for (size_t i = 0; i < LINES; i++) {
            size_t rows;
            if (!s.line[i].size) {
                assert_true(!e.of[i].status && !e.of[i].vectors && !e.of[i].tokens);
                continue;
            }
            hd_real *x = rows_of(&s, s.line[i], &rows);
            assert_int_equal(e.of[i].vectors, rows);
            assert_int_equal(e.of[i].tokens, rows);
            assert_memory_equal(e.of[i].vector, x, rows * s.width * sizeof *x);
            free(x);
        }
        hd_embeddings_release(&e);
        subject_free(&s);
    }
}

/* The last rows of that width that the encoder offers to a probe while lines are read. */
typedef struct seen {
    hd_real *row;
    size_t rows, cols;
} seen;

static void take(void *context, hd_run *r, const hd_offer *offer)
{
    seen *s = context;
    if (strncmp(offer->name, "enc.", 4) || hd_cols_of(offer->t) != s->cols) return;
    free(s->row);
    s->row = malloc((hd_count_of(offer->t) + 1) * sizeof *s->row);
    s->rows = hd_count_of(offer->t) / s->cols;
    assert_true(hd_read(r, offer->t, s->row));
}

static void a_probe_sees_the_same_rows(void **state)
{
    (void)state;
    subject s = subject_of(2); /* its last layer offers h */
    seen last = {.cols = s.width};
    const hd_probe probe = {.take = take, .context = &last};
    s.run.probe = &probe;
    hd_embeddings e = embed(&s, 0, 1, (hd_embed_opt){.pool = HD_POOLING_NONE});
    s.run.probe = NULL;
    assert_int_equal(last.rows, 4);
    assert_memory_equal(last.row, e.of[0].vector, last.rows * last.cols * sizeof *last.row);
    free(last.row);
    hd_embeddings_release(&e);
    subject_free(&s);
}

static double pooled(const hd_real *x, size_t rows, size_t width, size_t column, hd_pooling pool)
{
    double sum = 0, most = (double)x[column];
    for (size_t i = 0; i < rows; i++) {
        sum += (double)x[i * width + column];
        most = fmax(most, (double)x[i * width + column]);
    }
    return pool == HD_POOLING_MEAN || pool == HD_POOLING_AUTO ? sum / (double)rows
           : pool == HD_POOLING_SQRT                          ? sum / sqrt((double)rows)
           : pool == HD_POOLING_MAX                           ? most
           : pool == HD_POOLING_LAST                          ? (double)x[(rows - 1) * width + column]
                                                              : (double)x[column];
}

static void pooling_is_of_the_rows_of_a_line(void **state)
{
    (void)state;
    for (size_t which = 0; which < READING; which += 3) {
        subject s = subject_of(which);
        for (int pool = 0; pool < HD_POOLING_NONE; pool++) {
            hd_embeddings e = embed(&s, 0, LINES, (hd_embed_opt){.pool = (hd_pooling)pool});
            for (size_t i = 0; i < LINES; i++) {
                size_t rows;
                if (!s.line[i].size) continue;
                hd_real *x = rows_of(&s, s.line[i], &rows);
                assert_int_equal(e.of[i].vectors, 1);
                assert_int_equal(e.of[i].tokens, rows);
                for (size_t c = 0; c < s.width; c++)
                    assert_true(fabs((double)e.of[i].vector[c] -
                                     pooled(x, rows, s.width, c, (hd_pooling)pool)) < 1e-6);
                free(x);
            }
            hd_embeddings_release(&e);
        }
        subject_free(&s);
    }
}

static void normalized_vectors_have_length_1(void **state)
{
    (void)state;
    subject s = subject_of(0);
    for (int pool = 0; pool < HD_POOLING_POOLER; pool++) {
        hd_embeddings plain = embed(&s, 0, LINES, (hd_embed_opt){.pool = (hd_pooling)pool});
        hd_embeddings e = embed(&s, 0, LINES, (hd_embed_opt){.pool = (hd_pooling)pool, .normalize = true});
        for (size_t i = 0; i < LINES; i++)
            for (size_t k = 0; k < e.of[i].vectors; k++) {
                const hd_real *v = e.of[i].vector + k * s.width, *w = plain.of[i].vector + k * s.width;
                double sum = 0, along = 0, length = 0;
                for (size_t c = 0; c < s.width; c++) {
                    sum += (double)v[c] * (double)v[c];
                    along += (double)v[c] * (double)w[c];
                    length += (double)w[c] * (double)w[c];
                }
                assert_true(fabs(sum - 1) < 1e-6 && fabs(along - sqrt(length)) < 1e-5);
            }
        hd_embeddings_release(&plain);
        hd_embeddings_release(&e);
    }
    subject_free(&s);
}

static void a_line_gives_the_same_whatever_surrounds_it(void **state)
{
    (void)state;
    for (size_t which = 0; which < READING; which++) {
        subject s = subject_of(which);
        hd_embeddings all = embed(&s, 0, LINES, (hd_embed_opt){0});
        hd_embeddings few = embed(&s, 0, LINES, (hd_embed_opt){.rows = 1});
        for (size_t i = 0; i < LINES; i++) {
            if (!s.line[i].size) continue;
            hd_embeddings one = embed(&s, i, 1, (hd_embed_opt){0});
            assert_memory_equal(one.of[0].vector, all.of[i].vector, s.width * sizeof(hd_real));
            assert_memory_equal(few.of[i].vector, all.of[i].vector, s.width * sizeof(hd_real));
            hd_embeddings_release(&one);
        }
        assert_memory_equal(all.of[2].vector, all.of[5].vector, s.width * sizeof(hd_real));
        assert_memory_not_equal(all.of[0].vector, all.of[4].vector, s.width * sizeof(hd_real));
        hd_embeddings_release(&all);
        hd_embeddings_release(&few);
        subject_free(&s);
    }
}

static void models_without_states_are_refused(void **state)
{
    (void)state;
    for (size_t which = READING; which < READERS; which++) {
        subject s = subject_of(which);
        hd_err err = {0};
        hd_embeddings e;
        assert_int_equal(hd_embed_lines(&e, &s.run, &s.model, s.line, 1, &(hd_embed_opt){0}, &err), HD_EARG);
        assert_non_null(strstr(err.text, hd_lm_names[reader_kinds[which].kind]));
        hd_embeddings_release(&e);
        subject_free(&s);
    }
}

static void a_bad_line_costs_nobody_else(void **state)
{
    (void)state;
    const hd_line line[] = {line_of("a"),
                            line_of("\xff"),
                            {"a\0b", 3},
                            line_of("a a a a a a a a a a a a a a a"), /* and the end: all positions */
                            line_of("a a a a a a a a a a a a a a a a")};
    static const hd_status expected[] = {HD_OK, HD_EFORMAT, HD_EFORMAT, HD_OK, HD_ELIMIT};
    for (size_t which = 0; which < READING; which += 7) { /* the last one is gpt, with 8 positions */
        subject s = subject_of(which);
        hd_err err = {0};
        hd_embeddings e;
        if (hd_embed_lines(&e, &s.run, &s.model, line, COUNT_OF(line), &(hd_embed_opt){0}, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0; i < COUNT_OF(line); i++) {
            hd_status status = which && i == 3 ? HD_ELIMIT : expected[i];
            assert_int_equal(e.of[i].status, status);
            assert_int_equal(e.of[i].vectors, status ? 0 : 1);
            assert_true(!status || e.of[i].why);
        }
        hd_embeddings_release(&e);
        subject_free(&s);
    }
}

/* It is then what the shorter one is that fits: the end token of a translator's line stays. */
static void a_long_line_can_be_cut(void **state)
{
    (void)state;
    static const char *const fitting[] = {"a a a a a a a a a a a a a a a", "a a a a a a a"};
    for (size_t which = 0; which < READING; which += 7) {
        subject s = subject_of(which);
        hd_err err = {0};
        hd_embeddings e;
        const hd_line line[] = {line_of("a"), line_of("a a a a a a a a a a a a a a a a a a a a a"),
                                line_of(fitting[which / 7])};
        if (hd_embed_lines(&e, &s.run, &s.model, line, COUNT_OF(line),
                           &(hd_embed_opt){.pool = HD_POOLING_NONE, .cut = true}, &err))
            fail_msg("%s", err.text);
        const hd_embedded *cut = &e.of[1], *whole = &e.of[2];
        assert_int_equal(cut->status, HD_OK);
        assert_int_equal(cut->tokens, which ? 7 : 16);
        assert_int_equal(whole->tokens, cut->tokens);
        assert_memory_equal(cut->ids, whole->ids, cut->tokens * sizeof *cut->ids);
        assert_memory_equal(cut->vector, whole->vector, cut->vectors * e.width * sizeof *cut->vector);
        hd_embeddings_release(&e);
        subject_free(&s);
    }
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    for (size_t which = 0; which < READING; which += 7) {
        subject s = subject_of(which);
        const hd_embed_opt opt = {.pool = HD_POOLING_MEAN};
        hd_embeddings e = embed(&s, 0, 4, opt); /* the run has its memory */
        hd_embeddings_release(&e);
        size_t blocks = hd_mem_now().blocks, n = 1;
        for (hd_status st = HD_ENOMEM; st; n++) {
            hd_err why = {0};
            hd_mem_fail_at(n);
            st = hd_embed_lines(&e, &s.run, &s.model, s.line, 4, &opt, &why);
            hd_mem_fail_at(0);
            if (!st) hd_embeddings_release(&e);
            assert_int_equal(st, why.status);
            if (hd_mem_now().blocks > blocks) fail_msg("blocks are left by failure %zu", n);
        }
        assert_in_range(n, 5, 10000);
        subject_free(&s);
        assert_int_equal(hd_mem_now().blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_the_rows_of_the_model),
        cmocka_unit_test(a_probe_sees_the_same_rows),
        cmocka_unit_test(pooling_is_of_the_rows_of_a_line),
        cmocka_unit_test(normalized_vectors_have_length_1),
        cmocka_unit_test(a_line_gives_the_same_whatever_surrounds_it),
        cmocka_unit_test(models_without_states_are_refused),
        cmocka_unit_test(a_bad_line_costs_nobody_else),
        cmocka_unit_test(a_long_line_can_be_cut),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
