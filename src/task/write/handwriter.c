/* The folder of a model of handwriting, and writing with it, whatever its kind. */
#include <string.h>

#include "base/mem.h"
#include "task/write/kind.h"

static const hd_write_kind *const kinds[] = {
#define X(name) &hd_write_##name,
    HD_WRITE_KIND_LIST(X)
#undef X
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const hd_write_kind *hd_write_kind_of(const hd_model *m)
{
    size_t i = 0;
    while (i + 1 < KINDS && kinds[i]->type != m->type) i++;
    return kinds[i];
}

const hd_write_kind *hd_write_kind_find(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i]->name, name)) return kinds[i];
    return NULL;
}

/* -- the folder -- */

void hd_handwriter_write(hd_text *to, const hd_model_folder *f)
{
    hd_write_kind_of(&f->model)->write(to, f->model.self);
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

void hd_handwriter_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    const char *names[KINDS];
    hd_write_sizes sizes = {0};
    hd_model model;
    for (size_t i = 0; i < KINDS; i++) names[i] = kinds[i]->name;
    const hd_write_kind *k = kinds[hd_model_config_name(c, "model", names, KINDS)];
    k->read(c, &sizes);
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (!c->status) {
        size_t pieces = hd_tokenizer_size(f->tokenizer[0]);
        if (pieces != k->vocab(&sizes))
            c->status = hd_tokenizer_refuse(f->tokenizer[0], pieces, "vocab", k->vocab(&sizes), c->err);
    }
    if (!c->status) c->status = k->make(&model, backend, &sizes, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_WRITE, model);
}

/* -- writing -- */

const hd_pen_scale *hd_write_scale(const hd_model_folder *f)
{
    return hd_write_kind_of(&f->model)->scale(f->model.self);
}

bool hd_write_reads(const hd_model_folder *f)
{
    return hd_write_kind_of(&f->model)->reads(f->model.self);
}

hd_status hd_write_text(hd_handwritten *to, hd_ids *ids, const hd_model_folder *f, const char *line,
                        const hd_strokes *prime, hd_err *err)
{
    size_t before = ids->count;
    if (prime) hd_text_print(&to->text, "%s ", hd_strokes_text(prime, 0));
    hd_text_put(&to->text, line);
    hd_status s = hd_text_status(&to->text, err);
    if (!s && to->text.size)
        s = hd_tokenizer_encode_ids(f->tokenizer[0], to->text.data, to->text.size, ids, err);
    to->letters = ids->count - before;
    return s;
}

void hd_handwritten_release(hd_handwritten *w)
{
    hd_pen_points_release(&w->points);
    hd_text_release(&w->text);
    hd_mem_free(w->phi);
    *w = (hd_handwritten){0};
}

hd_status hd_write(hd_handwritten *out, hd_run *r, const hd_model_folder *f, const char *const *line,
                   size_t lines, const hd_write_opt *opt, hd_err *err)
{
    memset(out, 0, lines * sizeof *out);
    hd_status s = hd_write_kind_of(&f->model)->lines(out, r, f, line, lines, opt, err);
    for (size_t i = 0; s && i < lines; i++) hd_handwritten_release(&out[i]);
    return s;
}
