/* What a search of a chain went through, as a tree. */
#include <stdio.h>
#include <string.h>

#include "lab/decoding/chain.h"

enum { LONGEST = 3 }; /* sentences of the examples */

/* The rank of asked path `at`, followed by a word, among what was found; -1: it is none of it. */
static int rank_of(const hd_found *f, const hd_chain *c, int at, int32_t word)
{
    int32_t path[LONGEST + 1];
    size_t n = 0;
    path[LONGEST - n++] = word;
    for (; c->asked[at].parent >= 0 && n <= LONGEST; at = c->asked[at].parent)
        path[LONGEST - n++] = c->asked[at].word;
    for (size_t g = 0; g < f->guesses; g++)
        if (f->guess[g].length == n && !memcmp(f->guess[g].ids, path + LONGEST + 1 - n, n * sizeof *path))
            return (int)g;
    return -1;
}

void hd_chain_tree(hd_paper *to, const hd_chain *c, const hd_found *f, const char *title, const char *how)
{
    hd_twig twig[HD_CHAIN_TWIGS] = {{-1, "<sos>", 1, HD_TWIG_BEST, 0, 0}};
    int at[HD_CHAIN_ASKED] = {0}; /* the twig of an asked path */
    char text[96];
    size_t n = 1;
    for (size_t i = 0; i < c->askeds; i++)
        for (int32_t w = 0; w < (int32_t)c->words && n < HD_CHAIN_TWIGS; w++) {
            const hd_chain_path *from = &c->asked[i];
            double product = from->product * c->next[from->parent < 0 ? HD_CHAIN_END : from->word][w];
            if (product <= 0) continue;
            int rank = rank_of(f, c, (int)i, w);
            hd_twig_state state = rank < 0            ? HD_TWIG_PRUNED
                                  : w == HD_CHAIN_END ? HD_TWIG_ENDED
                                                      : HD_TWIG_KEPT;
            for (size_t k = i + 1; k < c->askeds; k++)
                if (c->asked[k].parent == (int)i && c->asked[k].word == w)
                    at[k] = (int)n, state = HD_TWIG_KEPT;
            twig[n++] = (hd_twig){at[i], hd_chain_names[w], product, rank ? state : HD_TWIG_BEST, 0, 0};
        }
    for (size_t i = n; i-- > 1;) /* what leads to the best */
        if (twig[i].state == HD_TWIG_BEST) twig[twig[i].parent].state = HD_TWIG_BEST;
    snprintf(text, sizeof text, "%s: %s", title, how);
    hd_paper_tree(
        to, &(hd_tree){.title = text,
                       .about = "products of probabilities; words at the right follow those at the left",
                       .twig = twig,
                       .count = n,
                       .digits = 3});
}
