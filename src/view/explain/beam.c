/* Hypotheses of a search as twigs of a tree. */
#include "view/explain/beam.h"

#include <math.h>

#include "base/mem.h"

static size_t nodes_of(const hd_inspection *x)
{
    size_t n = 1; /* the root */
    for (size_t i = 0; i < x->steps; i++) n += x->step[i].nodes;
    return n;
}

/* A node of a step behind the twigs of those before it. best: the twig before it on the way to what was
   found; gets the one of this step. */
static size_t add_step(hd_twig *twig, size_t at, size_t before, const hd_inspection *x, size_t step,
                       int *best)
{
    const hd_inspect_step *s = &x->step[step];
    const size_t place = x->forced + step;
    int found = -1;
    for (size_t i = 0; i < s->nodes; i++) {
        const hd_inspect_node *n = &s->node[i];
        hd_twig *t = &twig[at + i];
        *t = (hd_twig){.parent = n->parent < 0 ? 0 : (int)before + n->parent,
                       .name = hd_shown_plain(&n->token),
                       .value = n->sum,
                       .state = n->state == HD_INSPECT_PRUNED     ? HD_TWIG_PRUNED
                                : n->state == HD_INSPECT_FINISHED ? HD_TWIG_ENDED
                                                                  : HD_TWIG_KEPT};
        if (place < x->targets && t->parent == *best && n->token.id == x->target[place].token.id)
            t->state = HD_TWIG_BEST, found = (int)(at + i);
    }
    *best = found;
    return at + s->nodes;
}

hd_status hd_beam_paper(hd_paper *to, const hd_inspection *x, hd_err *err)
{
    size_t count = nodes_of(x), at = 1, before = 0;
    int best = 0;
    hd_twig *twig = hd_mem_array(count, sizeof *twig);
    if (!twig) return hd_err_nomem(err, count * sizeof *twig);
    twig[0] = (hd_twig){.parent = -1, .name = "<s>", .state = HD_TWIG_BEST};
    for (size_t i = 0; i < x->steps; i++) {
        size_t next = add_step(twig, at, before, x, i, &best);
        before = at, at = next;
    }
    hd_paper_say(to, "Found: %s", x->written);
    hd_paper_tree(to, &(hd_tree){.title = "The search, step by step",
                                 .about = "log-probability of all words up to there",
                                 .twig = twig,
                                 .count = count,
                                 .digits = 2});
    hd_paper_table_of(to, "What was found, the best first", 3, 0);
    hd_paper_cell(to, "score"), hd_paper_cell(to, "log-probability"), hd_paper_cell(to, "translation");
    for (size_t i = 0; i < x->guesses; i++) {
        hd_paper_cell(to, "%.4f", x->guess[i].score);
        hd_paper_cell(to, "%.4f", x->guess[i].sum);
        hd_paper_cell(to, "%s%s", x->guess[i].text, x->guess[i].finished ? "" : " ...");
    }
    hd_mem_free(twig);
    return hd_paper_status(to, err);
}
