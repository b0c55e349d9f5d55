/* A text as a masked language model reads it, which is at once: every row is shown. */
#include "show/exhibit_parts.h"
#include "task/masked/masked.h"

/* The tokens, and where the masks are among them if the model can say what they stand for. */
static hd_status set_tokens(hd_exhibit *x, const hd_model_folder *m, hd_line text, const hd_ids *ids,
                            hd_err *err)
{
    const hd_model_sizes n = m->model.type->sizes(m->model.self);
    hd_status s = hd_shown_check("", "text", ids->at, ids->count, n.vocab, n.positions, err);
    if (!s) s = hd_exhibit_tokens(x, &x->read, ids->at, ids->count, m->tokenizer[0], text, true, err);
    int32_t *place = s ? NULL : hd_shown_take(&x->memory, ids->count, sizeof *place, err);
    if (!place) return s ? s : HD_ENOMEM;
    for (x->reads = 0; x->reads < ids->count; x->reads++) {
        if (ids->at[x->reads] != hd_masked_id(m->tokenizer[0])) continue;
        x->read[x->reads].piece = HD_MASK_TEXT;
        if (n.fills) place[x->answers++] = (int32_t)x->reads;
    }
    if (x->answers) x->place = place;
    return HD_OK;
}

/* Runs the model; log-probabilities of the masks, NULL where there are none. */
static hd_tensor *read_masks(hd_run *r, const hd_model *m, const hd_ids *in, const int32_t *place,
                             size_t masks)
{
    const int32_t len = (int32_t)in->count, *ids = hd_ints(r, in->at, in->count);
    const hd_seg *seg = hd_seg_of(r, &len, 1, NULL);
    if (masks)
        return hd_log_softmax(r, m->type->fill(r, m->self, ids, NULL, seg, hd_ints(r, place, masks), masks));
    hd_rows x = hd_model_rows(r, m, ids, NULL, seg);
    if (m->type->sizes(m->self).pooler && x.t) m->type->pooled(r, m->self, x);
    return NULL;
}

hd_status hd_exhibit_masked(hd_exhibit *x, hd_run *r, const hd_model_folder *m, hd_line text, hd_err *err)
{
    hd_exhibiting e = {.into = x, .of = m->model, .encoder = true, .decoder = true, .whole = true};
    hd_ids ids = {0};
    hd_status s = hd_masked_encode(m->tokenizer[0], text, &ids, err);
    if (!s) s = set_tokens(x, m, text, &ids, err);
    if (!s) {
        hd_exhibit_begin(&e, r);
        hd_tensor *logp = read_masks(r, &m->model, &ids, x->place, x->answers);
        s = hd_exhibit_end(&e, r, logp, m->tokenizer[0], err);
    }
    hd_ids_release(&ids);
    return s;
}
