/* A text as a masked language model reads it, which is at once: every row is shown. */
#include "show/exhibit_parts.h"
#include "task/masked/masked.h"

static hd_status read_text(hd_ids *ids, const hd_model_folder *m, hd_line text, hd_err *err)
{
    const size_t most = m->model.type->sizes(m->model.self).positions;
    hd_status s = hd_exhibit_check(text, "text", err);
    if (!s) s = hd_masked_encode(m->tokenizer[0], text, ids, err);
    if (!s && ids->count > most)
        s = hd_err_set(err, HD_ELIMIT, "the text has %zu tokens: the model takes %zu", ids->count, most);
    return s;
}

/* The tokens, and where the masks are among them if the model can say what they stand for. */
static hd_status set_tokens(hd_exhibit *x, const hd_model_folder *m, hd_line text, const hd_ids *ids,
                            size_t *masks, hd_err *err)
{
    const int32_t mask = hd_masked_id(m->tokenizer[0]);
    hd_status s = hd_exhibit_tokens(x, &x->read, ids->at, ids->count, m->tokenizer[0], text, true, err);
    size_t *place = s ? NULL : hd_shown_take(&x->memory, ids->count, sizeof *place, err);
    if (!place) return s ? s : HD_ENOMEM;
    x->reads = ids->count, *masks = 0;
    for (size_t i = 0; i < ids->count; i++)
        if (ids->at[i] == mask) x->read[i].piece = HD_MASK_TEXT, place[(*masks)++] = i;
    if (!m->model.type->sizes(m->model.self).fills) *masks = 0;
    if (*masks) x->place = place;
    return HD_OK;
}

/* Runs the model; log-probabilities of the masks, NULL where there are none. */
static hd_tensor *read_masks(hd_run *r, const hd_model *m, const hd_ids *in, const size_t *place,
                             size_t masks)
{
    const int32_t len = (int32_t)in->count, *ids = hd_ints(r, in->at, in->count);
    const hd_seg *seg = hd_seg_of(r, &len, 1, NULL);
    const hd_model_sizes sizes = m->type->sizes(m->self);
    int32_t *row = hd_host_take(r, (masks + 1) * sizeof *row);
    if (!row) return NULL;
    for (size_t i = 0; i < masks; i++) row[i] = (int32_t)place[i];
    if (masks)
        return hd_log_softmax(r, m->type->fill(r, m->self, ids, NULL, seg, hd_ints(r, row, masks), masks));
    hd_rows x = m->type->rows(r, m->self, sizes.layers, ids, NULL, seg);
    if (sizes.pooler && x.t) m->type->pooled(r, m->self, x);
    return NULL;
}

static hd_status run(hd_exhibit *x, hd_run *r, const hd_model_folder *m, const hd_ids *ids, size_t masks,
                     hd_err *err)
{
    hd_exhibiting e = {.into = x, .of = m->model, .encoder = true, .decoder = true, .whole = true};
    hd_exhibit_begin(&e, r);
    hd_tensor *logp = read_masks(r, &m->model, ids, x->place, masks);
    return hd_exhibit_end(&e, r, logp, m->tokenizer[0], err);
}

hd_status hd_exhibit_masked(hd_exhibit *x, hd_run *r, const hd_model_folder *m, hd_line text, hd_err *err)
{
    hd_ids ids = {0};
    size_t masks = 0;
    hd_status s = read_text(&ids, m, text, err);
    if (!s) s = set_tokens(x, m, text, &ids, &masks, err);
    if (!s) s = run(x, r, m, &ids, masks, err);
    hd_ids_release(&ids);
    return s;
}
