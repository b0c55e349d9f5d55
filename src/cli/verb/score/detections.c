/* heed score --task detect: average precision of boxes. Boxes that were found are read from three forms, told
   apart by the first character: lines of `heed detect --json`, a list as COCO's results are, CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verb/score/score.h"
#include "data/image/set.h"
#include "data/image/set/csv.h"
#include "metric/detection.h"

enum { BYTES_MOST = 1 << 30 };

typedef struct scoring {
    hd_score_call *call;
    hd_image_set set;
    hd_vocab labels;
    hd_detection *detection;
    size_t foreign; /* boxes of labels that are never true */
} scoring;

/* What is found, in one form for all. */
typedef struct found {
    hd_line file, label;
    double corner[4], score; /* x and y of the upper left, then of the lower right corner */
} found;

/* The picture of this name, or of this name without its folders; -1: there is none. */
static int32_t find_picture(const hd_image_set *s, hd_line name)
{
    int32_t k = hd_vocab_find(&s->name, name.text, name.size);
    size_t at = name.size;
    while (k < 0 && at && name.text[at - 1] != '/') at--;
    return k < 0 && at ? hd_vocab_find(&s->name, name.text + at, name.size - at) : k;
}

static hd_status add(scoring *s, const found *f, const char *where, hd_err *err)
{
    int32_t picture = find_picture(&s->set, f->file);
    int32_t label = hd_vocab_find(&s->labels, f->label.text, f->label.size);
    const double *c = f->corner;
    if (!isfinite(c[0] + c[1] + c[2] + c[3] + f->score))
        return hd_err_set(err, HD_EFORMAT, "%s: a box or its score is not a number", where);
    if (picture < 0)
        return hd_err_set(err, HD_EFORMAT, "%s: --ref has no picture '%.*s'%s%s", where, (int)f->file.size,
                          f->file.text, s->call->o->split ? " in split " : "",
                          s->call->o->split ? s->call->o->split : "");
    if (label < 0) { /* a class without truths is not in the mean */
        s->foreign++;
        return HD_OK;
    }
    return hd_detection_add_found(s->detection,
                                  &(hd_detection_box){.picture = (size_t)picture,
                                                      .label = (size_t)label,
                                                      .x = c[0],
                                                      .y = c[1],
                                                      .width = c[2] - c[0],
                                                      .height = c[3] - c[1],
                                                      .score = f->score},
                                  err);
}

static hd_status add_truths(scoring *s, hd_err *err)
{
    const hd_image_set *set = &s->set;
    hd_status status = HD_OK;
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = set->first_box[i]; !status && k < set->first_box[i + 1]; k++) {
            const hd_box *b = &set->box[k];
            status = hd_detection_add_truth(s->detection,
                                            &(hd_detection_box){.picture = i,
                                                                .label = (size_t)b->label,
                                                                .x = (double)b->x,
                                                                .y = (double)b->y,
                                                                .width = (double)b->width,
                                                                .height = (double)b->height},
                                            err);
        }
    return status;
}

/* -- lines of JSON -- */

static hd_line text_of(const json_t *value)
{
    return (hd_line){json_string_value(value), json_string_length(value)};
}

/* Four numbers. */
static bool read_four(const json_t *list, double to[4])
{
    bool good = json_array_size(list) == 4;
    for (size_t i = 0; good && i < 4; i++) {
        const json_t *one = json_array_get(list, i);
        good = json_is_number(one);
        to[i] = json_number_value(one);
    }
    return good;
}

static hd_status add_objects(scoring *s, const json_t *line, const char *where, hd_err *err)
{
    const json_t *objects = json_object_get(line, "objects");
    found f = {.file = text_of(json_object_get(line, "file"))};
    hd_status status = HD_OK;
    if (!f.file.text || !json_is_array(objects))
        return hd_err_set(err, HD_EFORMAT, "%s: no \"file\" or no list \"objects\"", where);
    for (size_t i = 0; !status && i < json_array_size(objects); i++) {
        const json_t *one = json_array_get(objects, i), *score = json_object_get(one, "score");
        f.label = text_of(json_object_get(one, "label")), f.score = json_number_value(score);
        bool good = f.label.text && json_is_number(score) && read_four(json_object_get(one, "box"), f.corner);
        status = good ? add(s, &f, where, err)
                      : hd_err_set(err, HD_EFORMAT, "%s: object %zu has no label, score or box of 4 numbers",
                                   where, i + 1);
    }
    return status;
}

static hd_status read_lines(scoring *s, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_status status = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true}, err);
    while (!status && !(status = hd_lines_next(lines, &line, err)) && line.text) {
        char where[300];
        hd_arena arena = {0};
        json_error_t e;
        snprintf(where, sizeof where, "%.250s:%zu", hd_lines_name(lines), hd_lines_count(lines));
        if (!line.size) continue;
        const json_t *root = hd_json_load_config(&arena, line.text, line.size, &e);
        if (root)
            status = add_objects(s, root, where, err);
        else
            status = hd_json_missed() ? hd_err_nomem(err, hd_json_missed())
                                      : hd_err_set(err, HD_EFORMAT, "%s: %s", where, e.text);
        hd_arena_release(&arena);
    }
    hd_lines_close(lines);
    return status;
}

/* -- COCO's results: ids of the annotations -- */

/* Names by their ids, as text. */
typedef struct names {
    hd_vocab ids;
    hd_line *name;
} names;

static const char *id_text(const json_t *id, char to[32])
{
    snprintf(to, 32, "%.17g", json_is_number(id) ? json_number_value(id) : (double)NAN);
    return to;
}

static hd_status read_names(names *n, const json_t *list, const char *key, hd_err *err)
{
    size_t count = json_array_size(list);
    hd_status s = (n->name = hd_mem_array(count + 1, sizeof *n->name))
                      ? HD_OK
                      : hd_err_nomem(err, count * sizeof *n->name);
    for (size_t i = 0; !s && i < count; i++) {
        char id[32];
        const json_t *one = json_array_get(list, i);
        id_text(json_object_get(one, "id"), id);
        s = hd_vocab_add(&n->ids, id, strlen(id), err);
        if (!s) n->name[hd_vocab_find(&n->ids, id, strlen(id))] = text_of(json_object_get(one, key));
    }
    return s;
}

static hd_line name_of(const names *n, const json_t *id)
{
    char text[32];
    id_text(id, text);
    int32_t k = hd_vocab_find(&n->ids, text, strlen(text));
    return k < 0 ? (hd_line){0} : n->name[k];
}

static hd_status add_result(scoring *s, const json_t *one, const names *of, const char *path, size_t i,
                            hd_err *err)
{
    const json_t *score = json_object_get(one, "score");
    char where[300];
    found f = {.file = name_of(&of[0], json_object_get(one, "image_id")),
               .label = name_of(&of[1], json_object_get(one, "category_id")),
               .score = json_number_value(score)};
    snprintf(where, sizeof where, "%.250s: entry %zu", path, i);
    if (!read_four(json_object_get(one, "bbox"), f.corner) || !json_is_number(score))
        return hd_err_set(err, HD_EFORMAT, "%s: no \"score\" or no \"bbox\" of 4 numbers", where);
    if (!f.file.text || !f.label.text)
        return hd_err_set(err, HD_EFORMAT, "%s: no image_id or category_id of --ref", where);
    f.corner[2] += f.corner[0], f.corner[3] += f.corner[1];
    return add(s, &f, where, err);
}

static hd_status read_results(scoring *s, const char *path, hd_err *err)
{
    const char *ref = s->call->o->ref.text[0];
    hd_arena arena = {0};
    json_t *root = NULL, *truth = NULL;
    names of[2] = {{.name = NULL}};
    hd_status status = hd_json_read(&root, &arena, path, BYTES_MOST, err);
    if (!status && hd_json_read(&truth, &arena, ref, BYTES_MOST, NULL))
        status = hd_err_set(err, HD_EARG, "%s: COCO's results need --ref in COCO's form, not %s", path, ref);
    if (!status) status = read_names(&of[0], json_object_get(truth, "images"), "file_name", err);
    if (!status) status = read_names(&of[1], json_object_get(truth, "categories"), "name", err);
    for (size_t i = 0; !status && i < json_array_size(root); i++)
        status = add_result(s, json_array_get(root, i), of, path, i, err);
    for (int k = 0; k < 2; k++) hd_vocab_release(&of[k].ids), hd_mem_free(of[k].name);
    hd_arena_release(&arena);
    return status;
}

/* -- CSV -- */

static hd_status read_table(scoring *s, const char *path, hd_err *err)
{
    static const char *const names_of[] = {"image", "label", "score", "xmin", "ymin", "xmax", "ymax"};
    enum { COLUMNS = sizeof names_of / sizeof *names_of };
    size_t column[COLUMNS];
    hd_csv csv = {0};
    bool more = true;
    hd_status status = hd_csv_open(&csv, path, err);
    for (int k = 0; !status && k < COLUMNS; k++)
        if ((column[k] = hd_csv_column(&csv, names_of[k])) == SIZE_MAX)
            status = hd_err_set(err, HD_EFORMAT, "%s:1: no column \"%s\", and no JSON", path, names_of[k]);
    while (!status && !(status = hd_csv_next(&csv, &more, err)) && more) {
        char where[300];
        double number[COLUMNS - 2];
        snprintf(where, sizeof where, "%.250s:%zu", path, hd_lines_count(csv.lines));
        for (int k = 2; k < COLUMNS; k++) {
            hd_line field = hd_csv_field(&csv, column[k]);
            char *end = NULL;
            number[k - 2] = field.text && field.size ? strtod(field.text, &end) : (double)NAN;
            if (end && *end) number[k - 2] = (double)NAN;
        }
        found f = {.file = hd_csv_field(&csv, column[0]),
                   .label = hd_csv_field(&csv, column[1]),
                   .corner = {number[1], number[2], number[3], number[4]},
                   .score = number[0]};
        status = f.file.text && f.label.text ? add(s, &f, where, err)
                                             : hd_err_set(err, HD_EFORMAT, "%s: too few columns", where);
    }
    hd_csv_close(&csv);
    return status;
}

/* -- all of it -- */

static hd_status read_found(scoring *s, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line = {0};
    if (!strcmp(path, "-")) return read_lines(s, path, err);
    hd_status status = hd_lines_open(&lines, path, &(hd_lines_opt){.goes_on = true}, err);
    if (!status) status = hd_lines_next(lines, &line, err);
    char first = line.text && line.size ? line.text[0] : '{';
    hd_lines_close(lines);
    if (status) return status;
    return (first == '[' ? read_results : first == '{' ? read_lines : read_table)(s, path, err);
}

static void put_row(hd_text *to, const char *name, int wide, const hd_detection_score *r, int digits)
{
    hd_text_print(to, "%-*s  %8zu  %8zu  %6.*f  %6.*f  %6.*f\n", wide, name, r->truths, r->found, digits,
                  100 * r->ap, digits, 100 * r->ap50, digits, 100 * r->ap75);
}

static void put_members(hd_text *to, const hd_detection_score *r)
{
    hd_member_number(to, "ap", r->ap, 9);
    hd_member_number(to, "ap50", r->ap50, 9);
    hd_member_number(to, "ap75", r->ap75, 9);
    hd_member_count(to, "boxes", r->truths);
    hd_member_count(to, "found", r->found);
}

static hd_status show(scoring *s, const hd_detection_score *all, const hd_detection_score *of, hd_err *err)
{
    const hd_score_options *o = s->call->o;
    hd_text out = {0};
    int wide = 5;
    for (size_t i = 0; i < s->labels.count; i++) {
        int n = (int)strlen(hd_vocab_piece(&s->labels, (int32_t)i));
        if (n > wide && n <= 40) wide = n;
    }
    if (o->json) {
        hd_member_begin(&out, NULL, '{');
        put_members(&out, all);
        hd_member_begin(&out, "classes", '[');
    } else {
        hd_text_print(&out, "%-*s  %8s  %8s  %6s  %6s  %6s\n", wide, "class", "boxes", "found", "AP", "AP50",
                      "AP75");
    }
    for (size_t i = 0; i < s->labels.count; i++) {
        const char *label = hd_vocab_piece(&s->labels, (int32_t)i);
        if (!o->json) {
            put_row(&out, label, wide, &of[i], o->digits);
            continue;
        }
        hd_member_begin(&out, NULL, '{');
        hd_member_text(&out, "label", label);
        put_members(&out, &of[i]);
        hd_member_end(&out, '}');
    }
    if (o->json)
        hd_member_end(&out, ']'), hd_text_put(&out, "}\n");
    else
        put_row(&out, "all", wide, all, o->digits);
    return hd_command_put_text(&s->call->command, &out, true, err);
}

hd_status hd_score_detections(hd_score_call *j, hd_err *err)
{
    const hd_score_options *o = j->o;
    scoring s = {.call = j};
    hd_detection_score all, *of = NULL;
    if (o->ref.count > 1) return hd_err_set(err, HD_EARG, "--task detect takes one --ref: all true boxes");
    hd_status status = hd_image_set_boxes(&s.set, &s.labels, o->ref.text[0], o->images, o->split, false, err);
    if (!status) status = hd_detection_new(&s.detection, s.labels.count, err);
    if (!status) status = add_truths(&s, err);
    if (!status) status = read_found(&s, j->path[0], err);
    if (!status && !(of = hd_mem_array(s.labels.count + 1, sizeof *of)))
        status = hd_err_nomem(err, s.labels.count * sizeof *of);
    if (!status) status = hd_detection_finish(s.detection, &all, of, err);
    if (!status) status = show(&s, &all, of, err);
    if (!status && s.foreign)
        hd_log_say(&j->command.log, HD_WARN, "%zu boxes have labels that --ref does not have", s.foreign);
    hd_mem_free(of);
    hd_detection_free(s.detection);
    hd_image_set_release(&s.set);
    hd_vocab_release(&s.labels);
    return status;
}
