/* Lecture 004: two searches that beams of one and two words get wrong, and a draw by Gumbel noise. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/decoding/chain.h"
#include "lab/desk.h"
#include "lab/worked/sheet.h"

/* Sentences as rows: found beside the lecture's. A sentence that is another one counts as no number. */
static void compare(hd_sheet *s, const char *name, const char *formula, const hd_found *f,
                    const hd_chain_sentence *lecture, size_t count)
{
    double found[HD_CHAIN_BEST], product[HD_CHAIN_BEST];
    char text[HD_CHAIN_BEST][32];
    const char *row[HD_CHAIN_BEST];
    for (size_t i = 0; i < count; i++) {
        const hd_guess *g = i < f->guesses ? &f->guess[i] : NULL;
        const hd_chain_sentence *c = &lecture[i];
        bool same = g && g->length == c->length && !memcmp(g->ids, c->ids, c->length * sizeof *c->ids);
        found[i] = same ? exp(g->sum) : (double)NAN, product[i] = c->product;
        size_t at = 0;
        for (size_t k = 0; k < c->length; k++)
            at += (size_t)snprintf(text[i] + at, sizeof text[i] - at, "%s%s", k ? " " : "",
                                   hd_chain_names[c->ids[k]]);
        row[i] = text[i];
    }
    hd_sheet_compare(s, &(hd_sheet_matrix){name, formula, count, 1, row, (const char *const[]){"product"}},
                     found, product);
}

static hd_status search(hd_sheet *s, const struct hd_chain_example *x, int beam, hd_err *err)
{
    static hd_chain c;
    char name[48], formula[64];
    hd_found *f = NULL;
    const hd_search_opt o = hd_chain_options(beam, beam < 0 ? 3 : 20);
    hd_chain_begin(&c, x);
    hd_status status = hd_chain_search(&f, &c, s->run, &o, err);
    snprintf(name, sizeof name, beam < 0 ? "search.%s.full" : "search.%s.beam%d", x->name, beam);
    snprintf(formula, sizeof formula, beam < 0 ? "the four best of all" : "the beam of %d when it stops",
             beam);
    if (!status && beam < 0) compare(s, name, formula, f, x->all, HD_CHAIN_BEST);
    if (!status && beam > 0) compare(s, name, formula, f, x->beam[beam - 1], (size_t)beam);
    hd_found_free(f);
    return status;
}

hd_status hd_worked_search(hd_sheet *s, hd_err *err)
{
    hd_status status = HD_OK;
    hd_sheet_begin(
        s, "Greedy search, beams and the whole tree",
        "The next word depends on the last one alone; rows are the last word (the first row: <sos>), "
        "columns <eos>, a, b, c. A beam keeps the K likeliest beginnings and stops when the best of "
        "them has ended. (The slide's pseudocode also extends sentences that have ended; its slide on "
        "termination says that they must not go on.) `heed lab search` draws the trees.");
    for (size_t e = 0; e < HD_CHAIN_EXAMPLES; e++) {
        const struct hd_chain_example *x = &hd_chain_examples[e];
        char name[48];
        double next[16];
        for (size_t i = 0; i < x->words * x->words; i++) next[i] = x->next[i / x->words][i % x->words];
        snprintf(name, sizeof name, "search.%s.next", x->name);
        hd_sheet_given(s, name, x->words, x->words, next);
        for (int k = 1; !status && k <= HD_CHAIN_BEAMS; k++) status = search(s, x, k, err);
        if (!status) status = search(s, x, -1, err);
    }
    return status ? status : hd_sheet_end(s, err);
}

hd_status hd_worked_gumbel(hd_sheet *s, hd_err *err)
{
    enum { WORDS = 3 };
    static const double y[WORDS] = {0.5, 0.3, 0.2}, g[WORDS] = {0.2, 1.1, -0.4},
                        soft[WORDS] = {0.37101807, 0.54753432, 0.08144761}, best[] = {1};
    static const char *const row[] = {"word"};
    double logs[WORDS], most[WORDS], at[1] = {0};
    hd_run *r = s->run;
    hd_sheet_begin(
        s, "Gumbel noise",
        "argmax(G + log Y) is a draw from Y where G is Gumbel noise; softmax(G + log Y) in its place has "
        "a gradient. `heed lab gumbel` draws many.");
    hd_sheet_given(s, "gumbel.Y", 1, WORDS, y);
    hd_sheet_given(s, "gumbel.G", 1, WORDS, g);
    for (int i = 0; i < WORDS; i++) logs[i] = log(y[i]);
    hd_tensor *x = hd_add(r, hd_desk_rows(r, 1, WORDS, g), hd_desk_rows(r, 1, WORDS, logs)),
              *p = hd_softmax(r, x);
    hd_desk_read(most, r, x);
    for (int i = 1; i < WORDS; i++)
        if (most[i] > most[(int)at[0]]) at[0] = i;
    hd_sheet_compare(s, &(hd_sheet_matrix){"gumbel.argmax", "argmax(G + log Y)", 1, 1, row, NULL}, at, best);
    hd_sheet_compare_tensor(
        s, &(hd_sheet_matrix){"gumbel.softmax", "softmax(G + log Y)", 1, WORDS, row, NULL}, p, soft);
    return hd_sheet_end(s, err);
}
