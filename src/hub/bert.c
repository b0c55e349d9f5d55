/* BERT: the masked language model of `heed fill`, whose tensors have these names already. One without the
   head that predicts words serves for vectors alone; one that gives labels is a classifier. Easy to get
   wrong: what a model has, its tensors say and not its config.json, and old ones have other names. */
#include "hub/bert.h"

#include <string.h>

#include "hub/labels.h"
#include "hub/own.h"
#include "hub/sentence.h"
#include "hub/weights.h"
#include "task/masked/masked.h"

/* -- here -- */

/* Whether what was saved had a head that predicts words; other heads are refused. */
static bool predicts(hd_model_config *c)
{
    static const char *const known[] = {"BertModel", "BertForMaskedLM", "BertForPreTraining"};
    const json_t *first = json_array_get(json_object_get(c->object, "architectures"), 0);
    const char *name = json_is_string(first) ? json_string_value(first) : known[0];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], name)) return i > 0;
    hd_model_config_refuse(
        c,
        "\"architectures\" has \"%.60s\": of BERT heed imports BertModel, BertForMaskedLM, "
        "BertForPreTraining and " HD_BERT_LABELS,
        name);
    return false;
}

static hd_status find_parts(hd_bert_opt *o, const char *folder, bool promised, hd_err *err)
{
    bool head = promised;
    hd_status s = hd_family_weights_have(&o->pooler, folder, "pooler.dense.weight", err);
    if (!s && !head) s = hd_family_weights_have(&head, folder, "cls.predictions.transform.dense.weight", err);
    o->headless = !head;
    return s;
}

/* Before memory is taken for it. */
static hd_status check_size(const hd_bert_opt *opt, const char *folder, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_bert *m = NULL;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_bert_new(&m, nowhere, opt, false, err);
    if (!s) s = hd_family_weights_fit(&m->params, folder, err);
    hd_bert_free(m);
    hd_backend_free(nowhere);
    return s;
}

static hd_status import_words(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_masked m = {.backend = p->backend};
    hd_bert_opt opt = hd_family_bert_config(c);
    bool promised = predicts(c);
    hd_family_bert_tokenizer(c, p->from, &opt, &m.tokenizer);
    hd_status s = c->status;
    if (!s) s = hd_family_sentence_read(&m, &opt, p->from, err);
    if (!s) s = find_parts(&opt, p->from, promised, err);
    if (!s) s = check_size(&opt, p->from, err);
    if (!s) s = hd_bert_new(&m.model, p->backend, &opt, false, err);
    if (!s) s = hd_family_bert_load(&m.model->params, p->from, err);
    if (!s) s = hd_masked_save(&m, p->to, err);
    if (!s) s = hd_masked_publish(&m, p->to, err);
    hd_bert_free(m.model);
    hd_tokenizer_free(m.tokenizer);
    return s;
}

/* Whether what was saved gives labels. */
static hd_status import(const hd_family *f, const hd_passage *p, hd_model_config *c, hd_err *err)
{
    (void)f;
    const char *name = json_string_value(json_array_get(json_object_get(c->object, "architectures"), 0));
    bool labels = name && !strcmp(name, HD_BERT_LABELS);
    return labels ? hd_family_bert_import_labels(p, c, err) : import_words(p, c, err);
}

/* -- and back -- */

static hd_status save_config(const hd_masked *m, const char *folder, hd_err *err)
{
    const hd_bert_opt *o = &m->model->opt;
    hd_text c = {0}, own = {0};
    hd_family_bert_put(&c, o->headless ? "BertModel" : "BertForMaskedLM", o, m->tokenizer);
    hd_family_own_tokenizer(&own, m->tokenizer);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

/* As a bare model is saved. */
static void drop_prefix(hd_params *p)
{
    const size_t size = strlen(HD_BERT_PREFIX);
    for (size_t i = 0; i < p->count; i++) {
        char *name = p->list[i]->name;
        if (name && !strncmp(name, HD_BERT_PREFIX, size)) memmove(name, name + size, strlen(name) + 1 - size);
    }
}

static hd_status export_words(const hd_passage *p, hd_err *err)
{
    hd_masked *m = NULL;
    hd_status s = hd_masked_open(&m, p->from, p->backend, err);
    if (!s) s = hd_family_bert_check(&m->model->opt, p->from, err);
    if (!s) s = hd_family_bert_save_tokenizer(m->tokenizer, &m->model->opt, m->longest, p->to, err);
    if (!s) s = save_config(m, p->to, err);
    if (!s) s = hd_family_sentence_save(m, p->to, err);
    if (!s && m->model->opt.headless) drop_prefix(&m->model->params);
    if (!s) s = hd_masked_publish(m, p->to, err);
    hd_masked_free(m);
    return s;
}

static hd_status export(const hd_family *f, const hd_passage *p, hd_err *err)
{
    (void)f;
    bool words;
    hd_status s = hd_family_folder_says(&words, p->from, "task", "mlm", err);
    if (s) return s;
    return words ? export_words(p, err) : hd_family_bert_export_labels(p, err);
}

static bool has(const hd_family *f, hd_model_config *c)
{
    (void)f;
    return hd_family_says(c, "task", "mlm") || hd_family_labels_has(c, "bert");
}

const hd_family hd_family_bert = {.sentences = true, .has = has, .import = import, .export = export};
