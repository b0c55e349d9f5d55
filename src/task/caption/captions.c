/* Captions in ids. */
#include "task/caption/captions.h"

#include <string.h>

#include "base/rng.h"
#include "text/character.h"

static void put(hd_text *to, hd_line from, bool cased)
{
    if (cased)
        hd_text_add(to, from.text, from.size);
    else
        hd_text_add_lower(to, from.text, from.size);
}

/* The texts of the set as they are learned. */
static hd_status take_texts(hd_captions *c, hd_err *err)
{
    const hd_image_set *s = &c->set;
    return hd_targets_take(&c->texts, s->caption, s->first_caption[s->count], c->cased, put, err);
}

hd_status hd_captions_open(hd_captions *out, const hd_captions_read *how, hd_err *err)
{
    hd_captions c = {.cased = how->cased};
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
    hd_targets_release(&c->texts);
    *c = (hd_captions){0};
}

hd_status hd_captions_encode(hd_captions *c, const hd_tokenizer *t, size_t longest, hd_err *err)
{
    hd_targets_cut cut;
    hd_status s = hd_targets_encode(&c->texts, t, longest, &cut, err);
    c->cut = cut.count;
    return s;
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
    for (size_t i = 0; i < c->texts.count; i++)
        sided += has_word(c->texts.text[i], "left") || has_word(c->texts.text[i], "right");
    return sided;
}

size_t hd_captions_choose(const hd_captions *c, size_t picture, uint64_t seed, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(seed, 0x6361700000000000u + picture);
    size_t n = hd_captions_of(c, picture);
    return c->set.first_caption[picture] + (size_t)((hd_rng_below(&rng, (uint32_t)n) + epoch) % n);
}
