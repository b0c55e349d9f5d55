/* Texts in ids. */
#include "task/seq2seq/targets.h"

#include <string.h>

#include "base/mem.h"
#include "nn/unroll.h"
#include "op/replay.h"

hd_status hd_targets_take(hd_targets *t, const hd_line *from, size_t count, bool cased, hd_targets_put *put,
                          hd_err *err)
{
    hd_text one = {0};
    hd_status s = HD_OK;
    if (!t->memory.chunks) hd_arena_init(&t->memory, hd_allocator_host, 1 << 16);
    t->count = count;
    t->text = hd_arena_array(&t->memory, count + 1, sizeof *t->text, err);
    if (!t->text) return HD_ENOMEM;
    for (size_t i = 0; !s && i < count; i++) {
        one.size = 0;
        put(&one, from[i], cased);
        s = hd_text_status(&one, err);
        char *copy = s ? NULL : hd_arena_array(&t->memory, one.size + 1, 1, err);
        if (!s && !copy) s = HD_ENOMEM;
        if (copy && one.size) memcpy(copy, one.data, one.size);
        if (copy) copy[one.size] = 0, t->text[i] = (hd_line){copy, one.size};
    }
    hd_text_release(&one);
    return s;
}

void hd_targets_release(hd_targets *t)
{
    hd_mem_free(t->id);
    hd_mem_free(t->begin);
    if (t->memory.chunks) hd_arena_release(&t->memory);
    *t = (hd_targets){0};
}

static bool next_line(void *context, hd_line *line)
{
    hd_targets_walk *w = context;
    if (w->next == w->of->count) return false;
    *line = w->of->text[w->next++];
    return true;
}

hd_feed hd_targets_feed(hd_targets_walk *walk)
{
    walk->next = 0;
    return (hd_feed){next_line, walk};
}

hd_status hd_targets_encode(hd_targets *t, const hd_tokenizer *by, size_t longest, hd_targets_cut *cut,
                            hd_err *err)
{
    hd_ids ids = {0};
    hd_status s = HD_OK;
    *cut = (hd_targets_cut){0};
    hd_mem_free(t->begin);
    t->begin = hd_mem_array(t->count + 1, sizeof *t->begin);
    if (!t->begin) return hd_err_nomem(err, t->count * sizeof *t->begin);
    for (size_t i = 0; !s && i < t->count; i++) {
        size_t from = t->begin[i] = ids.count;
        s = hd_tokenizer_encode_ids(by, t->text[i].text, t->text[i].size, &ids, err);
        if (s || ids.count - from <= longest) continue;
        if (!cut->count++) cut->first = i, cut->tokens = ids.count - from;
        ids.count = from + longest;
    }
    if (s) return hd_ids_release(&ids), s;
    t->begin[t->count] = ids.count;
    hd_mem_free(t->id);
    t->id = ids.at;
    return HD_OK;
}

size_t hd_targets_sum(const hd_targets *t, const uint32_t *which, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += hd_targets_tokens(t, which[i]);
    return sum;
}

static uint64_t send_labels(hd_run *r, hd_targets_sent *out, const hd_targets *t, const hd_targets_ask *ask)
{
    size_t rows = hd_targets_sum(t, ask->which, ask->items) - ask->items, at = 0;
    int32_t *len = hd_host_take(r, (ask->items + 1) * sizeof *len),
            *label = hd_host_take(r, (rows + 1) * sizeof *label);
    if (!len || !label) return 0;
    for (size_t i = 0; i < ask->items; i++) {
        size_t n = hd_targets_tokens(t, ask->which[i]) - 1;
        if (n) memcpy(label + at, t->id + t->begin[ask->which[i]], n * sizeof *label);
        len[i] = (int32_t)n, at += n;
    }
    hd_bounds bounds = hd_bounds_now(r, len, ask->items);
    out->labels = hd_seg_within(r, len, ask->items, NULL, bounds);
    out->label = hd_ids_within(r, label, rows, bounds.rows);
    return hd_shape_of(bounds, rows);
}

uint64_t hd_targets_send(hd_run *r, hd_targets_sent *out, const hd_targets *t, const hd_targets_ask *ask)
{
    size_t rows = hd_targets_sum(t, ask->which, ask->items) + ask->items * ask->prompts, at = 0;
    int32_t *len = hd_host_take(r, (ask->items + 1) * sizeof *len),
            *input = hd_host_take(r, (2 * rows + 1) * sizeof *input), *output = input + rows;
    if (!len || !input) return 0;
    for (size_t i = 0; i < ask->items; i++) {
        size_t n = hd_targets_tokens(t, ask->which[i]) - 1;
        const int32_t *ids = t->id + t->begin[ask->which[i]];
        len[i] = (int32_t)(ask->prompts + n) + 1;
        for (size_t k = 0; k < ask->prompts; k++) input[at] = ask->prompt[k], output[at++] = -1;
        input[at] = ask->special.start, output[at + n] = ask->special.end;
        if (n) memcpy(input + at + 1, ids, n * sizeof *ids), memcpy(output + at, ids, n * sizeof *ids);
        at += n + 1;
    }
    hd_bounds bounds = hd_bounds_now(r, len, ask->items);
    if (ask->exact) bounds.items = ask->items;
    hd_seg *seg = hd_seg_within(r, len, ask->items, ask->key, bounds);
    if (seg && ask->unrolls) seg->steps = hd_unroll(r, seg);
    *out = (hd_targets_sent){.seg = seg,
                             .input = hd_ids_within(r, input, rows, bounds.rows),
                             .output = hd_ids_within(r, output, rows, bounds.rows)};
    uint64_t shape = hd_shape_of(bounds, rows);
    return ask->labels ? hd_shape_mix(shape, send_labels(r, out, t, ask)) : shape;
}
