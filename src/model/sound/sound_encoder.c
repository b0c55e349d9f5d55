/* Fronts of encoders of sound. */
#include "model/sound/sound_encoder.h"

#include "base/mem.h"
#include "model/keys.h"
#include "model/prepare.h"

const char *const hd_sound_front_names[HD_SOUND_FRONTS + 1] = {
#define X(name, text) #name,
    HD_SOUND_FRONT_LIST(X)
#undef X
};

static const hd_sound_front_type *const types[HD_SOUND_FRONTS] = {
#define X(name, text) &hd_sound_front_##name,
    HD_SOUND_FRONT_LIST(X)
#undef X
};

enum { MOST_SIZE = 1 << 20 };

/* -- making and running -- */

hd_status hd_sound_encoder_make(hd_sound_encoder *out, hd_params *p, const hd_sound_encoder_opt *o,
                                hd_err *err)
{
    static const hd_init table = {HD_INIT_TABLE, 0, 0};
    hd_sound_encoder e = {.opt = *o, .type = types[o->kind]};
    if (!o->positions) return hd_err_set(err, HD_EARG, "an encoder of sound needs at least 1 position");
    hd_status s = hd_features_check(&o->features, err);
    if (!s) s = e.type->check(o, err);
    if (s) return s;
    e.type->make(&e, p);
    if (o->placed && !e.position)
        e.position = hd_param_hidden(p, o->positions, hd_sound_encoder_width(o), table);
    e.opt.name = NULL;
    *out = e;
    return HD_OK;
}

static hd_rows sound_rows(hd_run *r, const hd_front *f, const hd_items *in)
{
    const hd_sound_encoder *e = f->self;
    if (!in->frames) return hd_fail(r, HD_EARG, "the model reads sound"), (hd_rows){0};
    if (in->frames->bins != (size_t)e->opt.features.mels)
        return hd_fail(r, HD_ESHAPE, "frames of %zu bins: the model reads %d", in->frames->bins,
                       e->opt.features.mels),
               (hd_rows){0};
    hd_rows x = e->type->rows(r, e, in->frames);
    if (!x.t || !x.seg) return x;
    hd_probe_offer(r, "frames", x.t, x.seg);
    if (e->position) x.t = hd_gather_add(r, x.t, &e->position->t, x.seg->pos);
    hd_probe_offer(r, "X", x.t, x.seg);
    x.t = hd_dropout(r, x.t, e->opt.width ? e->opt.dropout : 0, x.seg);
    return x;
}

static hd_status fill_positions(const hd_front *f, hd_params *p, hd_err *err)
{
    const hd_sound_encoder *e = f->self;
    if (!e->position) return HD_OK;
    size_t rows = hd_rows_of(&e->position->t), cols = hd_cols_of(&e->position->t);
    hd_real *x = hd_mem_array(rows * cols, sizeof *x);
    if (!x) return hd_err_nomem(err, rows * cols * sizeof *x);
    hd_sinusoid_fill(x, rows, cols, &e->opt.sinusoid);
    hd_status s = hd_params_set(p, e->position, x);
    hd_mem_free(x);
    return s;
}

static const hd_front_type sound = {.rows = sound_rows, .fill = fill_positions};

hd_front hd_sound_encoder_front(const hd_sound_encoder *e)
{
    return (hd_front){.type = &sound, .self = e, .scale = 1};
}

size_t hd_sound_encoder_width(const hd_sound_encoder_opt *o)
{
    return types[o->kind]->width(o);
}

bool hd_sound_encoder_grid(const hd_sound_encoder_opt *o)
{
    return types[o->kind]->grid;
}

int hd_sound_encoder_reduction(const hd_sound_encoder_opt *o)
{
    return types[o->kind]->reduction(o);
}

size_t hd_sound_encoder_frames(const hd_sound_encoder_opt *o)
{
    return o->positions * (size_t)hd_sound_encoder_reduction(o);
}

double hd_sound_encoder_flops(const hd_sound_encoder *e, double frames)
{
    return e->type->flops(e, frames);
}

void hd_sound_encoder_prepare(hd_preparing *p, const hd_sound_encoder *e)
{
    e->type->prepare(p, e);
}

/* -- config.json -- */

static const char *const feature_names[HD_FEATURES_KINDS + 1] = {
#define X(name, text) #text,
    HD_FEATURES_LIST(X)
#undef X
};

#define KEY(name, kind, field) HD_KEY_OF(hd_sound_encoder_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("model", CHOICE, kind), HD_KEY_NAMES(hd_sound_front_names)},
    {KEY("features", CHOICE, features.kind), HD_KEY_NAMES(feature_names)},
    {KEY("rate", WHOLE, features.rate), .least = HD_SOUND_LEAST_RATE, .most = HD_SOUND_MOST_RATE},
    {KEY("window", WHOLE, features.window), .least = 1, .most = HD_FEATURES_MOST_WINDOW},
    {KEY("hop", WHOLE, features.hop), .least = 1, .most = HD_FEATURES_MOST_HOP},
    {KEY("mels", WHOLE, features.mels), .least = 1, .most = HD_FEATURES_MOST_MELS},
    {KEY("low", REAL, features.low), .most = HD_SOUND_MOST_RATE},
    {KEY("high", REAL, features.high), .most = HD_SOUND_MOST_RATE},
    {KEY("chunk", REAL, features.chunk), .most = 3600},
    {KEY("normalize", FLAG, features.normalize)},
    {KEY("together", FLAG, features.together), .when = HD_KEY_RARE},
    {KEY("stack", WHOLE, stack), .least = 1, .most = 64, .of = 1u << HD_SOUND_frames},
    {KEY("width", WHOLE, width), .most = MOST_SIZE},
    {KEY("positions", WHOLE, positions), .least = 1, .most = MOST_SIZE},
    {KEY("placed", FLAG, placed)},
    {0},
};

void hd_sound_encoder_write(hd_text *to, const hd_sound_encoder_opt *o)
{
    hd_keys_write(to, keys, 1u << o->kind, o);
}

void hd_sound_encoder_read(hd_model_config *c, hd_sound_encoder_opt *o)
{
    o->kind = (hd_sound_front_kind)hd_model_config_name(c, "model", hd_sound_front_names, HD_SOUND_FRONTS);
    if (!c->status) hd_keys_read(c, keys, 1u << o->kind, o);
}

void hd_sound_encoder_describe(const hd_sound_encoder_opt *o, hd_details *to)
{
    hd_details_text(to, "sound_front", hd_sound_front_names[o->kind]);
    hd_details_text(to, "features", hd_features_name(o->features.kind));
    hd_details_whole(to, "sample_rate", (uint64_t)o->features.rate);
    hd_details_whole(to, "mels", (uint64_t)o->features.mels);
    hd_details_whole(to, "frames_per_row", (uint64_t)hd_sound_encoder_reduction(o));
    hd_details_whole(to, "most_frames", hd_sound_encoder_frames(o));
}
