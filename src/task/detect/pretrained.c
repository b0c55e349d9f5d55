/* The detector that a run begins with. Rows of labels that both have are taken over, wherever they stand:
   published models have other labels, in another order, than the data. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "task/detect/training.h"
#include "train/published.h"

enum { FRESH = 4 }; /* most tensors that are not read as they are */

/* -- options -- */

/* The stages of a ResNet are not said: the text of an option has to last. */
static hd_status take_backbone(hd_taking *t, const hd_image_encoder_opt *i, hd_err *err)
{
    const hd_resnet_opt *n = &i->resnet;
    hd_status s = hd_taking_say(t, "image-encoder", hd_image_encoder_names[i->kind], err);
    if (!s) s = hd_taking_number(t, "channels", (size_t)i->channels, err);
    if (s) return s;
    if (i->kind != HD_IMAGE_resnet) {
        s = hd_taking_number(t, "conv-stem", (size_t)i->stem, err);
        return s || i->stem ? s : hd_taking_number(t, "patch-size", (size_t)i->patch, err);
    }
    s = hd_taking_say(t, "resnet-stem",
                      hd_train_stems[n->stem_small ? HD_TRAIN_STEM_SMALL : HD_TRAIN_STEM_LARGE], err);
    if (!s) s = hd_taking_say(t, "resnet-norm", hd_map_norm_names[n->norm], err);
    return s ? s : hd_taking_number(t, "resnet-bottleneck", n->bottleneck, err);
}

hd_status hd_detect_take(hd_taking *t, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, t->options->from, "detect", err);
    if (s) return s;
    const hd_detr_opt m = hd_model_folder_detr(&f)->opt;
    hd_model_folder_release(&f);
    const struct {
        const char *option;
        size_t value;
    } numbers[] = {{"encoder-layers", (size_t)m.encoder_layers},
                   {"decoder-layers", (size_t)m.decoder_layers},
                   {"queries", m.queries},
                   {"query-kind", !m.anchors},
                   {"width", m.stack.width},
                   {"heads", (size_t)m.stack.heads},
                   {"ffn-size", m.stack.inner}};
    s = take_backbone(t, &m.image, err);
    for (size_t i = 0; !s && i < sizeof numbers / sizeof *numbers; i++)
        s = hd_taking_number(t, numbers[i].option, numbers[i].value, err);
    if (!s) s = hd_taking_activation(t, m.stack.act, err);
    if (!s) s = hd_taking_real(t, "query-reach", (double)m.reach, err);
    return s ? s : hd_taking_real(t, "dropout", round(1e6 * (double)m.stack.dropout) / 1e6, err);
}

/* -- weights -- */

/* The row of the other model's table that row number `row` is; -1: it is new. Rows before and behind those of
   labels are the same in both. */
typedef struct rows {
    const hd_vocab *now, *then;
    size_t before; /* rows that come before those of labels */
} rows;

static int64_t row_then(const rows *r, size_t row)
{
    if (row < r->before) return (int64_t)row;
    size_t label = row - r->before;
    if (label >= r->now->count) return (int64_t)(row - r->now->count + r->then->count);
    const char *name = hd_vocab_piece(r->now, (int32_t)label);
    int32_t found = hd_vocab_find(r->then, name, strlen(name));
    return found < 0 ? -1 : (int64_t)r->before + found;
}

/* Rows that are new stay as they were drawn. */
static hd_status load_rows(hd_params *p, hd_param *one, const rows *r, const hd_safetensors *file,
                           hd_err *err)
{
    size_t count = hd_count_of(&one->t), d = one->t.rank > 1 ? hd_cols_of(&one->t) : 1, now = count / d,
           then = now - r->now->count + r->then->count;
    hd_real *x = hd_mem_array(count + then * d, sizeof *x), *table = x + count;
    if (!x) return hd_err_nomem(err, (count + then * d) * sizeof *x);
    hd_tensor whole = hd_shaped(table, HD_REAL, one->t.rank, (const size_t[]){then, d});
    hd_status s = hd_params_get(p, one, &one->t, x);
    if (s) hd_err_set(err, s, "%s could not be read", one->name);
    if (!s) s = hd_safetensors_load(file, one->name, &whole, err);
    for (size_t i = 0; !s && i < now; i++) {
        int64_t from = row_then(r, i);
        if (from >= 0) memcpy(x + i * d, table + (size_t)from * d, d * sizeof *x);
    }
    if (!s) s = hd_params_set(p, one, x);
    hd_mem_free(x);
    return s;
}

static bool same_labels(const hd_vocab *a, const hd_vocab *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = !strcmp(hd_vocab_piece(a, (int32_t)i), hd_vocab_piece(b, (int32_t)i));
    return same;
}

hd_status hd_detect_take_weights(hd_detr *m, const hd_vocab *labels, const hd_model_folder *from,
                                 const char *folder, hd_err *err)
{
    const hd_image_encoder_opt *then = &hd_model_folder_detr(from)->opt.image;
    const rows of = {labels, &from->labels, 0}, content = {labels, &from->labels, m->opt.queries};
    bool renamed = !same_labels(labels, &from->labels);
    hd_param *fresh[FRESH] = {renamed ? m->label.w : NULL, renamed ? m->label.b : NULL,
                              renamed ? m->content : NULL, hd_image_encoder_resized(&m->image, then)};
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    for (int i = 0; i < FRESH; i++)
        if (fresh[i]) fresh[i]->fresh = true;
    hd_status s = hd_published_load(&m->params, folder, err);
    for (int i = 0; i < FRESH; i++)
        if (fresh[i]) fresh[i]->fresh = false;
    if (!s) s = hd_path(path, folder, "model.safetensors", err);
    if (!s) s = hd_safetensors_open(&file, path, err);
    for (int i = 0; !s && i < FRESH - 1; i++)
        if (fresh[i]) s = load_rows(&m->params, fresh[i], i == 2 ? &content : &of, file, err);
    if (!s && fresh[FRESH - 1]) s = hd_image_encoder_load_positions(&m->image, &m->params, then, file, err);
    hd_safetensors_free(file);
    return s;
}
