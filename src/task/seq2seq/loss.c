/* What encoder-decoders learn by. */
#include "task/seq2seq/seq2seq.h"

hd_tensor *hd_seq2seq_loss(hd_run *r, const hd_encdec *m, hd_encoded memory, const hd_targets_sent *text,
                           int32_t start, float smoothing)
{
    hd_tensor *aligned = NULL;
    if (m->ctc.w)
        aligned = hd_ctc(r, hd_encdec_ctc(r, m, memory), text->label, text->labels, start,
                         &(hd_loss_opt){.coef = m->opt.ctc});
    if (!hd_encdec_decodes(&m->opt)) return aligned;
    hd_rows x = hd_encdec_decode(r, m, text->input, text->seg, memory, NULL);
    return hd_encdec_loss(r, m, x, text->output,
                          &(hd_loss_opt){.coef = 1 - m->opt.ctc, .smoothing = smoothing});
}
