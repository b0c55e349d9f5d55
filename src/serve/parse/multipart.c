/* Bodies of type multipart/form-data (RFC 7578): parts between lines of a boundary, each with headers of its
   own. */
#include <string.h>
#include <strings.h>

#include "serve/parse/params.h"

enum { BOUNDARY_MOST = 70, PARTS_MOST = 64, HEAD_MOST = 4096 };

/* The value of a parameter of a header, as in `; name="q"`, where its quotes are left out; NULL: it has none.
 */
static const char *parameter(const char *header, size_t size, const char *name, size_t *length)
{
    size_t known = strlen(name);
    for (const char *at = header, *end = header + size; at < end; at++) {
        const char *mark = memchr(at, ';', (size_t)(end - at));
        if (!mark) return NULL;
        for (at = mark + 1; at < end && (*at == ' ' || *at == '\t');) at++;
        if ((size_t)(end - at) <= known || strncasecmp(at, name, known) || at[known] != '=') {
            at--;
            continue;
        }
        at += known + 1;
        bool quoted = at < end && *at == '"';
        const char *from = at + quoted, *to = from;
        while (to < end && (quoted ? *to != '"' : !strchr("; \t\r\n", *to))) to++;
        *length = (size_t)(to - from);
        return quoted && to == end ? NULL : from;
    }
    return NULL;
}

/* The headers of a part, up to an empty line: the line that says its name. */
static const char *disposition(const char *head, size_t size, size_t *length)
{
    static const char key[] = "content-disposition:";
    for (const char *at = head, *end = head + size; at < end;) {
        const char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        *length = (size_t)((line ? line : end) - at);
        if (*length >= sizeof key - 1 && !strncasecmp(at, key, sizeof key - 1)) return at;
        at += *length + 2;
    }
    return NULL;
}

static hd_status take_part(json_t *to, const char *part, size_t size, hd_err *err)
{
    const char *blank = memmem(part, size < HEAD_MOST ? size : HEAD_MOST, "\r\n\r\n", 4);
    if (!blank) return hd_err_set(err, HD_EFORMAT, "multipart: a part has no end of its headers");
    size_t line = 0, name = 0;
    const char *says = disposition(part, (size_t)(blank - part), &line);
    const char *key = says ? parameter(says, line, "name", &name) : NULL;
    const char *value = blank + 4;
    return key && name ? hd_params_add(to, key, name, value, size - (size_t)(value - part), err) : HD_OK;
}

hd_status hd_params_add_multipart(json_t *to, const char *type, const char *body, size_t size, hd_err *err)
{
    char mark[BOUNDARY_MOST + 5] = "\r\n--";
    size_t known = 0;
    const char *boundary = parameter(type, strlen(type), "boundary", &known), *end = body + size;
    if (!boundary || !known || known > BOUNDARY_MOST)
        return hd_err_set(err, HD_EFORMAT, "multipart: there is no boundary");
    memcpy(mark + 4, boundary, known);
    known += 4;
    /* the first line has no end of a line before it */
    if (size < known - 2 || memcmp(body, mark + 2, known - 2))
        return hd_err_set(err, HD_EFORMAT, "multipart: the body does not begin with its boundary");
    const char *at = body + known - 2;
    hd_status s = HD_OK;
    for (size_t parts = 0; !s; parts++) {
        if (end - at >= 2 && !memcmp(at, "--", 2)) return HD_OK;
        if (end - at < 2 || memcmp(at, "\r\n", 2)) break;
        if (parts == PARTS_MOST) return hd_err_set(err, HD_ELIMIT, "multipart: too many parts");
        at += 2;
        const char *next = memmem(at, (size_t)(end - at), mark, known);
        if (!next) break;
        s = take_part(to, at, (size_t)(next - at), err);
        at = next + known;
    }
    return s ? s : hd_err_set(err, HD_EFORMAT, "multipart: the last part has no end");
}
