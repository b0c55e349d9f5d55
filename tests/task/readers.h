/* Models of every kind that can read a line: translators with attention and with cells, language models. */
#ifndef READERS_H
#define READERS_H

#include "task/owned.h"
#include "task/small.h"
#include "task/speaker.h"

typedef struct reader_kind {
    const char *encoder, *decoder; /* a translator's stages, or NULL */
    hd_lm_kind kind;
} reader_kind;

CHECK_UNUSED static const reader_kind reader_kinds[] = {
    {"transformer", "transformer", 0}, {"bi-gru", "gru", 0},    {"lstm:2", "lstm", 0},
    {"rnn+transformer", "gru", 0},     {NULL, NULL, HD_LM_rnn}, {NULL, NULL, HD_LM_gru},
    {NULL, NULL, HD_LM_lstm},          {NULL, NULL, HD_LM_gpt}, {NULL, NULL, HD_LM_ngram},
    {NULL, NULL, HD_LM_maxent},        {NULL, NULL, HD_LM_ffnn}};

enum { READERS = sizeof reader_kinds / sizeof *reader_kinds, TRANSLATING_READERS = 4 };

CHECK_UNUSED static hd_model_folder reader_of(hd_backend *b, size_t which)
{
    const reader_kind *k = &reader_kinds[which];
    hd_err err = {0};
    if (!k->encoder) return owned(speaker(b, k->kind, HD_TOKENIZER_words));
    hd_model_folder *t = small_make(b, HD_TOKENIZER_words, false, false);
    hd_encdec_opt o = hd_model_folder_encdec(t)->opt;
    hd_encdec *m = NULL;
    hd_encdec_free(hd_model_folder_encdec(t));
    if (hd_stages_read(&o.encoder, k->encoder, &err) || hd_stages_read(&o.decoder, k->decoder, &err) ||
        hd_encdec_new(&m, b, &o, false, &err) || hd_params_draw(&m->params, 11, &err))
        fail_msg("%s to %s: %s", k->encoder, k->decoder, err.text);
    hd_model_folder_take(t, HD_TRAIN_TRANSLATE, hd_encdec_model(m));
    return owned(t);
}

#endif
