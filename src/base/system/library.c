/* Loads shared libraries. Easy to get wrong: the reason to report is that of a file that exists, not of
   the places that have none. */
#include "base/system/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

typedef struct search {
    void *found;
    char why[256]; /* of the first file that exists and cannot be loaded, otherwise of the first name */
    bool is_there; /* why is about such a file */
} search;

static void try_file(search *s, const char *folder, const char *file)
{
    char path[1024];
    if (s->found) return;
    int n = snprintf(path, sizeof path, "%s%s%s", folder ? folder : "", folder ? "/" : "", file);
    if (n < 0 || (size_t)n >= sizeof path) return;
    s->found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (s->found) return;
    const char *said = dlerror();
    bool is_there = folder && !access(path, F_OK);
    if (s->why[0] && (s->is_there || !is_there)) return;
    s->is_there = is_there;
    snprintf(s->why, sizeof s->why, "%s", said ? said : file);
}

static search find(const hd_library *l)
{
    search s = {0};
    for (const char *const *file = l->file; *file; file++) {
        if (l->only) {
            try_file(&s, l->only, *file);
            continue;
        }
        try_file(&s, NULL, *file);
        for (const char *const *folder = l->folder; folder && *folder; folder++) try_file(&s, *folder, *file);
    }
    return s;
}

hd_status hd_library_load(const hd_library *l, void **to, hd_err *err)
{
    search s = find(l);
    if (!s.found)
        return hd_err_set(err, HD_EMISSING, "%s cannot be loaded (%s): %s", l->name, s.why, l->remedy);
    for (size_t i = 0; l->symbols[i]; i++) {
        to[i] = dlsym(s.found, l->symbols[i]);
        if (!to[i])
            return hd_err_set(err, HD_EMISSING, "%s has no function %s, it is too old or too new: %s",
                              l->name, l->symbols[i], l->remedy);
    }
    return HD_OK;
}

static int add_name(struct dl_phdr_info *info, size_t size, void *names)
{
    (void)size;
    if (info->dlpi_name && *info->dlpi_name) hd_text_add(names, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 0;
}

void hd_libraries_keep(void)
{
    hd_text names = {0};
    dl_iterate_phdr(add_name, &names); /* the loader's lock is held: nothing may be opened there */
    for (size_t at = 0; !hd_text_status(&names, NULL) && at < names.size; at += strlen(names.data + at) + 1)
        dlopen(names.data + at, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    hd_text_release(&names);
}
