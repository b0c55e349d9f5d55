/* DETR on a ResNet: a detector whose queries are learned vectors. Published ones have backbones of timm by
   name; those that transformers makes itself say the sizes of their ResNet. Easy to get wrong: its batch
   norms are frozen, and one label more than "id2label" has stands for no object. */
#include <string.h>

#include "hub/labels.h"
#include "hub/vision/vit.h"
#include "task/detect/detect.h"

#define TITLE "DetrForObjectDetection"

static const char CONFIG[] = "backbone_config", NAME[] = "backbone", TIMM[] = "use_timm_backbone";

static const char *const ignored[] = {".num_batches_tracked", NULL};

static const hd_key keys[] = {
    HD_KEY(WHOLE, "encoder_layers", hd_detr_opt, encoder_layers, 64, 6),
    HD_KEY(WHOLE, "decoder_layers", hd_detr_opt, decoder_layers, 64, 6),
    HD_KEY(WHOLE, "encoder_attention_heads", hd_detr_opt, stack.heads, HD_MOST_HEADS, 8),
    HD_KEY(WHOLE, "d_model", hd_detr_opt, stack.width, HD_MOST_SIZE / 16, 256),
    HD_KEY(WHOLE, "encoder_ffn_dim", hd_detr_opt, stack.inner, HD_MOST_SIZE / 4, 2048),
    HD_KEY(WHOLE, "num_queries", hd_detr_opt, queries, HD_MOST_SIZE, 100),
    HD_KEY(WHOLE, "num_channels", hd_detr_opt, image.channels, 3, 3),
    HD_KEY(UNARY, "activation_function", hd_detr_opt, stack.act, 0, HD_relu),
    HD_KEY(REAL, "dropout", hd_detr_opt, stack.dropout, HD_KEY_DROPOUT, 0.1),
    {0}};

/* -- backbones -- */

static const struct {
    const char *name;
    int depths[4];
    bool bottleneck;
} published[] = {{"resnet18", {2, 2, 2, 2}, false},
                 {"resnet34", {3, 4, 6, 3}, false},
                 {"resnet50", {3, 4, 6, 3}, true},
                 {"resnet101", {3, 4, 23, 3}, true},
                 {"resnet152", {3, 8, 36, 3}, true}};

enum { PUBLISHED = sizeof published / sizeof *published };

static hd_resnet_opt published_resnet(int i)
{
    hd_resnet_opt n = {.stages = 4,
                       .embedding = 64,
                       .bottleneck = published[i].bottleneck,
                       .norm = HD_MAP_NORM_frozen,
                       .timm = true};
    for (int s = 0; s < 4; s++)
        n.hidden[s] = (size_t)(published[i].bottleneck ? 256 : 64) << s, n.depths[s] = published[i].depths[s];
    return n;
}

static void read_timm(hd_model_config *c, hd_resnet_opt *n)
{
    const char *name = hd_model_config_text(c, NAME);
    for (int i = 0; i < PUBLISHED; i++) {
        size_t size =
            strlen(published[i].name); /* "resnet50.a1_in1k": what it learned from does not matter */
        if (strncmp(published[i].name, name, size) || (name[size] && name[size] != '.')) continue;
        *n = published_resnet(i);
        return;
    }
    hd_model_config_refuse(c, "\"%s\" is \"%.40s\": of timm heed has resnet18, 34, 50, 101 and 152", NAME,
                           name);
}

/* Numbers of a list, one for each stage; how many. */
static int read_list(hd_model_config *c, const char *key, const int *otherwise, int to[HD_RESNET_STAGES])
{
    const json_t *list = json_object_get(c->object, key);
    size_t count = list ? json_array_size(list) : 4;
    if (!count || count > HD_RESNET_STAGES) {
        hd_model_config_refuse(c, "\"%s\" is not a list of 1 to %d numbers", key, HD_RESNET_STAGES);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t n = !list ? otherwise[i] : json_is_integer(v) ? json_integer_value(v) : 0;
        if (n < 1 || n > HD_MOST_POSITIONS)
            hd_model_config_refuse(c, "\"%s\" has something that is not a number from 1 to %d", key,
                                   HD_MOST_POSITIONS);
        to[i] = (int)n;
    }
    return (int)count;
}

/* Stages behind the last that is asked for are not there. */
static int stages_asked(hd_model_config *c, int stages)
{
    const json_t *list = json_object_get(c->object, "out_features");
    const char *last =
        json_string_value(json_array_get(list, json_array_size(list) ? json_array_size(list) - 1 : 0));
    int asked = last && !strncmp(last, "stage", 5) ? last[5] - '0' : stages;
    if (asked != stages)
        hd_model_config_refuse(c, "\"out_features\" ends with \"%.20s\": heed reads the last stage", last);
    return stages;
}

static void read_resnet(hd_model_config *c, hd_resnet_opt *n)
{
    static const int widths[] = {256, 512, 1024, 2048}, blocks[] = {3, 4, 6, 3};
    int hidden[HD_RESNET_STAGES] = {0};
    *n = (hd_resnet_opt){.norm = HD_MAP_NORM_frozen};
    n->embedding = (size_t)hd_family_whole(c, "embedding_size", 1, HD_MOST_POSITIONS, 64);
    n->stages = read_list(c, "hidden_sizes", widths, hidden);
    for (int i = 0; i < n->stages; i++) n->hidden[i] = (size_t)hidden[i];
    if (read_list(c, "depths", blocks, n->depths) != n->stages)
        hd_model_config_refuse(c, "\"depths\" and \"hidden_sizes\" have different numbers of stages");
    n->stages = stages_asked(c, n->stages);
    n->bottleneck = !hd_family_says(c, "layer_type", "basic");
    hd_family_insist(c, "downsample_in_first_stage", false);
    hd_family_insist(c, "downsample_in_bottleneck", false);
    if (hd_model_config_has(c, "hidden_act") && !hd_family_says(c, "hidden_act", "relu"))
        hd_model_config_refuse(c, "\"hidden_act\" is not \"relu\"");
}

/* Old files say all of it outside, new ones in an object. */
static void read_backbone(hd_model_config *c, hd_resnet_opt *n)
{
    hd_model_config in = hd_model_config_inside(c, CONFIG);
    if (!hd_model_config_has(c, CONFIG))
        read_timm(c, n);
    else if (hd_family_says(&in, "model_type", "timm_backbone"))
        read_timm(&in, n);
    else if (hd_family_says(&in, "model_type", "resnet"))
        read_resnet(&in, n);
    else
        hd_model_config_refuse(&in, "\"model_type\" is neither \"resnet\" nor \"timm_backbone\"");
    hd_model_config_leave(c, &in);
    hd_family_insist(c, "dilation", false);
}

/* -- here -- */

static void insist_same(hd_model_config *c, const char *key, size_t as, const char *other)
{
    if (hd_family_whole(c, key, 1, HD_MOST_SIZE, (long long)as) != (long long)as)
        hd_model_config_refuse(c, "\"%s\" is not \"%s\": heed has one number for both", key, other);
}

static hd_image_prepare prepare_of(int channels)
{
    return (hd_image_prepare){.channels = channels,
                              .resize = true,
                              .shortest = 800,
                              .longest = 1333,
                              .filter = HD_FILTER_BILINEAR,
                              .rescale = 1.0 / 255,
                              .mean = {0.485f, 0.456f, 0.406f},
                              .deviation = {0.229f, 0.224f, 0.225f}};
}

static hd_status make(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err)
{
    hd_detr *m = NULL;
    hd_status s = hd_detr_new(&m, backend, &p->detr, false, err);
    if (!s) *out = hd_detr_model(m);
    return s;
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    hd_detr_opt *o = &p->detr;
    const char *kind = hd_family_architecture(c, "");
    if (strcmp(kind, TITLE) && strcmp(kind, "Model"))
        hd_model_config_refuse(c, "\"architectures\" has \"%.60s\": of this type heed imports " TITLE, kind);
    *o = (hd_detr_opt){.image = {.kind = HD_IMAGE_resnet, .height = 800, .width = 1066}};
    hd_keys_read(c, keys, 0, o);
    insist_same(c, "decoder_attention_heads", (size_t)o->stack.heads, "encoder_attention_heads");
    insist_same(c, "decoder_ffn_dim", o->stack.inner, "encoder_ffn_dim");
    hd_family_insist(c, "auxiliary_loss", false);
    if (hd_model_config_has(c, "position_embedding_type") &&
        !hd_family_says(c, "position_embedding_type", "sine"))
        hd_model_config_refuse(c, "\"position_embedding_type\" is not \"sine\"");
    if (o->image.channels == 2)
        hd_model_config_refuse(c, "\"num_channels\" is 2: pictures have 1 (gray) or 3 (color)");
    hd_family_insist_heads(c, &o->stack);
    if (!c->status) read_backbone(c, &o->image.resnet);
    o->image.prepare = prepare_of(o->image.channels);
    hd_family_preprocessor_read(c, p->from, &o->image.prepare);
    if (!c->status) hd_family_label_names(c, &p->m.labels, true);
    o->labels = p->m.labels.count;
    p->task = HD_TRAIN_DETECT, p->make = make;
}

/* -- and back -- */

static const hd_detr_opt *options_of(const hd_passage *p)
{
    return &hd_model_folder_detr(&p->m)->opt;
}

static bool has(const hd_family *f, hd_model_config *c)
{
    (void)f;
    return hd_family_says(c, "task", "detect") && hd_family_says(c, "model", "detr");
}

/* Which of timm's it is; -1: none. */
static int timm_of(const hd_resnet_opt *n)
{
    for (int i = 0; i < PUBLISHED && n->timm; i++) {
        const hd_resnet_opt a = published_resnet(i);
        bool same = n->stages == a.stages && n->embedding == a.embedding && n->bottleneck == a.bottleneck;
        for (int s = 0; same && s < a.stages; s++)
            same = n->hidden[s] == a.hidden[s] && n->depths[s] == a.depths[s];
        if (same) return i;
    }
    return -1;
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_detr_opt *o = options_of(p);
    const hd_resnet_opt *n = &o->image.resnet;
    if (o->anchors)
        return hd_err_set(err, HD_EARG,
                          "%s: a DETR of transformers has learned queries, this one has anchors: train with "
                          "--query-kind learned",
                          p->from);
    bool keeps = false;
    for (int s = 0; s < n->stages; s++) keeps |= n->keeps[s];
    if (o->image.kind != HD_IMAGE_resnet || n->stem_small || keeps || n->norm == HD_MAP_NORM_group)
        return hd_err_set(
            err, HD_EARG,
            "%s: a DETR of transformers has a ResNet with batch norm and the usual stem and sizes for a "
            "backbone: train with --image-encoder resnet --resnet 64x2,128x2,256x2 --resnet-stem large",
            p->from);
    if (n->timm && timm_of(n) < 0)
        return hd_err_set(err, HD_EARG, "%s: timm has no ResNet of these sizes", p->from);
    return hd_family_check_activation(o->stack.act, p->from, err);
}

static json_t *backbone_of(const hd_resnet_opt *n, int channels)
{
    json_t *hidden = json_array(), *depths = json_array();
    char last[16];
    for (int s = 0; s < n->stages; s++) {
        json_array_append_new(hidden, json_integer((json_int_t)n->hidden[s]));
        json_array_append_new(depths, json_integer(n->depths[s]));
    }
    snprintf(last, sizeof last, "stage%d", n->stages);
    return json_pack("{s:s,s:i,s:i,s:o,s:o,s:s,s:s,s:[s]}", "model_type", "resnet", "num_channels", channels,
                     "embedding_size", (int)n->embedding, "hidden_sizes", hidden, "depths", depths,
                     "layer_type", n->bottleneck ? "bottleneck" : "basic", "hidden_act", "relu",
                     "out_features", last);
}

static void put(const hd_passage *p, json_t *config, json_t *own)
{
    const hd_detr_opt *o = options_of(p);
    const hd_resnet_opt *n = &o->image.resnet;
    int timm = timm_of(n);
    (void)own;
    hd_json_set(config, "architectures", json_pack("[s]", TITLE));
    hd_keys_set(config, keys, o);
    hd_json_join(config,
                 json_pack("{s:i,s:i,s:s,s:b,s:b,s:b,s:b}", "decoder_attention_heads", o->stack.heads,
                           "decoder_ffn_dim", (int)o->stack.inner, "position_embedding_type", "sine",
                           "auxiliary_loss", 0, "dilation", 0, TIMM, timm >= 0, "is_encoder_decoder", 1));
    hd_json_set(config, "use_pretrained_backbone", json_false());
    hd_json_set(config, NAME, timm >= 0 ? json_string(published[timm].name) : json_null());
    if (timm < 0) hd_json_set(config, CONFIG, backbone_of(n, o->image.channels));
    hd_family_labels_put(config, &p->m);
}

static hd_status save_files(const hd_passage *p, hd_err *err)
{
    return hd_family_preprocessor_save(&options_of(p)->image.prepare, "DetrImageProcessor", p->to, err);
}

static hd_status fold(hd_passage *p, hd_err *err)
{
    hd_detr *d = p->m.model.self;
    if (d->image.opt.kind == HD_IMAGE_resnet && d->image.opt.resnet.norm != HD_MAP_NORM_group)
        return hd_resnet_fold(&d->image.resnet, &d->params, err);
    return hd_err_set(err, HD_EARG, "%s: its backbone has no batch norms that could be folded", p->from);
}

static const hd_family_form form = {
    .has = has, .read = read_folder, .check = check, .put = put, .files = save_files, .fold = fold};
const hd_family hd_family_detr = {"detr", &form, ignored, NULL};
