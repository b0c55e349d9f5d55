/* The folder of a translator. */
#include "task/translate/translator.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "model/prepare.h"
#include "task/model_config.h"
#include "task/translate/config.h"
#include "train/checkpoint.h"
#include "train/published.h"

static hd_status tokenizer_path(char to[HD_PATH], const char *folder, bool shared, int side,
                                hd_tokenizer_kind kind, hd_err *err)
{
    hd_tokenizer_place place = shared ? HD_OF_BOTH : side ? HD_OF_TARGET : HD_OF_SOURCE;
    return hd_path(to, folder, hd_tokenizer_file(kind, place), err);
}

/* -- writing -- */

hd_status hd_translator_save_tokenizers(const hd_translator *t, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    bool shared = t->tokenizer[0] == t->tokenizer[1];
    hd_status s = HD_OK;
    for (int side = 0; !s && side < (shared ? 1 : 2); side++) {
        s = tokenizer_path(path, folder, shared, side, hd_tokenizer_kind_of(t->tokenizer[side]), err);
        if (!s) s = hd_tokenizer_save(t->tokenizer[side], path, err);
    }
    return s;
}

hd_status hd_translator_save(const hd_translator *t, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_path(path, folder, HD_PUBLISHED_KEPT, err);
    if (!s) s = hd_folder_remove(path, err); /* of an earlier run */
    if (!s) s = hd_translator_save_tokenizers(t, folder, err);
    if (s) return s;
    hd_translator_config c = {
        .model = t->model->opt, .longest = t->longest, .shared = t->tokenizer[0] == t->tokenizer[1]};
    for (int side = 0; side < 2; side++) c.tokenizer[side] = hd_tokenizer_kind_of(t->tokenizer[side]);
    s = hd_translator_config_save(&c, folder, err);
    return s ? s : hd_model_config_seal(folder, err);
}

hd_status hd_translator_remove(const char *folder, hd_err *err)
{
    static const char *const fixed[] = {"config.json", "model.safetensors", "labels.txt"};
    char path[HD_PATH];
    hd_status s = hd_checkpoint_remove(folder, err);
    for (size_t i = 0; !s && i < sizeof fixed / sizeof *fixed; i++) {
        s = hd_path(path, folder, fixed[i], err);
        if (!s) s = hd_folder_remove(path, err);
    }
    for (int i = 0; !s && i < 4 * HD_TOKENIZERS; i++) {
        s = tokenizer_path(path, folder, i & 1, i >> 1 & 1, (hd_tokenizer_kind)(i >> 2), err);
        if (!s) s = hd_folder_remove(path, err);
    }
    return s;
}

hd_status hd_translator_publish(const hd_translator *t, const char *folder, hd_err *err)
{
    return hd_published_save(&t->model->params, folder, err);
}

/* -- reading -- */

/* That of the tokenizer, which a T5 may exceed. */
static hd_status set_vocab(hd_encdec_opt *o, int side, const hd_tokenizer *t, hd_err *err)
{
    size_t *vocab = side ? &o->target_vocab : &o->source_vocab, pieces = hd_tokenizer_size(t);
    bool padded = o->names == &hd_encdec_t5;
    if (!*vocab) *vocab = pieces; /* a folder of an older heed */
    if (*vocab < pieces || (*vocab > pieces && !padded))
        return hd_tokenizer_refuse(t, pieces, hd_translator_vocab_key(o, side), *vocab, err);
    return HD_OK;
}

hd_status hd_translator_describe(const char *folder, hd_encdec_opt *opt, hd_tokenizer *tokenizer[2],
                                 size_t *longest, hd_err *err)
{
    char path[HD_PATH];
    hd_translator_config c;
    hd_status s = hd_translator_config_load(&c, folder, err);
    tokenizer[0] = tokenizer[1] = NULL;
    for (int side = 0; !s && side < (c.shared ? 1 : 2); side++) {
        s = tokenizer_path(path, folder, c.shared, side, c.tokenizer[side], err);
        if (!s) s = hd_tokenizer_open(&tokenizer[side], c.tokenizer[side], path, err);
    }
    if (!s && c.shared) tokenizer[1] = tokenizer[0];
    for (int side = 0; !s && side < 2; side++) s = set_vocab(&c.model, side, tokenizer[side], err);
    if (s) return hd_tokenizer_free_pair(tokenizer), s;
    *opt = c.model, *longest = c.longest;
    return HD_OK;
}

/* Options that do not go together are the config's fault. */
static hd_status make_model(hd_translator *t, const char *folder, const hd_encdec_opt *opt,
                            hd_backend *backend, hd_err *err)
{
    hd_err why = {0};
    hd_status s = hd_encdec_new(&t->model, backend, opt, false, &why);
    if (!s) return HD_OK;
    return s == HD_EARG ? hd_err_set(err, HD_EFORMAT, "%s/config.json: %s", folder, why.text)
                        : hd_err_set(err, s, "%s", why.text);
}

hd_status hd_translator_open(hd_translator **out, const char *folder, hd_backend *backend, hd_weights which,
                             hd_err *err)
{
    hd_encdec_opt opt;
    hd_translator *t = hd_mem_zero(sizeof *t);
    if (!t) return hd_err_nomem(err, sizeof *t);
    hd_status s = hd_translator_describe(folder, &opt, t->tokenizer, &t->longest, err);
    if (!s) s = make_model(t, folder, &opt, backend, err);
    if (!s)
        s = which == HD_WEIGHTS_LAST ? hd_checkpoint_weights(folder, &t->model->params, err)
                                     : hd_published_load(&t->model->params, folder, err);
    if (!s) s = hd_encdec_prepare(t->model, HD_DECODING, err);
    if (s)
        hd_translator_free(t);
    else
        *out = t;
    return s;
}

void hd_translator_free(hd_translator *t)
{
    if (!t) return;
    hd_encdec_free(t->model);
    hd_tokenizer_free_pair(t->tokenizer);
    hd_mem_free(t);
}
