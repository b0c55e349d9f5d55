/* Leaves out one head after the other and measures. */
#include "show/heads/importance.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "metric/correlation.h"
#include "task/language/language.h"
#include "task/masked/training.h"
#include "task/translate/judge.h"
#include "task/translate/trial.h"

typedef struct judging { /* what the model is measured on, read once */
    hd_run *r;
    const hd_model_folder *f;
    const hd_importance_opt *opt;
    hd_trial pairs;
    hd_stream_text text;
    double tokens;
} judging;

static bool translates(const judging *j)
{
    return j->f->model.type->decode;
}

/* -- data -- */

static hd_status open_text(judging *j, hd_err *err)
{
    const hd_texts *given = &j->opt->files;
    hd_plain_text plain = {0};
    if (given->count > 1)
        return hd_err_set(err, HD_EARG, "%s reads one text: give one file, not %d", j->f->task->what,
                          given->count);
    hd_status s = hd_plain_text_read(&plain, given->text[0], err);
    if (!s) s = hd_stream_text_of(&j->text, &plain, j->f->tokenizer[0], err);
    hd_plain_text_release(&plain);
    return s;
}

static hd_status open_data(judging *j, hd_err *err)
{
    const hd_model_type *type = j->f->model.type;
    const hd_backend *b = j->r->backend;
    if (!type->decode && !type->fill && !type->lm.loss)
        return hd_err_set(err, HD_EARG,
                          "heads are measured of translators, language models and masked language models, "
                          "not of %s",
                          j->f->task->what);
    if (j->opt->bleu && !translates(j))
        return hd_err_set(err, HD_EARG, "BLEU is of translations: %s has a loss alone", j->f->task->what);
    if (j->opt->gradient && b->team && b->weights != HD_REAL)
        return hd_err_set(err, HD_EARG,
                          "gradients need weights as they are: on the CPU that is precision f32, and a model "
                          "that was not written with weights of int8");
    return translates(j) ? hd_trial_open(&j->pairs, j->f, &j->opt->files, b->team, j->opt->log, err)
                         : open_text(j, err);
}

static void close_data(judging *j)
{
    hd_trial_release(&j->pairs);
    hd_stream_text_release(&j->text);
}

/* -- one measure -- */

/* Nats a token. */
static hd_status loss_now(judging *j, double *out, hd_err *err)
{
    const hd_model_type *type = j->f->model.type;
    hd_fluency fluency = {0};
    hd_masked_judged masked = {0};
    double nats = 0;
    hd_status s;
    if (translates(j)) {
        s = hd_translate_judge(&nats, &j->tokens, j->r, hd_model_folder_encdec(j->f), j->pairs.batches, err);
    } else if (type->fill) {
        const hd_masking how = {.tokenizer = j->f->tokenizer[0]};
        s = hd_masked_judge(&masked, j->r, j->f, &how, &j->text, err);
        nats = masked.nats, j->tokens = (double)masked.asked;
    } else {
        s = hd_language_judge(&fluency, j->r, j->f, &j->text, err);
        nats = fluency.nats, j->tokens = (double)fluency.tokens;
    }
    *out = nats / j->tokens;
    return s;
}

static hd_status value_now(judging *j, double *out, hd_err *err)
{
    hd_status s = j->opt->bleu ? hd_translate_bleu(out, j->r, j->f, &j->pairs.text, j->pairs.text.count, err)
                               : loss_now(j, out, err);
    if (!s && isnan(*out)) hd_fail_number(j->r), s = hd_run_status(j->r, err);
    return s;
}

/* -- all heads -- */

static hd_status add_gradients(judging *j, hd_importance *to, hd_heads *heads, hd_err *err)
{
    double loss;
    heads->graded = true;
    hd_status s = loss_now(j, &loss, err);
    heads->graded = false;
    for (size_t i = 0; !s && i < to->count; i++) {
        hd_head_importance *h = &to->head[i];
        h->gradient = h->layer->effect[h->head] / j->tokens;
        h->slope = h->layer->slope[h->head] / j->tokens;
    }
    return s;
}

/* How much worse the model is without it. */
static double worth(const hd_importance *i, size_t k)
{
    return i->bleu ? -i->head[k].difference : i->head[k].difference;
}

static hd_status correlate(hd_importance *i, hd_err *err)
{
    double *x = hd_mem_array(2 * i->count, sizeof *x), *y = x + i->count;
    if (!x) return hd_err_nomem(err, 2 * i->count * sizeof *x);
    for (size_t k = 0; k < i->count; k++) x[k] = i->head[k].gradient, y[k] = worth(i, k);
    hd_status s = hd_spearman(&i->correlation, x, y, i->count, err);
    hd_mem_free(x);
    return s;
}

static int by_loss(const void *a, const void *b)
{
    const hd_head_importance *x = a, *y = b;
    if (x->difference != y->difference) return x->difference < y->difference ? 1 : -1;
    return x->layer != y->layer ? (x->layer < y->layer ? -1 : 1) : x->head < y->head ? -1 : 1;
}

static int by_bleu(const void *a, const void *b)
{
    const hd_head_importance *x = a, *y = b;
    return x->difference != y->difference ? (x->difference < y->difference ? -1 : 1) : by_loss(a, b);
}

static hd_status leave_out(judging *j, hd_importance *to, hd_err *err)
{
    hd_status s = value_now(j, &to->all, err);
    for (size_t i = 0; !s && i < to->count; i++) {
        hd_head_importance *h = &to->head[i];
        hd_real *factor = &h->layer->factor[h->head], before = *factor;
        if (j->opt->tell) j->opt->tell(j->opt->context, i, to->count);
        h->without = to->all;
        *factor = 0;
        if (before != 0) s = value_now(j, &h->without, err);
        *factor = before;
        h->difference = h->without - to->all;
    }
    if (!s && j->opt->tell) j->opt->tell(j->opt->context, to->count, to->count);
    return s;
}

hd_status hd_importance_measure(hd_importance *out, hd_run *r, const hd_model_folder *f, hd_heads *heads,
                                const hd_importance_opt *opt, hd_err *err)
{
    judging j = {.r = r, .f = f, .opt = opt, .tokens = NAN};
    hd_importance all = {.count = hd_heads_count(heads), .bleu = opt->bleu, .correlation = NAN};
    hd_heads *const before = r->heads;
    const double began = hd_seconds();
    *out = (hd_importance){0};
    all.head = hd_mem_array(all.count, sizeof *all.head);
    hd_status s = all.head ? open_data(&j, err) : hd_err_nomem(err, all.count * sizeof *all.head);
    for (size_t l = 0, n = 0; !s && l < heads->layers; l++)
        for (size_t k = 0; k < heads->layer[l].heads; k++)
            all.head[n++] =
                (hd_head_importance){.layer = &heads->layer[l], .head = k, .gradient = NAN, .slope = NAN};
    r->heads = heads;
    if (!s && opt->gradient) s = add_gradients(&j, &all, heads, err);
    if (!s) s = leave_out(&j, &all, err);
    r->heads = before;
    if (!s && opt->gradient) s = correlate(&all, err);
    if (!s) qsort(all.head, all.count, sizeof *all.head, all.bleu ? by_bleu : by_loss);
    all.tokens = j.tokens, all.seconds = hd_seconds() - began;
    close_data(&j);
    if (s)
        hd_importance_release(&all);
    else
        *out = all;
    return s;
}

void hd_importance_release(hd_importance *i)
{
    hd_mem_free(i->head);
    *i = (hd_importance){0};
}
