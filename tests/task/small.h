/* A translator of two layers and random weights over a vocabulary of words, for tests of what surrounds the
   model. */
#ifndef SMALL_H
#define SMALL_H

#include "check.h"
#include "task/owned.h"

enum { SMALL_LONGEST = 8, SMALL_POSITIONS = 16 };

/* Lines of a vocabulary, a feed as the tokenizers take it. */
typedef struct small_lines {
    const char *const *line; /* ends with NULL */
} small_lines;

CHECK_UNUSED static bool small_next(void *context, hd_line *line)
{
    small_lines *l = context;
    if (!*l->line) return false;
    *line = (hd_line){*l->line, strlen(*l->line)};
    l->line++;
    return true;
}

CHECK_UNUSED static hd_tokenizer *small_tokenizer(hd_tokenizer_kind kind, const char *const *lines)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    small_lines feed = {lines};
    if (hd_tokenizer_train(&t, kind, (hd_feed){small_next, &feed}, &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    return t;
}

static const char *const small_source[] = {"a b c d e f g h . ! ? , ; Ö 。", NULL};
static const char *const small_target[] = {"A B C D E F G H . ! ? , ; ö", NULL};

/* shared: one tokenizer for both sides. Stages of both sides as --encoder and --decoder spell them. */
CHECK_UNUSED static hd_model_folder *small_staged(hd_backend *b, hd_tokenizer_kind kind, bool shared,
                                                  bool training, const char *encoder, const char *decoder,
                                                  const hd_recurrent_decoder_opt *recurrent)
{
    hd_err err = {0};
    hd_model_folder *t = hd_mem_zero(sizeof *t);
    hd_encdec *m = NULL;
    t->tokenizer[0] = small_tokenizer(kind, small_source);
    t->tokenizer[1] = shared ? t->tokenizer[0] : small_tokenizer(kind, small_target);
    t->trained = SMALL_LONGEST;
    hd_encdec_opt o = {.encoder_layers = 1,
                       .decoder_layers = 1,
                       .stack.heads = 2,
                       .stack.width = 16,
                       .stack.inner = 24,
                       .source_vocab = hd_tokenizer_size(t->tokenizer[0]),
                       .target_vocab = hd_tokenizer_size(t->tokenizer[1]),
                       .tied = shared,
                       .stack.pre_norm = true,
                       .stack.eps = 1e-5f,
                       .stack.act = HD_relu,
                       .positions = SMALL_POSITIONS,
                       .sinusoid = {.halves = true}};
    if (recurrent) o.recurrent = *recurrent;
    if (hd_stages_read(&o.encoder, encoder, &err) || hd_stages_read(&o.decoder, decoder, &err) ||
        hd_encdec_new(&m, b, &o, training, &err) || hd_params_draw(&m->params, 11, &err))
        fail_msg("%s", err.text);
    hd_model_folder_take(t, HD_TRAIN_TRANSLATE, hd_encdec_model(m));
    return t;
}

CHECK_UNUSED static hd_model_folder *small_make(hd_backend *b, hd_tokenizer_kind kind, bool shared,
                                                bool training)
{
    return small_staged(b, kind, shared, training, "transformer", "transformer", NULL);
}

CHECK_UNUSED static hd_line line_of(const char *text)
{
    return (hd_line){text, strlen(text)};
}

#endif
