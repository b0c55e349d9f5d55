/* The lectures' worked examples of search: tables, beams and products are those of golden.json (beam_*,
   temperature_softmax, gumbel_softmax). */
#include "decode/babble.h"

enum { END, A, B, C };

/* Products of at most three probabilities, whose logarithms are floats: each is off by 6e-8 of a number
 * below 3. */
#define TOLERANCE 2e-7

typedef struct path {
    int ids[4], length;
    double product;
} path;

typedef struct example {
    const char *name;
    size_t vocab;
    double table[BABBLE_VOCAB][BABBLE_VOCAB]; /* row END: <sos> */
    path beam[3][3];                          /* at the stop, K = 1, 2, 3 */
    path all[4];                              /* the four best of all sentences */
} example;

static const example examples[] = {
    {"greedy is suboptimal",
     3,
     {[END] = {0.1, 0.5, 0.4}, [A] = {0.4, 0.3, 0.3}, [B] = {0.9, 0.05, 0.05}},
     {{{{A, END}, 2, 0.2}},
      {{{B, END}, 2, 0.36}, {{A, END}, 2, 0.2}},
      {{{B, END}, 2, 0.36}, {{A, END}, 2, 0.2}, {{A, A}, 2, 0.15}}},
     {{{B, END}, 2, 0.36}, {{A, END}, 2, 0.2}, {{A, B, END}, 3, 0.135}, {{END}, 1, 0.1}}},
    {"a narrow beam misses the optimum",
     4,
     {[END] = {0, 0.4, 0.35, 0.25},
      [A] = {0.3, 0.25, 0.25, 0.2},
      [B] = {0.3, 0.25, 0.25, 0.2},
      [C] = {1, 0, 0, 0}},
     {{{{A, END}, 2, 0.12}},
      {{{A, END}, 2, 0.12}, {{B, END}, 2, 0.105}},
      {{{C, END}, 2, 0.25}, {{A, END}, 2, 0.12}, {{B, END}, 2, 0.105}}},
     {{{C, END}, 2, 0.25}, {{A, END}, 2, 0.12}, {{B, END}, 2, 0.105}, {{A, C, END}, 3, 0.08}}},
};

static void assert_path(const char *name, const hd_guess *g, const path *want)
{
    assert_int_equal(g->length, want->length);
    for (int i = 0; i < want->length; i++) assert_int_equal(g->ids[i], want->ids[i]);
    assert_int_equal(g->finished, want->ids[want->length - 1] == END);
    if (!(fabs(exp(g->sum) - want->product) <= TOLERANCE))
        fail_msg("%s: %.9f for %g", name, exp(g->sum), want->product);
}

static hd_found *search(const example *e, hd_run *r, const hd_search_opt *o)
{
    babble b = {.vocab = e->vocab, .table = e->table, .first = END};
    hd_found *f = babble_search(&b, r, 1, o);
    assert_sound(f, o);
    return f;
}

static void the_lectures_beam_stops_with_the_lectures_paths(void **state)
{
    setting *s = *state;
    for (size_t e = 0; e < COUNT_OF(examples); e++)
        for (size_t k = 1; k <= 3; k++) {
            hd_search_opt o = {.kind = HD_SEARCH_BEAM,
                               .beam = k,
                               .best = k,
                               .end = END,
                               .max_length = 20,
                               .stop = HD_STOP_BEST};
            hd_found *f = search(&examples[e], &s->r, &o);
            assert_int_equal(hd_found_count(f, 0), k);
            for (size_t i = 0; i < k; i++)
                assert_path(examples[e].name, &f->guess[i], &examples[e].beam[k - 1][i]);
            hd_found_free(f);
        }
}

/* The best path is the same under the rule that proves there is none better, and K = 1 is greedy search. */
static void every_stop_finds_the_lectures_best_path(void **state)
{
    setting *s = *state;
    for (size_t e = 0; e < COUNT_OF(examples); e++)
        for (size_t k = 1; k <= 3; k++)
            for (int stop = 0; stop < HD_STOPS; stop++) {
                hd_search_opt o = {
                    .kind = HD_SEARCH_BEAM, .beam = k, .end = END, .max_length = 20, .stop = (hd_stop)stop};
                hd_found *f = search(&examples[e], &s->r, &o);
                assert_path(examples[e].name, f->guess, &examples[e].beam[k - 1][0]);
                hd_found_free(f);
                if (k > 1) continue;
                o.kind = HD_SEARCH_GREEDY;
                f = search(&examples[e], &s->r, &o);
                assert_path(examples[e].name, f->guess, &examples[e].beam[0][0]);
                hd_found_free(f);
            }
}

static void exhaustive_search_finds_the_four_best(void **state)
{
    setting *s = *state;
    for (size_t e = 0; e < COUNT_OF(examples); e++)
        for (size_t limit = 3; limit <= 8; limit++) {
            hd_search_opt o = {.kind = HD_SEARCH_EXHAUSTIVE, .best = 4, .end = END, .max_length = limit};
            hd_found *f = search(&examples[e], &s->r, &o);
            assert_int_equal(hd_found_count(f, 0), 4);
            for (size_t i = 0; i < 4; i++) assert_path(examples[e].name, &f->guess[i], &examples[e].all[i]);
            hd_found_free(f);
        }
}

/* Pearson's statistic of `drawn` counts against probabilities p; its 0.999 quantile for 2 degrees of freedom
 * is 13.8. */
static double chi_square(const size_t *drawn, const double *p, size_t n, size_t total)
{
    double x = 0;
    for (size_t i = 0; i < n; i++) {
        double want = p[i] * (double)total;
        x += ((double)drawn[i] - want) * ((double)drawn[i] - want) / want;
    }
    return x;
}

static void temperatures_draw_by_the_lectures_softmax(void **state)
{
    setting *s = *state;
    enum { MANY = 20000 };
    static const float t[] = {0.5f, 1, 2};
    static const double want[3][3] = {{0.86681333, 0.11731043, 0.01587624},
                                      {0.66524096, 0.24472847, 0.09003057},
                                      {0.50648039, 0.30719589, 0.18632372}};
    double table[BABBLE_VOCAB][BABBLE_VOCAB] = {0}, sum = exp(2) + exp(1) + exp(0);
    for (int i = 0; i < 3; i++) table[0][i] = exp(2 - i) / sum;
    for (int i = 0; i < 3; i++) {
        babble b = {.vocab = 3, .table = table};
        hd_search_opt o = {.kind = HD_SEARCH_SAMPLE,
                           .best = MANY,
                           .end = -1,
                           .max_length = 1,
                           .temperature = t[i],
                           .seed = 5};
        hd_found *f = babble_search(&b, &s->r, 1, &o);
        size_t drawn[3] = {0};
        for (size_t k = 0; k < MANY; k++) drawn[f->guess[k].ids[0]]++;
        double x = chi_square(drawn, want[i], 3, MANY);
        print_message("temperature %g: chi-square %.2f\n", (double)t[i], x);
        assert_true(x < 13.8);
        hd_found_free(f);
    }
}

static void the_largest_of_gumbel_noise_and_log_probability_is_a_draw(void **state)
{
    setting *s = *state;
    enum { MANY = 20000 };
    static const double y[3] = {0.5, 0.3, 0.2}, want[3] = {0.37101807, 0.54753432, 0.08144761};
    hd_real g[3] = {(hd_real)0.2, (hd_real)1.1, (hd_real)-0.4}, soft[3],
            *many = malloc(3 * MANY * sizeof *many);
    int32_t *ids = malloc(MANY * sizeof *ids), one;
    hd_run_begin(&s->r, HD_INFERENCE);
    hd_tensor *logy =
        hd_from(&s->r, 1, 3, (const hd_real[]){(hd_real)log(y[0]), (hd_real)log(y[1]), (hd_real)log(y[2])});
    hd_tensor *x = hd_add(&s->r, hd_from(&s->r, 1, 3, g), logy);
    hd_read(&s->r, hd_softmax(&s->r, x), soft);
    s->backend->download(s->backend, &one, hd_argmax(&s->r, x)->data, sizeof one);
    assert_int_equal(one, 1);
    for (int i = 0; i < 3; i++) assert_true(fabs((double)soft[i] - want[i]) < 1e-6);
    hd_rng rng = hd_rng_make(9, 0);
    for (size_t i = 0; i < 3 * MANY; i++) many[i] = (hd_real)-log(-log(hd_rng_unit(&rng)));
    hd_tensor *best = hd_argmax(&s->r, hd_add(&s->r, hd_from(&s->r, MANY, 3, many), logy));
    assert_run_ok(&s->r);
    s->backend->download(s->backend, ids, best->data, MANY * sizeof *ids);
    size_t drawn[3] = {0};
    for (size_t i = 0; i < MANY; i++) drawn[ids[i]]++;
    double chi = chi_square(drawn, y, 3, MANY);
    print_message("gumbel: chi-square %.2f\n", chi);
    assert_true(chi < 13.8);
    free(many), free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lectures_beam_stops_with_the_lectures_paths),
        cmocka_unit_test(every_stop_finds_the_lectures_best_path),
        cmocka_unit_test(exhaustive_search_finds_the_four_best),
        cmocka_unit_test(temperatures_draw_by_the_lectures_softmax),
        cmocka_unit_test(the_largest_of_gumbel_noise_and_log_probability_is_a_draw),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
