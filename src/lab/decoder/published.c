/* Table 2 of "Attention Is All You Need", as the slides have it. */
#include "lab/decoder/published.h"

#include <math.h>

static const struct {
    const char *name;
    double bleu[2], flops[2]; /* to German, to French; 0: not said */
    bool transformer;
} published[] = {
    {"ByteNet", {23.75, 0}, {0, 0}, false},
    {"Deep-Att + PosUnk", {0, 39.2}, {0, 1.0e20}, false},
    {"GNMT + RL", {24.6, 39.92}, {2.3e19, 1.4e20}, false},
    {"ConvS2S", {25.16, 40.46}, {9.6e18, 1.5e20}, false},
    {"MoE", {26.03, 40.56}, {2.0e19, 1.2e20}, false},
    {"Deep-Att + PosUnk, ensemble", {0, 40.4}, {0, 8.0e20}, false},
    {"GNMT + RL, ensemble", {26.3, 41.16}, {1.8e20, 1.1e21}, false},
    {"ConvS2S, ensemble", {26.36, 41.29}, {7.7e19, 1.2e21}, false},
    {"Transformer, base", {27.3, 38.1}, {3.3e18, 3.3e18}, true},
    {"Transformer, big", {28.4, 41.8}, {2.3e19, 2.3e19}, true},
};
enum { SYSTEMS = sizeof published / sizeof *published, BASE = SYSTEMS - 2, BIG };

static void put_number(hd_paper *to, double x)
{
    if (!(x > 0))
        hd_paper_cell(to, "-");
    else if (x > 1000)
        hd_paper_cell(to, "%.1e", x);
    else
        hd_paper_cell(to, "%.2f", x);
}

void hd_published_put(hd_paper *to)
{
    double best = 0, cheapest = (double)INFINITY;
    bool below = true;
    hd_paper_table_of(to, "Table 2 as published: newstest2014, and what training cost", 5, 1);
    hd_paper_cell(to, "system"), hd_paper_cell(to, "BLEU EN-DE"), hd_paper_cell(to, "BLEU EN-FR"),
        hd_paper_cell(to, "FLOPs EN-DE"), hd_paper_cell(to, "FLOPs EN-FR");
    for (int i = 0; i < SYSTEMS; i++) {
        hd_paper_cell(to, "%s", published[i].name);
        for (int k = 0; k < 2; k++) put_number(to, published[i].bleu[k]);
        for (int k = 0; k < 2; k++) put_number(to, published[i].flops[k]);
        if (published[i].transformer) continue;
        best = fmax(best, published[i].bleu[0]);
        if (published[i].flops[0] > 0) cheapest = fmin(cheapest, published[i].flops[0]);
        if (published[i].bleu[1] > 0) below = below && published[BASE].bleu[1] < published[i].bleu[1];
    }
    const double margin = published[BIG].bleu[0] - best;
    hd_paper_claim(to,
                   "The Transformer is more than 2 BLEU better than all before it, ensembles included, at "
                   "less cost (EN-DE).",
                   margin > 2 && published[BASE].flops[0] < cheapest && published[BASE].bleu[0] > best,
                   "The big one has %.2f BLEU more than the best of them; the base one has %.2f more, for "
                   "%.2f times the operations of the cheapest.",
                   margin, published[BASE].bleu[0] - best, published[BASE].flops[0] / cheapest);
    if (below || published[BIG].flops[0] > cheapest)
        hd_paper_note(to,
                      "The big model costs %.1f times as much as the cheapest of them, and to French the "
                      "base model is below all others.",
                      published[BIG].flops[0] / cheapest);
}
