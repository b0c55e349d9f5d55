/* Vectors of sentences, for benchmarks. */
#include "task/bench/vectors.h"

#include "base/mem.h"
#include "model/prepare.h"

enum { MOST_ITEMS = 256, MOST_TOKENS = 512 };

hd_status hd_bench_vectors_make(hd_bench_vectors *v, hd_backend *b, int layers, int heads, size_t width,
                                size_t vocab, hd_err *err)
{
    const hd_bert_opt o = {.stack.layers = layers,
                           .stack.heads = heads,
                           .stack.width = width,
                           .vocab = vocab,
                           .positions = MOST_TOKENS,
                           .headless = true};
    hd_status s = hd_bert_new(&v->model, b, &o, false, err);
    if (!s) s = hd_params_draw(&v->model->params, 1, err);
    if (!s) s = hd_bert_prepare(v->model, HD_PREDICTING, err);
    v->vectors = s ? NULL : hd_mem_array(MOST_ITEMS * width, sizeof *v->vectors);
    v->type = s ? NULL : hd_mem_array(MOST_ITEMS * MOST_TOKENS, sizeof *v->type);
    if (!s && (!v->vectors || !v->type)) s = hd_err_nomem(err, MOST_ITEMS * width * sizeof *v->vectors);
    return s;
}

void hd_bench_vectors_release(hd_bench_vectors *v)
{
    hd_bert_free(v->model);
    hd_mem_free(v->vectors);
    hd_mem_free(v->type);
}

hd_status hd_bench_vectors_run(hd_bench_vectors *v, hd_run *r, const int32_t *ids, const int32_t *len,
                               size_t items, hd_err *err)
{
    size_t rows = 0;
    for (size_t i = 0; items <= MOST_ITEMS && i < items; i++) rows += (size_t)len[i];
    if (items > MOST_ITEMS || rows > MOST_ITEMS * MOST_TOKENS)
        return hd_err_set(err, HD_ELIMIT, "vectors of %zu sentences", items);
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, len, items, NULL);
    const hd_items read = {.seg = seg, .ids = hd_ints(r, ids, rows), .type = hd_ints(r, v->type, rows)};
    hd_tensor *y = hd_reduce(r, hd_bert_rows(r, v->model, &read).t, seg, HD_MEAN);
    if (!y || r->err.status) return hd_err_set(err, r->err.status, "%s", r->err.text);
    return hd_read(r, y, v->vectors) ? HD_OK : hd_err_set(err, r->err.status, "%s", r->err.text);
}

double hd_bench_vectors_flops(const hd_bench_vectors *v, double items, double length)
{
    return hd_bert_flops(v->model, items, length, 0);
}
