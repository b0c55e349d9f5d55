/* What published models call the tensors of their blocks. */
#include "model/stack.h"

const hd_stack_names hd_stack_marian = {
    .layers = "layers",
    .self = "self_attn",
    .cross = "encoder_attn",
    .query = "q_proj",
    .key = "k_proj",
    .value = "v_proj",
    .out = "out_proj",
    .norm = {"self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"},
    .in = "fc1",
    .back = "fc2",
    .last = "layer_norm"};

const hd_stack_names hd_stack_bert = {
    .layers = "layer",
    .self = "attention",
    .cross = "crossattention",
    .query = "self.query",
    .key = "self.key",
    .value = "self.value",
    .out = "output.dense",
    .norm = {"attention.output.LayerNorm", "crossattention.output.LayerNorm", "output.LayerNorm"},
    .in = "intermediate.dense",
    .back = "output.dense",
    .last = "layer_norm"};

const hd_stack_names hd_stack_gpt2 = {.layers = "h",
                                      .self = "attn",
                                      .cross = "crossattention",
                                      .query = "q_attn",
                                      .joint = "c_attn",
                                      .out = "c_proj",
                                      .norm = {"ln_1", "ln_cross_attn", "ln_2"},
                                      .in = "mlp.c_fc",
                                      .back = "mlp.c_proj",
                                      .last = "ln_f",
                                      .transposed = true,
                                      .norm_first = true};

/* Of the whole model's name, since its last norm is no part of what it calls the encoder. */
const hd_stack_names hd_stack_vit = {.layers = "encoder.layer",
                                     .self = "attention",
                                     .query = "attention.query",
                                     .key = "attention.key",
                                     .value = "attention.value",
                                     .out = "output.dense",
                                     .norm = {"layernorm_before", NULL, "layernorm_after"},
                                     .in = "intermediate.dense",
                                     .back = "output.dense",
                                     .last = "layernorm"};

/* The sublayers of a T5 are numbered. */
#define T5_NAMES(feed_forward)                                                                  \
    {                                                                                           \
        .layers = "block", .self = "layer.0.SelfAttention", .cross = "layer.1.EncDecAttention", \
        .query = "q", .key = "k", .value = "v", .out = "o",                                     \
        .norm = {"layer.0.layer_norm", "layer.1.layer_norm", feed_forward ".layer_norm"},       \
        .in = feed_forward ".DenseReluDense.wi", .back = feed_forward ".DenseReluDense.wo",     \
        .gated = {feed_forward ".DenseReluDense.wi_0", feed_forward ".DenseReluDense.wi_1"},    \
        .last = "final_layer_norm"                                                              \
    }

const hd_stack_names hd_stack_t5_encoder = T5_NAMES("layer.1"), hd_stack_t5_decoder = T5_NAMES("layer.2");

/* Also Mistral's, Qwen's and Gemma's; the last one's where outputs have norms. */
const hd_stack_names hd_stack_llama = {
    .layers = "layers",
    .self = "self_attn",
    .query = "q_proj",
    .key = "k_proj",
    .value = "v_proj",
    .out = "o_proj",
    .query_norm = "q_norm",
    .key_norm = "k_norm",
    .norm = {"input_layernorm", NULL, "post_attention_layernorm"},
    .norm_out = {"post_attention_layernorm", NULL, "post_feedforward_layernorm"},
    .norm_in = "pre_feedforward_layernorm",
    .gated = {"mlp.gate_proj", "mlp.up_proj"},
    .in = "mlp.up_proj",
    .back = "mlp.down_proj",
    .experts = {.router = "mlp.gate",
                .bias = "e_score_correction_bias",
                .experts = "mlp.experts",
                .in = "gate_proj",
                .gate = "up_proj",
                .out = "down_proj",
                .shared = "mlp.shared_experts"},
    .last = "norm"};
