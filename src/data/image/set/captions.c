/* Pictures with captions. */
#include <string.h>

#include "data/image/set/build.h"
#include "data/image/set/csv.h"

/* "a.jpg" of "a.jpg#2". */
static hd_line name_of(hd_line t)
{
    size_t end = t.size;
    while (end && t.text[end - 1] >= '0' && t.text[end - 1] <= '9') end--;
    if (end > 1 && end < t.size && t.text[end - 1] == '#') t.size = end - 1;
    return t;
}

/* names: only these, where `only`; each is counted when it is met. */
static hd_status add_caption(hd_set_builder *b, hd_line name, hd_line text, bool only, hd_vocab *names,
                             hd_err *err)
{
    int32_t picture = -1, id = only ? hd_vocab_find(names, name.text, name.size) : -1;
    if (only && id < 0) return HD_OK;
    if (only) names->seen[id]++;
    text = hd_set_trimmed(text);
    if (!text.size) return hd_set_refuse(b, err, "the caption is empty");
    hd_status s = hd_set_picture(b, name, &picture, err);
    return s || picture < 0 ? s : hd_set_caption(b, picture, text, err);
}

static hd_status read_lines(hd_set_builder *b, bool only, hd_vocab *names, hd_err *err)
{
    hd_line line;
    hd_status s = hd_lines_open(&b->lines, b->path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(b->lines, &line, err)) && line.text) {
        if (!hd_set_trimmed(line).size) continue;
        const char *tab = memchr(line.text, '\t', line.size);
        if (!tab)
            return hd_set_refuse(
                b, err,
                "no tab: a line is the name of a picture, a tab and a caption; of CSV the first "
                "line names the columns image, caption");
        hd_line name = {line.text, (size_t)(tab - line.text)};
        hd_line text = {tab + 1, line.size - name.size - 1};
        s = add_caption(b, name_of(hd_set_trimmed(name)), text, only, names, err);
    }
    return s;
}

static hd_status read_table(hd_set_builder *b, bool only, hd_vocab *names, bool *table, hd_err *err)
{
    hd_csv c = {0};
    bool more = true;
    hd_status s = hd_csv_open(&c, b->path, err);
    size_t image = s ? SIZE_MAX : hd_csv_column(&c, "image"),
           text = s ? SIZE_MAX : hd_csv_column(&c, "caption");
    *table = image < SIZE_MAX && text < SIZE_MAX;
    b->lines = c.lines;
    while (*table && !s && !(s = hd_csv_next(&c, &more, err)) && more) {
        hd_line name = hd_csv_field(&c, image), caption = hd_csv_field(&c, text);
        s = name.text && caption.text
                ? add_caption(b, name, caption, only, names, err)
                : hd_set_refuse(b, err, "a column is missing that the first line names");
    }
    b->lines = NULL;
    hd_csv_close(&c);
    return s;
}

/* Whether the first line names the columns of a table. */
static hd_status is_table(const char *path, bool *table, hd_err *err)
{
    hd_lines *l = NULL;
    hd_line line = {0};
    hd_status s = hd_lines_open(&l, path, NULL, err);
    if (!s) s = hd_lines_next(l, &line, err);
    *table = line.text && !memchr(line.text, '\t', line.size) && memchr(line.text, ',', line.size);
    hd_lines_close(l);
    return s;
}

static hd_status read_names(hd_vocab *names, const char *path, hd_err *err)
{
    hd_lines *l = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&l, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(l, &line, err)) && line.text) {
        line = hd_set_trimmed(line);
        if (line.size) s = hd_vocab_add(names, line.text, line.size, err);
    }
    if (!s && !names->count) s = hd_err_set(err, HD_EFORMAT, "%s: there is no name in it", path);
    hd_lines_close(l);
    for (size_t i = 0; !s && i < names->count; i++) names->seen[i] = 0;
    return s;
}

static hd_status check_names(const hd_vocab *names, const char *names_path, const char *path, hd_err *err)
{
    for (size_t i = 0; i < names->count; i++)
        if (!names->seen[i])
            return hd_err_set(err, HD_EFORMAT, "%.150s: %.100s has no caption in %.150s", names_path,
                              hd_vocab_piece(names, (int32_t)i), path);
    return HD_OK;
}

hd_status hd_image_set_captions(hd_image_set *out, const char *path, const char *images, const char *names,
                                bool skip, hd_err *err)
{
    hd_set_builder b = {.skip = skip, .path = path, .remedy = HD_SET_IMAGES_REMEDY};
    hd_vocab only = {0};
    bool table = false;
    hd_status s = hd_set_begin(&b, out, images, err);
    if (!s && names) s = read_names(&only, names, err);
    if (!s) s = is_table(path, &table, err);
    if (!s && table) s = read_table(&b, names != NULL, &only, &table, err);
    if (!s && !table) s = read_lines(&b, names != NULL, &only, err);
    if (!s && names) s = check_names(&only, names, path, err);
    hd_vocab_release(&only);
    return hd_set_end(&b, s, err);
}
