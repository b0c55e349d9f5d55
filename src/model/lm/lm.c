/* The list of language models, and what several of them need. */
#include "model/lm/lm.h"

#include "base/mem.h"
#include "model/lm/lm_parts.h"

#define X(name, text) #name,
const char *const hd_lm_names[HD_LM_KINDS + 1] = {HD_LM_LIST(X) NULL};
#undef X

#define X(name, text) &hd_model_##name,
const hd_model_type *const hd_lm_types[HD_LM_KINDS] = {HD_LM_LIST(X)};
#undef X

hd_status hd_lm_make(hd_lm **out, const hd_lm_opt *opt, hd_backend *b, hd_err *err)
{
    if ((unsigned)opt->kind >= HD_LM_KINDS)
        return hd_err_set(err, HD_EARG, "there is no language model %d", (int)opt->kind);
    if (!opt->vocab || opt->vocab > INT32_MAX)
        return hd_err_set(err, HD_EARG, "%s: a vocabulary of %zu tokens", hd_lm_names[opt->kind], opt->vocab);
    if (!(opt->stack.dropout >= 0 && opt->stack.dropout < 1))
        return hd_err_set(err, HD_EARG, "%s: dropout %g is not in [0, 1)", hd_lm_names[opt->kind],
                          (double)opt->stack.dropout);
    if (opt->lora.rank && !hd_lm_types[opt->kind]->lm.blocks)
        return hd_err_set(err, HD_EARG, "%s: LoRA needs Transformer blocks: a gpt, llama, moe or deepseek",
                          hd_lm_names[opt->kind]);
    hd_lm *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    *m = (hd_lm){.opt = *opt, .type = hd_lm_types[opt->kind]};
    hd_status s = m->type->lm.make(m, b, err);
    if (s)
        hd_lm_free(m);
    else
        *out = m;
    return s;
}

hd_status hd_lm_new(hd_lm **out, const hd_lm_opt *opt, hd_backend *b, bool training, hd_err *err)
{
    hd_lm *m = NULL;
    hd_status s = hd_lm_make(&m, opt, b, err);
    if (!s && m->params) s = hd_params_ready(m->params, training, err);
    if (!s && m->type->fill_tables) s = m->type->fill_tables(m, err);
    if (s)
        hd_lm_free(m);
    else
        *out = m;
    return s;
}

void hd_lm_free(hd_lm *m)
{
    if (!m) return;
    if (m->model) m->type->lm.free(m);
    hd_mem_free(m);
}

size_t hd_lm_size(const hd_lm *m)
{
    size_t grams = 0;
    if (m->params) return hd_params_size(m->params);
    for (int n = 1; m->model && n <= m->opt.order; n++) grams += hd_ngram_kinds(m->model, n);
    return grams;
}

void hd_lm_free_self(void *self)
{
    hd_lm_free(self);
}

const char *hd_lm_title(const void *self, char *buf, size_t size)
{
    (void)buf, (void)size;
    return ((const hd_lm *)self)->type->name;
}

/* Those that carry a state, look back or were counted have no positions to run out of. */
hd_model_sizes hd_lm_sizes(const void *self)
{
    const hd_lm *m = self;
    bool endless = m->type->lm.state || m->type->lm.looks_back || !m->params || m->opt.no_positions;
    return (hd_model_sizes){.layers = m->type->rows ? m->opt.stack.layers : 0,
                            .vocab = m->opt.vocab,
                            .positions = endless ? INT32_MAX : m->opt.context};
}

void hd_lm_features(const hd_lm *m, const int32_t *ids, size_t count, size_t at, int32_t *out)
{
    for (size_t k = 1; k < (size_t)m->opt.order; k++)
        out[k - 1] = k <= at && at <= count ? ids[at - k] : m->opt.start;
    if (m->type->lm.features) m->type->lm.features(m, out);
}

hd_status hd_lm_check_order(const hd_lm_opt *o, hd_err *err)
{
    if (o->order >= 2 && o->order <= HD_LM_ORDER_MOST) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: the order is %d, it must be 2 to %d", hd_lm_names[o->kind], o->order,
                      HD_LM_ORDER_MOST);
}

hd_status hd_lm_check_width(const hd_lm_opt *o, hd_err *err)
{
    if (o->stack.width) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: the width is 0", hd_lm_names[o->kind]);
}

hd_lm_words hd_lm_words_make(hd_params *p, const hd_lm_opt *o, size_t in, size_t out)
{
    hd_lm_words w = {0};
    /* as an output layer, vectors of length sqrt(in) would be far too sure at first */
    w.table =
        hd_param_add(p, o->vocab, in, (hd_init){HD_INIT_NORMAL, o->tied ? 0.1f : 1, 0}, "encoder.weight");
    if (!o->tied) {
        w.out = hd_dense_make(p, out, o->vocab, &(hd_dense_opt){.init = {HD_INIT_TORCH, 1, 0}}, "decoder");
        return w;
    }
    if (in != out && !p->err.status)
        hd_err_set(
            &p->err, HD_EARG,
            "%s: output layer and embeddings can be tied only if they are equally wide, not %zu and %zu",
            hd_lm_names[o->kind], out, in);
    w.out = (hd_dense){w.table, hd_param_add(p, o->vocab, 0, (hd_init){HD_INIT_ZERO, 0, 0}, "decoder.bias")};
    hd_param_alias(p, w.table, "decoder.weight");
    return w;
}
