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

/* Bytes before the next "[MASK]" of a text, or all of them. */
static size_t before_mask(hd_line text)
{
    const size_t size = sizeof HD_MASK_TEXT - 1;
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, HD_MASK_TEXT, size)) return i;
    return text.size;
}

/* The pieces of the bytes begin .. end-1 of a text; a mask behind them may take the spaces before it. */
static hd_status add_part(hd_pieces *out, const hd_tokenizer *t, hd_line text, size_t begin, size_t end,
                          bool again, hd_err *err)
{
    const size_t from = out->count;
    bool strips = end < text.size && hd_tokenizer_special(t).mask_strips;
    while (strips && end > begin && text.text[end - 1] == ' ') end--;
    if (begin == end) return HD_OK;
    hd_status s = again ? hd_tokenizer_encode_again(t, text.text + begin, end - begin, out, err)
                        : hd_tokenizer_encode(t, text.text + begin, end - begin, out, err);
    if (!s) hd_pieces_move(out, from, begin);
    return s;
}

hd_status hd_masked_pieces(const hd_tokenizer *t, hd_line text, bool again, hd_pieces *out, hd_err *err)
{
    const size_t size = sizeof HD_MASK_TEXT - 1;
    hd_status s = hd_pieces_add_around(out, hd_tokenizer_special(t).start, 0, err);
    for (size_t at = 0, end; !s && at < text.size; at = end + size) {
        end = at + before_mask((hd_line){text.text + at, text.size - at});
        s = add_part(out, t, text, at, end, again, err);
        if (s || end == text.size) break;
        const hd_piece mask = {hd_masked_id(t), .begin = (uint32_t)end, .end = (uint32_t)(end + size)};
        if (!hd_pieces_add(out, mask)) s = hd_err_nomem(err, sizeof mask);
    }
    return s ? s : hd_pieces_add_around(out, hd_tokenizer_special(t).end, 0, err);
}

static hd_status encode(const hd_tokenizer *t, hd_line text, bool again, hd_ids *out, hd_err *err)
{
    hd_pieces piece = {0};
    hd_status s = hd_masked_pieces(t, text, again, &piece, err);
    if (!s) s = hd_ids_add_pieces(out, &piece, err);
    hd_pieces_release(&piece);
    return s;
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
