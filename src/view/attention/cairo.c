/* Attention as PNG and PDF, in a build with Cairo. */
#include "view/attention/format.h"
#include "view/attention/picture.h"

static hd_status add_png(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    hd_attention_map map = {0};
    hd_attention_picture picture;
    hd_drawing d = hd_attention_drawing(&picture, &map);
    hd_status s = hd_attention_map_of(&map, a, &w->pick, err);
    if (!s) s = hd_drawing_png(&w->out, &d, err);
    hd_attention_map_release(&map);
    return s;
}

const hd_attention_format hd_attention_png = {.single = true, .add = add_png};

static hd_status begin_pdf(hd_attention_writer *w, hd_err *err)
{
    hd_pdf *pdf = NULL;
    hd_status s = hd_pdf_new(&pdf, &w->out, "Attention", err);
    w->state = pdf;
    return s;
}

static hd_status add_pdf(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    hd_attention_map map = {0};
    hd_attention_picture picture;
    hd_drawing d = hd_attention_drawing(&picture, &map);
    hd_status s = hd_attention_map_of(&map, a, &w->pick, err);
    if (!s) s = hd_pdf_add(w->state, &d, err);
    hd_attention_map_release(&map);
    return s;
}

static hd_status end_pdf(hd_attention_writer *w, hd_err *err)
{
    return hd_pdf_end(w->state, err);
}

static void release_pdf(hd_attention_writer *w)
{
    hd_pdf_free(w->state);
}

const hd_attention_format hd_attention_pdf = {
    .begin = begin_pdf, .add = add_pdf, .end = end_pdf, .release = release_pdf};
