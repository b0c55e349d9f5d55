/* Filling in the blanks of a text. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "task/masked/masked.h"

enum {
    SPECIALS = 5
}; /* as many may be among the likeliest, and are passed over, as are ids without a piece */

hd_status hd_masked_fill_check(const hd_model_folder *f, hd_err *err)
{
    if (!hd_model_folder_bert(f)->opt.headless) return HD_OK;
    return hd_err_set(err, HD_EARG,
                      "the model has no head that predicts words: `heed embed` makes vectors with it");
}

static hd_status check(hd_line text, hd_err *err)
{
    if (hd_utf8_good(text.text, text.size) < text.size || memchr(text.text, 0, text.size))
        return hd_err_set(err, HD_EFORMAT, "the text is not UTF-8 or holds a zero byte");
    return HD_OK;
}

/* The rows of the masks; as many as are found. */
static size_t find_masks(const hd_model_folder *f, const hd_ids *ids, int32_t *place)
{
    size_t n = 0;
    int32_t mask = hd_masked_id(f->tokenizer[0]);
    for (size_t i = 0; i < ids->count; i++)
        if (ids->at[i] == mask) place[n++] = (int32_t)i;
    return n;
}

static void keep_best(hd_filled *out, const hd_model_folder *f, const int32_t *id, const hd_real *logp,
                      size_t k)
{
    for (size_t i = 0; i < out->masks; i++, id += k, logp += k) {
        hd_filling *to = out->choice + i * out->top;
        for (size_t j = 0, n = 0; j < k && n < out->top; j++)
            if (hd_masked_piece(f->tokenizer[0], id[j]) && !hd_masked_is_special(f->tokenizer[0], id[j]))
                to[n++] = (hd_filling){id[j], exp((double)logp[j])};
    }
}

static hd_status ask(hd_filled *out, hd_run *r, const hd_model_folder *f, const hd_ids *ids,
                     const int32_t *place, hd_err *err)
{
    size_t rows = ids->count, vocab = hd_model_folder_bert(f)->opt.vocab,
           k = out->top + SPECIALS + (vocab - hd_masked_vocab(f->tokenizer[0]));
    if (k > vocab) k = vocab;
    hd_run_begin(r, HD_INFERENCE);
    int32_t *type = hd_host_take(r, rows * sizeof *type), len = (int32_t)rows; /* zeros: the first text */
    int32_t *id = hd_host_take(r, out->masks * k * sizeof *id);
    hd_real *logp = hd_host_take(r, out->masks * k * sizeof *logp);
    if (type && id && logp) {
        hd_bert_batch b = {.seg = hd_seg_of(r, &len, 1, NULL),
                           .ids = hd_ints(r, ids->at, rows),
                           .type = hd_ints(r, type, rows),
                           .place = hd_ints(r, place, out->masks),
                           .count = out->masks};
        hd_tensor *value = NULL,
                  *best = hd_top(r, hd_log_softmax(r, hd_bert_logits(r, hd_model_folder_bert(f), &b)), (int)k,
                                 &value);
        if (hd_top_read(r, best, value, id, logp) && !hd_all_finite(logp, out->masks * k)) hd_fail_number(r);
        if (!r->err.status) keep_best(out, f, id, logp, k);
    }
    return hd_run_status(r, err);
}

hd_status hd_masked_fill(hd_filled *out, hd_run *r, const hd_model_folder *f, hd_line text, size_t top,
                         hd_err *err)
{
    size_t vocab = hd_masked_vocab(f->tokenizer[0]), pieces = vocab > SPECIALS ? vocab - SPECIALS : 1;
    hd_ids ids = {0};
    int32_t *place = NULL;
    *out = (hd_filled){.top = top < pieces ? top : pieces};
    hd_status s = hd_masked_fill_check(f, err);
    if (!s) s = check(text, err);
    if (!s) s = hd_masked_encode(f->tokenizer[0], text, &ids, err);
    if (!s && !(place = hd_mem_array(ids.count, sizeof *place)))
        s = hd_err_nomem(err, ids.count * sizeof *place);
    if (!s) out->masks = find_masks(f, &ids, place);
    if (!s && !out->masks)
        s = hd_err_set(err, HD_EARG,
                       "there is no " HD_MASK_TEXT " in the text: write it where a word is missing");
    if (!s && ids.count > hd_model_folder_bert(f)->opt.positions)
        s = hd_err_set(err, HD_ELIMIT, "the text has %zu tokens: the model takes %zu", ids.count,
                       hd_model_folder_bert(f)->opt.positions);
    if (!s && !(out->choice = hd_mem_array(out->masks * out->top, sizeof *out->choice)))
        s = hd_err_nomem(err, out->masks * out->top * sizeof *out->choice);
    if (!s) s = ask(out, r, f, &ids, place, err);
    hd_ids_release(&ids);
    hd_mem_free(place);
    if (s) hd_filled_release(out);
    return s;
}

void hd_filled_release(hd_filled *f)
{
    hd_mem_free(f->choice);
    *f = (hd_filled){0};
}
