/* The folder of a captioner. */
#include "task/seq2seq/seq2seq.h"

enum { MOST_PADDING = 1024 }; /* published tables may have rows that no token has */

void hd_captioner_write(hd_text *to, const hd_model_folder *f)
{
    hd_seq2seq_write(to, f);
}

void hd_captioner_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_encdec_opt opt;
    hd_encdec_config_read(c, &opt);
    if (!c->status && !opt.pictures) hd_model_config_refuse(c, "the model of a captioner reads pictures");
    bool published = !c->status && opt.names == &hd_encdec_vision;
    hd_seq2seq_read(f, c, folder, &opt, published ? MOST_PADDING : 0, HD_TRAIN_CAPTION, backend);
}
