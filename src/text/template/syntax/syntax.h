/* Tokens and the tree of a template. */
#ifndef HD_TEXT_TEMPLATE_SYNTAX_SYNTAX_H
#define HD_TEXT_TEMPLATE_SYNTAX_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef enum hd_jinja_token_kind {
    HD_TOKEN_DATA,
    HD_TOKEN_PRINT,
    HD_TOKEN_PRINT_END,
    HD_TOKEN_BLOCK,
    HD_TOKEN_BLOCK_END,
    HD_TOKEN_NAME,
    HD_TOKEN_STRING,
    HD_TOKEN_INT,
    HD_TOKEN_REAL,
    HD_TOKEN_SIGN, /* punctuation; op */
    HD_TOKEN_END
} hd_jinja_token_kind;

#define HD_SIGN2(a, b) ((a) | (b) << 8) /* an op of two characters */

typedef struct hd_jinja_token {
    hd_jinja_token_kind kind;
    int line;
    const char *at; /* of data, names and strings, unescaped */
    size_t size;
    int64_t whole;
    double real;
    int op;
} hd_jinja_token;

typedef struct hd_jinja_tokens {
    hd_jinja_token *at; /* the last is HD_TOKEN_END */
    size_t count, room;
} hd_jinja_tokens;

/* name: of the template. Tokens lie in hd_mem, their texts in the arena; both outlive a failure. */
hd_status hd_jinja_lex(hd_jinja_tokens *out, hd_arena *arena, const char *source, size_t size,
                       const char *name, hd_err *err);

/* What the children of a node are is said beside its kind. */
typedef enum hd_jinja_node_kind {
    /* expressions */
    HD_NODE_NONE,
    HD_NODE_BOOL,    /* whole */
    HD_NODE_INT,     /* whole */
    HD_NODE_REAL,    /* real */
    HD_NODE_STRING,  /* text */
    HD_NODE_NAME,    /* text */
    HD_NODE_LIST,    /* 0: items */
    HD_NODE_TUPLE,   /* 0: items */
    HD_NODE_DICT,    /* 0: key, value, key, value, ... */
    HD_NODE_IF_ELSE, /* 0: condition, 1: then, 2: else or NULL */
    HD_NODE_OR,
    HD_NODE_AND,
    HD_NODE_NOT,
    HD_NODE_COMPARE, /* 0: first, 1: list of nodes with op and child 0 */
    HD_NODE_BINARY,  /* op */
    HD_NODE_NEGATIVE,
    HD_NODE_POSITIVE,
    HD_NODE_CONCAT,   /* 0: list */
    HD_NODE_MEMBER,   /* 0: object, text */
    HD_NODE_ITEM,     /* 0: object, 1: index */
    HD_NODE_SLICE,    /* 0: object, 1: first, 2: end, 3: step; each may be NULL */
    HD_NODE_CALL,     /* 0: function, 1: arguments */
    HD_NODE_FILTER,   /* 0: input, 1: arguments, text */
    HD_NODE_TEST,     /* 0: input, 1: arguments, text */
    HD_NODE_ARGUMENT, /* 0: value, text: its name, or size 0; op '*': as many as it has, "**": by name */
    /* statements */
    HD_NODE_DATA,    /* text */
    HD_NODE_PRINT,   /* 0 */
    HD_NODE_IF,      /* 0: condition, 1: body, 2: body of else, which may be one HD_NODE_IF */
    HD_NODE_FOR,     /* 0: target, 1: what, 2: condition or NULL, 3: body, 4: else */
    HD_NODE_SET,     /* 0: target, 1: value */
    HD_NODE_CAPTURE, /* 0: target, 1: body, 2: filters around HD_NODE_HOLE, or NULL */
    HD_NODE_HOLE,    /* what was captured */
    HD_NODE_MACRO,   /* text, 0: parameters (arguments without a value have none), 1: body, op: hd_parser.rest
                      */
    HD_NODE_GROUP,   /* 0: body, which has variables of its own */
    HD_NODE_BREAK,
    HD_NODE_CONTINUE
} hd_jinja_node_kind;

enum { HD_NODE_KIDS = 5 };

typedef struct hd_jinja_node {
    hd_jinja_node_kind kind;
    int line, op;
    const char *text;
    size_t size;
    int64_t whole;
    double real;
    struct hd_jinja_node *kid[HD_NODE_KIDS], *next; /* next: of the list that it is in */
} hd_jinja_node;

/* The statements of a template. */
hd_status hd_jinja_parse(hd_jinja_node **out, hd_arena *arena, const hd_jinja_tokens *tokens,
                         const char *name, hd_err *err);

/* -- between the files of the parser -- */

enum { HD_PARSER_DEPTH = 150, HD_REST_GIVEN = 1, HD_REST_NAMED = 2 };

typedef struct hd_parser {
    hd_arena *arena;
    const hd_jinja_token *at;
    const char *name;
    int depth, loops;
    int rest;    /* whether "varargs" (HD_REST_GIVEN) and "kwargs" (HD_REST_NAMED) were named */
    hd_err *err; /* once it holds an error, nodes are NULL and nothing is read */
} hd_parser;

hd_jinja_node *hd_parser_node(hd_parser *p, hd_jinja_node_kind kind);
hd_jinja_node *hd_parser_pair(hd_parser *p, hd_jinja_node_kind kind, int op, hd_jinja_node *a,
                              hd_jinja_node *b);
void hd_parser_fail(hd_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool hd_parser_failed(const hd_parser *p);
bool hd_parser_deeper(hd_parser *p);                     /* false: too deep */
bool hd_parser_is(const hd_parser *p, const char *word); /* a name or a sign */
bool hd_parser_at_sign(const hd_parser *p, int op);
bool hd_parser_accept(hd_parser *p, const char *word);
void hd_parser_expect(hd_parser *p, const char *word);
void hd_parser_take_name(hd_parser *p, hd_jinja_node *to);
hd_jinja_node *hd_parse_expression(hd_parser *p);
hd_jinja_node *hd_parse_or(hd_parser *p);        /* an expression without "if" */
hd_jinja_node *hd_parse_tuple(hd_parser *p);     /* or one expression */
hd_jinja_node *hd_parse_target(hd_parser *p);    /* names, tuples of them, members of namespaces */
hd_jinja_node *hd_parse_arguments(hd_parser *p); /* behind "(", through ")" */
hd_jinja_node *hd_parse_filters(hd_parser *p, hd_jinja_node *input);
hd_jinja_node *hd_parse_primary(hd_parser *p);
hd_jinja_node *hd_parse_postfix(hd_parser *p, hd_jinja_node *n); /* members, items and calls of n */

#endif
