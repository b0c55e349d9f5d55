/* Tables of columns parted by commas. */
#include "data/image/set/csv.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "data/image/set/build.h"

void hd_csv_close(hd_csv *c)
{
    hd_lines_close(c->lines);
    hd_text_release(&c->text);
    hd_mem_free(c->begin);
    *c = (hd_csv){0};
}

static hd_status refuse(const hd_csv *c, const char *what, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: %s", hd_lines_name(c->lines), hd_lines_count(c->lines), what);
}

/* Appends the field that begins here without its quotes; *at goes behind it. */
static hd_status add_field(hd_csv *c, const char **at, const char *end, hd_err *err)
{
    const char *p = *at;
    while (p < end && *p == ' ') p++;
    bool quoted = p < end && *p == '"';
    if (!quoted) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        *at = comma ? comma : end;
        hd_text_add(&c->text, p, (size_t)(*at - p));
        return HD_OK;
    }
    for (p++;; p += 2) { /* behind a doubled quote */
        const char *quote = memchr(p, '"', (size_t)(end - p));
        if (!quote) return refuse(c, "a field in quotes does not end on its line", err);
        bool doubled = quote + 1 < end && quote[1] == '"';
        hd_text_add(&c->text, p, (size_t)(quote - p) + doubled);
        p = quote;
        if (!doubled) break;
    }
    for (p++; p < end && *p == ' ';) p++;
    if (p < end && *p != ',')
        return refuse(c, "text follows a field in quotes: quotes inside are doubled", err);
    *at = p;
    return HD_OK;
}

static hd_status split(hd_csv *c, hd_line line, hd_err *err)
{
    const char *at = line.text, *end = line.text + line.size;
    c->text.size = c->fields = 0;
    for (;; at++) {
        hd_status s = hd_mem_reserve(&c->begin, &c->room, c->fields + 2, sizeof *c->begin, err);
        if (s) return s;
        c->begin[c->fields] = c->text.size;
        s = add_field(c, &at, end, err);
        if (s) return s;
        hd_text_add(&c->text, "", 1);
        c->begin[++c->fields] = c->text.size;
        if (at == end) return hd_text_status(&c->text, err);
    }
}

hd_status hd_csv_next(hd_csv *c, bool *more, hd_err *err)
{
    hd_line line;
    *more = true;
    do {
        hd_status s = hd_lines_next(c->lines, &line, err);
        if (s) return s;
    } while (line.text && !hd_set_trimmed(line).size);
    *more = line.text != NULL;
    return *more ? split(c, line, err) : HD_OK;
}

hd_status hd_csv_open(hd_csv *out, const char *path, hd_err *err)
{
    bool more = false;
    *out = (hd_csv){0};
    hd_status s = hd_lines_open(&out->lines, path, &hd_lines_text, err);
    if (!s) s = hd_csv_next(out, &more, err);
    if (!s && !more) s = hd_err_set(err, HD_EFORMAT, "%s: the file is empty", path);
    if (s) hd_csv_close(out);
    return s;
}

hd_line hd_csv_field(const hd_csv *c, size_t i)
{
    if (i >= c->fields) return (hd_line){NULL, 0};
    return hd_set_trimmed((hd_line){c->text.data + c->begin[i], c->begin[i + 1] - c->begin[i] - 1});
}

size_t hd_csv_column(const hd_csv *c, const char *name)
{
    for (size_t i = 0; i < c->fields; i++) {
        hd_line f = hd_csv_field(c, i);
        if (f.size == strlen(name) && !strncasecmp(f.text, name, f.size)) return i;
    }
    return SIZE_MAX;
}
