/* The options of a run of a detector. */
#include <stdio.h>

#include "run/pictures.h"
#include "task/detect/training.h"

/* Pixels of a longer side that stays as it is; of larger pictures the shorter side becomes SHORTER. */
enum { MOST_NATIVE = 640, SHORTER = 480, SQUARE = 224 };
enum { CONTINUED = 1000 }; /* updates of a model that has learned already */

static hd_run_parts parts(const hd_train_options *o)
{
    hd_run_parts backbone = o->image_encoder == HD_IMAGE_resnet ? HD_HAS_RESNET : HD_HAS_VIT;
    hd_run_parts queries = o->query_kind == 0 ? HD_HAS_ANCHORS : 0;
    return HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_BLOCKS | HD_HAS_ACTIVATION | HD_HAS_PICTURES | backbone |
           queries;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    snprintf(to, HD_RECIPE_TEXT, "--image-encoder is %s, --query-kind %s",
             hd_image_encoder_names[o->image_encoder], o->query_kind == 0 ? "anchors" : "learned");
    return to;
}

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    (void)set, (void)err;
    *out = HD_PRESET_DETR_SMALL;
    return HD_OK;
}

/* A model that has learned already: fewer and smaller updates, and an average that soon forgets its start. */
static hd_status derive_continued(const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_status s = hd_recipe_follow(set, "lr", hd_recipe_rate((size_t)o->width), err);
    if (!s) s = hd_recipe_follow(set, "warmup", 100, err);
    if (!s) s = hd_recipe_follow(set, "ema", 0.99, err);
    return s || hd_train_given(set, "epochs") ? s : hd_recipe_follow(set, "steps", CONTINUED, err);
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_status s = HD_OK;
    if (o->from && !named) s = derive_continued(set, err);
    if (!s && !o->from && hd_train_given(set, "width"))
        s = hd_recipe_follow(set, "ffn-size", 4 * o->width, err);
    if (!s && o->query_kind) s = hd_recipe_follow(set, "denoise-groups", 0, err);
    if (!s && o->query_kind) s = hd_recipe_follow(set, "query-reach", 0, err);
    return s;
}

const hd_recipe hd_recipe_detect = {
    .choose = choose, .take = hd_detect_take, .derive = derive, .parts = parts, .shape = shape};

/* -- what they mean -- */

/* Pictures keep their shape, but for a backbone with a table of positions, which is of a square. */
static hd_status prepare_of(hd_image_prepare *to, const hd_train_options *o, const hd_image_set *set,
                            hd_err *err)
{
    int longest = 0;
    bool square = o->image_encoder == HD_IMAGE_vit;
    hd_status s = hd_train_prepare(to, set, o, SQUARE, err);
    if (s || square) return s;
    for (size_t i = 0; i < 2 * set->count; i++)
        if (set->size[i] > longest) longest = set->size[i];
    to->height = to->width = 0;
    to->resize = o->image_size || longest > MOST_NATIVE;
    to->shortest = to->resize ? o->image_size ? o->image_size : SHORTER : 0;
    to->longest = to->shortest * 5 / 3;
    return HD_OK;
}

/* Height and width of the largest pictures as the model reads them. */
static hd_status largest_of(hd_image_encoder_opt *to, const hd_image_set *set, hd_err *err)
{
    hd_status s = HD_OK;
    to->height = to->width = 1;
    for (size_t i = 0; !s && i < set->count; i++) {
        int height = 0, width = 0;
        s = hd_image_prepared_size(&height, &width, &to->prepare, set->size[2 * i], set->size[2 * i + 1],
                                   err);
        if (height > to->height) to->height = height;
        if (width > to->width) to->width = width;
    }
    return s;
}

/* Pixels of the shortest side of a picture. */
static int smallest_side(const hd_image_set *set)
{
    int32_t least = SQUARE;
    for (size_t i = 0; set && i < 2 * set->count; i++)
        if (set->size[i] < least) least = set->size[i];
    return least;
}

static hd_image_encoder_opt backbone_of(const hd_train_options *o)
{
    hd_image_encoder_opt e = hd_train_image_encoder(o, o->image_encoder, o->encoder_layers);
    e.height = e.width = SQUARE;
    return e;
}

hd_status hd_detect_model(hd_detr_opt *to, const hd_train_options *o, const hd_image_set *set, hd_err *err)
{
    hd_status s = HD_OK;
    *to = (hd_detr_opt){.image = backbone_of(o),
                        .stack = {.heads = o->heads,
                                  .width = (size_t)o->width,
                                  .inner = (size_t)o->ffn_size,
                                  .act = hd_train_block_activation(o->activation, HD_relu),
                                  .dropout = (float)o->dropout},
                        .encoder_layers = o->encoder_layers,
                        .decoder_layers = o->decoder_layers,
                        .queries = (size_t)o->queries,
                        .labels = 1,
                        .anchors = o->query_kind == 0,
                        .reach = (float)o->query_reach};
    if (to->image.kind == HD_IMAGE_resnet) s = hd_train_resnet(&to->image.resnet, o, smallest_side(set), err);
    if (s) return s;
    if (o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    if (!set) return HD_OK;
    s = prepare_of(&to->image.prepare, o, set, err);
    to->image.channels = to->image.prepare.channels;
    return s ? s : largest_of(&to->image, set, err);
}

hd_status hd_detect_continued(hd_detr_opt *to, const hd_train_options *o, const hd_model_folder *from,
                              const hd_image_set *set, hd_err *err)
{
    hd_image_prepare *p = &to->image.prepare;
    *to = hd_model_folder_detr(from)->opt;
    to->stack.dropout = to->image.stack.dropout = (float)o->dropout;
    to->image.stack.drop_path = (float)o->drop_path;
    if (o->image_size && p->height)
        p->resize = true, p->height = p->width = o->image_size;
    else if (o->image_size)
        p->resize = true, p->shortest = o->image_size, p->longest = p->shortest * 5 / 3;
    return largest_of(&to->image, set, err);
}

/* Makes the model on a machine that computes nothing: what cannot go together is said before data is read. */
static hd_status attempt(const hd_detr_opt *m, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_detr *model = NULL;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_detr_new(&model, nowhere, m, true, err);
    hd_detr_free(model);
    hd_backend_free(nowhere);
    return s;
}

hd_status hd_detect_check(const hd_train_options *o, hd_err *err)
{
    hd_detr_opt model;
    hd_augment augment = hd_train_augment(o);
    hd_status s = hd_train_check_files(o, "a detector learns from one file of boxes", err);
    if (!s && (o->mixup > 0 || o->cutmix > 0))
        s = hd_err_set(err, HD_EARG, "--mixup and --cutmix mix labels: boxes cannot be mixed");
    if (!s) s = hd_augment_check(&augment, err);
    if (!s) s = hd_train_check_end(o, err);
    if (!s) s = hd_detect_model(&model, o, NULL, err);
    return s || o->from ? s : attempt(&model, err); /* what another model is, it says itself */
}
