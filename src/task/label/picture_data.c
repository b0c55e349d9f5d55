/* Labeled pictures: which forms they come in. */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "task/label/training.h"

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

hd_status hd_labeler_read_pictures(hd_image_set *out, hd_vocab *labels, const char *const *path, int count,
                                   const char *images, bool skip, hd_err *err)
{
    hd_status s;
    if (count == 2 && hd_is_idx(path[0]))
        s = hd_image_set_idx(out, labels, path[0], path[1], err);
    else if (count != 1)
        return hd_err_set(err, HD_EARG,
                          "%s and %s: pictures with labels are a folder with a subfolder a class, a list, or "
                          "an IDX file of pictures and one of labels",
                          path[0], path[1]);
    else if (is_folder(path[0]))
        s = hd_image_set_folder(out, labels, path[0], skip, err);
    else if (hd_is_idx(path[0]))
        return hd_err_set(err, HD_EARG, "%s has no labels: give the IDX file of labels behind it", path[0]);
    else
        s = hd_image_set_list(out, labels, path[0], images, skip, err);
    if (s || out->label) return s;
    hd_image_set_release(out);
    return hd_err_set(err, HD_EFORMAT,
                      "%s: there is no label in it: each line is a file, a tab and its label", path[0]);
}

/* Whether a list of pictures begins with this line. */
static bool names_picture(hd_line line)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg"};
    size_t size = 0;
    while (size < line.size && line.text[size] != '\t') size++;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (size > n && !strncasecmp(line.text + size - n, ends[i], n)) return true;
    }
    return false;
}

static bool lists_pictures(const char *path)
{
    hd_lines *lines = NULL;
    hd_line line = {0};
    if (!strcmp(path, "-")) return false; /* it can be read only once */
    bool opened = !hd_lines_open(&lines, path, NULL, NULL);
    while (opened && !hd_lines_next(lines, &line, NULL) && line.text && !line.size) continue;
    bool found = opened && line.text && names_picture(line);
    hd_lines_close(lines);
    return found;
}

typedef struct looking {
    const char *folder;
    bool found;
} looking;

static hd_status look(void *context, const char *name, hd_err *err)
{
    looking *l = context;
    char path[HD_PATH];
    (void)err;
    if (name[0] != '.' && !hd_path(path, l->folder, name, NULL) && is_folder(path)) l->found = true;
    return HD_OK;
}

/* Whether something in the folder is a folder. */
static bool has_folders(const char *path)
{
    looking l = {.folder = path};
    return !hd_folder_each(path, look, &l, NULL) && l.found;
}

bool hd_label_finds_pictures(const hd_train_options *o)
{
    if (o->task != HD_TRAIN_CLASSIFY) return false;
    if (o->train_dir.count) return has_folders(o->train_dir.text[0]);
    if (!o->train.count) return false;
    const char *path = o->train.text[0];
    return is_folder(path) ? has_folders(path) : hd_is_idx(path) || lists_pictures(path);
}
