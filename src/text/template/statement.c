/* Statements. A loop and a macro have variables of their own; what "if" sets is set around it. */
#include <string.h>

#include "text/template/value.h"

typedef enum flow { GOES_ON, BREAKS, CONTINUES } flow;

static flow run(hd_jinja_run *r, const hd_jinja_node *n);

void hd_jinja_assign(hd_jinja_run *r, hd_jinja_scope *s, const char *name, size_t size, hd_jinja_value v)
{
    hd_jinja_set(r, &s->names, (hd_jinja_value){.kind = HD_IS_STRING, .string = {name, NULL, size}}, v);
}

static hd_jinja_scope *scope_in(hd_jinja_run *r, hd_jinja_scope *outer)
{
    hd_jinja_scope *s = hd_jinja_take(r, 1, sizeof *s);
    if (s) s->outer = outer;
    return s;
}

static void assign_member(hd_jinja_run *r, const hd_jinja_node *target, hd_jinja_value v)
{
    hd_jinja_value to = hd_jinja_evaluate(r, target->kid[0]);
    if (hd_jinja_failed(r)) return;
    if (to.kind != HD_IS_NAMESPACE) {
        hd_jinja_fail(r, "'%.*s' can be set in a namespace alone", (int)(target->size % 64), target->text);
        return;
    }
    hd_jinja_set(r, to.dict,
                 (hd_jinja_value){.kind = HD_IS_STRING, .string = {target->text, NULL, target->size}}, v);
}

static void assign(hd_jinja_run *r, const hd_jinja_node *target, hd_jinja_value v)
{
    if (hd_jinja_failed(r)) return;
    if (target->kind == HD_NODE_NAME) {
        hd_jinja_assign(r, r->scope, target->text, target->size, v);
        return;
    }
    if (target->kind == HD_NODE_MEMBER) {
        assign_member(r, target, v);
        return;
    }
    const hd_jinja_list *l = hd_jinja_items(r, v);
    size_t i = 0;
    for (const hd_jinja_node *t = target->kid[0]; t && l; t = t->next, i++)
        if (i < l->count) assign(r, t, l->at[i]);
    if (l && i != l->count) hd_jinja_fail(r, "%zu values for %zu names", l->count, i);
}

static void capture(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_marked m = {0}, *before = r->out;
    hd_jinja_scope *scope = r->scope;
    r->out = &m;
    r->scope = scope_in(r, scope);
    if (r->scope) run(r, n->kid[1]);
    r->out = before, r->scope = scope;
    hd_jinja_value v = hd_jinja_taken(r, &m), hole = r->hole;
    if (n->kid[2]) {
        r->hole = v;
        v = hd_jinja_evaluate(r, n->kid[2]);
        r->hole = hole;
    }
    assign(r, n->kid[0], v);
}

hd_jinja_value hd_jinja_loop_member(hd_jinja_run *r, const hd_jinja_loop *l, const char *name, size_t size)
{
    int64_t i = (int64_t)l->index, n = (int64_t)l->items->count;
    const struct {
        const char *name;
        hd_jinja_value v;
    } known[] = {{"index", hd_jinja_int(i + 1)},
                 {"index0", hd_jinja_int(i)},
                 {"revindex", hd_jinja_int(n - i)},
                 {"revindex0", hd_jinja_int(n - i - 1)},
                 {"first", hd_jinja_bool(!i)},
                 {"last", hd_jinja_bool(i + 1 == n)},
                 {"length", hd_jinja_int(n)},
                 {"depth", hd_jinja_int(l->depth + 1)},
                 {"depth0", hd_jinja_int(l->depth)},
                 {"previtem", i ? l->items->at[i - 1] : HD_JINJA_UNDEFINED},
                 {"nextitem", i + 1 < n ? l->items->at[i + 1] : HD_JINJA_UNDEFINED}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strlen(known[k].name) == size && !memcmp(known[k].name, name, size)) return known[k].v;
    return hd_jinja_fail(r, "loop.%.*s is not supported", (int)(size % 64), name);
}

/* The items for which the condition of a loop holds. */
static const hd_jinja_list *fitting(hd_jinja_run *r, const hd_jinja_node *n, const hd_jinja_list *items)
{
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    hd_jinja_scope *scope = r->scope;
    for (size_t i = 0; i < items->count && !hd_jinja_failed(r); i++) {
        if (!(r->scope = scope_in(r, scope))) break;
        assign(r, n->kid[0], items->at[i]);
        if (hd_jinja_truth(hd_jinja_evaluate(r, n->kid[2]))) hd_jinja_add(r, all.list, items->at[i]);
    }
    r->scope = scope;
    return hd_jinja_failed(r) ? NULL : all.list;
}

static void loop(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value what = hd_jinja_evaluate(r, n->kid[1]);
    const hd_jinja_list *items = hd_jinja_items(r, what);
    if (items && n->kid[2]) items = fitting(r, n, items);
    if (!items) return;
    hd_jinja_loop *l = hd_jinja_take(r, 1, sizeof *l);
    hd_jinja_scope *scope = r->scope;
    if (l) *l = (hd_jinja_loop){.items = items, .depth = r->loops++};
    size_t count = items->count;
    for (size_t i = 0; l && i < count && hd_jinja_charge(r, 1); i++) {
        if (!(r->scope = scope_in(r, scope))) break;
        l->index = i;
        hd_jinja_assign(r, r->scope, "loop", 4, (hd_jinja_value){.kind = HD_IS_LOOP, .loop = l});
        assign(r, n->kid[0], items->at[i]);
        if (run(r, n->kid[3]) == BREAKS) break;
    }
    r->loops -= l != NULL;
    r->scope = scope;
    if (!count && n->kid[4]) run(r, n->kid[4]);
}

static void define(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_macro *m = hd_jinja_take(r, 1, sizeof *m);
    if (!m) return;
    *m = (hd_jinja_macro){n, r->scope};
    hd_jinja_assign(r, r->scope, n->text, n->size, (hd_jinja_value){.kind = HD_IS_MACRO, .macro = m});
}

/* What no parameter takes: varargs and kwargs, where the macro names them. */
static void bind_rest(hd_jinja_run *r, const hd_jinja_macro *m, const hd_jinja_arguments *a, size_t places,
                      size_t named)
{
    size_t more = a->given.count > places ? a->given.count - places : 0;
    if ((more && !(m->node->op & HD_REST_GIVEN)) ||
        (a->named.value.count > named && !(m->node->op & HD_REST_NAMED))) {
        hd_jinja_fail(r, "the macro '%.*s' has no such argument", (int)(m->node->size % 64), m->node->text);
        return;
    }
    hd_jinja_value given = hd_jinja_new_list(r, HD_IS_TUPLE), rest = hd_jinja_new_dict(r, HD_IS_DICT);
    for (size_t i = 0; i < more && !hd_jinja_failed(r); i++)
        hd_jinja_add(r, given.list, a->given.at[places + i]);
    for (size_t i = 0; i < a->named.key.count && !hd_jinja_failed(r); i++) {
        const hd_jinja_string name = a->named.key.at[i].string;
        if (!hd_jinja_get_name(&r->scope->names, name.at, name.size))
            hd_jinja_set(r, rest.dict, a->named.key.at[i], a->named.value.at[i]);
    }
    if (m->node->op & HD_REST_GIVEN) hd_jinja_assign(r, r->scope, "varargs", 7, given);
    if (m->node->op & HD_REST_NAMED) hd_jinja_assign(r, r->scope, "kwargs", 6, rest);
}

/* Sets the parameters of a macro. */
static void bind(hd_jinja_run *r, const hd_jinja_macro *m, const hd_jinja_arguments *a)
{
    size_t place = 0, named = 0;
    for (const hd_jinja_node *p = m->node->kid[0]; p && !hd_jinja_failed(r); p = p->next, place++) {
        const hd_jinja_value *v = hd_jinja_get_name(&a->named, p->text, p->size);
        hd_jinja_value undefined = {.kind = HD_IS_UNDEFINED, .string = {p->text, NULL, p->size}};
        if (place < a->given.count)
            v = &a->given.at[place]; /* by name too: it stays there, and is refused */
        else
            named += v != NULL;
        hd_jinja_value value = v ? *v : p->kid[0] ? hd_jinja_evaluate(r, p->kid[0]) : undefined;
        hd_jinja_assign(r, r->scope, p->text, p->size, value);
    }
    if (!hd_jinja_failed(r)) bind_rest(r, m, a, place, named);
}

hd_jinja_value hd_jinja_call_macro(hd_jinja_run *r, const hd_jinja_macro *m, const hd_jinja_arguments *a)
{
    hd_marked text = {0}, *out = r->out;
    hd_jinja_scope *scope = r->scope;
    int loops = r->loops;
    if (!(r->scope = scope_in(r, m->scope))) {
        r->scope = scope;
        return HD_JINJA_UNDEFINED;
    }
    bind(r, m, a);
    r->out = &text, r->loops = 0;
    run(r, m->node->kid[1]);
    r->out = out, r->scope = scope, r->loops = loops;
    return hd_jinja_taken(r, &text);
}

/* What it sets is its own. */
static flow group(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_scope *scope = r->scope;
    flow way = (r->scope = scope_in(r, scope)) ? run(r, n->kid[0]) : GOES_ON;
    r->scope = scope;
    return way;
}

static flow statement(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value v;
    switch (n->kind) {
    case HD_NODE_DATA:
        hd_jinja_print(r, r->out, (hd_jinja_value){.kind = HD_IS_STRING, .string = {n->text, NULL, n->size}},
                       false);
        break;
    case HD_NODE_PRINT:
        v = hd_jinja_evaluate(r, n->kid[0]);
        if (!hd_jinja_failed(r)) hd_jinja_print(r, r->out, v, false);
        break;
    case HD_NODE_FOR:
        loop(r, n);
        break;
    case HD_NODE_SET:
        assign(r, n->kid[0], hd_jinja_evaluate(r, n->kid[1]));
        break;
    case HD_NODE_CAPTURE:
        capture(r, n);
        break;
    case HD_NODE_MACRO:
        define(r, n);
        break;
    case HD_NODE_GROUP:
        return group(r, n);
    case HD_NODE_BREAK:
        return BREAKS;
    case HD_NODE_CONTINUE:
        return CONTINUES;
    default:
        break;
    }
    return GOES_ON;
}

/* "if" with its "elif"s is one statement, however many there are. */
static const hd_jinja_node *branch(hd_jinja_run *r, const hd_jinja_node *n)
{
    while (n && n->kind == HD_NODE_IF && !hd_jinja_failed(r)) {
        if (hd_jinja_truth(hd_jinja_evaluate(r, n->kid[0]))) return n->kid[1];
        n = n->kid[2];
        if (n && n->next) return n;
    }
    return n;
}

static flow run(hd_jinja_run *r, const hd_jinja_node *n)
{
    flow way = GOES_ON;
    if (hd_jinja_enter(r))
        for (; n && way == GOES_ON && !hd_jinja_failed(r); n = n->next) {
            r->line = n->line;
            if (!hd_jinja_charge(r, 1)) break;
            way = n->kind == HD_NODE_IF ? run(r, branch(r, n)) : statement(r, n);
        }
    hd_jinja_leave(r);
    return way;
}

void hd_jinja_run_body(hd_jinja_run *r, const hd_jinja_node *n)
{
    run(r, n);
}
