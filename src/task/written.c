/* Texts that a search found. */
#include "task/written.h"

#include <string.h>

static hd_status init(hd_written_all *out, size_t count, hd_err *err)
{
    hd_written_all w = {.count = count};
    hd_arena_init(&w.memory, hd_allocator_host, 1 << 16);
    w.of = hd_arena_array(&w.memory, count + 1, sizeof *w.of, err);
    w.found = w.of ? hd_arena_array(&w.memory, count + 1, sizeof *w.found, err) : NULL;
    if (!w.found) return hd_arena_release(&w.memory), HD_ENOMEM;
    memset(w.found, 0, (count + 1) * sizeof *w.found);
    *out = w;
    return HD_OK;
}

static hd_status put_one(hd_written_all *to, hd_written *c, const hd_guess *g, const hd_tokenizer *t,
                         hd_err *err)
{
    hd_text text = {0};
    int32_t *ids = hd_arena_array(&to->memory, g->length + 1, sizeof *ids, err);
    hd_real *logp = ids ? hd_arena_array(&to->memory, g->length + 1, sizeof *logp, err) : NULL;
    if (!logp) return HD_ENOMEM;
    if (g->length) memcpy(ids, g->ids, g->length * sizeof *ids);
    if (g->length) memcpy(logp, g->logp, g->length * sizeof *logp);
    hd_status s = hd_tokenizer_decode(t, g->ids, g->length, &text, err);
    if (!s) s = hd_text_status(&text, err);
    char *copy = s ? NULL : hd_arena_array(&to->memory, text.size + 1, 1, err);
    if (!s && !copy) s = HD_ENOMEM;
    if (copy && text.size) memcpy(copy, text.data, text.size);
    if (copy) copy[text.size] = 0;
    hd_text_release(&text);
    *c = (hd_written){.text = copy,
                      .ids = ids,
                      .logp = logp,
                      .length = g->length,
                      .sum = g->sum,
                      .score = g->score,
                      .finished = g->finished};
    return s;
}

static hd_status take(hd_written_all *to, const hd_found *found, const hd_tokenizer *t, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < to->count; i++) {
        size_t n = hd_found_count(found, i);
        to->of[i] = hd_arena_array(&to->memory, n + 1, sizeof **to->of, err);
        if (!to->of[i]) return HD_ENOMEM;
        for (; !s && to->found[i] < n; to->found[i] += !s)
            s = put_one(to, &to->of[i][to->found[i]], hd_found_at(found, i) + to->found[i], t, err);
    }
    return s;
}

hd_status hd_written_make(hd_written_all *out, const hd_found *found, size_t count, const hd_tokenizer *t,
                          hd_err *err)
{
    hd_written_all w;
    hd_status s = init(&w, count, err);
    if (s) return s;
    s = take(&w, found, t, err);
    if (s)
        hd_written_release(&w);
    else
        *out = w;
    return s;
}

void hd_written_release(hd_written_all *w)
{
    if (w->memory.chunks) hd_arena_release(&w->memory);
    *w = (hd_written_all){0};
}
