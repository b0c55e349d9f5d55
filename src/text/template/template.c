/* A template: its tree, and renderings of it. */
#include "text/template/template.h"

#include <string.h>

#include "base/mem.h"
#include "text/template/value.h"

enum { STEPS = 20000000, BYTES = 64 << 20, MEMORY = 512 << 20 };

struct hd_template {
    hd_arena arena;
    const hd_jinja_node *body;
    char name[128];
};

hd_status hd_template_new(hd_template **out, const char *source, size_t size, const char *name, hd_err *err)
{
    hd_err own = {0};
    hd_jinja_tokens tokens = {0};
    hd_jinja_node *body = NULL;
    if (size > HD_TEMPLATE_MOST)
        return hd_err_set(err, HD_ELIMIT, "%s: a template of %zu bytes; at most %d are read", name, size,
                          HD_TEMPLATE_MOST);
    hd_template *t = hd_mem_zero(sizeof *t);
    if (!t) return hd_err_nomem(err, sizeof *t);
    hd_arena_init(&t->arena, hd_allocator_host, 1 << 14);
    size_t length = strlen(name), skipped = length < sizeof t->name ? 0 : length - sizeof t->name + 1;
    memcpy(t->name, name + skipped, length - skipped);
    hd_status s = hd_jinja_lex(&tokens, &t->arena, source, size, t->name, &own);
    if (!s) s = hd_jinja_parse(&body, &t->arena, &tokens, t->name, &own);
    hd_mem_free(tokens.at);
    t->body = body;
    if (!s)
        *out = t;
    else {
        hd_template_free(t);
        hd_err_set(err, s, "%s", own.text);
    }
    return s;
}

void hd_template_free(hd_template *t)
{
    if (!t) return;
    hd_arena_release(&t->arena);
    hd_mem_free(t);
}

static void set_variables(hd_jinja_run *r, const json_t *variables)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)variables, key, value)
    {
        char mark = json_is_string(value) ? HD_MARK_TEMPLATE : HD_MARK_INPUT;
        hd_jinja_value v = hd_jinja_of_json(r, value, mark);
        if (hd_jinja_failed(r)) return;
        hd_jinja_assign(r, r->scope, key, strlen(key), v);
    }
}

hd_status hd_template_render(const hd_template *t, const json_t *variables, const hd_template_opt *opt,
                             hd_marked *to, hd_err *err)
{
    hd_err own = {0};
    hd_jinja_scope scope = {0};
    hd_marked text = {0};
    hd_jinja_run r = {.name = t->name, .scope = &scope, .out = &text, .err = &own, .line = 1};
    if (opt) r.limit = *opt;
    if (!r.limit.steps) r.limit.steps = STEPS;
    if (!r.limit.bytes) r.limit.bytes = BYTES;
    if (!r.limit.memory) r.limit.memory = MEMORY;
    hd_arena_init(&r.arena, hd_allocator_host, 1 << 16);
    set_variables(&r, variables);
    if (!own.status) hd_jinja_run_body(&r, t->body);
    if (!own.status) hd_marked_status(&text, &own);
    if (!own.status && text.text.size) {
        hd_marked_add(to, text.text.data, text.mark.data, text.text.size);
        hd_marked_status(to, &own);
    }
    hd_marked_release(&text);
    hd_arena_release(&r.arena);
    return own.status ? hd_err_set(err, own.status, "%s", own.text) : HD_OK;
}
