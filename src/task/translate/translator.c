/* The folder of a translator. */
#include "task/seq2seq/seq2seq.h"

enum { MOST_SIZE = 1 << 20 };

void hd_translator_write(hd_text *to, const hd_model_folder *f)
{
    static const char *const key[] = {"source_tokenizer", "target_tokenizer"};
    hd_encdec_config_write(to, &hd_model_folder_encdec(f)->opt);
    hd_text_print(to, ",\n \"longest\": %zu", f->trained);
    for (int side = 0; side < 2; side++)
        hd_text_print(to, ",\n \"%s\": \"%s\"", key[side],
                      hd_tokenizer_name(hd_tokenizer_kind_of(f->tokenizer[side])));
    hd_text_print(to, ",\n \"shared_tokenizer\": %s", f->tokenizer[0] == f->tokenizer[1] ? "true" : "false");
}

/* That of the tokenizer, which a T5 may exceed. */
static hd_status set_vocab(hd_encdec_opt *o, int side, const hd_tokenizer *t, hd_err *err)
{
    size_t *vocab = side ? &o->target_vocab : &o->source_vocab, pieces = hd_tokenizer_size(t);
    bool padded = o->names == &hd_encdec_t5;
    if (!*vocab) *vocab = pieces; /* a folder of an older heed */
    if (*vocab < pieces || (*vocab > pieces && !padded))
        return hd_tokenizer_refuse(t, pieces, hd_encdec_vocab_key(o, side), *vocab, err);
    return HD_OK;
}

static void open_tokenizers(hd_model_config *c, hd_tokenizer *tokenizer[2], const char *folder)
{
    bool shared = hd_model_config_switch(c, "shared_tokenizer");
    const hd_tokenizer_kind kind[2] = {hd_model_config_tokenizer_kind(c, "source_tokenizer"),
                                       hd_model_config_tokenizer_kind(c, "target_tokenizer")};
    for (int side = 0; !c->status && side < (shared ? 1 : 2); side++) {
        char path[HD_PATH];
        hd_tokenizer_place place = shared ? HD_OF_BOTH : side ? HD_OF_TARGET : HD_OF_SOURCE;
        c->status = hd_path(path, folder, hd_tokenizer_file(kind[side], place), c->err);
        if (!c->status) c->status = hd_tokenizer_open(&tokenizer[side], kind[side], path, c->err);
    }
    if (shared) tokenizer[1] = tokenizer[0];
}

void hd_translator_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_encdec_opt opt;
    hd_encdec_config_read(c, &opt);
    f->trained = (size_t)hd_model_config_whole(c, "longest", 1, MOST_SIZE);
    open_tokenizers(c, f->tokenizer, folder);
    for (int side = 0; !c->status && side < 2; side++)
        c->status = set_vocab(&opt, side, f->tokenizer[side], c->err);
    hd_seq2seq_make(f, c, &opt, HD_TRAIN_TRANSLATE, backend);
}
