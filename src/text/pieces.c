/* Lists of pieces and ids, as filled by tokenizers. */
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

hd_status hd_ids_reserve(hd_ids *ids, size_t more, hd_err *err)
{
    if (more > SIZE_MAX - ids->count) return hd_err_nomem(err, more);
    return hd_mem_reserve(&ids->at, &ids->room, ids->count + more, sizeof *ids->at, err);
}

hd_status hd_ids_add(hd_ids *ids, int32_t id, hd_err *err)
{
    hd_status s = hd_ids_reserve(ids, 1, err);
    if (!s) ids->at[ids->count++] = id;
    return s;
}

hd_status hd_ids_add_pieces(hd_ids *ids, const hd_pieces *p, hd_err *err)
{
    hd_status s = hd_ids_reserve(ids, p->count, err);
    for (size_t i = 0; !s && i < p->count; i++) ids->at[ids->count++] = p->at[i].id;
    return s;
}

bool hd_pieces_add(hd_pieces *p, hd_piece piece)
{
    if (hd_mem_reserve(&p->at, &p->room, p->count + 1, sizeof *p->at, NULL)) return false;
    p->at[p->count++] = piece;
    return true;
}

hd_status hd_pieces_add_around(hd_pieces *p, int32_t id, int type, hd_err *err)
{
    const hd_piece around = {.id = id, .text = -1, .type = (int8_t)type};
    return hd_pieces_add(p, around) ? HD_OK : hd_err_nomem(err, sizeof around);
}

void hd_pieces_move(hd_pieces *p, size_t from, size_t by)
{
    for (hd_piece *q = p->at + from; q < p->at + p->count; q++)
        q->begin += (uint32_t)by, q->end += (uint32_t)by;
}

/* A place in a text: the first byte of a character, and its number. */
typedef struct place {
    size_t byte;
    uint32_t character;
} place;

/* Advances to the character that contains byte `to`, or past the last one. */
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
