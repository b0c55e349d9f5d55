/* Where sentences end. Easy to get wrong: quotes and brackets after a mark belong to the sentence it ends,
   and a full stop is more often part of a word or number than the end of a sentence. Every look ahead and
   back is bounded, so that the time is linear in the length of the text. */
#include "text/splitter.h"

#include <string.h>

#include "text/abbreviation_list.h"
#include "text/character.h"

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

static const char
    *const abbreviations[] = {HD_ABBREVIATIONS},
           *const number_abbreviations[] = {HD_NUMBER_ABBREVIATIONS},
           *const doubtful[] = {HD_DOUBTFUL_ABBREVIATIONS}, *const starters[] = {HD_SENTENCE_STARTERS},
           *const ordinal_nouns[] = {HD_ORDINAL_NOUNS}, *const ordinal_articles[] = {HD_ORDINAL_ARTICLES};

enum {
    WORD = 32,
    OPENERS = 4
}; /* bytes of the longest abbreviation; quotes and brackets that open at once */

typedef enum mark {
    NONE,
    STOP,   /* . and other marks that also abbreviate */
    STRONG, /* ! ? and those of other scripts: a space or the end follows */
    WIDE    /* of scripts that write no space after them */
} mark;

static mark mark_of(int32_t c)
{
    switch (c) {
    case '.':
        return STOP;
    case '!':
    case '?':
    case 0x2026: /* … */
    case 0x203c: /* ‼ */
    case 0x203d: /* ‽ */
    case 0x2047: /* ⁇ */
    case 0x2048: /* ⁈ */
    case 0x2049: /* ⁉ */
    case 0x037e: /* Greek ; */
    case 0x0589: /* Armenian */
    case 0x061f: /* Arabic ؟ */
    case 0x06d4: /* Urdu ۔ */
    case 0x1362: /* Ethiopic ። */
    case 0x1367: /* Ethiopic ፧ */
    case 0x104b: /* Burmese */
    case 0x17d4: /* Khmer */
        return STRONG;
    case 0x0964: /* Devanagari । */
    case 0x0965: /* ॥ */
    case 0x3002: /* 。 */
    case 0xff01: /* ！ */
    case 0xff0e: /* ． */
    case 0xff1f: /* ？ */
    case 0xff61: /* ｡ */
        return WIDE;
    default:
        return NONE;
    }
}

/* Quotes and brackets. Some quotes close in one language and open in another. */
typedef enum fence { PLAIN, OPENS, CLOSES, EITHER } fence;

static fence fence_of(int32_t c)
{
    static const int32_t opens[] = {'(',    '[',    '{',    0xbf,   0xa1,   0x201e, 0x201a, 0x3008,
                                    0x300a, 0x300c, 0x300e, 0x3010, 0x3014, 0xff08, 0xff3b, 0xff62},
                         closes[] = {')',    ']',    '}',    0x201d, 0x2019, 0x3009, 0x300b,
                                     0x300d, 0x300f, 0x3011, 0x3015, 0xff09, 0xff3d, 0xff63},
                         either[] = {'"', '\'', '`', 0x201c, 0x2018, 0xab, 0xbb, 0x2039, 0x203a, 0xff02};
    for (size_t i = 0; i < COUNT_OF(opens); i++)
        if (c == opens[i]) return OPENS;
    for (size_t i = 0; i < COUNT_OF(closes); i++)
        if (c == closes[i]) return CLOSES;
    for (size_t i = 0; i < COUNT_OF(either); i++)
        if (c == either[i]) return EITHER;
    return PLAIN;
}

static bool is_dash(int32_t c)
{
    return c == '-' || c == 0x2013 || c == 0x2014 || c == 0x2022; /* – — and a bullet */
}

/* The character at i, -1 past the end; *used is its length, 0 there. */
static int32_t at(hd_line l, size_t i, size_t *used)
{
    int32_t c = -1;
    *used = i < l.size ? hd_character(l.text + i, l.size - i, &c) : 0;
    return *used ? c : -1;
}

static bool ends_or_space(hd_line l, size_t i)
{
    size_t used;
    return i >= l.size || hd_is_space(at(l, i, &used));
}

static size_t behind_space(hd_line l, size_t i)
{
    size_t used;
    while (i < l.size && hd_is_space(at(l, i, &used))) i += used;
    return i;
}

hd_splitter hd_splitter_of(hd_line text)
{
    hd_splitter s = {.text = text, .plain = true};
    bool space = false;
    for (size_t i = 0, used; i < text.size && (s.plain || !s.spaced); i += used) {
        int32_t c = at(text, i, &used);
        if (hd_is_upper(c)) s.plain = false;
        if (space && (c == '.' || c == ',') && ends_or_space(text, i + 1)) s.spaced = true;
        space = hd_is_space(c);
    }
    return s;
}

/* -- words -- */

typedef struct word {
    const char *text;
    size_t size;
} word;

static bool is_one_of(word w, const char *const *list, size_t count, bool small_too)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) != w.size) continue;
        if (!memcmp(list[i], w.text, w.size)) return true;
        bool capital =
            small_too && w.size && hd_is_upper((unsigned char)w.text[0]) && list[i][0] == (w.text[0] | 32);
        if (capital && !memcmp(list[i] + 1, w.text + 1, w.size - 1)) return true;
    }
    return false;
}

#define IS_ONE_OF(w, list, small_too) is_one_of(w, list, COUNT_OF(list), small_too)

static bool is_number_word(word w)
{
    for (size_t i = 0; i < w.size; i++)
        if (w.text[i] < '0' || w.text[i] > '9') return false;
    return w.size > 0;
}

/* Letters with stops between them, "U.S" or "z.B", or a single one: the last stop is not counted. */
static bool is_letters_with_stops(word w, size_t *letters)
{
    *letters = 0;
    for (size_t i = 0, used; i < w.size; i += used) {
        int32_t c = at((hd_line){w.text, w.size}, i, &used);
        if (!hd_is_letter(c)) return false;
        ++*letters;
        if (i + used < w.size && w.text[i + used] != '.') return false;
        used += i + used < w.size;
    }
    return *letters > 0;
}

/* The word that begins at i, at most WORD bytes. */
static word word_at(hd_line l, size_t i)
{
    size_t from = i, used;
    while (i < l.size && i - from < WORD && hd_is_word(at(l, i, &used))) i += used;
    return (word){l.text + from, i - from};
}

/* -- the scan -- */

typedef struct scan {
    const hd_splitter *s;
    hd_line l;
    size_t from; /* of the sentence */
    size_t i;
    word last, before; /* the word that ends at i or before the white space there; and the one before that */
    bool touches;      /* `last` reaches i */
    bool content;      /* a letter or digit was seen */
    bool open;         /* a straight quote was opened and not closed */
} scan;

typedef struct ending { /* what is found at a mark */
    mark kind;
    bool dots;   /* three full stops or more, or an ellipsis */
    bool alone;  /* white space before it */
    bool closed; /* a closing quote or bracket follows */
    size_t end;
} ending;

/* Consecutive marks, also ". . ." */
static void take_marks(const scan *c, ending *e)
{
    size_t used, stops = 0;
    for (;;) {
        int32_t p = at(c->l, e->end, &used);
        mark m = mark_of(p);
        if (m == NONE) break;
        if (m > e->kind) e->kind = m;
        stops += p == '.' ? 1 : p == 0x2026 ? 3 : 0;
        e->end += used;
        size_t next = behind_space(c->l, e->end);
        bool again = e->alone && next > e->end && mark_of(at(c->l, next, &used)) != NONE &&
                     ends_or_space(c->l, next + used);
        if (again) e->end = next;
    }
    e->dots = stops > 1;
}

/* "[12]" after a mark: a reference. */
static size_t reference_at(hd_line l, size_t i)
{
    size_t end = i + 1;
    if (i >= l.size || l.text[i] != '[') return 0;
    while (end < l.size && end - i < 6 && l.text[end] >= '0' && l.text[end] <= '9') end++;
    return end > i + 1 && end < l.size && l.text[end] == ']' ? end + 1 - i : 0;
}

static void take_fences(const scan *c, ending *e)
{
    bool open = c->open;
    for (;;) {
        size_t used, next = behind_space(c->l, e->end), reference = reference_at(c->l, e->end);
        if (reference) {
            e->end += reference;
            continue;
        }
        bool apart = next > e->end; /* as tokenizers and the French write them */
        int32_t p = at(c->l, next, &used);
        fence f = fence_of(p);
        if (f == PLAIN || f == OPENS) break;
        if (apart && !ends_or_space(c->l, next + used)) break;
        if (apart && f == EITHER && p != 0xbb && !open) break;
        if (p == '"') open = false;
        e->end = next + used, e->closed = true;
    }
}

/* The first character of the following text, after white space and opening quotes and brackets; *where is
   its position. */
static int32_t next_of(const scan *c, const ending *e, size_t *where, bool *opened)
{
    size_t i = behind_space(c->l, e->end), used;
    int32_t p = at(c->l, i, &used);
    *opened = false;
    for (int n = 0; n < OPENERS && used; n++) {
        fence f = fence_of(p);
        if (f != OPENS && f != EITHER && !is_dash(p)) break;
        *opened = *opened || p == 0xbf || p == 0xa1; /* ¿ ¡ begin a sentence whatever follows */
        i = behind_space(c->l, i + used);
        p = at(c->l, i, &used);
    }
    *where = i;
    return p;
}

/* "3. 5.": one or two digits and a stop, a date that goes on. */
static bool is_day_at(hd_line l, size_t i)
{
    size_t n = 0;
    while (n < 3 && i + n < l.size && l.text[i + n] >= '0' && l.text[i + n] <= '9') n++;
    return n >= 1 && n <= 2 && i + n < l.size && l.text[i + n] == '.';
}

/* Whether a number with a stop is an ordinal: "am 1. Mai", "3. 4. 2024", "1. Introduction". */
static bool is_ordinal(const scan *c, word next, size_t where)
{
    bool first = c->last.text == c->l.text + c->from, small = c->last.size <= 2;
    if (first && c->last.size <= 3) return true;
    if (IS_ONE_OF(next, ordinal_nouns, false)) return true;
    if (small && c->before.size && IS_ONE_OF(c->before, ordinal_articles, true)) return true;
    if (small && c->before.size <= 2 && is_number_word(c->before) && is_number_word(next)) return true;
    return small && is_day_at(c->l, where);
}

/* Whether the full stop belongs to the word before it. */
static bool is_abbreviated(const scan *c, const ending *e, int32_t p, size_t where)
{
    word w = c->last, next = word_at(c->l, where);
    size_t letters;
    if (!c->touches || e->dots || !w.size) return false;
    if (is_number_word(w)) return is_ordinal(c, next, where);
    if (IS_ONE_OF(w, abbreviations, true)) return true;
    bool street = w.size > 3 && !memcmp(w.text + w.size - 3, "str", 3); /* Goethestr. 5 */
    if (hd_is_number(p) && (street || IS_ONE_OF(w, number_abbreviations, true))) return true;
    bool starts = IS_ONE_OF(next, starters, false);
    if (IS_ONE_OF(w, doubtful, true)) return !starts;
    if (!is_letters_with_stops(w, &letters)) return false;
    if (letters > 1) return !starts;
    bool first = w.text == c->l.text + c->from, pronoun = w.size == 1 && w.text[0] == 'I' && !first;
    bool name = starts && next.size > 2 && !first; /* "the value of x. The" */
    return !pronoun && !name;
}

/* Whether a sentence ends at e->end. */
static bool is_end(const scan *c, const ending *e)
{
    size_t where;
    bool opened;
    if (!c->content) return false;
    if (e->end >= c->l.size) return true;
    int32_t p = next_of(c, e, &where, &opened);
    bool apart = ends_or_space(c->l, e->end);
    if (e->kind == WIDE) {
        /* 「…。」と: the quotation is part of a sentence */
        bool goes_on = e->closed && !apart && (p == 0x3068 || p == 0x3063);
        bool number = !apart && c->touches && hd_is_number(p) && at(c->l, c->i, &where) == 0xff0e;
        return !goes_on && !number;
    }
    if (!apart) return false;
    if (opened) return true;
    if (hd_is_lower(p)) {
        bool tokenized = c->s->spaced && e->alone && where == behind_space(c->l, e->end);
        if (e->closed || e->dots || !(c->s->plain || tokenized)) return false;
    }
    return e->kind == STRONG || e->alone || !is_abbreviated(c, e, p, where);
}

/* White space with an empty line in it, or U+2029, separates paragraphs. */
static bool is_paragraph(hd_line l, size_t i, size_t end)
{
    size_t ends = 0;
    for (size_t used; i < end; i += used) {
        int32_t c = at(l, i, &used);
        ends += c == '\n' ? 1 : c == 0x2029 ? 2 : 0;
    }
    return ends > 1;
}

/* Consumes anything but a mark: a word with the stops, hyphens and apostrophes in it, or one other
   character. */
static void take_word(scan *c)
{
    size_t used, from = c->i;
    int32_t p = at(c->l, c->i, &used);
    if (p == '"') c->open = !c->open;
    c->touches = hd_is_word(p) || p == 0x2116;
    c->i += used;
    if (!c->touches) return;
    c->content = true;
    for (;;) {
        p = at(c->l, c->i, &used);
        bool joint = p == '.' || p == '-' || p == '\'' || p == 0x2019;
        size_t more = 0;
        if (joint) joint = hd_is_word(at(c->l, c->i + used, &more));
        if (!joint && !hd_is_word(p)) break;
        c->i += used + (joint ? more : 0);
    }
    c->before = c->last;
    c->last = (word){c->l.text + from, c->i - from};
}

bool hd_splitter_next(hd_splitter *s, hd_line *sentence)
{
    scan c = {.s = s, .l = s->text, .from = behind_space(s->text, s->at)};
    size_t used, end = c.l.size;
    bool space = false;
    if (c.from >= c.l.size) return false;
    for (c.i = c.from; c.i < c.l.size;) {
        int32_t p = at(c.l, c.i, &used);
        if (hd_is_space(p)) {
            size_t next = behind_space(c.l, c.i);
            if (next >= c.l.size || is_paragraph(c.l, c.i, next)) {
                end = c.i;
                break;
            }
            c.i = next, c.touches = false, space = true;
            continue;
        }
        if (mark_of(p) == NONE) {
            take_word(&c);
        } else {
            ending e = {.alone = space, .end = c.i};
            take_marks(&c, &e);
            take_fences(&c, &e);
            if (is_end(&c, &e)) {
                end = e.end;
                break;
            }
            for (; c.i < e.end; c.i++)
                if (c.l.text[c.i] == '"') c.open = !c.open;
            c.touches = false;
        }
        space = false;
    }
    *sentence = (hd_line){c.l.text + c.from, end - c.from};
    s->at = end;
    return true;
}
