/* Search: the trees that greedy, beam and full search go through, and how often each finds the best. */
#include <math.h>

#include "base/rng.h"
#include "lab/decoding/chain.h"
#include "lab/desk.h"

enum { LIMIT = 3, WIDEST = 6, CHAINS = 60, LONG = 6, WORDS = 5 };

static hd_status go_through(double best[2][5], hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const int beams[] = {0, 1, 2, 3, -1};
    static const char *const how[] = {"greedy", "beam 1", "beam 2", "beam 3", "full search to 3 words"};
    hd_status s = HD_OK;
    for (size_t e = 0; e < HD_CHAIN_EXAMPLES; e++)
        for (size_t k = 0; !s && k < 5; k++) {
            hd_chain c = {0};
            const hd_search_opt o = hd_chain_options(beams[k], LIMIT);
            hd_found *f = NULL;
            hd_chain_begin(&c, &hd_chain_examples[e]);
            s = hd_chain_search(&f, &c, lab->run, &o, err);
            if (!s) best[e][k] = exp(f->guess[0].sum);
            if (!s && k != 1 && (k != 4 || e == 0))
                hd_chain_tree(to, &c, f, hd_chain_examples[e].title, how[k]);
            hd_found_free(f);
        }
    return s;
}

/* -- random chains -- */

static void draw_chain(hd_chain *c, hd_rng *rng)
{
    *c = (hd_chain){.words = WORDS};
    for (size_t i = 0; i < WORDS; i++) {
        double sum = 0;
        for (size_t k = 0; k < WORDS; k++) sum += c->next[i][k] = exp(1.5 * hd_rng_normal(rng));
        for (size_t k = 0; k < WORDS; k++) c->next[i][k] /= sum;
    }
}

/* share[K]: of beams of width K, in percent, that find the best sentence; [0]: of greedy search. *alike:
   whether greedy search and a beam of one always found the same. */
static hd_status count(double share[WIDEST + 1], bool *alike, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    static hd_chain c;
    hd_rng rng = hd_rng_make(seed, 4);
    hd_status s = HD_OK;
    for (int k = 0; k <= WIDEST; k++) share[k] = 0;
    for (int i = 0; !s && i < CHAINS; i++) {
        double sum[WIDEST + 2] = {0};
        draw_chain(&c, &rng);
        for (int k = -1; !s && k <= WIDEST; k++) {
            const hd_search_opt o = hd_chain_options(k, LONG);
            hd_found *f = NULL;
            s = hd_chain_search(&f, &c, lab->run, &o, err);
            if (!s) sum[k + 1] = f->guess[0].finished ? f->guess[0].sum : -(double)INFINITY;
            hd_found_free(f);
        }
        for (int k = 0; k <= WIDEST; k++) share[k] += 100 * (sum[k + 1] > sum[0] - 1e-5) / (double)CHAINS;
        *alike = *alike && !(fabs(sum[1] - sum[2]) > 1e-5);
    }
    return s;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double best[2][5], share[HD_LAB_SEEDS][WIDEST + 1], x[WIDEST];
    hd_spread found[WIDEST + 1];
    bool alike = true;
    hd_paper_say(
        to, "Two examples whose next word depends on the last one alone. A beam of K keeps the K likeliest "
            "beginnings, among all continuations together; a sentence that has ended keeps its place, and "
            "the search ends when the best one has.");
    hd_status s = go_through(best, to, lab, err);
    for (int i = 0; !s && i < lab->seeds; i++) {
        s = count(share[i], &alike, lab, lab->seed + (uint64_t)i, err);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (s) return s;
    for (int k = 0; k <= WIDEST; k++) {
        found[k] = hd_spread_across(&share[0][k], sizeof *share, lab);
        if (k) x[k - 1] = k;
    }
    hd_paper_plot(to, &(hd_series_plot){.title = "How often a beam finds the best sentence",
                                        .across = "width K of the beam",
                                        .upward = "random chains of five words whose best was found, %"});
    hd_spread_line(to, "beam search", x, found + 1, WIDEST);
    hd_paper_claim(
        to, "Greedy search is not optimal.", best[0][0] < best[0][4] - 0.01 && found[0].high < 100,
        "In the first example it finds a product of %.2f where the best is %.2f; of %d random chains it "
        "finds the best in %.0f %% (%.0f to %.0f).",
        best[0][0], best[0][4], CHAINS, found[0].mean, found[0].low, found[0].high);
    hd_paper_claim(to, "A beam of one is greedy search.",
                   alike && fabs(best[0][0] - best[0][1]) < 1e-5 && fabs(best[1][0] - best[1][1]) < 1e-5,
                   alike ? "Both found the same everywhere." : "They did not always find the same.");
    hd_paper_claim(
        to, "A beam finds what greedy search misses, and is not optimal either.",
        fabs(best[0][2] - best[0][4]) < 1e-5 && best[1][2] < best[1][4] - 0.01,
        "A beam of 2 finds the best of the first example, %.2f; in the second it finds %.2f where the best "
        "is %.2f.",
        best[0][2], best[1][2], best[1][4]);
    hd_paper_claim(
        to, "A wider beam finds the best more often; full search always does.",
        found[WIDEST].low > found[1].high && fabs(best[1][3] - best[1][4]) < 1e-5,
        "A beam of %d finds it in %.0f %%, a beam of 1 in %.0f %%; in the second example 3 are enough.",
        WIDEST, found[WIDEST].mean, found[1].mean);
    return HD_OK;
}

const hd_experiment hd_experiment_search = {
    .name = "search",
    .title = "The tree of a search",
    .lecture = 4,
    .rows = "74-80, 82",
    .claim = "The likeliest word at each step need not lead to the likeliest sentence. A beam keeps several "
             "beginnings and prunes the others; only a search of the whole tree is sure to find the best.",
    .run = run,
};
