/* Methods of strings and dicts. */
#include <string.h>
#include <utf8proc.h>

#include "text/character.h"
#include "text/template/value.h"

#define METHOD(name) \
    static hd_jinja_value name(hd_jinja_run *r, hd_jinja_value self, const hd_jinja_arguments *a)

static hd_jinja_value strip_sides(hd_jinja_run *r, hd_jinja_value self, const hd_jinja_arguments *a,
                                  bool left, bool right)
{
    const hd_jinja_value *v = hd_jinja_argument(a, 0, "chars");
    hd_jinja_string set = {0};
    bool given = v && v->kind != HD_IS_NONE;
    if (given) set = hd_jinja_text_argument(r, a, 0, "chars", NULL);
    size_t work; /* each character may be compared with all of the set */
    if (__builtin_mul_overflow(self.string.size, given ? set.size : 1, &work)) work = SIZE_MAX;
    if (!hd_jinja_charge(r, work / 64)) return self;
    hd_jinja_string s = hd_jinja_stripped(self.string, left, right, given ? &set : NULL);
    return hd_jinja_part(s, 0, s.size);
}

METHOD(m_strip)
{
    return strip_sides(r, self, a, true, true);
}

METHOD(m_lstrip)
{
    return strip_sides(r, self, a, true, false);
}

METHOD(m_rstrip)
{
    return strip_sides(r, self, a, false, true);
}

/* Whether it begins or ends with a string, or with one of a tuple. */
static hd_jinja_value has_at(hd_jinja_run *r, hd_jinja_string s, const hd_jinja_arguments *a, bool at_end)
{
    const hd_jinja_value *what = hd_jinja_argument(a, 0, NULL);
    hd_jinja_list one = {(hd_jinja_value *)what, 1, 1};
    const hd_jinja_list *all = what && what->kind == HD_IS_TUPLE ? what->list : &one;
    bool has = false;
    for (size_t i = 0; what && i < all->count && !has; i++) {
        hd_jinja_string x = all->at[i].string;
        if (all->at[i].kind != HD_IS_STRING) return hd_jinja_fail(r, "startswith and endswith take strings");
        has = x.size <= s.size && !memcmp(s.at + (at_end ? s.size - x.size : 0), x.at, x.size);
    }
    return what ? hd_jinja_bool(has) : hd_jinja_fail(r, "startswith and endswith take a string");
}

METHOD(m_startswith)
{
    return has_at(r, self.string, a, false);
}

METHOD(m_endswith)
{
    return has_at(r, self.string, a, true);
}

METHOD(m_replace)
{
    hd_jinja_string s = self.string, old = hd_jinja_text_argument(r, a, 0, "old", NULL);
    hd_jinja_string new = hd_jinja_text_argument(r, a, 1, "new", NULL);
    int64_t left = hd_jinja_int_argument(r, a, 2, "count", -1);
    hd_marked m = {0};
    size_t at = 0;
    while (at <= s.size && left && hd_jinja_charge(r, 1)) {
        const char *hit = memmem(s.at + at, s.size - at, old.at, old.size);
        if (!hit) break;
        size_t place = (size_t)(hit - s.at);
        hd_jinja_print(r, &m, hd_jinja_part(s, at, place), false);
        hd_jinja_print(r, &m, hd_jinja_part(new, 0, new.size), false);
        at = place + old.size;
        left -= left > 0;
        if (!old.size) { /* between all characters */
            int32_t point;
            if (at == s.size) break;
            size_t n = hd_character(s.at + at, s.size - at, &point);
            hd_jinja_print(r, &m, hd_jinja_part(s, at, at + n), false);
            at += n;
        }
    }
    if (at < s.size) hd_jinja_print(r, &m, hd_jinja_part(s, at, s.size), false);
    return hd_jinja_taken(r, &m);
}

static void split_at_spaces(hd_jinja_run *r, hd_jinja_list *to, hd_jinja_string s, int64_t left)
{
    s = hd_jinja_stripped(s, true, false, NULL);
    while (s.size && hd_jinja_charge(r, 1)) {
        size_t end = 0, n;
        int32_t point;
        for (; end < s.size; end += n) {
            n = hd_character(s.at + end, s.size - end, &point);
            if (hd_jinja_is_space(point)) break;
        }
        if (!left) end = s.size;
        hd_jinja_value v = hd_jinja_part(s, 0, end);
        if (!left) v.string = hd_jinja_stripped(v.string, false, true, NULL);
        hd_jinja_add(r, to, v);
        s = hd_jinja_stripped(hd_jinja_part(s, end, s.size).string, true, false, NULL);
        left -= left > 0;
    }
}

METHOD(m_split)
{
    hd_jinja_string s = self.string;
    const hd_jinja_value *by = hd_jinja_argument(a, 0, "sep");
    int64_t left = hd_jinja_int_argument(r, a, 1, "maxsplit", -1);
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    if (hd_jinja_failed(r)) return all;
    if (!by || by->kind == HD_IS_NONE) {
        split_at_spaces(r, all.list, s, left);
        return all;
    }
    hd_jinja_string sep = hd_jinja_text_argument(r, a, 0, "sep", NULL);
    if (!sep.size) return hd_jinja_fail(r, "split by an empty string");
    for (size_t at = 0; hd_jinja_charge(r, 1);) {
        const char *hit = left ? memmem(s.at + at, s.size - at, sep.at, sep.size) : NULL;
        size_t end = hit ? (size_t)(hit - s.at) : s.size;
        hd_jinja_add(r, all.list, hd_jinja_part(s, at, end));
        if (!hit) break;
        at = end + sep.size;
        left -= left > 0;
    }
    return all;
}

METHOD(m_splitlines)
{
    hd_jinja_string s = self.string;
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    (void)a;
    for (size_t at = 0; at < s.size && hd_jinja_charge(r, 1);) {
        size_t end = at;
        while (end < s.size && s.at[end] != '\n' && s.at[end] != '\r') end++;
        hd_jinja_add(r, all.list, hd_jinja_part(s, at, end));
        at = end + 1 + (end + 1 < s.size && s.at[end] == '\r' && s.at[end + 1] == '\n');
    }
    return all;
}

typedef enum cased { LOWER, UPPER, TITLE, CAPITAL } cased;

/* The text in other letters; a letter keeps its mark. */
static hd_jinja_value in_case(hd_jinja_run *r, hd_jinja_string s, cased how)
{
    hd_marked m = {0};
    bool first = true;
    hd_jinja_charge(r, s.size / 8);
    for (size_t i = 0, n; i < s.size && !hd_jinja_failed(r); i += n) {
        int32_t point;
        n = hd_character(s.at + i, s.size - i, &point);
        bool upper = how == UPPER || (first && how != LOWER);
        char mark = s.mark ? s.mark[i] : HD_MARK_TEMPLATE;
        hd_text one = {0};
        if (point == 0xDF && upper)
            hd_text_put(&one, how == UPPER ? "SS" : "Ss");
        else
            hd_jinja_put_point(&one, upper ? utf8proc_toupper(point) : utf8proc_tolower(point));
        if (one.data) hd_marked_fill(&m, one.data, one.size, mark);
        hd_text_status(&one, r->err);
        hd_text_release(&one);
        first = how == TITLE && !hd_is_letter(point);
    }
    return hd_jinja_taken(r, &m);
}

METHOD(m_lower)
{
    (void)a;
    return in_case(r, self.string, LOWER);
}

METHOD(m_upper)
{
    (void)a;
    return in_case(r, self.string, UPPER);
}

METHOD(m_title)
{
    (void)a;
    return in_case(r, self.string, TITLE);
}

METHOD(m_capitalize)
{
    (void)a;
    return in_case(r, self.string, CAPITAL);
}

METHOD(m_find)
{
    hd_jinja_string s = self.string, what = hd_jinja_text_argument(r, a, 0, "sub", NULL);
    const char *hit = memmem(s.at, s.size, what.at, what.size);
    hd_jinja_charge(r, s.size / 64);
    return hd_jinja_int(hit ? (int64_t)hd_jinja_points(hd_jinja_part(s, 0, (size_t)(hit - s.at)).string)
                            : -1);
}

METHOD(m_join)
{
    const hd_jinja_value *what = hd_jinja_argument(a, 0, "iterable");
    const hd_jinja_list *l = what ? hd_jinja_items(r, *what) : NULL;
    hd_marked m = {0};
    for (size_t i = 0; l && i < l->count && !hd_jinja_failed(r); i++) {
        if (l->at[i].kind != HD_IS_STRING) hd_jinja_fail(r, "join of a %s", hd_jinja_kind_name(l->at[i]));
        if (i) hd_jinja_print(r, &m, self, false);
        hd_jinja_print(r, &m, l->at[i], false);
    }
    return l ? hd_jinja_taken(r, &m) : hd_jinja_fail(r, "join takes a list");
}

METHOD(m_items)
{
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    (void)a;
    for (size_t i = 0; i < self.dict->value.count && !hd_jinja_failed(r); i++)
        hd_jinja_add(r, all.list, hd_jinja_pair(r, self.dict->key.at[i], self.dict->value.at[i]));
    return all;
}

static hd_jinja_value copied(hd_jinja_run *r, const hd_jinja_list *l)
{
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    for (size_t i = 0; i < l->count && !hd_jinja_failed(r); i++) hd_jinja_add(r, all.list, l->at[i]);
    return all;
}

METHOD(m_keys)
{
    (void)a;
    return copied(r, &self.dict->key);
}

METHOD(m_values)
{
    (void)a;
    return copied(r, &self.dict->value);
}

METHOD(m_get)
{
    const hd_jinja_value *key = hd_jinja_argument(a, 0, NULL), *otherwise = hd_jinja_argument(a, 1, NULL);
    if (!key) return hd_jinja_fail(r, "get takes a key");
    const hd_jinja_value *v = hd_jinja_get(r, self.dict, *key);
    return v ? *v : otherwise ? *otherwise : HD_JINJA_NONE;
}

#define STRING_METHODS(X) \
    X(strip)              \
    X(lstrip)             \
    X(rstrip)             \
    X(startswith)         \
    X(endswith) X(replace) X(split) X(splitlines) X(lower) X(upper) X(title) X(capitalize) X(find) X(join)
#define DICT_METHODS(X) X(items) X(keys) X(values) X(get)

const hd_jinja_method *hd_jinja_find(const hd_jinja_method *list, const char *name, size_t size)
{
    for (; list->name; list++)
        if (strlen(list->name) == size && !memcmp(list->name, name, size)) return list;
    return NULL;
}

const hd_jinja_method *hd_jinja_method_of(hd_jinja_value v, const char *name, size_t size)
{
#define X(method) {#method, m_##method},
    static const hd_jinja_method of_string[] = {STRING_METHODS(X){NULL, NULL}};
    static const hd_jinja_method of_dict[] = {DICT_METHODS(X){NULL, NULL}};
#undef X
    if (v.kind == HD_IS_STRING) return hd_jinja_find(of_string, name, size);
    return v.kind == HD_IS_DICT ? hd_jinja_find(of_dict, name, size) : NULL;
}
