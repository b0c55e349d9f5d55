/* A model folder with random weights, small enough to make in every test: words of either language, 24
   positions. model.safetensors and the checkpoint below train/ hold different weights. */
#ifndef TINY_H
#define TINY_H

#include <stdio.h>

#include "base/file/folder.h"
#include "task/translate/translate.h"

enum { TINY_LAYERS = 2, TINY_HEADS = 2, TINY_POSITIONS = 24, TINY_LONGEST = 12 };

static const char *const tiny_text[2][4] = {
    {"i ate an apple .", "you ate it , too .", "the dog barks ; we are tired .", "are you tired ?"},
    {"ich aß einen Apfel .", "du aßest ihn auch .", "der Hund bellt ; wir sind müde .", "bist du müde ?"}};

typedef struct tiny_feed {
    int side, next;
} tiny_feed;

static bool tiny_line(void *context, hd_line *line)
{
    tiny_feed *f = context;
    if (f->next == 4) return false;
    const char *text = tiny_text[f->side][f->next++];
    *line = (hd_line){text, strlen(text)};
    return true;
}

/* Random weights, and a liking for the end: otherwise hardly a sentence would come to one. */
static hd_status tiny_draw(hd_encdec *m, uint64_t seed, hd_err *err)
{
    hd_real bias[64] = {[HD_END_ID] = 1.5f};
    hd_status s = hd_params_draw(&m->params, seed, err);
    if (!s && m->opt.target_vocab > 64) s = hd_err_set(err, HD_ELIMIT, "the vocabulary grew");
    return s ? s : hd_params_set(&m->params, m->output_bias, bias);
}

/* train/current names train/step-1, which holds these weights. */
static hd_status tiny_checkpoint(const char *folder, const hd_params *params, hd_err *err)
{
    char train[HD_PATH], path[HD_PATH];
    hd_status s = hd_path(train, folder, "train", err);
    if (!s) s = hd_folder_make(train, NULL, err);
    if (!s) s = hd_path(path, train, "step-1", err);
    if (!s) s = hd_folder_make(path, NULL, err);
    if (!s) s = hd_path(path, train, "step-1/weights.safetensors", err);
    if (!s) s = hd_params_save(params, path, NULL, 0, err);
    if (!s) s = hd_path(path, train, "current", err);
    FILE *f = s ? NULL : fopen(path, "w");
    if (f) fputs("step-1\n", f);
    return s || (f && !fclose(f)) ? s : hd_err_set(err, HD_EFILE, "%s: cannot be written", path);
}

/* Writes a model of these stages into a folder that is there. */
static hd_status tiny_write_stages(const char *folder, const char *encoder, const char *decoder, hd_err *err)
{
    hd_backend *backend = NULL;
    hd_model_folder t = {.trained = TINY_LONGEST};
    hd_encdec *m = NULL;
    hd_status s = hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = 1}, err);
    for (int side = 0; !s && side < 2; side++)
        s = hd_tokenizer_train(&t.tokenizer[side], HD_TOKENIZER_words,
                               (hd_feed){tiny_line, &(tiny_feed){side, 0}}, &(hd_tokenizer_opt){0}, err);
    hd_encdec_opt o = {.encoder_layers = TINY_LAYERS,
                       .decoder_layers = TINY_LAYERS,
                       .stack.heads = TINY_HEADS,
                       .stack.width = 16,
                       .stack.inner = 32,
                       .output_bias = true,
                       .stack.eps = 1e-5f,
                       .stack.act = HD_relu,
                       .positions = TINY_POSITIONS,
                       .sinusoid = {.halves = true}};
    if (!s) s = hd_stages_read(&o.encoder, encoder, err);
    if (!s) s = hd_stages_read(&o.decoder, decoder, err);
    if (!s) {
        o.source_vocab = hd_tokenizer_size(t.tokenizer[0]);
        o.target_vocab = hd_tokenizer_size(t.tokenizer[1]);
        s = hd_encdec_new(&m, backend, &o, false, err);
    }
    if (!s) hd_model_folder_take(&t, HD_TRAIN_TRANSLATE, hd_encdec_model(m));
    if (!s) s = tiny_draw(m, 2, err);
    if (!s) s = tiny_checkpoint(folder, &m->params, err);
    if (!s) s = tiny_draw(m, 1, err);
    if (!s) s = hd_model_folder_write(&t, folder, err);
    hd_model_folder_release(&t);
    hd_backend_free(backend);
    return s;
}

static hd_status tiny_write(const char *folder, hd_err *err)
{
    return tiny_write_stages(folder, "transformer", "transformer", err);
}

#endif
