/* The tokens of HTML, as browsers cut it. Easy to get wrong: quotes count in a tag behind a '=' alone, and a
   tag, comment or script without end reaches to the end of the text. */
#include "serve/html/scanner.h"

#include <string.h>
#include <strings.h>

/* Elements that are not parts of a sentence. All others, those of names nobody knows too, are. */
static const char *const blocks[] = {
    "address",  "area",    "article",  "aside",    "audio",      "base",     "blockquote", "body",   "br",
    "canvas",   "caption", "center",   "col",      "colgroup",   "dd",       "details",    "dialog", "dir",
    "div",      "dl",      "dt",       "fieldset", "figcaption", "figure",   "footer",     "form",   "frame",
    "frameset", "h1",      "h2",       "h3",       "h4",         "h5",       "h6",         "head",   "header",
    "hgroup",   "hr",      "html",     "legend",   "li",         "link",     "main",       "map",    "menu",
    "meta",     "nav",     "noscript", "object",   "ol",         "optgroup", "option",     "p",      "param",
    "pre",      "search",  "section",  "select",   "source",     "summary",  "table",      "tbody",  "td",
    "template", "tfoot",   "th",       "thead",    "title",      "tr",       "track",      "ul",     "video"};
/* Elements without a second tag. */
static const char *const single[] = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                     "input", "link", "meta", "param", "source", "track", "wbr"};
/* Elements whose insides are no text to be translated. */
static const char *const raw[] = {"script", "style",   "svg",      "math",      "textarea",
                                  "iframe", "noembed", "noframes", "plaintext", "xmp"};

#define IS_ONE_OF(list, bytes, name) is_one_of(list, sizeof list / sizeof *list, bytes, name)

bool hd_html_is_named(hd_line bytes, hd_span name, const char *as)
{
    size_t size = name.end - name.begin;
    return strlen(as) == size && !strncasecmp(bytes.text + name.begin, as, size);
}

static bool is_one_of(const char *const *list, size_t count, hd_line bytes, hd_span name)
{
    for (size_t i = 0; i < count; i++)
        if (hd_html_is_named(bytes, name, list[i])) return true;
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Behind a text that is looked for from `from` on; the end of all where it is not there. */
static size_t behind(hd_line b, size_t from, const char *text)
{
    size_t size = strlen(text);
    const char *found = from < b.size ? memmem(b.text + from, b.size - from, text, size) : NULL;
    return found ? (size_t)(found - b.text) + size : b.size;
}

/* Behind the '>' of a tag whose name ends at `at`; 0: it has none. */
static size_t tag_end(hd_line b, size_t at, bool *closes_itself)
{
    bool value = false; /* a '=' was there, and no value yet */
    for (; at < b.size; at++) {
        char c = b.text[at];
        if (c == '>') {
            *closes_itself = b.text[at - 1] == '/' && !value;
            return at + 1;
        }
        if (value && (c == '"' || c == '\'')) {
            const char *quote = memchr(b.text + at + 1, c, b.size - at - 1);
            if (!quote) return 0;
            at = (size_t)(quote - b.text);
        }
        if (!is_space(c)) value = c == '=';
    }
    return 0;
}

/* Behind the end tag of an element whose insides are no text. */
static size_t raw_end(hd_line b, size_t from, hd_span name)
{
    size_t size = name.end - name.begin;
    for (size_t at = from; (at = behind(b, at, "</")) + size < b.size;) {
        char next = b.text[at + size];
        if (strncasecmp(b.text + at, b.text + name.begin, size) || !(is_space(next) || strchr("/>", next)))
            continue;
        return behind(b, at + size, ">");
    }
    return b.size;
}

static hd_html_token rest(hd_line b, size_t at)
{
    return (hd_html_token){HD_HTML_ALONE, {at, b.size}, {0}, true};
}

/* At "<!", "<?" or "</" without a name. */
static hd_html_token scan_comment(hd_line b, size_t at)
{
    size_t end;
    if (b.size - at >= 4 && !memcmp(b.text + at, "<!--", 4)) {
        bool empty = at + 4 < b.size && b.text[at + 4] == '>';
        end = empty ? at + 5 : behind(b, at + 2, "-->"); /* "<!-->" and "<!--->" are comments, too */
        if (end == b.size && memcmp(b.text + end - 3, "-->", 3)) return rest(b, at);
    } else {
        end = behind(b, at + 1, ">");
        if (b.text[end - 1] != '>') return rest(b, at);
    }
    return (hd_html_token){HD_HTML_ALONE, {at, end}, {0}, false};
}

static hd_html_token scan_tag(hd_line b, size_t at)
{
    const bool close = b.text[at + 1] == '/';
    hd_span name = {at + 1 + close, at + 1 + close};
    bool closes_itself = false;
    while (name.end < b.size && !is_space(b.text[name.end]) && !strchr("/>", b.text[name.end])) name.end++;
    size_t end = tag_end(b, name.end, &closes_itself);
    if (!end) return rest(b, at);
    hd_html_token t = {close ? HD_HTML_CLOSE : HD_HTML_OPEN, {at, end}, name, IS_ONE_OF(blocks, b, name)};
    if (close) return t;
    if (closes_itself || IS_ONE_OF(single, b, name)) {
        t.kind = HD_HTML_ALONE;
    } else if (IS_ONE_OF(raw, b, name)) {
        t.kind = HD_HTML_ALONE;
        t.at.end = raw_end(b, end, name);
        t.block = t.at.end == b.size; /* it may have no end */
    }
    return t;
}

/* Whether something begins there that is no text. */
static bool is_markup(hd_line b, size_t at)
{
    if (at + 1 >= b.size) return false;
    char next = b.text[at + 1];
    return is_letter(next) || next == '!' || next == '?' || (next == '/' && at + 2 < b.size);
}

bool hd_html_scan(hd_line b, size_t *at, hd_html_token *to)
{
    size_t from = *at;
    if (from >= b.size) return false;
    if (b.text[from] == '<' && is_markup(b, from)) {
        bool named = is_letter(b.text[from + 1]) || (b.text[from + 1] == '/' && is_letter(b.text[from + 2]));
        *to = named ? scan_tag(b, from) : scan_comment(b, from);
    } else {
        size_t end = from + 1;
        while (end < b.size && !(b.text[end] == '<' && is_markup(b, end))) end++;
        *to = (hd_html_token){HD_HTML_TEXT, {from, end}, {0}, false};
    }
    *at = to->at.end;
    return true;
}
