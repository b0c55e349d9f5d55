/* BERT with a head that gives labels or a number: a classifier with a BERT for its body. */
#include "hub/bert.h"
#include "hub/labels.h"
#include "hub/own.h"
#include "hub/weights.h"

static const char PAIRS[] = "pairs";

/* -- here -- */

/* Only heed says whether pairs of texts are asked for; without a word a tab may stand between two, of a model
   that tells them apart: others have two ends between them, which no pair has here. */
static bool takes_pairs(hd_model_config *c, const hd_bert_opt *o)
{
    hd_model_config own = hd_family_own(c);
    bool pairs = hd_family_switch(&own, PAIRS, o->types > 1);
    hd_family_own_end(c, &own);
    return pairs;
}

hd_status hd_family_bert_import_labels(const hd_passage *p, const hd_bert_form *form, hd_model_config *c,
                                       hd_err *err)
{
    hd_model_folder f = {0};
    hd_classifier *m = NULL;
    hd_classifier_opt opt = {.pool = HD_POOL_first, .body = {.type = &hd_body_bert}};
    opt.body.bert = hd_family_bert_config(c, form);
    opt.body.positions = opt.body.bert.positions;
    f.pairs = takes_pairs(c, &opt.body.bert);
    hd_family_labels_read(c, &f.labels);
    opt.classes = f.labels.count;
    opt.numbers = hd_family_labels_number(c, opt.classes);
    if (opt.numbers) hd_vocab_release(&f.labels);
    hd_family_bert_tokenizer(c, p->from, &opt.body.bert, &f.tokenizer[0]);
    hd_status s = c->status;
    if (!s) s = hd_family_labels_check_size(&opt, p->from, err);
    if (!s) s = hd_classifier_new(&m, p->backend, &opt, false, err);
    if (!s) hd_model_folder_take(&f, hd_labeler_task(&opt), hd_classifier_model(m));
    if (!s) s = hd_family_bert_load(f.model.params, form, true, p->from, err);
    if (!s) s = hd_model_folder_write(&f, p->to, err);
    hd_model_folder_release(&f);
    return s;
}

/* -- and back -- */

static hd_status save_config(const hd_model_folder *f, const hd_bert_form *form, const char *folder,
                             hd_err *err)
{
    hd_text c = {0}, own = {0};
    const hd_bert_opt *o = &hd_model_folder_classifier(f)->opt.body.bert;
    hd_family_bert_put(&c, form, HD_BERT_LABELS, o, f->tokenizer[0]);
    hd_family_labels_put(&c, f);
    hd_family_own_tokenizer(&own, f->tokenizer[0]);
    if (f->pairs != (o->types > 1)) hd_family_own_switch(&own, PAIRS, f->pairs);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

hd_status hd_family_bert_export_labels(const hd_passage *p, const hd_bert_form *form, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_open(&f, p->from, "classify", p->backend, HD_WEIGHTS_BEST, err);
    if (s) return s;
    const hd_classifier_opt *o = &hd_model_folder_classifier(&f)->opt;
    s = hd_family_bert_check(&o->body.bert, p->from, err);
    if (!s && o->pool != HD_POOL_first)
        s = hd_err_set(err, HD_EARG, "%s: %s" HD_BERT_LABELS " reads the first row; this model \"%s\"",
                       p->from, form->title, hd_pool_names[o->pool]);
    if (!s) s = hd_family_bert_save_tokenizer(f.tokenizer[0], form, &o->body.bert, 0, p->to, err);
    if (!s) s = save_config(&f, form, p->to, err);
    if (!s) s = hd_family_bert_rename(f.model.params, form, true, false, err);
    if (!s) s = hd_model_folder_publish(&f, p->to, err);
    hd_model_folder_release(&f);
    return s;
}
