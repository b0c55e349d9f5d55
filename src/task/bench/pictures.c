/* Random pictures on a device. */
#include "task/bench/pictures.h"

#include "base/mem.h"
#include "base/rng.h"

enum { LEVELS = 256 };

hd_classifier_opt hd_bench_vit_b16(void)
{
    return (hd_classifier_opt){
        .body = {.type = &hd_model_vit,
                 .image = {.height = 224,
                           .width = 224,
                           .channels = 3,
                           .patch = 16,
                           .class_token = true,
                           .stack = {.layers = 12, .heads = 12, .width = 768, .inner = 3072}}},
        .pool = HD_POOL_first,
        .classes = 1000};
}

hd_classifier_opt hd_bench_vit_lite(void)
{
    return (hd_classifier_opt){
        .body = {.type = &hd_model_vit,
                 .image = {.height = 28,
                           .width = 28,
                           .channels = 1,
                           .stem = 3,
                           .stack = {.layers = 4, .heads = 4, .width = 128, .inner = 256}}},
        .pool = HD_POOL_mean,
        .classes = 10};
}

/* What is sent, in one block: worths, then begin, size and target of each, then bytes. */
static hd_status send(hd_bench_pictures *p, const hd_classifier_opt *o, size_t items, hd_err *err)
{
    const hd_image_encoder_opt *image = &p->model->opt.body.image;
    size_t each = (size_t)image->height * (size_t)image->width * (size_t)image->channels;
    size_t worths = 3 * LEVELS * sizeof(hd_real), numbers = 4 * items * sizeof(int32_t);
    p->bytes = worths + numbers + items * each;
    p->size = hd_mem_array(2 * items, sizeof *p->size);
    char *host = hd_mem_zero(p->bytes);
    p->data = p->backend->alloc(p->backend, p->bytes);
    if (!p->size || !host || !p->data) return hd_mem_free(host), hd_backend_nomem(p->backend, p->bytes, err);
    hd_rng rng = hd_rng_make(1, 0);
    int32_t *begin = (int32_t *)(void *)(host + worths), *size = begin + items, *target = size + 2 * items;
    hd_image_worth((hd_real *)(void *)host, &image->prepare);
    for (size_t i = 0; i < items; i++) {
        begin[i] = (int32_t)(i * each), target[i] = (int32_t)hd_rng_below(&rng, (uint32_t)o->classes);
        size[2 * i] = p->size[2 * i] = image->height, size[2 * i + 1] = p->size[2 * i + 1] = image->width;
    }
    for (size_t i = worths + numbers; i < p->bytes; i++) host[i] = (char)hd_rng_below(&rng, LEVELS);
    p->backend->upload(p->backend, p->data, host, p->bytes);
    hd_mem_free(host);
    const int32_t *there = (const int32_t *)(const void *)((char *)p->data + worths);
    p->pixels = (hd_pixels){.worth = p->data,
                            .begin = there,
                            .size = there + items,
                            .bytes = (const uint8_t *)p->data + worths + numbers,
                            .host_size = p->size,
                            .channels = image->channels,
                            .items = items};
    p->target = there + 3 * items;
    return HD_OK;
}

hd_status hd_bench_pictures_make(hd_bench_pictures *out, hd_backend *b, const hd_classifier_opt *o,
                                 size_t items, hd_err *err)
{
    *out = (hd_bench_pictures){.backend = b};
    hd_status s = hd_classifier_new(&out->model, b, o, true, err);
    if (!s) s = hd_params_draw(out->model->params, 1, err);
    return s ? s : send(out, o, items, err);
}

void hd_bench_pictures_release(hd_bench_pictures *p)
{
    hd_classifier_free(p->model);
    if (p->data) p->backend->release(p->backend, p->data, p->bytes);
    hd_mem_free(p->size);
    *p = (hd_bench_pictures){0};
}

hd_tensor *hd_bench_pictures_loss(hd_run *r, const hd_bench_pictures *p, float smoothing)
{
    const hd_class_batch b = {.in.pixels = &p->pixels, .target = p->target};
    return hd_classifier_loss(r, p->model, &b, &(hd_loss_opt){.coef = 1, .smoothing = smoothing});
}
