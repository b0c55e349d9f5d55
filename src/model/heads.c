/* Names of attention heads, and lists of factors for them. */
#include "model/heads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *stack, *sublayer;
} named[] = {
#define X(id, name, stack, sublayer, title) {stack, sublayer},
    HD_ATTENTION_LIST(X)
#undef X
};

enum { MOST_TERM = 160 }; /* bytes of NAME=FACTOR */

/* -- the heads of a model -- */

static hd_status add_layer(hd_heads *h, int kind, const hd_attention_layers *a, int stage, size_t number,
                           hd_err *err)
{
    hd_heads_layer *l = &h->layer[h->layers];
    char within[16] = "";
    size_t n = a->each[stage];
    if (stage) snprintf(within, sizeof within, "stage%d.", stage);
    *l = (hd_heads_layer){.kind = kind, .number = a->first[stage] + number, .place = number, .heads = n};
    snprintf(l->name, sizeof l->name, "%s.%s%zu.%s", named[kind].stack, within, number, named[kind].sublayer);
    l->scope = a->bare ? strchr(l->name, '.') + 1 : l->name;
    l->factor = hd_arena_array(&h->memory, n, sizeof *l->factor, err);
    l->slope = hd_arena_array(&h->memory, n, sizeof *l->slope, err);
    l->effect = hd_arena_array(&h->memory, n, sizeof *l->effect, err);
    if (!l->factor || !l->slope || !l->effect) return HD_ENOMEM;
    for (size_t i = 0; i < n; i++) l->factor[i] = 1, l->slope[i] = l->effect[i] = 0;
    h->layers++;
    return HD_OK;
}

hd_status hd_heads_init(hd_heads *out, const hd_model *m, hd_err *err)
{
    const hd_model body = hd_model_body(m);
    hd_attention_layers a[HD_ATTENTION_KINDS] = {0};
    hd_heads h = {0};
    size_t layers = 0;
    *out = h;
    for (int k = 0; body.type->attention && k < HD_ATTENTION_KINDS; k++) {
        a[k] = body.type->attention(body.self, (hd_attention_kind)k);
        layers += a[k].layers;
    }
    if (!layers)
        return hd_err_set(err, HD_EARG, "a model of kind %s has no attention heads", body.type->name);
    hd_arena_init(&h.memory, hd_allocator_host, 0);
    h.layer = hd_arena_array(&h.memory, layers, sizeof *h.layer, err);
    hd_status s = h.layer ? HD_OK : HD_ENOMEM;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        for (int i = 0; i < HD_STAGES; i++)
            for (size_t l = 0; !s && l < a[k].count[i]; l++) s = add_layer(&h, k, &a[k], i, l, err);
    if (s)
        hd_arena_release(&h.memory);
    else
        *out = h;
    return s;
}

void hd_heads_release(hd_heads *h)
{
    if (h->layer) hd_arena_release(&h->memory);
    *h = (hd_heads){0};
}

const char *hd_head_name(const hd_heads_layer *l, size_t head, char buf[HD_HEAD_NAME])
{
    snprintf(buf, HD_HEAD_NAME, "%s.%zu", l->scope, head);
    return buf;
}

size_t hd_heads_count(const hd_heads *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->layers; i++) n += h->layer[i].heads;
    return n;
}

/* -- lists -- */

/* Part by part. */
static bool matches(const char *pattern, const char *name)
{
    for (;;) {
        size_t p = strcspn(pattern, "."), n = strcspn(name, ".");
        bool any = p == 1 && *pattern == '*';
        if (!any && (p != n || memcmp(pattern, name, p))) return false;
        if (!pattern[p] || !name[n]) return !pattern[p] && !name[n];
        pattern += p + 1, name += n + 1;
    }
}

static void put_range(hd_text *to, size_t count)
{
    hd_text_print(to, count > 1 ? "0-%zu" : "%zu", count - 1);
}

/* "enc.0-3.self.0-7, dec.0-3.self.0-7": a stage after the other. */
static hd_status refuse(const hd_heads *h, const char *name, hd_err *err)
{
    hd_text all = {0};
    for (size_t i = 0, next; i < h->layers; i = next) {
        const hd_heads_layer *l = &h->layer[i]; /* its number is 0 */
        const char *sublayer = named[l->kind].sublayer;
        hd_text_put(&all, i ? ", " : "");
        hd_text_add(&all, l->scope, strlen(l->scope) - strlen(sublayer) - 2);
        for (next = i + 1; next < h->layers && h->layer[next].place;) next++;
        put_range(&all, next - i);
        hd_text_print(&all, ".%s.", sublayer);
        put_range(&all, l->heads);
    }
    hd_err_set(err, HD_EARG, "the model has no head %s: its heads are %s, counted from 0", name,
               all.data ? all.data : "others");
    hd_text_release(&all);
    return HD_EARG;
}

/* "enc.2.self.5=0" */
static hd_status set_term(hd_heads *h, char *term, hd_err *err)
{
    char *is = strrchr(term, '='), *end = NULL, name[HD_HEAD_NAME];
    double factor = is ? strtod(is + 1, &end) : 0;
    bool found = false;
    if (!is || is == term || end == is + 1 || *end)
        return hd_err_set(err, HD_EARG, "'%s' is not HEAD=FACTOR, as in enc.2.self.5=0", term);
    *is = 0;
    if (!isfinite(factor) || !isfinite((float)factor))
        return hd_err_set(err, HD_EARG, "the factor of %s is '%s', not a finite number", term, is + 1);
    for (size_t i = 0; i < h->layers; i++) {
        hd_heads_layer *l = &h->layer[i];
        for (size_t k = 0; k < l->heads; k++) {
            hd_head_name(l, k, name);
            bool is_it = matches(term, name);
            if (!is_it && l->scope != l->name) {
                snprintf(name, sizeof name, "%s.%zu", l->name, k);
                is_it = matches(term, name);
            }
            if (is_it) l->factor[k] = (hd_real)factor, found = true;
        }
    }
    return found ? HD_OK : refuse(h, term, err);
}

hd_status hd_heads_set(hd_heads *h, const char *list, hd_err *err)
{
    hd_status s = HD_OK;
    for (const char *at = list; !s && at;) {
        char term[MOST_TERM];
        size_t size = strcspn(at, ",");
        const char *next = at[size] ? at + size + 1 : NULL;
        while (size && *at == ' ') at++, size--;
        while (size && at[size - 1] == ' ') size--;
        if (size >= sizeof term)
            return hd_err_set(err, HD_EARG, "'%.40s...' is not HEAD=FACTOR, as in enc.2.self.5=0", at);
        memcpy(term, at, size);
        term[size] = 0;
        s = set_term(h, term, err);
        at = next;
    }
    return s;
}
