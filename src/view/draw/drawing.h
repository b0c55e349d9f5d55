/* A drawing, whatever it shows: laid out with the measures of a canvas, drawn on it, and written as SVG, PNG
   or PDF. */
#ifndef HD_VIEW_DRAW_DRAWING_H
#define HD_VIEW_DRAW_DRAWING_H

#include "view/draw/canvas.h"
#include "view/draw/text_file.h"

typedef struct hd_drawing {
    void (*lay_out)(struct hd_drawing *d, const hd_canvas *c); /* sets what follows */
    hd_status (*draw)(const struct hd_drawing *d, const hd_canvas *c, hd_err *err);
    void *context; /* of whoever draws */
    double width, height;
    const char *title;
} hd_drawing;

hd_status hd_drawing_svg(hd_text_file *out, hd_drawing *d, hd_err *err);
hd_status hd_drawing_png(hd_text_file *out, hd_drawing *d, hd_err *err);

/* A page for each drawing. */
typedef struct hd_pdf hd_pdf;
hd_status hd_pdf_new(hd_pdf **pdf, hd_text_file *out, const char *title, hd_err *err); /* out is borrowed */
hd_status hd_pdf_add(hd_pdf *pdf, hd_drawing *d, hd_err *err);
hd_status hd_pdf_end(hd_pdf *pdf, hd_err *err); /* all is in `out` then */
void hd_pdf_free(hd_pdf *pdf);                  /* accepts NULL */

/* Whether letters that join, as Arabic ones do, are joined in PNG and PDF: in a build with Pango. */
bool hd_drawing_shapes(void);

/* Why this build writes neither PNG nor PDF, or NULL; the functions for them fail with it. */
extern const char *const hd_drawing_missing;

#endif
