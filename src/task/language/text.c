/* A text as a stream of tokens. Easy to get wrong: empty lines are part of it, unlike in a corpus of
   sentences. */
#include "task/language/language.h"

#include <string.h>

#include "base/mem.h"

/* -- lines -- */

static hd_status add_line(hd_plain_text *t, hd_line line, hd_err *err)
{
    hd_status s = hd_mem_reserve(&t->bytes, &t->room, t->size + line.size + 1, 1, err);
    if (!s) s = hd_mem_reserve(&t->end, &t->places, t->lines + 1, sizeof *t->end, err);
    if (s) return s;
    memcpy(t->bytes + t->size, line.text, line.size);
    t->size += line.size;
    t->end[t->lines++] = t->size;
    return HD_OK;
}

static hd_status read_file(hd_plain_text *t, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    size_t before = t->lines;
    hd_status s = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) s = add_line(t, line, err);
    if (!s && t->lines == before)
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no text in it", hd_lines_name(lines));
    hd_lines_close(lines);
    return s;
}

hd_status hd_plain_text_read(hd_plain_text *out, const char *path, hd_err *err)
{
    return hd_plain_text_read_all(out, &(hd_files){(char *[]){(char *)path}, 1, 0}, err);
}

hd_status hd_plain_text_read_all(hd_plain_text *out, const hd_files *files, hd_err *err)
{
    hd_plain_text t = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < files->count; i++) s = read_file(&t, files->at[i], err);
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
    if (w->next >= w->text->lines) return false;
    *line = line_at(w->text, w->next++);
    return true;
}

hd_feed hd_plain_feed(hd_plain_walk *walk)
{
    return (hd_feed){next, walk};
}

/* -- parts -- */

static bool begins(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

size_t hd_line_characters(hd_line line)
{
    size_t n = 1;
    for (size_t i = 0; i < line.size; i++) n += begins(line.text[i]);
    return n;
}

size_t hd_line_bytes(hd_line line, size_t n)
{
    size_t at = 0;
    while (n--) do
            at++;
        while (at < line.size && !begins(line.text[at]));
    return at;
}

hd_status hd_characters_kept(size_t *out, size_t all, double fraction, hd_err *err)
{
    if (!(fraction > 0) || !(fraction < 1))
        return hd_err_set(err, HD_EARG, "a share of %g of a text cannot be held back", fraction);
    if (all < 2)
        return hd_err_set(err, HD_EARG,
                          "a text of one character cannot be parted: give another one to validate with");
    size_t kept = (size_t)((1 - fraction) * (double)all + 0.5);
    *out = kept < 1 ? 1 : kept >= all ? all - 1 : kept;
    return HD_OK;
}

/* What t has from byte `cut` of line `first` on. */
static hd_status copy_tail(hd_plain_text *out, const hd_plain_text *t, size_t first, size_t cut, hd_err *err)
{
    hd_plain_text tail = {.open = t->open};
    hd_status s = HD_OK;
    for (size_t i = first; !s && i < t->lines; i++, cut = 0) {
        hd_line line = line_at(t, i);
        s = add_line(&tail, (hd_line){line.text + cut, line.size - cut}, err);
    }
    if (s)
        hd_plain_text_release(&tail);
    else
        *out = tail;
    return s;
}

hd_status hd_plain_text_split(hd_plain_text *t, double fraction, hd_plain_text *tail, hd_err *err)
{
    size_t kept = 0, line = 0, all = 0;
    for (size_t i = 0; i < t->lines; i++) all += hd_line_characters(line_at(t, i));
    hd_status s = hd_characters_kept(&kept, all - t->open, fraction, err);
    if (s) return s;
    for (size_t n; (n = hd_line_characters(line_at(t, line))) <= kept; line++) kept -= n;
    size_t cut = hd_line_bytes(line_at(t, line), kept);
    s = copy_tail(tail, t, line, cut, err);
    if (s) return s;
    t->size = (line ? t->end[line - 1] : 0) + cut;
    t->open = kept > 0;
    if (kept) t->end[line] = t->size;
    t->lines = line + t->open;
    return HD_OK;
}

/* -- tokens -- */

uint64_t hd_ids_hash(const int32_t *ids, size_t count)
{
    uint64_t h = 0xcbf29ce484222325u ^ count;
    for (size_t i = 0; i < count; i++) h = (h ^ (uint32_t)ids[i]) * 0x100000001b3u, h ^= h >> 29;
    return h;
}

size_t hd_stream_text_learned(const hd_stream_text *s, size_t from, size_t count)
{
    size_t n = s->learned ? 0 : count;
    for (size_t i = from; s->learned && i < from + count; i++) n += s->learned[i];
    return n;
}

/* Every line and an end token behind it; behind the last one not where the text is cut there. */
static hd_status encode_lines(hd_ids *ids, const hd_plain_text *text, const hd_tokenizer *t, hd_err *err)
{
    int32_t end = hd_tokenizer_special(t).end;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < text->lines; i++) {
        hd_line line = line_at(text, i);
        s = hd_tokenizer_encode_ids(t, line.text, line.size, ids, err);
        if (!s) s = hd_ids_reserve(ids, 1, err);
        if (!s && !(text->open && i + 1 == text->lines)) ids->at[ids->count++] = end;
    }
    return s;
}

/* For tokenizers to which ends of lines are text. */
static hd_status encode_whole(hd_ids *ids, const hd_plain_text *text, const hd_tokenizer *t, hd_err *err)
{
    hd_text all = {0};
    for (size_t i = 0; i < text->lines; i++) {
        hd_line line = line_at(text, i);
        hd_text_add(&all, line.text, line.size);
        if (!(text->open && i + 1 == text->lines)) hd_text_put(&all, "\n");
    }
    hd_status s = hd_text_status(&all, err);
    if (!s && all.size) s = hd_tokenizer_encode_ids(t, all.data, all.size, ids, err);
    hd_text_release(&all);
    return s;
}

hd_status hd_stream_text_of(hd_stream_text *out, const hd_plain_text *text, const hd_tokenizer *t,
                            hd_err *err)
{
    hd_stream_text x = {.lines = text->lines};
    hd_ids ids = {0};
    hd_status s = (hd_tokenizer_keeps_lines(t) ? encode_whole : encode_lines)(&ids, text, t, err);
    for (size_t i = 0; i < text->lines; i++)
        x.characters += hd_line_characters(line_at(text, i)) - (text->open && i + 1 == text->lines);
    x.ids = ids.at, x.count = ids.count;
    if (s)
        hd_stream_text_release(&x);
    else
        x.hash = hd_ids_hash(x.ids, x.count), *out = x;
    return s;
}

void hd_stream_text_release(hd_stream_text *s)
{
    hd_mem_free(s->ids);
    hd_mem_free(s->begin);
    hd_mem_free(s->learned);
    hd_shards_free(s->shards);
    *s = (hd_stream_text){0};
}

const int32_t *hd_stream_text_at(const hd_stream_text *s, size_t from, size_t count, int32_t *room,
                                 hd_err *err)
{
    if (s->ids) return s->ids + from;
    return hd_shards_span(s->shards, from, count, room, err) ? NULL : room;
}
