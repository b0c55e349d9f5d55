/* Sources of encoder-decoders that are no tokens: the fronts of pictures and of sound; CTC, which reads
   rows of sound. */
#include "model/encdec/encdec.h"

static hd_rows picture_rows(hd_run *r, const hd_front *f, const hd_items *in)
{
    const hd_image_encoder *e = f->self;
    return hd_image_encoder_rows(r, e, hd_image_encoder_layers(&e->opt), in);
}

static const hd_front_type pictures = {.scoped = true, .rows = picture_rows};

hd_status hd_encdec_picture_source(hd_encdec *m, hd_front *out, size_t *in, const char *name, hd_err *err)
{
    hd_image_encoder_opt image = m->opt.image;
    image.name = name;
    hd_status s = hd_image_encoder_make(&m->image, &m->params, &image, err);
    if (s) return s;
    m->opt.image = m->image.opt;
    *out = (hd_front){.type = &pictures, .self = &m->image, .scale = 1};
    *in = hd_image_encoder_width(&m->image.opt);
    return HD_OK;
}

/* What recurs reads frames as they are and knows their order; blocks want rows of their width, and places. */
hd_status hd_encdec_sound_source(hd_encdec *m, hd_front *out, size_t *in, const char *name, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    hd_sound_encoder_opt sound = o->sound;
    hd_stage_kind first = o->encoder.at[0].kind;
    bool blocks = first == HD_STAGE_transformer || first == HD_STAGE_conv;
    sound.name = name, sound.sinusoid = o->sinusoid, sound.dropout = o->stack.dropout;
    if (!sound.stack) sound.stack = 1;
    if (blocks || sound.kind != HD_SOUND_frames) sound.width = o->stack.width;
    sound.placed = first == HD_STAGE_transformer && !o->no_positions;
    hd_status s = hd_sound_encoder_make(&m->sound, &m->params, &sound, err);
    if (s) return s;
    m->opt.sound = m->sound.opt;
    *out = hd_sound_encoder_front(&m->sound);
    *in = hd_sound_encoder_width(&m->sound.opt);
    return HD_OK;
}

size_t hd_encdec_length(const hd_encdec *m)
{
    if (m->opt.pictures) return hd_image_encoder_length(&m->image.opt);
    if (!m->opt.sounds) return m->opt.positions;
    size_t by = (size_t)m->encoder.reduction;
    return (m->opt.sound.positions + by - 1) / by;
}

hd_rows hd_encdec_ctc(hd_run *r, const hd_encdec *m, hd_encoded memory)
{
    if (!m->ctc.w) return hd_fail(r, HD_EARG, "the model has no CTC"), (hd_rows){0};
    return hd_rows_with(memory.rows, hd_dense_of(r, &m->ctc, memory.rows.t, HD_IDENTITY));
}
