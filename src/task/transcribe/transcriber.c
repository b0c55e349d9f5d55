/* The folder of a speech recognizer. */
#include "model/encdec/encdec.h"
#include "task/model_folder.h"

enum { MOST_PADDING = 4096 }; /* published tables have rows for times, which older tokenizers do not name */

void hd_transcriber_write(hd_text *to, const hd_model_folder *f)
{
    hd_encdec_config_write(to, &hd_model_folder_encdec(f)->opt);
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

void hd_transcriber_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_encdec_opt opt;
    hd_encdec *m = NULL;
    hd_err why = {0};
    hd_encdec_config_read(c, &opt);
    if (!c->status && !opt.sounds) hd_model_config_refuse(c, "the model of a speech recognizer reads sound");
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (c->status) return;
    size_t pieces = hd_tokenizer_size(f->tokenizer[0]);
    if (!opt.target_vocab) opt.target_vocab = pieces;
    bool padded = opt.names == &hd_encdec_whisper;
    if (opt.target_vocab < pieces || opt.target_vocab - pieces > (padded ? MOST_PADDING : 0))
        c->status = hd_tokenizer_refuse(f->tokenizer[0], pieces, hd_encdec_vocab_key(&opt, 1),
                                        opt.target_vocab, c->err);
    if (c->status) return;
    hd_status s = hd_encdec_new(&m, backend, &opt, false, &why);
    if (s == HD_EARG)
        hd_model_config_refuse(c, "%s", why.text); /* options that do not go together are the file's fault */
    else if (s)
        c->status = hd_err_set(c->err, s, "%s", why.text);
    else
        hd_model_folder_take(f, HD_TRAIN_TRANSCRIBE, hd_encdec_model(m));
}
