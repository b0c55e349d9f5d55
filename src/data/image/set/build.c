/* Building sets of pictures. Easy to get wrong: labels get their numbers in alphabetical order, whatever the
   order they are met in. */
#include "data/image/set/build.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"

const char *hd_set_where(const hd_set_builder *b, char to[HD_SET_WHERE])
{
    if (b->lines)
        snprintf(to, HD_SET_WHERE, "%.200s:%zu", hd_lines_name(b->lines), hd_lines_count(b->lines));
    else
        snprintf(to, HD_SET_WHERE, "%.200s", b->path);
    return to;
}

hd_status hd_set_refuse(const hd_set_builder *b, hd_err *err, const char *format, ...)
{
    char where[HD_SET_WHERE], what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return hd_err_set(err, HD_EFORMAT, "%s: %s", hd_set_where(b, where), what);
}

hd_status hd_set_begin(hd_set_builder *b, hd_image_set *out, const char *folder, hd_err *err)
{
    char parent[HD_PATH];
    b->set = out;
    b->fixed = b->labels && b->labels->count > 0;
    *out = (hd_image_set){0};
    if (!folder) hd_parent(parent, b->path);
    out->root = hd_mem_text(folder ? folder : parent);
    return out->root ? HD_OK : hd_err_nomem(err, HD_PATH);
}

/* -- pictures -- */

/* Looks into the file: its size in pixels, and its mark. */
static hd_status look(const hd_image_set *s, const char *name, hd_image *size, uint64_t *mark, hd_err *err)
{
    char below[HD_PATH];
    hd_map map = {0};
    const char *path;
    hd_status status = hd_set_path(&path, below, s->root, name, err);
    if (!status) status = hd_map_open(&map, path, err);
    if (!status) status = hd_image_probe(size, map.data, map.size, path, err);
    *mark = hd_set_hash_bytes(HD_SET_HASH, name, strlen(name) + 1);
    *mark = hd_set_hash_bytes(*mark, &map.size, sizeof map.size);
    hd_map_close(&map);
    return status;
}

static hd_status append_picture(hd_set_builder *b, hd_line name, const hd_image *size, uint64_t mark,
                                hd_err *err)
{
    hd_image_set *set = b->set;
    size_t n = set->count;
    hd_status s = hd_mem_reserve(&set->size, &b->size_room, 2 * (n + 1), sizeof *set->size, err);
    if (!s) s = hd_mem_reserve(&set->label, &b->label_room, n + 1, sizeof *set->label, err);
    if (!s) s = hd_mem_reserve(&set->mark, &b->mark_room, n + 1, sizeof *set->mark, err);
    if (!s) s = hd_vocab_add(&set->name, name.text, name.size, err);
    if (s) return s;
    set->size[2 * n] = size->height, set->size[2 * n + 1] = size->width;
    if (size->channels > set->channels) set->channels = size->channels;
    set->label[n] = -1;
    set->mark[n] = mark;
    set->count++;
    return HD_OK;
}

/* A picture that cannot be read. */
static hd_status leave_out(hd_set_builder *b, hd_line name, const hd_err *why, hd_err *err)
{
    char where[HD_SET_WHERE];
    bool invalid = why->status == HD_EFILE || why->status == HD_EFORMAT || why->status == HD_ELIMIT;
    const char *remedy = why->status == HD_EFILE ? b->remedy : NULL;
    if (!b->skip || !invalid)
        return hd_err_set(err, why->status, "%s%s%.250s%s%s", b->lines ? hd_set_where(b, where) : "",
                          b->lines ? ": " : "", why->text, remedy ? ": " : "", remedy ? remedy : "");
    if (!b->set->skipped++) b->why = *why;
    return hd_vocab_add(&b->left_out, name.text, name.size, err);
}

hd_status hd_set_picture(hd_set_builder *b, hd_line name, int32_t *number, hd_err *err)
{
    char text[HD_PATH];
    hd_image size = {0};
    hd_err why = {0};
    uint64_t mark = 0;
    if (!name.size) return hd_set_refuse(b, err, "the name of the picture is empty");
    *number = hd_vocab_find(&b->set->name, name.text, name.size);
    if (*number >= 0 || hd_vocab_find(&b->left_out, name.text, name.size) >= 0) return HD_OK;
    if (name.size >= sizeof text)
        return hd_set_refuse(b, err, "the name of the picture is too long: %zu bytes", name.size);
    memcpy(text, name.text, name.size);
    text[name.size] = 0;
    if (look(b->set, text, &size, &mark, &why)) return leave_out(b, name, &why, err);
    hd_status s = append_picture(b, name, &size, mark, err);
    if (!s) *number = (int32_t)b->set->count - 1;
    return s;
}

/* -- labels, boxes, captions -- */

hd_status hd_set_label(hd_set_builder *b, hd_line label, int32_t *number, hd_err *err)
{
    if (!label.size) return hd_set_refuse(b, err, "the label is empty");
    if (!b->fixed) {
        hd_status s = hd_vocab_add(b->labels, label.text, label.size, err);
        if (s) return s;
    }
    *number = hd_vocab_find(b->labels, label.text, label.size);
    if (*number >= 0) return HD_OK;
    return hd_set_refuse(b, err, "the label \"%.*s\" is none of the %zu that are known: %.60s, ...",
                         (int)(label.size < 60 ? label.size : 60), label.text, b->labels->count,
                         hd_vocab_piece(b->labels, 0));
}

void hd_set_mark(hd_set_builder *b, int32_t picture, int32_t label)
{
    b->set->label[picture] = label;
    b->marked++;
}

hd_status hd_set_box(hd_set_builder *b, int32_t picture, const double corner[4], int32_t label, hd_err *err)
{
    hd_image_set *set = b->set;
    double height = set->size[2 * picture], width = set->size[2 * picture + 1];
    double x = fmax(corner[0], 0), y = fmax(corner[1], 0), right = fmin(corner[2], width),
           bottom = fmin(corner[3], height);
    bool bare = corner[2] == corner[0] || corner[3] == corner[1], outside = right <= x || bottom <= y;
    if (!bare && outside && !b->skip)
        return hd_set_refuse(
            b, err, "the box %g %g %g %g lies outside of the picture %.60s, which has %g x %g pixels",
            corner[0], corner[1], corner[2], corner[3], hd_image_set_name(set, (size_t)picture), width,
            height);
    if (bare || outside) {
        set->skipped++;
        return HD_OK;
    }
    hd_status s = hd_mem_reserve(&set->box, &b->box_room, b->boxes + 1, sizeof *set->box, err);
    if (!s) s = hd_mem_reserve(&b->box_owner, &b->box_owner_room, b->boxes + 1, sizeof *b->box_owner, err);
    if (s) return s;
    set->box[b->boxes] = (hd_box){label, (float)x, (float)y, (float)(right - x), (float)(bottom - y)};
    b->box_owner[b->boxes++] = (size_t)picture;
    return HD_OK;
}

hd_status hd_set_caption(hd_set_builder *b, int32_t picture, hd_line text, hd_err *err)
{
    size_t n = b->captions;
    hd_status s = hd_mem_reserve(&b->caption_owner, &b->caption_room, n + 1, sizeof *b->caption_owner, err);
    if (!s) s = hd_mem_reserve(&b->caption_end, &b->caption_end_room, n + 1, sizeof *b->caption_end, err);
    if (!s) s = hd_mem_reserve(&b->set->text, &b->text_room, b->text_used + text.size + 1, 1, err);
    if (s) return s;
    memcpy(b->set->text + b->text_used, text.text, text.size);
    b->text_used += text.size;
    b->set->text[b->text_used++] = 0;
    b->caption_owner[n] = (size_t)picture;
    b->caption_end[n] = b->text_used;
    b->captions++;
    return HD_OK;
}

/* -- the end -- */

/* first [count + 1] of things with an owner each, and where each of them goes. */
static hd_status places(size_t **first, size_t **to, const size_t *owner, size_t things, size_t count,
                        hd_err *err)
{
    *first = hd_mem_array(count + 1, sizeof **first);
    *to = hd_mem_array(things + 1, sizeof **to);
    if (!*first || !*to) return hd_err_nomem(err, (count + things) * sizeof **to);
    for (size_t i = 0; i < things; i++) (*first)[owner[i] + 1]++;
    for (size_t i = 0; i < count; i++) (*first)[i + 1] += (*first)[i];
    for (size_t i = 0; i < things; i++) (*to)[i] = (*first)[owner[i]]++;
    memmove(*first + 1, *first, count * sizeof **first);
    **first = 0;
    return HD_OK;
}

static hd_status order_boxes(hd_set_builder *b, hd_err *err)
{
    size_t *to = NULL;
    hd_box *box = hd_mem_array(b->boxes + 1, sizeof *box);
    hd_status s = box ? places(&b->set->first_box, &to, b->box_owner, b->boxes, b->set->count, err)
                      : hd_err_nomem(err, b->boxes * sizeof *box);
    for (size_t i = 0; !s && i < b->boxes; i++) box[to[i]] = b->set->box[i];
    hd_mem_free(to);
    if (!s) {
        hd_mem_free(b->set->box);
        b->set->box = box;
    } else
        hd_mem_free(box);
    return s;
}

static hd_status order_captions(hd_set_builder *b, hd_err *err)
{
    size_t *to = NULL;
    hd_line *caption = b->set->caption = hd_mem_array(b->captions + 1, sizeof *caption);
    hd_status s = caption
                      ? places(&b->set->first_caption, &to, b->caption_owner, b->captions, b->set->count, err)
                      : hd_err_nomem(err, b->captions * sizeof *caption);
    for (size_t i = 0, begin = 0; !s && i < b->captions; begin = b->caption_end[i++])
        caption[to[i]] = (hd_line){b->set->text + begin, b->caption_end[i] - begin - 1};
    hd_mem_free(to);
    return s;
}

static hd_status sort_labels(hd_set_builder *b, hd_err *err)
{
    size_t n = b->labels->count;
    int32_t *place = hd_mem_array(n + 1, sizeof *place);
    hd_status s = place ? hd_vocab_sort(b->labels, place, err) : hd_err_nomem(err, n * sizeof *place);
    for (size_t i = 0; !s && i < b->set->count; i++)
        if (b->set->label[i] >= 0) b->set->label[i] = place[b->set->label[i]];
    for (size_t i = 0; !s && i < b->boxes; i++) b->set->box[i].label = place[b->set->box[i].label];
    hd_mem_free(place);
    return s;
}

static hd_status finish(hd_set_builder *b, hd_err *err)
{
    hd_image_set *set = b->set;
    hd_status s = HD_OK;
    if (!set->count && b->why.status)
        return hd_err_set(err, HD_EFORMAT, "%.150s: none of its %zu pictures can be read: %.250s", b->path,
                          set->skipped, b->why.text);
    if (!set->count) return hd_err_set(err, HD_EFORMAT, "%s: there is no picture in it", b->path);
    if (b->labels && !b->fixed) s = sort_labels(b, err);
    if (!s && b->boxed) s = order_boxes(b, err);
    if (!s && b->captions) s = order_captions(b, err);
    if (!s && !b->marked) {
        hd_mem_free(set->label);
        set->label = NULL;
    }
    if (!s) hd_set_hash(set);
    return s;
}

hd_status hd_set_end(hd_set_builder *b, hd_status s, hd_err *err)
{
    if (!s) s = finish(b, err);
    hd_lines_close(b->lines);
    hd_vocab_release(&b->left_out);
    hd_mem_free(b->box_owner);
    hd_mem_free(b->caption_owner);
    hd_mem_free(b->caption_end);
    if (s) hd_image_set_release(b->set);
    if (s && b->labels && !b->fixed) hd_vocab_release(b->labels);
    return s;
}
