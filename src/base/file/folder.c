/* Folders. */
#include "base/file/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/lock.h"
#include "base/mem.h"

static hd_status folder_error(hd_err *err, const char *path, const char *what)
{
    return hd_err_set(err, HD_EFILE, "%s: %s: %s", path, what, strerror(errno));
}

hd_status hd_path(char to[HD_PATH], const char *folder, const char *name, hd_err *err)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    int n = snprintf(to, HD_PATH, "%.*s/%s", (int)length, folder, name);
    return n < 0 || n >= HD_PATH ? hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", folder)
                                 : HD_OK;
}

void hd_parent(char to[HD_PATH], const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length && path[length - 1] != '/') length--;
    while (length > 1 && path[length - 1] == '/') length--;
    snprintf(to, HD_PATH, "%.*s", length ? (int)length : 1, length ? path : ".");
}

hd_status hd_folder_make(const char *path, bool *made, hd_err *err)
{
    struct stat info;
    char parent[HD_PATH];
    if (made) *made = false;
    if (!mkdir(path, 0777)) {
        if (made) *made = true;
        hd_parent(parent, path);
        return hd_folder_sync(parent, err);
    }
    if (errno != EEXIST) return folder_error(err, path, "cannot make the folder");
    if (stat(path, &info)) return folder_error(err, path, "cannot look at it");
    return S_ISDIR(info.st_mode) ? HD_OK : hd_err_set(err, HD_EFILE, "%s: is a file, not a folder", path);
}

hd_status hd_folder_each(const char *path, hd_folder_fn *fn, void *context, hd_err *err)
{
    hd_status s = HD_OK;
    DIR *d = opendir(path);
    if (!d) return folder_error(err, path, "cannot open the folder");
    for (struct dirent *e; !s && (errno = 0, e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) s = fn(context, e->d_name, err);
    if (!s && errno) s = folder_error(err, path, "cannot read the folder");
    closedir(d);
    return s;
}

static hd_status add_name(void *context, const char *name, hd_err *err)
{
    hd_folder_list *n = context;
    if (name[0] == '.') return HD_OK;
    hd_status s = hd_mem_reserve(&n->at, &n->room, n->count + 1, sizeof *n->at, err);
    if (s) return s;
    n->at[n->count] = hd_mem_text(name);
    return n->at[n->count] ? (n->count++, HD_OK) : hd_err_nomem(err, strlen(name));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

hd_status hd_folder_names(hd_folder_list *out, const char *path, hd_err *err)
{
    *out = (hd_folder_list){0};
    hd_status s = hd_folder_each(path, add_name, out, err);
    if (s)
        hd_folder_list_release(out);
    else if (out->count)
        qsort(out->at, out->count, sizeof *out->at, by_text);
    return s;
}

void hd_folder_list_release(hd_folder_list *n)
{
    for (size_t i = 0; i < n->count; i++) hd_mem_free(n->at[i]);
    hd_mem_free(n->at);
    *n = (hd_folder_list){0};
}

bool hd_is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* "weights.safetensors.tmp.123.0", as base/file/file.c names them, and nothing like "notes.tmp.txt" */
bool hd_is_temporary(const char *name)
{
    const char *mark = strstr(name, ".tmp.");
    for (const char *next; mark && (next = strstr(mark + 1, ".tmp."));) mark = next;
    if (!mark || mark == name) return false;
    const char *at = mark + 5;
    size_t process = strspn(at, "0123456789"), number = 0;
    if (process && at[process] == '.') number = strspn(at + process + 1, "0123456789");
    return number && !at[process + 1 + number];
}

static hd_status note_entry(void *context, const char *name, hd_err *err)
{
    (void)err;
    if (strcmp(name, HD_LOCK_FILE) && !hd_is_temporary(name)) *(bool *)context = false;
    return HD_OK;
}

hd_status hd_folder_empty(const char *path, bool *empty, hd_err *err)
{
    struct stat info;
    *empty = true;
    if (stat(path, &info)) return errno == ENOENT ? HD_OK : folder_error(err, path, "cannot look at it");
    if (!S_ISDIR(info.st_mode)) return hd_err_set(err, HD_EFILE, "%s: is a file, not a folder", path);
    return hd_folder_each(path, note_entry, empty, err);
}

static hd_status remove_entry(void *context, const char *name, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_path(path, context, name, err);
    return s ? s : hd_folder_remove(path, err);
}

/* Checks the entry itself: a link may lead to someone else's folder. */
hd_status hd_folder_remove(const char *path, hd_err *err)
{
    struct stat info;
    if (lstat(path, &info)) return errno == ENOENT ? HD_OK : folder_error(err, path, "cannot look at it");
    if (!S_ISDIR(info.st_mode))
        return unlink(path) && errno != ENOENT ? folder_error(err, path, "cannot remove") : HD_OK;
    hd_status s = hd_folder_each(path, remove_entry, (void *)path, err);
    if (!s && rmdir(path)) s = folder_error(err, path, "cannot remove the folder");
    return s;
}

hd_status hd_folder_sync(const char *path, hd_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return folder_error(err, path, "cannot open the folder");
    /* EINVAL: the file system does not support it */
    hd_status s = fsync(fd) && errno != EINVAL ? folder_error(err, path, "cannot sync the folder") : HD_OK;
    close(fd);
    return s;
}

static hd_status sweep_entry(void *context, const char *name, hd_err *err)
{
    return hd_is_temporary(name) ? remove_entry(context, name, err) : HD_OK;
}

hd_status hd_folder_sweep(const char *path, hd_err *err)
{
    return hd_folder_each(path, sweep_entry, (void *)path, err);
}
