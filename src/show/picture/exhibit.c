/* A picture that is read at once, by a classifier or by an encoder alone. Its bytes are shown where they are
   few enough to be looked at, then every row of every layer: tokens, then cells by row and column. */
#include <stdio.h>
#include <string.h>

#include "model/encoder/classifier.h"
#include "nn/pixels.h"
#include "show/exhibit_parts.h"

enum { FEW = 64 }; /* pixels on a side */

/* Each channel as a matrix of bytes. */
static hd_status add_bytes(hd_exhibit *x, const hd_image *im, hd_err *err)
{
    static const char *const names[] = {"red", "green", "blue"};
    size_t count = (size_t)im->width * (size_t)im->height, channels = (size_t)im->channels;
    hd_status s = HD_OK;
    if (im->width > FEW || im->height > FEW) return HD_OK;
    for (size_t c = 0; !s && c < channels; c++) {
        hd_real *value = hd_arena_array(&x->memory, count, sizeof *value, err);
        if (!value) return HD_ENOMEM;
        for (size_t i = 0; i < count; i++) value[i] = im->pixel[i * channels + c];
        s = hd_exhibit_add(x,
                           &(hd_exhibit_item){.name = channels == 1 ? "grey" : names[c],
                                              .part = "Input",
                                              .formula = "the picture's bytes, as the model reads it",
                                              .rows = (size_t)im->height,
                                              .cols = (size_t)im->width,
                                              .value = value,
                                              .whole = true},
                           err);
    }
    return s;
}

/* "[class]", then "1,1" and so on, of the segments that the rows had. */
static hd_status name_rows(hd_exhibit *x, hd_run *r, const hd_seg *seg, hd_err *err)
{
    static const char *const leads[] = {"[class]", "[distil]"};
    const int32_t *len = hd_seg_lens(r, seg);
    if (!len) return hd_run_status(r, err);
    x->reads = (size_t)len[0];
    x->cells[0] = seg->host_grid ? (size_t)seg->host_grid[0] : 0;
    x->cells[1] = seg->host_grid ? (size_t)seg->host_grid[1] : 0;
    x->read = hd_arena_array(&x->memory, x->reads, sizeof *x->read, err);
    for (size_t i = 0; x->read && i < x->reads; i++) {
        char name[48];
        size_t cell = i - seg->lead, across = x->cells[1] ? x->cells[1] : 1;
        if (i < seg->lead)
            snprintf(name, sizeof name, "%s", leads[i < 2 ? i : 1]);
        else
            snprintf(name, sizeof name, "%zu,%zu", cell / across + 1, cell % across + 1);
        x->read[i] = (hd_shown_token){.id = (int32_t)i, .piece = hd_exhibit_copy(x, name, err)};
        if (!x->read[i].piece) return HD_ENOMEM;
    }
    return x->read ? HD_OK : HD_ENOMEM;
}

/* Runs the model in a step that has begun; log-probabilities of the labels, if it has some. */
static hd_tensor *read_picture(hd_run *r, const hd_model_folder *f, const hd_items *in)
{
    const hd_model *m = &f->model;
    if (m->type == &hd_model_classifier) {
        const hd_classifier *c = m->self;
        hd_tensor *logp = hd_classifier_logp(r, c, &(hd_class_batch){.in = *in});
        return c->opt.head->logp ? logp : NULL;
    }
    hd_rows x = hd_model_rows(r, m, in);
    if (x.t && m->type->sizes(m->self).pooler) m->type->pooled(r, m->self, x);
    return NULL;
}

static hd_status fill(hd_exhibit *x, hd_run *r, const hd_model_folder *f, const hd_image *im, hd_err *err)
{
    const hd_model body = hd_model_body(&f->model);
    const hd_image_prepare *how = body.type->sizes(body.self).image;
    const hd_classifier *c = f->model.type == &hd_model_classifier ? f->model.self : NULL;
    hd_exhibiting e = {.into = x,
                       .of = f->model,
                       .numbers = c && !c->opt.head->logp,
                       .encoder = true,
                       .decoder = true,
                       .whole = true};
    hd_image read = {0};
    const hd_image *const all[] = {&read};
    hd_status s = hd_image_prepared(&read, im, how, err);
    if (!s) s = add_bytes(x, &read, err);
    if (!s) {
        hd_exhibit_begin(&e, r);
        hd_pixels *pixels = hd_host_take(r, sizeof *pixels);
        if (pixels) hd_pixels_send_images(r, pixels, all, 1, how);
        const hd_items in = {.pixels = pixels};
        hd_tensor *logp = pixels && !r->err.status ? read_picture(r, f, &in) : NULL;
        s = hd_exhibit_end(&e, r, logp, NULL, err);
    }
    hd_image_release(&read);
    if (!s && e.seg) s = name_rows(x, r, e.seg, err);
    for (size_t i = 0; !s && i < x->answers * x->tops; i++) {
        hd_shown_token *t = &x->top[i].token;
        t->piece = hd_exhibit_copy(x, hd_vocab_piece(&f->labels, t->id), err);
        if (!t->piece) s = HD_ENOMEM;
    }
    return s;
}

hd_status hd_exhibit_picture(hd_exhibit **out, hd_run *r, const hd_model_folder *f, const hd_image *im,
                             hd_err *err)
{
    hd_exhibit *x = NULL;
    const hd_model body = hd_model_body(&f->model);
    if (f->model.type->decode || f->model.type->stepper || body.type->attends != HD_ATTENTION_ENCODER)
        return hd_err_set(
            err, HD_EARG,
            "of models that read pictures, explain shows classifiers and encoders alone, not those "
            "that write captions or find objects");
    hd_status s = hd_exhibit_new(&x, HD_EXHIBIT_LABELER, &f->model, err);
    if (!s) s = fill(x, r, f, im, err);
    return hd_exhibit_give(out, x, s);
}
