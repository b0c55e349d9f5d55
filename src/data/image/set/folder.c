/* Pictures in a folder with a subfolder a class. */
#include <string.h>

#include "base/file/folder.h"
#include "data/image/set/build.h"

enum { DEPTH_MOST = 32 }; /* of folders in each other: a link may lead back up */

/* All pictures below root/inside, whose label this is. */
static hd_status add_below(hd_set_builder *b, const char *inside, int32_t label, int depth, hd_err *err)
{
    char path[HD_PATH], name[HD_PATH];
    hd_folder_list n = {0};
    hd_status s = hd_path(path, b->set->root, inside, err);
    if (!s && depth > DEPTH_MOST)
        s = hd_err_set(err, HD_ELIMIT, "%s: more than %d folders in each other: does a link lead back?", path,
                       DEPTH_MOST);
    if (!s) s = hd_folder_names(&n, path, err);
    for (size_t i = 0; !s && i < n.count; i++) {
        int32_t picture = -1;
        s = hd_path(name, inside, n.at[i], err);
        if (!s) s = hd_path(path, b->set->root, name, err);
        if (!s && hd_is_folder(path)) {
            s = add_below(b, name, label, depth + 1, err);
            continue;
        }
        if (!s) s = hd_set_picture(b, (hd_line){name, strlen(name)}, &picture, err);
        if (!s && picture >= 0) hd_set_mark(b, picture, label);
    }
    hd_folder_list_release(&n);
    return s;
}

static hd_status add_class(hd_set_builder *b, const char *name, hd_err *err)
{
    size_t before = b->set->count, skipped = b->set->skipped;
    int32_t label = -1;
    if (hd_utf8_good(name, strlen(name)) < strlen(name))
        return hd_err_set(err, HD_EFORMAT, "%s/%s: its name is not UTF-8, and so no label: rename it",
                          b->path, name);
    hd_status s = hd_set_label(b, (hd_line){name, strlen(name)}, &label, err);
    if (!s) s = add_below(b, name, label, 0, err);
    if (!s && b->set->count == before && b->set->skipped == skipped)
        s = hd_err_set(err, HD_EFORMAT, "%s/%s: there is no picture in it: a class needs one, or remove it",
                       b->path, name);
    return s;
}

hd_status hd_image_set_folder(hd_image_set *out, hd_vocab *labels, const char *folder, bool skip, hd_err *err)
{
    hd_set_builder b = {.labels = labels, .skip = skip, .path = folder};
    hd_folder_list n = {0};
    char path[HD_PATH];
    size_t classes = 0;
    hd_status s = hd_set_begin(&b, out, folder, err);
    if (!s) s = hd_folder_names(&n, folder, err);
    for (size_t i = 0; !s && i < n.count; i++) {
        s = hd_path(path, folder, n.at[i], err);
        if (s || !hd_is_folder(path)) continue;
        classes++;
        s = add_class(&b, n.at[i], err);
    }
    if (!s && !classes)
        s = hd_err_set(
            err, HD_EFORMAT,
            "%s: there is no subfolder in it: pictures of a class belong in a subfolder named like it",
            folder);
    hd_folder_list_release(&n);
    return hd_set_end(&b, s, err);
}
