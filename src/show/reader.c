/* What makes rows of texts. */
#include "show/reader.h"

#include <string.h>

/* -- of which model -- */

/* A classifier reads lines between <s> and </s>, a tagger words alone. */
static hd_reader of_labeler(const hd_labeler *l)
{
    const hd_body *b = &l->model->body;
    bool tags = hd_labeler_task(&l->model->opt) == HD_TAG, framed = !tags && !l->model->opt.bare;
    return (hd_reader){.encoder = b->bert || b->lm ? NULL : &b->encoder,
                       .bert = b->bert,
                       .lm = b->lm,
                       .params = b->params,
                       .tokenizer = l->tokenizer,
                       .longest = b->opt.positions,
                       .start = framed && hd_tokenizer_special(l->tokenizer).start >= 0,
                       .end = framed,
                       .words = tags};
}

static hd_reader of_masked(const hd_masked *m)
{
    return (hd_reader){.bert = m->model,
                       .params = &m->model->params,
                       .tokenizer = m->tokenizer,
                       .longest = m->longest ? m->longest : m->model->opt.positions,
                       .start = true,
                       .end = true,
                       .masks = true};
}

static hd_reader of_language(const hd_language *l)
{
    const hd_lm_type *type = l->lm->type;
    bool endless = type->state || type->looks_back; /* they have no positions to run out of */
    return (hd_reader){.lm = l->lm,
                       .params = l->lm->params,
                       .tokenizer = l->tokenizer,
                       .longest = endless ? INT32_MAX : l->lm->opt.context,
                       .start = true,
                       .drops_start = true};
}

hd_reader hd_reader_of(const hd_any_model *m)
{
    if (m->labeler) return of_labeler(m->labeler);
    if (m->masked) return of_masked(m->masked);
    if (m->language) return of_language(m->language);
    const hd_encdec *t = m->translator->model;
    return (hd_reader){.encoder = &t->encoder,
                       .params = &t->params,
                       .tokenizer = m->translator->tokenizer[0],
                       .longest = t->opt.positions,
                       .end = true};
}

/* -- sizes -- */

int hd_reader_layers(const hd_reader *a)
{
    if (a->bert) return a->bert->opt.stack.layers;
    if (a->encoder) return hd_encoder_layers(a->encoder);
    return a->lm->type->states ? a->lm->opt.stack.layers : 0;
}

hd_param *hd_reader_table(const hd_reader *a)
{
    if (a->bert) return a->bert->embedding.table;
    if (a->encoder) return a->encoder->embedding.table;
    return a->lm->type->table ? a->lm->type->table(a->lm) : NULL;
}

size_t hd_reader_width(const hd_reader *a, int layer)
{
    if (a->bert) return a->bert->opt.stack.width;
    if (a->lm) return a->lm->opt.stack.width;
    return layer ? hd_encoder_width(a->encoder, layer) : a->encoder->out;
}

size_t hd_reader_around(const hd_reader *a)
{
    return (size_t)a->start + a->end;
}

/* -- lines -- */

/* A word in which no piece is found is <unk>, as it was in training. */
static hd_status add_word(const hd_reader *a, hd_line line, size_t at, size_t size, hd_pieces *out,
                          hd_err *err)
{
    size_t from = out->count;
    hd_status s = hd_tokenizer_encode(a->tokenizer, line.text + at, size, out, err);
    const hd_piece unknown = {.id = hd_tokenizer_special(a->tokenizer).unk, .end = (uint32_t)size};
    if (!s && out->count == from && !hd_pieces_add(out, unknown)) s = hd_err_nomem(err, sizeof unknown);
    for (size_t i = from; !s && i < out->count; i++)
        out->at[i].begin += (uint32_t)at, out->at[i].end += (uint32_t)at;
    return s;
}

hd_status hd_reader_pieces(const hd_reader *a, hd_line line, hd_pieces *out, hd_err *err)
{
    hd_status s = HD_OK;
    if (!a->words) return hd_tokenizer_encode(a->tokenizer, line.text, line.size, out, err);
    for (size_t at = 0, size; !s && at < line.size; at += size + 1) {
        for (size = 0; at + size < line.size && !strchr(" \t\r", line.text[at + size]);) size++;
        if (size) s = add_word(a, line, at, size, out, err);
    }
    return s;
}

static hd_status encode_words(const hd_reader *a, hd_line line, hd_ids *out, hd_err *err)
{
    hd_pieces p = {0};
    hd_status s = hd_reader_pieces(a, line, &p, err);
    if (!s) s = hd_ids_reserve(out, p.count, err);
    for (size_t i = 0; !s && i < p.count; i++) out->at[out->count++] = p.at[i].id;
    hd_pieces_release(&p);
    return s;
}

hd_status hd_reader_encode(const hd_reader *a, hd_line line, hd_ids *out, hd_err *err)
{
    hd_special special = hd_tokenizer_special(a->tokenizer);
    if (a->masks) return hd_masked_encode(a->tokenizer, line, out, err);
    if (a->words) return encode_words(a, line, out, err);
    hd_status s = hd_ids_reserve(out, 1, err);
    if (!s && a->start) out->at[out->count++] = special.start;
    if (!s) s = hd_tokenizer_encode_ids(a->tokenizer, line.text, line.size, out, err);
    if (!s) s = hd_ids_reserve(out, 1, err);
    if (!s && a->end) out->at[out->count++] = special.end;
    return s;
}

/* -- rows -- */

static hd_rows read_bert(hd_run *r, const hd_bert *m, int layers, const int32_t *ids, const hd_seg *seg)
{
    int32_t *type = hd_host_take(r, seg->rows * sizeof *type); /* zeros: of a first text */
    if (!type) return (hd_rows){0};
    return hd_bert_behind(r, m, layers, ids, hd_ints(r, type, seg->rows), seg);
}

hd_rows hd_reader_behind(hd_run *r, const hd_reader *a, int layers, const int32_t *ids, const hd_seg *seg)
{
    if (!seg) return (hd_rows){0};
    if (a->bert) return read_bert(r, a->bert, layers, ids, seg);
    if (a->lm) return a->lm->type->behind(r, a->lm, layers, ids, seg);
    return hd_encoder_behind(r, a->encoder, layers, ids, seg);
}
