/* The parser of operators, a function for each level of precedence, in the order of Jinja's own. */
#include <string.h>

#include "text/template/syntax/syntax.h"

static hd_jinja_node *unary(hd_parser *p, bool filters)
{
    hd_jinja_node *n;
    if (!hd_parser_deeper(p)) return NULL;
    if (hd_parser_accept(p, "-"))
        n = hd_parser_pair(p, HD_NODE_NEGATIVE, 0, unary(p, false), NULL);
    else if (hd_parser_accept(p, "+"))
        n = hd_parser_pair(p, HD_NODE_POSITIVE, 0, unary(p, false), NULL);
    else
        n = hd_parse_primary(p);
    n = hd_parse_postfix(p, n);
    if (filters) n = hd_parse_filters(p, n);
    p->depth--;
    return n;
}

static hd_jinja_node *power(hd_parser *p)
{
    hd_jinja_node *n = unary(p, true);
    while (!hd_parser_failed(p) && hd_parser_at_sign(p, HD_SIGN2('*', '*'))) {
        p->at++;
        n = hd_parser_pair(p, HD_NODE_BINARY, HD_SIGN2('*', '*'), n, unary(p, true));
    }
    return n;
}

static hd_jinja_node *product(hd_parser *p)
{
    hd_jinja_node *n = power(p);
    while (!hd_parser_failed(p) && (hd_parser_at_sign(p, '*') || hd_parser_at_sign(p, '/') ||
                                    hd_parser_at_sign(p, '%') || hd_parser_at_sign(p, HD_SIGN2('/', '/')))) {
        int op = p->at++->op;
        n = hd_parser_pair(p, HD_NODE_BINARY, op, n, power(p));
    }
    return n;
}

static hd_jinja_node *concat(hd_parser *p)
{
    hd_jinja_node *n = product(p), *all = NULL, *last = n;
    while (!hd_parser_failed(p) && hd_parser_accept(p, "~")) {
        if (!all) all = hd_parser_pair(p, HD_NODE_CONCAT, 0, n, NULL);
        if (all) last = last->next = product(p);
    }
    return all ? all : n;
}

static hd_jinja_node *sum(hd_parser *p)
{
    hd_jinja_node *n = concat(p);
    while (!hd_parser_failed(p) && (hd_parser_at_sign(p, '+') || hd_parser_at_sign(p, '-'))) {
        int op = p->at++->op;
        n = hd_parser_pair(p, HD_NODE_BINARY, op, n, concat(p));
    }
    return n;
}

/* "in" and "not in" have these codes. */
static int comparison(hd_parser *p)
{
    static const int known[] = {
        HD_SIGN2('=', '='), HD_SIGN2('!', '='), HD_SIGN2('<', '='), HD_SIGN2('>', '='), '<', '>'};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (hd_parser_at_sign(p, known[i])) return p->at++->op;
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
        if (!all) all = hd_parser_pair(p, HD_NODE_COMPARE, 0, n, NULL), to = all ? &all->kid[1] : NULL;
        hd_jinja_node *next = hd_parser_pair(p, HD_NODE_COMPARE, op, sum(p), NULL);
        if (!to || !next) return NULL;
        *to = next, to = &next->next;
    }
    return all ? all : n;
}

static hd_jinja_node *negation(hd_parser *p)
{
    if (!hd_parser_accept(p, "not")) return compare(p);
    if (!hd_parser_deeper(p)) return NULL;
    hd_jinja_node *n = hd_parser_pair(p, HD_NODE_NOT, 0, negation(p), NULL);
    p->depth--;
    return n;
}

static hd_jinja_node *conjunction(hd_parser *p)
{
    hd_jinja_node *n = negation(p);
    while (!hd_parser_failed(p) && hd_parser_accept(p, "and"))
        n = hd_parser_pair(p, HD_NODE_AND, 0, n, negation(p));
    return n;
}

hd_jinja_node *hd_parse_or(hd_parser *p)
{
    hd_jinja_node *n = conjunction(p);
    while (!hd_parser_failed(p) && hd_parser_accept(p, "or"))
        n = hd_parser_pair(p, HD_NODE_OR, 0, n, conjunction(p));
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
