/* The chain, step by step. */
#include "lab/decoding/chain.h"

#include <math.h>
#include <string.h>

enum { END, A, B, C };

const char *const hd_chain_names[] = {[END] = "<eos>", [A] = "a", [B] = "b", [C] = "c"};

const struct hd_chain_example hd_chain_examples[] = {
    {"greedy",
     "Greedy search is not optimal",
     3,
     {{0.1, 0.5, 0.4}, {0.4, 0.3, 0.3}, {0.9, 0.05, 0.05}},
     {{{{A, END}, 2, 0.2}},
      {{{B, END}, 2, 0.36}, {{A, END}, 2, 0.2}},
      {{{B, END}, 2, 0.36}, {{A, END}, 2, 0.2}, {{A, A}, 2, 0.15}}},
     {{{B, END}, 2, 0.36}, {{A, END}, 2, 0.2}, {{A, B, END}, 3, 0.135}, {{END}, 1, 0.1}}},
    {"narrow",
     "A narrow beam misses the optimum",
     4,
     {{0, 0.4, 0.35, 0.25}, {0.3, 0.25, 0.25, 0.2}, {0.3, 0.25, 0.25, 0.2}, {1, 0, 0, 0}},
     {{{{A, END}, 2, 0.12}},
      {{{A, END}, 2, 0.12}, {{B, END}, 2, 0.105}},
      {{{C, END}, 2, 0.25}, {{A, END}, 2, 0.12}, {{B, END}, 2, 0.105}}},
     {{{C, END}, 2, 0.25}, {{A, END}, 2, 0.12}, {{B, END}, 2, 0.105}, {{A, C, END}, 3, 0.08}}},
};

void hd_chain_begin(hd_chain *c, const struct hd_chain_example *x)
{
    c->words = x->words;
    for (size_t a = 0; a < x->words; a++)
        for (size_t b = 0; b < x->words; b++) c->next[a][b] = x->next[a][b];
}

static int ask(hd_chain *c, int parent, int32_t word, double product)
{
    if (c->askeds == HD_CHAIN_ASKED) return -1;
    c->asked[c->askeds] = (hd_chain_path){parent, word, product};
    return (int)c->askeds++;
}

static hd_tensor *rows(hd_run *r, hd_chain *c, size_t first)
{
    size_t n = c->seats - first;
    hd_real *logp = hd_host_take(r, n * c->words * sizeof *logp);
    for (size_t i = 0; logp && i < n * c->words; i++)
        logp[i] = (hd_real)log(c->next[c->last[first + i / c->words]][i % c->words]);
    return logp ? hd_from(r, n, c->words, logp) : NULL;
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    hd_chain *c = context;
    if (c->seats + n > HD_CHAIN_SEATS) return hd_fail(r, HD_ELIMIT, "chain: too many sentences");
    for (size_t i = c->seats; i < c->seats + n; i++)
        c->seat[i] = ask(c, -1, HD_CHAIN_END, 1), c->last[i] = HD_CHAIN_END;
    c->seats += n;
    return rows(r, c, c->seats - n);
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t seats)
{
    hd_chain *c = context;
    for (size_t i = 0; i < seats; i++) {
        int from = c->seat[i];
        c->seat[i] =
            from < 0 ? from : ask(c, from, ids[i], c->asked[from].product * c->next[c->last[i]][ids[i]]);
        c->last[i] = ids[i];
    }
    return rows(r, c, 0);
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    hd_chain *c = context;
    if (n > HD_CHAIN_SEATS) return hd_fail(r, HD_ELIMIT, "chain: too many sentences"), HD_ELIMIT;
    size_t bytes = n * sizeof(int32_t);
    int32_t *kept = hd_host_take(r, 2 * bytes + 1);
    if (!kept) return r->err.status;
    for (size_t i = 0; i < n; i++) kept[i] = c->seat[parent[i]], kept[n + i] = c->last[parent[i]];
    memcpy(c->seat, kept, bytes), memcpy(c->last, kept + n, bytes);
    c->seats = n;
    return HD_OK;
}

hd_search_opt hd_chain_options(int beam, size_t limit)
{
    return (hd_search_opt){.kind = beam < 0    ? HD_SEARCH_EXHAUSTIVE
                                   : beam == 0 ? HD_SEARCH_GREEDY
                                               : HD_SEARCH_BEAM,
                           .beam = beam > 0 ? (size_t)beam : 0,
                           .best = beam > 0 ? (size_t)beam
                                   : beam   ? HD_CHAIN_TWIGS
                                            : 1,
                           .end = HD_CHAIN_END,
                           .max_length = limit,
                           .stop = HD_STOP_BEST};
}

hd_status hd_chain_search(hd_found **out, hd_chain *c, hd_run *r, const hd_search_opt *o, hd_err *err)
{
    static const int32_t source[] = {1};
    const hd_stepper s = {.vocab = c->words,
                          .items = 1,
                          .source = source,
                          .join = join,
                          .step = step,
                          .pick = pick,
                          .context = c};
    c->seats = c->askeds = 0;
    return hd_search(out, r, &s, o, err);
}
