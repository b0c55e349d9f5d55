/* The worked example against the lecture's numbers: all of them where the shared material is there, a few
   always; and `heed explain` end to end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/json.h"
#include "view/explain/explain_json.h"
#include "view/explain/explain_text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* float32 sums of six products on numbers up to 4 */
static const double matrix_tolerance = 2e-6, gradient_tolerance = 1e-5;

static hd_explain *explain(bool backward, int train)
{
    hd_err err = {0};
    hd_backend *backend = NULL;
    hd_explain *x = NULL;
    assert_int_equal(hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = 2}, &err), HD_OK);
    if (hd_explain_run(&x, backend, &(hd_explain_opt){backward, train}, &err)) fail_msg("%s", err.text);
    hd_backend_free(backend);
    return x;
}

/* Numbers of the lecture's example, computed by PyTorch in float64 with the slides' weights: "matrices" of
   the forward pass, "gradients" by PyTorch's names. */
static json_t *golden(json_t **root, const char *part)
{
    json_error_t e;
    *root = json_load_file(HEED_SOURCE "/tests/show/lecture.json", 0, &e);
    if (!*root) fail_msg("lecture.json:%d: %s", e.line, e.text);
    return json_object_get(*root, part);
}

static double number_of(const json_t *v)
{
    if (json_is_string(v)) return assert_string_equal(json_string_value(v), "-inf"), -INFINITY;
    assert_true(json_is_number(v));
    return json_number_value(v);
}

static void note_gap(double *worst, double a, double b, const char *name, double tolerance)
{
    if (a == b) return;
    double gap = fabs(a - b);
    if (!(gap <= tolerance)) fail_msg("%s: %.9g, expected %.9g", name, a, b);
    if (gap > *worst) *worst = gap;
}

/* Compares rows of numbers; `turned`: b is the transpose of a. */
static double largest_gap(const char *name, const hd_explain_matrix *m, const hd_real *v, const json_t *b,
                          bool turned, double tolerance)
{
    double worst = 0;
    bool flat = !json_is_array(json_array_get(b, 0));
    assert_int_equal(flat, hd_lecture_is_vector(m->of));
    assert_int_equal(json_array_size(b), flat ? m->rows * m->cols : turned ? m->cols : m->rows);
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++) {
            const json_t *row = flat ? b : json_array_get(b, turned ? j : i);
            const json_t *one = json_array_get(row, flat ? i * m->cols + j : turned ? i : j);
            note_gap(&worst, (double)v[i * m->cols + j], number_of(one), name, tolerance);
        }
    return worst;
}

static void every_matrix_is_the_lectures(void **state)
{
    (void)state;
    json_t *root, *entry, *all = golden(&root, "matrices");
    const char *name;
    double worst = 0;
    hd_explain *x = explain(false, 0);
    assert_int_equal(json_object_size(all), x->matrices);
    json_object_foreach(all, name, entry)
    {
        const hd_explain_matrix *m = hd_explain_find(x, name);
        if (!m) fail_msg("%s is missing", name);
        worst = fmax(worst, largest_gap(name, m, m->value, entry, false, matrix_tolerance));
    }
    print_message("largest gap of %zu matrices: %.2g\n", x->matrices, worst);
    hd_explain_free(x);
    json_decref(root);
}

/* "enc_attn.queries.weight" -> "enc.W_Q" */
static const char *lecture_name(const char *torch, char *buf, size_t size)
{
    static const struct {
        const char *torch, *lecture;
    } modules[] = {{"enc_attn.", "enc."},    {"dec_attn.", "dec.self."},
                   {"cross.", "dec.cross."}, {"enc_ffn.", "enc."},
                   {"dec_ffn.", "dec."},     {"enc_emb.", "enc."},
                   {"dec_emb.", "dec."},     {"out.", "out."}},
      rest[] = {{"values.weight", "W_V"}, {"keys.weight", "W_K"}, {"queries.weight", "W_Q"},
                {"fc_out.weight", "W_O"}, {"l1.weight", "W1"},    {"l1.bias", "b1"},
                {"l2.weight", "W2"},      {"l2.bias", "b2"}};
    for (size_t i = 0; i < COUNT(modules); i++) {
        size_t length = strlen(modules[i].torch);
        if (strncmp(torch, modules[i].torch, length)) continue;
        const char *last = strstr(torch, "_emb")            ? "embedding_table"
                           : strcmp(torch + length, "bias") ? "W"
                                                            : "b";
        for (size_t j = 0; j < COUNT(rest); j++)
            if (!strcmp(torch + length, rest[j].torch)) last = rest[j].lecture;
        snprintf(buf, size, "%s%s", modules[i].lecture, last);
        return buf;
    }
    fail_msg("nothing of the lecture is called %s", torch);
    return NULL;
}

static void every_gradient_is_that_of_autograd(void **state)
{
    (void)state;
    json_t *root, *entry, *all = golden(&root, "gradients");
    const char *torch;
    char name[64];
    double worst = 0;
    size_t learned = 0;
    hd_explain *x = explain(true, 0);
    for (size_t i = 0; i < x->matrices; i++) learned += x->matrix[i].gradient != NULL;
    assert_int_equal(learned, json_object_size(all));
    json_object_foreach(all, torch, entry)
    {
        const hd_explain_matrix *m = hd_explain_find(x, lecture_name(torch, name, sizeof name));
        assert_non_null(m);
        worst = fmax(worst, largest_gap(name, m, m->gradient, entry, m->of->kind == HD_LECTURE_WEIGHT,
                                        gradient_tolerance));
    }
    print_message("largest gap of %zu gradients: %.2g\n", learned, worst);
    hd_explain_free(x);
    json_decref(root);
}

/* Some of the numbers, for machines without the shared material. */
static void known_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t from; /* first number */
        double value[6];
    } known[] = {
        {"enc.X", 0, {-0.25157529, 1.85985851, -1.38467419, 0.12876385, -0.22336593, 2.71736109}},
        {"enc.Q", 0, {-1.56387545, -0.25025213, 0.53729685, 0.51692794, -1.31005673, 0.26761974}},
        {"enc.softmax", 0, {0.34303388, 0.30535913, 0.35160699, 0.35673439, 0.3162904, 0.32697521}},
        {"enc.norm2", 0, {-1.00634097, 1.47923548, -0.88841621, -0.2419842, -0.60268237, 1.26018827}},
        {"enc.norm2", 12, {-1.81266229, 0.57375213, -0.24242696, 0.89429744, -0.52934629, 1.11638598}},
        {"dec.self.softmax", 3, {0.72814846, 0.27185154, 0, 0.31955761, 0.33392047, 0.34652192}},
        {"dec.norm3", 0, {-1.89584279, 0.57107197, 0.36330932, -0.72202278, 0.7735999, 0.90988437}},
        {"dec.norm3", 12, {0.10112994, -0.50958361, 0.94312022, -1.27132262, -0.84679115, 1.58344721}},
        {"logits", 0, {1.61690516, -0.29679986, 0.14053054, 0.12993518, -0.09463264, -0.3940838}},
        {"logits", 27, {1.15813574, -1.39152624, 0.81585616, 0.63287099, -0.77512248, 0.21790791}},
    };
    static const double sd[] = {1.40754421, 1.06872715, 0.73675934};
    double worst = 0;
    hd_explain *x = explain(false, 0);
    for (size_t i = 0; i < COUNT(known); i++) {
        const hd_real *v = hd_explain_find(x, known[i].name)->value + known[i].from;
        for (int j = 0; j < 6; j++)
            note_gap(&worst, (double)v[j], known[i].value[j], known[i].name, matrix_tolerance);
    }
    for (int i = 0; i < 3; i++)
        note_gap(&worst, (double)hd_explain_find(x, "enc.add1.sd")->value[i], sd[i], "enc.add1.sd",
                 matrix_tolerance);
    hd_explain_free(x);
}

static void loss_and_predictions(void **state)
{
    (void)state;
    static const double loss[] = {3.4605185, 2.30826878, 4.56293811};
    static const int predicted[] = {0, 5, 0};
    hd_explain *x = explain(true, 0);
    assert_true(fabs(x->loss - 3.44390847) < 1e-6);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(x->token[i].loss - loss[i]) < 2e-6);
        assert_int_equal(x->token[i].predicted, predicted[i]);
    }
    assert_true(fabs(hd_explain_norm(x) - 1.83148654) < 1e-6);
    hd_explain_free(x);
}

static void shares_add_up_to_one(void **state)
{
    (void)state;
    hd_explain *x = explain(false, 0);
    size_t rows = 0;
    for (size_t k = 0; k < x->matrices; k++) {
        const hd_explain_matrix *m = &x->matrix[k];
        if (m->of->kind != HD_LECTURE_SHARES) continue;
        for (size_t i = 0; i < m->rows; i++, rows++) {
            double sum = 0;
            for (size_t j = 0; j < m->cols; j++) sum += (double)m->value[i * m->cols + j];
            assert_true(fabs(sum - 1) < 1e-6);
        }
    }
    assert_int_equal(rows, 12);
    hd_explain_free(x);
}

/* Behavior, not bits: PyTorch has both answers right from step 31 on and a loss of 0.01431 at step 400. */
static void training_learns_both_answers(void **state)
{
    (void)state;
    hd_explain *x = explain(false, 400);
    size_t first = hd_explain_first_right(x);
    char words[64];
    print_message("both answers right from step %zu, loss %.5f at step 400\n", first, x->step[399].loss);
    assert_in_range(first, 30, 32);
    for (size_t i = first - 1; i < x->steps; i++) assert_true(x->step[i].right[0] && x->step[i].right[1]);
    assert_true(fabs(x->step[0].loss - 3.1153) < 1e-4);
    assert_true(fabs(x->step[399].loss - 0.01431) < 2e-4);
    assert_string_equal(hd_explain_words(x->step[399].answer[0], words, sizeof words), "i am fine");
    assert_string_equal(hd_explain_words(x->step[399].answer[1], words, sizeof words), "how about yourself");
    assert_string_equal(hd_explain_words(x->step[0].answer[0], words, sizeof words),
                        "<SOS> <SOS> <SOS> <SOS> <SOS> <SOS>");
    hd_explain_free(x);
}

/* A part of the page is enough: the allocations of the rest are alike. */
static hd_status all_of_it(hd_backend *backend, hd_text *text, hd_err *err)
{
    hd_explain *x = NULL;
    const hd_explain_look look = {.width = 80, .color = true, .utf8 = true, .digits = 2};
    hd_status s = hd_explain_run(&x, backend, &(hd_explain_opt){true, 2}, err);
    if (!s) s = hd_explain_text(text, x, &look, err);
    if (!s) s = hd_explain_json(text, x, "out.b", err);
    hd_explain_free(x);
    return s;
}

/* Some failures are survived (an arena keeps its chunks when it cannot join them): then nothing may be lost.
 */
static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *backend = NULL;
    hd_text whole = {0};
    assert_int_equal(hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = 1}, &err), HD_OK);
    assert_int_equal(all_of_it(backend, &whole, &err),
                     HD_OK); /* the backend's scratch is there from now on */
    size_t blocks = hd_mem_now().blocks, reported = 0, n = 0;
    for (size_t calls = n; calls >= n;) {
        hd_text text = {0};
        size_t before = hd_mem_now().calls;
        err = (hd_err){0};
        hd_mem_fail_at(++n);
        hd_status s = all_of_it(backend, &text, &err);
        hd_mem_fail_at(0);
        calls = hd_mem_now().calls - before;
        if (s && (s != HD_ENOMEM || !*err.text)) fail_msg("allocation %zu: %s", n, err.text);
        if (!s && strcmp(text.data, whole.data)) fail_msg("allocation %zu failed unnoticed", n);
        reported += s == HD_ENOMEM;
        hd_text_release(&text);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    print_message("%zu allocations, %zu failures reported, the others survived\n", n - 1, reported);
    assert_true(reported > 200);
    hd_text_release(&whole);
    hd_backend_free(backend);
}

/* Runs a shell command with $HEED; the caller frees *out. */
static int shell(char **out, const char *command)
{
    size_t size = 0, room = 1 << 20;
    FILE *from = popen(command, "r");
    assert_non_null(from);
    *out = malloc(room);
    size = fread(*out, 1, room - 1, from);
    (*out)[size] = 0;
    int status = pclose(from);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static json_t *json_of(const char *command)
{
    char *out;
    json_error_t e;
    assert_int_equal(shell(&out, command), 0);
    json_t *x = json_loads(out, JSON_REJECT_DUPLICATES, &e);
    if (!x) fail_msg("%s: %s", command, e.text);
    free(out);
    return x;
}

static void the_json_holds_all_of_it(void **state)
{
    (void)state;
    json_t *x = json_of("$HEED explain --backward --json"), *matrices = json_object_get(x, "matrices");
    json_t *tokens = json_object_get(x, "tokens"), *gradients = json_object_get(x, "gradients");
    hd_explain *y = explain(true, 0);
    double worst = 0;
    assert_int_equal(json_object_size(matrices), y->matrices);
    assert_int_equal(json_object_size(gradients), 24);
    for (size_t i = 0; i < y->matrices; i++) {
        const hd_explain_matrix *m = &y->matrix[i];
        const json_t *g = json_object_get(gradients, m->of->name);
        worst = fmax(worst, largest_gap(m->of->name, m, m->value, json_object_get(matrices, m->of->name),
                                        false, 1e-8));
        if (m->gradient) worst = fmax(worst, largest_gap(m->of->name, m, m->gradient, g, false, 1e-8));
    }
    assert_true(fabs(json_number_value(json_object_get(x, "loss")) - 3.44390847) < 1e-6);
    assert_int_equal(json_array_size(json_object_get(tokens, "vocabulary")), 11);
    assert_string_equal(json_string_value(json_array_get(json_object_get(tokens, "source"), 1)), "are");
    assert_string_equal(json_string_value(json_array_get(json_object_get(tokens, "target_in"), 0)), "<SOS>");
    assert_string_equal(json_string_value(json_array_get(json_object_get(tokens, "target_out"), 2)), "fine");
    assert_null(json_object_get(x, "losses"));
    hd_explain_free(y);
    json_decref(x);
}

static void the_json_of_training(void **state)
{
    (void)state;
    json_t *x = json_of("$HEED explain --train 60 --json --only 'logits'"),
           *answers = json_object_get(x, "answers");
    json_t *last = json_array_get(answers, 59);
    assert_int_equal(json_object_size(json_object_get(x, "matrices")), 1);
    assert_null(json_object_get(x, "gradients"));
    assert_int_equal(json_array_size(json_object_get(x, "losses")), 60);
    assert_int_equal(json_array_size(answers), 60);
    assert_string_equal(json_string_value(json_array_get(last, 0)), "i am fine");
    assert_string_equal(json_string_value(json_array_get(last, 1)), "how about yourself");
    json_decref(x);
}

/* No color, no trailing blank, no line wider than asked for; every matrix by name. */
static void the_page_is_plain_and_fits(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        size_t most;
    } cases[] = {{"$HEED explain", 80},
                 {"LC_ALL=C COLUMNS=40 $HEED explain", 40},
                 {"LC_ALL=C COLUMNS=100 $HEED explain --backward --train 30 --digits 6", 100}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *out;
        assert_int_equal(shell(&out, cases[i].command), 0);
        for (const hd_lecture_matrix *m = hd_lecture_matrices; m->name; m++)
            if (m->kind < HD_LECTURE_MEAN && !strstr(out, m->name))
                fail_msg("%s lacks %s", cases[i].command, m->name);
        assert_non_null(strstr(out, "3.44"));
        assert_null(strchr(out, '\033'));
        for (char *line = out, *end; (end = strchr(line, '\n')); line = end + 1) {
            size_t columns = 0;
            for (char *c = line; c < end; c++) columns += (*c & 0xC0) != 0x80;
            if (end > line) assert_true(end[-1] != ' ');
            if (columns > cases[i].most)
                fail_msg("%s: too wide: %.*s", cases[i].command, (int)(end - line), line);
            if (i) assert_int_equal(columns, end - line); /* ASCII alone */
        }
        free(out);
    }
}

static void the_mask_and_the_moments_are_shown(void **state)
{
    (void)state;
    char *out;
    assert_int_equal(shell(&out, "LC_ALL=C $HEED explain --only 'dec.self.masked'"), 0);
    assert_non_null(strstr(out, "<SOS>  -0.13  -inf  -inf\n"));
    assert_null(strstr(out, "dec.self.softmax"));
    free(out);
    assert_int_equal(shell(&out, "LC_ALL=C $HEED explain --only 'enc.add1*'"), 0);
    assert_non_null(strstr(out, "mean    SD\nhow  -0.59  1.99 -0.86  0.38  0.18  3.10    0.70  1.41\n"));
    free(out);
    assert_int_equal(shell(&out, "LC_ALL=C $HEED explain --only 'enc.add1.sd' --digits 4"), 0);
    assert_non_null(strstr(out, "how  1.4075\n"));
    free(out);
    assert_int_equal(shell(&out, "LC_ALL=C $HEED explain --backward --only out.b"), 0);
    assert_non_null(strstr(out, "largest -0.3050 at [i]"));
    free(out);
}

static void softmax_is_shaded_where_color_is_welcome(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_explain *x = explain(false, 0);
    for (int color = 0; color < 2; color++) {
        hd_text text = {0};
        const hd_explain_look look = {
            .width = 80, .color = color, .utf8 = true, .digits = 2, .only = "*.softmax"};
        assert_int_equal(hd_explain_text(&text, x, &look, &err), HD_OK);
        assert_int_equal(strstr(text.data, "48;5;") != NULL, color);
        assert_int_equal(strchr(text.data, '\033') != NULL, color);
        hd_text_release(&text);
    }
    hd_explain_free(x);
}

static void training_lines_are_thinned(void **state)
{
    (void)state;
    char *out;
    assert_int_equal(shell(&out, "LC_ALL=C $HEED explain --train 2000"), 0);
    int lines = 0;
    for (char *c = out; *c; c++) lines += *c == '\n';
    assert_in_range(lines, 20, 36);
    assert_non_null(strstr(out, "     1  3.1153"));
    assert_non_null(strstr(out, "i am fine ok            how about yourself ok\n"));
    assert_non_null(strstr(out, "\n  2000  0.00"));
    assert_non_null(strstr(out, "Both answers are right from step 3"));
    free(out);
}

static void a_pattern_without_match_is_an_error(void **state)
{
    (void)state;
    char *out;
    assert_int_equal(shell(&out, "$HEED explain --only 'nothing*' 2>&1"), 2);
    assert_string_equal(out,
                        "heed explain: --only: no matrix matches 'nothing*' (try 'heed help explain')\n");
    free(out);
    assert_int_equal(shell(&out, "$HEED explain --digits 10 2>&1"), 2);
    free(out);
    assert_int_equal(shell(&out, "$HEED explain --train 100001 2>&1"), 2);
    free(out);
}

int main(void)
{
    setenv("HEED", HEED_PROGRAM, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
    unsetenv("COLUMNS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_matrix_is_the_lectures),
        cmocka_unit_test(every_gradient_is_that_of_autograd),
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(loss_and_predictions),
        cmocka_unit_test(shares_add_up_to_one),
        cmocka_unit_test(training_learns_both_answers),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(the_json_holds_all_of_it),
        cmocka_unit_test(the_json_of_training),
        cmocka_unit_test(the_page_is_plain_and_fits),
        cmocka_unit_test(the_mask_and_the_moments_are_shown),
        cmocka_unit_test(softmax_is_shaded_where_color_is_welcome),
        cmocka_unit_test(training_lines_are_thinned),
        cmocka_unit_test(a_pattern_without_match_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
