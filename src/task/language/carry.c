/* States of recurrent language models in training. Easy to get wrong: a step that is replayed runs none of
   the code here, so that whether a state is there must be said before each step, not found out in it. */
#include "task/language/training.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "op/replay.h"

static const char file_name[] = "carried.safetensors";

hd_status hd_carry_init(hd_carry *c, hd_run *r, const hd_lm *m, const size_t *items, size_t parts,
                        size_t length, hd_err *err)
{
    *c = (hd_carry){.run = r};
    c->state = hd_mem_array(parts, sizeof *c->state);
    c->items = hd_mem_array(parts, sizeof *c->items);
    if (!c->state || !c->items) return hd_err_nomem(err, parts * sizeof *c->state);
    c->parts = parts;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < parts; i++) {
        int32_t *len = hd_mem_array(items[i] + 1, sizeof *len);
        if (!len) return hd_err_nomem(err, items[i] * sizeof *len);
        for (size_t j = 0; j < items[i]; j++) len[j] = (int32_t)length;
        c->items[i] = items[i];
        s = m->type->lm.state(&c->state[i], m, hd_bounds_of(r, len, items[i]).items, err);
        hd_mem_free(len);
    }
    return s;
}

void hd_carry_release(hd_carry *c)
{
    for (size_t i = 0; i < c->parts; i++) hd_cache_free(c->state[i]);
    hd_mem_free(c->state);
    hd_mem_free(c->items);
    *c = (hd_carry){0};
}

void hd_carry_go_on(hd_carry *c, bool on)
{
    for (size_t i = 0; i < c->parts; i++)
        for (size_t l = 0; l < c->state[i]->slots; l++) {
            hd_slot *slot = hd_cache_slot(c->state[i], l);
            slot->filled = on && slot->t.data;
        }
}

uint64_t hd_carry_shape(hd_run *r, hd_carry *c, size_t part, const hd_seg *seg)
{
    hd_cache *state = c->state[part];
    if (!hd_cache_begin(r, state, seg)) return 0;
    return hd_shape_mix(hd_cache_shape(state), state->slot[0].filled);
}

/* -- checkpoints: only the rows of windows, none of those that fill up -- */

typedef struct names {
    char text[64];
} names;

static void name_of(names *n, size_t part, size_t layer)
{
    snprintf(n->text, sizeof n->text, "state.%zu.%zu", part, layer);
}

static size_t slots_of(const hd_carry *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->parts; i++) n += c->state[i]->slots;
    return n;
}

/* A state in host memory; the caller frees it. */
static hd_status download(hd_tensor *out, const hd_carry *c, const hd_tensor *t, size_t items, hd_err *err)
{
    size_t shape[2] = {items, hd_cols_of(t)}, bytes = items * hd_cols_of(t) * hd_dtype_bytes(t->dtype);
    void *host = hd_mem_new(bytes);
    if (!host) return hd_err_nomem(err, bytes);
    c->run->backend->download(c->run->backend, host, t->data, bytes);
    *out = hd_shaped(host, t->dtype, 2, shape);
    return HD_OK;
}

static hd_status save(void *context, const char *folder, hd_err *err)
{
    const hd_carry *c = context;
    char path[HD_PATH];
    size_t n = 0, most = slots_of(c);
    hd_tensor *tensor = hd_mem_array(most, sizeof *tensor);
    hd_named *entry = hd_mem_array(most, sizeof *entry);
    names *name = hd_mem_array(most, sizeof *name);
    hd_status s = tensor && entry && name ? HD_OK : hd_err_nomem(err, most * sizeof *tensor);
    for (size_t i = 0; !s && i < c->parts; i++)
        for (size_t l = 0; !s && l < c->state[i]->slots; l++) {
            const hd_tensor *t = &c->state[i]->slot[l].t;
            if (!t->data) continue; /* before the first update */
            s = download(&tensor[n], c, t, c->items[i], err);
            name_of(&name[n], i, l);
            entry[n] = (hd_named){name[n].text, &tensor[n]};
            n++;
        }
    if (!s) s = hd_path(path, folder, file_name, err);
    if (!s) s = hd_safetensors_save(path, entry, n, &(hd_meta)HD_CHECKSUM_META, 1, err);
    for (size_t i = 0; i < n; i++) hd_mem_free(tensor[i].data);
    hd_mem_free(tensor);
    hd_mem_free(entry);
    hd_mem_free(name);
    return s;
}

static hd_status load_slot(hd_carry *c, size_t part, size_t layer, const hd_safetensors *file,
                           const char *path, hd_err *err)
{
    hd_run *r = c->run;
    names name;
    name_of(&name, part, layer);
    const hd_entry *e = hd_safetensors_find(file, name.text);
    if (!e) return HD_OK; /* saved before the first update */
    if (!e->known || e->rank != 2 || e->shape[0] != c->items[part])
        return hd_err_set(err, HD_EFORMAT, "%s: %s is not the state of %zu windows", path, name.text,
                          c->items[part]);
    hd_run_begin(r, HD_INFERENCE);
    size_t rows = c->state[part]->items;
    hd_tensor *x = hd_new_of(r, e->dtype, rows, e->shape[1]);
    void *host = x ? hd_host_take(r, hd_bytes_of(x)) : NULL;
    if (!host) return hd_err_set(err, r->err.status, "%s: %s", path, r->err.text);
    hd_tensor to = hd_shaped(host, e->dtype, 2, e->shape);
    hd_status s = hd_safetensors_load(file, name.text, &to, err);
    if (s) return s;
    r->backend->upload(r->backend, x->data, host, hd_bytes_of(x));
    hd_slot_put(r, hd_cache_slot(c->state[part], layer), x);
    return r->err.status ? hd_err_set(err, r->err.status, "%s: %s", path, r->err.text) : HD_OK;
}

static hd_status load(void *context, const char *folder, hd_err *err)
{
    hd_carry *c = context;
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_status s = hd_path(path, folder, file_name, err);
    bool known;
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = hd_safetensors_verify(file, &known, err);
    for (size_t i = 0; !s && i < c->parts; i++)
        for (size_t l = 0; !s && l < c->state[i]->slots; l++) s = load_slot(c, i, l, file, path, err);
    hd_safetensors_free(file);
    return s;
}

hd_beside hd_carry_beside(hd_carry *c)
{
    return (hd_beside){save, load, c};
}
