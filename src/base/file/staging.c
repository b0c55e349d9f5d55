/* Folders that are renamed into place. Easy to get wrong: anything that can prevent the rename must be
   noticed before the work, not after it. */
#include "base/file/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct leftovers {
    const char *parent, *name; /* of the target */
} leftovers;

static hd_status remove_leftover(void *context, const char *name, hd_err *err)
{
    const leftovers *l = context;
    size_t length = strlen(l->name);
    char path[HD_PATH];
    if (strncmp(name, l->name, length) || strncmp(name + length, ".tmp.", 5) || !hd_is_temporary(name))
        return HD_OK;
    hd_status s = hd_path(path, l->parent, name, err);
    return s ? s : hd_folder_remove(path, err);
}

/* The holder of the lock is alone: other temporary folders beside the target are leftovers. */
static hd_status sweep(const char *place, hd_err *err)
{
    char parent[HD_PATH];
    const char *slash = strrchr(place, '/');
    hd_parent(parent, place);
    hd_status s = hd_folder_sweep(place, err);
    return s ? s
             : hd_folder_each(parent, remove_leftover, &(leftovers){parent, slash ? slash + 1 : place}, err);
}

/* A link is followed, otherwise the rename would replace the link instead of the folder. */
static hd_status find_place(hd_staging *s, const char *path, hd_err *err)
{
    char real[PATH_MAX];
    size_t length = strlen(path);
    bool there = realpath(path, real);
    const char *from = there ? real : path;
    if (there) length = strlen(real);
    while (length > 1 && from[length - 1] == '/') length--;
    if (length + 32 >= HD_PATH) /* ".tmp." and two numbers */
        return hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", path);
    memcpy(s->place, from, length);
    s->place[length] = 0;
    return HD_OK;
}

static hd_status check_place(const hd_staging *s, hd_err *err)
{
    struct stat here, above;
    char parent[HD_PATH];
    bool empty = false;
    hd_status status = hd_folder_empty(s->place, &empty, err);
    if (status) return status;
    if (!empty)
        return hd_err_set(err, HD_EFILE, "%s: exists already and is not empty: name another folder", s->path);
    hd_parent(parent, s->place);
    if (!stat(s->place, &here) && !stat(parent, &above) && here.st_dev != above.st_dev)
        return hd_err_set(err, HD_EFILE,
                          "%s: is a mount point and cannot be replaced: name a folder below it", s->path);
    return HD_OK;
}

hd_status hd_staging_begin(hd_staging *s, const char *path, hd_err *err)
{
    *s = (hd_staging){.path = path};
    hd_status status = find_place(s, path, err);
    if (!status) status = hd_lock_take(&s->lock, s->place, err);
    if (!status) status = check_place(s, err);
    if (!status) status = sweep(s->place, err);
    snprintf(s->temp, sizeof s->temp, "%.4000s.tmp.%ld.0", s->place, (long)getpid());
    if (!status) status = hd_folder_make(s->temp, NULL, err);
    if (status) hd_lock_release(&s->lock);
    return status;
}

typedef struct owned {
    const char *path, *program;
    const char *const *names;
} owned;

static hd_status only_ours(void *context, const char *name, hd_err *err)
{
    const owned *o = context;
    bool ours = !strcmp(name, HD_LOCK_FILE) || hd_is_temporary(name);
    for (size_t i = 0; o->names[i]; i++) ours |= !strcmp(name, o->names[i]);
    return ours ? HD_OK
                : hd_err_set(err, HD_EFILE, "%s/%s: is not of %s: name another folder", o->path, name,
                             o->program);
}

hd_status hd_staging_make_room(const char *path, bool overwrite, const char *program, const char *const *ours,
                               hd_err *err)
{
    bool empty = false;
    hd_status s = hd_folder_empty(path, &empty, err);
    if (s || empty) return s;
    if (!overwrite)
        return hd_err_set(err, HD_EFILE, "%s: exists already and is not empty (--overwrite replaces it)",
                          path);
    s = hd_folder_each(path, only_ours, &(owned){path, program, ours}, err);
    return s ? s : hd_folder_remove(path, err);
}

static hd_status write_all(int file, const char *data, size_t bytes, const char *path, hd_err *err)
{
    while (bytes) {
        ssize_t n = write(file, data, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC; /* a write of 0 bytes without an error */
        if (n <= 0) return hd_err_set(err, HD_EFILE, "%s: cannot write: %s", path, strerror(errno));
        data += n, bytes -= (size_t)n;
    }
    return HD_OK;
}

hd_status hd_staging_write(hd_staging *s, const char *name, const void *data, size_t bytes, hd_err *err)
{
    char path[HD_PATH];
    hd_status status = hd_path(path, s->temp, name, err);
    if (status) return status;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return hd_err_set(err, HD_EFILE, "%s: cannot create: %s", path, strerror(errno));
    s->unsynced = true;
    status = write_all(file, data, bytes, path, err);
    if (close(file) && !status)
        status = hd_err_set(err, HD_EFILE, "%s: cannot close: %s", path, strerror(errno));
    return status;
}

/* All that the file system has not written yet. */
static hd_status sync_files(const hd_staging *s, hd_err *err)
{
    if (!s->unsynced) return HD_OK;
    int folder = open(s->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = folder >= 0 && !syncfs(folder);
    hd_status status =
        synced ? HD_OK : hd_err_set(err, HD_EFILE, "%s: cannot sync: %s", s->path, strerror(errno));
    if (folder >= 0) close(folder);
    return status;
}

/* The lock is released first: with its file in the target, that could not be replaced. If another process
   takes the lock in that moment, this one fails. */
static hd_status put_in_place(hd_staging *s, hd_err *err)
{
    char parent[HD_PATH];
    hd_status status = sync_files(s, err);
    if (!status) status = hd_folder_sync(s->temp, err);
    hd_lock_release(&s->lock);
    if (status) return status;
    if (rename(s->temp, s->place))
        return hd_err_set(err, HD_EFILE, "%s: cannot put the folder there: %s", s->path, strerror(errno));
    hd_parent(parent, s->place);
    return hd_folder_sync(parent, err);
}

/* A failure names the file in its final place: users do not know the temporary folder. */
static void name_place(const hd_staging *s, hd_err *err)
{
    char *at = err ? strstr(err->text, s->temp) : NULL;
    size_t length = strlen(s->path), before = strlen(s->temp);
    while (length > 1 && s->path[length - 1] == '/') length--;
    if (!at || length > before) return;
    memcpy(at, s->path, length);
    memmove(at + length, at + before, strlen(at + before) + 1);
}

hd_status hd_staging_end(hd_staging *s, hd_status status, hd_err *err)
{
    if (status) name_place(s, err);
    if (!status) status = put_in_place(s, err);
    if (status) hd_folder_remove(s->temp, NULL);
    hd_lock_release(&s->lock);
    return status;
}
