/* The folder of a language model. */
#include "task/language/language.h"

#include "task/language/adapter.h"

void hd_language_write(hd_text *to, const hd_model_folder *f)
{
    const hd_lm_opt *o = &hd_model_folder_lm(f)->opt;
    hd_lm_config_write(to, o);
    hd_model_config_put_padded(to, o->vocab, hd_tokenizer_size(f->tokenizer[0]));
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

/* The tokenizer tells which tokens are special. */
void hd_language_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_lm_opt o;
    hd_lm *lm = NULL;
    hd_lm_config_read(c, &o);
    hd_tokenizer *t = c->status ? NULL : hd_model_config_tokenizer(c, folder);
    f->tokenizer[0] = t;
    if (c->status) return;
    hd_model_config_check_vocab(c, o.vocab, t, hd_tokenizer_size(t));
    hd_special special = hd_tokenizer_special(t);
    o.start = special.start, o.end = special.end, o.unk = special.unk;
    if (!c->status && o.lora.rank) c->status = hd_adapter_base(&f->base, folder, c->err);
    if (!c->status) c->status = hd_lm_new(&lm, &o, backend, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_LM, hd_lm_model(lm));
}

hd_status hd_language_set_context(const hd_model_folder *f, size_t tokens, hd_err *err)
{
    hd_lm *m = hd_model_folder_lm(f);
    size_t most = m->opt.positions > m->opt.context ? m->opt.positions : m->opt.context;
    if (m->opt.no_positions) most = INT32_MAX / 2;
    if (!m->type->attention)
        return hd_err_set(err, HD_EARG, "--context needs a gpt: the model is a %s", m->type->name);
    if (tokens > most)
        return hd_err_set(err, HD_EARG, "--context %zu: the model sees at most %zu tokens", tokens, most);
    m->opt.context = tokens;
    return HD_OK;
}
