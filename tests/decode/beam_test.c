/* Beam and exhaustive search on models that are tables: against each other, and against brute force written
 * down here. */
#include "decode/babble.h"

enum { END = 0, PROBLEMS = 400, BATCH = 8 };

static double uniform(hd_rng *rng, double from, double to)
{
    return from + (to - from) * hd_rng_unit(rng);
}

static hd_length any_length(hd_rng *rng)
{
    hd_length l = {(hd_length_kind)hd_rng_below(rng, HD_LENGTHS), uniform(rng, -0.5, 1.5), 0};
    if (hd_rng_below(rng, 3) == 0) l.bonus = uniform(rng, -1, 1);
    return l;
}

static babble any_model(hd_rng *rng, size_t vocab)
{
    return (babble){.vocab = vocab,
                    .seed = hd_rng_u32(rng),
                    .sharp = uniform(rng, 0.2, 3),
                    .end_bias = uniform(rng, -2, 2)};
}

static bool finished_first(const hd_guess *a, const hd_guess *b)
{
    return a->finished != b->finished ? a->finished : a->score >= b->score;
}

static void assert_sorted_and_distinct(const hd_found *f)
{
    for (size_t i = 0; i < f->items; i++) {
        const hd_guess *g = hd_found_at(f, i);
        for (size_t k = 0; k < hd_found_count(f, i); k++)
            for (size_t j = 0; j < k; j++) {
                assert_true(finished_first(&g[j], &g[k]));
                assert_false(g[j].length == g[k].length &&
                             !memcmp(g[j].ids, g[k].ids, g[k].length * sizeof *g[k].ids));
            }
    }
}

/* Brute force: every sentence by recursion, then the best by a plain sort. */
typedef struct truth {
    const babble *b;
    const hd_search_opt *o;
    hd_guess *all;
    size_t count;
    int32_t ids[16];
} truth;

static void write_down(truth *t, double sum, size_t length, bool finished)
{
    hd_guess *g = &t->all[t->count++];
    *g = (hd_guess){.length = length,
                    .sum = sum,
                    .score = hd_length_score(&t->o->length, sum, length),
                    .finished = finished};
    g->ids = malloc((length + 1) * sizeof *g->ids);
    memcpy(g->ids, t->ids, length * sizeof *g->ids);
}

static void explore(truth *t, int32_t key, uint64_t history, double sum, size_t length)
{
    hd_real row[BABBLE_VOCAB];
    bool any = false;
    babble_row(t->b, key, history, 0, row);
    for (int32_t v = 0; v < (int32_t)t->b->vocab; v++) {
        bool banned = v == END && length + 1 < t->o->min_length;
        for (size_t i = 0; i < t->o->banned_count; i++) banned = banned || t->o->banned[i] == v;
        if (banned) continue;
        any = true;
        t->ids[length] = v;
        double s = sum + (double)row[v];
        if (v != END && length + 1 < t->o->max_length)
            explore(t, key, babble_hash(history, v), s, length + 1);
        else
            write_down(t, s, length + 1, v == END);
    }
    if (!any) write_down(t, sum, length, false);
}

static int by_rank(const void *a, const void *b)
{
    const hd_guess *x = a, *y = b;
    return finished_first(x, y) && !finished_first(y, x) ? -1 : finished_first(y, x) && !finished_first(x, y);
}

static void exhaustive_search_is_brute_force(void **state)
{
    setting *s = *state;
    hd_rng rng = hd_rng_make(1, 0);
    hd_guess *all = malloc(5000 * sizeof *all);
    for (int p = 0; p < 60; p++) {
        size_t vocab = 2 + hd_rng_below(&rng, 3);
        const int32_t ban = 1;
        babble b = any_model(&rng, vocab);
        hd_search_opt o = {.kind = HD_SEARCH_EXHAUSTIVE,
                           .best = 1 + hd_rng_below(&rng, 8),
                           .end = END,
                           .max_length = 1 + hd_rng_below(&rng, 5),
                           .min_length = hd_rng_below(&rng, 4),
                           .length = any_length(&rng),
                           .banned = &ban,
                           .banned_count = hd_rng_below(&rng, 2)};
        hd_found *f = babble_search(&b, &s->r, 3, &o);
        assert_sound(f, &o);
        assert_sorted_and_distinct(f);
        for (int32_t i = 0; i < 3; i++) {
            truth t = {.b = &b, .o = &o, .all = all};
            explore(&t, i, 7, 0, 0);
            qsort(all, t.count, sizeof *all, by_rank);
            size_t want = t.count < o.best ? t.count : o.best;
            assert_int_equal(hd_found_count(f, (size_t)i), want);
            for (size_t k = 0; k < want; k++) {
                const hd_guess *g = &hd_found_at(f, (size_t)i)[k];
                assert_int_equal(g->length, all[k].length);
                assert_memory_equal(g->ids, all[k].ids, g->length * sizeof *g->ids);
                assert_true(g->sum == all[k].sum && g->score == all[k].score);
            }
            for (size_t k = 0; k < t.count; k++) free(all[k].ids);
        }
        hd_found_free(f);
    }
    free(all);
}

static void a_beam_as_wide_as_the_space_is_exhaustive_search(void **state)
{
    setting *s = *state;
    hd_rng rng = hd_rng_make(2, 0);
    for (int p = 0; p < 90; p++) {
        size_t vocab = 2 + hd_rng_below(&rng, 3), limit = 1 + hd_rng_below(&rng, 5), space = 1;
        for (size_t i = 0; i < limit; i++) space *= vocab;
        babble b = any_model(&rng, vocab);
        hd_search_opt o = {.kind = HD_SEARCH_EXHAUSTIVE,
                           .best = 1 + hd_rng_below(&rng, 8),
                           .end = END,
                           .max_length = limit,
                           .min_length = hd_rng_below(&rng, 4),
                           .length = {(hd_length_kind)(p % HD_LENGTHS), .alpha = uniform(&rng, -0.5, 1.5)}};
        hd_found *want = babble_search(&b, &s->r, BATCH, &o);
        size_t rows = b.rows;
        o.kind = HD_SEARCH_BEAM, o.beam = space;
        for (int stop = HD_STOP_PROVEN; stop <= HD_STOP_LIMIT; stop++) {
            o.stop = (hd_stop)stop;
            if (stop == HD_STOP_FULL) continue; /* promises no such thing */
            hd_found *got = babble_search(&b, &s->r, BATCH, &o);
            assert_same_found(got, want);
            assert_true(b.rows <= rows);
            hd_found_free(got);
        }
        hd_found_free(want);
    }
}

static hd_search_opt any_beam(hd_rng *rng)
{
    return (hd_search_opt){.kind = HD_SEARCH_BEAM,
                           .beam = 1 + hd_rng_below(rng, 5),
                           .best = 1 + hd_rng_below(rng, 5),
                           .end = END,
                           .max_length = 2 + hd_rng_below(rng, 12),
                           .min_length = hd_rng_below(rng, 4),
                           .length = any_length(rng)};
}

/* Beam search as it is told: every continuation of every live path is written down and sorted. */
typedef struct path {
    int32_t ids[16];
    size_t length, order;
    double sum, score;
    uint64_t history;
    bool finished;
} path;

enum { PATHS = 4096 };

static int by_sum(const void *a, const void *b)
{
    const path *x = a, *y = b;
    return x->sum != y->sum ? (x->sum > y->sum ? -1 : 1) : x->order < y->order ? -1 : 1;
}

static int by_score(const void *a, const void *b)
{
    const path *x = a, *y = b;
    if (x->finished != y->finished) return x->finished ? -1 : 1;
    return x->score != y->score ? (x->score > y->score ? -1 : 1) : x->order < y->order ? -1 : 1;
}

static size_t continuations(const babble *b, const hd_search_opt *o, int32_t key, const path *live, size_t n,
                            path *all)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        hd_real row[BABBLE_VOCAB];
        babble_row(b, key, live[i].history, 0, row);
        for (int32_t v = 0; v < (int32_t)b->vocab; v++) {
            if ((o->banned_count && v == o->banned[0]) || (v == END && live[i].length + 1 < o->min_length))
                continue;
            path p = live[i];
            p.ids[p.length++] = v, p.sum += (double)row[v], p.order = count;
            p.history = babble_hash(p.history, v), p.finished = v == END;
            p.score = hd_length_score(&o->length, p.sum, p.length);
            all[count++] = p;
        }
    }
    qsort(all, count, sizeof *all, by_sum);
    return count;
}

/* What a path may be worth at the most if up to four tokens of probability 1 end it. */
static double told_bound(const hd_search_opt *o, const path *p)
{
    double best = -INFINITY, bonus = -INFINITY;
    for (size_t i = 1; i <= 4 && p->length + i <= o->max_length; i++) {
        best = fmax(best, p->sum / hd_length_divisor(&o->length, p->length + i));
        bonus = fmax(bonus, hd_length_bonus(&o->length, p->length + i));
    }
    return best + bonus;
}

/* Of `n` live ones, which are in order, those that the rule of a full beam leaves. */
static size_t told_places(const hd_search_opt *o, const path *live, size_t n, path *ends, size_t kept,
                          size_t finished)
{
    const size_t best = o->best ? o->best : 1, all = o->beam > best ? o->beam : best,
                 places = finished < all ? all - finished : 0, wanted = finished < best ? best - finished : 0;
    if (o->stop != HD_STOP_FULL) return n;
    qsort(ends, kept, sizeof *ends, by_score);
    while (finished && n > places && live[n - 1].score <= ends[0].score) n--;
    while (n > wanted &&
           (live[n - 1].sum < live[0].sum - 3 || (finished && told_bound(o, &live[n - 1]) <= ends[0].score)))
        n--;
    return n;
}

/* *rows: more by how many hypotheses the model is asked for. */
static size_t told_beam(const babble *b, const hd_search_opt *o, int32_t key, path *ends, size_t *rows)
{
    static path live[64], all[PATHS];
    size_t n = 1, finished = 0, kept = 0;
    live[0] = (path){.history = 7};
    while (n) {
        *rows += n;
        size_t count = continuations(b, o, key, live, n, all);
        n = 0;
        for (size_t rank = 0, taken = 0; rank < count && taken < o->beam; rank++) {
            bool last = all[rank].length == o->max_length;
            taken += !all[rank].finished;
            if (all[rank].finished && rank >= o->beam) continue;
            if (!all[rank].finished && !last)
                live[n++] = all[rank];
            else
                ends[kept] = all[rank], ends[kept].order = kept, finished += ends[kept++].finished;
        }
        n = told_places(o, live, n, ends, kept, finished);
    }
    qsort(ends, kept, sizeof *ends, by_score);
    return kept < o->best ? kept : o->best;
}

static void a_beam_is_what_it_is_told_to_be(void **state)
{
    setting *s = *state;
    static path ends[PATHS];
    static const int32_t banned[] = {1};
    hd_rng rng = hd_rng_make(6, 0);
    for (int p = 0; p < 150; p++) {
        babble b = any_model(&rng, 3 + hd_rng_below(&rng, 8));
        hd_search_opt o = any_beam(&rng);
        o.banned = banned, o.banned_count = hd_rng_below(&rng, 2),
        o.stop = p % 2 ? HD_STOP_FULL : HD_STOP_LIMIT;
        size_t rows = 0;
        hd_found *f = babble_search(&b, &s->r, BATCH, &o);
        for (size_t i = 0; i < BATCH; i++) {
            size_t n = told_beam(&b, &o, (int32_t)i, ends, &rows);
            assert_int_equal(hd_found_count(f, i), n);
            for (size_t k = 0; k < n; k++) {
                const hd_guess *g = &hd_found_at(f, i)[k];
                assert_int_equal(g->length, ends[k].length);
                assert_memory_equal(g->ids, ends[k].ids, g->length * sizeof *g->ids);
                assert_true(g->sum == ends[k].sum && g->score == ends[k].score);
            }
        }
        assert_int_equal(b.rows, rows);
        hd_found_free(f);
    }
}

static void stopping_early_changes_nothing(void **state)
{
    setting *s = *state;
    hd_rng rng = hd_rng_make(3, 0);
    size_t rows = 0, rows_to_limit = 0, problems = 0;
    for (int p = 0; p < PROBLEMS; p++) {
        babble b = any_model(&rng, 2 + hd_rng_below(&rng, 6));
        hd_search_opt o = any_beam(&rng);
        hd_found *early = babble_search(&b, &s->r, BATCH, &o);
        rows += b.rows;
        o.stop = HD_STOP_LIMIT;
        hd_found *late = babble_search(&b, &s->r, BATCH, &o);
        rows_to_limit += b.rows;
        assert_same_found(early, late);
        assert_sound(early, &o);
        assert_sorted_and_distinct(early);
        hd_found_free(early), hd_found_free(late);
        problems += BATCH;
    }
    print_message("%zu problems: %zu rows instead of %zu\n", problems, rows, rows_to_limit);
    assert_true(rows < rows_to_limit * 4 / 5); /* it does stop early, where no average rules */
}

static void a_wider_result_list_begins_with_the_narrower(void **state)
{
    setting *s = *state;
    hd_rng rng = hd_rng_make(4, 0);
    for (int p = 0; p < 100; p++) {
        babble b = any_model(&rng, 2 + hd_rng_below(&rng, 6));
        hd_search_opt o = any_beam(&rng);
        o.best = 6;
        hd_found *many = babble_search(&b, &s->r, BATCH, &o);
        o.best = 2;
        hd_found *few = babble_search(&b, &s->r, BATCH, &o);
        for (size_t i = 0; i < BATCH; i++) {
            size_t n = hd_found_count(few, i);
            assert_true(n == 2 || n == hd_found_count(many, i));
            for (size_t k = 0; k < n; k++)
                if (hd_found_at(few, i)[k].finished)
                    assert_true(same_guess(&hd_found_at(few, i)[k], &hd_found_at(many, i)[k]));
        }
        hd_found_free(many), hd_found_free(few);
    }
}

static void a_beam_of_one_is_greedy_search(void **state)
{
    setting *s = *state;
    hd_rng rng = hd_rng_make(5, 0);
    for (int p = 0; p < 200; p++) {
        babble b = any_model(&rng, 2 + hd_rng_below(&rng, 6));
        hd_search_opt o = any_beam(&rng);
        o.beam = o.best = 1;
        /* a penalty may make it worth while to go on past the likeliest end, unless the first end is enough
         */
        o.stop = p % 2 ? HD_STOP_FULL : HD_STOP_BEST;
        if (p % 3 == 0) o.length = (hd_length){0}, o.stop = (hd_stop)(p % HD_STOPS);
        hd_found *beam = babble_search(&b, &s->r, BATCH, &o);
        o.kind = HD_SEARCH_GREEDY;
        hd_found *greedy = babble_search(&b, &s->r, BATCH, &o);
        assert_same_found(beam, greedy);
        hd_found_free(beam), hd_found_free(greedy);
    }
}

/* The best two beginnings have the same parent here, and the other parent's children are left out. */
static void the_best_of_all_continuations_live_not_the_best_of_each(void **state)
{
    setting *s = *state;
    enum { A = 1, B = 2, C = 3 };
    static const double table[BABBLE_VOCAB][BABBLE_VOCAB] = {
        [0] = {0, 0.7, 0.3, 0}, [A] = {0, 0.5, 0, 0.5}, [B] = {0, 1, 0, 0}, [C] = {0, 0, 1, 0}};
    babble b = {.vocab = 4, .table = table};
    hd_search_opt o = {.kind = HD_SEARCH_BEAM, .beam = 2, .best = 2, .end = END, .max_length = 2};
    hd_found *f = babble_search(&b, &s->r, 1, &o);
    assert_int_equal(hd_found_count(f, 0), 2);
    const int32_t want[2][2] = {{A, A}, {A, C}};
    for (size_t k = 0; k < 2; k++) assert_memory_equal(f->guess[k].ids, want[k], sizeof want[k]);
    hd_found_free(f);
}

/* Of equal continuations the first parent's come first, then the smaller token: never the order of a sort. */
static void equal_continuations_go_by_parent_then_token(void **state)
{
    setting *s = *state;
    static const double table[BABBLE_VOCAB][BABBLE_VOCAB] = {
        [0] = {0, 0.5, 0.5}, [1] = {0, 0.5, 0.5}, [2] = {0, 0.5, 0.5}};
    babble b = {.vocab = 3, .table = table};
    hd_search_opt o = {.kind = HD_SEARCH_BEAM, .beam = 3, .best = 3, .end = END, .max_length = 2};
    hd_found *f = babble_search(&b, &s->r, 1, &o);
    static const int32_t want[3][2] = {{1, 1}, {1, 2}, {2, 1}};
    assert_int_equal(hd_found_count(f, 0), 3);
    for (size_t k = 0; k < 3; k++) assert_memory_equal(f->guess[k].ids, want[k], sizeof want[k]);
    hd_found_free(f);
}

/* The sentence that ends at once is the second best for one step and the best after the next. */
static void by_the_lectures_rule_a_finished_path_waits_in_the_beam(void **state)
{
    setting *s = *state;
    static const double table[BABBLE_VOCAB][BABBLE_VOCAB] = {
        [0] = {0.3, 0.6, 0.1}, [1] = {0.1, 0.45, 0.45}, [2] = {0.1, 0.45, 0.45}};
    babble b = {.vocab = 3, .table = table};
    hd_search_opt o = {
        .kind = HD_SEARCH_BEAM, .beam = 2, .best = 2, .end = END, .max_length = 9, .stop = HD_STOP_BEST};
    hd_found *f = babble_search(&b, &s->r, 1, &o);
    assert_int_equal(hd_found_count(f, 0), 2);
    assert_true(f->guess[0].length == 1 && f->guess[0].finished && b.steps == 2);
    assert_true(f->guess[1].length == 2 && !f->guess[1].finished);
    hd_found_free(f);
}

/* "1 1 ... 1 end" beats the sentence that ends at once with -0.36, but only after many steps in which it
 * looks worse. */
static void a_long_sentence_may_overtake_under_the_average(void **state)
{
    setting *s = *state;
    static const double table[BABBLE_VOCAB][BABBLE_VOCAB] = {[0] = {0.7, 0.3, 0}, [1] = {0.01, 0.99, 0}};
    babble b = {.vocab = 3, .table = table};
    hd_search_opt o = {.kind = HD_SEARCH_BEAM,
                       .beam = 2,
                       .end = END,
                       .max_length = 40,
                       .length = {.kind = HD_LENGTH_AVERAGE}};
    hd_found *f = babble_search(&b, &s->r, 1, &o);
    assert_true(f->guess[0].length == 40 && f->guess[0].finished);
    hd_found_free(f);
    o.stop = HD_STOP_FULL, o.beam = 1;
    f = babble_search(&b, &s->r, 1, &o);
    assert_int_equal(f->guess[0].length, 1);
    hd_found_free(f);
    o.stop = HD_STOP_PROVEN, o.length.kind = HD_LENGTH_NONE;
    f = babble_search(&b, &s->r, 1, &o);
    assert_int_equal(f->guess[0].length, 1);
    assert_int_equal(b.steps, 1);
    hd_found_free(f);
}

static void the_penalty_of_gnmt_is_the_formula(void **state)
{
    (void)state;
    hd_length l = {HD_LENGTH_GNMT, 0.6, 0};
    assert_true(hd_length_divisor(&l, 1) == 1);
    assert_true(fabs(hd_length_divisor(&l, 7) - pow(2, 0.6)) < 1e-15);
    assert_true(fabs(hd_length_divisor(&l, 25) - pow(5, 0.6)) < 1e-15);
    l.alpha = 0;
    assert_true(hd_length_divisor(&l, 25) == 1);
    l.kind = HD_LENGTH_AVERAGE;
    assert_true(hd_length_divisor(&l, 25) == 25 && hd_length_divisor(&l, 0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustive_search_is_brute_force),
        cmocka_unit_test(a_beam_as_wide_as_the_space_is_exhaustive_search),
        cmocka_unit_test(a_beam_is_what_it_is_told_to_be),
        cmocka_unit_test(stopping_early_changes_nothing),
        cmocka_unit_test(a_wider_result_list_begins_with_the_narrower),
        cmocka_unit_test(a_beam_of_one_is_greedy_search),
        cmocka_unit_test(the_best_of_all_continuations_live_not_the_best_of_each),
        cmocka_unit_test(equal_continuations_go_by_parent_then_token),
        cmocka_unit_test(by_the_lectures_rule_a_finished_path_waits_in_the_beam),
        cmocka_unit_test(a_long_sentence_may_overtake_under_the_average),
        cmocka_unit_test(the_penalty_of_gnmt_is_the_formula),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
