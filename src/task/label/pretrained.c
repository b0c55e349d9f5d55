/* What a classifier begins with. */
#include "task/label/training.h"

#include <string.h>

#include "train/published.h"

void hd_origin_release(hd_origin *o)
{
    hd_tokenizer_free(o->tokenizer);
    hd_vocab_release(&o->labels);
    *o = (hd_origin){0};
}

static void from_masked(hd_origin *out, const hd_bert *m)
{
    out->body = (hd_body_opt){.type = &hd_body_bert, .bert = m->opt, .positions = m->opt.positions};
}

static hd_status from_language(hd_origin *out, const hd_lm *m, const char *folder, hd_err *err)
{
    if (!m->type->rows)
        return hd_err_set(err, HD_EARG,
                          "%s: a language model of the kind %s has no states that could be classified: rnn, "
                          "gru, lstm and gpt have",
                          folder, m->type->name);
    out->body =
        (hd_body_opt){.type = &hd_body_lm, .lm = m->opt, .positions = m->type->lm.state ? 0 : m->opt.context};
    return HD_OK;
}

static void from_labeler(hd_origin *out, hd_model_folder *f)
{
    out->head = hd_model_folder_classifier(f)->opt;
    out->body = out->head.body;
    out->labels = f->labels, f->labels = (hd_vocab){0};
}

hd_status hd_origin_open(hd_origin *out, const char *folder, hd_err *err)
{
    hd_model_folder f;
    *out = (hd_origin){0};
    hd_status s = hd_model_folder_describe(&f, folder, NULL, err);
    if (s) return s;
    if (f.task->id == HD_TRAIN_MLM)
        from_masked(out, f.model.self);
    else if (f.task->id == HD_TRAIN_LM)
        s = from_language(out, f.model.self, folder, err);
    else if (hd_labeler_kind(&f))
        from_labeler(out, &f);
    else
        s = hd_err_set(
            err, HD_EARG,
            "%s: \"task\" is \"%s\": what gives labels begins with a model of task mlm or lm, or one "
            "that gives labels",
            folder, f.task->name);
    hd_model_folder_keep_tokenizers(&f);
    out->tokenizer = f.tokenizer[0];
    if (s) hd_origin_release(out);
    return s;
}

static bool same_labels(const hd_origin *o, const hd_classifier *m, const hd_vocab *labels)
{
    if (o->head.classes != m->opt.classes || o->head.head != m->opt.head || o->labels.count != labels->count)
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
