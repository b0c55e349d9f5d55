/* Presets and recipes. tiny is measured (docs/recipes.md), the other Transformers follow the literature for
   their size; the recurrent ones have the shape of their papers, in the size of Multi30k. Of language models
   gpt is nanoGPT's setting for a laptop, the others are measured on tinyshakespeare's characters
   (docs/language-models.md). gpt2 has the sizes of the published models, nanoGPT's recipe for the smallest
   and the rates of GPT-3's paper for the others; bert-base has the recipe of its paper. Labels are measured
   on names (docs/classification.md). */
#include "run/presets.h"

#include "run/options.h"

/* clang-format off */
static const hd_setting tiny[] = {
    {"encoder-layers", "4"}, {"decoder-layers", "4"}, {"width", "128"}, {"ffn-size", "256"}, {"heads", "4"},
    {"vocab-size", "8000"}, {"batch-tokens", "2500"}, {"dropout", "0.2"}, {"attention-dropout", "0"},
    {"ffn-dropout", "0"}, {"lr", "0.005"}, {"warmup", "1000"}, {"schedule", "linear"},
    {"weight-decay", "0.2"}, {"ema", "0"}, {"epochs", "40"}, {0}};
static const hd_setting small[] = {
    {"encoder-layers", "6"}, {"decoder-layers", "6"}, {"width", "256"}, {"ffn-size", "1024"},
    {"batch-tokens", "4096"}, {"lr", "0.002"}, {"warmup", "2000"}, {0}};
static const hd_setting base[] = {
    {"encoder-layers", "6"}, {"decoder-layers", "6"}, {"width", "512"}, {"ffn-size", "2048"}, {"heads", "8"},
    {"vocab-size", "16000"}, {"batch-tokens", "16384"}, {"dropout", "0.1"}, {"attention-dropout", "0.1"},
    {"ffn-dropout", "0.1"}, {"lr", "0.0007"}, {"warmup", "4000"}, {"schedule", "inverse_sqrt"},
    {"weight-decay", "0.01"}, {"ema", "0.9995"}, {"steps", "100000"}, {0}};
static const hd_setting big[] = {
    {"width", "1024"}, {"ffn-size", "4096"}, {"heads", "16"}, {"vocab-size", "32000"},
    {"batch-tokens", "32768"}, {"dropout", "0.3"}, {"lr", "0.0005"}, {"ema", "0.9999"}, {"steps", "300000"},
    {0}};
static const hd_setting recurrent[] = {
    {"decoder-context", "attention"}, {"encoder-layers", "1"}, {"decoder-layers", "1"}, {"width", "512"},
    {"optimizer", "adam"}, {"beta2", "0.999"}, {"adam-eps", "1e-8"}, {"lr", "0.001"}, {"warmup", "0"},
    {"weight-decay", "0"}, {"dropout", "0.3"}, {"epochs", "20"}, {0}};
static const hd_setting sutskever[] = {
    {"encoder", "lstm"}, {"decoder", "lstm"}, {"decoder-context", "fixed"}, {"reverse-source", "true"},
    {"encoder-layers", "4"}, {"decoder-layers", "4"}, {"dropout", "0.2"}, {"clip", "5"}, {0}};
static const hd_setting rnnsearch[] = {
    {"encoder", "bi-gru"}, {"decoder", "gru"}, {"decoder-init", "map"}, {"readout", "deep"}, {"lr", "0.002"},
    {0}};
static const hd_setting luong[] = {
    {"encoder", "lstm"}, {"decoder", "lstm"}, {"attention-score", "bilinear"}, {"attention-query", "current"},
    {"readout", "tanh"}, {"input-feeding", "true"}, {"encoder-layers", "2"}, {"decoder-layers", "2"},
    {"clip", "5"}, {0}};
static const hd_setting tutorial[] = {
    {"encoder", "gru"}, {"decoder", "gru"}, {"untied", "true"}, {"width", "128"}, {"batch-tokens", "1000"},
    {"dropout", "0.1"}, {"label-smoothing", "0"}, {"lr", "0.005"}, {0}};
static const hd_setting cells[] = {
    {"layers", "1"}, {"width", "256"}, {"ffn-size", "256"}, {"heads", "1"}, {"context", "64"},
    {"activation", "tanh"}, {"dropout", "0"}, {"batch-size", "12"}, {"lr", "0.004"}, {"warmup", "100"},
    {"schedule", "cosine"}, {"min-lr-ratio", "0.1"}, {"weight-decay", "0.01"}, {"beta2", "0.99"},
    {"adam-eps", "1e-8"}, {"label-smoothing", "0"}, {"steps", "2000"}, {0}};
static const hd_setting rnn[] = {{"lr", "0.002"}, {0}};
static const hd_setting ffnn[] = {
    {"width", "64"}, {"batch-size", "24"}, {"lr", "0.005"}, {"steps", "4000"}, {0}};
static const hd_setting ngram[] = {
    {"width", "1"}, {"ffn-size", "1"}, {"lr", "0.001"}, {"weight-decay", "0"}, {"activation", "relu"},
    {"steps", "0"}, {0}};
static const hd_setting maxent[] = {{"lr", "0.02"}, {"steps", "1000"}, {0}};
static const hd_setting gpt[] = {
    {"layers", "4"}, {"width", "128"}, {"heads", "4"}, {"activation", "gelu"}, {"lr", "0.002"},
    {"weight-decay", "0.1"}, {0}};
static const hd_setting music[] = {
    {"layers", "5"}, {"width", "256"}, {"heads", "8"}, {"context", "1024"}, {"relative", "1024"}, {"untied", "true"},
    {"dropout", "0.3"}, {"transpose", "6"}, {"batch-size", "16"}, {"lr", "0.001"}, {"warmup", "400"}, {"ema", "0.999"},
    {"steps", "3000"}, {0}};
static const hd_setting llama[] = {
    {"model", "llama"}, {"norm-kind", "rms"}, {"ffn", "gated"}, {"activation", "silu"}, {"bias", "none"},
    {"beta2", "0.95"}, {0}};
static const hd_setting llama_nano[] = {
    {"batch-size", "12"}, {"context", "64"}, {"steps", "2000"}, {0}};
static const hd_setting moe[] = {{"model", "moe"}, {"balance-rate", "0.003"}, {0}};
static const hd_setting deepseek[] = {
    {"model", "deepseek"}, {"shared-experts", "1"}, {"dense-layers", "1"}, {"router", "sigmoid"}, {0}};
static const hd_setting moe_124m[] = {{"model", "moe"}, {"balance-rate", "0.001"}, {0}};
static const hd_setting llama_124m[] = {
    {"layers", "12"}, {"width", "768"}, {"heads", "12"}, {"ffn-size", "2048"}, {"context", "1024"},
    {"unit", "subword"}, {"vocab-size", "50304"}, {"micro-batches", "40"}, {"lr", "0.0006"}, {"warmup", "2000"},
    {"steps", "600000"}, {0}};
static const hd_setting reward[] = {
    {"batch-size", "32"}, {"warmup", "5"}, {"schedule", "constant"}, {"weight-decay", "0"}, {"beta2", "0.95"},
    {"adam-eps", "1e-8"}, {"clip", "1"}, {"steps", "120"}, {"valid-every", "20"}, {"report-every", "5"}, {0}};
static const hd_setting gpt2[] = {
    {"layers", "12"}, {"width", "768"}, {"heads", "12"}, {"context", "1024"}, {"activation", "gelu_tanh"},
    {"unit", "subword"}, {"vocab-size", "50257"}, {"micro-batches", "40"}, {"lr", "0.0006"},
    {"warmup", "2000"}, {"beta2", "0.95"}, {"steps", "600000"}, {0}};
static const hd_setting gpt2_medium[] = {
    {"layers", "24"}, {"width", "1024"}, {"heads", "16"}, {"micro-batches", "60"}, {"lr", "0.0003"}, {0}};
static const hd_setting gpt2_large[] = {
    {"layers", "36"}, {"width", "1280"}, {"heads", "20"}, {"micro-batches", "120"}, {"lr", "0.00025"}, {0}};
static const hd_setting gpt2_xl[] = {
    {"layers", "48"}, {"width", "1600"}, {"heads", "25"}, {"micro-batches", "240"}, {"lr", "0.0002"}, {0}};
static const hd_setting bert_tiny[] = {
    {"unit", "subword"}, {"layers", "2"}, {"width", "128"}, {"ffn-size", "512"}, {"heads", "2"},
    {"activation", "gelu"}, {"context", "128"}, {"batch-size", "32"}, {"dropout", "0.1"}, {"lr", "0.001"},
    {"warmup", "500"}, {"weight-decay", "0.01"}, {"beta2", "0.98"}, {"adam-eps", "1e-6"},
    {"label-smoothing", "0"}, {"steps", "10000"}, {0}};
static const hd_setting bert_mini[] = {
    {"layers", "4"}, {"width", "256"}, {"ffn-size", "1024"}, {"heads", "4"}, {"lr", "0.0005"},
    {"warmup", "1000"}, {0}};
static const hd_setting bert_base[] = {
    {"layers", "12"}, {"width", "768"}, {"ffn-size", "3072"}, {"heads", "12"}, {"context", "512"},
    {"vocab-size", "30522"}, {"batch-size", "256"}, {"lr", "0.0001"}, {"warmup", "10000"}, {"beta2", "0.999"},
    {"steps", "1000000"}, {0}};
static const hd_setting detr_small[] = {
    {"image-encoder", "resnet"}, {"resnet", "64x2,128x2,256x2/1"}, {"encoder-layers", "2"},
    {"decoder-layers", "3"}, {"width", "256"}, {"ffn-size", "1024"}, {"heads", "8"}, {"activation", "relu"},
    {"dropout", "0"}, {"queries", "60"}, {"query-kind", "anchors"}, {"query-reach", "1"}, {"denoise-groups", "5"},
    {"no-object-weight", "0.1"}, {"flip", "turns"}, {"scale-jitter", "0.3"}, {"color", "0.2"},
    {"batch-size", "16"}, {"lr", "0.0003"}, {"warmup", "400"}, {"schedule", "cosine"}, {"min-lr-ratio", "0.01"},
    {"weight-decay", "0.01"}, {"beta2", "0.999"}, {"adam-eps", "1e-8"}, {"clip", "1"}, {"ema", "0.999"},
    {"steps", "4000"}, {0}};
static const hd_setting las[] = {
    {"encoder", "bi-lstm:1+pyramid:2"}, {"decoder", "lstm"}, {"decoder-layers", "1"},
    {"attention-query", "current"}, {"readout", "tanh"}, {"input-feeding", "true"}, {"decoder-init", "zeros"},
    {"decoder-input", "scheduled"}, {"sampling-rate", "0.1"}, {"ctc-weight", "0.3"}, {"untied", "true"},
    {"attention-order", "0.02"}, {"width", "128"}, {"unit", "char"}, {"max-length", "200"}, {"max-positions", "256"}, {"bin-masks", "1"}, {"frame-masks", "1"},
    {"dropout", "0.2"}, {"label-smoothing", "0.1"}, {"batch-frames", "16000"}, {"lr", "0.003"}, {"warmup", "200"},
    {"schedule", "cosine"}, {"min-lr-ratio", "0.01"}, {"weight-decay", "0.01"}, {"clip", "1"}, {"beta2", "0.98"},
    {"adam-eps", "1e-8"}, {"select-by", "wer"}, {"epochs", "40"}, {0}};
static const hd_setting las_small[] = {
    {"encoder", "bi-lstm:1+pyramid:1"}, {"frame-stack", "2"}, {"width", "64"}, {"batch-frames", "4000"}, {"lr", "0.005"},
    {"warmup", "100"}, {"steps", "3000"}, {"epochs", "0"}, {0}};
static const hd_setting speech_tiny[] = {
    {"encoder", "transformer"}, {"decoder", "transformer"}, {"encoder-layers", "4"}, {"decoder-layers", "2"},
    {"frame-stack", "4"}, {"width", "128"}, {"ffn-size", "512"}, {"heads", "4"}, {"activation", "gelu"},
    {"untied", "false"}, {"dropout", "0.1"}, {"lr", "0.003"}, {"warmup", "400"}, {0}};
static const hd_setting speech_ctc[] = {{"decoder", "none"}, {"ctc-weight", "1"}, {0}};
static const hd_setting handwriting[] = {
    {"model", "handwriting"}, {"layers", "3"}, {"width", "400"}, {"mixtures", "20"}, {"window-gaussians", "10"}, {"dropout", "0"},
    {"batch-size", "64"}, {"lr", "0.005"}, {"warmup", "200"}, {"schedule", "cosine"}, {"min-lr-ratio", "0.02"},
    {"weight-decay", "0.0001"}, {"beta2", "0.99"}, {"adam-eps", "1e-8"}, {"clip", "10"}, {"precision", "f32"},
    {"epochs", "8"}, {0}};
static const hd_setting stroke_reader[] = {
    {"layers", "2"}, {"width", "160"}, {"dropout", "0.1"}, {"batch-size", "16"}, {"lr", "0.005"}, {"warmup", "100"},
    {"schedule", "cosine"}, {"min-lr-ratio", "0.02"}, {"weight-decay", "0.0001"}, {"beta2", "0.99"},
    {"adam-eps", "1e-8"}, {"clip", "10"}, {"precision", "f32"}, {"epochs", "2"}, {0}};
static const hd_setting handwriting_small[] = {
    {"width", "128"}, {"batch-size", "16"}, {"lr", "0.012"}, {"epochs", "3"}, {0}};
static const hd_setting handwriting_gpt[] = {
    {"model", "gpt"}, {"layers", "6"}, {"width", "256"}, {"heads", "8"}, {"relative", "64"}, {"activation", "gelu"},
    {"dropout", "0.1"}, {"batch-size", "64"}, {"lr", "0.001"}, {"warmup", "400"}, {"weight-decay", "0.05"}, {"clip", "1"},
    {"precision", "auto"}, {"epochs", "30"}, {0}};
static const hd_setting labels[] = {
    {"layers", "1"}, {"width", "128"}, {"ffn-size", "256"}, {"heads", "4"}, {"activation", "gelu"},
    {"dropout", "0.3"}, {"lr", "0.002"}, {"warmup", "100"}, {"schedule", "cosine"}, {"min-lr-ratio", "0.01"},
    {"weight-decay", "0.05"}, {"beta2", "0.99"}, {"adam-eps", "1e-8"}, {"label-smoothing", "0"},
    {"batch-size", "32"}, {"max-length", "512"}, {"epochs", "20"}, {0}};
static const hd_setting labels_blocks[] = {
    {"layers", "2"}, {"dropout", "0.2"}, {"lr", "0.001"}, {"warmup", "200"}, {0}};
static const hd_setting fine_tuning[] = {
    {"warmup", "20"}, {"weight-decay", "0.01"}, {"beta2", "0.999"}, {"adam-eps", "1e-8"},
    {"label-smoothing", "0"}, {"batch-size", "32"}, {"epochs", "10"}, {0}};
static const hd_setting fine_tuning_whisper[] = {
    {"dropout", "0"}, {"clip", "1"}, {"schedule", "linear"}, {"batch-frames", "24000"},
    {"max-length", "400"}, {"select-by", "wer"}, {"epochs", "3"}, {0}};
static const hd_setting show_attend_tell[] = {
    {"image-encoder", "resnet"}, {"resnet", "32x1,64x2,128x2,256x4"}, {"decoder", "lstm"},
    {"decoder-layers", "1"}, {"attention-gate", "true"}, {"attention-penalty", "1"},
    {"decoder-init", "maps"}, {"readout", "residual"}, {"untied", "true"}, {"width", "512"},
    {"unit", "word"}, {"min-count", "5"}, {"vocab-size", "1000000"}, {"max-length", "50"},
    {"max-positions", "64"}, {"flip", "auto"}, {"crop", "0.6"}, {"color", "0.2"}, {"dropout", "0.5"}, {"label-smoothing", "0"},
    {"batch-size", "64"}, {"lr", "0.0004"}, {"warmup", "400"}, {"schedule", "cosine"},
    {"min-lr-ratio", "0.01"}, {"weight-decay", "0.01"}, {"clip", "5"}, {"beta2", "0.99"}, {"adam-eps", "1e-8"},
    {"select-by", "cider"}, {"epochs", "40"}, {0}};
static const hd_setting caption_luong[] = {
    {"attention-query", "current"}, {"readout", "deep"}, {"decoder-init", "zeros"}, {"attention-penalty", "0"},
    {0}};
static const hd_setting caption_transformer[] = {
    {"image-encoder", "vit"}, {"patch-size", "8"}, {"conv-stem", "3"}, {"decoder", "transformer"},
    {"encoder-layers", "4"}, {"decoder-layers", "3"}, {"width", "256"}, {"ffn-size", "1024"}, {"heads", "8"},
    {"activation", "gelu"}, {"untied", "false"}, {"dropout", "0.2"}, {"drop-path", "0.1"}, {0}};
static const hd_setting fine_tuning_pictures[] = {
    {"warmup", "100"}, {"weight-decay", "0.05"}, {"schedule", "cosine"}, {"min-lr-ratio", "0.01"},
    {"label-smoothing", "0.1"}, {"flip", "horizontal"}, {0}};
static const hd_setting vit_lite[] = {
    {"model", "vit"}, {"conv-stem", "3"}, {"layers", "4"}, {"width", "128"}, {"ffn-size", "256"},
    {"heads", "4"}, {"activation", "gelu"}, {"dropout", "0"}, {"drop-path", "0.1"}, {"batch-size", "128"},
    {"lr", "0.004"}, {"warmup", "400"}, {"schedule", "cosine"}, {"min-lr-ratio", "0.001"},
    {"weight-decay", "0.1"}, {"beta2", "0.99"}, {"adam-eps", "1e-8"}, {"label-smoothing", "0.1"},
    {"augment", "auto"}, {"flip", "horizontal"}, {"shift", "2"}, {0}};
static const hd_setting vit_tiny[] = {
    {"image-size", "32"}, {"layers", "2"}, {"width", "64"}, {"ffn-size", "128"}, {"drop-path", "0"},
    {"batch-size", "64"}, {"warmup", "100"}, {"steps", "500"}, {"augment", "plain"}, {0}};
static const hd_setting vit_b16[] = {
    {"conv-stem", "0"}, {"patch-size", "16"}, {"image-size", "224"}, {"layers", "12"}, {"width", "768"},
    {"ffn-size", "3072"}, {"heads", "12"}, {"batch-size", "1024"}, {"micro-batches", "8"}, {"lr", "0.001"},
    {"warmup", "6000"}, {"weight-decay", "0.05"}, {"beta2", "0.999"}, {"shift", "0"}, {"crop", "0.08"},
    {"random-augment", "2"}, {"augment-strength", "0.9"}, {"erase", "0.25"}, {"mixup", "0.8"},
    {"cutmix", "1"}, {"epochs", "300"}, {"augment", "plain"}, {0}};
/* clang-format on */

const char *const hd_preset_names[HD_PRESETS + 1] = {
#define X(NAME, name, ...) name,
    HD_PRESET_LIST(X)
#undef X
};

const hd_preset_info hd_presets[HD_PRESET_NONE] = {
#define X(NAME, name, TASK, BASE, settings)                                                  \
    [HD_PRESET_##NAME] = {name, HD_TRAIN_##TASK,                                             \
                          HD_TRAIN_##TASK == HD_TRAIN_LM || HD_TRAIN_##TASK == HD_TRAIN_MLM, \
                          HD_PRESET_##BASE, settings},
    HD_PRESET_LIST(X)
#undef X
#define X(NAME, BASE, settings) [HD_PRESET_##NAME] = {NULL, -1, false, HD_PRESET_##BASE, settings},
        HD_RECIPE_LIST(X)
#undef X
};

const char *hd_preset_value(hd_preset p, const char *option, bool *named)
{
    for (; p != HD_PRESET_NONE; p = hd_presets[p].base)
        for (const hd_setting *x = hd_presets[p].settings; x->option; x++)
            if (!strcmp(x->option, option)) {
                *named = hd_presets[p].name != NULL;
                return x->value;
            }
    return NULL;
}
