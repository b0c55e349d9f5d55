/* Sounds in a folder, each with its text beside it. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "data/sound/set/build.h"

enum { DEPTH_MOST = 32 }; /* of folders in each other: a link may lead back up */

#define TEXT_END ".txt"

static bool is_text(const char *name)
{
    const size_t size = strlen(name), end = strlen(TEXT_END);
    return size > end && !strcasecmp(name + size - end, TEXT_END);
}

/* All lines of a file as one. */
static hd_status read_text(hd_text *to, const char *path, hd_err *err)
{
    hd_lines *l = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&l, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(l, &line, err)) && line.text) {
        line = hd_set_trimmed(line);
        if (line.size && to->size) hd_text_put(to, " ");
        hd_text_add(to, line.text, line.size);
    }
    hd_lines_close(l);
    return s ? s : hd_text_status(to, err);
}

static hd_status add_sound(hd_sound_builder *b, const char *name, hd_err *err)
{
    char beside[HD_PATH], path[HD_PATH];
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    const size_t stem = dot ? (size_t)(dot - name) : strlen(name);
    hd_text text = {0};
    hd_err why = {0};
    if (stem + sizeof TEXT_END > sizeof beside) return hd_err_set(err, HD_ELIMIT, "%s: too long", name);
    memcpy(beside, name, stem);
    memcpy(beside + stem, TEXT_END, sizeof TEXT_END);
    hd_status s = hd_path(path, b->set->root, beside, err);
    if (s) return s;
    if (access(path, F_OK))
        hd_err_set(&why, HD_EFILE, "%.120s/%.120s: there is no text for it: %.100s is missing", b->set->root,
                   name, strrchr(path, '/') + 1);
    else
        read_text(&text, path, &why);
    const hd_line line = {name, strlen(name)};
    if (why.status)
        s = hd_sound_set_leave_out(b, line, &why, err);
    else
        s = hd_sound_set_add(b, line, (hd_line){text.data ? text.data : "", text.size}, err);
    hd_text_release(&text);
    return s;
}

/* All sounds below root/inside. */
static hd_status add_below(hd_sound_builder *b, const char *inside, int depth, hd_err *err)
{
    char path[HD_PATH], name[HD_PATH];
    hd_folder_list n = {0};
    hd_status s = inside[0] ? hd_path(path, b->set->root, inside, err) : HD_OK;
    const char *folder = inside[0] ? path : b->set->root;
    if (!s && depth > DEPTH_MOST)
        s = hd_err_set(err, HD_ELIMIT, "%s: more than %d folders in each other: does a link lead back?",
                       folder, DEPTH_MOST);
    if (!s) s = hd_folder_names(&n, folder, err);
    for (size_t i = 0; !s && i < n.count; i++) {
        char full[HD_PATH];
        if (inside[0])
            s = hd_path(name, inside, n.at[i], err);
        else
            memcpy(name, n.at[i], strlen(n.at[i]) + 1); /* a name of a folder is shorter than a path */
        if (!s) s = hd_path(full, b->set->root, name, err);
        if (s) break;
        if (hd_is_folder(full))
            s = add_below(b, name, depth + 1, err);
        else if (!is_text(name))
            s = add_sound(b, name, err);
    }
    hd_folder_list_release(&n);
    return s;
}

hd_status hd_sound_set_folder(hd_sound_set *out, const char *folder, bool skip, hd_err *err)
{
    hd_sound_builder b = {.skip = skip, .path = folder};
    hd_status s = hd_sound_set_begin(&b, out, folder, err);
    if (!s) s = add_below(&b, "", 0, err);
    return hd_sound_set_end(&b, s, err);
}
