/* The lectures' positional encodings: tables as printed, and the properties claimed for them. The table is
   float32, each entry off by at most 6e-8. */
#include "model/golden.h"

#include "base/mem.h"
#include "nn/position.h"

enum { POSITIONS = 600 };

static void tables_as_printed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_sinusoid s;
        double row1[6], row2[6]; /* row 0 is 0 and 1 in turn */
    } cases[] = {
        {"pe_d6_base10000",
         {0},
         {0.84147098, 0.54030231, 0.04639922, 0.99892298, 0.00215443, 0.99999768},
         {0.90929743, -0.41614684, 0.0926985, 0.99569422, 0.00430886, 0.99999072}},
        {"pe_d6_base1000_seed002",
         {.base = 1000},
         {0.84147098, 0.54030231, 0.09983342, 0.99500417, 0.00999983, 0.99995},
         {0.90929743, -0.41614684, 0.19866933, 0.98006658, 0.01999867, 0.99980001}},
        {"pe_d6_seed004_frequencies",
         {.first = 1},
         {0.04639922, 0.99892298, 0.00215443, 0.99999768, 0.0001, 1},
         {0.0926985, 0.99569422, 0.00430886, 0.99999072, 0.0002, 0.99999998}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_real t[18];
        hd_sinusoid_fill(t, 3, 6, &cases[i].s);
        golden_numbers(cases[i].name, t, (double[]){0, 1, 0, 1, 0, 1}, 6, 0);
        golden_numbers(cases[i].name, t + 6, cases[i].row1, 6, 1e-7);
        golden_numbers(cases[i].name, t + 12, cases[i].row2, 6, 1e-7);
    }
    hd_real first[6];
    hd_sinusoid_fill(first, 1, 6, &(hd_sinusoid){.offset = 2});
    golden_numbers("offset 2", first, cases[0].row2, 6, 1e-7);
}

static void halves_as_in_marian(void **state)
{
    (void)state;
    static const double row1[] = {0.84147096, 0.09983341, 0.00999983, 0.001,
                                  0.54030228, 0.99500418, 0.99994999, 0.99999952};
    hd_real t[16];
    hd_sinusoid_fill(t, 2, 8, &(hd_sinusoid){.halves = true});
    golden_numbers("halves, t = 0", t, (double[]){0, 0, 0, 0, 1, 1, 1, 1}, 8, 0);
    golden_numbers("halves, t = 1", t + 8, row1, 8, 1e-8);
}

typedef struct encoding {
    size_t d;
    int first;
    hd_real *row; /* [POSITIONS, d] */
} encoding;

static encoding encode(size_t d, int first)
{
    encoding e = {d, first, hd_mem_array(POSITIONS * d, sizeof(hd_real))};
    assert_non_null(e.row);
    hd_sinusoid_fill(e.row, POSITIONS, d, &(hd_sinusoid){.first = first});
    return e;
}

static double dot(const encoding *e, size_t a, size_t b)
{
    double sum = 0;
    for (size_t i = 0; i < e->d; i++) sum += (double)e->row[a * e->d + i] * (double)e->row[b * e->d + i];
    return sum;
}

static const struct {
    size_t d;
    int first;       /* 0: the paper's frequencies, 1: lecture 004's */
    double at[12];   /* dot product at the distances below */
    size_t falls_to; /* the dot product falls up to here and is larger one further */
    double nearest;  /* smallest distance between two of the first 600 */
} claims[] = {
    {6,
     0,
     {3, 2.539223, 1.579538, 1.000307, 1.329133, 2.256794, 2.921557, 2.701468, 1.054895, 2.006336, 1.277532,
      1.76846},
     3,
     0.3279139779768449},
    {6,
     1,
     {3, 2.998921, 2.995685, 2.9903, 2.982777, 2.973132, 2.961386, 2.947565, 2.893966, 2.598251, 1.312554,
      1.906091},
     68,
     0.046461806957720855},
    {512,
     0,
     {256, 249.102098, 231.73362, 211.749443, 196.688231, 189.596668, 188.248183, 187.864997, 173.789725,
      157.573984, 131.090761, 111.950209},
     43,
     3.7142703651287587},
    {512,
     1,
     {256, 249.561796, 233.149767, 213.739436, 198.341875, 190.313005, 188.288012, 188.111095, 175.628796,
      158.1659, 131.125783, 112.08784},
     38,
     3.588371352997064},
};
static const size_t distances[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 50, 100};

#define EACH_CLAIM(i) for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)

static void norm_is_half_the_width(void **state)
{
    (void)state;
    EACH_CLAIM(i)
    {
        encoding e = encode(claims[i].d, claims[i].first);
        for (size_t t = 0; t < POSITIONS; t++)
            assert_true(fabs(dot(&e, t, t) - (double)e.d / 2) < 1e-7 * (double)e.d);
        hd_mem_free(e.row);
    }
}

static void dot_product_depends_on_the_distance_alone(void **state)
{
    (void)state;
    EACH_CLAIM(i)
    {
        encoding e = encode(claims[i].d, claims[i].first);
        for (size_t k = 0; k < sizeof distances / sizeof *distances; k++)
            for (size_t t = 0; t + distances[k] < POSITIONS; t += 7)
                assert_true(fabs(dot(&e, t, t + distances[k]) - claims[i].at[k]) < 1e-6 + 1e-7 * (double)e.d);
        hd_mem_free(e.row);
    }
}

/* P(t + tau) = M_tau P(t): every pair of columns turns by its frequency times tau. */
static void a_shift_is_a_rotation(void **state)
{
    (void)state;
    EACH_CLAIM(i)
    {
        encoding e = encode(claims[i].d, claims[i].first);
        for (size_t tau = 1; tau < 100; tau += 13)
            for (size_t t = 0; t < 400; t += 37)
                for (size_t c = 0; c < e.d; c += 2) {
                    double angle = (double)tau * pow(10000, -2 * ((double)c / 2 + e.first) / (double)e.d);
                    const hd_real *p = e.row + t * e.d + c, *q = e.row + (t + tau) * e.d + c;
                    assert_true(fabs(cos(angle) * (double)p[0] + sin(angle) * (double)p[1] - (double)q[0]) <
                                3e-7);
                    assert_true(fabs(cos(angle) * (double)p[1] - sin(angle) * (double)p[0] - (double)q[1]) <
                                3e-7);
                }
        hd_mem_free(e.row);
    }
}

/* The lecture claims a strict fall-off with distance; for sinusoids it ends early. */
static void fall_off_is_not_strict(void **state)
{
    (void)state;
    EACH_CLAIM(i)
    {
        encoding e = encode(claims[i].d, claims[i].first);
        for (size_t t = 0; t < claims[i].falls_to; t++)
            assert_true(fabs(dot(&e, 0, t)) > fabs(dot(&e, 0, t + 1)));
        assert_true(fabs(dot(&e, 0, claims[i].falls_to)) < fabs(dot(&e, 0, claims[i].falls_to + 1)));
        hd_mem_free(e.row);
    }
}

static void no_two_positions_are_alike(void **state)
{
    (void)state;
    EACH_CLAIM(i)
    {
        encoding e = encode(claims[i].d, claims[i].first);
        double nearest = INFINITY, half = (double)e.d / 2;
        for (size_t t = 1; t < POSITIONS; t++) { /* by distance alone, see above */
            double gap = 0;
            for (size_t c = 0; c < e.d; c++) gap += pow((double)(e.row[t * e.d + c] - e.row[c]), 2);
            nearest = fmin(nearest, sqrt(gap));
            assert_true(dot(&e, 0, t) < half);
        }
        assert_true(fabs(nearest - claims[i].nearest) < 1e-5);
        hd_mem_free(e.row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_as_printed),
        cmocka_unit_test(halves_as_in_marian),
        cmocka_unit_test(norm_is_half_the_width),
        cmocka_unit_test(dot_product_depends_on_the_distance_alone),
        cmocka_unit_test(a_shift_is_a_rotation),
        cmocka_unit_test(fall_off_is_not_strict),
        cmocka_unit_test(no_two_positions_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
