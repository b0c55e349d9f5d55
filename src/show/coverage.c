/* Coverage of source words. */
#include "show/coverage.h"

#include <utf8proc.h>

#include "base/mem.h"
#include "text/character.h"

/* The attention that token j got. */
static double coverage_of(const hd_attention_part *p, size_t j)
{
    double sum = 0;
    for (size_t l = 0; l < p->layers; l++)
        for (size_t h = 0; h < p->heads; h++) {
            const float *weight = hd_attention_at(p, l, h);
            for (size_t i = 0; i < p->rows; i++) sum += (double)weight[i * p->cols + j];
        }
    return sum / (double)(p->layers * p->heads);
}

/* Whether byte `at` is inside a word of several letters; a Chinese character counts as a word. */
static bool is_inside(hd_line line, size_t at)
{
    int32_t c = -1;
    size_t before = at;
    if (!at || at >= line.size) return false;
    hd_character(line.text + at, line.size - at, &c);
    bool after = hd_is_word(c) && utf8proc_charwidth(c) < 2;
    do before--;
    while (before && ((unsigned char)line.text[before] & 0xc0) == 0x80);
    hd_character(line.text + before, at - before, &c);
    return after && hd_is_word(c) && utf8proc_charwidth(c) < 2;
}

/* The bytes without white space around them, and whether there is a letter or digit among them. */
static bool trim(hd_span *s, hd_line line)
{
    bool is_word = false;
    size_t used, end = s->begin;
    for (size_t i = s->begin; i < s->end; i += used) {
        int32_t c;
        used = hd_character(line.text + i, s->end - i, &c);
        is_word = is_word || hd_is_letter(c) || hd_is_number(c);
        if (!hd_is_space(c)) end = i + used;
        if (hd_is_space(c) && s->begin == i) s->begin = i + used;
    }
    s->end = end < s->begin ? s->begin : end;
    return is_word;
}

static hd_status add(hd_skipped_list *l, hd_skipped one, hd_err *err)
{
    hd_status s = hd_mem_reserve(&l->at, &l->room, l->count + 1, sizeof *l->at, err);
    if (!s) l->at[l->count++] = one;
    return s;
}

/* The piece that has the bytes of piece j: the last byte piece of a character. */
static size_t holder_of(const hd_piece *piece, size_t count, size_t j)
{
    while (j + 1 < count && piece[j].begin == piece[j].end) j++;
    return j;
}

/* Adds the pieces from j up to the holder of their bytes; returns the next one. */
static size_t take(hd_skipped *one, const hd_attention_part *p, const hd_piece *piece, size_t j,
                   size_t holder)
{
    for (; j <= holder; j++) one->coverage += coverage_of(p, j);
    if (piece[holder].end > one->word.end) one->word.end = piece[holder].end;
    return j;
}

hd_status hd_coverage_skipped(hd_skipped_list *out, const hd_attention_maps *maps, const hd_piece *piece,
                              hd_line line, hd_err *err)
{
    const hd_attention_part *p = &maps->part[HD_ATTENTION_CROSS];
    hd_status s = HD_OK;
    for (size_t j = 0; !s && j < p->cols && p->layers;) {
        size_t holder = holder_of(piece, p->cols, j);
        hd_skipped one = {.word = {piece[holder].begin, piece[holder].end}};
        j = take(&one, p, piece, j, holder);
        while (j < p->cols) {
            holder = holder_of(piece, p->cols, j);
            if (piece[holder].begin > one.word.end || !is_inside(line, piece[holder].begin)) break;
            j = take(&one, p, piece, j, holder);
        }
        if (trim(&one.word, line) && one.coverage < HD_SKIPPED_BELOW) s = add(out, one, err);
    }
    return s;
}

void hd_skipped_release(hd_skipped_list *l)
{
    hd_mem_free(l->at);
    *l = (hd_skipped_list){0};
}
