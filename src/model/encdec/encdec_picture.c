/* Encoder-decoders that read pictures: their front, and pictures that wait to be decoded. */
#include "model/encdec/encdec.h"

static hd_rows picture_rows(hd_run *r, const hd_front *f, const hd_items *in)
{
    const hd_image_encoder *e = f->self;
    return hd_image_encoder_rows(r, e, hd_image_encoder_layers(&e->opt), in);
}

static const hd_front_type pictures = {.scoped = true, .rows = picture_rows};

hd_front hd_encdec_picture_front(const hd_image_encoder *e)
{
    return (hd_front){.type = &pictures, .self = e, .scale = 1};
}

size_t hd_encdec_length(const hd_encdec *m)
{
    return hd_image_encoder_length(&m->image.opt);
}
