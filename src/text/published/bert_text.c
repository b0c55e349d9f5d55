/* BERT's normalization, character by character. The order of its steps is that of Hugging Face's tokenizers:
   clean, space out ideographs, strip accents, lower case. */
#include "text/published/bert_text.h"

#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "text/character.h"

enum { FIRST_ROOM = 256, DECOMPOSED = 32, BROKEN = 0xfffd };

void hd_bert_text_release(hd_bert_text *t)
{
    hd_text_release(&t->text);
    hd_mem_free(t->from);
    *t = (hd_bert_text){0};
}

static bool is_ideograph(int32_t point)
{
    static const int32_t range[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                       {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                       {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    for (size_t i = 0; point >= 0x3400 && i < sizeof range / sizeof *range; i++)
        if (point >= range[i][0] && point <= range[i][1]) return true;
    return false;
}

/* Appends one normalized character; `from` is that of the original. */
static void put(hd_bert_text *t, int32_t point, struct hd_origin from)
{
    char bytes[4];
    size_t size = (size_t)utf8proc_encode_char(point, (uint8_t *)bytes);
    if (t->text.size + size > t->room) {
        size_t room = t->room ? 2 * t->room : FIRST_ROOM;
        struct hd_origin *grown = hd_mem_grow(t->from, room * sizeof *grown);
        if (!grown) {
            if (!t->text.missed) t->text.missed = room * sizeof *grown;
            return;
        }
        t->from = grown, t->room = room;
    }
    size_t at = t->text.size;
    hd_text_add(&t->text, bytes, size);
    for (; at < t->text.size; at++) t->from[at] = from;
}

static void put_lower(hd_bert_text *t, const hd_bert_rules *r, int32_t point, struct hd_origin from)
{
    if (!r->lower) {
        put(t, point, from);
    } else if (point == 0x130) { /* the one whose lower case is two characters */
        put(t, 'i', from);
        put(t, 0x307, from);
    } else {
        put(t, point < 0x80 ? (point >= 'A' && point <= 'Z' ? point + 32 : point) : utf8proc_tolower(point),
            from);
    }
}

static void put_unaccented(hd_bert_text *t, const hd_bert_rules *r, int32_t point, struct hd_origin from)
{
    int32_t part[DECOMPOSED];
    int bound = 0;
    utf8proc_ssize_t count = 1;
    part[0] = point;
    if (r->unaccent && point >= 0x80)
        count = utf8proc_decompose_char(point, part, DECOMPOSED, UTF8PROC_DECOMPOSE, &bound);
    if (count < 1 || count > DECOMPOSED) count = 1, part[0] = point;
    for (utf8proc_ssize_t i = 0; i < count; i++)
        if (!r->unaccent || !hd_is_accent(part[i])) put_lower(t, r, part[i], from);
}

static void put_character(hd_bert_text *t, const hd_bert_rules *r, int32_t point, struct hd_origin from)
{
    bool white = point == '\t' || point == '\n' || point == '\r';
    if (point < 0) point = BROKEN;
    if (r->clean) {
        if (point == BROKEN || (!white && hd_is_control(point))) return;
        if (white || hd_is_space(point)) point = ' ';
    }
    bool apart = r->chinese && is_ideograph(point);
    if (apart) put(t, ' ', from);
    put_unaccented(t, r, point, from);
    if (apart) put(t, ' ', from);
}

hd_status hd_bert_text_set(hd_bert_text *t, const hd_bert_rules *r, const char *text, size_t size,
                           hd_err *err)
{
    int32_t point;
    t->text.size = 0;
    for (size_t at = 0, wide; at < size; at += wide) {
        wide = hd_character(text + at, size - at, &point);
        put_character(t, r, point, (struct hd_origin){(uint32_t)at, (uint32_t)(at + wide)});
    }
    return hd_text_status(&t->text, err);
}
