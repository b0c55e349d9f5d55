/* Steps of normalization, one after the other over the whole text. Easy to get wrong: composing looks at more
   than one character, so that a text is composed in spans that begin with what composes with nothing before
   it. */
#include "text/published/bpe/normal.h"

#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "text/character.h"

enum { SPAN_BYTES = 128, SPAN_POINTS = 512, MOST_BYTES = 1 << 30 };

/* -- reading -- */

hd_status hd_normal_add(hd_normal *n, const hd_tokenizer_json *j, hd_normal_kind kind, const char *from,
                        const char *to)
{
    if (n->count == HD_NORMAL_MOST)
        return hd_err_set(j->err, HD_EFORMAT, "%s: more than %d steps of normalization", j->path,
                          HD_NORMAL_MOST);
    if (strlen(from) >= HD_NORMAL_BYTES || strlen(to) >= HD_NORMAL_BYTES)
        return hd_err_set(j->err, HD_EFORMAT, "%s: normalizer: a text of %d bytes or more is not known",
                          j->path, HD_NORMAL_BYTES);
    n->step[n->count].kind = kind;
    strcpy(n->step[n->count].from, from);
    strcpy(n->step[n->count++].to, to);
    return HD_OK;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static hd_status read_step(hd_normal *n, const hd_tokenizer_json *j, const json_t *step)
{
    enum { NFC, PREPEND, REPLACE };
    static const char *const known[] = {"NFC", "Prepend", "Replace", NULL};
    int which;
    hd_status s = hd_json_part(j, step, "normalizer", known, &which);
    if (s || which < 0) return s;
    const char *from = text_of(json_object_get(step, "pattern"), "String");
    if (which == NFC) return hd_normal_add(n, j, HD_NORMAL_NFC, "", "");
    if (which == PREPEND) return hd_normal_add(n, j, HD_NORMAL_PREPEND, "", text_of(step, "prepend"));
    if (!*from)
        return hd_err_set(j->err, HD_EFORMAT,
                          "%s: normalizer \"Replace\" without the \"String\" to replace is not known",
                          j->path);
    return hd_normal_add(n, j, HD_NORMAL_REPLACE, from, text_of(step, "content"));
}

hd_status hd_normal_read(hd_normal *n, const hd_tokenizer_json *j)
{
    const json_t *whole = json_object_get(j->root, "normalizer"),
                 *list = json_object_get(whole, "normalizers");
    if (strcmp(text_of(whole, "type"), "Sequence")) return read_step(n, j, whole);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(list); i++) s = read_step(n, j, json_array_get(list, i));
    return s;
}

/* -- texts with origins -- */

void hd_normalized_release(hd_normalized *n)
{
    hd_text_release(&n->text);
    hd_text_release(&n->next);
    hd_mem_free(n->from);
    hd_mem_free(n->next_from);
    *n = (hd_normalized){0};
}

/* Adds bytes of the next step that all come from byte `from`, or one by one from there on if `each`. */
static hd_status add(hd_normalized *n, const char *bytes, size_t size, size_t from, bool each, hd_err *err)
{
    if (size > MOST_BYTES - n->next.size)
        return hd_err_set(err, HD_ELIMIT, "a text is too long for a tokenizer: split it into lines");
    hd_status s =
        hd_mem_reserve(&n->next_from, &n->next_room, n->next.size + size + 1, sizeof *n->next_from, err);
    if (s) return s;
    for (size_t i = 0; i < size; i++) n->next_from[n->next.size + i] = n->from[each ? from + i : from];
    hd_text_add(&n->next, bytes, size);
    return hd_text_status(&n->next, err);
}

static hd_status finish(hd_normalized *n, hd_err *err)
{
    hd_status s = add(n, "", 0, 0, false, err); /* room for the end */
    if (s) return s;
    n->next_from[n->next.size] = n->from[n->text.size];
    hd_text text = n->text;
    uint32_t *from = n->from;
    size_t room = n->room;
    n->text = n->next, n->from = n->next_from, n->room = n->next_room;
    n->next = text, n->next_from = from, n->next_room = room;
    return HD_OK;
}

/* -- the steps -- */

static hd_status replace(hd_normalized *n, const char *from, const char *to, hd_err *err)
{
    const char *text = n->text.data;
    size_t size = n->text.size, length = strlen(from), plain = 0;
    hd_status s = HD_OK;
    for (size_t at = 0; !s && at < size;) {
        if (text[at] != *from || size - at < length || memcmp(text + at, from, length)) {
            at++;
            continue;
        }
        s = add(n, text + plain, at - plain, plain, true, err);
        if (!s) s = add(n, to, strlen(to), at, false, err);
        at += length, plain = at;
    }
    return s ? s : add(n, text + plain, size - plain, plain, true, err);
}

/* Whether nothing before it may be composed with it. */
static bool begins_span(int32_t point)
{
    bool vowel_or_final = (point >= 0x1160 && point <= 0x11ff) || (point >= 0xd7b0 && point <= 0xd7ff);
    return point < 0x300 || !(hd_is_mark(point) || vowel_or_final);
}

/* A hostile text may pile up marks without end, which are sorted: a longer span is cut. */
static size_t span_of(const char *text, size_t size)
{
    int32_t point;
    size_t at = hd_character(text, size, &point);
    while (at < size && at < SPAN_BYTES) {
        size_t wide = hd_character(text + at, size - at, &point);
        if (begins_span(point)) break;
        at += wide;
    }
    return at;
}

static hd_status compose_span(hd_normalized *n, size_t at, size_t size, hd_err *err)
{
    const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    const char *text = n->text.data + at;
    int32_t points[SPAN_POINTS + 1];
    utf8proc_ssize_t count =
        utf8proc_decompose((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, points, SPAN_POINTS, how);
    if (count > 0 && count <= SPAN_POINTS)
        count = utf8proc_reencode(points, count, how);
    else
        count = -1; /* not UTF-8: it stays */
    bool same = count < 0 || ((size_t)count == size && !memcmp(points, text, size));
    return same ? add(n, text, size, at, true, err)
                : add(n, (const char *)points, (size_t)count, at, false, err);
}

static hd_status compose(hd_normalized *n, hd_err *err)
{
    const char *text = n->text.data;
    size_t size = n->text.size, plain = 0, span;
    hd_status s = HD_OK;
    for (size_t at = 0; !s && at < size; at += span) {
        span = span_of(text + at, size - at);
        if (span == 1 || (span == 2 && (uint8_t)text[at] < 0xcc))
            continue; /* below U+0300 all are composed */
        s = add(n, text + plain, at - plain, plain, true, err);
        if (!s) s = compose_span(n, at, span, err);
        plain = at + span;
    }
    return s ? s : add(n, text + plain, size - plain, plain, true, err);
}

static hd_status prepend(hd_normalized *n, const char *to, bool unless, hd_err *err)
{
    size_t size = strlen(to);
    hd_status s = HD_OK;
    if (!(unless && n->text.size >= size && !memcmp(n->text.data, to, size)))
        s = add(n, to, size, 0, false, err);
    return s ? s : add(n, n->text.data, n->text.size, 0, true, err);
}

hd_status hd_normal_apply(const hd_normal *n, const char *text, size_t size, bool first, bool lead,
                          hd_normalized *out, hd_err *err)
{
    out->text.size = 0;
    hd_status s = hd_mem_reserve(&out->from, &out->room, size + 1, sizeof *out->from, err);
    hd_text_add(&out->text, text, size);
    if (!s) s = hd_text_status(&out->text, err);
    for (size_t i = 0; !s && i <= size; i++) out->from[i] = (uint32_t)i;
    for (int i = 0; !s && i < n->count; i++) {
        const hd_normal_kind kind = n->step[i].kind;
        const char *from = n->step[i].from, *to = n->step[i].to;
        if ((kind == HD_NORMAL_PREPEND && !lead) || (kind == HD_NORMAL_FIRST && !first)) continue;
        out->next.size = 0;
        s = kind == HD_NORMAL_NFC       ? compose(out, err)
            : kind == HD_NORMAL_REPLACE ? replace(out, from, to, err)
                                        : prepend(out, to, kind != HD_NORMAL_PREPEND, err);
        if (!s) s = finish(out, err);
    }
    return s;
}
