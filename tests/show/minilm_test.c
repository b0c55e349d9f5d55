/* Vectors of published weights: those that sentence-transformers makes with all-MiniLM-L6-v2, whose folder
   the environment variable HEED_MINILM names; without it all is skipped. minilm.txt comes from
   published/minilm.py. */
#include "check.h"
#include "scratch.h"

#include "show/embed.h"
#include "task/owned.h"
#include "hub/import.h"

enum { PAIRS = 20, MOST = 128, WIDTH = 384, STRIDE = 16, SHOWN = WIDTH / STRIDE };

static hd_backend *backend;
static hd_run run;
static hd_model_folder model;
static hd_embeddings all;
static hd_line line[MOST];
static size_t count;
static float wanted[MOST][SHOWN];

/* A line of the text, then its numbers. */
static void read_expected(char *text)
{
    for (char *end; *text; text = end + 1, count++) {
        assert_true(count < MOST);
        end = strchr(text, '\n');
        assert_non_null(end);
        *end = 0;
        line[count] = (hd_line){text, (size_t)(end - text)};
        text = end + 1;
        for (int i = 0; i < SHOWN; i++) wanted[count][i] = strtof(text, &text);
        end = text;
        assert_int_equal(*end, '\n');
    }
}

static int make(void **state)
{
    hd_err err = {0};
    char *text = get_file(HEED_SOURCE "/tests/hub/published/minilm.txt", NULL);
    const hd_embed_opt opt = {.cut = true}; /* the folder says the rest */
    if (scratch_make(state)) return -1;
    *state = text;
    read_expected(text);
    backend = backend_of("cpu", 2);
    run = run_on(backend);
    if (hd_import(getenv("HEED_MINILM"), at("model"), backend, &err) ||
        hd_model_folder_open(&model, at("model"), NULL, backend, HD_WEIGHTS_BEST, &err) ||
        hd_embed_lines(&all, &run, &model, line, count, &opt, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int end(void **state)
{
    free(*state);
    hd_embeddings_release(&all);
    hd_model_folder_release(&model);
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state);
}

/* Both sides compute in float, and the numbers are written with five digits. */
static void vectors_are_those_of_sentence_transformers(void **state)
{
    (void)state;
    assert_in_range(count, 50, MOST);
    assert_int_equal(all.width, WIDTH);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all.of[i].vectors, 1);
        for (size_t k = 0; k < SHOWN; k++)
            if (!(fabsf(all.of[i].vector[k * STRIDE] - wanted[i][k]) < 1e-4f))
                fail_msg("'%.40s', number %zu: %g, not %g", line[i].text, k * STRIDE,
                         (double)all.of[i].vector[k * STRIDE], (double)wanted[i][k]);
    }
}

static float cosine(size_t i, size_t k)
{
    float sum = 0;
    for (size_t c = 0; c < WIDTH; c++) sum += all.of[i].vector[c] * all.of[k].vector[c];
    return sum;
}

static void what_means_the_same_is_nearest(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * (size_t)PAIRS; i++)
        for (size_t k = 0; k < count; k++)
            if (k / 2 != i / 2 && cosine(i, k) >= cosine(i, i ^ 1))
                fail_msg("'%s' is nearer to '%s' than to '%s'", line[i].text, line[k].text, line[i ^ 1].text);
}

static void a_line_is_cut_where_the_folder_says(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_embeddings e;
    size_t cut = 0;
    assert_int_equal(model.longest, 256);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(all.of[i].tokens, 3, 256);
        assert_int_equal(all.of[i].ids[0], 101);
        assert_int_equal(all.of[i].ids[all.of[i].tokens - 1], 102);
    }
    if (hd_embed_lines(&e, &run, &model, line, count, &(hd_embed_opt){0}, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++) cut += e.of[i].status == HD_ELIMIT && all.of[i].tokens == 256;
    assert_int_equal(cut, 2);
    hd_embeddings_release(&e);
}

static void a_model_without_a_head_fills_in_nothing(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_filled f;
    assert_int_equal(hd_masked_fill(&f, &run, &model, (hd_line){"[MASK]", 6}, 1, &err), HD_EARG);
    assert_non_null(strstr(err.text, "has no head that predicts words"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_those_of_sentence_transformers),
        cmocka_unit_test(what_means_the_same_is_nearest),
        cmocka_unit_test(a_line_is_cut_where_the_folder_says),
        cmocka_unit_test(a_model_without_a_head_fills_in_nothing),
    };
    if (!getenv("HEED_MINILM")) {
        print_message("skipped: HEED_MINILM does not name the folder of all-MiniLM-L6-v2\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, make, end);
}
