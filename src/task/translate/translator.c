/* The folder of a translator. */
#include "task/translate/translator.h"

#include "base/file/folder.h"
#include "base/mem.h"

static const char task[] = "translate";
enum { MOST_SIZE = 1 << 20 };

hd_model_folder hd_translator_folder(const hd_translator *t)
{
    return (hd_model_folder){.task = hd_task_folder_find(task),
                             .model = hd_encdec_model(t->model),
                             .tokenizer = {t->tokenizer[0], t->tokenizer[1]},
                             .trained = t->longest,
                             .backend = t->model->params.backend,
                             .longest = t->model->opt.positions,
                             .end = true};
}

hd_translator hd_translator_of(const hd_model_folder *f)
{
    return (hd_translator){f->model.self, {f->tokenizer[0], f->tokenizer[1]}, f->trained};
}

/* -- writing -- */

void hd_translator_write(hd_text *to, const hd_model_folder *f)
{
    static const char *const key[] = {"source_tokenizer", "target_tokenizer"};
    hd_encdec_config_write(to, &((const hd_encdec *)f->model.self)->opt);
    hd_text_print(to, ",\n \"longest\": %zu", f->trained);
    for (int side = 0; side < 2; side++)
        hd_text_print(to, ",\n \"%s\": \"%s\"", key[side],
                      hd_tokenizer_name(hd_tokenizer_kind_of(f->tokenizer[side])));
    hd_text_print(to, ",\n \"shared_tokenizer\": %s", f->tokenizer[0] == f->tokenizer[1] ? "true" : "false");
}

hd_status hd_translator_save(const hd_translator *t, const char *folder, hd_err *err)
{
    const hd_model_folder f = hd_translator_folder(t);
    return hd_model_folder_save(&f, folder, err);
}

hd_status hd_translator_publish(const hd_translator *t, const char *folder, hd_err *err)
{
    const hd_model m = hd_encdec_model(t->model);
    return hd_model_folder_publish(&m, folder, err);
}

/* -- reading -- */

/* That of the tokenizer, which a T5 may exceed. */
static hd_status set_vocab(hd_encdec_opt *o, int side, const hd_tokenizer *t, hd_err *err)
{
    size_t *vocab = side ? &o->target_vocab : &o->source_vocab, pieces = hd_tokenizer_size(t);
    bool padded = o->names == &hd_encdec_t5;
    if (!*vocab) *vocab = pieces; /* a folder of an older heed */
    if (*vocab < pieces || (*vocab > pieces && !padded))
        return hd_tokenizer_refuse(t, pieces, hd_encdec_vocab_key(o, side), *vocab, err);
    return HD_OK;
}

/* All but the model, which the options are for. */
static void read_rest(hd_model_config *c, hd_encdec_opt *opt, hd_tokenizer *tokenizer[2], size_t *longest,
                      const char *folder)
{
    hd_encdec_config_read(c, opt);
    *longest = (size_t)hd_model_config_whole(c, "longest", 1, MOST_SIZE);
    bool shared = hd_model_config_switch(c, "shared_tokenizer");
    const hd_tokenizer_kind kind[2] = {hd_model_config_tokenizer_kind(c, "source_tokenizer"),
                                       hd_model_config_tokenizer_kind(c, "target_tokenizer")};
    for (int side = 0; !c->status && side < (shared ? 1 : 2); side++) {
        char path[HD_PATH];
        hd_tokenizer_place place = shared ? HD_OF_BOTH : side ? HD_OF_TARGET : HD_OF_SOURCE;
        c->status = hd_path(path, folder, hd_tokenizer_file(kind[side], place), c->err);
        if (!c->status) c->status = hd_tokenizer_open(&tokenizer[side], kind[side], path, c->err);
    }
    if (shared) tokenizer[1] = tokenizer[0];
    for (int side = 0; !c->status && side < 2; side++)
        c->status = set_vocab(opt, side, tokenizer[side], c->err);
}

hd_status hd_translator_describe(const char *folder, hd_encdec_opt *opt, hd_tokenizer *tokenizer[2],
                                 size_t *longest, hd_err *err)
{
    hd_model_config c;
    hd_model_folder_begin(&c, folder, task, err);
    tokenizer[0] = tokenizer[1] = NULL;
    read_rest(&c, opt, tokenizer, longest, folder);
    if (c.status) hd_tokenizer_free_pair(tokenizer);
    hd_model_config_release(&c);
    return c.status;
}

void hd_translator_read(hd_model_folder *f, hd_model_config *c, const char *folder)
{
    hd_encdec_opt opt;
    hd_encdec *m = NULL;
    hd_err why = {0};
    read_rest(c, &opt, f->tokenizer, &f->trained, folder);
    if (c->status) return;
    hd_status s = hd_encdec_new(&m, f->backend, &opt, false, &why);
    if (s == HD_EARG)
        hd_model_config_refuse(c, "%s", why.text); /* options that do not go together are the file's fault */
    else if (s)
        c->status = hd_err_set(c->err, s, "%s", why.text);
    else
        *f = hd_translator_folder(&(hd_translator){m, {f->tokenizer[0], f->tokenizer[1]}, f->trained});
}

hd_status hd_translator_open(hd_translator **out, const char *folder, hd_backend *backend, hd_weights which,
                             hd_err *err)
{
    hd_model_folder f;
    hd_translator *t = hd_mem_zero(sizeof *t);
    if (!t) return hd_err_nomem(err, sizeof *t);
    hd_status s = hd_model_folder_open(&f, folder, task, backend, which, err);
    if (s) return hd_mem_free(t), s;
    *t = hd_translator_of(&f);
    *out = t;
    return HD_OK;
}

void hd_translator_free(hd_translator *t)
{
    if (!t) return;
    hd_encdec_free(t->model);
    hd_tokenizer_free_pair(t->tokenizer);
    hd_mem_free(t);
}
