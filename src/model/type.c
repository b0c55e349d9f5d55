/* The list of models, and what all of them have. */
#include "model/type.h"

#include <string.h>

#include "model/prepare.h"

const hd_model_type *hd_model_find(const char *name)
{
#define X(name, text) &hd_model_##name,
    static const hd_model_type *const all[] = {HD_MODEL_LIST(X)};
#undef X
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i]->name, name)) return all[i];
    return NULL;
}

void hd_model_free(hd_model *m)
{
    if (m->self) m->type->free(m->self);
    *m = (hd_model){0};
}

hd_status hd_model_prepare(const hd_model *m, hd_use use, hd_err *err)
{
    if (!m->type->prepare) return HD_OK;
    hd_preparing p = {.params = m->params, .use = use, .err = err};
    m->type->prepare(&p, m->self);
    return p.status;
}

bool hd_model_mark(const hd_model *m)
{
    hd_preparing p = {.marking = true};
    if (!m->params || !m->type->prepare) return false;
    m->type->prepare(&p, m->self);
    for (size_t i = 0; i < m->params->count; i++)
        if (m->params->list[i]->product) return true;
    return false;
}

hd_model hd_model_body(const hd_model *m)
{
    return m->type->body ? m->type->body(m->self) : *m;
}

hd_rows hd_model_rows(hd_run *r, const hd_model *m, const hd_items *in)
{
    return m->type->rows(r, m->self, m->type->sizes(m->self).layers, in);
}

static const struct {
    const char *name, *title;
} kinds[] = {
#define X(id, name, stack, sublayer, title) {name, title},
    HD_ATTENTION_LIST(X)
#undef X
};

const char *hd_attention_name(hd_attention_kind k)
{
    return kinds[k].name;
}

const char *hd_attention_title(hd_attention_kind k)
{
    return kinds[k].title;
}

void hd_attention_layers_add(hd_attention_layers *a, int stage, int layers, int heads)
{
    a->first[stage] = a->layers, a->count[stage] = (size_t)layers, a->each[stage] = (size_t)heads;
    a->layers += (size_t)layers;
    if (layers && (size_t)heads > a->heads) a->heads = (size_t)heads;
}
