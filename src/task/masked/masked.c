/* The folder of a masked language model, and texts as it reads them. */
#include "task/masked/masked.h"

#include <string.h>

/* -- tokens -- */

int32_t hd_masked_id(const hd_tokenizer *t)
{
    int32_t own = hd_tokenizer_special(t).mask;
    return own >= 0 ? own : (int32_t)hd_tokenizer_size(t);
}

const char *hd_masked_piece(const hd_tokenizer *t, int32_t id)
{
    const char *piece = hd_tokenizer_piece(t, id);
    return piece || id != hd_masked_id(t) ? piece : HD_MASK_TEXT;
}

size_t hd_masked_vocab(const hd_tokenizer *t)
{
    return hd_tokenizer_size(t) + (hd_tokenizer_special(t).mask < 0);
}

bool hd_masked_is_special(const hd_tokenizer *t, int32_t id)
{
    hd_special s = hd_tokenizer_special(t);
    return id == s.pad || id == s.unk || id == s.start || id == s.end || id == hd_masked_id(t);
}

static hd_status add(hd_ids *out, int32_t id, hd_err *err)
{
    hd_status s = hd_ids_reserve(out, 1, err);
    if (!s) out->at[out->count++] = id;
    return s;
}

size_t hd_masked_before(hd_line text)
{
    const size_t size = sizeof HD_MASK_TEXT - 1;
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, HD_MASK_TEXT, size)) return i;
    return text.size;
}

hd_line hd_masked_part(const hd_tokenizer *t, hd_line text, size_t n)
{
    bool strips = n < text.size && hd_tokenizer_special(t).mask_strips;
    while (strips && n && text.text[n - 1] == ' ') n--;
    return (hd_line){text.text, n};
}

static hd_status add_pieces(hd_ids *out, const hd_tokenizer *t, hd_line text, bool again, hd_err *err)
{
    hd_pieces piece = {0};
    hd_status s = again ? hd_tokenizer_encode_again(t, text.text, text.size, &piece, err)
                        : hd_tokenizer_encode(t, text.text, text.size, &piece, err);
    if (!s) s = hd_ids_reserve(out, piece.count, err);
    for (size_t i = 0; !s && i < piece.count; i++) out->at[out->count++] = piece.at[i].id;
    hd_pieces_release(&piece);
    return s;
}

static hd_status encode(const hd_tokenizer *t, hd_line text, bool again, hd_ids *out, hd_err *err)
{
    hd_special special = hd_tokenizer_special(t);
    hd_status s = add(out, special.start, err);
    while (!s && text.size) {
        size_t n = hd_masked_before(text);
        const hd_line part = hd_masked_part(t, text, n);
        if (part.size) s = add_pieces(out, t, part, again, err);
        if (!s && n < text.size) s = add(out, hd_masked_id(t), err), n += sizeof HD_MASK_TEXT - 1;
        text.text += n, text.size -= n;
    }
    return s ? s : add(out, special.end, err);
}

hd_status hd_masked_encode(const hd_tokenizer *t, hd_line text, hd_ids *out, hd_err *err)
{
    return encode(t, text, false, out, err);
}

hd_status hd_masked_encode_again(const hd_tokenizer *t, hd_line text, hd_ids *out, hd_err *err)
{
    return encode(t, text, true, out, err);
}

/* -- the folder -- */

void hd_masked_write(hd_text *to, const hd_model_folder *f)
{
    const hd_bert_opt *o = &hd_model_folder_bert(f)->opt;
    hd_text_put(to, ",\n \"model\": \"bert\"");
    hd_bert_config_write(to, o);
    hd_model_config_put_padded(to, o->vocab, hd_masked_vocab(f->tokenizer[0]));
    if (f->longest < o->positions) hd_text_print(to, ",\n \"longest\": %zu", f->longest);
    if (f->pool != HD_POOLING_AUTO)
        hd_text_print(to, ",\n \"pool\": \"%s\",\n \"normalize\": %s", hd_pooling_names[f->pool],
                      f->normalize ? "true" : "false");
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

/* How texts become vectors: keys that only sentence models have. */
static void read_sentence(hd_model_config *c, hd_model_folder *f, size_t positions)
{
    static const char limit[] = "longest", pool[] = "pool";
    if (hd_model_config_has(c, limit))
        f->longest = (size_t)hd_model_config_whole(c, limit, 3, (long long)positions);
    if (!hd_model_config_has(c, pool)) return;
    f->pool = (hd_pooling)hd_model_config_name(c, pool, hd_pooling_names, HD_POOLINGS);
    f->normalize = hd_model_config_switch(c, "normalize");
    if (f->pool == HD_POOLING_NONE || f->pool == HD_POOLING_POOLER)
        hd_model_config_refuse(c, "\"%s\" is \"%s\", which no sentence model has", pool,
                               hd_pooling_names[f->pool]);
}

void hd_masked_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_bert_opt opt;
    hd_bert *m = NULL;
    hd_bert_config_read(c, &opt);
    if (!c->status) read_sentence(c, f, opt.positions);
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (!c->status)
        hd_model_config_check_vocab(c, opt.vocab, f->tokenizer[0], hd_masked_vocab(f->tokenizer[0]));
    if (!c->status) c->status = hd_bert_new(&m, backend, &opt, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_MLM, hd_bert_model(m));
}
