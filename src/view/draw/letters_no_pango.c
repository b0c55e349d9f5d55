/* Letters in a build without Pango. Cairo's toy fonts have one face each: a text with characters that face
   lacks looks for one that has them all. Letters that join, as Arabic ones do, stand side by side unjoined.
 */
#include <string.h>
#include <utf8proc.h>

#include "view/draw/label.h"
#include "view/draw/letters.h"

const bool hd_letters_shaped = false;

static const char *const families[] = {"DejaVu Sans",
                                       "Noto Sans",
                                       "Noto Sans CJK SC",
                                       "Noto Sans CJK JP",
                                       "Noto Sans Arabic",
                                       "Noto Sans Devanagari",
                                       "Noto Sans Thai",
                                       "WenQuanYi Micro Hei",
                                       "Droid Sans Fallback",
                                       "FreeSans",
                                       "Unifont",
                                       "sans-serif"};
enum { FAMILIES = sizeof families / sizeof *families };

/* Into buf: the text as it stands from left to right. A token has one direction as a rule: where its first
   letter says right to left, the characters are turned round, each with the marks that follow it. */
static const char *in_sight(const char *text, char buf[HD_LABEL])
{
    size_t size = strlen(text);
    utf8proc_int32_t point = 0;
    bool turn = false, found = false;
    for (size_t i = 0, used; i < size && !found; i += used) {
        used = (size_t)utf8proc_iterate((const uint8_t *)text + i, -1, &point);
        utf8proc_propval_t way = utf8proc_get_property(point)->bidi_class;
        turn = way == UTF8PROC_BIDI_CLASS_R || way == UTF8PROC_BIDI_CLASS_AL;
        found = turn || way == UTF8PROC_BIDI_CLASS_L;
    }
    if (!turn || size >= HD_LABEL) return text;
    buf[size] = 0;
    for (size_t i = 0, end; i < size; i = end) {
        end = i;
        do end += (size_t)utf8proc_iterate((const uint8_t *)text + end, -1, &point);
        while (end < size && utf8proc_iterate((const uint8_t *)text + end, -1, &point) > 0 &&
               !utf8proc_charwidth(point));
        memcpy(buf + size - end, text + i, end - i);
    }
    return buf;
}

static bool has_all(cairo_t *c, const char *text)
{
    cairo_glyph_t *glyphs = NULL;
    int count = 0;
    if (cairo_scaled_font_text_to_glyphs(cairo_get_scaled_font(c), 0, 0, text, -1, &glyphs, &count, NULL,
                                         NULL, NULL))
        return false;
    bool all = true;
    for (int i = 0; i < count; i++) all = all && glyphs[i].index;
    cairo_glyph_free(glyphs);
    return all;
}

static void take_font(cairo_t *c, const char *text, double size, bool bold)
{
    for (int i = 0; i <= FAMILIES; i++) { /* where none has them all, the first */
        cairo_select_font_face(c, families[i % FAMILIES], CAIRO_FONT_SLANT_NORMAL,
                               bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
        cairo_set_font_size(c, size);
        if (has_all(c, text)) return;
    }
}

static double advance(cairo_t *c, const char *text)
{
    cairo_text_extents_t e;
    cairo_text_extents(c, text, &e);
    return e.x_advance;
}

double hd_letters_width(cairo_t *c, const char *text, double size, bool bold)
{
    char buf[HD_LABEL];
    const char *shown = in_sight(text, buf);
    take_font(c, shown, size, bold);
    return advance(c, shown);
}

void hd_letters_show(cairo_t *c, const char *text, double size, bool bold)
{
    char buf[HD_LABEL];
    const char *shown = in_sight(text, buf);
    take_font(c, shown, size, bold);
    cairo_show_text(c, shown);
}
