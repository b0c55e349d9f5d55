/* Attention as an SVG picture. */
#include "view/attention/format.h"
#include "view/attention/panels.h"

static hd_status write_svg(void *writer, hd_drawing *d, hd_err *err)
{
    return hd_drawing_svg(&((hd_attention_writer *)writer)->out, d, err);
}

static hd_status add(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    return hd_attention_draw(a, &w->pick, write_svg, w, err);
}

const hd_attention_format hd_attention_svg = {.single = true, .add = add};
