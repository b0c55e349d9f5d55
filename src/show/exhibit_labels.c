/* A text as a classifier or a tagger reads it, which is at once: every row of its body, the vector they
   become, and its labels. */
#include <string.h>

#include "show/exhibit_parts.h"
#include "task/label/labeler.h"

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
    hd_labeler_send(r, &batch, f, from, &first, 1, 0);
    if (batch.row) batch.rows = from->labels; /* not those that fill up */
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

/* Where the tokens that get a label stand; of a classifier nowhere. */
static hd_status set_places(hd_exhibit *x, const hd_model_folder *f, const hd_examples *from, hd_err *err)
{
    if (hd_model_folder_classifier(f)->opt.pool != HD_POOL_each) return HD_OK;
    int32_t *place = hd_shown_take(&x->memory, from->labels, sizeof *place, err);
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
