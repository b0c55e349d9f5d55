/* Lists of pieces and of ids, as tokenizers fill them. */
#include "base/mem.h"
#include "text/character.h"
#include "text/tokenizer.h"

void hd_pieces_release(hd_pieces *p)
{
    hd_mem_free(p->at);
    *p = (hd_pieces){0};
}

void hd_ids_release(hd_ids *ids)
{
    hd_mem_free(ids->at);
    *ids = (hd_ids){0};
}

/* Grows *block to hold `more` elements of `size` bytes behind `count`; false: no memory. */
static bool reserve(void **block, size_t *room, size_t count, size_t more, size_t size)
{
    if (more <= *room - count) return true;
    size_t wanted = count + more, bytes;
    if (wanted < count) return false;
    if (wanted < 2 * *room) wanted = 2 * *room;
    if (wanted < 64) wanted = 64;
    void *grown = hd_size_mul(wanted, size, &bytes) ? hd_mem_grow(*block, bytes) : NULL;
    if (!grown) return false;
    *block = grown;
    *room = wanted;
    return true;
}

hd_status hd_ids_reserve(hd_ids *ids, size_t more, hd_err *err)
{
    void *at = ids->at;
    if (!reserve(&at, &ids->room, ids->count, more, sizeof *ids->at))
        return hd_err_nomem(err, more * sizeof *ids->at);
    ids->at = at;
    return HD_OK;
}

bool hd_pieces_add(hd_pieces *p, hd_piece piece)
{
    void *at = p->at;
    if (!reserve(&at, &p->room, p->count, 1, sizeof *p->at)) return false;
    p->at = at;
    p->at[p->count++] = piece;
    return true;
}

/* A place in a text: the first byte of a character, and its number. */
typedef struct place {
    size_t byte;
    uint32_t character;
} place;

/* Moves on to the character that byte `to` is part of, or behind the last. */
static void move(place *p, hd_line text, size_t to)
{
    int32_t point;
    while (p->byte < text.size) {
        size_t wide = hd_character(text.text + p->byte, text.size - p->byte, &point);
        if (p->byte + wide > to) return;
        p->byte += wide, p->character++;
    }
}

void hd_pieces_count_characters(hd_pieces *p, int which, hd_line text)
{
    place at = {0};
    for (size_t i = 0; i < p->count; i++) {
        hd_piece *piece = &p->at[i];
        if (piece->text != which) continue;
        if (piece->begin < at.byte) at = (place){0};
        move(&at, text, piece->begin);
        place last = at;
        if (piece->end > piece->begin) move(&last, text, piece->end - 1), last.character++;
        piece->begin = at.character, piece->end = last.character;
    }
}
