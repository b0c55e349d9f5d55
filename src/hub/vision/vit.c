/* ViT and DeiT: a classifier of pictures whose body is a ViT that looks at its class token, or the ViT alone,
   for vectors. A DeiT has a distillation token, too, and perhaps a second layer of labels on it. */
#include "hub/vision/vit.h"

#include <stdlib.h>
#include <string.h>

#include "hub/labels.h"
#include "hub/own.h"
#include "hub/weights.h"
#include "model/vision/image_model.h"

static const char PREFIX[] = "vit.", IMAGE[] = "image_size", PATCH[] = "patch_size",
                  DROP_PATH[] = "drop_path";

/* What tells the families apart. */
typedef struct vit_form {
    const char *title, *prefix;
    bool distilled;
} vit_form;

/* What stands behind the title in "architectures". */
typedef enum head { BARE, LABELS, TEACHER, HEADS } head;
static const char *const kinds[HEADS] = {
    [BARE] = "Model", [LABELS] = "ForImageClassification", [TEACHER] = "ForImageClassificationWithTeacher"};

/* -- config.json -- */

static const hd_key keys[] = {
    HD_KEY(WHOLE, "num_hidden_layers", hd_image_encoder_opt, stack.layers, HD_MOST_LAYERS, 12),
    HD_KEY(WHOLE, "num_attention_heads", hd_image_encoder_opt, stack.heads, HD_MOST_HEADS, 12),
    HD_KEY(WHOLE, "hidden_size", hd_image_encoder_opt, stack.width, HD_MOST_SIZE / 16, 768),
    HD_KEY(WHOLE, "intermediate_size", hd_image_encoder_opt, stack.inner, HD_MOST_SIZE / 4, 3072),
    HD_KEY(WHOLE, "num_channels", hd_image_encoder_opt, channels, 3, 3),
    HD_KEY(UNARY, "hidden_act", hd_image_encoder_opt, stack.act, 0, HD_gelu),
    HD_KEY(UNARY, "pooler_act", hd_image_encoder_opt, pooler_act, 0, HD_tanh),
    HD_KEY(REAL, "hidden_dropout_prob", hd_image_encoder_opt, stack.dropout, HD_KEY_DROPOUT, 0),
    HD_KEY(REAL, "attention_probs_dropout_prob", hd_image_encoder_opt, stack.attention_dropout,
           HD_KEY_DROPOUT, 0),
    HD_KEY(REAL, "layer_norm_eps", hd_image_encoder_opt, stack.eps, 1, 1e-12),
    HD_KEY(NOT, "qkv_bias", hd_image_encoder_opt, stack.unbiased_qkv, 0, 0),
    {0}};

/* A number, or a list of height and width. */
static void read_pair(hd_model_config *c, const char *key, int pair[2], int otherwise)
{
    const json_t *list = json_object_get(c->object, key);
    pair[0] = pair[1] = otherwise;
    if (!json_is_array(list)) {
        pair[0] = pair[1] = (int)hd_family_whole(c, key, 1, HD_MOST_POSITIONS, otherwise);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t n = json_is_integer(v) ? json_integer_value(v) : 0;
        if (json_array_size(list) != 2 || n < 1 || n > HD_MOST_POSITIONS)
            hd_model_config_refuse(c, "\"%s\" is neither a number nor a list of height and width", key);
        else
            pair[i] = (int)n;
    }
}

void hd_family_vit_read(hd_model_config *c, hd_image_encoder_opt *o)
{
    int size[2], patch[2];
    o->kind = HD_IMAGE_vit, o->class_token = true;
    hd_keys_read(c, keys, 0, o);
    read_pair(c, IMAGE, size, 224);
    read_pair(c, PATCH, patch, 16);
    o->height = size[0], o->width = size[1], o->patch = patch[0];
    if (patch[0] != patch[1])
        hd_model_config_refuse(c, "\"%s\" is %d x %d: heed's patches are squares", PATCH, patch[0], patch[1]);
    if (o->channels == 2)
        hd_model_config_refuse(c, "\"num_channels\" is 2: pictures have 1 (grey) or 3 (color)");
    if (!(o->stack.eps > 0)) hd_model_config_refuse(c, "\"layer_norm_eps\" is 0, which no model has");
    if (hd_family_whole(c, "pooler_output_size", 1, HD_MOST_SIZE, (long long)o->stack.width) !=
        (long long)o->stack.width)
        hd_model_config_refuse(c,
                               "\"pooler_output_size\" is not \"hidden_size\": heed does not support this");
    hd_family_insist_heads(c, &o->stack);
}

void hd_family_vit_put(json_t *config, const hd_image_encoder_opt *o)
{
    hd_keys_set(config, keys, o);
    hd_json_set(config, IMAGE,
                o->height == o->width ? json_integer(o->height) : json_pack("[i,i]", o->height, o->width));
    hd_json_set(config, PATCH, json_integer(o->patch));
    hd_json_set(config, "encoder_stride", json_integer(o->patch));
    hd_json_set(config, "initializer_range", json_real(0.02));
}

hd_status hd_family_vit_check(const hd_image_encoder_opt *o, const char *folder, hd_err *err)
{
    if (o->kind != HD_IMAGE_vit || o->stem)
        return hd_err_set(err, HD_EARG,
                          "%s: transformers has no %s: train a ViT with --patch-size and without --conv-stem",
                          folder, o->stem ? "ViT with a convolutional stem" : "such model");
    if (!o->class_token)
        return hd_err_set(err, HD_EARG,
                          "%s: a ViT of transformers has a class token: train with --pool first", folder);
    return hd_family_check_activation(o->stack.act, folder, err);
}

/* -- here -- */

static head head_of(hd_model_config *c, const vit_form *form)
{
    const char *kind = hd_family_architecture(c, form->title);
    int count = form->distilled ? HEADS : TEACHER;
    for (int h = 0; h < count; h++)
        if (!strcmp(kinds[h], kind)) return (head)h;
    hd_model_config_refuse(c, "\"architectures\" has \"%.60s\": heed imports %s%s, %s%s%s%s%s",
                           hd_family_architecture(c, ""), form->title, kinds[BARE], form->title,
                           kinds[LABELS], form->distilled ? " and " : "", form->distilled ? form->title : "",
                           form->distilled ? kinds[TEACHER] : "");
    return BARE;
}

hd_image_prepare hd_family_vit_prepare(const hd_image_encoder_opt *o)
{
    hd_image_prepare p = {.channels = o->channels,
                          .resize = true,
                          .height = o->height,
                          .width = o->width,
                          .filter = HD_FILTER_BILINEAR,
                          .rescale = 1.0 / 255};
    for (int i = 0; i < 3; i++) p.mean[i] = p.deviation[i] = 0.5f;
    if (!o->distilled) return p;
    p.height = p.width = 256, p.filter = HD_FILTER_BICUBIC;
    p.crop_height = o->height, p.crop_width = o->width;
    return p;
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    const vit_form *form = p->family->self;
    hd_classifier_opt *o = &p->classifier;
    hd_image_encoder_opt *image = &o->body.image;
    head h = head_of(c, form);
    *o = (hd_classifier_opt){.pool = HD_POOL_first, .body.type = &hd_model_vit, .teacher = h == TEACHER};
    image->distilled = form->distilled;
    hd_family_vit_read(c, image);
    hd_model_config own = hd_family_own(c);
    if (hd_model_config_has(&own, DROP_PATH))
        image->stack.drop_path = (float)hd_model_config_real(&own, DROP_PATH, HD_KEY_DROPOUT);
    hd_family_own_end(c, &own);
    image->prepare = hd_family_vit_prepare(image);
    hd_family_preprocessor_read(c, p->from, &image->prepare);
    if (h != BARE) {
        hd_family_labels_read(c, p);
        return;
    }
    p->task = HD_TRAIN_CLASSIFY, p->make = hd_passage_classifier, o->head = &hd_head_classes;
    if (!c->status)
        c->status = hd_family_weights_have(&image->pooler, p->from, "pooler.dense.weight", c->err);
}

/* -- names of tensors -- */

typedef struct naming {
    const char *prefix; /* in place of ours */
    bool newer;         /* as transformers calls modules since version 5, should a file say so */
} naming;

/* What comes in place of what ours begin with, and of parts of the rest. */
static void put_name(hd_text *to, const char *name, const void *context)
{
    static const char *const newer[][2] = {{"encoder.layer.", "layers."},
                                           {"attention.attention.query.", "attention.q_proj."},
                                           {"attention.attention.key.", "attention.k_proj."},
                                           {"attention.attention.value.", "attention.v_proj."},
                                           {"attention.output.dense.", "attention.o_proj."},
                                           {"intermediate.dense.", "mlp.fc1."},
                                           {"output.dense.", "mlp.fc2."}};
    const naming *n = context;
    size_t prefix = sizeof PREFIX - 1;
    bool ours = !strncmp(name, PREFIX, prefix);
    if (ours) hd_text_put(to, n->prefix), name += prefix;
    while (n->newer && ours && *name) {
        size_t i = 0;
        while (i < sizeof newer / sizeof *newer && strncmp(name, newer[i][0], strlen(newer[i][0]))) i++;
        bool found = i < sizeof newer / sizeof *newer;
        if (found)
            hd_text_put(to, newer[i][1]), name += strlen(newer[i][0]);
        else
            hd_text_add(to, name++, 1);
    }
    hd_text_put(to, name);
}

static void name_tensors(hd_passage *p)
{
    const vit_form *form = p->family->self;
    hd_params *all = p->m.model.params;
    all->prefix = form->prefix;
    for (size_t i = 0, count = all->count; i < count; i++)
        for (int newer = 0; newer < 2; newer++) {
            hd_text name = {0};
            if (!all->list[i]->name || strncmp(all->list[i]->name, PREFIX, sizeof PREFIX - 1)) continue;
            put_name(&name, all->list[i]->name, &(naming){"", newer});
            if (name.missed)
                hd_err_nomem(&all->err, name.missed);
            else if (!hd_params_find(all, name.data))
                hd_param_alias(all, all->list[i], "%s", name.data);
            hd_text_release(&name);
        }
}

static const hd_classifier *classifier_of(const hd_passage *p)
{
    return hd_model_folder_classifier(&p->m);
}

static head head_here(const hd_passage *p)
{
    const hd_classifier_opt *o = &classifier_of(p)->opt;
    return o->teacher ? TEACHER : o->classes ? LABELS : BARE;
}

static hd_status rename_tensors(hd_passage *p, hd_err *err)
{
    const vit_form *form = p->family->self;
    const naming n = {.prefix = head_here(p) == BARE ? "" : form->prefix};
    return hd_family_rename(p->m.model.params, put_name, &n, err);
}

/* -- and back -- */

static bool has(const hd_family *f, hd_model_config *c)
{
    bool distilled = hd_family_switch(c, "distilled", false);
    return hd_family_labels_has(c, "vit") && distilled == ((const vit_form *)f->self)->distilled;
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_classifier_opt *o = &classifier_of(p)->opt;
    if (o->pool != HD_POOL_first)
        return hd_err_set(err, HD_EARG,
                          "%s: a ViT of transformers reads its class token; this model \"%s\": train with "
                          "--pool first",
                          p->from, hd_pool_names[o->pool]);
    return hd_family_vit_check(&o->body.image, p->from, err);
}

static void put(const hd_passage *p, json_t *config, json_t *own)
{
    const vit_form *form = p->family->self;
    const hd_image_encoder_opt *image = &classifier_of(p)->opt.body.image;
    char digits[HD_REAL_TEXT];
    hd_json_set(config, "architectures", json_pack("[s+]", form->title, kinds[head_here(p)]));
    hd_family_vit_put(config, image);
    if (head_here(p) != BARE) hd_family_labels_put(config, &p->m);
    if (image->stack.drop_path > 0)
        hd_json_set(own, DROP_PATH,
                    json_real(strtod(hd_model_config_digits(digits, (double)image->stack.drop_path), NULL)));
}

static hd_status save_files(const hd_passage *p, hd_err *err)
{
    return hd_family_preprocessor_save(&classifier_of(p)->opt.body.image.prepare, NULL, p->to, err);
}

static const hd_family_form form_of_all = {.has = has,
                                           .read = read_folder,
                                           .name = name_tensors,
                                           .check = check,
                                           .put = put,
                                           .files = save_files,
                                           .rename = rename_tensors};

/* Where labels are told from the class token itself, nothing asks the pooler. */
static const char *const ignored[] = {".pooler.dense.weight", ".pooler.dense.bias", NULL};
static const vit_form vit = {"ViT", PREFIX, false}, deit = {"DeiT", "deit.", true};
const hd_family hd_family_vit = {"vit", &form_of_all, ignored, &vit};
const hd_family hd_family_deit = {"deit", &form_of_all, ignored, &deit};
