/* A template in tokens. Easy to get wrong: which white space a tag takes away. "-" takes all on its side;
   otherwise a block or a comment takes the blanks before it if nothing else stands before it in its line, and
   one line end behind it; "+" keeps them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "text/character.h"
#include "text/template/syntax/syntax.h"
#include "text/template/value.h"

typedef struct lexer {
    hd_jinja_tokens *out;
    hd_arena *arena;
    const char *at, *end, *name;
    int line;
    bool line_starts;               /* what was read last ended a line */
    char open[HD_PARSER_DEPTH * 2]; /* brackets that are to be closed */
    size_t opened;
    hd_err *err;
} lexer;

static hd_status fail(lexer *l, const char *what)
{
    return hd_err_set(l->err, HD_EFORMAT, "%s, line %d: %s", l->name, l->line, what);
}

static hd_jinja_token *add(lexer *l, hd_jinja_token_kind kind, const char *at, size_t size)
{
    hd_jinja_tokens *o = l->out;
    if (hd_mem_reserve(&o->at, &o->room, o->count + 1, sizeof *o->at, l->err)) return NULL;
    o->at[o->count] = (hd_jinja_token){.kind = kind, .line = l->line, .at = at, .size = size};
    return &o->at[o->count++];
}

static void go(lexer *l, const char *to)
{
    for (; l->at < to; l->at++) l->line += *l->at == '\n';
}

static const char *behind_space(const char *at, const char *end)
{
    for (size_t n; at < end; at += n) {
        int32_t point;
        n = hd_character(at, (size_t)(end - at), &point);
        if (!hd_jinja_is_space(point)) break;
    }
    return at;
}

/* The end of the text without the white space at its end. */
static const char *before_space(const char *begin, const char *end)
{
    while (end > begin) {
        const char *last = end - 1;
        int32_t point;
        while (last > begin && (*last & 0xC0) == 0x80) last--;
        hd_character(last, (size_t)(end - last), &point);
        if (!hd_jinja_is_space(point)) break;
        end = last;
    }
    return end;
}

/* Of the text before a tag, what is left. */
static const char *text_end(const lexer *l, const char *tag)
{
    char sign = tag + 2 < l->end ? tag[2] : 0;
    if (sign == '-') return before_space(l->at, tag);
    if (sign == '+' || tag[1] == '{') return tag;
    const char *line = tag;
    while (line > l->at && line[-1] != '\n') line--;
    if (line == l->at && !l->line_starts) return tag;
    return behind_space(line, tag) == tag ? line : tag;
}

/* Reads the end of a tag if it stands here: "-%}" with the white space behind it, "%}" with a line end. */
static bool tag_end(lexer *l, const char *end, bool trims)
{
    const char *p = l->at;
    char sign = *p == '-' || (*p == '+' && trims) ? *p++ : 0;
    if (l->end - p < 2 || memcmp(p, end, 2)) return false;
    p += 2;
    if (sign == '-')
        p = behind_space(p, l->end);
    else if (!sign && trims && p < l->end && *p == '\n')
        p++;
    l->line_starts = p[-1] == '\n';
    go(l, p);
    return true;
}

/* Whether a tag of this one word stands here ("raw"); it is read through its end. */
static bool word_tag(lexer *l, const char *tag, const char *word, bool trims)
{
    const char *p = tag + 2;
    size_t size = strlen(word);
    if (p < l->end && (*p == '-' || *p == '+')) p++;
    p = behind_space(p, l->end);
    if ((size_t)(l->end - p) < size || memcmp(p, word, size)) return false;
    p = behind_space(p + size, l->end);
    const char *was = l->at;
    int line = l->line;
    go(l, p);
    if (p < l->end && tag_end(l, "%}", trims)) return true;
    l->at = was, l->line = line;
    return false;
}

static hd_status comment(lexer *l)
{
    const char *p = l->at + 2;
    if (p < l->end && (*p == '-' || *p == '+')) p++;
    const char *close = memmem(p, (size_t)(l->end - p), "#}", 2);
    if (!close) return fail(l, "this comment has no end: '#}' is missing");
    if (close > p && (close[-1] == '-' || close[-1] == '+')) close--;
    go(l, close);
    tag_end(l, "#}", true);
    return HD_OK;
}

static hd_status raw(lexer *l)
{
    int line = l->line;
    for (const char *p = l->at; p < l->end; p++) {
        p = memmem(p, (size_t)(l->end - p), "{%", 2);
        if (!p) break;
        const char *from = l->at, *to = text_end(l, p);
        hd_jinja_token *t = to > from ? add(l, HD_TOKEN_DATA, from, (size_t)(to - from)) : NULL;
        if (l->err->status) return l->err->status;
        if (word_tag(l, p, "endraw", true)) return HD_OK;
        if (t) l->out->count--;
    }
    l->line = line;
    return fail(l, "'raw' has no end: '{% endraw %}' is missing");
}

/* -- within tags -- */

static hd_status escape(lexer *l, hd_text *to, const char **at, const char *end)
{
    static const char from[] = "abfnrtv\\'\"", into[] = "\a\b\f\n\r\t\v\\'\"";
    const char *p = *at;
    const char *known = *p ? strchr(from, *p) : NULL;
    int digits = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    uint32_t point = 0;
    if (known) {
        hd_text_add(to, &into[known - from], 1);
        *at = p + 1;
        return HD_OK;
    }
    if (*p == '\n') {
        *at = p + 1;
        return HD_OK;
    }
    if (digits) {
        for (p++; digits; digits--, p++) {
            const char *hex = "0123456789abcdef";
            const char *d = p < end && *p ? strchr(hex, *p | 0x20) : NULL;
            if (!d) return fail(l, "an escape sequence in a string is not complete");
            point = point << 4 | (uint32_t)(d - hex);
        }
    } else if (*p >= '0' && *p <= '7')
        for (int i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
            point = point * 8 + (uint32_t)(*p++ - '0');
    else {
        hd_text_put(to, "\\");
        return HD_OK;
    }
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
        return fail(l, "an escape sequence in a string is no character");
    hd_jinja_put_point(to, (int32_t)point);
    *at = p;
    return HD_OK;
}

static hd_status string(lexer *l)
{
    char quote = *l->at;
    const char *p = l->at + 1;
    hd_text to = {0};
    hd_status s = HD_OK;
    while (!s && p < l->end && *p != quote) {
        if (*p != '\\')
            hd_text_add(&to, p++, 1);
        else if (++p < l->end)
            s = escape(l, &to, &p, l->end);
    }
    if (!s && p >= l->end) s = fail(l, "a string has no end");
    if (!s) s = hd_text_status(&to, l->err);
    char *copy = s ? NULL : hd_arena_copy(l->arena, to.data ? to.data : "", to.size, l->err);
    if (copy) add(l, HD_TOKEN_STRING, copy, to.size);
    hd_text_release(&to);
    if (!s) go(l, p + 1);
    return l->err->status;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, which may have "_" between them, without those. */
static const char *digits(const char *p, const char *end, char *to, size_t *size, size_t most)
{
    while (p < end && (is_digit(*p) || (*p == '_' && p + 1 < end && is_digit(p[1])))) {
        if (*p != '_' && *size < most) to[(*size)++] = *p;
        p++;
    }
    return p;
}

static hd_status number(lexer *l)
{
    char text[64];
    size_t size = 0, most = sizeof text - 8;
    bool real = false;
    const char *p = digits(l->at, l->end, text, &size, most);
    if (l->end - p > 1 && *p == '.' && is_digit(p[1])) {
        real = true, text[size++] = '.';
        p = digits(p + 1, l->end, text, &size, most);
    }
    const char *e = p + 1;
    if (p < l->end && (*p | 0x20) == 'e') {
        if (e < l->end && (*e == '+' || *e == '-')) e++;
        if (e < l->end && is_digit(*e)) {
            real = true, text[size++] = 'e';
            if (e[-1] == '-') text[size++] = '-';
            p = digits(e, l->end, text, &size, most + 4);
        }
    }
    text[size] = 0;
    if (size >= most || (!real && (size > 18 || (text[0] == '0' && size > 1 && strspn(text, "0") != size))))
        return fail(l, "a number is too long or begins with 0");
    hd_jinja_token *t = add(l, real ? HD_TOKEN_REAL : HD_TOKEN_INT, l->at, (size_t)(p - l->at));
    if (!t) return l->err->status;
    if (real)
        hd_real_of(text, size, &t->real);
    else
        t->whole = strtoll(text, NULL, 10);
    go(l, p);
    return HD_OK;
}

static bool in_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) ||
           (!first && is_digit(c));
}

static hd_status sign(lexer *l)
{
    static const char two[][3] = {"==", "!=", ">=", "<=", "//", "**"};
    int op = *l->at, size = 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (l->end - l->at > 1 && !memcmp(l->at, two[i], 2)) op = HD_SIGN2(two[i][0], two[i][1]), size = 2;
    if (!op || (size == 1 && !strchr("+-/*%~[](){}<>=.:|,;", op)))
        return fail(l, "a character that has no meaning here");
    static const char opens[] = "([{", closes[] = ")]}";
    const char *which = size == 1 ? strchr(opens, op) : NULL;
    if (which) {
        if (l->opened == sizeof l->open) return fail(l, "brackets are nested too deeply");
        l->open[l->opened++] = closes[which - opens];
    } else if (size == 1 && strchr(closes, op)) {
        if (!l->opened || l->open[--l->opened] != op) return fail(l, "a closing bracket has no opening one");
    }
    hd_jinja_token *t = add(l, HD_TOKEN_SIGN, l->at, (size_t)size);
    if (t) t->op = op;
    go(l, l->at + size);
    return l->err->status;
}

static hd_status tag(lexer *l, bool print)
{
    int line = l->line;
    const char *p = l->at + 2;
    if (p < l->end && (*p == '-' || *p == '+')) p++;
    add(l, print ? HD_TOKEN_PRINT : HD_TOKEN_BLOCK, l->at, 2);
    go(l, p);
    l->opened = 0;
    while (!l->err->status) {
        go(l, behind_space(l->at, l->end));
        if (l->at >= l->end) {
            l->line = line;
            return fail(l, print ? "'{{' has no '}}'" : "'{%' has no '%}'");
        }
        if (!l->opened) {
            int here = l->line;
            if (tag_end(l, print ? "}}" : "%}", !print)) {
                hd_jinja_token *t = add(l, print ? HD_TOKEN_PRINT_END : HD_TOKEN_BLOCK_END, l->at, 0);
                if (t) t->line = here;
                break;
            }
        }
        const char *end = l->at;
        if (is_digit(*end))
            number(l);
        else if (*end == '\'' || *end == '"')
            string(l);
        else if (in_name(*end, true)) {
            while (end < l->end && in_name(*end, false)) end++;
            add(l, HD_TOKEN_NAME, l->at, (size_t)(end - l->at));
            l->at = end;
        } else
            sign(l);
    }
    return l->err->status;
}

/* The source with "\n" for every line end, and without the last one. */
static char *normalized(hd_arena *arena, const char *source, size_t *size, hd_err *err)
{
    size_t n = 0;
    char *to = hd_arena_copy(arena, source, *size, err);
    if (!to) return NULL;
    for (size_t i = 0; i < *size; i++) {
        if (source[i] == '\r' && i + 1 < *size && source[i + 1] == '\n') continue;
        to[n++] = source[i] == '\r' ? '\n' : source[i];
    }
    if (n && to[n - 1] == '\n') n--;
    to[n] = 0;
    *size = n;
    return to;
}

hd_status hd_jinja_lex(hd_jinja_tokens *out, hd_arena *arena, const char *source, size_t size,
                       const char *name, hd_err *err)
{
    for (size_t i = 0, n; i < size; i += n) {
        int32_t point;
        n = hd_character(source + i, size - i, &point);
        if (point < 0) return hd_err_set(err, HD_EFORMAT, "%s: byte %zu is not UTF-8", name, i);
    }
    const char *text = normalized(arena, source, &size, err);
    if (!text) return err->status;
    lexer l = {.out = out,
               .arena = arena,
               .at = text,
               .end = text + size,
               .name = name,
               .line = 1,
               .line_starts = true,
               .err = err};
    while (l.at < l.end && !err->status) {
        const char *p = l.at;
        while (p && p < l.end && !(p + 1 < l.end && p[0] == '{' && strchr("{%#", p[1]) && p[1]))
            p = memchr(p + 1, '{', (size_t)(l.end - p - 1));
        if (!p) p = l.end;
        const char *to = p < l.end ? text_end(&l, p) : p;
        if (to > l.at) add(&l, HD_TOKEN_DATA, l.at, (size_t)(to - l.at));
        go(&l, p);
        if (p >= l.end || err->status) break;
        l.line_starts = false;
        if (p[1] == '%' && word_tag(&l, p, "raw", false))
            raw(&l);
        else if (p[1] == '#')
            comment(&l);
        else
            tag(&l, p[1] == '{');
    }
    add(&l, HD_TOKEN_END, l.end, 0);
    return err->status;
}
