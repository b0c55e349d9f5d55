/* The token after a prompt. All of the prompt but its last token is read first, without a probe: only the
   last row is shown, over the cached keys, values and states of the others. */
#include <math.h>
#include <string.h>

#include "model/lm/lm.h"
#include "show/exhibit_parts.h"

/* The end token comes before every line. */
static hd_status read_prompt(hd_ids *ids, const hd_model_folder *l, hd_line prompt, hd_err *err)
{
    const hd_model_sizes n = l->model.type->sizes(l->model.self);
    hd_status s = hd_ids_reserve(ids, 1, err);
    if (!s) ids->at[ids->count++] = hd_tokenizer_special(l->tokenizer[0]).end;
    if (!s) s = hd_tokenizer_encode_ids(l->tokenizer[0], prompt.text, prompt.size, ids, err);
    return s ? s : hd_shown_check("", "prompt", ids->at, ids->count, n.vocab, n.positions, err);
}

/* The vectors of a window are side by side in one row: one below the other is easier to read. */
static void unfold_window(hd_exhibit *x, const hd_lm *m)
{
    for (size_t i = 0; m->type->lm.looks_back && i < x->items; i++) {
        hd_exhibit_item *t = &x->item[i];
        if (strcmp(t->name, "X")) continue;
        t->rows = (size_t)m->opt.order - 1, t->cols /= t->rows;
        t->down = HD_EXHIBIT_BACK;
    }
}

static void share_out(hd_exhibit *x, const hd_lm *m)
{
    int32_t window[HD_NGRAM_MOST];
    size_t n = 0;
    if (!m->type->lm.shares || !x->tops) return;
    x->discounts = m->opt.smoothing != HD_SMOOTHING_ADD_K, x->k = m->opt.k;
    for (size_t i = x->reads < HD_NGRAM_MOST ? 0 : x->reads - HD_NGRAM_MOST; i < x->reads; i++)
        window[n++] = x->read[i].id;
    x->shares = m->type->lm.shares(m, window, n, x->top[0].token.id, x->share);
}

static double number_at(hd_run *r, const hd_tensor *t, size_t row, size_t col, size_t cols)
{
    hd_real v = 0;
    hd_tensor flat = hd_shaped(t->data, t->dtype, 2, (const size_t[]){hd_count_of(t), 1}),
              one = hd_view_rows(&flat, row * cols + col, 1);
    return hd_read(r, &one, &v) ? (double)v : (double)NAN;
}

/* One context of each length has its row of weights, hashed contexts may share one. */
static hd_status weigh_features(hd_exhibit *x, hd_run *r, const hd_lm *m, const hd_ids *ids, hd_err *err)
{
    if (!m->type->lm.features || !x->tops) return HD_OK;
    size_t count = (size_t)m->opt.order - 1, token = (size_t)x->top[0].token.id;
    const hd_param *table = hd_params_find(m->params, "features.weight"),
                   *bias = hd_params_find(m->params, "features.bias");
    int32_t *bucket = hd_arena_array(&x->memory, count, sizeof *bucket, err);
    x->feature = bucket ? hd_arena_array(&x->memory, count, sizeof *x->feature, err) : NULL;
    if (!x->feature) return HD_ENOMEM;
    hd_lm_features(m, ids->at, ids->count, ids->count, bucket);
    for (size_t i = 0; i < count; i++)
        x->feature[i] = (hd_exhibit_feature){i + 1, (size_t)bucket[i],
                                             number_at(r, &table->t, (size_t)bucket[i], token, m->opt.vocab)};
    x->features = count;
    x->bias = number_at(r, &bias->t, 0, token, m->opt.vocab);
    return hd_run_status(r, err);
}

static hd_status run(hd_exhibit *x, hd_run *r, const hd_model_folder *l, const hd_ids *ids, hd_err *err)
{
    const hd_model *m = &l->model;
    hd_stepper st = {0};
    hd_exhibiting e = {.into = x, .of = *m, .decoder = true};
    bool first = ids->count == 1;
    const int32_t len = (int32_t)(ids->count - !first), last = ids->at[ids->count - 1];
    hd_status s = m->type->stepper(&st, m->self, ids->at, &len, 1, 0, err);
    if (!s && !first) {
        hd_run_begin(r, HD_INFERENCE);
        st.join(r, st.context, 1);
        s = hd_run_status(r, err);
    }
    if (!s) {
        hd_exhibit_begin(&e, r);
        hd_tensor *scores = first ? st.join(r, st.context, 1) : st.step(r, st.context, &last, 1);
        s = hd_exhibit_end(&e, r, scores, l->tokenizer[0], err);
    }
    hd_stepper_release(&st);
    return s;
}

hd_status hd_exhibit_language(hd_exhibit *x, hd_run *r, const hd_model_folder *l, hd_line prompt, hd_err *err)
{
    const hd_lm *lm = l->model.self;
    hd_ids ids = {0};
    hd_shown_token *start = NULL;
    hd_status s = read_prompt(&ids, l, prompt, err);
    x->reads = ids.count;
    if (!s) s = hd_exhibit_tokens(x, &x->read, ids.at, ids.count, l->tokenizer[0], prompt, false, err);
    if (!s) s = hd_exhibit_tokens(x, &start, &lm->opt.start, 1, l->tokenizer[0], (hd_line){0}, false, err);
    if (!s) x->before = *start;
    if (!s) s = run(x, r, l, &ids, err);
    if (!s) unfold_window(x, lm), share_out(x, lm);
    if (!s) s = weigh_features(x, r, lm, &ids, err);
    hd_ids_release(&ids);
    return s;
}
