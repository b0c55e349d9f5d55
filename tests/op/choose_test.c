/* Choices over a row: the largest in order, ties by column, NaN never; samples as often as their probability
 * says, from the set that top-k and top-p leave. */
#include "check.h"

typedef struct room {
    hd_backend *b;
    hd_run r;
} room;

static int open_room(void **state)
{
    static room m;
    m.b = backend_of("cpu", 2);
    m.r = run_on(m.b);
    *state = &m;
    return 0;
}

static int close_room(void **state)
{
    room *m = *state;
    hd_run_release(&m->r);
    hd_backend_free(m->b);
    return 0;
}

static int32_t id_at(const hd_tensor *ids, size_t row, size_t col)
{
    assert_non_null(ids);
    assert_int_equal(ids->dtype, HD_I32);
    return ((const int32_t *)ids->data)[row * ids->stride + col];
}

static void top_equals_a_full_sort(void **state)
{
    hd_run *r = &((room *)*state)->r;
    enum { ROWS = 40, COLS = 57 };
    hd_real x[ROWS * COLS];
    hd_rng rng = hd_rng_make(5, 5);
    for (size_t i = 0; i < ROWS * COLS; i++) x[i] = (hd_real)hd_rng_below(&rng, 12); /* many ties */
    for (int k = 1; k <= COLS; k += 7) {
        hd_run_begin(r, HD_INFERENCE);
        hd_tensor *values, *ids = hd_top(r, hd_from(r, ROWS, COLS, x), k, &values);
        assert_run_ok(r);
        for (size_t row = 0; row < ROWS; row++) {
            bool taken[COLS] = {0};
            for (int i = 0; i < k; i++) {
                int32_t best = -1;
                for (int32_t c = 0; c < COLS; c++)
                    if (!taken[c] && (best < 0 || x[row * COLS + (size_t)c] > x[row * COLS + (size_t)best]))
                        best = c;
                taken[best] = true;
                assert_int_equal(id_at(ids, row, (size_t)i), best);
                assert_true(((hd_real *)values->data)[row * values->stride + (size_t)i] ==
                            x[row * COLS + (size_t)best]);
            }
        }
    }
}

static void the_first_of_equals_wins(void **state)
{
    hd_run *r = &((room *)*state)->r;
    const hd_real x[] = {1, 3, 3, 2, 3, 0, 0, 0, 0, 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *best = hd_argmax(r, hd_from(r, 3, 5, x)), *ids = hd_top(r, hd_from(r, 3, 5, x), 3, NULL);
    assert_int_equal(id_at(best, 0, 0), 1);
    assert_int_equal(id_at(best, 1, 0), 0);
    assert_int_equal(id_at(best, 2, 0), 0);
    const int32_t three[3][3] = {{1, 2, 4}, {0, 1, 2}, {0, 1, 2}};
    for (size_t row = 0; row < 3; row++)
        for (size_t i = 0; i < 3; i++) assert_int_equal(id_at(ids, row, i), three[row][i]);
}

/* Rows that are longer than some groups of vectors, with rising, falling and infinite numbers. */
static void the_log_probabilities_are_those_of_log_softmax(void **state)
{
    hd_run *r = &((room *)*state)->r;
    enum { ROWS = 6, COLS = 1003, K = 5 };
    static hd_real x[ROWS * COLS];
    hd_rng rng = hd_rng_make(6, 5);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const hd_real any = (hd_real)(4 * hd_rng_normal(&rng));
        const hd_real by_row[ROWS] = {any, (hd_real)(i % COLS), -(hd_real)(i % COLS), -INFINITY, any, 7};
        x[i] = by_row[i / COLS];
    }
    x[4 * COLS + 9] = NAN;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *logp, *best, *logits = hd_from(r, ROWS, COLS, x), *ids = hd_top_log(r, logits, K, &logp),
                            *all = hd_log_softmax(r, logits), *plain = hd_top(r, logits, K, &best);
    assert_run_ok(r);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < K; i++) {
            int32_t c = id_at(ids, row, i);
            hd_real have = ((hd_real *)logp->data)[row * logp->stride + i],
                    want = ((hd_real *)all->data)[row * all->stride + (size_t)c];
            assert_int_equal(c, id_at(plain, row, i));
            assert_memory_equal(&have, &want, row == 4 ? 0 : sizeof have);
            if (row == 4) assert_true(isnan(have) && isnan(want));
        }
}

static void nan_ranks_behind_every_number(void **state)
{
    hd_run *r = &((room *)*state)->r;
    const hd_real x[] = {NAN, 1, 2, NAN, -INFINITY, 3, NAN, NAN, 7, NAN};
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *best = hd_argmax(r, hd_from(r, 2, 5, x)), *ids = hd_top(r, hd_from(r, 2, 5, x), 4, NULL);
    assert_int_equal(id_at(best, 0, 0), 2);
    assert_int_equal(id_at(best, 1, 0), 3);
    const int32_t four[2][4] = {{2, 1, 4, 0}, {3, 0, 1, 2}};
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; i < 4; i++) assert_int_equal(id_at(ids, row, i), four[row][i]);
}

enum { CLASSES = 6, DRAWS = 20000 };
static const hd_real logits[CLASSES] = {1, 0, 2, -1, 0.5f, -3};

/* How often each class comes out of DRAWS rows, all alike; logp is checked on the way. */
static void sample_counts(hd_run *r, hd_sample_opt opt, int counts[CLASSES])
{
    static hd_real x[DRAWS * CLASSES];
    double sum = 0;
    for (size_t i = 0; i < DRAWS * CLASSES; i++) x[i] = logits[i % CLASSES];
    for (int c = 0; c < CLASSES; c++) counts[c] = 0, sum += exp((double)logits[c]);
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *logp, *ids = hd_sample(r, hd_from(r, DRAWS, CLASSES, x), &opt, &logp);
    assert_run_ok(r);
    for (size_t i = 0; i < DRAWS; i++) {
        int32_t c = id_at(ids, i, 0);
        assert_in_range(c, 0, CLASSES - 1);
        counts[c]++;
        assert_true(fabs((double)((hd_real *)logp->data)[i] - ((double)logits[c] - log(sum))) <
                    1e-6); /* of all classes at temperature 1 */
    }
}

typedef struct sampling {
    const char *name;
    hd_sample_opt opt;
    bool kept[CLASSES];
} sampling;

/* Probabilities, falling: column 2 0.559, 0 0.206, 4 0.125, 1 0.076, 3 0.028, 5 0.004 */
static const sampling samplings[] = {
    {"all", {.temperature = 1, .top_p = 1}, {1, 1, 1, 1, 1, 1}},
    {"cold", {.temperature = 0.5f, .top_p = 1}, {1, 1, 1, 1, 1, 1}},
    {"hot", {.temperature = 3, .top_p = 1}, {1, 1, 1, 1, 1, 1}},
    {"top 3", {.temperature = 1, .top_p = 1, .top_k = 3}, {1, 0, 1, 0, 1, 0}},
    {"top 1", {.temperature = 1, .top_p = 1, .top_k = 1}, {0, 0, 1, 0, 0, 0}},
    {"top more than there are", {.temperature = 1, .top_p = 1, .top_k = 100}, {1, 1, 1, 1, 1, 1}},
    {"half the mass", {.temperature = 1, .top_p = 0.5f}, {0, 0, 1, 0, 0, 0}},
    {"0.8 of the mass", {.temperature = 1, .top_p = 0.8f}, {1, 0, 1, 0, 1, 0}},
    {"top 3, then 0.8 of theirs", {.temperature = 1, .top_p = 0.8f, .top_k = 3}, {1, 0, 1, 0, 0, 0}},
    {"hot, 0.8 of the mass", {.temperature = 3, .top_p = 0.8f}, {1, 1, 1, 0, 1, 0}},
};

static void samples_come_as_often_as_they_are_likely(void **state)
{
    hd_run *r = &((room *)*state)->r;
    for (size_t k = 0; k < COUNT_OF(samplings); k++) {
        const sampling *s = &samplings[k];
        int counts[CLASSES];
        double sum = 0;
        sample_counts(r, s->opt, counts);
        for (int c = 0; c < CLASSES; c++)
            sum += s->kept[c] ? exp((double)logits[c] / (double)s->opt.temperature) : 0;
        for (int c = 0; c < CLASSES; c++) {
            double p = s->kept[c] ? exp((double)logits[c] / (double)s->opt.temperature) / sum : 0,
                   sd = sqrt(p * (1 - p) / DRAWS);
            if (fabs((double)counts[c] / DRAWS - p) > 4 * sd)
                fail_msg("%s: class %d came %d times of %d, expected %.4f", s->name, c, counts[c], DRAWS, p);
        }
    }
}

static void without_temperature_a_sample_is_the_largest(void **state)
{
    hd_run *r = &((room *)*state)->r;
    const float cold[] = {1e-2f, 1e-6f, 1e-30f};
    for (size_t k = 0; k < COUNT_OF(cold); k++) {
        int counts[CLASSES];
        sample_counts(r, (hd_sample_opt){.temperature = cold[k], .top_p = 1}, counts);
        assert_int_equal(counts[2], DRAWS);
    }
}

static void impossible_classes_are_never_drawn(void **state)
{
    hd_run *r = &((room *)*state)->r;
    static hd_real x[DRAWS * 3];
    for (size_t i = 0; i < DRAWS * 3; i++) x[i] = i % 3 == 1 ? 0 : -INFINITY;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *t = hd_from(r, DRAWS, 3, x);
    hd_tensor *all = hd_sample(r, t, &(hd_sample_opt){.temperature = 1, .top_p = 1}, NULL),
              *three = hd_sample(r, t, &(hd_sample_opt){.temperature = 1, .top_p = 0.99f, .top_k = 2}, NULL);
    for (size_t i = 0; i < DRAWS; i++) assert_true(id_at(all, i, 0) == 1 && id_at(three, i, 0) == 1);
}

/* Columns fall in rank with their number, all nearly as likely: 0.3 of the mass are about the first 0.3 of
   them, however few are sorted at first. */
static void a_share_of_a_flat_row_is_many_columns(void **state)
{
    hd_run *r = &((room *)*state)->r;
    enum { WIDE = 5000, ROWS = 300 };
    hd_real *x = malloc((size_t)ROWS * WIDE * sizeof *x);
    for (size_t i = 0; i < (size_t)ROWS * WIDE; i++) x[i] = (hd_real)-1e-5 * (hd_real)(i % WIDE);
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *ids =
        hd_sample(r, hd_from(r, ROWS, WIDE, x), &(hd_sample_opt){.temperature = 1, .top_p = 0.3f}, NULL);
    int32_t most = 0;
    for (size_t i = 0; i < ROWS; i++) most = id_at(ids, i, 0) > most ? id_at(ids, i, 0) : most;
    assert_true(most > 1400 && most < 1500);
    free(x);
}

/* What top-p draws of a row whose many columns are not sorted: the column at which the drawn share of what is
   kept is passed, in the order of rank. */
static void a_share_of_many_columns_is_drawn_by_rank(void **state)
{
    hd_run *r = &((room *)*state)->r;
    enum { WIDE = 3000, ROWS = 200 };
    hd_real *x = malloc((size_t)ROWS * WIDE * sizeof *x);
    hd_rng rng = hd_rng_make(8, 5);
    for (size_t i = 0; i < (size_t)ROWS * WIDE; i++)
        x[i] = i < WIDE ? (hd_real)hd_rng_normal(&rng) : x[i - WIDE]; /* rows alike */
    double all = 0, held = 0, mean = 0;
    int32_t rank[WIDE];
    for (int32_t i = 0; i < WIDE; i++) {
        int32_t j = i;
        for (; j && x[rank[j - 1]] < x[i]; j--) rank[j] = rank[j - 1];
        rank[j] = i, all += exp((double)x[i]);
    }
    int32_t place[WIDE], kept = 0;
    for (int32_t i = 0; i < WIDE; i++) place[rank[i]] = i;
    while (held < 0.9 * all) held += exp((double)x[rank[kept++]]);
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *ids =
        hd_sample(r, hd_from(r, ROWS, WIDE, x), &(hd_sample_opt){.temperature = 1, .top_p = 0.9f}, NULL);
    double below[5] = {0}; /* shares of draws in the first fifths of the mass, which are equal */
    for (size_t i = 0; i < ROWS; i++) {
        double before = 0;
        int32_t at = place[id_at(ids, i, 0)];
        assert_true(at < kept);
        for (int32_t j = 0; j < at; j++) before += exp((double)x[rank[j]]);
        mean += before / held / ROWS;
        below[(int)(5 * before / held)]++;
    }
    assert_true(fabs(mean - 0.5) < 0.08); /* four standard deviations of 200 draws */
    for (int i = 0; i < 5; i++) assert_true(below[i] > 15 && below[i] < 65);
    free(x);
}

/* An item's sample depends on its key and row, not on its place in the batch; another step draws another. */
static void a_sample_follows_the_item_not_its_place(void **state)
{
    hd_run *r = &((room *)*state)->r;
    enum { N = 64 };
    hd_real x[N * CLASSES];
    int32_t len[N], key[N], back[N], there[N], turned[N], later[N];
    for (int i = 0; i < N; i++) len[i] = 1, key[i] = 1000 + i, back[i] = 1000 + N - 1 - i;
    for (size_t i = 0; i < N * CLASSES; i++) x[i] = logits[i % CLASSES];
    hd_sample_opt opt = {.temperature = 1, .top_p = 1};
    for (int way = 0; way < 3; way++) {
        r->now.number = way == 2 ? 9 : 3;
        hd_run_begin(r, HD_INFERENCE);
        opt.seg = hd_seg_of(r, len, N, way == 1 ? back : key);
        hd_tensor *ids = hd_sample(r, hd_from(r, N, CLASSES, x), &opt, NULL);
        memcpy(way == 0 ? there : way == 1 ? turned : later, ids->data, sizeof there);
    }
    for (int i = 0; i < N; i++) assert_int_equal(there[i], turned[N - 1 - i]);
    assert_memory_not_equal(there, later, sizeof there);
    r->now.number = 3;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_equals_a_full_sort),
        cmocka_unit_test(the_first_of_equals_wins),
        cmocka_unit_test(the_log_probabilities_are_those_of_log_softmax),
        cmocka_unit_test(nan_ranks_behind_every_number),
        cmocka_unit_test(samples_come_as_often_as_they_are_likely),
        cmocka_unit_test(without_temperature_a_sample_is_the_largest),
        cmocka_unit_test(impossible_classes_are_never_drawn),
        cmocka_unit_test(a_share_of_a_flat_row_is_many_columns),
        cmocka_unit_test(a_share_of_many_columns_is_drawn_by_rank),
        cmocka_unit_test(a_sample_follows_the_item_not_its_place),
    };
    return cmocka_run_group_tests(tests, open_room, close_room);
}
