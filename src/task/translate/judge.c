/* Judging a translator by sentence pairs. Of several processes each judges its share, and all get the sum. */
#include "task/translate/judge.h"

#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "metric/metric.h"
#include "nn/block/heads.h"
#include "op/replay.h"
#include "task/translate/translate.h"

/* -- loss -- */

uint64_t hd_pair_batch_send(hd_run *r, hd_pair_batch *out, const hd_encdec *m, const hd_batch *b, size_t from,
                            size_t to)
{
    size_t source = 0, target = 0, sources = 0, targets = 0, n = to - from;
    for (size_t i = 0; i < to; i++) {
        if (i == from) source = sources, target = targets, sources = targets = 0;
        sources += (size_t)b->source_len[i], targets += (size_t)b->target_len[i];
    }
    hd_bounds in = hd_bounds_now(r, b->source_len + from, n),
              to_be = hd_bounds_now(r, b->target_len + from, n);
    hd_seg *said = hd_seg_within(r, b->target_len + from, n, b->key + from, to_be);
    if (said && hd_encdec_unrolls(m)) said->steps = hd_unroll(r, said);
    *out = (hd_pair_batch){.in = hd_seg_within(r, b->source_len + from, n, b->key + from, in),
                           .out = said,
                           .source = hd_ids_within(r, b->source + source, sources, in.rows),
                           .input = hd_ids_within(r, b->input + target, targets, to_be.rows),
                           .output = hd_ids_within(r, b->output + target, targets, to_be.rows)};
    return hd_shape_mix(hd_shape_of(in, sources), hd_shape_of(to_be, targets));
}

hd_tensor *hd_pair_batch_loss(hd_run *r, const hd_encdec *m, const hd_pair_batch *b, float smoothing)
{
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.seg = b->in, .ids = b->source});
    hd_rows x = hd_encdec_decode(r, m, b->input, b->out, memory, NULL);
    return hd_encdec_loss(r, m, x, b->output, &(hd_loss_opt){.coef = 1, .smoothing = smoothing});
}

hd_status hd_translate_judge(double *nats, double *tokens, hd_run *r, const hd_encdec *m, hd_batches *batches,
                             hd_err *err)
{
    const hd_batch *b;
    hd_pair_batch sent;
    double sum = 0, count = 0;
    int turn = 0;
    hd_status s = hd_batches_seek(batches, (hd_position){0}, err);
    while (!s && !(s = hd_batches_next(batches, &b, err)) && b) {
        count += (double)b->target_rows;
        if (turn++ % hd_ranks() != hd_rank()) continue;
        hd_heads_begin(r);
        hd_pair_batch_send(r, &sent, m, b, 0, b->items);
        sum += hd_loss_total(r, hd_pair_batch_loss(r, m, &sent, 0));
        hd_heads_end(r);
        if (r->err.status) s = hd_err_set(err, r->err.status, "validation: %s", r->err.text);
    }
    s = hd_ranks_agree(s, &sum, 1, err);
    *nats = sum, *tokens = count;
    return s;
}

/* -- BLEU -- */

/* BLEU is made of counts, which add up: that of all sentences, of which these are from `from` on. */
static hd_status score_all(double *out, const hd_translations *found, const hd_sentences *pairs, size_t from,
                           size_t count, hd_err *err)
{
    double sum[HD_METRIC_STATS] = {0};
    hd_metric *bleu = NULL;
    hd_status s = hd_metric_new(&bleu, HD_METRIC_bleu, &(hd_metric_opt){.refs = 1}, err);
    for (size_t i = 0; !s && i < count; i++) {
        const char *text = found->of[i].count ? found->of[i].hypothesis[0].text : "";
        hd_line reference = hd_sentence(pairs, 1, from + i);
        s = hd_metric_add(bleu, (hd_line){text, strlen(text)}, &reference, err);
    }
    if (!s) memcpy(sum, hd_metric_sums(bleu), (size_t)hd_metric_is(bleu)->stats * sizeof *sum);
    s = hd_ranks_agree(s, sum, HD_METRIC_STATS, err);
    if (!s) *out = hd_metric_of(bleu, sum);
    hd_metric_free(bleu);
    return s;
}

static hd_status translate_some(hd_translations *found, hd_run *r, const hd_model_folder *f,
                                const hd_sentences *pairs, size_t from, size_t count, hd_err *err)
{
    hd_line *line = hd_mem_array(count + 1, sizeof *line);
    if (!line) return hd_err_nomem(err, count * sizeof *line);
    for (size_t i = 0; i < count; i++) line[i] = hd_sentence(pairs, 0, from + i);
    hd_translate_opt o = {.search = hd_translate_usual(1),
                          .sentences = HD_SENTENCES_KEEP, /* as it was trained: a line is a sentence */
                          .too_long = HD_LONG_TRUNCATE};
    o.search.unscored = true;
    hd_status s = hd_translate(found, r, f, line, NULL, count, &o, err);
    hd_mem_free(line);
    return s;
}

hd_status hd_translate_bleu(double *out, hd_run *r, const hd_model_folder *f, const hd_sentences *pairs,
                            size_t most, hd_err *err)
{
    size_t all = pairs->count < most ? pairs->count : most;
    size_t rank = (size_t)hd_rank(), ranks = (size_t)hd_ranks(), from = all * rank / ranks;
    size_t count = all * (rank + 1) / ranks - from;
    hd_translations found = {0};
    hd_status s = count ? translate_some(&found, r, f, pairs, from, count, err) : HD_OK;
    if (!s) s = score_all(out, &found, pairs, from, count, err);
    hd_translations_release(&found);
    return s;
}
