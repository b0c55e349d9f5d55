/* Checkpoints. Easy to get wrong: nothing of the current one may be touched before the next is whole on the
   disk, and what is written must not depend on when or how often it was written. */
#include "train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

/* X(field) whole numbers of hd_progress, in the order of the file */
#define NUMBERS(X) \
    X(step) X(epoch) X(batch) X(tokens) X(skipped) X(broken) X(decay_steps) X(best_step) X(worse) X(corpus)
/* X(field) the others */
#define REALS(X) X(flops) X(best) X(best_loss)

/* -- moments: flat vectors beside the weights -- */

typedef struct moment {
    const char *name;
    hd_real *at; /* NULL: this optimizer has none */
} moment;

enum { MOMENTS = 2, MOST_STATE = 1 << 20 };

static void moments_of(const hd_optimizer *o, moment m[MOMENTS])
{
    m[0] = (moment){"first", o->first};
    m[1] = (moment){"second", o->second};
}

static hd_status save_moments(const char *path, const hd_optimizer *o, hd_err *err)
{
    const hd_params *p = o->params;
    moment m[MOMENTS];
    hd_named entry[MOMENTS];
    hd_tensor flat[MOMENTS];
    size_t n = 0;
    hd_real *host = hd_mem_array(MOMENTS * p->trainable + 1, sizeof *host);
    if (!host) return hd_err_nomem(err, MOMENTS * p->trainable * sizeof *host);
    moments_of(o, m);
    for (int i = 0; i < MOMENTS; i++) {
        if (!m[i].at) continue;
        hd_real *to = host + n * p->trainable;
        if (m[i].at == o->second)
            hd_optimizer_get_second(o, to);
        else
            p->backend->download(p->backend, to, m[i].at, p->trainable * sizeof *to);
        flat[n] = hd_shaped(to, HD_REAL, 1, &p->trainable);
        entry[n] = (hd_named){m[i].name, &flat[n]};
        n++;
    }
    hd_status s = hd_safetensors_save(path, entry, n, &(hd_meta)HD_CHECKSUM_META, 1, err);
    hd_mem_free(host);
    return s;
}

/* A run that goes on with damaged numbers would be lost: the whole file is checked first. */
static hd_status open_whole(hd_safetensors **out, const char *path, hd_err *err)
{
    bool known;
    hd_status s = hd_safetensors_open(out, path, err);
    return s ? s : hd_safetensors_verify(*out, &known, err);
}

static hd_status load_moments(const char *path, hd_optimizer *o, hd_err *err)
{
    hd_params *p = o->params;
    moment m[MOMENTS];
    hd_safetensors *file = NULL;
    hd_real *host = hd_mem_array(p->trainable + 1, sizeof *host);
    hd_status s = host ? open_whole(&file, path, err) : hd_err_nomem(err, p->trainable * sizeof *host);
    hd_tensor flat = hd_shaped(host, HD_REAL, 1, &p->trainable);
    moments_of(o, m);
    for (int i = 0; !s && i < MOMENTS; i++) {
        if (!m[i].at) continue;
        s = hd_safetensors_load(file, m[i].name, &flat, err);
        if (s) break;
        if (m[i].at == o->second)
            hd_optimizer_put_second(o, host);
        else
            p->backend->upload(p->backend, m[i].at, host, p->trainable * sizeof *host);
    }
    hd_safetensors_free(file);
    hd_mem_free(host);
    return s;
}

/* -- numbers -- */

/* What is not a number is left out; a validation may give -inf, which JSON has no number for. */
static void put_real(hd_text *t, const char *key, double x)
{
    char digits[40];
    if (isnan(x)) return;
    snprintf(digits, sizeof digits, isinf(x) ? "\"%g\"" : "%.17g", x);
    char *comma = strchr(digits, ','); /* the program around us may have set a locale */
    if (comma) *comma = '.';
    bool whole = !strpbrk(digits, ".e\""); /* "-0" would be read as a whole number, and those have no -0 */
    hd_text_print(t, ",\n \"%s\": %s%s", key, digits, whole ? ".0" : "");
}

static hd_status save_numbers(const char *path, const hd_progress *p, uint32_t updates, hd_err *err)
{
    hd_text t = {0};
    hd_text_put(&t, "{\"format\": 1");
#define X(field) hd_text_print(&t, ",\n \"" #field "\": \"%" PRIu64 "\"", p->field);
    NUMBERS(X)
#undef X
    hd_text_print(&t, ",\n \"updates\": \"%" PRIu32 "\"", updates);
#define X(field) put_real(&t, #field, p->field);
    REALS(X)
#undef X
    hd_text_put(&t, "}\n");
    hd_status s = hd_text_status(&t, err);
    if (!s) s = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return s;
}

/* Whole numbers stand as texts: JSON readers keep 53 bits of a number, and a hash has 64. */
static hd_status get_number(const json_t *o, const char *path, const char *key, uint64_t *to, hd_err *err)
{
    const char *text = json_string_value(json_object_get(o, key));
    char *end = NULL;
    errno = 0;
    *to = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno)
        return hd_err_set(err, HD_EFORMAT, "%s: \"%s\" is missing or not a number", path, key);
    return HD_OK;
}

static hd_status get_real(const json_t *o, const char *path, const char *key, double *to, hd_err *err)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    *to = json_is_number(v) ? json_number_value(v) : NAN;
    if (text && (!strcmp(text, "inf") || !strcmp(text, "-inf"))) *to = *text == '-' ? -INFINITY : INFINITY;
    return v && isnan(*to) ? hd_err_set(err, HD_EFORMAT, "%s: \"%s\" is no number", path, key) : HD_OK;
}

static hd_status get_numbers(const json_t *o, const char *path, hd_progress *p, uint64_t *updates,
                             hd_err *err)
{
    if (json_integer_value(json_object_get(o, "format")) != 1)
        return hd_err_set(err, HD_EFORMAT, "%s: its \"format\" is not 1: another heed wrote it", path);
    hd_status s = get_number(o, path, "updates", updates, err);
    if (!s && *updates > UINT32_MAX) s = hd_err_set(err, HD_EFORMAT, "%s: \"updates\" is too large", path);
#define X(field) \
    if (!s) s = get_number(o, path, #field, &p->field, err);
    NUMBERS(X)
#undef X
#define X(field) \
    if (!s) s = get_real(o, path, #field, &p->field, err);
    REALS(X)
#undef X
    return s;
}

static hd_status load_numbers(const char *path, hd_progress *p, uint64_t *updates, hd_err *err)
{
    hd_arena arena;
    json_t *o = NULL;
    hd_arena_init(&arena, hd_allocator_host, 0);
    hd_status s = hd_json_read(&o, &arena, path, MOST_STATE, err);
    if (!s) s = get_numbers(o, path, p, updates, err);
    hd_arena_release(&arena);
    return s;
}

/* -- folders -- */

/* The current checkpoint's folder. What train/current says must look like what we write there. */
static hd_status current(const char *folder, char to[HD_PATH], hd_err *err)
{
    char path[HD_PATH], name[64] = "train/";
    hd_map map = {0};
    hd_status s = hd_path(path, folder, "train/current", err);
    if (!s) s = hd_map_open(&map, path, err);
    if (s) return s;
    size_t n = map.size && map.data[map.size - 1] == '\n' ? map.size - 1 : 0;
    bool good = n > 5 && n < 32 && !memcmp(map.data, "step-", 5);
    for (size_t i = 5; good && i < n; i++) good = map.data[i] >= '0' && map.data[i] <= '9';
    if (good) memcpy(name + 6, map.data, n);
    hd_map_close(&map);
    if (!good) return hd_err_set(err, HD_EFORMAT, "%s: does not name a checkpoint like \"step-1000\"", path);
    return hd_path(to, folder, name, err);
}

bool hd_checkpoint_exists(const char *folder)
{
    char path[HD_PATH];
    if (hd_path(path, folder, "train/current", NULL)) return false;
    return !access(path, F_OK) ||
           (errno != ENOENT && errno != ENOTDIR); /* then reading it says what is wrong */
}

typedef struct sweep {
    char train[HD_PATH];
    const char *keep; /* name of the folder that stays, or NULL */
} sweep;

static hd_status sweep_entry(void *context, const char *name, hd_err *err)
{
    const sweep *w = context;
    char path[HD_PATH];
    if (strncmp(name, "step-", 5) || (w->keep && !strcmp(name, w->keep))) return HD_OK;
    hd_status s = hd_path(path, w->train, name, err);
    return s ? s : hd_folder_remove(path, err);
}

static hd_status remove_others(const char *folder, const char *keep, hd_err *err)
{
    sweep w = {.keep = keep};
    hd_status s = hd_path(w.train, folder, "train", err);
    return s ? s : hd_folder_each(w.train, sweep_entry, &w, err);
}

hd_status hd_checkpoint_sweep(const char *folder, hd_err *err)
{
    char train[HD_PATH], now[HD_PATH] = "";
    hd_status s = hd_path(train, folder, "train", err);
    if (!s && access(train, F_OK)) return hd_folder_sweep(folder, err);
    if (!s) s = hd_folder_sweep(folder, err);
    if (!s) s = hd_folder_sweep(train, err);
    if (!s && hd_checkpoint_exists(folder)) s = current(folder, now, err);
    if (!s) s = remove_others(folder, *now ? strrchr(now, '/') + 1 : NULL, err);
    return s;
}

/* The moving average under the parameters' names, as the model would be saved with it. */
static hd_status save_average(const char *path, hd_optimizer *o, hd_err *err)
{
    hd_optimizer_swap(o);
    hd_status s = hd_params_save(o->params, path, &(hd_meta)HD_CHECKSUM_META, 1, err);
    hd_optimizer_swap(o);
    return s;
}

static hd_status write_files(const char *step, const hd_progress *p, hd_optimizer *o, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_path(path, step, "weights.safetensors", err);
    if (!s) s = hd_params_save(o->params, path, &(hd_meta)HD_CHECKSUM_META, 1, err);
    if (!s) s = hd_path(path, step, "average.safetensors", err);
    if (!s && o->mean) s = save_average(path, o, err);
    if (!s) s = hd_path(path, step, "moments.safetensors", err);
    if (!s) s = save_moments(path, o, err);
    if (!s && o->beside.save) s = o->beside.save(o->beside.context, step, err);
    if (!s) s = hd_path(path, step, "state.json", err);
    return s ? s : save_numbers(path, p, hd_optimizer_updates(o), err);
}

/* What a failed save has written is of no use, and a full disk has use for the space. But the failure may
   have come after the rename that made it current. */
void hd_checkpoint_drop(const char *folder, const char *step)
{
    char now[HD_PATH];
    if (!hd_checkpoint_exists(folder) || (!current(folder, now, NULL) && strcmp(now, step)))
        hd_folder_remove(step, NULL);
}

hd_status hd_checkpoint_write(const char *folder, const hd_progress *p, hd_optimizer *o, char step[HD_PATH],
                              hd_err *err)
{
    char name[32], train[HD_PATH];
    snprintf(name, sizeof name, "step-%" PRIu64, p->step);
    hd_status s = hd_path(train, folder, "train", err);
    if (!s) s = hd_path(step, train, name, err);
    if (!s) s = hd_folder_make(train, NULL, err);
    if (s) return s;
    s = hd_folder_make(step, NULL, err);
    if (!s) s = write_files(step, p, o, err);
    if (s) hd_checkpoint_drop(folder, step);
    return s;
}

hd_status hd_checkpoint_commit(const char *folder, const char *step, hd_err *err)
{
    const char *name = strrchr(step, '/') + 1;
    char line[64], train[HD_PATH], path[HD_PATH];
    int size = snprintf(line, sizeof line, "%s\n", name);
    hd_status s = hd_path(train, folder, "train", err);
    if (!s) s = hd_path(path, train, "current", err);
    if (!s) s = hd_folder_sync(train, err);
    if (!s) s = hd_save_bytes(path, line, (size_t)size, err);
    if (s) return hd_checkpoint_drop(folder, step), s;
    return remove_others(folder, name, err);
}

hd_status hd_checkpoint_remove(const char *folder, hd_err *err)
{
    char train[HD_PATH], path[HD_PATH];
    hd_status s = hd_path(train, folder, "train", err);
    if (!s) s = hd_path(path, train, "current", err);
    if (!s && !access(path, F_OK)) {
        s = hd_folder_remove(path, err);
        if (!s) s = hd_folder_sync(train, err); /* or a loss of power might undo it alone */
    }
    return s ? s : hd_folder_remove(train, err);
}

static hd_status load_weights(const char *step, const char *name, hd_params *params, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_status s = hd_path(path, step, name, err);
    if (!s) s = open_whole(&file, path, err);
    if (!s) s = hd_params_load(params, file, err);
    hd_safetensors_free(file);
    return s;
}

/* The file and the folder are one checkpoint's. */
static hd_status check_step(const char *path, const char *step, const hd_progress *p, hd_err *err)
{
    const char *name = strrchr(step, '/') + 1;
    if (strtoull(name + 5, NULL, 10) == p->step) return HD_OK;
    return hd_err_set(err, HD_EFORMAT,
                      "%s: its \"step\" is %" PRIu64
                      ", but the folder is %s: it is damaged or from another run",
                      path, p->step, name);
}

hd_status hd_checkpoint_load(const char *folder, hd_progress *p, hd_optimizer *o, hd_err *err)
{
    char step[HD_PATH], path[HD_PATH];
    uint64_t updates = 0;
    hd_status s = current(folder, step, err);
    if (!s) s = hd_path(path, step, "state.json", err);
    if (!s) s = load_numbers(path, p, &updates, err);
    if (!s) s = check_step(path, step, p, err);
    if (s || !o) return s;
    if (o->mean) s = load_weights(step, "average.safetensors", o->params, err);
    if (!s) hd_optimizer_swap(o);
    if (!s) s = load_weights(step, "weights.safetensors", o->params, err);
    if (!s) s = hd_path(path, step, "moments.safetensors", err);
    if (!s) s = load_moments(path, o, err);
    if (!s && o->beside.load) s = o->beside.load(o->beside.context, step, err);
    if (!s) hd_optimizer_resume(o, (uint32_t)updates);
    return s;
}

hd_status hd_checkpoint_weights(const char *folder, hd_params *params, hd_err *err)
{
    char step[HD_PATH], path[HD_PATH];
    hd_status s = current(folder, step, err);
    if (!s) s = hd_path(path, step, "average.safetensors", err);
    return s ? s
             : load_weights(step, access(path, F_OK) ? "weights.safetensors" : "average.safetensors", params,
                            err);
}
