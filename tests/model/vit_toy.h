/* A small classifier of pictures and some pictures for its tests. */
#ifndef VIT_TOY_H
#define VIT_TOY_H

#include "check.h"
#include "model/encoder/classifier.h"
#include "nn/pixels.h"

enum { VT_ITEMS = 3, VT_CLASSES = 4, VT_SIDE = 12, VT_PATCH = 4 };

static const int32_t vt_class[VT_ITEMS] = {2, 0, 3};

typedef struct vit_toy {
    hd_backend *backend;
    hd_run run;
    hd_classifier *m;
    hd_image image[VT_ITEMS];
} vit_toy;

CHECK_UNUSED static hd_classifier_opt vt_opt(hd_pool_kind pool)
{
    return (hd_classifier_opt){.body = {.type = &hd_model_vit,
                                        .image = {.height = VT_SIDE,
                                                  .width = VT_SIDE,
                                                  .channels = 3,
                                                  .patch = VT_PATCH,
                                                  .class_token = pool == HD_POOL_first,
                                                  .stack = {.layers = 2,
                                                            .heads = 2,
                                                            .width = 8,
                                                            .inner = 12,
                                                            .dropout = 0.1f,
                                                            .drop_path = 0.2f}}},
                               .pool = pool,
                               .classes = VT_CLASSES};
}

/* A byte of picture i. */
CHECK_UNUSED static uint8_t vt_byte(size_t i, size_t at)
{
    return (uint8_t)((at * 37 + at * at % 101 + i * 59 + 11) % 256);
}

CHECK_UNUSED static void vt_size(vit_toy *t, int height, int width)
{
    hd_err err = {0};
    for (size_t i = 0; i < VT_ITEMS; i++) {
        hd_image_release(&t->image[i]);
        if (hd_image_make(&t->image[i], width, height, t->m->opt.body.image.channels, "toy", &err))
            fail_msg("%s", err.text);
        for (size_t k = 0; k < hd_image_bytes(&t->image[i]); k++) t->image[i].pixel[k] = vt_byte(i, k);
    }
}

CHECK_UNUSED static void vt_open(vit_toy *t, const hd_classifier_opt *o, int threads, bool training)
{
    hd_err err = {0};
    *t = (vit_toy){.backend = backend_of("cpu", threads)};
    t->run = run_on(t->backend);
    if (hd_classifier_new(&t->m, t->backend, o, training, &err)) fail_msg("%s", err.text);
    if (hd_params_draw(t->m->params, 1, &err)) fail_msg("%s", err.text);
    vt_size(t, o->body.image.height, o->body.image.width);
}

CHECK_UNUSED static void vt_close(vit_toy *t)
{
    for (size_t i = 0; i < VT_ITEMS; i++) hd_image_release(&t->image[i]);
    hd_classifier_free(t->m);
    hd_run_release(&t->run);
    hd_backend_free(t->backend);
}

/* Pictures from .. to-1, in a step that has begun. */
CHECK_UNUSED static hd_class_batch vt_batch(vit_toy *t, size_t from, size_t to)
{
    const hd_image *all[VT_ITEMS];
    hd_pixels *p = hd_host_take(&t->run, sizeof *p);
    for (size_t i = from; i < to; i++) all[i - from] = &t->image[i];
    hd_pixels_send_images(&t->run, p, all, to - from, &t->m->opt.body.image.prepare);
    return (hd_class_batch){.in.pixels = p, .target = hd_ints(&t->run, vt_class + from, to - from)};
}

#endif
