/* What a search found. */
#include "decode/found.h"

#include <string.h>

#include "base/mem.h"

hd_status hd_found_new(hd_found **out, size_t items, size_t guesses, size_t tokens, hd_err *err)
{
    hd_found *f = hd_mem_zero(sizeof *f);
    if (!f) return hd_err_nomem(err, sizeof *f);
    *f = (hd_found){.items = items,
                    .begin = hd_mem_array(items + 1, sizeof *f->begin),
                    .guess = hd_mem_array(guesses, sizeof *f->guess),
                    .ids = hd_mem_array(tokens, sizeof *f->ids),
                    .logp = hd_mem_array(tokens, sizeof *f->logp)};
    if (!f->begin || !f->guess || !f->ids || !f->logp)
        return hd_found_free(f), hd_err_nomem(err, tokens * sizeof *f->logp + guesses * sizeof *f->guess);
    *out = f;
    return HD_OK;
}

void hd_found_free(hd_found *f)
{
    if (!f) return;
    hd_mem_free(f->begin);
    hd_mem_free(f->guess);
    hd_mem_free(f->ids);
    hd_mem_free(f->logp);
    hd_mem_free(f);
}

hd_guess *hd_found_add(hd_found *f, size_t length)
{
    hd_guess *g = &f->guess[f->guesses++];
    *g = (hd_guess){.ids = f->ids + f->used, .logp = f->logp + f->used, .length = length};
    f->used += length;
    return g;
}

void hd_found_close(hd_found *f, size_t item)
{
    f->begin[item + 1] = f->guesses;
}

hd_status hd_found_of(hd_found **out, const int32_t *ids, const int32_t *len, const size_t *count,
                      size_t items, hd_err *err)
{
    size_t guesses = 0, tokens = 0;
    for (size_t i = 0; i < items; i++)
        for (size_t j = 0; j < (count ? count[i] : 1); j++, guesses++) {
            if (len[guesses] < 0)
                return hd_err_set(err, HD_EARG, "sentence %zu has length %d", guesses, len[guesses]);
            tokens += (size_t)len[guesses];
        }
    hd_found *f = NULL;
    hd_status s = hd_found_new(&f, items, guesses, tokens, err);
    if (s) return s;
    for (size_t i = 0; i < items; i++) {
        for (size_t j = 0; j < (count ? count[i] : 1); j++)
            hd_found_add(f, (size_t)len[f->guesses])->finished = true;
        hd_found_close(f, i);
    }
    if (tokens) memcpy(f->ids, ids, tokens * sizeof *ids);
    *out = f;
    return HD_OK;
}

hd_status hd_found_copy(hd_found **out, const hd_found *f, hd_err *err)
{
    hd_found *to = NULL;
    hd_status s = hd_found_new(&to, f->items, f->guesses, f->used, err);
    if (s) return s;
    memcpy(to->begin, f->begin, (f->items + 1) * sizeof *f->begin);
    memcpy(to->ids, f->ids, f->used * sizeof *f->ids);
    memcpy(to->logp, f->logp, f->used * sizeof *f->logp);
    for (size_t i = 0; i < f->guesses; i++) {
        hd_guess *g = hd_found_add(to, f->guess[i].length);
        g->sum = f->guess[i].sum, g->score = f->guess[i].score, g->finished = f->guess[i].finished;
    }
    *out = to;
    return HD_OK;
}

void hd_found_sort(hd_found *f)
{
    for (size_t item = 0; item < f->items; item++) {
        hd_guess *g = hd_found_at(f, item);
        for (size_t i = 1; i < hd_found_count(f, item); i++) {
            hd_guess one = g[i];
            size_t j = i;
            for (; j && g[j - 1].score < one.score; j--) g[j] = g[j - 1];
            g[j] = one;
        }
    }
}
