/* A tiny DETR over two pictures of 2 x 3 and 3 x 2 cells with three objects; what the backbone gives is
   drawn. */
#ifndef DETR_TOY_H
#define DETR_TOY_H

#include "check.h"
#include "model/vision/detr.h"

enum { DT_CELLS = 12, DT_IN = 16, DT_QUERIES = 4, DT_LABELS = 3, DT_OBJECTS = 3, DT_PICTURES = 2 };

static const hd_detr_object dt_objects[DT_OBJECTS] = {
    {0, .3f, .4f, .2f, .3f}, {2, .7f, .5f, .4f, .2f}, {1, .45f, .6f, .5f, .6f}};
static const size_t dt_first[DT_PICTURES + 1] = {0, 2, 3};

typedef struct detr_toy {
    hd_backend *b;
    hd_run run;
    hd_detr *m;
} detr_toy;

/* A ResNet is the backbone, but nothing asks it. */
static hd_detr_opt dt_opt(bool anchors, int layers)
{
    return (hd_detr_opt){.image = {.kind = HD_IMAGE_vit,
                                   .height = 16,
                                   .width = 16,
                                   .channels = 1,
                                   .patch = 4,
                                   .stack = {.layers = 1, .heads = 2, .width = DT_IN, .inner = 8}},
                         .stack = {.heads = 2, .width = 8, .inner = 12, .act = HD_tanh},
                         .encoder_layers = 1,
                         .decoder_layers = layers,
                         .queries = DT_QUERIES,
                         .labels = DT_LABELS,
                         .anchors = anchors};
}

CHECK_UNUSED static void dt_open(detr_toy *t, const hd_detr_opt *o, int threads)
{
    hd_err err = {0};
    t->b = backend_of("cpu", threads);
    t->run = run_on(t->b);
    if (hd_detr_new(&t->m, t->b, o, true, &err)) fail_msg("%s", err.text);
    if (hd_detr_draw(t->m, 3, &err)) fail_msg("%s", err.text);
    hd_rng rng = hd_rng_make(4, 4); /* nothing stays zero */
    for (size_t i = 0; i < t->m->params.trainable; i++)
        t->m->params.value[i] += (hd_real)(0.1 * hd_rng_normal(&rng));
}

CHECK_UNUSED static void dt_close(detr_toy *t)
{
    hd_detr_free(t->m);
    hd_run_release(&t->run);
    hd_backend_free(t->b);
}

static hd_rows dt_cells(hd_run *r)
{
    static const int32_t size[] = {2, 3, 3, 2};
    return (hd_rows){random_rows(r, DT_CELLS, DT_IN, 1, 5), hd_grid_of(r, size, DT_PICTURES, NULL)};
}

static hd_tensor *dt_loss(hd_run *r, const hd_detr *m, const hd_detr_object *object, int groups)
{
    hd_tensor *place = NULL;
    hd_rows memory = hd_detr_encode_cells(r, m, dt_cells(r), &place);
    hd_detr_truth truth = {object, dt_first, DT_PICTURES};
    hd_detr_loss_opt o = {.objects = DT_OBJECTS,
                          .pictures = DT_PICTURES,
                          .noise = {.groups = groups, .label = .2f, .box = .4f, .seed = 6}};
    return hd_detr_loss(r, m, memory, place, &truth, &o, NULL);
}

#endif
