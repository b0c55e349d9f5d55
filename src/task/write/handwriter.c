/* The folder of a model of handwriting. */
#include "task/write/write.h"

void hd_handwriter_write(hd_text *to, const hd_model_folder *f)
{
    hd_handwriting_config_write(to, &hd_model_folder_handwriting(f)->opt);
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

void hd_handwriter_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_handwriting_opt o;
    hd_handwriting *m = NULL;
    hd_handwriting_config_read(c, &o);
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (!c->status) {
        size_t pieces = hd_tokenizer_size(f->tokenizer[0]);
        if (pieces != o.vocab)
            c->status = hd_tokenizer_refuse(f->tokenizer[0], pieces, "vocab", o.vocab, c->err);
    }
    if (!c->status) c->status = hd_handwriting_new(&m, backend, &o, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_WRITE, hd_handwriting_model(m));
}
