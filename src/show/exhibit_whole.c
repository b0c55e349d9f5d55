/* A text that is read at once: by a masked language model, which fills in its masks, by a classifier or by a
   tagger. Every row is shown. */
#include <string.h>

#include "show/exhibit_parts.h"
#include "task/label/labeler.h"
#include "task/masked/masked.h"

/* -- masks -- */

/* The tokens, and the positions of the masks if the model can predict them. */
static hd_status set_tokens(hd_exhibit *x, const hd_model_folder *m, hd_line text, const hd_ids *ids,
                            hd_err *err)
{
    const hd_model_sizes n = m->model.type->sizes(m->model.self);
    hd_status s = hd_shown_check("", "text", ids->at, ids->count, n.vocab, n.positions, err);
    if (!s) s = hd_exhibit_tokens(x, &x->read, ids->at, ids->count, m->tokenizer[0], text, true, err);
    int32_t *place = s ? NULL : hd_arena_array(&x->memory, ids->count, sizeof *place, err);
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
static hd_tensor *read_masks(hd_run *r, const hd_model *m, const hd_ids *ids, const int32_t *place,
                             size_t masks)
{
    const int32_t len = (int32_t)ids->count;
    const hd_items in = {.ids = hd_ints(r, ids->at, ids->count), .seg = hd_seg_of(r, &len, 1, NULL)};
    if (masks) return hd_log_softmax(r, m->type->fill(r, m->self, &in, hd_ints(r, place, masks), masks));
    hd_rows x = hd_model_rows(r, m, &in);
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

/* -- labels -- */

static hd_status read_text(hd_examples *x, const hd_model_folder *f, hd_line text, hd_err *err)
{
    const hd_examples_opt opt = hd_labeler_examples(&hd_model_folder_classifier(f)->opt);
    hd_labeled items = {0};
    hd_status s = hd_labeler_take(&items, f, text, err);
    if (!s) s = hd_examples_make(x, &items, f->tokenizer[0], &opt, err);
    if (!s && (!x->count || !x->labels)) s = hd_err_set(err, HD_EARG, "the text is empty");
    if (!s && (x->cut || x->count > 1))
        s = hd_err_set(err, HD_ELIMIT, "the text has more than the %zu tokens that the model takes",
                       opt.longest);
    hd_labeled_release(&items);
    return s;
}

static hd_status run(hd_exhibit *x, hd_run *r, const hd_model_folder *f, const hd_examples *from, hd_err *err)
{
    const hd_classifier *m = hd_model_folder_classifier(f);
    hd_exhibiting e = {.into = x,
                       .of = f->model,
                       .numbers = !m->opt.head->logp,
                       .encoder = true,
                       .decoder = true,
                       .whole = true};
    const uint32_t first = 0;
    hd_class_batch batch;
    hd_exhibit_begin(&e, r);
    hd_labeler_send(r, &batch, f, from, &first, 1, NULL);
    if (batch.row) batch.rows = from->labels; /* without padding */
    hd_tensor *logp = r->err.status ? NULL : hd_classifier_logp(r, m, &batch);
    return hd_exhibit_end(&e, r, m->opt.head->logp ? logp : NULL, NULL, err);
}

static hd_status set_labels(hd_exhibit *x, const hd_model_folder *f, hd_err *err)
{
    for (size_t i = 0; i < x->answers * x->tops; i++) {
        hd_shown_token *t = &x->top[i].token;
        t->piece = hd_exhibit_copy(x, hd_vocab_piece(&f->labels, t->id), err);
        if (!t->piece) return HD_ENOMEM;
    }
    return HD_OK;
}

/* The positions of the tokens with a label; none for a classifier. */
static hd_status set_places(hd_exhibit *x, const hd_model_folder *f, const hd_examples *from, hd_err *err)
{
    if (hd_model_folder_classifier(f)->opt.pool != HD_POOL_each) return HD_OK;
    int32_t *place = hd_arena_array(&x->memory, from->labels, sizeof *place, err);
    if (!place) return HD_ENOMEM;
    memcpy(place, from->row, from->labels * sizeof *place);
    x->place = place, x->answers = from->labels;
    return HD_OK;
}

hd_status hd_exhibit_labels(hd_exhibit *x, hd_run *r, const hd_model_folder *f, hd_line text, hd_err *err)
{
    hd_examples from = {0};
    hd_status s = read_text(&from, f, text, err);
    x->reads = from.rows;
    if (!s) s = hd_exhibit_tokens(x, &x->read, from.id, from.rows, f->tokenizer[0], text, false, err);
    if (!s) s = set_places(x, f, &from, err);
    if (!s) s = run(x, r, f, &from, err);
    if (!s) s = set_labels(x, f, err);
    hd_examples_release(&from);
    return s;
}
