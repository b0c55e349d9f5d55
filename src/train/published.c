/* Published weights: written, read, and kept by a second name. */
#include "train/published.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "nn/weight/form.h"

#define WHOLE   "model.safetensors"
#define ADAPTER "adapter_model.safetensors"

static const char *file_of(const hd_params *p)
{
    return p->files == HD_FILES_ADAPTER ? ADAPTER : WHOLE;
}

hd_status hd_published_save(const hd_params *p, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    static const hd_meta meta[] = {{"format", "pt"}, HD_CHECKSUM_META};
    hd_status s = hd_path(path, folder, file_of(p), err);
    return s ? s : hd_params_save(p, path, meta, 2, err);
}

hd_status hd_published_save_int8(const hd_params *p, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    static const hd_meta meta[] = {{"format", "pt"}, HD_CHECKSUM_META};
    hd_status s = hd_path(path, folder, file_of(p), err);
    return s ? s : hd_params_save_int8(p, path, meta, 2, err);
}

/* Whether what a folder has is an adapter. */
static bool is_adapter(const char *folder)
{
    char path[HD_PATH];
    return !hd_path(path, folder, ADAPTER, NULL) && !access(path, F_OK);
}

hd_status hd_published_load(hd_params *p, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_status s = is_adapter(folder) && p->files != HD_FILES_ADAPTER
                      ? hd_err_set(err, HD_EARG,
                                   "%s: an adapter: `heed merge %s MODEL` makes a model of it, to begin with",
                                   folder, folder)
                      : hd_path(path, folder, file_of(p), err);
    if (!s && access(path, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: missing: training has not saved a model yet", path);
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = hd_params_load(p, file, err);
    if (!s && p->stays)
        p->file = file;
    else
        hd_safetensors_free(file);
    return s;
}

/* Where a file system has no links. */
static hd_status copy(const char *from, const char *to, hd_err *err)
{
    hd_map map;
    hd_err why = {0};
    hd_status s = hd_map_open(&map, from, &why);
    if (!s) {
        s = hd_save_bytes(to, map.data, map.size, &why);
        hd_map_close(&map);
    }
    return s ? hd_err_set(err, s, "%s: cannot be kept as the best by validation: %s", from, why.text) : HD_OK;
}

/* A second name of the same file: publishing gives the first name to another one. What is kept already stays:
   a run that was killed at its end judges and publishes once more when it is resumed. */
hd_status hd_published_keep(const char *folder, hd_err *err)
{
    char path[HD_PATH], kept[HD_PATH], train[HD_PATH];
    hd_status s = hd_path(path, folder, is_adapter(folder) ? ADAPTER : WHOLE, err);
    if (!s) s = hd_path(kept, folder, HD_PUBLISHED_KEPT, err);
    if (!s) s = hd_path(train, folder, "train", err);
    if (!s) s = hd_folder_make(train, NULL, err);
    if (s) return s;
    if (link(path, kept) && errno != EEXIST) s = copy(path, kept, err);
    return s ? s : hd_folder_sync(train, err);
}

hd_status hd_published_restore(const char *folder, hd_err *err)
{
    char path[HD_PATH], kept[HD_PATH];
    hd_status s = hd_path(path, folder, is_adapter(folder) ? ADAPTER : WHOLE, err);
    if (!s) s = hd_path(kept, folder, HD_PUBLISHED_KEPT, err);
    if (s || access(kept, F_OK)) return s;
    if (rename(kept, path))
        return hd_err_set(err, HD_EFILE, "%s: cannot put %s back: %s", path, kept, strerror(errno));
    return hd_folder_sync(folder, err);
}
