/* Reading a SentencePiece model, a protocol buffer: field 1 pieces, 2 how it was trained, 3 how texts are
   normalized. Easy to get wrong: the default of an absent field is not always 0. */
#include "text/sentencepiece/sentencepiece_view.h"

#include <string.h>

#include "base/mem.h"
#include "text/sentencepiece/protobuf.h"

static hd_line line_of(hd_proto_span span)
{
    return (hd_line){(const char *)span.at, span.size};
}

static hd_status damaged(hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT, "not a SentencePiece model: damaged");
}

static hd_status read_piece(hd_spm_view *v, hd_proto_span message, hd_err *err)
{
    hd_proto_field f;
    v->piece[v->count].type = HD_SPM_NORMAL;
    while (message.size) {
        if (!hd_proto_take(&message, &f)) return damaged(err);
        if (f.number == 1) v->piece[v->count].text = line_of(f.bytes);
        if (f.number == 2) memcpy(&v->piece[v->count].score, &(uint32_t){(uint32_t)f.value}, sizeof(float));
        if (f.number == 3) v->piece[v->count].type = (hd_spm_type)f.value;
    }
    v->count++;
    return HD_OK;
}

static hd_status read_trainer(hd_spm_view *v, hd_proto_span message, hd_err *err)
{
    hd_proto_field f;
    while (message.size) {
        if (!hd_proto_take(&message, &f)) return damaged(err);
        if (f.number == 3) v->kind = (hd_spm_kind)f.value;
        if (f.number == 24) v->suffix = f.value != 0;
        if (f.number == 35) v->byte_fallback = f.value != 0;
    }
    return HD_OK;
}

static hd_status read_normalizer(hd_spm_view *v, hd_proto_span message, hd_err *err)
{
    hd_proto_field f;
    while (message.size) {
        if (!hd_proto_take(&message, &f)) return damaged(err);
        if (f.number == 1) v->name = line_of(f.bytes);
        if (f.number == 2) v->charsmap = line_of(f.bytes);
        if (f.number == 3) v->prefix = f.value != 0;
        if (f.number == 4) v->tidy = f.value != 0;
        if (f.number == 5) v->escape = f.value != 0;
    }
    return HD_OK;
}

static size_t count_pieces(hd_proto_span message)
{
    hd_proto_field f;
    size_t count = 0;
    while (message.size && hd_proto_take(&message, &f)) count += f.number == 1;
    return count;
}

hd_status hd_spm_view_read(hd_spm_view *v, hd_line bytes, hd_err *err)
{
    hd_proto_span message = {(const uint8_t *)bytes.text, bytes.size};
    hd_proto_field f;
    hd_status s = HD_OK;
    size_t room = count_pieces(message) + 1;
    *v = (hd_spm_view){.kind = HD_SPM_UNIGRAM, .prefix = true, .tidy = true, .escape = true};
    v->piece = hd_mem_array(room, sizeof *v->piece);
    if (!v->piece) return hd_err_nomem(err, room * sizeof *v->piece);
    while (!s && message.size) {
        if (!hd_proto_take(&message, &f)) s = damaged(err);
        if (!s && f.number == 1) s = read_piece(v, f.bytes, err);
        if (!s && f.number == 2) s = read_trainer(v, f.bytes, err);
        if (!s && f.number == 3) s = read_normalizer(v, f.bytes, err);
    }
    if (s) hd_spm_view_release(v);
    return s;
}

void hd_spm_view_release(hd_spm_view *v)
{
    hd_mem_free(v->piece);
    *v = (hd_spm_view){0};
}
