/* The folder of a speech recognizer. */
#include "task/seq2seq/seq2seq.h"

enum { MOST_PADDING = 4096 }; /* published tables have rows for times, which older tokenizers do not name */

void hd_transcriber_write(hd_text *to, const hd_model_folder *f)
{
    hd_seq2seq_write(to, f);
}

void hd_transcriber_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_encdec_opt opt;
    hd_encdec_config_read(c, &opt);
    if (!c->status && !opt.sounds) hd_model_config_refuse(c, "the model of a speech recognizer reads sound");
    bool published = !c->status && opt.names == &hd_encdec_whisper;
    hd_seq2seq_read(f, c, folder, &opt, published ? MOST_PADDING : 0, HD_TRAIN_TRANSCRIBE, backend);
}
