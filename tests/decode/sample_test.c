/* Sampling: the right frequencies, from the right set, and the same draws whatever else is in the batch. */
#include "decode/babble.h"

enum { END = 0, MANY = 20000 };

static const double six[BABBLE_VOCAB][BABBLE_VOCAB] = {
    [0] = {0.05, 0.4, 0.25, 0.15, 0.1, 0.05}, [1] = {0.3, 0.1, 0.2, 0.2, 0.1, 0.1},
    [2] = {0.2, 0.3, 0.1, 0.1, 0.2, 0.1},     [3] = {0.1, 0.1, 0.1, 0.1, 0.3, 0.3},
    [4] = {0.5, 0.1, 0.1, 0.1, 0.1, 0.1},     [5] = {0.25, 0.15, 0.15, 0.15, 0.15, 0.15}};

/* Pearson's statistic; cells nothing falls into must be empty. */
static double chi_square(const size_t *drawn, const double *p, size_t n, size_t total, size_t *freedom)
{
    double x = 0;
    *freedom = 0;
    for (size_t i = 0; i < n; i++) {
        double want = p[i] * (double)total;
        if (!(p[i] > 0))
            assert_int_equal(drawn[i], 0);
        else
            x += ((double)drawn[i] - want) * ((double)drawn[i] - want) / want, *freedom += 1;
    }
    *freedom -= 1;
    return x;
}

/* Five standard deviations above the mean: with a fixed seed this either always holds or never. */
static void assert_chi_square(const char *what, const size_t *drawn, const double *p, size_t n, size_t total)
{
    size_t freedom;
    double x = chi_square(drawn, p, n, total, &freedom),
           most = (double)freedom + 5 * sqrt(2 * (double)freedom);
    print_message("%-32s chi-square %.1f of %zu\n", what, x, freedom);
    if (!(x <= most)) fail_msg("%s: %g is too much", what, x);
}

static void normalize(double *p, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += p[i];
    for (size_t i = 0; i < n; i++) p[i] /= sum;
}

static void first_tokens_come_as_often_as_their_probability_says(void **state)
{
    setting *s = *state;
    static const int32_t banned[] = {2};
    static const struct {
        const char *name;
        float temperature, top_p;
        size_t top_k, bans, min_length;
        double p[6];
    } cases[] = {
        {"plain", 1, 0, 0, 0, 0, {0.05, 0.4, 0.25, 0.15, 0.1, 0.05}},
        {"top_p 1", 1, 1, 0, 0, 0, {0.05, 0.4, 0.25, 0.15, 0.1, 0.05}},
        {"top_k as the vocabulary", 1, 0, 6, 0, 0, {0.05, 0.4, 0.25, 0.15, 0.1, 0.05}},
        {"top_k 3", 1, 0, 3, 0, 0, {0, 0.4, 0.25, 0.15, 0, 0}},
        {"top_k 1", 1, 0, 1, 0, 0, {0, 1, 0, 0, 0, 0}},
        {"top_p 0.6", 1, 0.6f, 0, 0, 0, {0, 0.4, 0.25, 0, 0, 0}},
        {"top_p 0.3", 1, 0.3f, 0, 0, 0, {0, 1, 0, 0, 0, 0}},
        {"top_p 0.78", 1, 0.78f, 0, 0, 0, {0, 0.4, 0.25, 0.15, 0, 0}},
        {"top_k 4, top_p 0.7", 1, 0.7f, 4, 0, 0, {0, 0.4, 0.25, 0, 0, 0}},
        {"temperature 2", 2, 0, 0, 0, 0, {0.2236068, 0.6324555, 0.5, 0.3872983, 0.3162278, 0.2236068}},
        {"temperature 0.5", 0.5f, 0, 0, 0, 0, {0.0025, 0.16, 0.0625, 0.0225, 0.01, 0.0025}},
        {"temperature 1e6", 1e6f, 0, 0, 0, 0, {1, 1, 1, 1, 1, 1}},
        {"a banned token", 1, 0, 0, 1, 0, {0.05, 0.4, 0, 0.15, 0.1, 0.05}},
        {"no end yet", 1, 0, 0, 0, 2, {0, 0.4, 0.25, 0.15, 0.1, 0.05}},
        {"all at once", 2, 0.99f, 3, 1, 2, {0, 0.6324555, 0, 0.3872983, 0.3162278, 0}},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        babble b = {.vocab = 6, .table = six};
        hd_search_opt o = {
            .kind = HD_SEARCH_SAMPLE, .best = MANY, .end = END, .max_length = 1, .seed = 3, .banned = banned};
        o.temperature = cases[c].temperature, o.top_p = cases[c].top_p, o.top_k = cases[c].top_k;
        o.banned_count = cases[c].bans, o.min_length = cases[c].min_length;
        hd_found *f = babble_search(&b, &s->r, 1, &o);
        assert_sound(f, &o);
        assert_int_equal(hd_found_count(f, 0), MANY);
        size_t drawn[6] = {0};
        for (size_t k = 0; k < MANY; k++) {
            int32_t id = f->guess[k].ids[0];
            drawn[id]++;
            assert_true(f->guess[k].logp[0] ==
                        (hd_real)log(six[0][id])); /* the model's own, whatever was asked */
        }
        double p[6];
        memcpy(p, cases[c].p, sizeof p);
        normalize(p, 6);
        assert_chi_square(cases[c].name, drawn, p, 6, MANY);
        hd_found_free(f);
    }
}

/* Pairs of tokens: the second is drawn given the first, and independently of how that was drawn. */
static void whole_sentences_come_as_often_as_their_probability_says(void **state)
{
    setting *s = *state;
    babble b = {.vocab = 6, .table = six};
    hd_search_opt o = {
        .kind = HD_SEARCH_SAMPLE, .best = MANY, .end = END, .max_length = 2, .temperature = 1, .seed = 4};
    hd_found *f = babble_search(&b, &s->r, 1, &o);
    size_t drawn[36] = {0};
    double p[36] = {0};
    for (size_t k = 0; k < MANY; k++) {
        const hd_guess *g = &f->guess[k];
        drawn[g->ids[0] * 6 + (g->length > 1 ? g->ids[1] : 0)]++;
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) p[i * 6 + j] = i ? six[0][i] * six[i][j] : j ? 0 : six[0][0];
    assert_chi_square("pairs", drawn, p, 36, MANY);
    hd_found_free(f);
}

/* One sample for each of many sentences that are alike: their draws must not be. */
static void sentences_are_drawn_independently(void **state)
{
    setting *s = *state;
    enum { SENTENCES = 60, TURNS = 200 };
    size_t drawn[36] = {0};
    double p[36];
    for (uint64_t seed = 0; seed < TURNS; seed++) {
        babble b = {.vocab = 6, .table = six};
        hd_search_opt o = {
            .kind = HD_SEARCH_SAMPLE, .end = -1, .max_length = 1, .temperature = 1, .seed = seed};
        hd_found *f = babble_search(&b, &s->r, SENTENCES, &o);
        for (size_t i = 0; i < SENTENCES; i += 2) drawn[f->guess[i].ids[0] * 6 + f->guess[i + 1].ids[0]]++;
        hd_found_free(f);
    }
    for (int i = 0; i < 36; i++) p[i] = six[0][i / 6] * six[0][i % 6];
    assert_chi_square("neighbors", drawn, p, 36, SENTENCES / 2 * TURNS);
}

static hd_found *sampled(setting *s, uint64_t seed, size_t items, size_t best, const int32_t *key)
{
    babble b = {.vocab = 9, .seed = 1, .sharp = 1, .key = key};
    hd_search_opt o = {.kind = HD_SEARCH_SAMPLE,
                       .best = best,
                       .end = END,
                       .max_length = 12,
                       .temperature = 1,
                       .seed = seed,
                       .key = key};
    hd_found *f = babble_search(&b, &s->r, items, &o);
    assert_sound(f, &o);
    return f;
}

static void the_same_seed_gives_the_same_samples_and_another_does_not(void **state)
{
    setting *s = *state;
    hd_found *a = sampled(s, 1, 5, 8, NULL), *b = sampled(s, 1, 5, 8, NULL), *c = sampled(s, 2, 5, 8, NULL);
    assert_same_found(a, b);
    size_t same = 0;
    for (size_t k = 0; k < a->guesses; k++) same += same_guess(&a->guess[k], &c->guess[k]);
    assert_true(same < a->guesses / 4);
    hd_found_free(a), hd_found_free(b), hd_found_free(c);
}

static void a_draw_depends_on_sentence_sample_and_step_alone(void **state)
{
    setting *s = *state;
    static const int32_t key[] = {7, 1, 4, 0, 2};
    hd_found *all = sampled(s, 1, 8, 6, NULL), *some = sampled(s, 1, 5, 3, key);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 3; k++)
            assert_true(same_guess(&hd_found_at(some, i)[k], &hd_found_at(all, (size_t)key[i])[k]));
    hd_found_free(all), hd_found_free(some);
}

static void cold_sampling_is_greedy_search(void **state)
{
    setting *s = *state;
    static const float cold[] = {0, 1e-30f, 1e-7f, 1e-4f};
    for (size_t c = 0; c < COUNT_OF(cold); c++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            babble b = {.vocab = 9, .seed = seed, .sharp = 1};
            const int32_t banned[] = {4};
            hd_search_opt o = {.kind = HD_SEARCH_SAMPLE,
                               .end = END,
                               .max_length = 12,
                               .temperature = cold[c],
                               .seed = seed,
                               .banned = banned,
                               .banned_count = seed % 2,
                               .min_length = 3};
            hd_found *cool = babble_search(&b, &s->r, 10, &o);
            o.kind = HD_SEARCH_GREEDY;
            hd_found *greedy = babble_search(&b, &s->r, 10, &o);
            assert_same_found(cool, greedy);
            hd_found_free(cool), hd_found_free(greedy);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_tokens_come_as_often_as_their_probability_says),
        cmocka_unit_test(whole_sentences_come_as_often_as_their_probability_says),
        cmocka_unit_test(sentences_are_drawn_independently),
        cmocka_unit_test(the_same_seed_gives_the_same_samples_and_another_does_not),
        cmocka_unit_test(a_draw_depends_on_sentence_sample_and_step_alone),
        cmocka_unit_test(cold_sampling_is_greedy_search),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
