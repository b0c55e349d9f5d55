/* Which language a text is in, of those that the translators read: a tokenizer that was learned from a
   language needs fewer pieces for it, and knows them. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "serve/engine/models.h"

enum { LOOK = 2000, STRANGE = 4 }; /* bytes looked at; what an unknown piece counts */

/* Pieces for each character; infinite where there are none. */
static double pieces_of(const hd_model_folder *f, hd_line text)
{
    hd_pieces pieces = {0};
    hd_err err = {0};
    double sum = 0;
    size_t size = text.size < LOOK ? text.size : LOOK, letters = 0;
    while (size && size < text.size && ((unsigned char)text.text[size] & 0xc0) == 0x80) size--;
    for (size_t i = 0; i < size; i++) letters += ((unsigned char)text.text[i] & 0xc0) != 0x80;
    hd_status s = hd_tokenizer_encode(f->tokenizer[0], text.text, size, &pieces, &err);
    const int32_t unk = hd_tokenizer_special(f->tokenizer[0]).unk;
    for (size_t i = 0; i < pieces.count; i++) sum += pieces.at[i].id == unk ? STRANGE : 1;
    hd_pieces_release(&pieces);
    return s || !letters || sum == 0 ? INFINITY : sum / (double)letters;
}

static bool was_before(const hd_models *m, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (!strcasecmp(m->at[j].source, m->at[i].source)) return true;
    return false;
}

static void insert(hd_guessed *to, size_t count, hd_guessed one)
{
    for (; count && to[count - 1].confidence < one.confidence; count--) to[count] = to[count - 1];
    to[count] = one;
}

size_t hd_models_detect(const hd_models *m, hd_line text, hd_guessed *to, size_t most)
{
    enum { LANGUAGES = 256 };
    hd_guessed all[LANGUAGES];
    size_t count = 0;
    double sum = 0;
    for (size_t i = 0; i < m->count && count < LANGUAGES; i++) {
        if (!*m->at[i].source || was_before(m, i)) continue;
        double pieces = pieces_of(hd_engine_model(m->at[i].engine), text);
        hd_guessed g = {m->at[i].source, isinf(pieces) ? 0 : exp(-8 * pieces)};
        sum += g.confidence;
        insert(all, count++, g);
    }
    if (count == 1) all[0].confidence = sum = 1;
    for (size_t i = 0; i < count && i < most; i++) {
        to[i] = all[i];
        to[i].confidence = sum > 0 ? 100 * all[i].confidence / sum : 0;
    }
    return count < most ? count : most;
}
