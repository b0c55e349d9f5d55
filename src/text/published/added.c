/* Added tokens, looked up by their first byte. */
#include "text/published/added.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/character.h"

void hd_added_release(hd_added *a)
{
    hd_mem_free(a->at);
    *a = (hd_added){0};
}

hd_status hd_added_put(hd_added *a, hd_added_token token, hd_err *err)
{
    hd_status s = hd_mem_reserve(&a->at, &a->room, a->count + 1, sizeof *a->at, err);
    const char first = token.text[0], last = token.text[token.size - 1];
    token.control = token.special || (first == '<' && last == '>') || (first == '[' && last == ']');
    if (!s) a->at[a->count++] = token;
    return s;
}

static int by_first_byte(const void *left, const void *right)
{
    const hd_added_token *a = left, *b = right;
    uint8_t first[2] = {(uint8_t)a->text[0], (uint8_t)b->text[0]};
    if (first[0] != first[1]) return first[0] < first[1] ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

void hd_added_sort(hd_added *a)
{
    if (a->count) qsort(a->at, a->count, sizeof *a->at, by_first_byte);
    size_t i = 0;
    for (int byte = 0; byte <= 256; byte++) {
        while (i < a->count && (uint8_t)a->at[i].text[0] < byte) i++;
        a->begin[byte] = i;
    }
}

bool hd_added_special(const hd_added *a, int32_t id)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->at[i].id == id) return a->at[i].special;
    return false;
}

static const hd_added_token *token_at(const hd_added *a, hd_added_which which, const char *text, size_t size)
{
    uint8_t first = (uint8_t)*text;
    for (size_t i = a->begin[first]; i < a->begin[first + 1]; i++) {
        const hd_added_token *t = &a->at[i];
        if (t->normal != (which == HD_ADDED_NORMAL)) continue;
        if (t->size <= size && !memcmp(t->text, text, t->size)) return t;
    }
    return NULL;
}

/* First byte of the character that ends before text[at]. */
static size_t before(const char *text, size_t at)
{
    size_t begin = at - 1;
    while (begin && at - begin < 4 && ((uint8_t)text[begin] & 0xc0) == 0x80) begin--;
    return begin;
}

static bool is_word(const char *text, size_t size)
{
    int32_t point;
    hd_character(text, size, &point);
    return hd_is_word(point);
}

static bool stands_alone(const char *text, size_t size, size_t begin, size_t end)
{
    size_t last = begin ? before(text, begin) : 0;
    return (!begin || !is_word(text + last, begin - last)) &&
           (end == size || !is_word(text + end, size - end));
}

static size_t strip_left(const char *text, size_t begin, size_t least)
{
    int32_t point;
    while (begin > least) {
        size_t last = before(text, begin);
        hd_character(text + last, begin - last, &point);
        if (last < least || !hd_is_space(point)) break;
        begin = last;
    }
    return begin;
}

static size_t strip_right(const char *text, size_t size, size_t end)
{
    int32_t point;
    while (end < size) {
        size_t wide = hd_character(text + end, size - end, &point);
        if (!hd_is_space(point)) break;
        end += wide;
    }
    return end;
}

static bool is_typed(const hd_typed *typed, size_t begin, size_t end)
{
    begin += typed->begin, end += typed->begin;
    for (size_t i = 0; i < typed->count && typed->at[i].begin < end; i++)
        if (typed->at[i].end > begin) return true;
    return false;
}

bool hd_added_next_typed(const hd_added *a, hd_added_which which, const hd_typed *typed, const char *text,
                         size_t size, size_t *at, hd_stretch *out)
{
    const hd_added_token *t = NULL;
    size_t from = *at, begin = size;
    if (from >= size) return false;
    for (size_t i = from; a->count && i < size;) {
        t = token_at(a, which, text + i, size - i);
        bool text_of_user = t && typed && t->control && is_typed(typed, i, i + t->size);
        if (t && !text_of_user && (!t->word || stands_alone(text, size, i, i + t->size))) {
            begin = t->lstrip ? strip_left(text, i, from) : i;
            *at = t->rstrip ? strip_right(text, size, i + t->size) : i + t->size;
            break;
        }
        i += t && !text_of_user ? t->size : 1;
        t = NULL;
    }
    if (begin > from) t = NULL, *at = begin; /* the token, if there is one, is returned by the next call */
    *out = (hd_stretch){t, from, *at};
    return true;
}

bool hd_added_next(const hd_added *a, hd_added_which which, const char *text, size_t size, size_t *at,
                   hd_stretch *out)
{
    return hd_added_next_typed(a, which, NULL, text, size, at, out);
}
