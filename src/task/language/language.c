/* The folder of a language model. */
#include "model/lm/lm.h"
#include "task/model_folder.h"

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
    if (!c->status) c->status = hd_lm_new(&lm, &o, backend, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_LM, hd_lm_model(lm));
}
