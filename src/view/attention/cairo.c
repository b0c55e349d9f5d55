/* Attention as PNG and PDF, in a build with Cairo. */
#include "view/attention/format.h"
#include "view/attention/panels.h"

static hd_status write_png(void *writer, hd_drawing *d, hd_err *err)
{
    return hd_drawing_png(&((hd_attention_writer *)writer)->out, d, err);
}

static hd_status add_png(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    return hd_attention_draw(a, &w->pick, write_png, w, err);
}

const hd_attention_format hd_attention_png = {.single = true, .add = add_png};

static hd_status begin_pdf(hd_attention_writer *w, hd_err *err)
{
    hd_pdf *pdf = NULL;
    hd_status s = hd_pdf_new(&pdf, &w->out, "Attention", err);
    w->state = pdf;
    return s;
}

static hd_status write_pdf(void *writer, hd_drawing *d, hd_err *err)
{
    return hd_pdf_add(((hd_attention_writer *)writer)->state, d, err);
}

static hd_status add_pdf(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    return hd_attention_draw(a, &w->pick, write_pdf, w, err);
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
