/* Relative attention: its scores against the naive form, which gathers a vector for every pair [L,L,D], and
   against the paper's skews, whole and of local blocks; a query at a time as all at once. */
#include "check.h"

enum { L = 70, D = 6, HEADS = 2, C = HEADS * D };

static hd_real *numbers(size_t count, uint64_t seed)
{
    hd_real *x = malloc((count + 1) * sizeof *x);
    fill_normal(x, count, 1, seed);
    return x;
}

typedef struct scene {
    hd_real *x;        /* [L, C]: queries, keys and values */
    hd_real *distance; /* [HEADS * span, D] */
    int span, block;
} scene;

static scene make_scene(int span, int block)
{
    return (scene){numbers(L * C, 1), numbers((size_t)(HEADS * span * D), 2), span, block};
}
static void free_scene(scene *s)
{
    free(s->x), free(s->distance);
}

static double dot(const hd_real *a, const hd_real *b)
{
    double sum = 0;
    for (int c = 0; c < D; c++) sum += (double)a[c] * (double)b[c];
    return sum;
}
static const hd_real *row_of(const scene *s, int head, int i)
{
    return s->x + i * C + head * D;
}
static const hd_real *vector_of(const scene *s, int head, int row)
{
    return s->distance + (head * s->span + (row > 0 ? row : 0)) * D;
}

static void keep_scores(void *context, hd_run *r, const hd_offer *offer)
{
    if (!strcmp(offer->name, "scores")) assert_true(hd_read(r, offer->t, context));
}

/* scores[(i * L + j) * HEADS + head], as the op offers them before the scale. */
static void scores_of(const scene *s, hd_real *scores)
{
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    const hd_probe probe = {.take = keep_scores, .context = scores};
    r.probe = &probe;
    hd_run_begin(&r, HD_INFERENCE);
    hd_rows x = {hd_from(&r, L, C, s->x), hd_seg_of(&r, (const int32_t[]){L}, 1, NULL)};
    hd_attend(&r, x, x, x,
              &(hd_attend_opt){.heads = HEADS,
                               .mask = HD_CAUSAL,
                               .block = s->block,
                               .distance = hd_from(&r, (size_t)(HEADS * s->span), D, s->distance)});
    assert_run_ok(&r);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void naive_form_is_the_same(void **state)
{
    (void)state;
    const int spans[] = {L, 1, 20, 3 * L};
    static hd_real scores[L * L * HEADS], all[L * L * D]; /* all: what the op never makes */
    for (size_t k = 0; k < COUNT_OF(spans); k++) {
        scene s = make_scene(spans[k], 0);
        scores_of(&s, scores);
        for (int head = 0; head < HEADS; head++) {
            for (int i = 0; i < L; i++)
                for (int j = 0; j <= i; j++)
                    memcpy(all + (i * L + j) * D, vector_of(&s, head, s.span - 1 - (i - j)), D * sizeof *all);
            for (int i = 0; i < L; i++)
                for (int j = 0; j <= i; j++) {
                    const hd_real *q = row_of(&s, head, i);
                    double want = dot(q, row_of(&s, head, j)) + dot(q, all + (i * L + j) * D);
                    assert_true(fabs((double)scores[(i * L + j) * HEADS + head] - want) < 2e-5);
                }
        }
        free_scene(&s);
    }
}

/* M = Q E^T [L, L], a column of zeros on its left, read as [L + 1, L], without its first row. */
static void skew_of_the_paper_is_the_same(void **state)
{
    (void)state;
    static hd_real scores[L * L * HEADS];
    static double padded[L * (L + 1)];
    scene s = make_scene(L, 0);
    scores_of(&s, scores);
    for (int head = 0; head < HEADS; head++) {
        for (int i = 0; i < L; i++)
            for (int e = 0; e < L; e++)
                padded[i * (L + 1) + 1 + e] = dot(row_of(&s, head, i), vector_of(&s, head, e));
        const double *skewed = padded + L;
        for (int i = 0; i < L; i++)
            for (int j = 0; j <= i; j++) {
                double want = dot(row_of(&s, head, i), row_of(&s, head, j)) + skewed[i * L + j];
                assert_true(fabs((double)scores[(i * L + j) * HEADS + head] - want) < 2e-5);
            }
    }
    free_scene(&s);
}

/* A block of N and the one before it: M [N, 2N-1], a column of zeros on its right, flat, N-1 zeros behind,
   read as [N + 1, 2N - 1]: rows up to N, columns from N-1 on. */
static void skew_of_local_blocks_is_the_same(void **state)
{
    (void)state;
    enum { N = 14, WIDE = 2 * N - 1, BLOCKS = L / N };
    static hd_real scores[L * L * HEADS];
    double flat[N * (WIDE + 1) + N - 1];
    scene s = make_scene(2 * N, N); /* row 2N-1 is distance 0, which a block before never has */
    scores_of(&s, scores);
    for (int unit = 0; unit < HEADS * (BLOCKS - 1); unit++) {
        int head = unit % HEADS, first = (unit / HEADS + 1) * N;
        memset(flat, 0, sizeof flat);
        for (int i = 0; i < N; i++)
            for (int e = 0; e < WIDE; e++)
                flat[i * (WIDE + 1) + e] = dot(row_of(&s, head, first + i), vector_of(&s, head, e));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double want = dot(row_of(&s, head, first + i), row_of(&s, head, first - N + j)) +
                              flat[i * WIDE + N - 1 + j];
                size_t at = (size_t)((first + i) * L + first - N + j);
                assert_true(fabs((double)scores[at * HEADS + (size_t)head] - want) < 2e-5);
            }
    }
    free_scene(&s);
}

/* A query attends as it does among others: decoding gives the bits of the whole. */
static void a_query_at_a_time_gives_the_same_bits(void **state)
{
    (void)state;
    const struct {
        int span, block;
    } cases[] = {{L, 0}, {9, 0}, {32, 16}};
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        scene s = make_scene(cases[k].span, cases[k].block);
        hd_real whole[L * C], one[C];
        for (int at = -1; at < L; at++) {
            hd_run_begin(&r, HD_INFERENCE);
            int32_t keys = at < 0 ? L : at + 1, asks = at < 0 ? L : 1;
            hd_rows k_ = {hd_from(&r, (size_t)keys, C, s.x), hd_seg_of(&r, &keys, 1, NULL)},
                    q = {hd_from(&r, (size_t)asks, C, at < 0 ? s.x : s.x + at * C),
                         hd_seg_of(&r, &asks, 1, NULL)};
            hd_attend_opt o = {.heads = HEADS,
                               .mask = HD_CAUSAL,
                               .block = s.block,
                               .distance = hd_from(&r, (size_t)(HEADS * s.span), D, s.distance)};
            assert_true(hd_read(&r, hd_attend(&r, q, k_, k_, &o).t, at < 0 ? whole : one));
            assert_run_ok(&r);
            if (at >= 0) assert_memory_equal(one, whole + at * C, sizeof one);
        }
        free_scene(&s);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void what_it_cannot_do_is_an_error(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    const struct {
        hd_attend_opt o;
        size_t rows, cols;
    } cases[] = {
        {{.mask = HD_FULL}, 8, D},
        {{.mask = HD_CAUSAL}, 7, D},
        {{.mask = HD_CAUSAL}, 8, D + 1},
        {{.mask = HD_CAUSAL, .score = HD_ADDITIVE}, 8, D},
        {{.mask = HD_FULL, .block = 3}, 0, 0},
        {{.mask = HD_CAUSAL, .block = -1}, 0, 0},
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        hd_run r = run_on(b);
        hd_run_begin(&r, HD_INFERENCE);
        hd_rows x = {random_rows(&r, 5, C, 1, 1), hd_seg_of(&r, (const int32_t[]){5}, 1, NULL)};
        hd_attend_opt o = cases[k].o;
        o.heads = HEADS;
        if (cases[k].rows) o.distance = random_rows(&r, cases[k].rows, cases[k].cols, 1, 2);
        if (o.score == HD_ADDITIVE) o.additive = random_rows(&r, 1, C, 1, 3);
        assert_null(hd_attend(&r, x, x, x, &o).t);
        assert_true(r.err.status != HD_OK);
        hd_run_release(&r);
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(naive_form_is_the_same),
        cmocka_unit_test(skew_of_the_paper_is_the_same),
        cmocka_unit_test(skew_of_local_blocks_is_the_same),
        cmocka_unit_test(a_query_at_a_time_gives_the_same_bits),
        cmocka_unit_test(what_it_cannot_do_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
