/* The parser's own tools, and statements. */
#include <stdio.h>
#include <string.h>

#include "text/template/syntax/syntax.h"

hd_jinja_node *hd_parser_node(hd_parser *p, hd_jinja_node_kind kind)
{
    hd_jinja_node *n = hd_parser_failed(p) ? NULL : hd_arena_array(p->arena, 1, sizeof *n, p->err);
    if (n) n->kind = kind, n->line = p->at->line;
    return n;
}

hd_jinja_node *hd_parser_pair(hd_parser *p, hd_jinja_node_kind kind, int op, hd_jinja_node *a,
                              hd_jinja_node *b)
{
    hd_jinja_node *n = hd_parser_node(p, kind);
    if (!n) return NULL;
    n->op = op, n->kid[0] = a, n->kid[1] = b;
    return n;
}

bool hd_parser_failed(const hd_parser *p)
{
    return p->err->status;
}

void hd_parser_fail(hd_parser *p, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int size = p->at->size < 40 ? (int)p->at->size : 40;
    bool shown = p->at->kind != HD_TOKEN_END && size && p->at->kind != HD_TOKEN_DATA;
    hd_err_set(p->err, HD_EFORMAT, "%s, line %d: %s%s%.*s%s", p->name, p->at->line, text,
               shown ? ", at '" : "", shown ? size : 0, shown ? p->at->at : "", shown ? "'" : "");
}

bool hd_parser_deeper(hd_parser *p)
{
    if (p->depth < HD_PARSER_DEPTH)
        p->depth++;
    else
        hd_parser_fail(p, "nested too deeply");
    return !hd_parser_failed(p);
}

bool hd_parser_is(const hd_parser *p, const char *word)
{
    return (p->at->kind == HD_TOKEN_NAME || p->at->kind == HD_TOKEN_SIGN) && p->at->size == strlen(word) &&
           !memcmp(p->at->at, word, p->at->size);
}

bool hd_parser_at_sign(const hd_parser *p, int op)
{
    return p->at->kind == HD_TOKEN_SIGN && p->at->op == op;
}

bool hd_parser_accept(hd_parser *p, const char *word)
{
    bool is = !hd_parser_failed(p) && hd_parser_is(p, word);
    p->at += is;
    return is;
}

void hd_parser_expect(hd_parser *p, const char *word)
{
    if (!hd_parser_accept(p, word)) hd_parser_fail(p, "'%s' is expected", word);
}

void hd_parser_take_name(hd_parser *p, hd_jinja_node *to)
{
    if (p->at->kind == HD_TOKEN_NAME)
        to->text = p->at->at, to->size = p->at->size, p->at++;
    else
        hd_parser_fail(p, "a name is expected");
}

static void block_end(hd_parser *p)
{
    if (p->at->kind == HD_TOKEN_BLOCK_END)
        p->at++;
    else
        hd_parser_fail(p, "'%%}' is expected");
}

static hd_jinja_node *statements(hd_parser *p, const char *const *ends);

/* The statements up to "{% end %}", which is read. */
static hd_jinja_node *body_to(hd_parser *p, const char *end)
{
    block_end(p);
    hd_jinja_node *n = statements(p, (const char *const[]){end, NULL});
    hd_parser_expect(p, end);
    return n;
}

/* Behind "if" or "elif". */
static hd_jinja_node *parse_if(hd_parser *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    hd_jinja_node *first = NULL, **to = &first;
    for (;;) {
        hd_jinja_node *n = hd_parser_node(p, HD_NODE_IF);
        if (!n) return NULL;
        *to = n, to = &n->kid[2];
        n->kid[0] = hd_parse_tuple(p);
        block_end(p);
        n->kid[1] = statements(p, ends);
        if (hd_parser_accept(p, "elif")) continue;
        if (hd_parser_accept(p, "else"))
            n->kid[2] = body_to(p, "endif");
        else
            hd_parser_expect(p, "endif");
        return first;
    }
}

static hd_jinja_node *parse_for(hd_parser *p)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    hd_jinja_node *n = hd_parser_node(p, HD_NODE_FOR);
    if (!n) return NULL;
    n->kid[0] = hd_parse_target(p);
    hd_parser_expect(p, "in");
    n->kid[1] = hd_parse_or(p);
    if (!hd_parser_failed(p) && hd_parser_is(p, ","))
        hd_parser_fail(p, "put a list without brackets into '[]'");
    if (hd_parser_accept(p, "if")) n->kid[2] = hd_parse_expression(p);
    if (hd_parser_is(p, "recursive")) hd_parser_fail(p, "recursive loops are not supported");
    block_end(p);
    p->loops++;
    n->kid[3] = statements(p, ends);
    p->loops--;
    if (hd_parser_accept(p, "else"))
        n->kid[4] = body_to(p, "endfor");
    else
        hd_parser_expect(p, "endfor");
    return n;
}

static hd_jinja_node *parse_set(hd_parser *p)
{
    hd_jinja_node *n = hd_parser_node(p, HD_NODE_SET);
    if (!n) return NULL;
    n->kid[0] = hd_parse_target(p);
    if (hd_parser_accept(p, "=")) {
        n->kid[1] = hd_parse_tuple(p);
        return n;
    }
    n->kind = HD_NODE_CAPTURE;
    if (hd_parser_is(p, "|")) n->kid[2] = hd_parse_filters(p, hd_parser_node(p, HD_NODE_HOLE));
    n->kid[1] = body_to(p, "endset");
    return n;
}

static hd_jinja_node *parse_macro(hd_parser *p)
{
    hd_jinja_node *n = hd_parser_node(p, HD_NODE_MACRO), **to = n ? &n->kid[0] : NULL;
    if (!n) return NULL;
    hd_parser_take_name(p, n);
    hd_parser_expect(p, "(");
    while (!hd_parser_failed(p) && !hd_parser_is(p, ")")) {
        hd_jinja_node *a = hd_parser_node(p, HD_NODE_ARGUMENT);
        if (!a) return NULL;
        hd_parser_take_name(p, a);
        if (hd_parser_accept(p, "=")) a->kid[0] = hd_parse_expression(p);
        *to = a, to = &a->next;
        if (!hd_parser_accept(p, ",")) break;
    }
    hd_parser_expect(p, ")");
    int loops = p->loops, rest = p->rest;
    p->loops = p->rest = 0;
    n->kid[1] = body_to(p, "endmacro");
    n->op = p->rest;
    p->loops = loops, p->rest |= rest;
    return n;
}

static hd_jinja_node *parse_generation(hd_parser *p)
{
    hd_jinja_node *n = hd_parser_node(p, HD_NODE_GROUP);
    if (n) n->kid[0] = body_to(p, "endgeneration");
    return n;
}

static hd_jinja_node *jump(hd_parser *p, hd_jinja_node_kind kind)
{
    if (!p->loops) hd_parser_fail(p, "'break' and 'continue' belong into a loop");
    return hd_parser_node(p, kind);
}

static hd_jinja_node *parse_break(hd_parser *p)
{
    return jump(p, HD_NODE_BREAK);
}

static hd_jinja_node *parse_continue(hd_parser *p)
{
    return jump(p, HD_NODE_CONTINUE);
}

#define STATEMENT_LIST(X) X(if) X(for) X(set) X(macro) X(generation) X(break) X(continue)

static hd_jinja_node *statement(hd_parser *p)
{
    static const struct {
        const char *name;
        hd_jinja_node *(*parse)(hd_parser *);
    } known[] = {
#define X(name) {#name, parse_##name},
        STATEMENT_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (hd_parser_accept(p, known[i].name)) {
            hd_jinja_node *n = known[i].parse(p);
            block_end(p);
            return n;
        }
    hd_parser_fail(p, "this statement is not supported");
    return NULL;
}

static bool ends_here(const hd_parser *p, const char *const *ends)
{
    for (; *ends; ends++)
        if (hd_parser_is(p, *ends)) return true;
    return false;
}

/* Up to one of the names, which is not read: what comes before it is. ends NULL: up to the end. */
static hd_jinja_node *statements(hd_parser *p, const char *const *ends)
{
    hd_jinja_node *first = NULL, **to = &first;
    if (!hd_parser_deeper(p)) return NULL;
    while (!hd_parser_failed(p)) {
        hd_jinja_node *n = NULL;
        if (p->at->kind == HD_TOKEN_END) {
            if (ends) hd_parser_fail(p, "'{%% %s %%}' is missing", ends[0]);
            break;
        }
        if (p->at->kind == HD_TOKEN_DATA) {
            n = hd_parser_node(p, HD_NODE_DATA);
            if (n) n->text = p->at->at, n->size = p->at->size;
            p->at++;
        } else if (p->at->kind == HD_TOKEN_PRINT) {
            p->at++;
            n = hd_parser_node(p, HD_NODE_PRINT);
            if (n) n->kid[0] = hd_parse_tuple(p);
            if (p->at->kind == HD_TOKEN_PRINT_END)
                p->at++;
            else
                hd_parser_fail(p, "'}}' is expected");
        } else {
            p->at++;
            if (ends && ends_here(p, ends)) break;
            n = statement(p);
        }
        if (!n) break;
        *to = n, to = &n->next;
    }
    p->depth--;
    return first;
}

hd_status hd_jinja_parse(hd_jinja_node **out, hd_arena *arena, const hd_jinja_tokens *tokens,
                         const char *name, hd_err *err)
{
    hd_parser p = {.arena = arena, .at = tokens->at, .name = name, .err = err};
    *out = statements(&p, NULL);
    return err->status;
}
