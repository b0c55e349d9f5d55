/* Lecture 004: positions as sines and cosines, and what the slides say of them. */
#include <math.h>

#include "lab/attention/waves.h"
#include "lab/desk.h"
#include "lab/worked/sheet.h"
#include "nn/position.h"

enum { D = 6, SHOWN = 3, TAUS = 12, FACTS = 6, CASES = 4 };

static const int taus[TAUS] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 50, 100};

static const struct {
    const char *name;
    size_t d;
    int first;
} cases[CASES] = {
    {"paper, d 6", 6, 0}, {"slide, d 6", 6, 1}, {"paper, d 512", 512, 0}, {"slide, d 512", 512, 1}};

/* Of each case: |P|^2, distance of the nearest two, the first T1 < T2 whose products grow, and these. */
static const double facts[CASES][FACTS] = {{3, 0.3279139779768449, 3, 4, 1.000307, 1.329133},
                                           {3, 0.046461806957720855, 68, 69, 0.989373, 0.990813},
                                           {256, 3.7142703651287587, 43, 44, 134.7587, 134.770351},
                                           {256, 3.588371352997064, 38, 39, 139.036406, 139.059684}};

static const double products[TAUS][CASES] = {{3, 3, 256, 256},
                                             {2.539223, 2.998921, 249.102098, 249.561796},
                                             {1.579538, 2.995685, 231.73362, 233.149767},
                                             {1.000307, 2.9903, 211.749443, 213.739436},
                                             {1.329133, 2.982777, 196.688231, 198.341875},
                                             {2.256794, 2.973132, 189.596668, 190.313005},
                                             {2.921557, 2.961386, 188.248183, 188.288012},
                                             {2.701468, 2.947565, 187.864997, 188.111095},
                                             {1.054895, 2.893966, 173.789725, 175.628796},
                                             {2.006336, 2.598251, 157.573984, 158.1659},
                                             {1.277532, 1.312554, 131.090761, 131.125783},
                                             {1.76846, 1.906091, 111.950209, 112.08784}};

static void compare(hd_sheet *s, const hd_waves w[CASES])
{
    static const char *const fact[] = {"|P|^2", "nearest", "T1", "T2", "at T1", "at T2"},
                             *const distance[] = {"T = 0", "1", "2",  "3",  "4",  "5",
                                                  "6",     "7", "10", "20", "50", "100"};
    const char *name[CASES];
    double found[CASES * FACTS], product[TAUS * CASES];
    for (int i = 0; i < CASES; i++) {
        const int t = w[i].falls_to;
        const double one[FACTS] = {w[i].norm[1], w[i].nearest,          t,
                                   t + 1,        fabs(w[i].product[t]), fabs(w[i].product[t + 1])};
        for (int k = 0; k < FACTS; k++) found[i * FACTS + k] = one[k];
        for (int k = 0; k < TAUS; k++) product[k * CASES + i] = w[i].product[taus[k]];
        name[i] = cases[i].name;
    }
    hd_sheet_compare(s,
                     &(hd_sheet_matrix){"pe.facts",
                                        "norm, nearest two of 600, first T1 < T2 whose products grow", CASES,
                                        FACTS, name, fact},
                     found, facts[0]);
    hd_sheet_compare(s, &(hd_sheet_matrix){"pe.products", "P_t . P_(t+T)", TAUS, CASES, distance, name},
                     product, products[0]);
}

hd_status hd_worked_positions(hd_sheet *s, hd_err *err)
{
    static const double slide[] = {0,          1,          0,          1,          0,      1,
                                   0.04639922, 0.99892298, 0.00215443, 0.99999768, 0.0001, 1,
                                   0.0926985,  0.99569422, 0.00430886, 0.99999072, 0.0002, 0.99999998};
    static const char *const place[] = {"t = 0", "t = 1", "t = 2"};
    hd_real p[SHOWN * D];
    double found[SHOWN * D], norm = 0, shift = 0, apart = 0, nearest = (double)INFINITY;
    hd_waves w[CASES];
    bool strictly = true;
    hd_status status = HD_OK;
    hd_sheet_begin(
        s, "Positional encodings",
        "P_t holds sin(w_l t) and cos(w_l t) in turn. The slide's frequencies are 1/10000^(2l/d) with l "
        "from 1; the paper's begin with l = 0, so that its first columns turn by one radian a word. `heed "
        "lab positions` draws them.");
    hd_sinusoid_fill(p, SHOWN, D, &(hd_sinusoid){.first = 1});
    for (int i = 0; i < SHOWN * D; i++) found[i] = (double)p[i];
    hd_sheet_compare(
        s, &(hd_sheet_matrix){"pe.slide", "sin, cos of t / 10000^(2l/6), l from 1", SHOWN, D, place, NULL},
        found, slide);
    for (int i = 0; !status && i < CASES; i++) {
        const double half = (double)cases[i].d / 2;
        w[i] = (hd_waves){.d = cases[i].d, .first = cases[i].first};
        status = hd_waves_measure(&w[i], err);
        norm = fmax(norm, fmax(w[i].norm[1] - half, half - w[i].norm[0]) / half),
        shift = fmax(shift, w[i].shift);
        apart = fmax(apart, w[i].apart / half), nearest = fmin(nearest, w[i].nearest);
        strictly = strictly && !w[i].falls_to;
    }
    if (status) return status;
    compare(s, w);
    status = hd_sheet_end(s, err);
    hd_paper_claim(
        s->to, "|P_t|^2 is the same at every t; P_(t+17) = M_17 P_t; P_t . P_(t+T) does not depend on t.",
        norm < 1e-5 && shift < 1e-5 && apart < 1e-5, "They hold to %.1g, %.1g and %.1g.", norm, shift, apart);
    hd_paper_claim(s->to, "No two positions have the same vector.", nearest > 0.01,
                   "The nearest two of 600 are %.4f apart.", nearest);
    hd_paper_claim(s->to, "|P_t . P_(t+T1)| > |P_t . P_(t+T2)| whenever T1 < T2.", strictly,
                   "It fails first at distances %d and %d, and with 512 columns at %d and %d.", w[0].falls_to,
                   w[0].falls_to + 1, w[2].falls_to, w[2].falls_to + 1);
    if (!strictly)
        hd_paper_note(s->to, "False as a strict statement: only the trend from the maximum at T = 0 holds.");
    return status;
}
