/* Pictures in a folder with a subfolder a class. Easy to get wrong: a folder is listed in no order, and the
   order of the pictures must not depend on the machine. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "data/image/set/build.h"

enum { DEPTH_MOST = 32 }; /* of folders in each other: a link may lead back up */

typedef struct names {
    char **at;
    size_t count, room;
} names;

static hd_status add_name(void *context, const char *name, hd_err *err)
{
    names *n = context;
    if (name[0] == '.') return HD_OK;
    hd_status s = hd_mem_reserve(&n->at, &n->room, n->count + 1, sizeof *n->at, err);
    if (s) return s;
    n->at[n->count] = hd_mem_text(name);
    return n->at[n->count++] ? HD_OK : hd_err_nomem(err, strlen(name));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void release(names *n)
{
    for (size_t i = 0; i < n->count; i++) hd_mem_free(n->at[i]);
    hd_mem_free(n->at);
}

static hd_status list(names *n, const char *folder, hd_err *err)
{
    *n = (names){0};
    hd_status s = hd_folder_each(folder, add_name, n, err);
    if (!s && n->count) qsort(n->at, n->count, sizeof *n->at, by_text);
    return s;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* All pictures below root/inside, whose label this is. */
static hd_status add_below(hd_set_builder *b, const char *inside, int32_t label, int depth, hd_err *err)
{
    char path[HD_PATH], name[HD_PATH];
    names n = {0};
    hd_status s = hd_path(path, b->set->root, inside, err);
    if (!s && depth > DEPTH_MOST)
        s = hd_err_set(err, HD_ELIMIT, "%s: more than %d folders in each other: does a link lead back?", path,
                       DEPTH_MOST);
    if (!s) s = list(&n, path, err);
    for (size_t i = 0; !s && i < n.count; i++) {
        int32_t picture = -1;
        s = hd_path(name, inside, n.at[i], err);
        if (!s) s = hd_path(path, b->set->root, name, err);
        if (!s && is_folder(path)) {
            s = add_below(b, name, label, depth + 1, err);
            continue;
        }
        if (!s) s = hd_set_picture(b, (hd_line){name, strlen(name)}, &picture, err);
        if (!s && picture >= 0) hd_set_mark(b, picture, label);
    }
    release(&n);
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
    names n = {0};
    char path[HD_PATH];
    size_t classes = 0;
    hd_status s = hd_set_begin(&b, out, folder, err);
    if (!s) s = list(&n, folder, err);
    for (size_t i = 0; !s && i < n.count; i++) {
        s = hd_path(path, folder, n.at[i], err);
        if (s || !is_folder(path)) continue;
        classes++;
        s = add_class(&b, n.at[i], err);
    }
    if (!s && !classes)
        s = hd_err_set(
            err, HD_EFORMAT,
            "%s: there is no subfolder in it: pictures of a class belong in a subfolder named like it",
            folder);
    release(&n);
    return hd_set_end(&b, s, err);
}
