/* Folders that become other folders, whole or not at all: what families have in common on the way. */
#include "hub/import.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "base/file/staging.h"
#include "hub/family.h"
#include "hub/gguf/unpack.h"
#include "hub/own.h"
#include "hub/sentence.h"
#include "hub/weights.h"

static const hd_family *const families[] = {
#define X(name, text) &hd_family_##name,
    HD_FAMILY_LIST(X)
#undef X
};

enum { FAMILIES = sizeof families / sizeof *families };

/* -- here -- */

static const hd_family *family_of(hd_model_config *c)
{
    const char *type = hd_model_config_text(c, "model_type");
    hd_text known = {0};
    for (int i = 0; i < FAMILIES; i++)
        if (!strcmp(families[i]->type, type)) return families[i];
    for (int i = 0; i < FAMILIES; i++) hd_text_print(&known, i ? ", %s" : "%s", families[i]->type);
    hd_model_config_refuse(c, "\"model_type\" is \"%.40s\"; heed imports %s", type,
                           known.data ? known.data : "others");
    hd_text_release(&known);
    return NULL;
}

hd_status hd_passage_bert(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err)
{
    hd_bert *m = NULL;
    hd_status s = hd_bert_new(&m, backend, &p->bert, false, err);
    if (!s) *out = hd_bert_model(m);
    return s;
}

hd_status hd_passage_lm(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err)
{
    hd_lm *m = NULL;
    hd_status s = hd_lm_new(&m, &p->lm, backend, false, err);
    if (!s) *out = hd_lm_model(m);
    return s;
}

hd_status hd_passage_encdec(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err)
{
    hd_encdec *m = NULL;
    hd_status s = hd_encdec_new(&m, backend, &p->encdec, false, err);
    if (!s) *out = hd_encdec_model(m);
    return s;
}

hd_status hd_passage_classifier(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err)
{
    hd_classifier *m = NULL;
    hd_status s = hd_classifier_new(&m, backend, &p->classifier, false, err);
    if (!s) *out = hd_classifier_model(m);
    return s;
}

/* Before memory is taken for it. Options that do not go together are the config's fault; positions that are
   computed are not in the files. */
static hd_status check_size(hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_model m = {0};
    hd_err why = {0};
    size_t positions = p->encdec.positions;
    p->encdec.positions = 1;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s && (s = p->make(&m, p, nowhere, &why))) {
        if (s == HD_EARG)
            hd_model_config_refuse(c, "%s", why.text), s = c->status;
        else
            hd_err_set(err, s, "%s", why.text);
    }
    if (!s) s = hd_family_weights_fit(m.params, p->from, p->weights, err);
    hd_model_free(&m);
    hd_backend_free(nowhere);
    p->encdec.positions = positions;
    return s;
}

static hd_status import(hd_passage *p, hd_model_config *c, hd_backend *backend, hd_err *err)
{
    const hd_family_form *form = p->family->form;
    hd_model m = {0};
    form->read(p, c);
    hd_status s = c->status;
    if (!s) s = check_size(p, c, err);
    if (!s) s = p->make(&m, p, backend, err);
    if (!s) {
        hd_model_folder_take(&p->m, p->task, m);
        if (form->name) form->name(p);
        if (m.params->err.status) s = hd_err_set(err, m.params->err.status, "%s", m.params->err.text);
    }
    const hd_weights_ignored ignored = {p->family->ignored, p->left_out};
    if (!s) s = hd_family_weights_load(m.params, p->from, p->weights, &ignored, err);
    if (!s && form->complete) s = form->complete(p, err);
    if (!s) s = hd_model_folder_write(&p->m, p->to, err);
    if (!s) s = hd_family_carry(p, err);
    return s ? s : hd_model_config_seal(p->to, err); /* with the files that were carried over, too */
}

static hd_status import_with(const char *from, const hd_safetensors *weights, const char *to,
                             hd_backend *backend, hd_err *err)
{
    hd_staging made;
    hd_model_config c;
    hd_model_config_read(&c, from, "save_pretrained() of transformers", err);
    const hd_family *family = c.status ? NULL : family_of(&c);
    hd_status s = c.status;
    if (!s && !family->form->sentences) s = hd_family_sentence_refuse(from, err);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (!s) {
        hd_passage p = {.family = family, .from = from, .to = made.temp, .weights = weights};
        s = hd_staging_end(&made, import(&p, &c, backend, err), err);
        hd_model_folder_release(&p.m);
    }
    hd_model_config_release(&c);
    return s;
}

static hd_status import_folder(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    return import_with(from, NULL, to, backend, err);
}

/* By way of a folder beside the model's, which has all but the weights as transformers would have it. */
static hd_status import_gguf(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    char folder[HD_PATH];
    if (snprintf(folder, sizeof folder, "%s.unpacked", to) >= HD_PATH)
        return hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", to);
    bool made = false;
    hd_status s = hd_folder_make(folder, &made, err);
    if (!s && !made) return hd_err_set(err, HD_EFILE, "%s is in the way: remove it", folder);
    hd_gguf_unpacked file = {0};
    if (!s) s = hd_gguf_unpack(&file, from, folder, err);
    if (!s) s = import_with(folder, file.weights, to, backend, err);
    hd_gguf_unpacked_release(&file);
    hd_err why = {0};
    if (made && hd_folder_remove(folder, &why) && !s) s = hd_err_set(err, why.status, "%s", why.text);
    return s;
}

hd_status hd_import(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    return (hd_gguf_is(from) ? import_gguf : import_folder)(from, to, backend, err);
}

/* -- what a config.json says -- */

/* Of a file or of the folder that it lies in. */
static void read_config(hd_model_config *c, char folder[HD_PATH], const char *path, hd_err *err)
{
    struct stat info;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const bool file = !stat(path, &info) && S_ISREG(info.st_mode);
    snprintf(folder, HD_PATH, "%.*s", file ? slash ? (int)(slash - path + 1) : 1 : (int)strlen(path),
             file && !slash ? "." : path);
    if (file)
        hd_model_config_read_file(c, folder, name, err);
    else
        hd_model_config_read(c, folder, "save_pretrained() of transformers", err);
}

bool hd_import_is_published(const char *path)
{
    hd_err unseen = {0};
    hd_model_config c;
    char folder[HD_PATH];
    read_config(&c, folder, path, &unseen);
    const bool is = !c.status && hd_model_config_has(&c, "model_type") && !hd_model_config_has(&c, "format");
    hd_model_config_release(&c);
    return is;
}

hd_status hd_import_describe(hd_model_folder *out, const char **type, const char *path, hd_err *err)
{
    char folder[HD_PATH];
    hd_model_config c;
    hd_model m = {0};
    hd_passage p = {.from = folder};
    read_config(&c, folder, path, err);
    hd_status s = c.status;
    if (!s) p.family = family_of(&c), s = c.status;
    if (!s) p.family->form->read(&p, &c), s = c.status;
    if (!s) s = hd_backend_new(&p.m.described, "null", NULL, err);
    if (!s) s = p.make(&m, &p, p.m.described, err);
    if (!s) hd_model_folder_take(&p.m, p.task, m), *type = p.family->type, *out = p.m;
    if (s) hd_model_folder_release(&p.m);
    hd_model_config_release(&c);
    return s;
}

/* -- and back -- */

/* The family that the model of a folder belongs to. */
static hd_status family_to(const hd_family **out, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_open(&c, folder, err);
    const char *task = hd_model_config_text(&c, "task");
    for (int i = 0; i < FAMILIES; i++)
        if (families[i]->form->has(families[i], &c)) *out = families[i];
    if (!*out) hd_model_config_refuse(&c, "\"task\" is \"%.40s\": transformers has no such model", task);
    hd_model_config_release(&c);
    return c.status;
}

static hd_status save_config(const hd_passage *p, hd_err *err)
{
    hd_json_begin();
    json_t *config = json_object(), *own = json_object();
    hd_json_set(config, "model_type", json_string(p->family->type));
    p->family->form->put(p, config, own);
    if (json_object_size(own)) hd_json_set(config, HD_OWN_KEY, json_incref(own));
    hd_json_set(config, "torch_dtype", json_string("float32"));
    json_decref(own);
    return hd_json_save(config, JSON_INDENT(1) | JSON_REAL_PRECISION(9), p->to, "config.json", err);
}

/* One tokenizer.json knows one vocabulary: those of two sides lie in folders of their own. */
static hd_status save_tokenizers(const hd_passage *p, hd_err *err)
{
    static const char *const side[] = {"source", "target"};
    const hd_family_form *form = p->family->form;
    hd_tokenizer *const *t = p->m.tokenizer;
    const bool shared = t[0] == t[1];
    hd_status s = hd_model_folder_save_tokenizers(t, p->to, err);
    for (int i = 0; !s && form->reads && i < (shared ? 1 : 2); i++) {
        char path[HD_PATH];
        const hd_text_form how = form->reads(p, t[i]);
        if ((int)hd_tokenizer_kind_of(t[i]) == how.native) continue;
        s = hd_path(path, p->to, shared ? "." : side[i], err);
        if (!s && !shared) s = hd_folder_make(path, NULL, err);
        if (!s) s = hd_tokenizer_json_save(t[i], &how, path, err);
    }
    return s;
}

static hd_status export(hd_passage *p, bool fold, hd_err *err)
{
    const hd_family_form *form = p->family->form;
    hd_status s = form->check(p, err);
    if (!s && fold && !form->fold)
        s = hd_err_set(err, HD_EARG, "%s: %s has no batch norms that could be folded", p->from,
                       p->family->type);
    if (!s && fold) s = form->fold(p, err);
    if (!s) s = save_tokenizers(p, err);
    if (!s) s = save_config(p, err);
    if (!s && p->m.task->id == HD_TRAIN_MLM) s = hd_family_sentence_save(&p->m, p->to, err);
    if (!s && form->files) s = form->files(p, err);
    if (!s && form->rename) s = form->rename(p, err);
    if (!s) s = hd_model_folder_publish(&p->m, p->to, err);
    return s ? s : hd_family_carry(p, err);
}

static hd_status export_to(const char *from, const char *to, bool fold, hd_backend *backend, hd_err *err)
{
    hd_staging made;
    hd_passage p = {.from = from};
    hd_status s = family_to(&p.family, from, err);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (s) return s;
    p.to = made.temp;
    s = hd_model_folder_open(&p.m, from, NULL, backend, HD_WEIGHTS_WHOLE, err);
    if (!s) s = export(&p, fold, err);
    hd_model_folder_release(&p.m);
    return hd_staging_end(&made, s, err);
}

hd_status hd_export(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    return export_to(from, to, false, backend, err);
}

hd_status hd_export_folded(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    return export_to(from, to, true, backend, err);
}
