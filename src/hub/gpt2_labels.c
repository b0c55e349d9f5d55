/* GPT-2 with a head that gives labels or a number: a classifier with a gpt for its body that looks at its
   last row. Easy to get wrong: the head there has no bias, so that of heed goes into the last norm, whose
   rows nothing else reads; and the tokenizer there puts nothing around a text, which heed does in training.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "hub/gpt2.h"
#include "hub/labels.h"
#include "hub/own.h"
#include "hub/weights.h"
#include "text/published/tokenizer_json_write.h"

static const char SCORE[] = "score.weight", NORM[] = "ln_f.bias", BARE[] = "bare";

/* -- here -- */

static hd_status load(hd_classifier *m, const char *folder, hd_err *err)
{
    m->out.b->optional = true;
    hd_param_alias(m->params, m->out.w, "%s", SCORE);
    if (m->params->err.status) return hd_err_set(err, m->params->err.status, "%s", m->params->err.text);
    return hd_family_weights_load(m->params, folder, hd_family_gpt2_ignored, err);
}

hd_status hd_family_gpt2_import_labels(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_model_folder f = {0};
    hd_classifier *m = NULL;
    hd_classifier_opt opt = {.pool = HD_POOL_last, .body = {.type = &hd_body_lm}};
    hd_model_config own = hd_family_own(c);
    opt.body.lm = hd_family_gpt2_config(c);
    opt.body.lm.tied = true; /* its words are not predicted */
    opt.body.positions = opt.body.lm.context;
    opt.bare = hd_family_switch(&own, BARE, true);
    hd_family_own_end(c, &own);
    if (opt.body.positions < 3) hd_model_config_refuse(c, "\"n_positions\" is less than 3");
    hd_family_labels_read(c, &f.labels);
    opt.classes = f.labels.count;
    opt.numbers = hd_family_labels_number(c, opt.classes);
    if (opt.numbers) hd_vocab_release(&f.labels);
    hd_family_gpt2_tokenizer(c, p->from, &opt.body.lm, &f.tokenizer[0]);
    hd_status s = c->status;
    if (!s) s = hd_family_labels_check_size(&opt, p->from, err);
    if (!s) s = hd_classifier_new(&m, p->backend, &opt, false, err);
    if (!s) hd_model_folder_take(&f, hd_labeler_task(&opt), hd_classifier_model(m));
    if (!s) s = load(m, p->from, err);
    if (!s) s = hd_model_folder_write(&f, p->to, err);
    hd_model_folder_release(&f);
    return s;
}

/* -- and back -- */

/* Solves G x = b for x in b; G [n,n] is positive definite and is overwritten. False: it is not. */
static bool solve(double *g, double *b, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double pivot = g[k * n + k];
        for (size_t i = 0; i < k; i++) pivot -= g[k * n + i] * g[k * n + i];
        if (!(pivot > 1e-12 * g[k * n + k])) return false;
        pivot = g[k * n + k] = sqrt(pivot);
        for (size_t j = k + 1; j < n; j++) {
            for (size_t i = 0; i < k; i++) g[j * n + k] -= g[j * n + i] * g[k * n + i];
            g[j * n + k] /= pivot;
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < k; i++) b[k] -= g[k * n + i] * b[i];
        b[k] /= g[k * n + k];
    }
    for (size_t k = n; k--;) {
        for (size_t i = k + 1; i < n; i++) b[k] -= g[i * n + k] * b[i];
        b[k] /= g[k * n + k];
    }
    return true;
}

/* The shortest d with W d = c, added to the bias of the norm: W (x + d) is W x + c. w [n, width], c [n]. */
static bool fold(const hd_real *w, const hd_real *c, hd_real *bias, double *room, size_t n, size_t width)
{
    double *g = room, *y = room + n * n;
    for (size_t i = 0; i < n; i++) {
        y[i] = (double)c[i];
        for (size_t j = 0; j < n; j++) {
            g[i * n + j] = 0;
            for (size_t k = 0; k < width; k++)
                g[i * n + j] += (double)w[i * width + k] * (double)w[j * width + k];
        }
    }
    if (!solve(g, y, n)) return false;
    for (size_t k = 0; k < width; k++) {
        double d = 0;
        for (size_t i = 0; i < n; i++) d += (double)w[i * width + k] * y[i];
        bias[k] = (hd_real)((double)bias[k] + d);
    }
    return true;
}

static hd_status fold_bias(hd_classifier *m, const char *folder, hd_err *err)
{
    hd_params *p = m->params;
    hd_param *norm = hd_params_find(p, NORM);
    size_t n = m->opt.classes, width = hd_body_width(&m->opt.body);
    if (n > width)
        return hd_err_set(err, HD_EARG,
                          "%s: " HD_GPT2_LABELS " has no bias: %zu labels need a width of as much", folder,
                          n);
    hd_real *w = hd_mem_array(n * width + n + width, sizeof *w), *c = w + n * width, *bias = c + n;
    double *room = w ? hd_mem_array(n * n + n, sizeof *room) : NULL;
    hd_status s = room ? HD_OK : hd_err_nomem(err, n * width * sizeof *w);
    if (!s) s = hd_params_get(p, m->out.w, &m->out.w->t, w);
    if (!s) s = hd_params_get(p, m->out.b, &m->out.b->t, c);
    if (!s) s = hd_params_get(p, norm, &norm->t, bias);
    bool any = false;
    for (size_t i = 0; !s && i < n; i++) any |= c[i] < 0 || c[i] > 0;
    if (any && !fold(w, c, bias, room, n, width))
        s = hd_err_set(err, HD_EARG,
                       "%s: " HD_GPT2_LABELS " has no bias, and the rows of the labels are too alike "
                       "to do without",
                       folder);
    if (!s && any) s = hd_params_set(p, norm, bias);
    hd_mem_free(w);
    hd_mem_free(room);
    return s;
}

/* Its weight is called otherwise, and its bias is gone. */
static hd_status rename_head(hd_classifier *m, hd_err *err)
{
    hd_param *w = m->out.w, *b = m->out.b;
    char *name = hd_mem_text(SCORE);
    if (!name) return hd_err_nomem(err, sizeof SCORE);
    hd_mem_free(w->name), hd_mem_free(b->name);
    w->name = name, b->name = NULL;
    return hd_family_gpt2_add_prefix(m->params, SCORE, err);
}

static hd_status save_config(const hd_model_folder *f, const char *folder, hd_err *err)
{
    hd_text c = {0}, own = {0};
    const hd_classifier *m = hd_model_folder_classifier(f);
    hd_lm_opt o = ((const hd_lm *)m->body.self)->opt;
    hd_special special = hd_tokenizer_special(f->tokenizer[0]);
    o.start = special.start, o.end = special.end;
    hd_family_gpt2_put(&c, HD_GPT2_LABELS, &o, f->tokenizer[0]);
    hd_family_labels_put(&c, f);
    hd_family_own_tokenizer(&own, f->tokenizer[0]);
    if (!m->opt.bare) hd_family_own_switch(&own, BARE, false);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

static hd_status save_tokenizer(const hd_model_folder *f, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_special special = hd_tokenizer_special(f->tokenizer[0]);
    const hd_classifier_opt *o = &hd_model_folder_classifier(f)->opt;
    const hd_text_form how = {.native = HD_TOKENIZER_bpe,
                              .lead = o->bare ? -1 : special.start,
                              .trail = o->bare ? -1 : special.end,
                              .longest = o->body.positions};
    hd_status s = hd_tokenizer_path(path, folder, hd_tokenizer_kind_of(f->tokenizer[0]), err);
    if (!s) s = hd_tokenizer_save(f->tokenizer[0], path, err);
    return s ? s : hd_tokenizer_json_save(f->tokenizer[0], &how, folder, err);
}

hd_status hd_family_gpt2_export_labels(const hd_passage *p, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_open(&f, p->from, "classify", p->backend, HD_WEIGHTS_BEST, err);
    if (s) return s;
    hd_classifier *m = hd_model_folder_classifier(&f);
    s = hd_family_gpt2_check(&m->opt.body.lm, p->from, err);
    if (!s && (m->opt.pool != HD_POOL_last || f.pairs))
        s = hd_err_set(err, HD_EARG, "%s: " HD_GPT2_LABELS " reads the last row of one text; this model %s",
                       p->from, f.pairs ? "takes pairs" : "has another --pool");
    if (!s) s = fold_bias(m, p->from, err);
    if (!s) s = save_tokenizer(&f, p->to, err);
    if (!s) s = save_config(&f, p->to, err);
    if (!s) s = rename_head(m, err);
    if (!s) s = hd_model_folder_publish(&f, p->to, err);
    hd_model_folder_release(&f);
    return s;
}
