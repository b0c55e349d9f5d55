/* What options are where they are not given: presets, which --preset names, and the recipes that tasks have
   without one. */
#ifndef HD_RUN_PRESETS_H
#define HD_RUN_PRESETS_H

#include <stdbool.h>

/* X(NAME, name, the task, the one that has what it does not, its settings in run/presets.c). Those of mlm and
   lm are published models: their sizes are those of the model of this name. */
#define HD_PRESET_LIST(X)                                                                         \
    X(TINY, "tiny", TRANSLATE, NONE, tiny)                                                        \
    X(SMALL, "small", TRANSLATE, TINY, small)                                                     \
    X(BASE, "base", TRANSLATE, NONE, base)                                                        \
    X(BIG, "big", TRANSLATE, BASE, big)                                                           \
    X(SUTSKEVER, "sutskever", TRANSLATE, RECURRENT, sutskever)                                    \
    X(RNNSEARCH, "rnnsearch", TRANSLATE, RECURRENT, rnnsearch)                                    \
    X(LUONG, "luong", TRANSLATE, RECURRENT, luong)                                                \
    X(TUTORIAL, "tutorial", TRANSLATE, RECURRENT, tutorial)                                       \
    X(BERT_TINY, "bert-tiny", MLM, NONE, bert_tiny)                                               \
    X(BERT_MINI, "bert-mini", MLM, BERT_TINY, bert_mini)                                          \
    X(BERT_BASE, "bert-base", MLM, BERT_TINY, bert_base)                                          \
    X(GPT2, "gpt2", LM, GPT, gpt2)                                                                \
    X(GPT2_MEDIUM, "gpt2-medium", LM, GPT2, gpt2_medium)                                          \
    X(GPT2_LARGE, "gpt2-large", LM, GPT2, gpt2_large)                                             \
    X(GPT2_XL, "gpt2-xl", LM, GPT2, gpt2_xl)                                                      \
    X(LLAMA_NANO, "llama-nano", LM, LLAMA, llama_nano)                                            \
    X(LLAMA_124M, "llama-124m", LM, LLAMA, llama_124m)                                            \
    X(MOE_NANO, "moe-nano", LM, LLAMA_NANO, moe)                                                  \
    X(MOE_124M, "moe-124m", LM, LLAMA_124M, moe_124m)                                             \
    X(DEEPSEEK_NANO, "deepseek-nano", LM, MOE_NANO, deepseek)                                     \
    X(SHOW_ATTEND_TELL, "show-attend-tell", CAPTION, NONE, show_attend_tell)                      \
    X(CAPTION_LUONG, "caption-luong", CAPTION, SHOW_ATTEND_TELL, caption_luong)                   \
    X(CAPTION_TRANSFORMER, "caption-transformer", CAPTION, SHOW_ATTEND_TELL, caption_transformer) \
    X(DETR_SMALL, "detr-small", DETECT, NONE, detr_small)                                         \
    X(LAS, "las", TRANSCRIBE, NONE, las)                                                          \
    X(LAS_SMALL, "las-small", TRANSCRIBE, LAS, las_small)                                         \
    X(SPEECH_TINY, "speech-tiny", TRANSCRIBE, LAS, speech_tiny)                                   \
    X(SPEECH_CTC, "speech-ctc", TRANSCRIBE, LAS, speech_ctc)                                      \
    X(HANDWRITING, "handwriting", WRITE, NONE, handwriting)                                       \
    X(STROKE_READER, "stroke-reader", READ, NONE, stroke_reader)                                  \
    X(HANDWRITING_SMALL, "handwriting-small", WRITE, HANDWRITING, handwriting_small)              \
    X(VIT_TINY, "vit-tiny", CLASSIFY, VIT_LITE, vit_tiny)                                         \
    X(VIT_LITE, "vit-lite", CLASSIFY, NONE, vit_lite)                                             \
    X(VIT_B16, "vit-b16", CLASSIFY, VIT_LITE, vit_b16)

/* X(NAME, the one that has what it does not, its settings): those without a name. */
#define HD_RECIPE_LIST(X)                                      \
    X(RECURRENT, NONE, recurrent)                              \
    X(CELLS, NONE, cells)                                      \
    X(RNN, CELLS, rnn)                                         \
    X(FFNN, CELLS, ffnn)                                       \
    X(NGRAM, CELLS, ngram)                                     \
    X(MAXENT, NGRAM, maxent)                                   \
    X(GPT, CELLS, gpt)                                         \
    X(MUSIC, GPT, music)                                       \
    X(LLAMA, GPT, llama)                                       \
    X(MOE, LLAMA, moe)                                         \
    X(DEEPSEEK, MOE, deepseek)                                 \
    X(REWARD, NONE, reward)                                    \
    X(HANDWRITING_GPT, HANDWRITING, handwriting_gpt)           \
    X(LABELS, NONE, labels)                                    \
    X(LABELS_BLOCKS, LABELS, labels_blocks)                    \
    X(FINE_TUNING, NONE, fine_tuning)                          \
    X(FINE_TUNING_PICTURES, FINE_TUNING, fine_tuning_pictures) \
    X(FINE_TUNING_WHISPER, FINE_TUNING, fine_tuning_whisper)

typedef enum hd_preset {
#define X(NAME, ...) HD_PRESET_##NAME,
    HD_PRESET_LIST(X) HD_PRESETS,
    HD_PRESET_BEFORE = HD_PRESETS - 1,
    HD_RECIPE_LIST(X) HD_PRESET_NONE
#undef X
} hd_preset;

typedef struct hd_setting {
    const char *option, *value;
} hd_setting;

typedef struct hd_preset_info {
    const char *name;           /* NULL: a recipe */
    int task;                   /* a hd_train_task; of a recipe -1 */
    bool published;             /* its sizes are those of the model of this name */
    hd_preset base;             /* has what this one does not; HD_PRESET_NONE: nothing */
    const hd_setting *settings; /* ends with a row without option */
} hd_preset_info;

extern const hd_preset_info hd_presets[HD_PRESET_NONE];
extern const char *const hd_preset_names[HD_PRESETS + 1]; /* ends with NULL */

/* What a preset, or one it is made from, has for an option; NULL: nothing. named: whether that is a preset
   and not a recipe. */
const char *hd_preset_value(hd_preset p, const char *option, bool *named);

#endif
