/* The parser of expressions, a function for each level of precedence, in the order of Jinja's own. */
#include <string.h>

#include "text/template/syntax.h"

static bool at_sign(const hd_parser *p, int op)
{
    return p->at->kind == HD_TOKEN_SIGN && p->at->op == op;
}

static hd_jinja_node *pair(hd_parser *p, hd_jinja_node_kind kind, int op, hd_jinja_node *a, hd_jinja_node *b)
{
    hd_jinja_node *n = hd_parser_node(p, kind);
    if (!n) return NULL;
    n->op = op, n->kid[0] = a, n->kid[1] = b;
    return n;
}

static hd_jinja_node *text_node(hd_parser *p, hd_jinja_node_kind kind, hd_jinja_node *a)
{
    hd_jinja_node *n = hd_parser_node(p, kind);
    if (!n) return NULL;
    n->kid[0] = a, n->text = p->at->at, n->size = p->at->size;
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
    hd_jinja_node *n = text_node(p, HD_NODE_NAME, NULL);
    for (size_t i = 0; n && i < sizeof known / sizeof *known; i++)
        if (hd_parser_is(p, known[i].word)) n->kind = known[i].kind, n->whole = known[i].value;
    p->at++;
    return n;
}

/* Strings that follow one another are one. */
static hd_jinja_node *string(hd_parser *p)
{
    const hd_jinja_token *from = p->at;
    hd_jinja_node *n = text_node(p, HD_NODE_STRING, NULL);
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
        n = pair(p, HD_NODE_MEMBER, 0, n, NULL);
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

hd_jinja_node *hd_parse_arguments(hd_parser *p)
{
    hd_jinja_node *first = NULL, **to = &first;
    while (!hd_parser_failed(p) && !hd_parser_is(p, ")")) {
        hd_jinja_node *n = hd_parser_node(p, HD_NODE_ARGUMENT);
        if (!n) return NULL;
        if (p->at->kind == HD_TOKEN_NAME && p->at[1].kind == HD_TOKEN_SIGN && p->at[1].op == '=')
            hd_parser_take_name(p, n), p->at++;
        n->kid[0] = hd_parse_expression(p);
        *to = n, to = &n->next;
        if (!hd_parser_accept(p, ",")) break;
    }
    hd_parser_expect(p, ")");
    return first;
}

static hd_jinja_node *call(hd_parser *p, hd_jinja_node *what)
{
    hd_jinja_node *n = pair(p, HD_NODE_CALL, 0, what, NULL);
    hd_parser_expect(p, "(");
    if (n) n->kid[1] = hd_parse_arguments(p);
    return n;
}

static hd_jinja_node *subscript(hd_parser *p, hd_jinja_node *what)
{
    hd_jinja_node *n = pair(p, HD_NODE_ITEM, 0, what, NULL);
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
    hd_jinja_node *n = pair(p, whole ? HD_NODE_ITEM : HD_NODE_MEMBER, 0, what, NULL);
    if (!n) return NULL;
    if (whole)
        n->kid[1] = number(p);
    else
        hd_parser_take_name(p, n);
    return n;
}

static hd_jinja_node *postfix(hd_parser *p, hd_jinja_node *n)
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
    hd_jinja_node *n = pair(p, HD_NODE_TEST, 0, input, NULL);
    if (!n) return NULL;
    hd_parser_take_name(p, n);
    hd_jinja_token_kind k = p->at->kind;
    if (hd_parser_accept(p, "("))
        n->kid[1] = hd_parse_arguments(p);
    else if ((k == HD_TOKEN_NAME && !hd_parser_is(p, "else") && !hd_parser_is(p, "or") &&
              !hd_parser_is(p, "and") && !hd_parser_is(p, "if") && !hd_parser_is(p, "is")) ||
             k == HD_TOKEN_STRING || k == HD_TOKEN_INT || k == HD_TOKEN_REAL || at_sign(p, '[') ||
             at_sign(p, '{')) {
        hd_jinja_node *a = hd_parser_node(p, HD_NODE_ARGUMENT);
        if (!a) return NULL;
        a->kid[0] = postfix(p, hd_parse_primary(p));
        n->kid[1] = a;
    }
    return negated ? pair(p, HD_NODE_NOT, 0, n, NULL) : n;
}

hd_jinja_node *hd_parse_filters(hd_parser *p, hd_jinja_node *n)
{
    while (!hd_parser_failed(p)) {
        if (hd_parser_accept(p, "|")) {
            n = pair(p, HD_NODE_FILTER, 0, n, NULL);
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

/* -- operators, from the tightest to the loosest -- */

static hd_jinja_node *unary(hd_parser *p, bool filters)
{
    hd_jinja_node *n;
    if (!hd_parser_deeper(p)) return NULL;
    if (hd_parser_accept(p, "-"))
        n = pair(p, HD_NODE_NEGATIVE, 0, unary(p, false), NULL);
    else if (hd_parser_accept(p, "+"))
        n = pair(p, HD_NODE_POSITIVE, 0, unary(p, false), NULL);
    else
        n = hd_parse_primary(p);
    n = postfix(p, n);
    if (filters) n = hd_parse_filters(p, n);
    p->depth--;
    return n;
}

static hd_jinja_node *power(hd_parser *p)
{
    hd_jinja_node *n = unary(p, true);
    while (!hd_parser_failed(p) && at_sign(p, HD_SIGN2('*', '*'))) {
        p->at++;
        n = pair(p, HD_NODE_BINARY, HD_SIGN2('*', '*'), n, unary(p, true));
    }
    return n;
}

static hd_jinja_node *product(hd_parser *p)
{
    hd_jinja_node *n = power(p);
    while (!hd_parser_failed(p) &&
           (at_sign(p, '*') || at_sign(p, '/') || at_sign(p, '%') || at_sign(p, HD_SIGN2('/', '/')))) {
        int op = p->at++->op;
        n = pair(p, HD_NODE_BINARY, op, n, power(p));
    }
    return n;
}

static hd_jinja_node *concat(hd_parser *p)
{
    hd_jinja_node *n = product(p), *all = NULL, *last = n;
    while (!hd_parser_failed(p) && hd_parser_accept(p, "~")) {
        if (!all) all = pair(p, HD_NODE_CONCAT, 0, n, NULL);
        if (all) last = last->next = product(p);
    }
    return all ? all : n;
}

static hd_jinja_node *sum(hd_parser *p)
{
    hd_jinja_node *n = concat(p);
    while (!hd_parser_failed(p) && (at_sign(p, '+') || at_sign(p, '-'))) {
        int op = p->at++->op;
        n = pair(p, HD_NODE_BINARY, op, n, concat(p));
    }
    return n;
}

/* "in" and "not in" have these codes. */
static int comparison(hd_parser *p)
{
    static const int known[] = {
        HD_SIGN2('=', '='), HD_SIGN2('!', '='), HD_SIGN2('<', '='), HD_SIGN2('>', '='), '<', '>'};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (at_sign(p, known[i])) return p->at++->op;
    if (hd_parser_accept(p, "in")) return 'i';
    bool not_in = hd_parser_is(p, "not") && p->at[1].kind == HD_TOKEN_NAME && p->at[1].size == 2 &&
                  !memcmp(p->at[1].at, "in", 2);
    if (!not_in) return 0;
    p->at += 2;
    return 'n';
}

static hd_jinja_node *compare(hd_parser *p)
{
    hd_jinja_node *n = sum(p), *all = NULL, **to = NULL;
    for (int op; !hd_parser_failed(p) && (op = comparison(p));) {
        if (!all) all = pair(p, HD_NODE_COMPARE, 0, n, NULL), to = all ? &all->kid[1] : NULL;
        hd_jinja_node *next = pair(p, HD_NODE_COMPARE, op, sum(p), NULL);
        if (!to || !next) return NULL;
        *to = next, to = &next->next;
    }
    return all ? all : n;
}

static hd_jinja_node *negation(hd_parser *p)
{
    if (!hd_parser_accept(p, "not")) return compare(p);
    if (!hd_parser_deeper(p)) return NULL;
    hd_jinja_node *n = pair(p, HD_NODE_NOT, 0, negation(p), NULL);
    p->depth--;
    return n;
}

static hd_jinja_node *conjunction(hd_parser *p)
{
    hd_jinja_node *n = negation(p);
    while (!hd_parser_failed(p) && hd_parser_accept(p, "and")) n = pair(p, HD_NODE_AND, 0, n, negation(p));
    return n;
}

hd_jinja_node *hd_parse_or(hd_parser *p)
{
    hd_jinja_node *n = conjunction(p);
    while (!hd_parser_failed(p) && hd_parser_accept(p, "or")) n = pair(p, HD_NODE_OR, 0, n, conjunction(p));
    return n;
}

hd_jinja_node *hd_parse_expression(hd_parser *p)
{
    if (!hd_parser_deeper(p)) return NULL;
    hd_jinja_node *n = hd_parse_or(p);
    while (!hd_parser_failed(p) && hd_parser_accept(p, "if")) {
        hd_jinja_node *all = hd_parser_node(p, HD_NODE_IF_ELSE);
        if (!all) return NULL;
        all->kid[1] = n;
        all->kid[0] = hd_parse_or(p);
        if (hd_parser_accept(p, "else")) all->kid[2] = hd_parse_expression(p);
        n = all;
    }
    p->depth--;
    return n;
}
