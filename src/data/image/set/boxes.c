/* Pictures with boxes in a table. */
#include <math.h>
#include <string.h>

#include "base/file/file.h"
#include "base/text.h"
#include "data/image/set/boxes.h"
#include "data/image/set/csv.h"

enum { IMAGE, LABEL, LEFT, TOP, RIGHT, BOTTOM, NEEDED, SPLIT = NEEDED, COLUMNS };

/* What a column may be called. */
static const char *const column_names[COLUMNS][3] = {
    [IMAGE] = {"image", "filename", "file"},
    [LABEL] = {"label", "class", "category"},
    [LEFT] = {"xmin", "x1", "left"},
    [TOP] = {"ymin", "y1", "top"},
    [RIGHT] = {"xmax", "x2", "right"},
    [BOTTOM] = {"ymax", "y2", "bottom"},
    [SPLIT] = {"split"},
};

static hd_status find_columns(const hd_csv *c, const char *path, size_t column[COLUMNS], hd_err *err)
{
    for (int k = 0; k < COLUMNS; k++) {
        column[k] = SIZE_MAX;
        for (int i = 0; i < 3 && column_names[k][i] && column[k] == SIZE_MAX; i++)
            column[k] = hd_csv_column(c, column_names[k][i]);
        if (k < NEEDED && column[k] == SIZE_MAX)
            return hd_err_set(
                err, HD_EFORMAT,
                "%s:1: there is no column \"%s\": the first line names the columns image, label, "
                "xmin, ymin, xmax, ymax and maybe split",
                path, column_names[k][0]);
    }
    return HD_OK;
}

static hd_status corners_of(const hd_set_builder *b, const hd_csv *c, const size_t column[COLUMNS],
                            double corner[4], hd_err *err)
{
    for (int k = 0; k < 4; k++) {
        hd_line f = hd_csv_field(c, column[LEFT + k]);
        if (!f.text || !hd_real_of(f.text, f.size, &corner[k]) || !isfinite(corner[k]))
            return hd_set_refuse(b, err, "%s is no number: \"%.*s\"", column_names[LEFT + k][0],
                                 (int)(f.size < 60 ? f.size : 60), f.text ? f.text : "");
    }
    if (corner[2] < corner[0] || corner[3] < corner[1])
        return hd_set_refuse(
            b, err, "the box has no inside: %s %g is less than %s %g",
            corner[2] < corner[0] ? "xmax" : "ymax", corner[2] < corner[0] ? corner[2] : corner[3],
            corner[2] < corner[0] ? "xmin" : "ymin", corner[2] < corner[0] ? corner[0] : corner[1]);
    return HD_OK;
}

static hd_status add_row(hd_set_builder *b, const hd_csv *c, const size_t column[COLUMNS], hd_err *err)
{
    double corner[4];
    int32_t picture = -1, label = -1;
    bool bare = true; /* a picture without an object */
    for (int k = LABEL; k < NEEDED; k++) bare = bare && !hd_csv_field(c, column[k]).size;
    hd_line name = hd_csv_field(c, column[IMAGE]);
    if (!name.text) return hd_set_refuse(b, err, "a column is missing that the first line names");
    hd_status s = bare ? HD_OK : corners_of(b, c, column, corner, err);
    if (!s && !bare) s = hd_set_label(b, hd_csv_field(c, column[LABEL]), &label, err);
    if (!s) s = hd_set_picture(b, name, &picture, err);
    return s || bare || picture < 0 ? s : hd_set_box(b, picture, corner, label, err);
}

static bool is_split(const hd_csv *c, size_t column, const char *split)
{
    hd_line f = column == SIZE_MAX ? (hd_line){NULL, 0} : hd_csv_field(c, column);
    return f.text && f.size == strlen(split) && !memcmp(f.text, split, f.size);
}

static hd_status read_table(hd_set_builder *b, const char *split, hd_err *err)
{
    hd_csv c = {0};
    size_t column[COLUMNS], rows = 0;
    bool more = true;
    hd_status s = hd_csv_open(&c, b->path, err);
    if (!s) s = find_columns(&c, b->path, column, err);
    if (!s && split && column[SPLIT] == SIZE_MAX)
        s = hd_err_set(err, HD_EFORMAT, "%s:1: there is no column \"split\"", b->path);
    b->lines = c.lines;
    while (!s && !(s = hd_csv_next(&c, &more, err)) && more) {
        if (split && !is_split(&c, column[SPLIT], split)) continue;
        s = add_row(b, &c, column, err);
        rows++;
    }
    if (!s && split && !rows)
        s = hd_err_set(err, HD_EFORMAT, "%s: no row has \"%s\" in the column split", b->path, split);
    b->lines = NULL;
    hd_csv_close(&c);
    return s;
}

/* JSON begins with a brace, and no table does. */
static hd_status is_json(bool *json, const char *path, hd_err *err)
{
    hd_map map = {0};
    hd_status s = hd_map_open(&map, path, err);
    size_t i = 0;
    while (i < map.size && strchr(" \t\r\n", map.data[i]) && map.data[i]) i++;
    *json = i < map.size && map.data[i] == '{';
    hd_map_close(&map);
    return s;
}

hd_status hd_image_set_boxes(hd_image_set *out, hd_vocab *labels, const char *path, const char *images,
                             const char *split, bool skip, hd_err *err)
{
    hd_set_builder b = {
        .labels = labels, .skip = skip, .path = path, .remedy = HD_SET_IMAGES_REMEDY, .boxed = true};
    bool json = false;
    hd_status s = hd_set_begin(&b, out, images, err);
    if (!s) s = is_json(&json, path, err);
    if (!s && json && split) s = hd_err_set(err, HD_EARG, "%s: JSON has no column \"split\"", path);
    if (!s) s = json ? hd_set_read_coco(&b, err) : read_table(&b, split, err);
    return hd_set_end(&b, s, err);
}

hd_status hd_image_set_has_split(bool *has, const char *path, const char *split, hd_err *err)
{
    hd_csv c = {0};
    bool json = false, more = true;
    *has = false;
    hd_status s = is_json(&json, path, err);
    if (s || json) return s;
    s = hd_csv_open(&c, path, err);
    size_t column = s ? SIZE_MAX : hd_csv_column(&c, column_names[SPLIT][0]);
    while (!s && !*has && column < SIZE_MAX && !(s = hd_csv_next(&c, &more, err)) && more)
        *has = is_split(&c, column, split);
    hd_csv_close(&c);
    return s;
}
