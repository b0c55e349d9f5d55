/* What a model that gives labels begins with. */
#include <string.h>

#include "model/vision/image_model.h"
#include "task/label/training.h"
#include "train/published.h"

/* The body of a masked language model, of a language model with states, or of another model with labels. */
static hd_status body_of(hd_classifier_opt *to, const hd_model_folder *f, const char *folder, hd_err *err)
{
    hd_body_opt *b = &to->body;
    if (hd_labeler_kind(f)) {
        *to = hd_model_folder_classifier(f)->opt;
        return HD_OK;
    }
    if (f->task->id == HD_TRAIN_MLM) {
        const hd_bert_opt *o = &hd_model_folder_bert(f)->opt;
        *b = (hd_body_opt){.type = &hd_model_bert, .bert = *o, .positions = o->positions};
        return HD_OK;
    }
    if (f->task->id != HD_TRAIN_LM)
        return hd_err_set(err, HD_EARG,
                          "%s: \"task\" is \"%s\": what gives labels begins with a model of task mlm or lm, "
                          "or one that gives labels",
                          folder, f->task->name);
    const hd_lm *m = hd_model_folder_lm(f);
    *b = (hd_body_opt){.type = m->type, .lm = m->opt, .positions = m->type->lm.state ? 0 : m->opt.context};
    return m->type->rows ? HD_OK
                         : hd_err_set(err, HD_EARG,
                                      "%s: a language model of the kind %s has no states that could be "
                                      "classified: rnn, gru, lstm and gpt have",
                                      folder, m->type->name);
}

hd_status hd_origin_open(hd_origin *out, const char *folder, hd_err *err)
{
    *out = (hd_origin){0};
    hd_status s = hd_model_folder_describe(&out->folder, folder, NULL, err);
    if (!s) s = body_of(&out->model, &out->folder, folder, err);
    if (s) hd_model_folder_release(&out->folder);
    return s;
}

static bool same_labels(const hd_origin *o, const hd_classifier *m, const hd_vocab *labels)
{
    const hd_vocab *then = &o->folder.labels;
    if (o->model.classes != m->opt.classes || o->model.teacher || o->model.head != m->opt.head ||
        then->count != labels->count)
        return false;
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(hd_vocab_piece(labels, (int32_t)i), hd_vocab_piece(then, (int32_t)i))) return false;
    return true;
}

/* Positions for pictures of another size than those that the model to begin with has seen; NULL: none. */
static hd_param *resized_of(const hd_origin *o, const hd_classifier *m)
{
    if (!hd_body_reads_pictures(&m->opt.body)) return NULL;
    return hd_image_encoder_resized(&((const hd_image_model *)m->body.self)->encoder, &o->model.body.image);
}

static hd_status load_resized(const hd_origin *o, const char *folder, hd_classifier *m, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    const hd_image_encoder *e = &((const hd_image_model *)m->body.self)->encoder;
    hd_status s = hd_path(path, folder, "model.safetensors", err);
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = hd_image_encoder_load_positions(e, m->params, &o->model.body.image, file, err);
    hd_safetensors_free(file);
    return s;
}

hd_status hd_origin_take(const hd_origin *o, const char *folder, hd_classifier *m, const hd_vocab *labels,
                         hd_err *err)
{
    bool head = !same_labels(o, m, labels);
    const hd_dense *pooler = m->body.type->sizes(m->body.self).pooler;
    bool drawn = pooler && (o->model.classes ? o->model.pool != HD_POOL_first : !o->model.body.bert.pooler);
    hd_param *fresh[] = {head ? m->out.w : NULL, head ? m->out.b : NULL, drawn ? pooler->w : NULL,
                         drawn ? pooler->b : NULL, resized_of(o, m)};
    for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++)
        if (fresh[i]) fresh[i]->fresh = true;
    hd_status s = hd_published_load(m->params, folder, err);
    for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++)
        if (fresh[i]) fresh[i]->fresh = false;
    return s || !resized_of(o, m) ? s : load_resized(o, folder, m, err);
}
