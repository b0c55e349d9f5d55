/* Attention as an SVG picture. */
#include "view/attention/format.h"
#include "view/attention/picture.h"

static hd_status add(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    hd_attention_map map = {0};
    hd_attention_picture picture;
    hd_drawing d = hd_attention_drawing(&picture, &map);
    hd_status s = hd_attention_map_of(&map, a, &w->pick, err);
    if (!s) s = hd_drawing_svg(&w->out, &d, err);
    hd_attention_map_release(&map);
    return s;
}

const hd_attention_format hd_attention_svg = {.single = true, .add = add};
