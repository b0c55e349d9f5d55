/* The values of a rendering, and the rendering itself. Values lie in its arena and live until it ends. A
   failure is kept in the rendering: whatever is computed after it counts for nothing, so only loops look for
   it. */
#ifndef HD_TEXT_TEMPLATE_VALUE_H
#define HD_TEXT_TEMPLATE_VALUE_H

#include "base/json.h"
#include "text/template/marked.h"
#include "text/template/syntax/syntax.h"
#include "text/template/template.h"

typedef enum hd_jinja_kind {
    HD_IS_UNDEFINED, /* string: its name */
    HD_IS_NONE,
    HD_IS_BOOL,
    HD_IS_INT,
    HD_IS_REAL,
    HD_IS_STRING,
    HD_IS_LIST,
    HD_IS_TUPLE,
    HD_IS_ITERATOR, /* a list of which the length is not known in Jinja */
    HD_IS_DICT,
    HD_IS_NAMESPACE, /* dict */
    HD_IS_LOOP,
    HD_IS_MACRO,
    HD_IS_FUNCTION,
    HD_IS_METHOD
} hd_jinja_kind;

typedef struct hd_jinja_string {
    const char *at;
    const char *mark; /* an hd_mark a byte; NULL: all of the template */
    size_t size;
} hd_jinja_string;

typedef struct hd_jinja_value {
    hd_jinja_kind kind;
    union {
        bool truth;
        int64_t whole;
        double real;
        hd_jinja_string string;
        struct hd_jinja_list *list;
        struct hd_jinja_dict *dict;
        struct hd_jinja_loop *loop;
        struct hd_jinja_macro *macro;
        struct hd_jinja_bound *method;
        const struct hd_jinja_function *function;
    };
} hd_jinja_value;

typedef struct hd_jinja_list {
    hd_jinja_value *at;
    size_t count, room;
} hd_jinja_list;

typedef struct hd_jinja_dict { /* in the order of their coming */
    hd_jinja_list key, value;
} hd_jinja_dict;

typedef struct hd_jinja_loop {
    const hd_jinja_list *items;
    size_t index; /* from 0 */
    int depth;
} hd_jinja_loop;

typedef struct hd_jinja_scope {
    hd_jinja_dict names;
    struct hd_jinja_scope *outer;
} hd_jinja_scope;

typedef struct hd_jinja_macro {
    const hd_jinja_node *node;
    hd_jinja_scope *scope; /* where it was made */
} hd_jinja_macro;

/* Arguments of a call, a filter or a test. */
typedef struct hd_jinja_arguments {
    hd_jinja_list given; /* by place */
    hd_jinja_dict named;
} hd_jinja_arguments;

typedef struct hd_jinja_run {
    const char *name; /* of the template */
    hd_arena arena;
    hd_template_opt limit;
    size_t steps, memory;
    int depth, line, loops;
    hd_jinja_scope *scope;
    hd_marked *out;
    hd_jinja_value hole; /* what was captured and goes through filters */
    hd_err *err;
} hd_jinja_run;

typedef struct hd_jinja_function {
    const char *name;
    hd_jinja_value (*call)(hd_jinja_run *r, const hd_jinja_arguments *a);
} hd_jinja_function;

typedef struct hd_jinja_method { /* of strings or dicts; filters and tests have the same form */
    const char *name;
    hd_jinja_value (*call)(hd_jinja_run *r, hd_jinja_value self, const hd_jinja_arguments *a);
} hd_jinja_method;

typedef struct hd_jinja_bound {
    hd_jinja_value self;
    const hd_jinja_method *method;
} hd_jinja_bound;

/* -- the rendering -- */

hd_jinja_value hd_jinja_fail(hd_jinja_run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool hd_jinja_failed(const hd_jinja_run *r);
bool hd_jinja_charge(hd_jinja_run *r, size_t steps); /* false: failed, now or before */
bool hd_jinja_enter(hd_jinja_run *r);                /* one level deeper; false: failed */
void hd_jinja_leave(hd_jinja_run *r);
void *hd_jinja_take(hd_jinja_run *r, size_t count, size_t size); /* zeroed */

/* -- making values -- */

#define HD_JINJA_NONE      ((hd_jinja_value){.kind = HD_IS_NONE})
#define HD_JINJA_UNDEFINED ((hd_jinja_value){.kind = HD_IS_UNDEFINED})
hd_jinja_value hd_jinja_bool(bool b);
hd_jinja_value hd_jinja_int(int64_t n);
hd_jinja_value hd_jinja_real(double x);
hd_jinja_value hd_jinja_literal(const char *text);
hd_jinja_value hd_jinja_part(hd_jinja_string s, size_t from, size_t to);
hd_jinja_value hd_jinja_taken(hd_jinja_run *r, hd_marked *m); /* a copy; releases m */
hd_jinja_value hd_jinja_new_list(hd_jinja_run *r, hd_jinja_kind kind);
hd_jinja_value hd_jinja_new_dict(hd_jinja_run *r, hd_jinja_kind kind);
hd_jinja_value hd_jinja_pair(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b); /* a tuple */
void hd_jinja_add(hd_jinja_run *r, hd_jinja_list *to, hd_jinja_value v);
void hd_jinja_set(hd_jinja_run *r, hd_jinja_dict *d, hd_jinja_value key, hd_jinja_value v);
const hd_jinja_value *hd_jinja_get(hd_jinja_run *r, const hd_jinja_dict *d, hd_jinja_value key);
const hd_jinja_value *hd_jinja_get_name(const hd_jinja_dict *d, const char *name, size_t size);
hd_jinja_value hd_jinja_of_json(hd_jinja_run *r, const json_t *j, char mark);

/* -- asking values -- */

const char *hd_jinja_kind_name(hd_jinja_value v);
bool hd_jinja_is_list(hd_jinja_value v); /* a list, a tuple or an iterator */
bool hd_jinja_is_text(hd_jinja_value v, const char *text);
bool hd_jinja_truth(hd_jinja_value v);
bool hd_jinja_number(hd_jinja_value v, double *x); /* false: none */
bool hd_jinja_whole(hd_jinja_value v, int64_t *n); /* int or bool */
bool hd_jinja_equal(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b);
int hd_jinja_order(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b); /* < 0, 0, > 0; may fail */
bool hd_jinja_contains(hd_jinja_run *r, hd_jinja_value in, hd_jinja_value what);
/* The items that a loop sees; NULL after a failure. */
const hd_jinja_list *hd_jinja_items(hd_jinja_run *r, hd_jinja_value v);

/* -- texts -- */

bool hd_jinja_is_space(int32_t point); /* as Python has it */
void hd_jinja_put_point(hd_text *to, int32_t point);
size_t hd_jinja_points(hd_jinja_string s);                /* characters of it */
size_t hd_jinja_byte_of(hd_jinja_string s, size_t point); /* where a character begins */
hd_jinja_string hd_jinja_stripped(hd_jinja_string s, bool left, bool right, const hd_jinja_string *set);
void hd_jinja_print(hd_jinja_run *r, hd_marked *to, hd_jinja_value v, bool quoted); /* str() or repr() */
hd_jinja_string hd_jinja_text_of(hd_jinja_run *r, hd_jinja_value v);                /* str() */
void hd_jinja_put_real(hd_marked *to, double x, bool json);
void hd_jinja_put_int(hd_marked *to, int64_t n);
hd_jinja_value hd_jinja_tojson(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a); /* a filter */

/* -- operations -- */

hd_jinja_value hd_jinja_binary(hd_jinja_run *r, int op, hd_jinja_value a, hd_jinja_value b);
bool hd_jinja_compare(hd_jinja_run *r, int op, hd_jinja_value a, hd_jinja_value b);
hd_jinja_value hd_jinja_member(hd_jinja_run *r, hd_jinja_value v, const char *name, size_t size);
hd_jinja_value hd_jinja_item(hd_jinja_run *r, hd_jinja_value v, hd_jinja_value index);
hd_jinja_value hd_jinja_slice(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_value part[3]);
hd_jinja_value hd_jinja_loop_member(hd_jinja_run *r, const hd_jinja_loop *l, const char *name, size_t size);
const hd_jinja_method *hd_jinja_method_of(hd_jinja_value v, const char *name, size_t size);
const hd_jinja_method *hd_jinja_find(const hd_jinja_method *list, const char *name, size_t size);
const hd_jinja_function *hd_jinja_function_of(const char *name, size_t size);
hd_jinja_value hd_jinja_filter(hd_jinja_run *r, const char *name, size_t size, hd_jinja_value v,
                               const hd_jinja_arguments *a);
bool hd_jinja_test(hd_jinja_run *r, const char *name, size_t size, hd_jinja_value v,
                   const hd_jinja_arguments *a);
hd_jinja_value hd_jinja_call(hd_jinja_run *r, hd_jinja_value f, const hd_jinja_arguments *a);
hd_jinja_value hd_jinja_call_macro(hd_jinja_run *r, const hd_jinja_macro *m, const hd_jinja_arguments *a);
hd_jinja_value hd_jinja_evaluate(hd_jinja_run *r, const hd_jinja_node *n);
void hd_jinja_assign(hd_jinja_run *r, hd_jinja_scope *s, const char *name, size_t size, hd_jinja_value v);
void hd_jinja_run_body(hd_jinja_run *r, const hd_jinja_node *n);

/* The argument of this place or name; NULL: it is not given. */
const hd_jinja_value *hd_jinja_argument(const hd_jinja_arguments *a, size_t place, const char *name);
/* The same as a text; fails where it is none, and where it is not given if there is no `otherwise`. */
hd_jinja_string hd_jinja_text_argument(hd_jinja_run *r, const hd_jinja_arguments *a, size_t place,
                                       const char *name, const char *otherwise);
int64_t hd_jinja_int_argument(hd_jinja_run *r, const hd_jinja_arguments *a, size_t place, const char *name,
                              int64_t otherwise);

#endif
