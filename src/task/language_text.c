/* A text as a stream of tokens. Easy to get wrong: empty lines are part of it, unlike in a corpus of
   sentences. */
#include "task/language_text.h"

#include <string.h>

#include "base/mem.h"

/* -- lines -- */

static hd_status grow(void **block, size_t *room, size_t need, size_t each, hd_err *err)
{
    if (need <= *room) return HD_OK;
    size_t more = *room ? 2 * *room : 4096;
    if (more < need) more = need;
    void *b = hd_mem_grow(*block, more * each);
    if (!b) return hd_err_nomem(err, more * each);
    *block = b, *room = more;
    return HD_OK;
}

static hd_status add_line(hd_plain_text *t, hd_line line, hd_err *err)
{
    void *bytes = t->bytes, *end = t->end;
    hd_status s = grow(&bytes, &t->room, t->size + line.size + 1, 1, err);
    t->bytes = bytes;
    if (!s) s = grow(&end, &t->places, t->lines + 1, sizeof *t->end, err);
    t->end = end;
    if (s) return s;
    memcpy(t->bytes + t->size, line.text, line.size);
    t->size += line.size;
    t->end[t->lines++] = t->size;
    return HD_OK;
}

hd_status hd_plain_text_read(hd_plain_text *out, const char *path, hd_err *err)
{
    hd_plain_text t = {0};
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) s = add_line(&t, line, err);
    if (!s && !t.lines) s = hd_err_set(err, HD_EFORMAT, "%s: there is no text in it", hd_lines_name(lines));
    hd_lines_close(lines);
    if (s)
        hd_plain_text_release(&t);
    else
        *out = t;
    return s;
}

void hd_plain_text_release(hd_plain_text *t)
{
    hd_mem_free(t->bytes);
    hd_mem_free(t->end);
    *t = (hd_plain_text){0};
}

static hd_line line_at(const hd_plain_text *t, size_t i)
{
    size_t begin = i ? t->end[i - 1] : 0;
    return (hd_line){t->bytes + begin, t->end[i] - begin};
}

static bool next(void *context, hd_line *line)
{
    hd_plain_walk *w = context;
    if (w->next >= w->to) return false;
    *line = line_at(w->text, w->next++);
    return true;
}

hd_feed hd_plain_feed(hd_plain_walk *walk)
{
    return (hd_feed){next, walk};
}

hd_status hd_kept_lines(size_t *out, size_t lines, double fraction, hd_err *err)
{
    if (!(fraction > 0) || !(fraction < 1))
        return hd_err_set(err, HD_EARG, "a share of %g of the lines cannot be held back", fraction);
    if (lines < 2)
        return hd_err_set(err, HD_EARG,
                          "a text of one line cannot be parted: give another one to validate with");
    size_t tail = (size_t)((double)lines * fraction + 0.5);
    *out = lines - (tail < 1 ? 1 : tail >= lines ? lines - 1 : tail);
    return HD_OK;
}

/* -- tokens -- */

static uint64_t hash_of(const int32_t *ids, size_t count)
{
    uint64_t h = 0xcbf29ce484222325u ^ count;
    for (size_t i = 0; i < count; i++) h = (h ^ (uint32_t)ids[i]) * 0x100000001b3u, h ^= h >> 29;
    return h;
}

static uint32_t characters_in(hd_line line)
{
    uint32_t n = 0;
    for (size_t i = 0; i < line.size; i++) n += ((unsigned char)line.text[i] & 0xC0) != 0x80;
    return n;
}

hd_status hd_stream_text_of(hd_stream_text *out, const hd_plain_text *text, size_t from, size_t to,
                            const hd_tokeniser *t, hd_err *err)
{
    hd_stream_text x = {.lines = to - from};
    hd_ids ids = {0};
    int32_t end = hd_tokeniser_special(t).end;
    x.wide = hd_mem_array(x.lines + 1, sizeof *x.wide);
    hd_status s = x.wide ? HD_OK : hd_err_nomem(err, x.lines * sizeof *x.wide);
    for (size_t i = from; !s && i < to; i++) {
        hd_line line = line_at(text, i);
        s = hd_tokeniser_encode_ids(t, line.text, line.size, &ids, err);
        if (!s) s = hd_ids_reserve(&ids, 1, err);
        if (s) break;
        ids.at[ids.count++] = end;
        x.characters += x.wide[i - from] = characters_in(line) + 1;
    }
    x.ids = ids.at, x.count = ids.count;
    if (s)
        hd_stream_text_release(&x);
    else
        x.hash = hash_of(x.ids, x.count), *out = x;
    return s;
}

hd_status hd_stream_text_read(hd_stream_text *out, const char *path, const hd_tokeniser *t, hd_err *err)
{
    hd_plain_text text = {0};
    hd_status s = hd_plain_text_read(&text, path, err);
    if (!s) s = hd_stream_text_of(out, &text, 0, text.lines, t, err);
    hd_plain_text_release(&text);
    return s;
}

/* Where each line ends only the ends of lines tell, and each line has just one: its last token. */
hd_status hd_stream_text_split(hd_stream_text *s, double fraction, hd_stream_text *tail, hd_err *err)
{
    size_t kept = 0, cut = 0;
    hd_stream_text x = {0};
    hd_status st = hd_kept_lines(&kept, s->lines, fraction, err);
    if (st) return st;
    int32_t end = s->ids[s->count - 1];
    for (size_t line = 0; line < kept; cut++) line += s->ids[cut] == end;
    x.count = s->count - cut, x.lines = s->lines - kept;
    x.ids = hd_mem_array(x.count + 1, sizeof *x.ids);
    x.wide = hd_mem_array(x.lines + 1, sizeof *x.wide);
    if (!x.ids || !x.wide) {
        hd_stream_text_release(&x);
        return hd_err_nomem(err, s->count * sizeof *x.ids);
    }
    memcpy(x.ids, s->ids + cut, x.count * sizeof *x.ids);
    memcpy(x.wide, s->wide + kept, x.lines * sizeof *x.wide);
    for (size_t i = 0; i < x.lines; i++) x.characters += x.wide[i];
    x.hash = hash_of(x.ids, x.count);
    s->count = cut, s->lines = kept, s->characters -= x.characters;
    s->hash = hash_of(s->ids, s->count);
    *tail = x;
    return HD_OK;
}

void hd_stream_text_release(hd_stream_text *s)
{
    hd_mem_free(s->ids);
    hd_mem_free(s->wide);
    *s = (hd_stream_text){0};
}
