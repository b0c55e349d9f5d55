/* GPT-2: the language model `gpt`, whose tensors have these names already. */
#include <string.h>

#include "hub/gpt2.h"
#include "hub/labels.h"
#include "hub/own.h"
#include "hub/weights.h"
#include "task/language/language.h"
#include "text/published/tokenizer_json_write.h"

static const char OUTPUT[] = "lm_head.weight", WORDS[] = "GPT2LMHeadModel";

/* -- here -- */

/* Before memory is taken for it. */
static hd_status check_size(const hd_lm_opt *opt, const char *folder, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_lm *lm = NULL;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_lm_new(&lm, opt, nowhere, false, err);
    if (!s) s = hd_family_weights_fit(lm->params, folder, err);
    hd_lm_free(lm);
    hd_backend_free(nowhere);
    return s;
}

static hd_status import_words(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_model_folder f = {0};
    hd_lm *lm = NULL;
    hd_lm_opt opt = hd_family_gpt2_config(c);
    hd_family_gpt2_tokenizer(c, p->from, &opt, &f.tokenizer[0]);
    hd_status s = c->status;
    if (!s) s = check_size(&opt, p->from, err);
    if (!s) s = hd_lm_new(&lm, &opt, p->backend, false, err);
    if (!s) hd_model_folder_take(&f, HD_TRAIN_LM, hd_lm_model(lm));
    if (!s) s = hd_family_weights_load(f.model.params, p->from, hd_family_gpt2_ignored, err);
    if (!s) s = hd_model_folder_write(&f, p->to, err);
    hd_model_folder_release(&f);
    return s;
}

static hd_status import(const hd_family *f, const hd_passage *p, hd_model_config *c, hd_err *err)
{
    (void)f;
    const char *name = json_string_value(json_array_get(json_object_get(c->object, "architectures"), 0));
    bool labels = name && !strcmp(name, HD_GPT2_LABELS);
    if (name && !labels && strcmp(name, WORDS) && strcmp(name, "GPT2Model"))
        hd_model_config_refuse(
            c, "\"architectures\" has \"%.60s\": of GPT-2 heed imports %s, GPT2Model and " HD_GPT2_LABELS,
            name, WORDS);
    return c->status ? c->status : labels ? hd_family_gpt2_import_labels(p, c, err) : import_words(p, c, err);
}

/* -- and back -- */

static hd_status save_config(const hd_lm_opt *o, const hd_tokenizer *t, const char *folder, hd_err *err)
{
    hd_text c = {0}, own = {0};
    hd_family_gpt2_put(&c, WORDS, o, t);
    hd_family_own_tokenizer(&own, t);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

/* Texts begin behind an end, as every line does that the model learned from. */
static hd_status save_tokenizer(const hd_tokenizer *t, const hd_lm_opt *o, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    const hd_text_form how = {.native = HD_TOKENIZER_bpe,
                              .lead = hd_tokenizer_special(t).end,
                              .trail = -1,
                              .continues = true,
                              .longest = o->context};
    hd_status s = hd_tokenizer_path(path, folder, hd_tokenizer_kind_of(t), err);
    if (!s) s = hd_tokenizer_save(t, path, err);
    return s ? s : hd_tokenizer_json_save(t, &how, folder, err);
}

static hd_status export_words(const hd_passage *p, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_open(&f, p->from, "lm", p->backend, HD_WEIGHTS_BEST, err);
    if (s) return s;
    const hd_lm_opt *o = &hd_model_folder_lm(&f)->opt;
    s = hd_family_gpt2_check(o, p->from, err);
    if (!s) s = save_tokenizer(f.tokenizer[0], o, p->to, err);
    if (!s) s = save_config(o, f.tokenizer[0], p->to, err);
    if (!s && !o->tied) s = hd_family_gpt2_add_prefix(f.model.params, OUTPUT, err);
    if (!s) s = hd_model_folder_publish(&f, p->to, err);
    hd_model_folder_release(&f);
    return s;
}

static hd_status export(const hd_family *f, const hd_passage *p, hd_err *err)
{
    (void)f;
    bool words;
    hd_status s = hd_family_folder_says(&words, p->from, "task", "lm", err);
    if (s) return s;
    return words ? export_words(p, err) : hd_family_gpt2_export_labels(p, err);
}

static bool has(const hd_family *f, hd_model_config *c)
{
    (void)f;
    return hd_family_says(c, "task", "lm") || hd_family_labels_has(c, "gpt");
}

const hd_family hd_family_gpt2 = {.has = has, .import = import, .export = export};
