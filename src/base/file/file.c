/* Files: read-only mapping, and saves that are whole or absent. Easy to get wrong: a save is not safe
   before the file is synced (else the rename may reach the disk first) and the folder after it (else the
   rename itself may be lost). A mapping has the size the file had when it was opened: if another program
   truncates the file while it is read, the kernel kills this one (SIGBUS). Files saved here are renamed into
   place and never truncated. */
#include "base/file/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/checksum.h"
#include "base/file/folder.h"
#include "base/mem.h"

enum { BUFFER = 1 << 16, TRIES = 1000 };

static const uint8_t nothing[1]; /* what an empty file maps to: mmap refuses a length of 0 */

static hd_status file_error(hd_err *err, const char *path, const char *what)
{
    return hd_err_set(err, HD_EFILE, "%s: %s: %s", path, what, strerror(errno));
}

/* Not blocking: to open a pipe for reading would wait for a writer before we can see that it is one. */
static hd_status open_regular(int *file, size_t *size, const char *path, hd_err *err)
{
    struct stat info;
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*file < 0) return file_error(err, path, "cannot open");
    if (fstat(*file, &info)) return file_error(err, path, "cannot ask for its size");
    if (S_ISDIR(info.st_mode)) return hd_err_set(err, HD_EFILE, "%s: is a folder, not a file", path);
    if (!S_ISREG(info.st_mode))
        return hd_err_set(err, HD_EFILE, "%s: is a device or pipe, not a regular file", path);
    if ((uintmax_t)info.st_size > SIZE_MAX)
        return hd_err_set(err, HD_ELIMIT, "%s: %jd bytes do not fit in memory", path, (intmax_t)info.st_size);
    *size = (size_t)info.st_size;
    return HD_OK;
}

static hd_status map_file(hd_map *out, int file, size_t size, const char *path, hd_err *err)
{
    hd_map map = {.data = nothing, .size = size};
    if (map.size) {
        void *data = mmap(NULL, map.size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data == MAP_FAILED) return file_error(err, path, "cannot map");
        map.data = data;
    }
    *out = map;
    return HD_OK;
}

hd_status hd_map_open(hd_map *out, const char *path, hd_err *err)
{
    int file = -1;
    size_t size = 0;
    hd_status s = open_regular(&file, &size, path, err);
    if (!s) s = map_file(out, file, size, path, err);
    if (file >= 0) close(file); /* read only: nothing can be lost here; the mapping stays */
    return s;
}

static hd_status read_all(int file, uint8_t *to, size_t *size, const char *path, hd_err *err)
{
    size_t got = 0;
    while (got < *size) {
        ssize_t n = read(file, to + got, *size - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_error(err, path, "cannot read");
        if (!n) break;
        got += (size_t)n;
    }
    *size = got;
    return HD_OK;
}

hd_status hd_file_read(uint8_t **out, size_t *size, const char *path, size_t most, hd_err *err)
{
    int file = -1;
    uint8_t *bytes = NULL;
    hd_status s = open_regular(&file, size, path, err);
    if (!s && *size > most) s = hd_err_set(err, HD_ELIMIT, "%s: too large: more than %zu bytes", path, most);
    if (!s) bytes = hd_mem_new(*size);
    if (!s) s = bytes ? read_all(file, bytes, size, path, err) : hd_err_nomem(err, *size);
    if (file >= 0) close(file);
    if (s)
        hd_mem_free(bytes);
    else
        *out = bytes;
    return s;
}

void hd_file_begins(char to[HD_FILE_BEGINS], const uint8_t *bytes, size_t size)
{
    size_t shown = 0;
    while (shown < size && shown < 16 && (isgraph(bytes[shown]) || bytes[shown] == ' ')) shown++;
    if (!size)
        snprintf(to, HD_FILE_BEGINS, "it is empty");
    else if (shown >= 4 || shown == size)
        snprintf(to, HD_FILE_BEGINS, "it begins with \"%.*s\"", (int)shown, (const char *)bytes);
    else
        snprintf(to, HD_FILE_BEGINS, "it begins with the bytes %02x %02x", (unsigned)bytes[0],
                 size > 1 ? (unsigned)bytes[1] : 0u);
}

void hd_map_forget(const hd_map *m, const void *from, size_t bytes)
{
    long page = sysconf(_SC_PAGESIZE);
    if (!m->size || !bytes || page < 1) return;
    /* the pages at both ends are read again if neighboring data needs them */
    uintptr_t begin = (uintptr_t)from / (uintptr_t)page * (uintptr_t)page;
    madvise((void *)begin, (uintptr_t)from + bytes - begin, MADV_DONTNEED);
}

void hd_map_close(hd_map *m)
{
    if (m->size) munmap((void *)(uintptr_t)m->data, m->size);
    *m = (hd_map){0};
}

struct hd_save {
    char *path, *temp;
    int file, folder; /* -1: not open */
    bool created;     /* temp exists and is ours to remove */
    bool failed;      /* a write was lost: commit must refuse */
    uint32_t sum;     /* of all bytes */
    size_t used;
    uint8_t buffer[BUFFER];
};

static void save_free(hd_save *s)
{
    if (!s) return;
    if (s->file >= 0) close(s->file);
    if (s->folder >= 0) close(s->folder);
    if (s->created) unlink(s->temp);
    hd_mem_free(s->path);
    hd_mem_free(s->temp);
    hd_mem_free(s);
}

/* Opened before anything is written: a folder that cannot be synced must be noticed before the rename. */
static hd_status open_folder(hd_save *s, hd_err *err)
{
    char *slash = strrchr(s->temp, '/'); /* temp still holds a copy of path */
    const char *folder = slash ? s->temp : ".";
    if (slash) slash[slash == s->temp] = '\0'; /* the folder of "/x" is "/" */
    s->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->folder < 0 ? file_error(err, s->path, "cannot open its folder") : HD_OK;
}

/* Removes temporary files of the same target that killed processes left: those that nobody has locked. */
static void sweep(const hd_save *s)
{
    const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
    size_t length = strlen(name);
    int again = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    if (!d && again >= 0) close(again);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, name, length) || strncmp(e->d_name + length, ".tmp.", 5) ||
            !hd_is_temporary(e->d_name))
            continue;
        int file = openat(s->folder, e->d_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file >= 0 && !flock(file, LOCK_EX | LOCK_NB)) unlinkat(s->folder, e->d_name, 0);
        if (file >= 0) close(file);
    }
    if (d) closedir(d);
}

/* Locked until it is renamed: a cleanup takes an unlocked file for a dead process's, and may have removed
   this one before it was locked. */
static bool is_ours(int file)
{
    struct stat info;
    bool taken = flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    return !taken && !fstat(file, &info) && info.st_nlink;
}

static hd_status create_temp(hd_save *s, size_t room, hd_err *err)
{
    for (int n = 0; n < TRIES && s->file < 0; n++) {
        snprintf(s->temp, room, "%s.tmp.%ld.%d", s->path, (long)getpid(), n);
        s->file = open(s->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (s->file < 0 && errno != EEXIST) break;
        if (s->file >= 0 && !is_ours(s->file)) {
            close(s->file);
            s->file = -1;
        }
    }
    if (s->file < 0) return file_error(err, s->path, "cannot create a temporary file beside it");
    s->created = true;
    return HD_OK;
}

hd_status hd_save_open(hd_save **out, const char *path, hd_err *err)
{
    size_t room = strlen(path) + 48; /* two numbers and ".tmp.." */
    hd_save *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    s->file = s->folder = -1;
    s->path = hd_mem_text(path);
    s->temp = s->path ? hd_mem_new(room) : NULL;
    hd_status status = s->temp ? HD_OK : hd_err_nomem(err, room);
    if (!status) {
        memcpy(s->temp, path, strlen(path) + 1);
        status = open_folder(s, err);
    }
    if (!status) sweep(s);
    if (!status) status = create_temp(s, room, err);
    if (status)
        save_free(s);
    else
        *out = s;
    return status;
}

static hd_status write_all(hd_save *s, const uint8_t *data, size_t bytes, hd_err *err)
{
    while (bytes) {
        ssize_t n = write(s->file, data, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC; /* a write of 0 bytes without an error */
        if (n <= 0) {
            s->failed = true;
            return file_error(err, s->path, "cannot write");
        }
        data += n;
        bytes -= (size_t)n;
    }
    return HD_OK;
}

static hd_status flush(hd_save *s, hd_err *err)
{
    size_t used = s->used;
    s->used = 0;
    return write_all(s, s->buffer, used, err);
}

hd_status hd_save_write(hd_save *s, const void *data, size_t bytes, hd_err *err)
{
    if (!bytes) return HD_OK;
    s->sum = hd_checksum(s->sum, data, bytes);
    if (bytes > BUFFER - s->used) {
        hd_status status = flush(s, err);
        if (status) return status;
        if (bytes >= BUFFER) return write_all(s, data, bytes, err);
    }
    memcpy(s->buffer + s->used, data, bytes);
    s->used += bytes;
    return HD_OK;
}

uint32_t hd_save_checksum(const hd_save *s)
{
    return s->sum;
}

hd_status hd_save_patch(hd_save *s, size_t at, const void *data, size_t bytes, hd_err *err)
{
    hd_status status = flush(s, err);
    if (status || pwrite(s->file, data, bytes, (off_t)at) == (ssize_t)bytes) return status;
    s->failed = true;
    return file_error(err, s->path, "cannot write");
}

static hd_status publish(hd_save *s, hd_err *err)
{
    if (s->failed) return hd_err_set(err, HD_EFILE, "%s: not saved: an earlier write failed", s->path);
    hd_status status = flush(s, err);
    if (status) return status;
    if (fsync(s->file)) return file_error(err, s->path, "cannot sync");
    int file = s->file;
    s->file = fcntl(file, F_DUPFD_CLOEXEC, 0); /* keeps the lock until the rename; a close may fail */
    if (close(file)) return file_error(err, s->path, "cannot close");
    if (rename(s->temp, s->path)) return file_error(err, s->path, "cannot rename the finished file");
    s->created = false;
    /* EINVAL: the file system does not support it */
    if (fsync(s->folder) && errno != EINVAL)
        return file_error(err, s->path, "saved, but cannot sync its folder");
    return HD_OK;
}

hd_status hd_save_commit(hd_save *s, hd_err *err)
{
    hd_status status = publish(s, err);
    save_free(s);
    return status;
}

void hd_save_abandon(hd_save *s)
{
    save_free(s);
}

hd_status hd_save_bytes(const char *path, const void *data, size_t bytes, hd_err *err)
{
    hd_save *s = NULL;
    hd_status status = hd_save_open(&s, path, err);
    if (!status) status = hd_save_write(s, data, bytes, err);
    if (!status) return hd_save_commit(s, err);
    hd_save_abandon(s);
    return status;
}

hd_status hd_file_carry(const char *from, const char *to, const char *name, size_t most, bool replace,
                        hd_err *err)
{
    char source[HD_PATH], target[HD_PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    hd_status s = hd_path(source, from, name, err);
    if (!s) s = hd_path(target, to, name, err);
    if (s || access(source, F_OK) || (!replace && !access(target, F_OK))) return s;
    s = hd_file_read(&bytes, &size, source, most, err);
    if (!s) s = hd_save_bytes(target, bytes, size, err);
    hd_mem_free(bytes);
    return s;
}
