/* What encoders of pictures have in common. */
#include "model/vision/image_encoder.h"

#include "model/keys.h"
#include "model/vision/preprocessor.h"

#define X(name, text) #name,
const char *const hd_image_encoder_names[HD_IMAGE_KINDS + 1] = {HD_IMAGE_MODEL_LIST(X) NULL};
#undef X

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIDE = 1 << 14, MOST_CELLS = 1 << 20 };

static const hd_image_encoder_type *type_of(const hd_image_encoder_opt *o)
{
    static const hd_image_encoder_type *const types[] = {
#define X(name, text) &hd_image_encoder_##name,
        HD_IMAGE_MODEL_LIST(X)
#undef X
    };
    return types[o->kind];
}

static hd_status check(const hd_image_encoder_opt *o, hd_err *err)
{
    if (o->channels != 1 && o->channels != 3)
        return hd_err_set(err, HD_EARG, "pictures have 1 channel (grey) or 3 (color): not %d", o->channels);
    if (o->height < 1 || o->width < 1 || o->height > MOST_SIDE || o->width > MOST_SIDE)
        return hd_err_set(err, HD_EARG, "pictures of %d x %d pixels: a side has 1 to %d", o->width, o->height,
                          MOST_SIDE);
    return HD_OK;
}

/* What a picture has to become where nothing is said. */
static hd_image_prepare plain(const hd_image_encoder_opt *o)
{
    hd_image_prepare p = {.channels = o->channels,
                          .resize = true,
                          .height = o->height,
                          .width = o->width,
                          .filter = HD_FILTER_BILINEAR,
                          .rescale = 1.0 / 255};
    for (int i = 0; i < 3; i++) p.mean[i] = p.deviation[i] = 0.5f;
    return p;
}

static hd_status complete(hd_image_encoder_opt *o, hd_err *err)
{
    int cells[2];
    hd_status s = check(o, err);
    if (!s && !o->prepare.channels) o->prepare = plain(o);
    if (!s && o->prepare.channels != o->channels)
        s = hd_err_set(err, HD_EARG, "pictures are read with %d channels, the model has %d",
                       o->prepare.channels, o->channels);
    if (!s) s = type_of(o)->complete(o, err);
    if (s) return s;
    type_of(o)->grid(o, o->height, o->width, cells);
    if (cells[0] < 1 || cells[1] < 1)
        return hd_err_set(err, HD_EARG, "pictures of %d x %d pixels are too small for the model", o->width,
                          o->height);
    if ((size_t)cells[0] * (size_t)cells[1] > MOST_CELLS)
        return hd_err_set(err, HD_EARG, "pictures of %d x %d pixels become %d x %d rows: at most %d",
                          o->width, o->height, cells[1], cells[0], MOST_CELLS);
    return HD_OK;
}

hd_status hd_image_encoder_make(hd_image_encoder *out, hd_params *p, const hd_image_encoder_opt *o,
                                hd_err *err)
{
    *out = (hd_image_encoder){.opt = *o, .type = type_of(o)};
    if (!out->opt.name) out->opt.name = hd_image_encoder_names[o->kind];
    hd_status s = complete(&out->opt, err);
    if (!s) s = out->type->make(out, p, err);
    out->opt.name = NULL;
    return s;
}

void hd_image_encoder_release(hd_image_encoder *e)
{
    if (e->type) e->type->release(e);
    *e = (hd_image_encoder){0};
}

/* Positions are those of one grid. */
static bool one_size(hd_run *r, const hd_pixels *in)
{
    for (size_t i = 1; i < in->items && in->host_size[2 * i]; i++)
        if (in->host_size[2 * i] != in->host_size[0] || in->host_size[2 * i + 1] != in->host_size[1])
            return hd_fail(r, HD_EARG,
                           "pictures of %d x %d and %d x %d pixels in one batch: the model reads those of "
                           "one size together",
                           in->host_size[1], in->host_size[0], in->host_size[2 * i + 1],
                           in->host_size[2 * i]) != NULL;
    return true;
}

static bool readable(hd_run *r, const hd_image_encoder *e, const hd_pixels *in)
{
    int cells[2];
    if (!in || !in->items || !in->host_size) return false;
    if (in->channels != e->opt.channels)
        return hd_fail(r, HD_EARG, "pictures of %d channels: the model reads %d", in->channels,
                       e->opt.channels) != NULL;
    for (size_t i = 0; i < (e->type->any_size ? in->items : 1); i++) {
        const int32_t *size = in->host_size + 2 * i;
        e->type->grid(&e->opt, size[0], size[1], cells);
        if (size[0] && (cells[0] < 1 || cells[1] < 1))
            return hd_fail(r, HD_EARG, "pictures of %d x %d pixels are too small for the model", size[1],
                           size[0]) != NULL;
    }
    return e->type->any_size || one_size(r, in);
}

hd_rows hd_image_encoder_rows(hd_run *r, const hd_image_encoder *e, int layers, const hd_items *in)
{
    if (!readable(r, e, in->pixels)) return (hd_rows){0};
    hd_probe_enter(r, "enc");
    hd_rows x = e->type->rows(r, e, layers, in->pixels);
    hd_probe_leave(r);
    return x;
}

hd_rows hd_image_encoder_first(hd_run *r, const hd_image_encoder *e, const hd_items *in)
{
    int all = hd_image_encoder_layers(&e->opt);
    if (r->probe || !e->type->first) return hd_image_encoder_rows(r, e, all, in);
    if (!readable(r, e, in->pixels)) return (hd_rows){0};
    hd_probe_enter(r, "enc");
    hd_rows x = e->type->first(r, e, in->pixels);
    hd_probe_leave(r);
    return x;
}

hd_tensor *hd_image_encoder_pooled(hd_run *r, const hd_image_encoder *e, hd_rows x)
{
    hd_tensor *y = hd_dense_of(r, &e->pooler, hd_reduce(r, x.t, x.seg, HD_FIRST), e->opt.pooler_act);
    return hd_probe_offer(r, "pooled", y, NULL);
}

int hd_image_encoder_layers(const hd_image_encoder_opt *o)
{
    return type_of(o)->layers(o);
}

size_t hd_image_encoder_width(const hd_image_encoder_opt *o)
{
    return type_of(o)->width(o, hd_image_encoder_layers(o));
}

int hd_image_encoder_lead(const hd_image_encoder_opt *o)
{
    return o->class_token + o->distilled;
}

size_t hd_image_encoder_length(const hd_image_encoder_opt *o)
{
    int cells[2];
    type_of(o)->grid(o, o->height, o->width, cells);
    return (size_t)hd_image_encoder_lead(o) + (size_t)cells[0] * (size_t)cells[1];
}

double hd_image_encoder_flops(const hd_image_encoder *e, double items)
{
    int cells[2];
    e->type->grid(&e->opt, e->opt.height, e->opt.width, cells);
    return e->type->flops(e, items, cells);
}

void hd_image_encoder_prepare(struct hd_preparing *p, const hd_image_encoder *e)
{
    e->type->prepare(p, e);
}

/* -- config.json -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_image_encoder_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("image_height", WHOLE, height), .least = 1, .most = MOST_SIDE},
    {KEY("image_width", WHOLE, width), .least = 1, .most = MOST_SIDE},
    {KEY("channels", WHOLE, channels), .least = 1, .most = 3},

    {0},
};

static const char IMAGE[] = "image";

void hd_image_encoder_write(hd_text *to, const hd_image_encoder_opt *o)
{
    hd_text_print(to, ",\n \"model\": \"%s\"", hd_image_encoder_names[o->kind]);
    hd_keys_write(to, keys, 0, o);
    type_of(o)->write(to, o);
    hd_text_print(to, ",\n \"%s\": ", IMAGE);
    hd_preprocessor_write(to, &o->prepare, NULL);
}

void hd_image_encoder_read(hd_model_config *c, hd_image_encoder_kind kind, hd_image_encoder_opt *o)
{
    *o = (hd_image_encoder_opt){.kind = kind};
    hd_keys_read(c, keys, 0, o);
    if (!c->status) type_of(o)->read(c, o);
    hd_model_config image = hd_model_config_inside(c, IMAGE);
    o->prepare.channels = o->channels;
    hd_preprocessor_read(&image, &o->prepare);
    hd_model_config_leave(c, &image);
}
