/* Batches of sentence pairs on their way through the model. Everything is sent before the first kernel is
 * called, always in the same order: the rest can then be captured. */
#include "task/translate/batch.h"

#include "op/replay.h"

uint64_t hd_translate_send(hd_run *r, hd_translate_batch *out, const hd_encdec *m, const hd_batch *b,
                           size_t from, size_t to)
{
    size_t source = 0, target = 0, sources = 0, targets = 0, n = to - from;
    for (size_t i = 0; i < to; i++) {
        if (i == from) source = sources, target = targets, sources = targets = 0;
        sources += (size_t)b->source_len[i], targets += (size_t)b->target_len[i];
    }
    hd_bounds in = hd_bounds_of(r, b->source_len + from, n), to_be = hd_bounds_of(r, b->target_len + from, n);
    hd_seg *said = hd_seg_within(r, b->target_len + from, n, b->key + from, to_be);
    if (said && hd_encdec_unrolls(m)) said->steps = hd_unroll(r, said);
    *out = (hd_translate_batch){.in = hd_seg_within(r, b->source_len + from, n, b->key + from, in),
                                .out = said,
                                .source = hd_ids_within(r, b->source + source, sources, in.rows),
                                .input = hd_ids_within(r, b->input + target, targets, to_be.rows),
                                .output = hd_ids_within(r, b->output + target, targets, to_be.rows)};
    return hd_shape_mix(hd_shape_of(in, sources), hd_shape_of(to_be, targets));
}

hd_tensor *hd_translate_loss(hd_run *r, const hd_encdec *m, const hd_translate_batch *b, float smoothing)
{
    hd_encoded memory = hd_encdec_encode(r, m, b->source, b->in);
    hd_rows x = hd_encdec_decode(r, m, b->input, b->out, memory, NULL);
    return hd_encdec_loss(r, m, x, b->output, &(hd_loss_opt){.coef = 1, .smoothing = smoothing});
}
