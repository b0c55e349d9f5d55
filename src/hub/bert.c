/* BERT: the masked language model of `heed fill`, whose tensors have these names already; and what is a BERT
   under other names. One without the
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

/* What the name in "architectures" has behind the family's title; NULL: there is no name, or another one. */
static const char *kind_of(const hd_model_config *c, const hd_bert_form *form)
{
    const char *name = json_string_value(json_array_get(json_object_get(c->object, "architectures"), 0));
    size_t size = strlen(form->title);
    return name && !strncmp(name, form->title, size) ? name + size : name ? name : "Model";
}

/* Whether what was saved had a head that predicts words; other heads are refused. */
static bool predicts(hd_model_config *c, const hd_bert_form *form)
{
    static const char *const known[] = {"Model", "ForMaskedLM", "ForPreTraining"};
    const char *kind = kind_of(c, form);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], kind)) return i > 0;
    hd_model_config_refuse(c, "\"architectures\" has \"%.60s\": heed imports %s and %s" HD_BERT_LABELS,
                           json_string_value(json_array_get(json_object_get(c->object, "architectures"), 0)),
                           form->others, form->title);
    return false;
}

static hd_status find_parts(hd_bert_opt *o, const hd_bert_form *form, const char *folder, bool promised,
                            hd_err *err)
{
    bool head = promised;
    hd_status s = hd_family_weights_have(&o->pooler, folder, "pooler.dense.weight", err);
    if (!s && !head)
        s = hd_family_weights_have(
            &head, folder, form->head ? "lm_head.dense.weight" : "cls.predictions.transform.dense.weight",
            err);
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

static hd_status import_words(const hd_passage *p, const hd_bert_form *form, hd_model_config *c, hd_err *err)
{
    hd_model_folder m = {0};
    hd_bert *bert = NULL;
    hd_bert_opt opt = hd_family_bert_config(c, form);
    bool promised = predicts(c, form);
    hd_family_bert_tokenizer(c, p->from, &opt, &m.tokenizer[0]);
    hd_status s = c->status;
    if (!s) s = hd_family_sentence_read(&m, &opt, p->from, err);
    if (!s) s = find_parts(&opt, form, p->from, promised, err);
    if (!s) s = check_size(&opt, p->from, err);
    if (!s) s = hd_bert_new(&bert, p->backend, &opt, false, err);
    if (!s) hd_model_folder_take(&m, HD_TRAIN_MLM, hd_bert_model(bert));
    if (!s) s = hd_family_bert_load(m.model.params, form, false, p->from, err);
    if (!s) s = hd_model_folder_write(&m, p->to, err);
    hd_model_folder_release(&m);
    return s;
}

/* Whether what was saved gives labels. */
static hd_status import(const hd_family *f, const hd_passage *p, hd_model_config *c, hd_err *err)
{
    bool labels = !strcmp(kind_of(c, f->form), HD_BERT_LABELS);
    return (labels ? hd_family_bert_import_labels : import_words)(p, f->form, c, err);
}

/* -- and back -- */

static hd_status save_config(const hd_model_folder *m, const hd_bert_form *form, const char *folder,
                             hd_err *err)
{
    const hd_bert_opt *o = &hd_model_folder_bert(m)->opt;
    hd_text c = {0}, own = {0};
    hd_family_bert_put(&c, form, o->headless ? "Model" : "ForMaskedLM", o, m->tokenizer[0]);
    hd_family_own_tokenizer(&own, m->tokenizer[0]);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

static hd_status export_words(const hd_passage *p, const hd_bert_form *form, hd_err *err)
{
    hd_model_folder m;
    hd_status s = hd_model_folder_open(&m, p->from, "mlm", p->backend, HD_WEIGHTS_BEST, err);
    if (s) return s;
    const hd_bert_opt *o = &hd_model_folder_bert(&m)->opt;
    s = hd_family_bert_check(o, p->from, err);
    if (!s) s = hd_family_bert_save_tokenizer(m.tokenizer[0], form, o, m.longest, p->to, err);
    if (!s) s = save_config(&m, form, p->to, err);
    if (!s) s = hd_family_sentence_save(&m, p->to, err);
    if (!s) s = hd_family_bert_rename(m.model.params, form, false, o->headless, err);
    if (!s) s = hd_model_folder_publish(&m, p->to, err);
    hd_model_folder_release(&m);
    return s;
}

static hd_status export(const hd_family *f, const hd_passage *p, hd_err *err)
{
    bool words;
    hd_status s = hd_family_folder_says(&words, p->from, "task", "mlm", err);
    return s ? s : (words ? export_words : hd_family_bert_export_labels)(p, f->form, err);
}

static bool has(const hd_family *f, hd_model_config *c)
{
    const hd_bert_form *form = f->form;
    return (hd_family_says(c, "task", "mlm") || hd_family_labels_has(c, "bert")) &&
           hd_model_config_has(c, HD_BERT_OFFSET) == form->offset;
}

/* -- the families -- */

static const hd_bert_form bert = {.type = "bert",
                                  .title = "Bert",
                                  .others = "BertModel, BertForMaskedLM, BertForPreTraining",
                                  .prefix = HD_BERT_PREFIX,
                                  .predicts = "cls.predictions.transform.dense.weight",
                                  .native = HD_TOKENIZER_wordpiece,
                                  .vocab = 30522};

static const hd_renamed roberta_head[] = {{"cls.predictions.transform.dense.", "lm_head.dense."},
                                          {"cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."},
                                          {"cls.predictions.", "lm_head."},
                                          {NULL, NULL}},
                        roberta_labels[] = {{"bert.pooler.dense.", "classifier.dense."},
                                            {"classifier.", "classifier.out_proj."},
                                            {NULL, NULL}};

static const hd_bert_form roberta = {.type = "roberta",
                                     .title = "Roberta",
                                     .others = "RobertaModel, RobertaForMaskedLM",
                                     .prefix = "roberta.",
                                     .predicts = "lm_head.dense.weight",
                                     .head = roberta_head,
                                     .labels = roberta_labels,
                                     .native = HD_TOKENIZER_bpe,
                                     .vocab = 50265,
                                     .offset = true};

const hd_family hd_family_bert = {&bert, .sentences = true, .has = has, .import = import, .export = export};
const hd_family hd_family_roberta = {&roberta, .sentences = true, .has = has, .import = import,
                                     .export = export};
