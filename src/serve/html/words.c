/* Words and marks of a text, and which belong together. */
#include <stdlib.h>

#include "base/mem.h"
#include "serve/html/html.h"
#include "text/character.h"

void hd_html_words_release(hd_html_words *w)
{
    hd_mem_free(w->at);
    *w = (hd_html_words){0};
}

/* Characters of scripts without spaces are words by themselves. */
static bool is_word_alone(int32_t point)
{
    return (point >= 0x2E80 && point <= 0x9FFF) || (point >= 0xF900 && point <= 0xFAFF) ||
           (point >= 0x20000 && point <= 0x3FFFF);
}

static bool is_of_word(int32_t point)
{
    return !is_word_alone(point) && (hd_is_word(point) || hd_is_mark(point));
}

/* "don't" and "well-known" are one word. */
static bool joins(const char *text, size_t size, int32_t point)
{
    int32_t next;
    if (point != '\'' && point != '-' && point != 0x2019) return false;
    size_t own = hd_character(text, size, &next);
    return own < size && (hd_character(text + own, size - own, &next), is_of_word(next));
}

static hd_status add(hd_html_words *w, size_t begin, size_t end, hd_err *err)
{
    if (begin == end) return HD_OK;
    hd_status s = hd_mem_reserve(&w->at, &w->room, w->count + 1, sizeof *w->at, err);
    if (!s) w->at[w->count++] = (hd_span){begin, end};
    return s;
}

/* Bytes from .. to-1 of a text. */
static hd_status add_words(hd_html_words *w, hd_line text, size_t from, size_t to, hd_err *err)
{
    hd_status s = HD_OK;
    size_t begin = from;
    for (size_t i = from, size; !s && i < to; i += size) {
        int32_t point;
        size = hd_character(text.text + i, to - i, &point);
        if (is_of_word(point) || (i > begin && joins(text.text + i, to - i, point))) continue;
        s = add(w, begin, i, err);
        if (!s && !hd_is_space(point)) s = add(w, i, i + size, err);
        begin = i + size;
    }
    return s ? s : add(w, begin, to, err);
}

hd_status hd_html_words_read(hd_html_words *out, hd_line text, hd_err *err)
{
    *out = (hd_html_words){0};
    hd_status s = add_words(out, text, 0, text.size, err);
    if (s) hd_html_words_release(out);
    return s;
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

hd_status hd_html_words_of(hd_html_words *out, const hd_html *h, size_t passage, hd_err *err)
{
    const hd_html_passage *p = &h->passage[passage];
    size_t *cut = hd_mem_array(2 * p->tags + 1, sizeof *cut), from = 0;
    hd_status s = cut ? HD_OK : hd_err_nomem(err, 2 * p->tags * sizeof *cut);
    *out = (hd_html_words){0};
    for (size_t i = 0; cut && i < p->tags; i++)
        cut[2 * i] = h->tag[p->first_tag + i].begin, cut[2 * i + 1] = h->tag[p->first_tag + i].end;
    if (cut) cut[2 * p->tags] = p->size;
    if (cut) qsort(cut, 2 * p->tags + 1, sizeof *cut, by_place);
    for (size_t i = 0; !s && i <= 2 * p->tags; from = cut[i++])
        s = add_words(out, hd_html_text(h, passage), from, cut[i], err);
    hd_mem_free(cut);
    if (s) hd_html_words_release(out);
    return s;
}

void hd_html_links_release(hd_html_links *l)
{
    hd_mem_free(l->source);
    hd_mem_free(l->target);
    *l = (hd_html_links){0};
}
