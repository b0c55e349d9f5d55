/* Boxes as lines through their corners. */
#include "lab/picture/boxes.h"

#include <stdio.h>

/* Center and size as shares of the picture, from its left and its top. */
static void add_box(hd_paper *to, double x, double y, double width, double height, const char *name)
{
    static const double right[] = {-1, 1, 1, -1, -1}, up[] = {-1, -1, 1, 1, -1};
    enum { CORNERS = sizeof right / sizeof *right };
    double across[CORNERS], upward[CORNERS];
    for (int i = 0; i < CORNERS; i++)
        across[i] = x + right[i] * width / 2, upward[i] = 1 - y + up[i] * height / 2;
    hd_paper_line(to, name, &(hd_series){.x = across, .y = upward, .count = CORNERS});
}

static void put_plot(hd_paper *to, const char *title)
{
    hd_paper_plot(to, &(hd_series_plot){.title = title,
                                        .across = "from the left, as share of the picture",
                                        .upward = "from the bottom, as share of the picture"});
    add_box(to, 0.5, 0.5, 1, 1, "the edge of the picture");
}

void hd_boxes_put_answers(hd_paper *to, const char *title, const hd_detr_object *object, size_t objects,
                          const hd_finder_answer *answer)
{
    char name[64];
    put_plot(to, title);
    for (size_t i = 0; i < objects; i++) {
        const hd_detr_object *o = &object[i];
        snprintf(name, sizeof name, "there is: %s", hd_shape_color_name((hd_shape_color)o->label));
        add_box(to, (double)o->x, (double)o->y, (double)o->width, (double)o->height, name);
    }
    for (size_t q = 0; q < HD_FINDER_QUERIES; q++) {
        const hd_finder_answer *a = &answer[q];
        if (a->label >= HD_SHAPE_COLORS) continue;
        snprintf(name, sizeof name, "query %zu says: %s", q + 1,
                 hd_shape_color_name((hd_shape_color)a->label));
        add_box(to, a->box[0], a->box[1], a->box[2], a->box[3], name);
    }
}

void hd_boxes_put_places(hd_paper *to, const char *title, const hd_finder_place *query)
{
    char name[64];
    put_plot(to, title);
    for (size_t q = 0; q < HD_FINDER_QUERIES; q++) {
        const hd_finder_place *p = &query[q];
        snprintf(name, sizeof name, "query %zu: %zu objects", q + 1, p->count);
        if (p->count) add_box(to, p->middle[0], p->middle[1], 2 * p->deviation[0], 2 * p->deviation[1], name);
    }
}
