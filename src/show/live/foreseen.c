/* What a model thinks of each token of a text before it is told. Through the cache, as in a search, where it
   can be some tokens at once: the log-probabilities are those of the search, to the bit. */
#include <math.h>
#include <string.h>

#include "show/live/inspection_parts.h"

enum { PIECE = 32 }; /* tokens that are read at once: others wait meanwhile */

hd_status hd_inspect_likeliest(const hd_inspecting *g, hd_inspect_choice **out, size_t *count,
                               const hd_real *logp, size_t vocab, const hd_tokenizer *t, hd_err *err)
{
    size_t most = g->ask->top < vocab ? g->ask->top : vocab, n = 0;
    hd_arena *memory = &g->into->memory;
    hd_inspect_choice *top = hd_arena_array(memory, most + 1, sizeof *top, err);
    if (!top) return HD_ENOMEM;
    for (size_t i = 0; most && i < vocab; i++) {
        double v = (double)logp[i];
        if (!(v > -INFINITY) || (n == most && v <= top[n - 1].logp)) continue;
        size_t at = n < most ? n++ : n - 1;
        for (; at && top[at - 1].logp < v; at--) top[at] = top[at - 1];
        top[at] = (hd_inspect_choice){.token.id = (int32_t)i, .logp = v};
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t id = top[i].token.id;
        hd_status s = hd_shown_tokens(&top[i].token, memory, &id, 1, t, (hd_line){0}, false, err);
        if (s) return s;
    }
    *out = top, *count = n;
    return HD_OK;
}

static size_t rank_of(const hd_real *logp, size_t vocab, int32_t id)
{
    size_t rank = 1;
    for (size_t i = 0; i < vocab; i++) rank += logp[i] > logp[id] || (logp[i] == logp[id] && i < (size_t)id);
    return rank;
}

/* The scores of what follows token i - 1 and, where they come at once, those behind it; *rows: how many. */
static hd_tensor *scores_from(hd_run *r, const hd_stepper *st, const hd_inspect_token *token, size_t i,
                              size_t *rows)
{
    int32_t ids[PIECE];
    size_t n = *rows < PIECE ? *rows : PIECE;
    *rows = 1;
    if (!i) return st->join(r, st->context, 1);
    if (!st->read) return st->step(r, st->context, &token[i - 1].token.id, 1);
    for (size_t k = 0; k < n; k++) ids[k] = token[i - 1 + k].token.id;
    *rows = n;
    return st->read(r, st->context, ids, rows);
}

hd_status hd_inspect_foresee(const hd_inspecting *g, const hd_stepper *st, hd_inspect_token *token,
                             size_t count, const hd_tokenizer *t, bool next, hd_err *err)
{
    hd_run *r = g->run;
    hd_status s = HD_OK;
    for (size_t i = 0, end; !s && i < count + next; i = end) {
        size_t rows = count + next - i;
        s = hd_inspect_goes_on(g->ask, err);
        if (s) break;
        hd_run_begin(r, HD_INFERENCE);
        const hd_tensor *scores = scores_from(r, st, token, i, &rows);
        hd_real *logp = scores ? hd_host_take(r, rows * st->vocab * sizeof *logp) : NULL;
        end = i + rows;
        bool read = logp && hd_read(r, scores, logp);
        for (size_t k = i; !s && read && k < end; k++, logp += st->vocab) {
            hd_inspect_token *of = k < count ? &token[k] : NULL;
            if (of) {
                of->logp = (double)logp[of->token.id];
                of->rank = rank_of(logp, st->vocab, of->token.id);
            }
            s = hd_inspect_likeliest(g, of ? &of->top : &g->into->next, of ? &of->tops : &g->into->nexts,
                                     logp, st->vocab, t, err);
        }
        if (!s) s = hd_run_status(r, err);
    }
    return s;
}
