/* The value of an expression. */
#include <string.h>

#include "text/template/value.h"

static hd_jinja_value name(hd_jinja_run *r, const hd_jinja_node *n)
{
    for (const hd_jinja_scope *s = r->scope; s; s = s->outer) {
        const hd_jinja_value *v = hd_jinja_get_name(&s->names, n->text, n->size);
        if (v) return *v;
    }
    const hd_jinja_function *f = hd_jinja_function_of(n->text, n->size);
    if (f) return (hd_jinja_value){.kind = HD_IS_FUNCTION, .function = f};
    return (hd_jinja_value){.kind = HD_IS_UNDEFINED, .string = {n->text, NULL, n->size}};
}

static hd_jinja_value list(hd_jinja_run *r, const hd_jinja_node *n, hd_jinja_kind kind)
{
    hd_jinja_value all = hd_jinja_new_list(r, kind);
    for (const hd_jinja_node *i = n->kid[0]; i && !hd_jinja_failed(r); i = i->next)
        hd_jinja_add(r, all.list, hd_jinja_evaluate(r, i));
    return all;
}

static hd_jinja_value dict(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value all = hd_jinja_new_dict(r, HD_IS_DICT);
    for (const hd_jinja_node *i = n->kid[0]; i && !hd_jinja_failed(r); i = i->next->next) {
        hd_jinja_value key = hd_jinja_evaluate(r, i), v = hd_jinja_evaluate(r, i->next);
        if (!hd_jinja_failed(r)) hd_jinja_set(r, all.dict, key, v);
    }
    return all;
}

static hd_jinja_value compare(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value left = hd_jinja_evaluate(r, n->kid[0]);
    for (const hd_jinja_node *i = n->kid[1]; i; i = i->next) {
        hd_jinja_value right = hd_jinja_evaluate(r, i->kid[0]);
        if (hd_jinja_failed(r) || !hd_jinja_compare(r, i->op, left, right)) return hd_jinja_bool(false);
        left = right;
    }
    return hd_jinja_bool(true);
}

static hd_jinja_value concat(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_marked m = {0};
    for (const hd_jinja_node *i = n->kid[0]; i && !hd_jinja_failed(r); i = i->next) {
        hd_jinja_value v = hd_jinja_evaluate(r, i);
        if (!hd_jinja_failed(r)) hd_jinja_print(r, &m, v, false);
    }
    return hd_jinja_taken(r, &m);
}

/* What is done with values costs steps by their sizes: a text may be as long as the memory allows. */
static bool charge_for(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a)
{
    size_t steps = v.kind == HD_IS_STRING ? v.string.size / 64 : 0;
    for (size_t i = 0; a && i < a->given.count; i++)
        if (a->given.at[i].kind == HD_IS_STRING) steps += a->given.at[i].string.size / 64;
    return hd_jinja_charge(r, steps);
}

static void spread(hd_jinja_run *r, int op, hd_jinja_value v, hd_jinja_arguments *to)
{
    if (op == '*') {
        const hd_jinja_list *l = hd_jinja_items(r, v);
        for (size_t i = 0; l && i < l->count && hd_jinja_charge(r, 1); i++)
            hd_jinja_add(r, &to->given, l->at[i]);
        return;
    }
    if (v.kind != HD_IS_DICT) {
        hd_jinja_fail(r, "'**' needs a dict, not a %s", hd_jinja_kind_name(v));
        return;
    }
    for (size_t i = 0; i < v.dict->key.count && hd_jinja_charge(r, 1); i++) {
        hd_jinja_value key = v.dict->key.at[i];
        if (key.kind != HD_IS_STRING)
            hd_jinja_fail(r, "the name of an argument is a string, not a %s", hd_jinja_kind_name(key));
        else if (hd_jinja_get(r, &to->named, key))
            hd_jinja_fail(r, "an argument is given twice");
        else
            hd_jinja_set(r, &to->named, key, v.dict->value.at[i]);
    }
}

static void arguments(hd_jinja_run *r, const hd_jinja_node *list_of, hd_jinja_arguments *to)
{
    *to = (hd_jinja_arguments){0};
    for (const hd_jinja_node *i = list_of; i && !hd_jinja_failed(r); i = i->next) {
        hd_jinja_value v = hd_jinja_evaluate(r, i->kid[0]);
        if (hd_jinja_failed(r)) return;
        if (i->op)
            spread(r, i->op, v, to);
        else if (!i->size)
            hd_jinja_add(r, &to->given, v);
        else
            hd_jinja_set(r, &to->named,
                         (hd_jinja_value){.kind = HD_IS_STRING, .string = {i->text, NULL, i->size}}, v);
    }
}

static hd_jinja_value slice(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value part[3], v = hd_jinja_evaluate(r, n->kid[0]);
    for (int i = 0; i < 3; i++) part[i] = n->kid[i + 1] ? hd_jinja_evaluate(r, n->kid[i + 1]) : HD_JINJA_NONE;
    return charge_for(r, v, NULL) ? hd_jinja_slice(r, v, part) : v;
}

static hd_jinja_value call(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_arguments a;
    hd_jinja_value f = hd_jinja_evaluate(r, n->kid[0]);
    arguments(r, n->kid[1], &a);
    r->line = n->line;
    return charge_for(r, f.kind == HD_IS_METHOD ? f.method->self : f, &a) ? hd_jinja_call(r, f, &a) : f;
}

static hd_jinja_value filter(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_arguments a;
    hd_jinja_value v = hd_jinja_evaluate(r, n->kid[0]);
    arguments(r, n->kid[1], &a);
    r->line = n->line;
    return charge_for(r, v, &a) ? hd_jinja_filter(r, n->text, n->size, v, &a) : v;
}

static hd_jinja_value test(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_arguments a;
    hd_jinja_value v = hd_jinja_evaluate(r, n->kid[0]);
    arguments(r, n->kid[1], &a);
    return hd_jinja_bool(charge_for(r, v, &a) && hd_jinja_test(r, n->text, n->size, v, &a));
}

static hd_jinja_value choice(hd_jinja_run *r, const hd_jinja_node *n)
{
    const hd_jinja_node *which = hd_jinja_truth(hd_jinja_evaluate(r, n->kid[0])) ? n->kid[1] : n->kid[2];
    return which ? hd_jinja_evaluate(r, which) : HD_JINJA_UNDEFINED;
}

static hd_jinja_value signed_number(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value v = hd_jinja_evaluate(r, n->kid[0]);
    if (n->kind == HD_NODE_NEGATIVE && v.kind == HD_IS_REAL) return hd_jinja_real(-v.real);
    return hd_jinja_binary(r, n->kind == HD_NODE_NEGATIVE ? '-' : '+', hd_jinja_int(0), v);
}

static hd_jinja_value within(hd_jinja_run *r, const hd_jinja_node *n)
{
    hd_jinja_value a, b;
    switch (n->kind) {
    case HD_NODE_NONE:
        return HD_JINJA_NONE;
    case HD_NODE_BOOL:
        return hd_jinja_bool(n->whole);
    case HD_NODE_INT:
        return hd_jinja_int(n->whole);
    case HD_NODE_REAL:
        return hd_jinja_real(n->real);
    case HD_NODE_STRING:
        return (hd_jinja_value){.kind = HD_IS_STRING, .string = {n->text, NULL, n->size}};
    case HD_NODE_NAME:
        return name(r, n);
    case HD_NODE_LIST:
        return list(r, n, HD_IS_LIST);
    case HD_NODE_TUPLE:
        return list(r, n, HD_IS_TUPLE);
    case HD_NODE_DICT:
        return dict(r, n);
    case HD_NODE_IF_ELSE:
        return choice(r, n);
    case HD_NODE_OR:
        return hd_jinja_truth(a = hd_jinja_evaluate(r, n->kid[0])) ? a : hd_jinja_evaluate(r, n->kid[1]);
    case HD_NODE_AND:
        return !hd_jinja_truth(a = hd_jinja_evaluate(r, n->kid[0])) ? a : hd_jinja_evaluate(r, n->kid[1]);
    case HD_NODE_NOT:
        return hd_jinja_bool(!hd_jinja_truth(hd_jinja_evaluate(r, n->kid[0])));
    case HD_NODE_COMPARE:
        return compare(r, n);
    case HD_NODE_BINARY:
        a = hd_jinja_evaluate(r, n->kid[0]), b = hd_jinja_evaluate(r, n->kid[1]);
        r->line = n->line;
        return hd_jinja_binary(r, n->op, a, b);
    case HD_NODE_NEGATIVE:
    case HD_NODE_POSITIVE:
        return signed_number(r, n);
    case HD_NODE_CONCAT:
        return concat(r, n);
    case HD_NODE_MEMBER:
        return hd_jinja_member(r, hd_jinja_evaluate(r, n->kid[0]), n->text, n->size);
    case HD_NODE_ITEM:
        a = hd_jinja_evaluate(r, n->kid[0]), b = hd_jinja_evaluate(r, n->kid[1]);
        return hd_jinja_failed(r) ? a : hd_jinja_item(r, a, b);
    case HD_NODE_SLICE:
        return slice(r, n);
    case HD_NODE_CALL:
        return call(r, n);
    case HD_NODE_FILTER:
        return filter(r, n);
    case HD_NODE_TEST:
        return test(r, n);
    case HD_NODE_HOLE:
        return r->hole;
    default:
        return HD_JINJA_UNDEFINED;
    }
}

hd_jinja_value hd_jinja_evaluate(hd_jinja_run *r, const hd_jinja_node *n)
{
    r->line = n->line;
    hd_jinja_value v = hd_jinja_enter(r) ? within(r, n) : HD_JINJA_UNDEFINED;
    hd_jinja_leave(r);
    return hd_jinja_failed(r) ? HD_JINJA_UNDEFINED : v;
}
