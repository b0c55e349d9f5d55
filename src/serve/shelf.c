/* Pages kept in memory. */
#include "serve/shelf.h"

#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"

enum { MOST = 64 << 20 }; /* bytes of all files together */

static bool is_page(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && (!strcmp(end, ".html") || !strcmp(end, ".json") || !strcmp(end, ".svg"));
}

static hd_status add(hd_shelf *s, const char *folder, const char *name, size_t *left, hd_err *err)
{
    char path[HD_PATH];
    hd_status st = hd_mem_reserve(&s->file, &s->room, s->count + 1, sizeof *s->file, err);
    if (!st) st = hd_path(path, folder, name, err);
    if (st) return st;
    hd_shelved *f = &s->file[s->count];
    *f = (hd_shelved){.name = hd_mem_text(name)};
    if (!f->name) return hd_err_nomem(err, strlen(name));
    s->count++;
    st = hd_file_read(&f->bytes, &f->size, path, *left, err);
    if (!st) *left -= f->size;
    return st;
}

hd_status hd_shelf_open(hd_shelf *s, const char *folder, hd_err *err)
{
    hd_folder_list names = {0};
    size_t left = MOST;
    hd_status st = hd_folder_names(&names, folder, err);
    for (size_t i = 0; !st && i < names.count; i++)
        if (is_page(names.at[i])) st = add(s, folder, names.at[i], &left, err);
    hd_folder_list_release(&names);
    if (!st && !hd_shelf_find(s, "index.html"))
        st = hd_err_set(err, HD_EFILE,
                        "%s: there is no index.html in it (`heed lab --all --out %s` writes it)", folder,
                        folder);
    return st;
}

void hd_shelf_release(hd_shelf *s)
{
    for (size_t i = 0; i < s->count; i++) hd_mem_free(s->file[i].name), hd_mem_free(s->file[i].bytes);
    hd_mem_free(s->file);
    *s = (hd_shelf){0};
}

const hd_shelved *hd_shelf_find(const hd_shelf *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].name, name)) return &s->file[i];
    return NULL;
}
