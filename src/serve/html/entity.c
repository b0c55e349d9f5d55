/* Characters that HTML writes by a name or a number. */
#include "serve/html/entity.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "serve/html/entity_list.h"

typedef struct entity {
    const char *name;
    int32_t point;
} entity;

static const entity known[] = {
#define X(name, point) {#name, point},
    HD_ENTITY_LIST(X)
#undef X
};

enum { REPLACEMENT = 0xFFFD, LONGEST = 32 };

static bool is_digit(char c, bool hex)
{
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c, false);
}

/* "&#65;" and "&#x41;" */
static size_t read_number(const char *text, size_t size, int32_t *point)
{
    const bool hex = size > 2 && (text[2] == 'x' || text[2] == 'X');
    size_t first = 2 + (size_t)hex, at = first;
    int64_t value = 0;
    for (; at < size && is_digit(text[at], hex); at++) {
        int digit = text[at] <= '9' ? text[at] - '0' : (text[at] | 0x20) - 'a' + 10;
        if (value <= 0x10FFFF) value = value * (hex ? 16 : 10) + digit;
    }
    if (at == first) return 0;
    bool good = value && value <= 0x10FFFF && !(value >= 0xD800 && value <= 0xDFFF);
    *point = good ? (int32_t)value : REPLACEMENT;
    return at + (at < size && text[at] == ';');
}

static int by_name(const void *name, const void *of)
{
    return strcmp(name, ((const entity *)of)->name);
}

size_t hd_entity_read(const char *text, size_t size, int32_t *point)
{
    char name[LONGEST];
    size_t n = 0;
    if (size > 1 && text[1] == '#') return read_number(text, size, point);
    while (n + 1 < size && n + 1 < LONGEST && is_letter(text[1 + n])) name[n] = text[1 + n], n++;
    name[n] = 0;
    const bool ends = n + 1 < size && text[n + 1] == ';';
    const entity *e = bsearch(name, known, sizeof known / sizeof *known, sizeof *known, by_name);
    *point = e ? e->point : -1;
    if (ends) return n ? n + 2 : 0;
    return e && e->point < 256 ? n + 1 : 0; /* those of Latin-1 were once written without a ';' */
}
