/* Words as vectors: the lecture's table of features, what is near what, and sums of words. */
#include <math.h>

#include "lab/desk.h"

enum { CAT, KITTEN, DOG, HOUSES, MAN, WOMAN, KING, QUEEN, WORDS, FEATURES = 7 };

static const char *const words[WORDS] = {"cat", "kitten", "dog", "houses", "man", "woman", "king", "queen"};
static const char *const features[FEATURES] = {"living",  "feline", "human", "gender",
                                               "royalty", "verb",   "plural"};
static const double table[WORDS * FEATURES] = {
    0.6, 0.9,  0.1, 0.4, -0.7, -0.3, -0.2, 0.5,  0.8,  -0.1, 0.2,  -0.6, -0.5, -0.1,
    0.7, -0.1, 0.4, 0.3, -0.4, -0.1, -0.3, -0.8, -0.4, -0.5, 0.1,  -0.9, 0.3,  0.8,
    0.6, -0.2, 0.8, 0.9, -0.1, -0.9, -0.7, 0.7,  0.3,  0.9,  -0.7, 0.1,  -0.5, -0.4,
    0.5, -0.4, 0.7, 0.8, 0.9,  -0.7, -0.6, 0.8,  -0.1, 0.8,  -0.9, 0.8,  -0.5, -0.9};

/* [a, b] cosines of the rows of two matrices, by products of the engine. */
static void cosines(double *to, hd_run *r, hd_tensor *a, hd_tensor *b)
{
    size_t n = a ? hd_rows_of(a) : 0, m = b ? hd_rows_of(b) : 0;
    double *own = hd_host_take(r, (n * n + m * m + 1) * sizeof *own);
    if (!own) return;
    hd_desk_read(to, r, hd_linear(r, a, b, NULL, HD_IDENTITY));
    hd_desk_read(own, r, hd_linear(r, a, a, NULL, HD_IDENTITY));
    hd_desk_read(own + n * n, r, hd_linear(r, b, b, NULL, HD_IDENTITY));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) to[i * m + k] /= sqrt(own[i * n + i] * own[n * n + k * m + k]);
}

static int nearest(const double *cosine, int but)
{
    int best = but == 0;
    for (int i = 0; i < WORDS; i++)
        if (i != but && cosine[i] > cosine[best]) best = i;
    return best;
}

static hd_tensor *row(hd_run *r, hd_tensor *t, int i)
{
    return t ? hd_slice_rows(r, t, (size_t)i, 1) : NULL;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    /* "where there is ... there": a word is looked up by its number, wherever it stands */
    static const int32_t sentence[] = {2, 1, 0, 1};
    hd_run *r = lab->run;
    double all[WORDS * WORDS], sum[WORDS], same;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *x = hd_desk_rows(r, WORDS, FEATURES, table);
    hd_tensor *analogy = hd_add(r, hd_sub(r, row(r, x, KING), row(r, x, MAN)), row(r, x, WOMAN));
    cosines(all, r, x, x), cosines(sum, r, analogy, x);
    hd_tensor *looked_up = hd_embed(r, x, hd_ints(r, sentence, 4), 4, 1);
    same = hd_desk_gap(r, row(r, looked_up, 1), row(r, looked_up, 3));
    hd_status s = hd_run_status(r, err);
    if (s) return s;
    hd_paper_say(
        to, "Eight words, and for each seven numbers by hand, one a feature. Vectors are compared by the "
            "cosine of the angle between them.");
    hd_paper_cells(to, &(hd_cells){.title = "The lecture's vectors",
                                   .across = "feature (blue above 0, orange below)",
                                   .downward = "word",
                                   .value = table,
                                   .rows = WORDS,
                                   .cols = FEATURES,
                                   .row = words,
                                   .col = features,
                                   .full = 1,
                                   .digits = 1});
    hd_paper_cells(to, &(hd_cells){.title = "Cosines of their angles: 1 is the same direction",
                                   .across = "word",
                                   .downward = "word",
                                   .value = all,
                                   .rows = WORDS,
                                   .cols = WORDS,
                                   .row = words,
                                   .col = words,
                                   .full = 1,
                                   .digits = 2});
    hd_paper_table_of(to, "king - man + woman", 2, 1);
    hd_paper_cell(to, "word"), hd_paper_cell(to, "cosine");
    for (int i = 0; i < WORDS; i++) hd_paper_cell(to, "%s", words[i]), hd_paper_cell(to, "%.4f", sum[i]);
    hd_paper_claim(to, "Words of similar meaning lie near each other.",
                   nearest(all + CAT * WORDS, CAT) == KITTEN && nearest(all + KITTEN * WORDS, KITTEN) == CAT,
                   "The nearest of cat is %s, with a cosine of %.4f; of houses it is %.2f.",
                   words[nearest(all + CAT * WORDS, CAT)], all[nearest(all + CAT * WORDS, CAT)],
                   all[CAT * WORDS + HOUSES]);
    hd_paper_claim(
        to, "king - man + woman is nearest to queen.",
        nearest(sum, -1) == QUEEN && fabs(sum[QUEEN] - 0.9209) < 1e-4,
        "It is nearest to %s (%.4f), king itself comes with %.4f. In vectors that were learned the words of "
        "the sum are usually left out of the comparison, and the nearest is not always that clear.",
        words[nearest(sum, -1)], sum[nearest(sum, -1)], sum[KING]);
    hd_paper_claim(
        to, "A word has one vector, in every sentence and every place.", same <= 0,
        "Looked up twice, a word's vectors differ by %.1g: a table cannot tell the senses of a word apart. A "
        "slide prints two vectors for the token 3582, which its own table rules out.",
        same);
    return HD_OK;
}

const hd_experiment hd_experiment_vectors = {
    .name = "vectors",
    .title = "Words as vectors",
    .lecture = 2,
    .rows = "103, 105",
    .claim = "A word is a row of numbers. Similar words have similar rows, and differences of rows have a "
             "meaning: "
             "king - man + woman is near queen.",
    .run = run,
};
