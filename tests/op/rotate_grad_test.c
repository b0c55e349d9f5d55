/* Rotary positions: pairs turn by their angle, products depend on distances alone, and gradients turn back.
 */
#include "op/gradient.h"

typedef struct shape {
    int heads, turned, width, first, pairs, learned;
    bool interleaved;
    float factor;
} shape;

static hd_rotation rotation_of(const shape *s)
{
    hd_rotation t = {.width = s->width,
                     .first = s->first,
                     .pairs = s->pairs,
                     .interleaved = s->interleaved,
                     .factor = s->factor,
                     .learned = s->learned,
                     .grow = 2,
                     .theta = 100};
    for (int k = 0; k < s->pairs; k++) t.inverse[k] = 1.0f / (float)(1 + 3 * k);
    return t;
}

static const int32_t positions[] = {0, 1, 2, 7, 3, 1000};

static hd_tensor *turned(hd_run *r, hd_tensor *x, const shape *s)
{
    hd_rotation t = rotation_of(s);
    return hd_rotate(r, x, hd_ints(r, positions, hd_rows_of(x)), &t, (size_t)s->turned);
}

/* In place: of a product, whose value nobody needs to go back, not of a leaf. */
static hd_tensor *rotate(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return turned(r, hd_linear(r, x[0], x[1], NULL, HD_IDENTITY), c->opt);
}

static hd_tensor *reshape(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_tensor *y = hd_linear(r, x[0], x[1], NULL, HD_IDENTITY);
    (void)c;
    hd_tensor *turn = hd_apply(r, hd_reshape(r, y, 12, 4), HD_tanh); /* and y as it is, too */
    return hd_mul(r, hd_reshape(r, turn, 6, 8), y);
}

static const shape halves = {3, 2, 4, 0, 2, 0, false, 1}, pairs = {2, 2, 6, 0, 3, 0, true, 1.3f},
                   part = {2, 2, 5, 1, 2, 0, false, 0.7f}, part_pairs = {2, 1, 6, 2, 2, 0, true, 1},
                   longer = {2, 2, 6, 0, 3, 3, false, 1};

static void gradients_agree_with_differences(void **state)
{
    (void)state;
#define X    LEAF("x", 6, 5)
#define W(n) LEAF("w", n, 5)
    static const gradient_case cases[] = {
        CASE("halves", rotate, LEAVES_OF(X, W(12)), .opt = &halves),
        CASE("pairs", rotate, LEAVES_OF(X, W(12)), .opt = &pairs),
        CASE("a part of each head", rotate, LEAVES_OF(X, W(10)), .opt = &part),
        CASE("pairs of a part, the second head not", rotate, LEAVES_OF(X, W(12)), .opt = &part_pairs),
        CASE("dynamic", rotate, LEAVES_OF(X, W(12)), .opt = &longer),
        CASE("reshape", reshape, LEAVES_OF(X, W(8))),
    };
    check_gradients(cases, COUNT_OF(cases));
}

/* Written out with the library's sine and cosine. */
static void pairs_turn_by_their_angle(void **state)
{
    (void)state;
    const shape *const all[] = {&halves, &pairs, &part, &part_pairs};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const shape *s = all[i];
        size_t cols = (size_t)(s->heads * s->width), rows = COUNT_OF(positions);
        hd_run_begin(&r, HD_INFERENCE);
        hd_tensor *x = random_rows(&r, rows, cols, 1, 3 + i);
        hd_real *before = host_copy(&r, x), *after = host_copy(&r, turned(&r, x, s));
        assert_run_ok(&r);
        hd_rotation t = rotation_of(s);
        for (size_t row = 0; row < rows; row++)
            for (int h = 0; h < s->turned; h++)
                for (int k = 0; k < s->pairs; k++) {
                    size_t a = row * cols + (size_t)(h * s->width + s->first) +
                               (size_t)(s->interleaved ? 2 * k : k),
                           z = a + (size_t)(s->interleaved ? 1 : s->pairs);
                    double angle = (double)((float)positions[row] * t.inverse[k]), f = (double)s->factor;
                    double x0 = (double)before[a], x1 = (double)before[z];
                    /* cosines are rounded to float */
                    assert_true(fabs(f * (x0 * cos(angle) - x1 * sin(angle)) - (double)after[a]) < 1e-6);
                    assert_true(fabs(f * (x1 * cos(angle) + x0 * sin(angle)) - (double)after[z]) < 1e-6);
                    before[a] = after[a], before[z] = after[z];
                }
        assert_memory_equal(before, after, rows * cols * sizeof *after); /* the other columns stay */
        free(before), free(after);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void misfits_are_errors(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_rotation t = rotation_of(&halves);
    hd_run_begin(&r, HD_INFERENCE);
    assert_null(hd_rotate(&r, random_rows(&r, 2, 8, 1, 1), NULL, &t, 2));
    assert_non_null(strstr(r.err.text, "without positions"));
    hd_run_begin(&r, HD_INFERENCE);
    assert_null(hd_rotate(&r, random_rows(&r, 2, 8, 1, 1), hd_ints(&r, positions, 2), &t, 3));
    assert_non_null(strstr(r.err.text, "are not 3 heads of 4"));
    hd_run_begin(&r, HD_INFERENCE);
    assert_null(hd_reshape(&r, random_rows(&r, 2, 8, 1, 1), 3, 5));
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_turn_by_their_angle),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(misfits_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
