/* Judging a masked language model. */
#include "task/masked/training.h"

#include "backend/ranks.h"
#include "nn/block/heads.h"

enum { ROWS = 2048, SEED = 15 }; /* rows of a step, about */

static hd_status judge_rows(hd_masked_judged *to, hd_run *r, const hd_model_folder *f,
                            const hd_masked_rows *rows, hd_err *err)
{
    hd_bert_batch b;
    if (!rows->asked) return HD_OK;
    hd_heads_begin(r);
    hd_masked_rows_send(r, &b, rows, 0, rows->items);
    int32_t *best = hd_host_take(r, b.count * sizeof *best);
    hd_real *value = hd_host_take(r, b.count * sizeof *value);
    hd_tensor *logits = hd_bert_logits(r, hd_model_folder_bert(f), &b), *values = NULL;
    hd_tensor *ids = hd_top(r, logits, 1, &values);
    double nats = hd_loss_total(r, hd_cross_entropy(r, logits, b.target, &(hd_loss_opt){.coef = 1}));
    if (best && value && hd_top_read(r, ids, values, best, value))
        for (size_t i = 0, n = 0; i < rows->rows; i++)
            if (rows->target[i] >= 0) to->right += best[n++] == rows->target[i];
    hd_heads_end(r);
    if (r->err.status) return hd_err_set(err, r->err.status, "judging a text: %s", r->err.text);
    to->asked += rows->asked;
    to->nats += nats;
    return HD_OK;
}

hd_status hd_masked_judge(hd_masked_judged *out, hd_run *r, const hd_model_folder *f, const hd_masking *how,
                          const hd_stream_text *text, hd_err *err)
{
    size_t length = hd_model_folder_bert(f)->opt.positions, items = ROWS / length ? ROWS / length : 1;
    int32_t end = hd_tokenizer_special(f->tokenizer[0]).end;
    hd_masked_rows rows = {0};
    hd_masked_judged found = {0};
    int turn = 0;
    hd_status s = hd_masked_rows_init(&rows, items, length, err);
    for (size_t at = 0, number = 0, n; !s && at < text->count; at += n, number++) {
        hd_rng rng = hd_rng_make(SEED, number);
        n = hd_masked_window(text->ids, text->count, at, length - 1, end);
        hd_masked_rows_add(&rows, how, text->ids + at, n, &rng);
        if (rows.items < items && at + n < text->count) continue;
        if (turn++ % hd_ranks() == hd_rank()) s = judge_rows(&found, r, f, &rows, err);
        hd_masked_rows_clear(&rows);
    }
    double sum[] = {found.nats, (double)found.asked, (double)found.right};
    s = hd_ranks_agree(s, sum, 3, err);
    found = (hd_masked_judged){.nats = sum[0], .asked = (size_t)sum[1], .right = (size_t)sum[2]};
    if (!s && !found.asked)
        s = hd_err_set(err, HD_EARG, "the text to validate with has no token that could be masked");
    hd_masked_rows_release(&rows);
    if (!s) *out = found;
    return s;
}
