/* Pictures named in a list, with labels or without. */
#include <string.h>

#include "data/image/set/build.h"

static hd_status add_line(hd_set_builder *b, hd_line line, hd_err *err)
{
    int32_t picture = -1, label = -1;
    size_t before = b->set->count;
    const char *tab = memchr(line.text, '\t', line.size);
    size_t size = tab ? (size_t)(tab - line.text) : line.size;
    hd_line name = {line.text, size};
    hd_status s = hd_set_picture(b, name, &picture, err);
    if (s || picture < 0) return s;
    if (b->set->count == before)
        return hd_set_refuse(b, err, "the picture %.*s is there before: remove one of the lines",
                             (int)(size < 100 ? size : 100), name.text);
    bool labeled = tab != NULL;
    if (before && labeled != (b->marked > 0))
        return hd_set_refuse(b, err,
                             "%s, unlike on the lines before: each line is a file, a tab and its label",
                             labeled ? "there is a label" : "there is no label");
    if (!labeled) return HD_OK;
    s = hd_set_label(b, hd_set_trimmed((hd_line){tab + 1, line.size - size - 1}), &label, err);
    if (!s) hd_set_mark(b, picture, label);
    return s;
}

hd_status hd_image_set_list(hd_image_set *out, hd_vocab *labels, const char *path, const char *images,
                            bool skip, hd_err *err)
{
    hd_set_builder b = {.labels = labels,
                        .skip = skip,
                        .path = path,
                        .remedy = "names are relative to the folder of the list"};
    hd_line line;
    hd_status s = hd_set_begin(&b, out, images, err);
    if (!s) s = hd_lines_open(&b.lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(b.lines, &line, err)) && line.text) {
        if (hd_set_trimmed(line).size) s = add_line(&b, line, err);
    }
    return hd_set_end(&b, s, err);
}
