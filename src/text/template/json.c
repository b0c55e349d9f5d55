/* Values as JSON, as Python's json.dumps writes them, and the filter that does. */
#include <stdio.h>
#include <string.h>

#include "text/character.h"
#include "text/template/value.h"

typedef struct json_form {
    int indent; /* -1: one line */
    bool ascii, sorted;
    hd_jinja_string item, key; /* separators */
} json_form;

static void put_json(hd_jinja_run *r, hd_marked *to, hd_jinja_value v, const json_form *o, int level);

static void put(hd_marked *to, const char *text)
{
    hd_marked_add(to, text, NULL, strlen(text));
}

static void quoted(hd_marked *to, hd_jinja_string s, bool ascii)
{
    static const char from[] = "\"\\\n\r\t\f\b", into[] = "\"\\nrtfb";
    put(to, "\"");
    for (size_t i = 0, n; i < s.size; i += n) {
        int32_t point;
        char text[16] = "", c = s.at[i];
        const char *known = c ? strchr(from, c) : NULL;
        n = hd_character(s.at + i, s.size - i, &point);
        if (known)
            snprintf(text, sizeof text, "\\%c", into[known - from]);
        else if (ascii && point >= 0x10000)
            snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD7C0 + (unsigned)(point >> 10),
                     0xDC00 + (unsigned)(point & 0x3FF));
        else if (point < 0x20 || (ascii && point >= 0x7F && point != 0x7F))
            snprintf(text, sizeof text, "\\u%04x", (unsigned)point);
        char mark = s.mark ? s.mark[i] : HD_MARK_TEMPLATE;
        if (*text)
            hd_marked_fill(to, text, strlen(text), mark);
        else
            hd_marked_fill(to, s.at + i, n, mark);
    }
    put(to, "\"");
}

static void json_break(hd_marked *to, const json_form *o, int level)
{
    if (o->indent < 0) return;
    put(to, "\n");
    for (int i = 0; i < o->indent * level; i++) put(to, " ");
}

static void json_key(hd_jinja_run *r, hd_marked *to, hd_jinja_value key, const json_form *o)
{
    if (key.kind == HD_IS_STRING) {
        quoted(to, key.string, o->ascii);
        return;
    }
    put(to, "\"");
    put_json(r, to, key, o, 0);
    put(to, "\"");
}

/* The numbers of the members, in the order in which they are written. */
static size_t *json_order(hd_jinja_run *r, const hd_jinja_dict *d, bool sorted)
{
    size_t n = d->value.count, *order = hd_jinja_take(r, n, sizeof *order);
    for (size_t i = 0; order && i < n; i++) {
        size_t at = i;
        for (; sorted && at && hd_jinja_order(r, d->key.at[order[at - 1]], d->key.at[i]) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

static void json_members(hd_jinja_run *r, hd_marked *to, hd_jinja_value v, const json_form *o, int level)
{
    bool dict = v.kind == HD_IS_DICT;
    const hd_jinja_list *l = dict ? &v.dict->value : v.list;
    size_t *order = dict ? json_order(r, v.dict, o->sorted) : NULL;
    put(to, dict ? "{" : "[");
    for (size_t i = 0; i < l->count && !hd_jinja_failed(r); i++) {
        size_t which = order ? order[i] : i;
        if (i) hd_marked_add(to, o->item.at, o->item.mark, o->item.size);
        json_break(to, o, level + 1);
        if (dict) {
            json_key(r, to, v.dict->key.at[which], o);
            hd_marked_add(to, o->key.at, o->key.mark, o->key.size);
        }
        put_json(r, to, l->at[which], o, level + 1);
    }
    if (l->count) json_break(to, o, level);
    put(to, dict ? "}" : "]");
}

static void put_json(hd_jinja_run *r, hd_marked *to, hd_jinja_value v, const json_form *o, int level)
{
    if (hd_jinja_enter(r) && hd_jinja_charge(r, v.kind == HD_IS_STRING ? v.string.size / 64 : 0))
        switch (v.kind) {
        case HD_IS_NONE:
            put(to, "null");
            break;
        case HD_IS_BOOL:
            put(to, v.truth ? "true" : "false");
            break;
        case HD_IS_INT:
            hd_jinja_put_int(to, v.whole);
            break;
        case HD_IS_REAL:
            hd_jinja_put_real(to, v.real, true);
            break;
        case HD_IS_STRING:
            quoted(to, v.string, o->ascii);
            break;
        case HD_IS_LIST:
        case HD_IS_TUPLE:
        case HD_IS_DICT:
            json_members(r, to, v, o, level);
            break;
        default:
            hd_jinja_fail(r, "a %s cannot be written as JSON", hd_jinja_kind_name(v));
        }
    if (to->text.size > r->limit.bytes)
        hd_err_set(r->err, HD_ELIMIT, "%s, line %d: the text gets longer than %zu bytes", r->name, r->line,
                   r->limit.bytes);
    hd_jinja_leave(r);
}

hd_jinja_value hd_jinja_tojson(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a)
{
    hd_marked m = {0};
    json_form o = {.indent = (int)hd_jinja_int_argument(r, a, 1, "indent", -1),
                   .item = hd_jinja_literal(", ").string,
                   .key = hd_jinja_literal(": ").string};
    const hd_jinja_value *indent = hd_jinja_argument(a, 1, "indent"),
                         *ascii = hd_jinja_argument(a, 0, "ensure_ascii");
    const hd_jinja_value *between = hd_jinja_argument(a, 2, "separators"),
                         *sort = hd_jinja_argument(a, 3, "sort_keys");
    if (o.indent > 64) return hd_jinja_fail(r, "tojson indents by at most 64");
    if (indent && o.indent >= 0) o.item.size = 1;
    o.ascii = ascii && hd_jinja_truth(*ascii);
    o.sorted = sort && hd_jinja_truth(*sort);
    if (between && between->kind != HD_IS_NONE) {
        const hd_jinja_list *l = hd_jinja_items(r, *between);
        if (!l || l->count != 2 || l->at[0].kind != HD_IS_STRING || l->at[1].kind != HD_IS_STRING)
            return hd_jinja_fail(r, "the separators of tojson are two strings");
        o.item = l->at[0].string, o.key = l->at[1].string;
    }
    put_json(r, &m, v, &o, 0);
    return hd_jinja_taken(r, &m);
}
