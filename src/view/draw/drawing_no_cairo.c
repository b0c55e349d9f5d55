/* PNG and PDF in a build without Cairo. */
#include "view/draw/drawing.h"

const char *const hd_drawing_missing = "this heed was built without Cairo. Install it (Debian: "
                                       "libcairo2-dev) and build again, or write .svg";

bool hd_drawing_shapes(void)
{
    return false;
}

static hd_status refuse(hd_err *err)
{
    return hd_err_set(err, HD_EMISSING, "no PNG or PDF: %s", hd_drawing_missing);
}

hd_status hd_drawing_png(hd_text_file *out, hd_drawing *d, hd_err *err)
{
    (void)out, (void)d;
    return refuse(err);
}

hd_status hd_pdf_new(hd_pdf **pdf, hd_text_file *out, const char *title, hd_err *err)
{
    (void)pdf, (void)out, (void)title;
    return refuse(err);
}

hd_status hd_pdf_add(hd_pdf *pdf, hd_drawing *d, hd_err *err)
{
    (void)pdf, (void)d;
    return refuse(err);
}

hd_status hd_pdf_end(hd_pdf *pdf, hd_err *err)
{
    (void)pdf;
    return refuse(err);
}

void hd_pdf_free(hd_pdf *pdf)
{
    (void)pdf;
}
