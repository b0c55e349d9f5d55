/* What a classifier begins with. */
#include "task/label/pretrained.h"

#include <string.h>

#include "task/language/language.h"
#include "task/masked/masked.h"
#include "train/published.h"

void hd_origin_release(hd_origin *o)
{
    hd_tokenizer_free(o->tokenizer);
    hd_vocab_release(&o->labels);
    *o = (hd_origin){0};
}

static hd_status from_masked(hd_origin *out, const char *folder, hd_err *err)
{
    out->body.type = &hd_body_bert;
    hd_status s = hd_masked_describe(folder, &out->body.bert, &out->tokenizer, err);
    out->body.positions = out->body.bert.positions;
    return s;
}

static hd_status from_language(hd_origin *out, const char *folder, hd_err *err)
{
    hd_lm_opt *o = &out->body.lm;
    out->body.type = &hd_body_lm;
    hd_status s = hd_language_describe(folder, o, &out->tokenizer, err);
    if (s) return s;
    const hd_model_type *type = hd_model_find(hd_lm_names[o->kind]);
    if (!type->rows)
        return hd_err_set(err, HD_EARG,
                          "%s: a language model of the kind %s has no states that could be classified: rnn, "
                          "gru, lstm and gpt have",
                          folder, hd_lm_names[o->kind]);
    out->body.positions = type->lm.state ? 0 : o->context;
    return HD_OK;
}

static hd_status from_labeler(hd_origin *out, const char *folder, hd_err *err)
{
    hd_labeler l;
    hd_status s = hd_labeler_describe(&l, &out->head, folder, err);
    if (s) return s;
    out->body = out->head.body;
    out->tokenizer = l.tokenizer, l.tokenizer = NULL;
    out->labels = l.labels, l.labels = (hd_vocab){0};
    hd_labeler_release(&l);
    return HD_OK;
}

hd_status hd_origin_open(hd_origin *out, const char *folder, hd_err *err)
{
    hd_model_config c;
    *out = (hd_origin){0};
    const hd_task_folder *task = hd_model_folder_begin(&c, folder, NULL, err);
    hd_status s = c.status;
    hd_model_config_release(&c);
    if (s) return s;
    if (task->read == hd_masked_read)
        s = from_masked(out, folder, err);
    else if (task->read == hd_language_read)
        s = from_language(out, folder, err);
    else if (task->line == HD_LINE_item)
        s = from_labeler(out, folder, err);
    else
        s = hd_err_set(err, HD_EARG,
                       "%s: \"task\" is \"%s\": a classifier begins with a model of task mlm, lm, classify "
                       "or regress",
                       folder, task->name);
    if (s) hd_origin_release(out);
    return s;
}

static bool same_labels(const hd_origin *o, const hd_classifier *m, const hd_vocab *labels)
{
    if (o->head.classes != m->opt.classes || o->head.numbers != m->opt.numbers ||
        o->labels.count != labels->count)
        return false;
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(hd_vocab_piece(labels, (int32_t)i), hd_vocab_piece(&o->labels, (int32_t)i))) return false;
    return true;
}

hd_status hd_origin_take(const hd_origin *o, const char *folder, hd_classifier *m, const hd_vocab *labels,
                         hd_err *err)
{
    bool head = !same_labels(o, m, labels);
    const hd_dense *pooler = m->body.type->sizes(m->body.self).pooler;
    bool drawn = pooler && (o->head.classes ? o->head.pool != HD_POOL_first : !o->body.bert.pooler);
    hd_param *fresh[] = {head ? m->out.w : NULL, head ? m->out.b : NULL, drawn ? pooler->w : NULL,
                         drawn ? pooler->b : NULL};
    for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++)
        if (fresh[i]) fresh[i]->fresh = true;
    hd_status s = hd_published_load(m->params, folder, err);
    for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++)
        if (fresh[i]) fresh[i]->fresh = false;
    return s;
}
