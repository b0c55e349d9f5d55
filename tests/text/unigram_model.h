/* A SentencePiece model of the pieces in published/unigram.tsv, normalized by nothing: it pads with 0, ends
   with 1, knows 2 for unknown, and has no start, as T5's. Include after check.h. */
#ifndef UNIGRAM_MODEL_H
#define UNIGRAM_MODEL_H

#include "base/file/lines.h"
#include "base/text.h"

static void unigram_varint(hd_text *to, uint64_t n)
{
    for (; n > 127; n >>= 7) hd_text_add(to, &(char){(char)(n | 128)}, 1);
    hd_text_add(to, &(char){(char)n}, 1);
}

static void unigram_field(hd_text *to, uint64_t number, const hd_text *bytes)
{
    unigram_varint(to, number << 3 | 2);
    unigram_varint(to, bytes->size);
    hd_text_add(to, bytes->data, bytes->size);
}

static void unigram_string(hd_text *to, uint64_t number, char *string)
{
    unigram_field(to, number, &(hd_text){.data = string, .size = strlen(string)});
}

static void unigram_piece(hd_text *to, char *row)
{
    hd_text piece = {0};
    char *score = strchr(row, '\t'), *kind = strchr(score + 1, '\t') + 1;
    *score = 0;
    float value = strtof(score + 1, NULL);
    unigram_string(&piece, 1, row);
    unigram_varint(&piece, 2 << 3 | 5);
    hd_text_add(&piece, (const char *)&value, sizeof value);
    unigram_varint(&piece, 3 << 3);
    unigram_varint(&piece, *kind == 'u' ? 2 : *kind == 'c' ? 3 : 1);
    unigram_field(to, 1, &piece);
    hd_text_release(&piece);
}

/* How it was trained, how texts are normalized. */
static void unigram_settings(hd_text *model)
{
    hd_text trainer = {0}, normal = {0};
    const uint64_t id[][2] = {{3, 1}, {40, 2}, {41, UINT64_MAX}, {42, 1}, {43, 0}};
    for (size_t i = 0; i < COUNT_OF(id); i++)
        unigram_varint(&trainer, id[i][0] << 3), unigram_varint(&trainer, id[i][1]);
    unigram_field(model, 2, &trainer);
    unigram_string(&normal, 1, (char[]){"identity"});
    unigram_field(model, 3, &normal);
    hd_text_release(&trainer);
    hd_text_release(&normal);
}

/* The bytes of the file; the caller releases them. fairseq: as a file of XLM-R has them, whose first pieces
   are <unk>, <s> and </s>. */
static hd_text unigram_pieces(bool fairseq)
{
    static const char *const other[] = {"<unk>\t0\tunk", "<s>\t0\tcontrol", "</s>\t0\tcontrol"};
    char first[32];
    size_t id = 0;
    hd_text model = {0};
    hd_lines *rows = NULL;
    hd_line row;
    hd_err err = {0};
    if (hd_lines_open(&rows, HEED_SOURCE "/tests/text/published/unigram.tsv", NULL, &err))
        fail_msg("%s", err.text);
    for (; !hd_lines_next(rows, &row, &err) && row.text; id++) {
        bool changed = fairseq && id < COUNT_OF(other);
        if (changed) strcpy(first, other[id]);
        unigram_piece(&model, changed ? first : (char *)row.text);
    }
    hd_lines_close(rows);
    unigram_settings(&model);
    return model;
}

__attribute__((unused)) static hd_text unigram_model(void)
{
    return unigram_pieces(false);
}

#endif
