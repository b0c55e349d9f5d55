/* The folder of a language model. */
#include "task/language/language.h"

#include "base/mem.h"

static const char task[] = "lm";

hd_model_folder hd_language_folder(const hd_language *l)
{
    const hd_model m = hd_lm_model(l->lm);
    return (hd_model_folder){.task = hd_task_folder_find(task),
                             .model = m,
                             .tokenizer = {l->tokenizer, l->tokenizer},
                             .backend = l->backend,
                             .longest = m.type->sizes(m.self).positions,
                             .start = true,
                             .drops_start = true};
}

void hd_language_write(hd_text *to, const hd_model_folder *f)
{
    const hd_lm_opt *o = &((const hd_lm *)f->model.self)->opt;
    hd_lm_config_write(to, o);
    hd_model_config_put_padded(to, o->vocab, hd_tokenizer_size(f->tokenizer[0]));
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

hd_status hd_language_save(const hd_language *l, const char *folder, hd_err *err)
{
    const hd_model_folder f = hd_language_folder(l);
    return hd_model_folder_save(&f, folder, err);
}

hd_status hd_language_publish(const hd_language *l, const char *folder, hd_err *err)
{
    const hd_model m = hd_lm_model(l->lm);
    return hd_model_folder_publish(&m, folder, err);
}

/* The tokenizer tells which tokens are special. */
static hd_tokenizer *read_rest(hd_model_config *c, hd_lm_opt *o, const char *folder)
{
    if (!c->status) hd_lm_config_read(c, o);
    hd_tokenizer *t = c->status ? NULL : hd_model_config_tokenizer(c, folder);
    if (c->status) return t;
    hd_model_config_check_vocab(c, o->vocab, t, hd_tokenizer_size(t));
    hd_special special = hd_tokenizer_special(t);
    o->start = special.start, o->end = special.end, o->unk = special.unk;
    return t;
}

void hd_language_read(hd_model_folder *f, hd_model_config *c, const char *folder)
{
    hd_lm_opt opt;
    hd_language l = {.backend = f->backend};
    f->tokenizer[0] = f->tokenizer[1] = l.tokenizer = read_rest(c, &opt, folder);
    if (!c->status) c->status = hd_lm_new(&l.lm, &opt, f->backend, false, c->err);
    if (!c->status) *f = hd_language_folder(&l);
}

hd_status hd_language_describe(const char *folder, hd_lm_opt *opt, hd_tokenizer **tokenizer, hd_err *err)
{
    hd_model_config c;
    hd_model_folder_begin(&c, folder, task, err);
    *tokenizer = read_rest(&c, opt, folder);
    if (c.status) {
        hd_tokenizer_free(*tokenizer);
        *tokenizer = NULL;
    }
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_language_open(hd_language **out, const char *folder, hd_backend *backend, hd_err *err)
{
    hd_model_folder f;
    hd_language *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    hd_status s = hd_model_folder_open(&f, folder, task, backend, HD_WEIGHTS_BEST, err);
    if (s) return hd_mem_free(l), s;
    *l = (hd_language){f.model.self, f.tokenizer[0], backend};
    *out = l;
    return HD_OK;
}

void hd_language_free(hd_language *l)
{
    if (!l) return;
    hd_lm_free(l->lm);
    hd_tokenizer_free(l->tokenizer);
    hd_mem_free(l);
}
