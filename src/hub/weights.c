/* Reading published weights. File names in the index are hostile: they may only name files beside it. */
#include "hub/weights.h"

#include <string.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/json.h"
#include "base/mem.h"

enum { MOST_INDEX = 1 << 26, MOST_FILES = 1000 };

typedef struct weights {
    const hd_safetensors *file[MOST_FILES];
    hd_safetensors *opened[MOST_FILES]; /* the same, those that are closed here */
    const char *name[MOST_FILES];       /* of the file, in the index */
    size_t count;
} weights;

static bool is_in(const char *folder, const char *name, char path[HD_PATH])
{
    return !hd_path(path, folder, name, NULL) && !access(path, F_OK);
}

/* Of torch.save, by its name. */
static bool is_torch(const char *name)
{
    static const char ending[] = ".bin";
    size_t size = strlen(name), end = sizeof ending - 1;
    return size > end && !strcmp(name + size - end, ending);
}

static hd_status add_file(weights *w, const char *folder, const char *index, const char *name, hd_err *err)
{
    char path[HD_PATH];
    for (size_t i = 0; i < w->count; i++)
        if (!strcmp(w->name[i], name)) return HD_OK;
    if (w->count == MOST_FILES)
        return hd_err_set(err, HD_ELIMIT, "%s: more than %d files", index, MOST_FILES);
    if (!*name || strchr(name, '/'))
        return hd_err_set(err, HD_EFORMAT, "%s: '%.60s' is not the name of a file beside it", index, name);
    hd_safetensors *file = NULL;
    hd_status s = hd_path(path, folder, name, err);
    if (!s) s = (is_torch(name) ? hd_torch_open : hd_safetensors_open)(&file, path, err);
    if (s) return s;
    w->opened[w->count] = file; /* from here on it is closed with the others */
    w->file[w->count] = file, w->name[w->count++] = name;
    bool known;
    return hd_safetensors_verify(file, &known, err);
}

/* The names stay valid as long as the arena. */
static hd_status open_index(weights *w, hd_arena *arena, const char *folder, const char *index, hd_err *err)
{
    json_t *root = NULL, *file;
    const char *tensor;
    hd_status s = hd_json_read(&root, arena, index, MOST_INDEX, err);
    if (s) return s;
    json_object_foreach(json_object_get(root, "weight_map"), tensor, file)
    {
        if (!json_is_string(file))
            return hd_err_set(err, HD_EFORMAT, "%s: \"%.80s\" lies in no file", index, tensor);
        s = add_file(w, folder, index, json_string_value(file), err);
        if (s) return s;
    }
    return w->count ? HD_OK : hd_err_set(err, HD_EFORMAT, "%s: \"weight_map\" names no file", index);
}

static hd_status open_all(weights *w, hd_arena *arena, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    if (is_in(folder, "model.safetensors", path)) return add_file(w, folder, path, "model.safetensors", err);
    if (is_in(folder, "model.safetensors.index.json", path)) return open_index(w, arena, folder, path, err);
    if (is_in(folder, "pytorch_model.bin", path)) return add_file(w, folder, path, "pytorch_model.bin", err);
    if (is_in(folder, "pytorch_model.bin.index.json", path)) return open_index(w, arena, folder, path, err);
    return hd_err_set(err, HD_EFILE,
                      "%s: no weights: model.safetensors, model.safetensors.index.json, pytorch_model.bin or "
                      "pytorch_model.bin.index.json is expected",
                      folder);
}

/* -- names -- */

static bool has_ending(const char *name, const char *const *endings)
{
    size_t size = strlen(name);
    for (; *endings; endings++) {
        size_t end = strlen(*endings);
        if (size >= end && !strcmp(name + size - end, *endings)) return true;
    }
    return false;
}

static bool is_known(const hd_params *p, const char *name)
{
    size_t prefix = p->prefix ? strlen(p->prefix) : 0;
    if (hd_params_find(p, name)) return true;
    return prefix && !strncmp(name, p->prefix, prefix) && hd_params_find(p, name + prefix);
}

/* Of tensors that say nothing. */
static bool is_ignored(const char *name, const hd_weights_ignored *i)
{
    const size_t size = strlen(i->start);
    return has_ending(name, i->endings) || (size && !strncmp(name, i->start, size));
}

static hd_status check_names(const hd_params *p, const weights *w, const hd_weights_ignored *ignored,
                             hd_err *err)
{
    for (size_t f = 0; f < w->count; f++)
        for (size_t i = 0; i < hd_safetensors_count(w->file[f]); i++) {
            const char *name = hd_safetensors_at(w->file[f], i)->name;
            if (!is_ignored(name, ignored) && !is_known(p, name))
                return hd_err_set(err, HD_EFORMAT,
                                  "%s: tensor \"%.120s\" does not belong to a model of this config.json",
                                  hd_safetensors_file(w->file[f]), name);
        }
    return HD_OK;
}

/* -- the calls -- */

typedef struct opened {
    weights *w;
    hd_arena arena; /* of the index */
} opened;

static hd_status begin(opened *o, const char *folder, const hd_safetensors *made, hd_err *err)
{
    hd_arena_init(&o->arena, hd_allocator_host, 0);
    o->w = hd_mem_zero(sizeof *o->w);
    if (!o->w) return hd_err_nomem(err, sizeof *o->w);
    if (!made) return open_all(o->w, &o->arena, folder, err);
    o->w->file[0] = made, o->w->name[0] = hd_safetensors_file(made), o->w->count = 1;
    return HD_OK;
}

static void end(opened *o)
{
    for (size_t i = 0; o->w && i < o->w->count; i++) hd_safetensors_free(o->w->opened[i]);
    hd_arena_release(&o->arena);
    hd_mem_free(o->w);
}

hd_status hd_family_weights_load(hd_params *p, const char *folder, const hd_safetensors *made,
                                 const hd_weights_ignored *ignored, hd_err *err)
{
    opened o;
    hd_status s = begin(&o, folder, made, err);
    if (!s) s = check_names(p, o.w, ignored, err);
    if (!s) s = hd_params_load_all(p, o.w->file, o.w->count, err);
    end(&o);
    return s;
}

hd_status hd_family_weights_have(bool *out, const char *folder, const char *ending, hd_err *err)
{
    opened o;
    const char *const endings[] = {ending, NULL};
    hd_status s = begin(&o, folder, NULL, err);
    *out = false;
    for (size_t f = 0; !s && f < o.w->count; f++)
        for (size_t i = 0; i < hd_safetensors_count(o.w->file[f]); i++)
            if (has_ending(hd_safetensors_at(o.w->file[f], i)->name, endings)) *out = true;
    end(&o);
    return s;
}

hd_status hd_family_weights_fit(const hd_params *p, const char *folder, const hd_safetensors *made,
                                hd_err *err)
{
    opened o;
    size_t numbers = 0, wanted = hd_params_size(p);
    hd_status s = begin(&o, folder, made, err);
    for (size_t f = 0; !s && f < o.w->count; f++)
        for (size_t i = 0; i < hd_safetensors_count(o.w->file[f]); i++)
            numbers += hd_safetensors_at(o.w->file[f], i)->count;
    if (!s && wanted / 8 > numbers)
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: config.json describes a model of %zu numbers, but the file has %zu", folder,
                       wanted, numbers);
    end(&o);
    return s;
}
