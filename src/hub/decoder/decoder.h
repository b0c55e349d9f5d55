/* Decoders of today, as transformers has them: what tells their families apart. Reading is llama.c, writing
   export.c; experts, latent attention and rotary positions have files of their own. */
#ifndef HD_HUB_DECODER_DECODER_H
#define HD_HUB_DECODER_DECODER_H

#include "hub/family.h"

/* Which layers have a window where "layer_types" does not say it. */
typedef enum hd_decoder_windows {
    HD_WINDOWS_NONE,
    HD_WINDOWS_ALL,
    HD_WINDOWS_LAST, /* from "max_window_layers" on */
    HD_WINDOWS_EVEN,
    HD_WINDOWS_FIVE_OF_SIX
} hd_decoder_windows;

/* Whose keys and names experts have. */
typedef enum hd_decoder_experts {
    HD_EXPERTS_NONE,
    HD_EXPERTS_MIXTRAL,
    HD_EXPERTS_OLMOE,
    HD_EXPERTS_QWEN,
    HD_EXPERTS_DEEPSEEK_V2,
    HD_EXPERTS_DEEPSEEK_V3
} hd_decoder_experts;

typedef struct hd_decoder {
    const char *title; /* of "architectures" */
    bool qkv_bias;     /* queries, keys and values always have one */
    bool bias_key;     /* "attention_bias" */
    bool gemma;        /* gains minus 1, scaled token vectors, gelu_tanh, tied */
    bool output_norms; /* ... with its query scale and caps */
    bool latent;       /* latent attention */
    hd_qk_norm qk_norm;
    hd_decoder_windows windows;
    hd_decoder_experts experts;
    size_t head_width; /* without "head_dim"; 0: width / heads */
    int kv_heads;      /* without "num_key_value_heads"; 0: as heads */
    double theta;
} hd_decoder;

/* X(its name in C, "model_type", what it is) */
#define HD_DECODER_LIST(X)                                                                                   \
    X(llama, "llama", {"Llama", .bias_key = true, .theta = 1e4})                                             \
    X(mistral, "mistral", {"Mistral", .windows = HD_WINDOWS_ALL, .kv_heads = 8, .theta = 1e4})               \
    X(qwen2, "qwen2", {"Qwen2", .qkv_bias = true, .windows = HD_WINDOWS_LAST, .kv_heads = 32, .theta = 1e4}) \
    X(qwen3, "qwen3",                                                                                        \
      {"Qwen3", .bias_key = true, .qk_norm = HD_QK_NORM_HEAD, .windows = HD_WINDOWS_LAST, .head_width = 128, \
       .kv_heads = 32, .theta = 1e4})                                                                        \
    X(gemma, "gemma",                                                                                        \
      {"Gemma", .bias_key = true, .gemma = true, .head_width = 256, .kv_heads = 16, .theta = 1e4})           \
    X(gemma2, "gemma2",                                                                                      \
      {"Gemma2", .bias_key = true, .gemma = true, .output_norms = true, .windows = HD_WINDOWS_EVEN,          \
       .head_width = 256, .kv_heads = 4, .theta = 1e4})                                                      \
    X(gemma3_text, "gemma3_text",                                                                            \
      {"Gemma3", .bias_key = true, .gemma = true, .output_norms = true, .qk_norm = HD_QK_NORM_HEAD,          \
       .windows = HD_WINDOWS_FIVE_OF_SIX, .head_width = 256, .kv_heads = 4, .theta = 1e6})                   \
    X(mixtral, "mixtral",                                                                                    \
      {"Mixtral", .windows = HD_WINDOWS_ALL, .experts = HD_EXPERTS_MIXTRAL, .kv_heads = 8, .theta = 1e6})    \
    X(olmoe, "olmoe",                                                                                        \
      {"Olmoe", .bias_key = true, .qk_norm = HD_QK_NORM_WHOLE, .experts = HD_EXPERTS_OLMOE, .theta = 1e4})   \
    X(qwen3_moe, "qwen3_moe",                                                                                \
      {"Qwen3Moe", .bias_key = true, .qk_norm = HD_QK_NORM_HEAD, .windows = HD_WINDOWS_LAST,                 \
       .experts = HD_EXPERTS_QWEN, .kv_heads = 4, .theta = 1e4})                                             \
    X(deepseek_v2, "deepseek_v2",                                                                            \
      {"DeepseekV2", .bias_key = true, .latent = true, .experts = HD_EXPERTS_DEEPSEEK_V2, .theta = 1e4})     \
    X(deepseek_v3, "deepseek_v3",                                                                            \
      {"DeepseekV3", .bias_key = true, .latent = true, .experts = HD_EXPERTS_DEEPSEEK_V3, .theta = 1e4})

#define X(name, type, ...) extern const hd_decoder hd_decoder_##name;
HD_DECODER_LIST(X)
#undef X

#define HD_DECODER_SLIDING "sliding_attention"

/* Sizes that all of them have; ends with {0}. */
extern const hd_key hd_decoder_keys[];

/* -- llama.c -- */
void hd_decoder_read(hd_passage *p, hd_model_config *c);

/* -- experts.c -- */
void hd_decoder_experts_read(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o);
void hd_decoder_experts_put(json_t *config, const hd_decoder *d, const hd_lm_opt *o);
/* Before weights are loaded: the names that Mixtral has for them. */
void hd_decoder_experts_name(hd_passage *p);
/* What routers of the family cannot do; NULL: nothing. */
const char *hd_decoder_experts_misfit(const hd_decoder *d, const hd_experts_opt *e);
/* Appends the name of a tensor as the family has it. */
void hd_decoder_experts_rename(hd_text *to, const char *name, const hd_decoder *d);

/* -- pieces.c -- */
/* Opens a tokenizer.model as the tokenizer.json that does the same, which is put into the new folder; as it
   is where none would. */
hd_status hd_decoder_open_pieces(hd_tokenizer **out, const hd_passage *p, const char *path, hd_err *err);

/* -- latent.c -- */
/* Behind positions. */
void hd_decoder_latent_read(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o);
void hd_decoder_latent_put(json_t *config, const hd_decoder *d, const hd_lm_opt *o);
/* What DeepSeek's attention cannot have; NULL: nothing. */
const char *hd_decoder_latent_misfit(const hd_decoder *d, const hd_stack_opt *k);

/* -- export.c -- */
/* The family that has such blocks; NULL: none. */
const hd_decoder *hd_decoder_of(const hd_lm_opt *o);
bool hd_decoder_has(const hd_family *f, hd_model_config *c);
hd_status hd_decoder_check(const hd_passage *p, hd_err *err);
hd_text_form hd_decoder_reads(const hd_passage *p, const hd_tokenizer *t);
void hd_decoder_put(const hd_passage *p, json_t *config, json_t *own);
hd_status hd_decoder_rename(hd_passage *p, hd_err *err);

#endif
