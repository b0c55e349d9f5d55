/* Attention over a picture made by hand, for tests of its views: words, or objects with boxes, or a class
 * token. */
#ifndef SCENE_H
#define SCENE_H

#include "view/maps.h"

typedef struct scene_shape {
    const hd_image *image; /* copied */
    size_t lead, height, width, layers, heads;
    const char *const *target; /* names; NULL: an encoder alone */
    size_t targets;
    const float (*box)[4]; /* of objects, or NULL */
} scene_shape;

/* Weights in the shape of a hill around a place, of layer l, head h and row i. */
static void scene_fill(hd_attention_part *p, const scene_shape *s)
{
    for (size_t k = 0; k < p->layers * p->heads; k++)
        for (size_t i = 0; i < p->rows; i++) {
            float *row = p->weight + (k * p->rows + i) * p->cols;
            double sum = 0, x = fmod(0.2 + 0.37 * (double)i + 0.11 * (double)k, 1),
                   y = fmod(0.7 + 0.23 * (double)i + 0.17 * (double)k, 1),
                   wide = 0.15 + 0.05 * (double)(k % 3);
            if (s->box && i < s->targets)
                x = (double)(s->box[i][0] + s->box[i][2] / 2), y = (double)(s->box[i][1] + s->box[i][3] / 2);
            for (size_t j = 0; j < p->cols; j++) {
                size_t cell = j - s->lead;
                double dx = ((double)(cell % s->width) + 0.5) / (double)s->width - x,
                       dy = ((double)(cell / s->width) + 0.5) / (double)s->height - y;
                row[j] = j < s->lead ? 0.3f : (float)(exp(-(dx * dx + dy * dy) / (wide * wide)) + 0.01);
                sum += (double)row[j];
            }
            for (size_t j = 0; j < p->cols; j++) row[j] = (float)((double)row[j] / sum);
        }
}

CHECK_UNUSED static hd_attention_maps scene_of(const scene_shape *s)
{
    hd_err err = {0};
    hd_attention_maps a;
    size_t sources = s->lead + s->height * s->width;
    const size_t layers[] = {s->target ? 0 : s->layers, 0, s->target ? s->layers : 0},
                 heads[] = {s->heads, s->heads, s->heads};
    if (hd_attention_init(&a, sources, s->targets, layers, heads, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < sources; i++) {
        char name[64];
        snprintf(name, sizeof name, "row %zu, column %zu", (i - s->lead) / s->width + 1,
                 (i - s->lead) % s->width + 1);
        if (i < s->lead) snprintf(name, sizeof name, "[class]");
        a.source[i].piece = hd_shown_text(&a.memory, (hd_line){name, strlen(name)}, &err);
    }
    for (size_t i = 0; i < s->targets; i++) maps_name(&a, &a.output[i], s->target, i, "");
    if (s->targets) a.input[0].piece = "<s>";
    a.scene =
        (hd_attention_scene){.name = "dog.png", .lead = s->lead, .height = s->height, .width = s->width};
    a.scene.box = (const float *)s->box;
    if (hd_image_resize(&a.scene.image, s->image, s->image->width, s->image->height, HD_FILTER_NEAREST, &err))
        fail_msg("%s", err.text);
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) scene_fill(&a.part[k], s);
    a.sentence = "dog.png";
    a.score = -1.25;
    return a;
}

#endif
