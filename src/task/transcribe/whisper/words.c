/* Tokens as words. Easy to get wrong: a token may be a part of a character, and punctuation goes with the
   word before or behind it. */
#include <string.h>

#include "base/mem.h"
#include "task/transcribe/whisper/align.h"

static const char REPLACED[] = "\xef\xbf\xbd";
static const char ASCII_MARKS[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
static const char BEFORE_WORDS[] = "\"'\xe2\x80\x9c\xc2\xa1\xc2\xbf([{-",
                  BEHIND_WORDS[] = "\"'.\xe3\x80\x82,\xef\xbc\x8c!\xef\xbc\x81?\xef\xbc\x9f:"
                                   "\xef\xbc\x9a\xe2\x80\x9d)]}\xe3\x80\x81";

typedef struct part {
    size_t begin, end;  /* bytes of the text */
    size_t first, last; /* tokens */
} part;

typedef struct splitting {
    const hd_tokenizer *t;
    const hd_word_split *what;
    hd_text text; /* of all parts, one behind the other */
    part *part;
    size_t count, room;
} splitting;

/* As the published rule has it: nothing, or what stands together in the list, is among the marks, too. */
static bool is_among(const char *marks, hd_line text)
{
    for (const char *at = marks; *at || !text.size; at++) {
        if (strlen(at) < text.size) return false;
        if (!text.size || !memcmp(at, text.text, text.size)) return true;
    }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Without spaces around it. */
static hd_line stripped(const splitting *s, const part *p)
{
    const char *text = s->text.data + p->begin;
    size_t size = p->end - p->begin;
    while (size && is_blank(*text)) text++, size--;
    while (size && is_blank(text[size - 1])) size--;
    return (hd_line){text, size};
}

/* -- characters: tokens until they are text -- */

/* Whether bytes end within a character: what then is read as U+FFFD is none of the whole text. */
static bool is_whole(const char *text, size_t size, const char *all, size_t left)
{
    const char *bad = NULL;
    for (size_t i = 0; i + 3 <= size && !bad; i++)
        if (!memcmp(text + i, REPLACED, 3)) bad = text + i;
    if (!bad) return true;
    size_t at = (size_t)(bad - text);
    return at + 3 > left || !memcmp(all + at, REPLACED, 3);
}

static hd_status split_characters(splitting *s, hd_err *err)
{
    const hd_word_split *w = s->what;
    hd_text all = {0}, one = {0};
    size_t first = 0;
    hd_status st = hd_tokenizer_decode(s->t, w->ids, w->count, &all, err);
    for (size_t i = 0; !st && i < w->count; i++) {
        one.size = 0;
        st = hd_tokenizer_decode(s->t, w->ids + first, i + 1 - first, &one, err);
        if (st || (i + 1 < w->count &&
                   !is_whole(one.data ? one.data : "", one.size, (all.data ? all.data : "") + s->text.size,
                             all.size > s->text.size ? all.size - s->text.size : 0)))
            continue;
        st = hd_mem_reserve(&s->part, &s->room, s->count + 1, sizeof *s->part, err);
        if (st) break;
        s->part[s->count++] = (part){s->text.size, s->text.size + one.size, first, i};
        if (one.size) hd_text_add(&s->text, one.data, one.size);
        first = i + 1;
    }
    if (!st) st = hd_text_status(&s->text, err);
    hd_text_release(&all);
    hd_text_release(&one);
    return st;
}

/* -- words -- */

/* Parts that do not begin a word join the one before. */
static void join_at_spaces(splitting *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const hd_line bare = stripped(s, &s->part[i]);
        bool spaced = s->part[i].end > s->part[i].begin && s->text.data[s->part[i].begin] == ' ';
        if (!n || spaced || is_among(ASCII_MARKS, bare))
            s->part[n++] = s->part[i];
        else
            s->part[n - 1].end = s->part[i].end, s->part[n - 1].last = s->part[i].last;
    }
    s->count = n;
}

static void drop_empty(splitting *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->part[i].end > s->part[i].begin) s->part[n++] = s->part[i];
    s->count = n;
}

static void join_marks(splitting *s)
{
    for (size_t i = s->count, j = s->count - 1; s->count > 1 && i-- > 1;) {
        part *p = &s->part[i - 1], *next = &s->part[j];
        if (p->end > p->begin && s->text.data[p->begin] == ' ' && is_among(BEFORE_WORDS, stripped(s, p)))
            next->begin = p->begin, next->first = p->first, p->end = p->begin;
        else
            j = i - 1;
    }
    drop_empty(s);
    for (size_t i = 0, j = 1; j < s->count; j++) {
        part *p = &s->part[i], *next = &s->part[j];
        const hd_line mark = {s->text.data + next->begin, next->end - next->begin};
        if (s->text.data[p->end - 1] != ' ' && is_among(BEHIND_WORDS, mark))
            p->end = next->end, p->last = next->last, next->begin = next->end;
        else
            i = j;
    }
    drop_empty(s);
}

hd_status hd_whisper_words(hd_spoken_word **out, size_t *count, const hd_tokenizer *t,
                           const hd_word_split *what, hd_arena *memory, hd_err *err)
{
    splitting s = {.t = t, .what = what};
    *out = NULL, *count = 0;
    hd_status st = split_characters(&s, err);
    if (!st && s.count && s.text.size) {
        if (!what->unspaced) join_at_spaces(&s);
        join_marks(&s);
        *out = hd_arena_array(memory, s.count + 1, sizeof **out, err);
        if (!*out) st = HD_ENOMEM;
    }
    for (size_t i = 0; !st && *out && i < s.count; i++) {
        const part *p = &s.part[i];
        char *text = hd_arena_copy(memory, s.text.data + p->begin, p->end - p->begin, err);
        if (!text) st = HD_ENOMEM;
        (*out)[i] = (hd_spoken_word){.text = text, .begin = what->begin[p->first], .end = what->end[p->last]};
    }
    if (!st && *out) *count = s.count;
    hd_mem_free(s.part);
    hd_text_release(&s.text);
    return st;
}
