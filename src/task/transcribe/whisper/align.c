/* Times of tokens: the weights of some heads, each column made comparable, smoothed, averaged, and the path
   of most weight through them. */
#include "task/transcribe/whisper/align.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { MEDIAN = 7 };

typedef struct collection {
    const hd_whisper_rules *rules;
    const hd_aligning *what;
    double *weight; /* [aligned, tokens, rows] */
    size_t tokens;
} collection;

/* The weights of a layer [Tq*Tk, H]: those of its heads that are asked for. */
static void take_layer(collection *c, hd_run *r, const hd_offer *offer, int layer)
{
    const hd_aligning *w = c->what;
    const int32_t *keys = hd_seg_lens(r, offer->keys);
    size_t heads = hd_cols_of(offer->t), cols = keys ? (size_t)keys[0] : 0;
    hd_real *all = keys ? hd_host_take(r, hd_count_of(offer->t) * sizeof *all) : NULL;
    if (!all || !hd_read(r, offer->t, all)) return;
    if (hd_rows_of(offer->t) != (w->count - 1) * cols || w->rows > cols) {
        hd_fail(r, HD_ESHAPE, "alignment: %s has %zu rows", offer->name, hd_rows_of(offer->t));
        return;
    }
    for (size_t k = 0; k < c->rules->aligned; k++) {
        if (c->rules->alignment[2 * k] != layer) continue;
        size_t head = (size_t)c->rules->alignment[2 * k + 1];
        double *to = c->weight + k * c->tokens * w->rows;
        for (size_t i = 0; i < c->tokens; i++)
            for (size_t j = 0; j < w->rows; j++)
                to[i * w->rows + j] = (double)all[((w->prompt + i) * cols + j) * heads + head];
    }
}

static void collect(void *context, hd_run *r, const hd_offer *offer)
{
    int layer = -1, end = 0;
    if (!offer->keys || offer->gradient) return;
    if (sscanf(offer->name, "dec.%d.cross.softmax%n", &layer, &end) == 1 && end && !offer->name[end])
        take_layer(context, r, offer, layer);
}

/* Every column gets mean 0 and deviation 1 over the tokens. */
static void standardize(double *x, size_t rows, size_t cols)
{
    for (size_t j = 0; j < cols; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < rows; i++) mean += x[i * cols + j];
        mean /= (double)rows;
        for (size_t i = 0; i < rows; i++) square += (x[i * cols + j] - mean) * (x[i * cols + j] - mean);
        double deviation = sqrt(square / (double)rows);
        for (size_t i = 0; i < rows; i++)
            x[i * cols + j] = deviation > 0 ? (x[i * cols + j] - mean) / deviation : 0;
    }
}

/* Into the place of the first head: what the path avoids. */
static hd_status make_cost(collection *c, hd_err *err)
{
    size_t heads = c->rules->aligned, cols = c->what->rows, cells = c->tokens * cols;
    hd_status s = HD_OK;
    for (size_t k = 0; !s && k < heads; k++) {
        double *x = c->weight + k * cells;
        standardize(x, c->tokens, cols);
        for (size_t i = 0; !s && i < c->tokens; i++) s = hd_median_filter(x + i * cols, cols, MEDIAN, err);
    }
    for (size_t i = 0; !s && i < cells; i++) {
        double sum = 0;
        for (size_t k = 0; k < heads; k++) sum += c->weight[k * cells + i];
        c->weight[i] = -sum / (double)heads;
    }
    return s;
}

static hd_status look(collection *c, hd_run *r, const hd_encdec *m, const hd_memory *memory, hd_err *err)
{
    const hd_probe probe = {.take = collect, .context = c}, *before = r->probe;
    const int32_t len = (int32_t)(c->what->count - 1);
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    hd_encdec_decode(r, m, hd_ints(r, c->what->ids, (size_t)len), hd_seg_of(r, &len, 1, NULL),
                     hd_memory_rows(r, &memory, 1), NULL);
    r->probe = before;
    return hd_run_status(r, err);
}

hd_status hd_whisper_align(double *out, hd_run *r, const hd_encdec *m, const hd_memory *memory,
                           const hd_whisper_rules *rules, const hd_aligning *what, hd_err *err)
{
    size_t said = what->count - what->prompt, cells = 0, all = 0;
    collection c = {.rules = rules, .what = what, .tokens = said ? said - 1 : 0};
    memset(out, 0, said * sizeof *out);
    if (said < 2 || !what->rows || !rules->aligned) return HD_OK;
    if (!hd_size_mul(c.tokens, what->rows, &cells) || !hd_size_mul(cells, rules->aligned, &all))
        return hd_err_set(err, HD_ELIMIT, "too many tokens to align");
    int32_t *column = hd_mem_array(said, sizeof *column);
    c.weight = hd_mem_array(all, sizeof *c.weight);
    hd_status s = column && c.weight ? HD_OK : hd_err_nomem(err, all * sizeof *c.weight);
    if (!s) s = look(&c, r, m, memory, err);
    if (!s) s = make_cost(&c, err);
    if (!s) s = hd_time_warp(column, c.weight, c.tokens, what->rows, err);
    for (size_t i = 0; !s && i < said; i++) out[i] = what->seconds * column[i < c.tokens ? i : c.tokens - 1];
    hd_mem_free(c.weight);
    hd_mem_free(column);
    return s;
}
