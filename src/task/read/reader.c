/* The folder of a reader of handwriting, and reading with it. */
#include <string.h>

#include "base/mem.h"
#include "decode/joint/ctc.h"
#include "metric/metric.h"
#include "task/read/read.h"

enum { TOGETHER = 32 };

void hd_stroke_reader_write(hd_text *to, const hd_model_folder *f)
{
    hd_reader_config_write(to, &hd_model_folder_reader(f)->opt);
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

void hd_stroke_reader_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_reader_opt o;
    hd_reader *m = NULL;
    hd_reader_config_read(c, &o);
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (!c->status) {
        size_t pieces = hd_tokenizer_size(f->tokenizer[0]);
        if (pieces != o.vocab)
            c->status = hd_tokenizer_refuse(f->tokenizer[0], pieces, "vocab", o.vocab, c->err);
    }
    if (!c->status) c->status = hd_reader_new(&m, backend, &o, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_READ, hd_reader_model(m));
}

/* Log-probabilities of the frames of a batch in host memory, [frames, classes]. */
static hd_real *read_frames(hd_run *r, hd_rows logits)
{
    hd_tensor *logp = hd_log_softmax(r, logits.t);
    hd_real *host = logp ? hd_mem_array(hd_count_of(logp) + 1, sizeof *host) : NULL;
    if (logp && !host) hd_err_nomem(&r->err, hd_count_of(logp) * sizeof *host);
    if (host) hd_read_output(r, logp, host);
    return host;
}

static hd_status score(hd_metric *cer, const hd_found *found, const hd_tokenizer *t, const hd_write_lines *l,
                       const uint32_t *which, hd_text *said, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < found->items; i++) {
        const hd_guess *g = hd_found_at(found, i);
        const char *truth = hd_strokes_text(l->strokes, which[i]);
        const hd_line ref = {truth, strlen(truth)};
        hd_text text = {0};
        s = hd_tokenizer_decode(t, g->ids, g->length, &text, err);
        if (!s) s = hd_metric_add(cer, (hd_line){text.data ? text.data : "", text.size}, &ref, err);
        if (!s && said) hd_text_print(said, "%s\n", text.data ? text.data : "");
        hd_text_release(&text);
    }
    return s;
}

static hd_status read_batch(hd_read_judged *out, hd_metric *cer, hd_run *r, const hd_model_folder *f,
                            const hd_write_lines *l, const uint32_t *which, size_t n, hd_text *said,
                            hd_err *err)
{
    const hd_reader *m = hd_model_folder_reader(f);
    hd_handwriting_batch b;
    hd_found *found = NULL;
    hd_run_begin(r, HD_INFERENCE);
    hd_write_send(r, &b, l, which, n, &m->opt.scale, false);
    hd_write_send_text(r, &b, l, which, n);
    hd_rows logits = hd_reader_rows(r, m, b.point);
    out->loss += hd_loss_total(r, hd_ctc(r, logits, b.ids, b.text, HD_PAD_ID, &(hd_loss_opt){.coef = 1}));
    hd_real *logp = r->err.status ? NULL : read_frames(r, logits);
    const int32_t *frames = logp ? hd_seg_lens(r, logits.seg) : NULL;
    hd_status s = hd_run_status(r, err);
    if (!s) s = hd_ctc_greedy(&found, &(hd_ctc_said){logp, frames, n, m->opt.vocab, HD_PAD_ID}, err);
    if (!s) s = score(cer, found, f->tokenizer[0], l, which, said, err);
    hd_found_free(found);
    hd_mem_free(logp);
    return s;
}

hd_status hd_read_lines(hd_read_judged *out, hd_run *r, const hd_model_folder *f, const hd_strokes *strokes,
                        hd_text *said, hd_err *err)
{
    hd_write_lines l = {0};
    hd_metric *cer = NULL;
    uint32_t which[TOGETHER];
    *out = (hd_read_judged){.lines = strokes->count};
    hd_status s = hd_write_lines_make(&l, strokes, f->tokenizer[0], err);
    if (!s) s = hd_metric_new(&cer, HD_METRIC_cer, &(hd_metric_opt){.refs = 1}, err);
    for (size_t at = 0; !s && at < strokes->count; at += TOGETHER) {
        size_t n = strokes->count - at < TOGETHER ? strokes->count - at : TOGETHER;
        for (size_t i = 0; i < n; i++) which[i] = (uint32_t)(at + i);
        s = read_batch(out, cer, r, f, &l, which, n, said, err);
    }
    if (!s) s = hd_metric_finish(cer, &out->cer, err);
    out->cer /= 100;
    hd_metric_free(cer);
    hd_write_lines_release(&l);
    return s;
}
