/* Lists of files. */
#include "data/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/checksum.h"
#include "base/file/folder.h"
#include "base/mem.h"

enum { CHUNK = 1 << 20, UNPACKED = 4 }; /* text that is compressed has about a quarter of its size */

void hd_files_release(hd_files *f)
{
    for (size_t i = 0; i < f->count; i++) hd_mem_free(f->at[i]);
    hd_mem_free(f->at);
    *f = (hd_files){0};
}

static hd_status append(hd_files *f, const char *path, hd_err *err)
{
    hd_status s = hd_mem_reserve(&f->at, &f->room, f->count + 1, sizeof *f->at, err);
    if (s) return s;
    f->at[f->count] = hd_mem_text(path);
    return f->at[f->count++] ? HD_OK : (f->count--, hd_err_nomem(err, strlen(path)));
}

typedef struct folder {
    const char *path;
    hd_files *into;
} folder;

static hd_status add_name(void *context, const char *name, hd_err *err)
{
    const folder *d = context;
    char path[HD_PATH];
    struct stat info;
    if (name[0] == '.') return HD_OK;
    hd_status s = hd_path(path, d->path, name, err);
    return s || stat(path, &info) || S_ISDIR(info.st_mode) ? s : append(d->into, path, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

hd_status hd_files_add(hd_files *f, const char *path, hd_err *err)
{
    struct stat info;
    size_t before = f->count;
    if (!strcmp(path, "-") || stat(path, &info) || !S_ISDIR(info.st_mode)) return append(f, path, err);
    hd_status s = hd_folder_each(path, add_name, &(folder){path, f}, err);
    if (!s && f->count == before)
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no file in this folder", path);
    if (!s) qsort(f->at + before, f->count - before, sizeof *f->at, by_text);
    return s;
}

static bool is_packed(const char *path)
{
    static const char *const ending[] = {".gz", ".xz", ".zst"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        size_t n = strlen(ending[i]);
        if (size > n && !strcmp(path + size - n, ending[i])) return true;
    }
    return false;
}

uint64_t hd_files_bytes(const hd_files *f)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct stat info;
        if (stat(f->at[i], &info) || !S_ISREG(info.st_mode)) continue;
        bytes += (uint64_t)info.st_size * (is_packed(f->at[i]) ? UNPACKED : 1);
    }
    return bytes;
}

static hd_status hash_file(uint64_t *h, const char *path, char *buffer, hd_err *err)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return hd_err_set(err, HD_EFILE, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(file, &info) || !S_ISREG(info.st_mode)) {
        close(file);
        return hd_err_set(err, HD_EFILE, "%s: only regular files can be written to shards: unpack it first",
                          path);
    }
    uint32_t sum = 0;
    uint64_t size = 0;
    ssize_t got;
    while ((got = read(file, buffer, CHUNK)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0) continue;
        sum = hd_checksum(sum, buffer, (size_t)got);
        size += (uint64_t)got;
    }
    close(file);
    if (got < 0) return hd_err_set(err, HD_EFILE, "%s: cannot read: %s", path, strerror(errno));
    *h = (*h ^ size) * 0xbf58476d1ce4e5b9u;
    *h = (*h ^ *h >> 29 ^ sum) * 0x94d049bb133111ebu;
    *h ^= *h >> 31;
    return HD_OK;
}

hd_status hd_files_hash(uint64_t *out, const hd_files *f, hd_err *err)
{
    char *buffer = hd_mem_new(CHUNK);
    hd_status s = buffer ? HD_OK : hd_err_nomem(err, CHUNK);
    *out = f->count;
    for (size_t i = 0; !s && i < f->count; i++)
        s = strcmp(f->at[i], "-")
                ? hash_file(out, f->at[i], buffer, err)
                : hd_err_set(err, HD_EARG, "standard input cannot be written to shards: save it in a file");
    hd_mem_free(buffer);
    return s;
}
