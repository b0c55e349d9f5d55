/* Panels side by side, as many as fit in a line; a cell is two characters wide, which makes it about square.
 */
#include "view/attention/panels_text.h"

#include <stdio.h>

#include "view/attention/panels.h"
#include "view/draw/label.h"
#include "view/draw/text_pen.h"

enum { LEVELS = 5, CELL = 2, BETWEEN = 3, NARROWEST = 10 };

static const char *const shades[2][LEVELS] = {{". ", "::", "++", "%%", "##"}, {"· ", "░░", "▒▒", "▓▓", "██"}};

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

/* Steps of equal size up to the largest weight of the panel. */
static int level_of(const hd_attention_panel *p, float v, int levels)
{
    int n = p->most > 0 ? (int)((double)v / p->most * levels) : 0;
    return n < levels ? n : levels - 1;
}

static void put_line(hd_text_pen *pen, const hd_attention_scene *s, const hd_attention_panel *p, size_t row,
                     int column)
{
    for (size_t j = 0; j < s->width; j++) {
        float v = p->weight[row * s->width + j];
        hd_ink ink = pen->color ? (hd_ink)(HD_INK_SHADE + level_of(p, v, HD_INK_SHADES)) : HD_INK_PLAIN;
        hd_text_pen_put_at(pen, column + CELL * (int)j, ink,
                           pen->color ? "  " : shades[pen->utf8][level_of(p, v, LEVELS)]);
    }
}

hd_status hd_attention_panels_text(hd_text *to, const hd_attention_maps *a, const hd_attention_look *look,
                                   hd_err *err)
{
    hd_text_pen pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8};
    const hd_attention_scene *scene = &a->scene;
    hd_attention_panels p;
    hd_status s = hd_attention_panels_of(&p, a, &look->pick, err);
    if (s) return s;
    int wide = CELL * (int)scene->width, each = (wide < NARROWEST ? NARROWEST : wide) + BETWEEN;
    size_t across = look->width > each ? (size_t)(look->width / each) : 1;
    hd_text_pen_words(&pen, HD_INK_BOLD, p.title);
    hd_text_pen_end(&pen);
    for (size_t from = 0; from < p.count; from += across) {
        size_t end = from + across < p.count ? from + across : p.count;
        hd_text_pen_end(&pen);
        for (size_t i = from; i < end; i++) {
            char name[HD_LABEL];
            hd_label_of(name, p.panel[i].name, &(hd_label_opt){columns_of, NULL, each - BETWEEN, !pen.utf8});
            hd_text_pen_put_at(&pen, each * (int)(i - from), HD_INK_BOLD, name);
        }
        hd_text_pen_end(&pen);
        for (size_t row = 0; row < scene->height; row++) {
            for (size_t i = from; i < end; i++)
                put_line(&pen, scene, &p.panel[i], row, each * (int)(i - from));
            hd_text_pen_end(&pen);
        }
        for (size_t i = from; i < end; i++) {
            char most[32];
            snprintf(most, sizeof most, "most %.2g", p.panel[i].most);
            hd_text_pen_put_at(&pen, each * (int)(i - from), HD_INK_DIM, most);
        }
        hd_text_pen_end(&pen);
    }
    hd_attention_panels_release(&p);
    return hd_text_status(to, err);
}
