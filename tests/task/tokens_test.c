/* A gpt of handwriting: what is learned of a line, and that its loss is that of a density. */
#include "check.h"
#include "task/write/kind.h"

enum { VOCAB = 6, POINTS = 5, LETTERS = 3 };

static const hd_pen_point line[POINTS] = {
    {0, 0, true}, {3, 1, false}, {4, -2, false}, {4, -2, true}, {30, 9, true}};
static const int32_t letters[LETTERS] = {4, 5, 4};

typedef struct toy {
    hd_backend *b;
    hd_run run;
    hd_model m;
    hd_strokes s;
    hd_write_lines l;
    size_t first[3];
} toy;

static void toy_make(toy *t)
{
    hd_err err = {0};
    *t = (toy){.b = backend_of("cpu", 2), .first = {0, LETTERS, LETTERS}};
    t->run = run_on(t->b);
    hd_write_sizes o = {.tokens.stack = {.layers = 2, .heads = 2, .width = 12, .inner = 24, .act = HD_gelu}};
    hd_status s = hd_strokes_add(&t->s, (hd_line){"aba", 3}, line, POINTS, &err);
    if (!s) s = hd_strokes_add(&t->s, (hd_line){"", 0}, line, 2, &err);
    if (!s) s = hd_write_tokens.measure(&o, &t->s, VOCAB, &err);
    if (!s) s = hd_write_tokens.make(&t->m, t->b, &o, true, &err);
    if (!s) s = hd_write_tokens.draw(t->m.self, 3, 2, &err);
    if (s) fail_msg("%s", err.text);
    t->l = (hd_write_lines){.strokes = &t->s, .id = (int32_t *)(uintptr_t)letters, .first_id = t->first};
}

static void toy_free(toy *t)
{
    hd_run_release(&t->run);
    hd_model_free(&t->m);
    hd_strokes_release(&t->s);
    hd_backend_free(t->b);
}

static void a_line_is_its_text_its_points_and_an_end(void **state)
{
    (void)state;
    toy t;
    toy_make(&t);
    const hd_pen_gpt_opt *o = &((hd_pen_gpt *)t.m.self)->opt;
    const uint32_t which[] = {1, 0};
    hd_write_batch b;
    hd_run_begin(&t.run, HD_INFERENCE);
    hd_write_tokens.send(&t.run, &b, &t.l, which, 2, t.m.self);
    assert_run_ok(&t.run);
    assert_int_equal(b.tokens.seg->rows, 2 + LETTERS + POINTS);
    const int32_t *id = b.tokens.ids, *target = b.tokens.target; /* of the cpu: host memory */
    assert_int_equal(id[0], hd_pen_gpt_first(o, true));
    assert_int_equal(target[0], id[1]);
    assert_int_equal(target[1], hd_pen_gpt_end(o));
    id += 2, target += 2;
    for (int i = 0; i < LETTERS; i++) {
        assert_int_equal(id[i], letters[i]);
        assert_int_equal(target[i], -1);
    }
    for (int k = 0; k < POINTS; k++) { /* each is the target of the one before */
        assert_true(id[LETTERS + k] > hd_pen_gpt_end(o) && (size_t)id[LETTERS + k] < hd_pen_gpt_tokens(o));
        assert_int_equal(target[LETTERS + k], k + 1 < POINTS ? id[LETTERS + k + 1] : hd_pen_gpt_end(o));
        assert_int_equal(hd_pen_bin_lifts(id[LETTERS + k] - hd_pen_gpt_token(o, 0)), line[k].lift);
    }
    toy_free(&t);
}

static void the_loss_is_that_of_a_density(void **state)
{
    (void)state;
    toy t;
    toy_make(&t);
    const hd_pen_gpt *m = t.m.self;
    const hd_pen_gpt_opt *o = &m->opt;
    size_t tokens = hd_pen_gpt_tokens(o), rows = LETTERS + POINTS;
    hd_real *logp = malloc(rows * tokens * sizeof *logp);
    const uint32_t which[] = {0};
    hd_write_batch b;
    double sum = 0;
    hd_run_begin(&t.run, HD_INFERENCE);
    hd_write_tokens.send(&t.run, &b, &t.l, which, 1, m);
    hd_rows x = hd_gpt_forward(&t.run, m->gpt, b.tokens.ids, b.tokens.seg, NULL);
    hd_read(&t.run, hd_log_softmax(&t.run, hd_gpt_logits(&t.run, m->gpt, x)), logp);
    for (size_t i = LETTERS; i < rows; i++) {
        int32_t token = b.tokens.target[i], bin = token - hd_pen_gpt_token(o, 0);
        sum -= (double)logp[i * tokens + (size_t)token];
        if (bin >= 0) sum += log(hd_pen_bin_area(&o->bins, bin));
    }
    hd_run_begin(&t.run, HD_TRAIN);
    hd_write_tokens.send(&t.run, &b, &t.l, which, 1, m);
    hd_tensor *loss = hd_write_tokens.loss(&t.run, m, &b);
    double got = hd_loss_total(&t.run, loss);
    hd_backward(&t.run);
    assert_run_ok(&t.run);
    if (!(fabs(got - sum) < 1e-3)) fail_msg("%g, not %g", got, sum); /* of some ten nats in f32 */
    free(logp);
    toy_free(&t);
}

static void lines_that_do_not_fit_are_named(void **state)
{
    (void)state;
    toy t;
    toy_make(&t);
    hd_err err = {0};
    assert_int_equal(hd_write_tokens.fits(t.m.self, &t.l, "training data", &err), HD_OK);
    ((hd_pen_gpt *)t.m.self)->opt.positions = LETTERS + POINTS - 1;
    assert_int_equal(hd_write_tokens.fits(t.m.self, &t.l, "training data", &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "training data, line 1: 8 characters and points"));
    toy_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_its_text_its_points_and_an_end),
        cmocka_unit_test(the_loss_is_that_of_a_density),
        cmocka_unit_test(lines_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
