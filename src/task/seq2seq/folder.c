/* Folders of encoder-decoders. */
#include "task/seq2seq/seq2seq.h"

void hd_seq2seq_write(hd_text *to, const hd_model_folder *f)
{
    hd_encdec_config_write(to, &hd_model_folder_encdec(f)->opt);
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

void hd_seq2seq_make(hd_model_folder *f, hd_model_config *c, const hd_encdec_opt *opt, hd_train_task task,
                     hd_backend *backend)
{
    hd_encdec *m = NULL;
    hd_err why = {0};
    if (c->status) return;
    hd_status s = hd_encdec_new(&m, backend, opt, false, &why);
    if (s == HD_EARG)
        hd_model_config_refuse(c, "%s", why.text); /* options that do not go together are the file's fault */
    else if (s)
        c->status = hd_err_set(c->err, s, "%s", why.text);
    else
        hd_model_folder_take(f, task, hd_encdec_model(m));
}

void hd_seq2seq_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_encdec_opt *opt,
                     size_t padding, hd_train_task task, hd_backend *backend)
{
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (c->status) return;
    size_t pieces = hd_tokenizer_size(f->tokenizer[0]);
    if (!opt->target_vocab) opt->target_vocab = pieces;
    if (opt->target_vocab < pieces || opt->target_vocab - pieces > padding)
        c->status = hd_tokenizer_refuse(f->tokenizer[0], pieces, hd_encdec_vocab_key(opt, 1),
                                        opt->target_vocab, c->err);
    hd_seq2seq_make(f, c, opt, task, backend);
}
