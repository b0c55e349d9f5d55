/* Forms the batches of an epoch. Nothing here allocates once the arrays are there: the thread that prepares
   batches goes from one epoch to the next without a way to fail. */
#include "data/epoch.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* Streams of the seed that are ours: one an epoch. */
#define STREAM 0x6261746368000000u

static size_t window_of(const hd_batch_opt *opt)
{
    return (opt->window ? (size_t)opt->window : HD_BATCH_WINDOW) * opt->tokens;
}

/* Of a sentence that is not there nothing is counted, though it costs one. */
static size_t cost_of(const hd_epoch *e, size_t i)
{
    size_t cost = 0;
    for (size_t k = 0; k < e->group; k++) cost += hd_epoch_cost(e->corpus, i * e->group + k);
    return cost;
}

static hd_status measure(hd_epoch *e, size_t *total, hd_err *err)
{
    *total = 0;
    for (size_t i = 0; i < e->corpus->count; i++) {
        size_t cost = hd_epoch_cost(e->corpus, i);
        if (cost > e->opt->tokens)
            return hd_err_set(
                err, HD_ELIMIT,
                "sentence %zu has %zu tokens, a batch only %zu: raise the budget or leave out long sentences",
                i, cost, e->opt->tokens);
        *total += cost;
    }
    for (size_t i = 0; i < e->count; i++)
        if (cost_of(e, i) > e->longest) e->longest = cost_of(e, i);
    return HD_OK;
}

hd_status hd_epoch_init(hd_epoch *e, const hd_corpus *corpus, size_t group, const hd_batch_opt *opt,
                        hd_err *err)
{
    size_t total;
    *e = (hd_epoch){.corpus = corpus, .opt = opt, .group = group, .count = corpus->count / group};
    hd_status s = measure(e, &total, err);
    if (s) return s;
    /* two batches in a row of a window are together over the budget; each window may end with a small one */
    size_t most = 2 * (total / opt->tokens + 1) + total / window_of(opt) + 1;
    e->order = hd_mem_array(e->count, sizeof *e->order);
    e->sorted = hd_mem_array(e->count, sizeof *e->sorted);
    e->begin = hd_mem_array(most + 1, sizeof *e->begin);
    e->turn = hd_mem_array(most, sizeof *e->turn);
    e->tally = hd_mem_array(e->longest + 2, sizeof *e->tally);
    if (e->order && e->sorted && e->begin && e->turn && e->tally) return HD_OK;
    hd_epoch_release(e);
    return hd_err_nomem(err, corpus->count * sizeof *e->order);
}

void hd_epoch_release(hd_epoch *e)
{
    hd_mem_free(e->order);
    hd_mem_free(e->sorted);
    hd_mem_free(e->begin);
    hd_mem_free(e->turn);
    hd_mem_free(e->tally);
    *e = (hd_epoch){0};
}

static void shuffle(uint32_t *x, size_t count, hd_rng *rng)
{
    for (size_t i = count; i > 1; i--) {
        uint32_t j = hd_rng_below(rng, (uint32_t)i), keep = x[i - 1];
        x[i - 1] = x[j];
        x[j] = keep;
    }
}

/* By counting, so that equal lengths keep their order and no comparison decides. */
static void sort_window(hd_epoch *e, size_t begin, size_t end)
{
    memset(e->tally, 0, (e->longest + 2) * sizeof *e->tally);
    for (size_t i = begin; i < end; i++) e->tally[cost_of(e, e->order[i]) + 1]++;
    for (size_t cost = 1; cost <= e->longest; cost++) e->tally[cost + 1] += e->tally[cost];
    for (size_t i = begin; i < end; i++) e->sorted[e->tally[cost_of(e, e->order[i])]++] = e->order[i];
    memcpy(e->order + begin, e->sorted, (end - begin) * sizeof *e->order);
}

static void cut_window(hd_epoch *e, size_t begin, size_t end)
{
    size_t tokens = 0;
    for (size_t i = begin; i < end; i++) {
        size_t cost = cost_of(e, e->order[i]);
        if (i == begin || tokens + cost > e->opt->tokens) {
            e->begin[e->batches++] = (uint32_t)i;
            tokens = 0;
        }
        tokens += cost;
    }
}

void hd_epoch_form(hd_epoch *e, uint64_t number)
{
    const size_t count = e->count, window = window_of(e->opt);
    hd_rng rng = hd_rng_make(e->opt->seed, STREAM + number);
    for (size_t i = 0; i < count; i++) e->order[i] = (uint32_t)i;
    if (!e->opt->in_order) shuffle(e->order, count, &rng);
    e->number = number;
    e->batches = 0;
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        for (size_t tokens = 0; end < count && tokens < window; end++) tokens += cost_of(e, e->order[end]);
        sort_window(e, begin, end);
        cut_window(e, begin, end);
    }
    e->begin[e->batches] = (uint32_t)count;
    for (size_t i = 0; i < e->batches; i++) e->turn[i] = (uint32_t)i;
    if (!e->opt->in_order) shuffle(e->turn, e->batches, &rng);
}

const uint32_t *hd_epoch_batch(const hd_epoch *e, size_t turn, size_t *items)
{
    size_t batch = e->turn[turn], begin = e->begin[batch];
    *items = e->begin[batch + 1] - begin;
    return e->order + begin;
}
