/* Captions in ids. */
#include "task/caption/captions.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "text/character.h"

/* The texts of the set as they are learned. */
static hd_status take_texts(hd_captions *c, hd_err *err)
{
    hd_text one = {0};
    hd_status s = HD_OK;
    c->count = c->set.first_caption[c->set.count];
    c->text = hd_arena_array(&c->memory, c->count + 1, sizeof *c->text, err);
    if (!c->text) return HD_ENOMEM;
    for (size_t i = 0; !s && i < c->count; i++) {
        hd_line from = c->set.caption[i];
        one.size = 0;
        if (c->cased)
            hd_text_add(&one, from.text, from.size);
        else
            hd_text_add_lower(&one, from.text, from.size);
        s = hd_text_status(&one, err);
        char *copy = s ? NULL : hd_arena_array(&c->memory, one.size + 1, 1, err);
        if (!s && !copy) s = HD_ENOMEM;
        if (copy && one.size) memcpy(copy, one.data, one.size);
        if (copy) copy[one.size] = 0, c->text[i] = (hd_line){copy, one.size};
    }
    hd_text_release(&one);
    return s;
}

hd_status hd_captions_open(hd_captions *out, const hd_captions_read *how, hd_err *err)
{
    hd_captions c = {.cased = how->cased};
    hd_arena_init(&c.memory, hd_allocator_host, 1 << 16);
    hd_status s = hd_image_set_captions(&c.set, how->path, how->images, how->names, how->skip, err);
    if (!s) s = take_texts(&c, err);
    if (s)
        hd_captions_release(&c);
    else
        *out = c;
    return s;
}

hd_status hd_captions_split(hd_captions *c, double fraction, uint64_t seed, hd_captions *out, hd_err *err)
{
    hd_captions held = {.cased = c->cased};
    hd_arena_init(&held.memory, hd_allocator_host, 1 << 16);
    hd_status s = hd_image_set_split(&c->set, fraction, seed, &held.set, err);
    if (!s) s = take_texts(&held, err);
    if (!s) s = take_texts(c, err);
    if (s)
        hd_captions_release(&held);
    else
        *out = held;
    return s;
}

void hd_captions_release(hd_captions *c)
{
    hd_image_set_release(&c->set);
    hd_mem_free(c->id);
    hd_mem_free(c->begin);
    if (c->memory.chunks) hd_arena_release(&c->memory);
    *c = (hd_captions){0};
}

static bool next_line(void *context, hd_line *line)
{
    hd_captions_walk *w = context;
    if (w->next == w->of->count) return false;
    *line = w->of->text[w->next++];
    return true;
}

hd_feed hd_captions_feed(hd_captions_walk *walk)
{
    walk->next = 0;
    return (hd_feed){next_line, walk};
}

hd_status hd_captions_encode(hd_captions *c, const hd_tokenizer *t, size_t longest, hd_err *err)
{
    hd_ids ids = {0};
    hd_status s = HD_OK;
    hd_mem_free(c->begin);
    c->begin = hd_mem_array(c->count + 1, sizeof *c->begin);
    if (!c->begin) return hd_err_nomem(err, c->count * sizeof *c->begin);
    c->cut = c->longest = 0;
    for (size_t i = 0; !s && i < c->count; i++) {
        size_t from = c->begin[i] = ids.count;
        s = hd_tokenizer_encode_ids(t, c->text[i].text, c->text[i].size, &ids, err);
        if (s) break;
        if (ids.count - from > longest) ids.count = from + longest, c->cut++;
        if (ids.count - from > c->longest) c->longest = ids.count - from;
    }
    if (s) return hd_ids_release(&ids), s;
    c->begin[c->count] = ids.count;
    hd_mem_free(c->id);
    c->id = ids.at;
    return HD_OK;
}

/* Whether a text has the word, in small letters, between others. */
static bool has_word(hd_line text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text.text; (at = strstr(at, word)); at += n) {
        bool begins = at == text.text || at[-1] == ' ', ends = !at[n] || at[n] == ' ';
        if (begins && ends) return true;
    }
    return false;
}

size_t hd_captions_sided(const hd_captions *c)
{
    size_t sided = 0;
    for (size_t i = 0; i < c->count; i++)
        sided += has_word(c->text[i], "left") || has_word(c->text[i], "right");
    return sided;
}

size_t hd_captions_choose(const hd_captions *c, size_t picture, uint64_t seed, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(seed, 0x6361700000000000u + picture);
    size_t n = hd_captions_of(c, picture);
    return c->set.first_caption[picture] + (size_t)((hd_rng_below(&rng, (uint32_t)n) + epoch) % n);
}
