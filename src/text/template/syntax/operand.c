/* The parser of operands: names, literals, brackets, and what follows a value: members, items, calls, filters
   and tests. */
#include <string.h>

#include "text/template/syntax/syntax.h"

static hd_jinja_node *text_node(hd_parser *p, hd_jinja_node_kind kind)
{
    hd_jinja_node *n = hd_parser_node(p, kind);
    if (!n) return NULL;
    n->text = p->at->at, n->size = p->at->size;
    return n;
}

/* -- names, literals, brackets -- */

static hd_jinja_node *name(hd_parser *p)
{
    static const struct {
        const char *word;
        hd_jinja_node_kind kind;
        int64_t value;
    } known[] = {{"true", HD_NODE_BOOL, 1},  {"True", HD_NODE_BOOL, 1}, {"false", HD_NODE_BOOL, 0},
                 {"False", HD_NODE_BOOL, 0}, {"none", HD_NODE_NONE, 0}, {"None", HD_NODE_NONE, 0}};
    hd_jinja_node *n = text_node(p, HD_NODE_NAME);
    for (size_t i = 0; n && i < sizeof known / sizeof *known; i++)
        if (hd_parser_is(p, known[i].word)) n->kind = known[i].kind, n->whole = known[i].value;
    if (hd_parser_is(p, "varargs")) p->rest |= HD_REST_GIVEN;
    if (hd_parser_is(p, "kwargs")) p->rest |= HD_REST_NAMED;
    p->at++;
    return n;
}

/* Strings that follow one another are one. */
static hd_jinja_node *string(hd_parser *p)
{
    const hd_jinja_token *from = p->at;
    hd_jinja_node *n = text_node(p, HD_NODE_STRING);
    size_t size = 0, at = 0;
    for (; p->at->kind == HD_TOKEN_STRING; p->at++) size += p->at->size;
    if (!n || size == n->size) return n;
    char *all = hd_arena_array(p->arena, size + 1, 1, p->err);
    for (; all && from < p->at; at += from->size, from++) memcpy(all + at, from->at, from->size);
    n->text = all, n->size = size;
    return n;
}

static hd_jinja_node *number(hd_parser *p)
{
    hd_jinja_node *n = hd_parser_node(p, p->at->kind == HD_TOKEN_INT ? HD_NODE_INT : HD_NODE_REAL);
    if (n) n->whole = p->at->whole, n->real = p->at->real;
    p->at++;
    return n;
}

/* [a, b,] or {k: v, ...}, behind the opening bracket. */
static hd_jinja_node *bracketed(hd_parser *p, hd_jinja_node_kind kind, const char *close)
{
    hd_jinja_node *n = hd_parser_node(p, kind), **to = n ? &n->kid[0] : NULL;
    while (!hd_parser_failed(p) && !hd_parser_is(p, close)) {
        *to = hd_parse_expression(p);
        if (*to && kind == HD_NODE_DICT) {
            to = &(*to)->next;
            hd_parser_expect(p, ":");
            *to = hd_parse_expression(p);
        }
        if (hd_parser_failed(p)) return NULL;
        to = &(*to)->next;
        if (!hd_parser_accept(p, ",")) break;
    }
    hd_parser_expect(p, close);
    return n;
}

static bool tuple_ends(const hd_parser *p)
{
    return p->at->kind == HD_TOKEN_PRINT_END || p->at->kind == HD_TOKEN_BLOCK_END || hd_parser_is(p, ")");
}

static hd_jinja_node *comma_list(hd_parser *p, hd_jinja_node *(*item)(hd_parser *),
                                 bool (*ends)(const hd_parser *))
{
    hd_jinja_node *n = NULL, *first = item(p), **to = first ? &first->next : NULL;
    while (!hd_parser_failed(p) && hd_parser_accept(p, ",")) {
        if (!n && !(n = hd_parser_node(p, HD_NODE_TUPLE))) return NULL;
        if (ends(p)) break;
        *to = item(p);
        if (*to) to = &(*to)->next;
    }
    if (n) n->kid[0] = first;
    return hd_parser_failed(p) ? NULL : n ? n : first;
}

hd_jinja_node *hd_parse_tuple(hd_parser *p)
{
    return comma_list(p, hd_parse_expression, tuple_ends);
}

static bool target_ends(const hd_parser *p)
{
    return tuple_ends(p) || hd_parser_is(p, "in") || hd_parser_is(p, "=");
}

static hd_jinja_node *one_target(hd_parser *p)
{
    if (hd_parser_accept(p, "(")) {
        hd_jinja_node *n = hd_parse_target(p);
        hd_parser_expect(p, ")");
        return n;
    }
    if (p->at->kind != HD_TOKEN_NAME) {
        hd_parser_fail(p, "this cannot be assigned to: a name is expected");
        return NULL;
    }
    hd_jinja_node *n = name(p);
    if (n && n->kind != HD_NODE_NAME) hd_parser_fail(p, "a constant cannot be assigned to");
    if (n && hd_parser_accept(p, ".")) {
        n = hd_parser_pair(p, HD_NODE_MEMBER, 0, n, NULL);
        if (n) hd_parser_take_name(p, n);
    }
    return n;
}

hd_jinja_node *hd_parse_target(hd_parser *p)
{
    if (!hd_parser_deeper(p)) return NULL;
    hd_jinja_node *n = comma_list(p, one_target, target_ends);
    p->depth--;
    return n;
}

hd_jinja_node *hd_parse_primary(hd_parser *p)
{
    hd_jinja_node *n = NULL;
    if (!hd_parser_deeper(p)) return NULL;
    if (p->at->kind == HD_TOKEN_NAME)
        n = name(p);
    else if (p->at->kind == HD_TOKEN_STRING)
        n = string(p);
    else if (p->at->kind == HD_TOKEN_INT || p->at->kind == HD_TOKEN_REAL)
        n = number(p);
    else if (hd_parser_accept(p, "(")) {
        n = hd_parser_is(p, ")") ? hd_parser_node(p, HD_NODE_TUPLE) : hd_parse_tuple(p);
        hd_parser_expect(p, ")");
    } else if (hd_parser_accept(p, "["))
        n = bracketed(p, HD_NODE_LIST, "]");
    else if (hd_parser_accept(p, "{"))
        n = bracketed(p, HD_NODE_DICT, "}");
    else
        hd_parser_fail(p, "an expression is expected");
    p->depth--;
    return n;
}

/* -- what follows a value -- */

/* Arguments come in this order, those by place before all others; a list or a dict of them comes once. */
static int argument_rank(const hd_jinja_node *n)
{
    return n->op == HD_SIGN2('*', '*') ? 3 : n->op == '*' ? 2 : n->size ? 1 : 0;
}

hd_jinja_node *hd_parse_arguments(hd_parser *p)
{
    hd_jinja_node *first = NULL, **to = &first;
    int before[4] = {0}; /* of each rank */
    while (!hd_parser_failed(p) && !hd_parser_is(p, ")")) {
        hd_jinja_node *n = hd_parser_node(p, HD_NODE_ARGUMENT);
        if (!n) return NULL;
        if (hd_parser_at_sign(p, '*') || hd_parser_at_sign(p, HD_SIGN2('*', '*')))
            n->op = p->at++->op;
        else if (p->at->kind == HD_TOKEN_NAME && p->at[1].kind == HD_TOKEN_SIGN && p->at[1].op == '=')
            hd_parser_take_name(p, n), p->at++;
        int rank = argument_rank(n);
        if (before[3] || (rank % 2 == 0 && before[2]) || (!rank && before[1]))
            hd_parser_fail(p, "this argument belongs before those in front of it");
        before[rank]++;
        n->kid[0] = hd_parse_expression(p);
        *to = n, to = &n->next;
        if (!hd_parser_accept(p, ",")) break;
    }
    hd_parser_expect(p, ")");
    return first;
}

static hd_jinja_node *call(hd_parser *p, hd_jinja_node *what)
{
    hd_jinja_node *n = hd_parser_pair(p, HD_NODE_CALL, 0, what, NULL);
    hd_parser_expect(p, "(");
    if (n) n->kid[1] = hd_parse_arguments(p);
    return n;
}

static hd_jinja_node *subscript(hd_parser *p, hd_jinja_node *what)
{
    hd_jinja_node *n = hd_parser_pair(p, HD_NODE_ITEM, 0, what, NULL);
    if (!n) return NULL;
    for (int part = 1; part < 4; part++) {
        if (!hd_parser_is(p, ":") && !hd_parser_is(p, "]")) n->kid[part] = hd_parse_expression(p);
        if (part == 3 || !hd_parser_accept(p, ":")) break;
        n->kind = HD_NODE_SLICE;
    }
    if (n->kind == HD_NODE_ITEM && !n->kid[1]) hd_parser_fail(p, "an index is expected");
    hd_parser_expect(p, "]");
    return n;
}

static hd_jinja_node *member(hd_parser *p, hd_jinja_node *what)
{
    bool whole = p->at->kind == HD_TOKEN_INT;
    hd_jinja_node *n = hd_parser_pair(p, whole ? HD_NODE_ITEM : HD_NODE_MEMBER, 0, what, NULL);
    if (!n) return NULL;
    if (whole)
        n->kid[1] = number(p);
    else
        hd_parser_take_name(p, n);
    return n;
}

hd_jinja_node *hd_parse_postfix(hd_parser *p, hd_jinja_node *n)
{
    while (!hd_parser_failed(p)) {
        if (hd_parser_accept(p, "."))
            n = member(p, n);
        else if (hd_parser_accept(p, "["))
            n = subscript(p, n);
        else if (hd_parser_is(p, "("))
            n = call(p, n);
        else
            break;
    }
    return n;
}

static hd_jinja_node *test(hd_parser *p, hd_jinja_node *input)
{
    bool negated = hd_parser_accept(p, "not");
    hd_jinja_node *n = hd_parser_pair(p, HD_NODE_TEST, 0, input, NULL);
    if (!n) return NULL;
    hd_parser_take_name(p, n);
    hd_jinja_token_kind k = p->at->kind;
    if (hd_parser_accept(p, "("))
        n->kid[1] = hd_parse_arguments(p);
    else if ((k == HD_TOKEN_NAME && !hd_parser_is(p, "else") && !hd_parser_is(p, "or") &&
              !hd_parser_is(p, "and") && !hd_parser_is(p, "if") && !hd_parser_is(p, "is")) ||
             k == HD_TOKEN_STRING || k == HD_TOKEN_INT || k == HD_TOKEN_REAL || hd_parser_at_sign(p, '[') ||
             hd_parser_at_sign(p, '{')) {
        hd_jinja_node *a = hd_parser_node(p, HD_NODE_ARGUMENT);
        if (!a) return NULL;
        a->kid[0] = hd_parse_postfix(p, hd_parse_primary(p));
        n->kid[1] = a;
    }
    return negated ? hd_parser_pair(p, HD_NODE_NOT, 0, n, NULL) : n;
}

hd_jinja_node *hd_parse_filters(hd_parser *p, hd_jinja_node *n)
{
    while (!hd_parser_failed(p)) {
        if (hd_parser_accept(p, "|")) {
            n = hd_parser_pair(p, HD_NODE_FILTER, 0, n, NULL);
            if (!n) break;
            hd_parser_take_name(p, n);
            if (hd_parser_accept(p, "(")) n->kid[1] = hd_parse_arguments(p);
        } else if (hd_parser_accept(p, "is"))
            n = test(p, n);
        else if (hd_parser_is(p, "("))
            n = call(p, n);
        else
            break;
    }
    return n;
}
