/* Letters by Pango. */
#include <pango/pangocairo.h>

#include "view/draw/letters.h"

const bool hd_letters_shaped = true;

/* One line of text; the caller unrefs it. */
static PangoLayout *layout_of(cairo_t *c, const char *text, double size, bool bold)
{
    PangoLayout *layout = pango_cairo_create_layout(c);
    PangoFontDescription *font = pango_font_description_new();
    pango_font_description_set_family_static(font, "DejaVu Sans,Noto Sans,sans-serif");
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(layout, font);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    pango_layout_set_text(layout, text, -1);
    pango_font_description_free(font);
    return layout;
}

double hd_letters_width(cairo_t *c, const char *text, double size, bool bold)
{
    PangoLayout *layout = layout_of(c, text, size, bold);
    PangoRectangle logical;
    pango_layout_line_get_extents(pango_layout_get_line_readonly(layout, 0), NULL, &logical);
    g_object_unref(layout);
    return (double)logical.width / PANGO_SCALE;
}

void hd_letters_show(cairo_t *c, const char *text, double size, bool bold)
{
    PangoLayout *layout = layout_of(c, text, size, bold);
    pango_cairo_show_layout_line(c, pango_layout_get_line_readonly(layout, 0));
    g_object_unref(layout);
}
