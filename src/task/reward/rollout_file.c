/* Texts that were drawn and are not learned from yet, in a checkpoint. */
#include <string.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "task/reward/rollout.h"
#include "tensor/safetensors.h"

static const char file_name[] = "rollout.safetensors";

enum { FIGURES = sizeof(hd_rollout_figures) / sizeof(double), MOST_TENSORS = 8 };

typedef struct tensors {
    hd_tensor tensor[MOST_TENSORS];
    hd_named entry[MOST_TENSORS];
    size_t count;
} tensors;

static void add(tensors *t, const char *name, const void *data, hd_dtype type, size_t n)
{
    if (!data || !n) return;
    t->tensor[t->count] = hd_shaped((void *)(uintptr_t)data, type, 1, &n);
    t->entry[t->count] = (hd_named){name, &t->tensor[t->count]};
    t->count++;
}

hd_status hd_rollout_save(const hd_rollout *o, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    tensors t = {.count = 0};
    int64_t number = (int64_t)o->number;
    add(&t, "number", &number, HD_I64, 1);
    add(&t, "figures", &o->figures, HD_F64, FIGURES);
    add(&t, "ids", o->ids.at, HD_I32, o->ids.count);
    add(&t, "length", o->length, HD_I32, o->samples);
    add(&t, "drawn", o->drawn, HD_I32, o->samples);
    add(&t, "advantage", o->advantage, HD_F32, o->samples);
    add(&t, "before", o->before, HD_F32, o->ids.count);
    add(&t, "reference", o->reference, HD_F32, o->ids.count);
    hd_status s = hd_path(path, folder, file_name, err);
    return s ? s : hd_safetensors_save(path, t.entry, t.count, &(hd_meta)HD_CHECKSUM_META, 1, err);
}

/* A list of so many numbers, to be freed; n 0: as many as there are. Of one that is not there *out stays
   NULL. */
static hd_status read_part(void *out, const hd_safetensors *file, const char *name, hd_dtype type, size_t *n,
                           hd_err *err)
{
    const hd_entry *e = hd_safetensors_find(file, name);
    if (!e) return HD_OK;
    if (!e->known || e->dtype != type || e->rank != 1 || (*n && e->shape[0] != *n))
        return hd_err_set(err, HD_EFORMAT, "%s in it is not what was saved", name);
    void *data = hd_mem_array(e->shape[0], hd_dtype_bytes(type));
    if (!data) return hd_err_nomem(err, e->shape[0] * hd_dtype_bytes(type));
    hd_tensor to = hd_shaped(data, type, 1, e->shape);
    hd_status s = hd_safetensors_load(file, name, &to, err);
    memcpy(out, &data, sizeof data);
    *n = e->shape[0];
    return s;
}

/* Whether the lists fit each other; says where each text begins. */
static bool fits(hd_rollout *o, size_t samples, const hd_lm *m)
{
    size_t at = 0, lead = m->type->lm.looks_back ? (size_t)m->opt.order - 1 : 0;
    if (!o->ids.at || !o->length || !o->drawn || !o->advantage) return false;
    for (size_t i = 0; i < samples; i++) {
        if (o->length[i] < 2 || o->drawn[i] < 1 || o->drawn[i] >= o->length[i]) return false;
        o->begin[i] = at + lead;
        at += lead + (size_t)o->length[i];
        if (at > o->ids.count) return false;
    }
    for (size_t i = 0; i < o->ids.count; i++)
        if (o->ids.at[i] < 0 || (size_t)o->ids.at[i] >= m->opt.vocab) return false;
    return at == o->ids.count;
}

static hd_status read_lists(hd_rollout *o, size_t samples, const hd_lm *m, const hd_safetensors *file,
                            hd_err *err)
{
    size_t all = 0;
    hd_status s = read_part(&o->ids.at, file, "ids", HD_I32, &all, err);
    o->ids.count = o->ids.room = all;
    if (!s) s = read_part(&o->length, file, "length", HD_I32, &(size_t){samples}, err);
    if (!s) s = read_part(&o->drawn, file, "drawn", HD_I32, &(size_t){samples}, err);
    if (!s) s = read_part(&o->advantage, file, "advantage", HD_F32, &(size_t){samples}, err);
    if (!s) s = read_part(&o->before, file, "before", HD_F32, &(size_t){all}, err);
    if (!s) s = read_part(&o->reference, file, "reference", HD_F32, &(size_t){all}, err);
    o->begin = hd_mem_array(samples, sizeof *o->begin);
    if (!s && !o->begin) s = hd_err_nomem(err, samples * sizeof *o->begin);
    o->samples = samples;
    return s || fits(o, samples, m) ? s : hd_err_set(err, HD_EFORMAT, "its lists do not fit each other");
}

static hd_status read_all(hd_rollout *o, size_t samples, const hd_lm *m, const hd_safetensors *file,
                          hd_err *err)
{
    int64_t *number = NULL;
    double *figures = NULL;
    bool known;
    hd_status s = hd_safetensors_verify(file, &known, err);
    if (!s) s = read_part(&number, file, "number", HD_I64, &(size_t){1}, err);
    if (!s) s = read_part(&figures, file, "figures", HD_F64, &(size_t){FIGURES}, err);
    if (!s && (!number || !figures || *number < 0)) s = hd_err_set(err, HD_EFORMAT, "it has no number");
    if (!s && *number) s = read_lists(o, samples, m, file, err);
    if (!s) o->number = (uint64_t)*number, memcpy(&o->figures, figures, sizeof o->figures);
    hd_mem_free(number);
    hd_mem_free(figures);
    return s;
}

hd_status hd_rollout_load(hd_rollout *o, size_t samples, const hd_lm *m, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_err why = {0};
    hd_rollout_release(o);
    hd_status s = hd_path(path, folder, file_name, err);
    if (s) return s;
    s = hd_safetensors_open(&file, path, &why);
    if (!s && (s = read_all(o, samples, m, file, &why)))
        hd_err_set(err, s, "%s: %s", path, why.text);
    else if (s)
        hd_err_set(err, s, "%s", why.text);
    hd_safetensors_free(file);
    if (s) hd_rollout_release(o);
    return s;
}
