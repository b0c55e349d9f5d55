/* What CTC says of sounds. */
#include "task/transcribe/heard.h"

#include "base/mem.h"
#include "decode/joint/mix.h"
#include "model/encdec/encdec.h"

enum { FRAMES = 1 << 15 }; /* that are encoded at once */

/* How many items from `first` on have so many frames together; at least 1. */
static size_t some(const hd_frames_host *sounds, size_t first)
{
    size_t n = 0, frames = 0;
    while (first + n < sounds->items && (!n || frames + (size_t)sounds->frames[first + n] <= FRAMES))
        frames += (size_t)sounds->frames[first + n++];
    return n;
}

/* Encodes a part; its rows are added to those of h, of which there are `rows`. */
static hd_status hear(hd_heard *h, size_t *rows, hd_run *r, const hd_encdec *m, const hd_frames_host *part,
                      size_t first, hd_err *err)
{
    hd_frames frames;
    size_t more = 0, classes = m->opt.target_vocab;
    hd_run_begin(r, HD_INFERENCE);
    hd_frames_send(r, &frames, part);
    hd_rows x = hd_encdec_ctc(r, m, hd_encdec_encode(r, m, &(hd_items){.frames = &frames}));
    hd_tensor *logp = hd_log_softmax(r, x.t);
    const int32_t *len = logp ? hd_seg_lens(r, x.seg) : NULL;
    if (!len) return hd_run_status(r, err);
    for (size_t i = 0; i < part->items; i++) h->frames[first + i] = len[i], more += (size_t)len[i];
    hd_real *grown = hd_mem_grow(h->logp, (*rows + more) * classes * sizeof *grown);
    if (!grown) return hd_err_nomem(err, (*rows + more) * classes * sizeof *grown);
    h->logp = grown;
    if (!hd_read_output(r, logp, h->logp + *rows * classes)) return hd_run_status(r, err);
    *rows += more;
    return HD_OK;
}

hd_status hd_heard_make(hd_heard *out, hd_run *r, const hd_model_folder *f, const hd_frames_host *sounds,
                        hd_err *err)
{
    const hd_encdec *m = hd_model_folder_encdec(f);
    hd_heard h = {.frames = hd_mem_array(sounds->items + 1, sizeof *h.frames)};
    size_t rows = 0, from = 0, n;
    hd_status s = h.frames ? HD_OK : hd_err_nomem(err, sounds->items * sizeof *h.frames);
    for (size_t first = 0; !s && first < sounds->items; first += n) {
        hd_frames_host part = *sounds;
        n = some(sounds, first);
        part.value += from * sounds->bins, part.frames += first, part.items = n, part.number = NULL;
        s = hear(&h, &rows, r, m, &part, first, err);
        for (size_t i = 0; i < n; i++) from += (size_t)part.frames[i];
    }
    h.said = (hd_ctc_said){.logp = h.logp,
                           .frames = h.frames,
                           .items = sounds->items,
                           .classes = m->opt.target_vocab,
                           .blank = hd_tokenizer_special(f->tokenizer[1]).start};
    if (s)
        hd_heard_release(&h);
    else
        *out = h;
    return s;
}

void hd_heard_release(hd_heard *h)
{
    hd_mem_free(h->logp);
    hd_mem_free(h->frames);
    *h = (hd_heard){0};
}

hd_status hd_heard_stepper(hd_stepper *out, const hd_hearing *h, hd_err *err)
{
    const hd_encdec *m = hd_model_folder_encdec(h->model);
    const hd_special special = hd_tokenizer_special(h->model->tokenizer[1]);
    bool decodes = hd_encdec_decodes(&m->opt);
    hd_mix_part part[3] = {{.weight = 1 - h->share}};
    size_t n = 0;
    hd_status s = HD_OK;
    if (decodes) s = hd_encdec_sound_stepper(&part[n++].stepper, m, h->sounds, special.start, err);
    if (!s && h->heard) {
        part[n].weight = decodes ? h->share : 1;
        s = hd_ctc_stepper(&part[n++].stepper, &h->heard->said, special.end, err);
    }
    if (!s && h->lm) s = hd_fusion_part(&part[n++], h->lm, h->sounds->items, h->lm_weight, err);
    if (!s && n == 1) return *out = part[0].stepper, HD_OK;
    if (!s) s = hd_mix_stepper(out, part, n, err);
    for (size_t i = 0; s && i < n; i++) hd_stepper_release(&part[i].stepper);
    return s;
}
