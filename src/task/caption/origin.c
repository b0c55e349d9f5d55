/* The encoder of another model, which a captioner begins with. */
#include <string.h>

#include "base/mem.h"
#include "model/encoder/classifier.h"
#include "model/vision/image_model.h"
#include "task/caption/training.h"

/* NULL: the model has none. */
static const hd_image_encoder *encoder_of(const hd_model_folder *f)
{
    const hd_model body = hd_model_body(&f->model);
    const hd_encdec *m = f->model.self;
    if (f->model.type == &hd_model_encdec) return m->opt.pictures ? &m->image : NULL;
    if (!body.type->as_body || !body.type->as_body->pictures) return NULL;
    return &((const hd_image_model *)body.self)->encoder;
}

static hd_status refuse(const char *folder, hd_err *err)
{
    return hd_err_set(err, HD_EARG, "--encoder-from %s: the model has no encoder of pictures", folder);
}

hd_status hd_caption_origin(hd_image_encoder_opt *out, const char *folder, hd_err *err)
{
    hd_model_folder f;
    const hd_image_encoder_opt asked = *out;
    hd_status s = hd_model_folder_describe(&f, folder, NULL, err);
    if (s) return s;
    const hd_image_encoder *e = encoder_of(&f);
    if (!e) s = refuse(folder, err);
    if (!s) {
        *out = e->opt;
        out->pooler = false; /* nothing asks it */
        out->stack.dropout = asked.stack.dropout, out->stack.drop_path = asked.stack.drop_path;
        out->stack.recompute = asked.stack.recompute;
    }
    hd_model_folder_release(&f);
    return s;
}

/* The tensor of the other model that is this one: both are called alike behind the encoder's name. */
static hd_param *same(const hd_params *from, const char *rest)
{
    static const char *const prefixes[] = {"vit", "resnet", "model.encoder", "encoder"};
    char name[256];
    hd_param *found = NULL;
    for (size_t i = 0; !found && i < sizeof prefixes / sizeof *prefixes; i++) {
        snprintf(name, sizeof name, "%s.%s", prefixes[i], rest);
        found = hd_params_find(from, name);
    }
    return found;
}

static hd_status copy(hd_params *to, hd_param *one, const hd_params *from, const char *rest, hd_err *err)
{
    const hd_param *old = same(from, rest);
    size_t n = hd_count_of(&one->t);
    if (!old || hd_count_of(&old->t) != n)
        return hd_err_set(err, HD_EFORMAT, "--encoder-from: the model has no tensor like %s", one->name);
    hd_real *host = hd_mem_array(n, sizeof *host);
    if (!host) return hd_err_nomem(err, n * sizeof *host);
    from->backend->download(from->backend, host, old->t.data, n * sizeof *host);
    hd_status s = hd_params_set(to, one, host);
    hd_mem_free(host);
    return s;
}

hd_status hd_caption_take_encoder(hd_encdec *m, const char *folder, hd_backend *backend, hd_err *err)
{
    hd_model_folder f;
    char prefix[64];
    hd_params *p = &m->params;
    hd_status s = hd_model_folder_open(&f, folder, NULL, backend, HD_WEIGHTS_WHOLE, err);
    if (s) return s;
    size_t size =
        (size_t)snprintf(prefix, sizeof prefix, "%s%s.", m->opt.names->prefix, m->opt.names->side[0]);
    for (size_t i = 0; !s && i < p->count; i++) {
        hd_param *one = p->list[i];
        if (one->name && !one->alias && !strncmp(one->name, prefix, size))
            s = copy(p, one, f.model.params, one->name + size, err);
    }
    hd_model_folder_release(&f);
    return s;
}
