/* Metadata of Gemma, of models with experts and of DeepSeek as members of config.json. Easy to get wrong:
   what llama.cpp has in its code and not in its files, such as the scale of Gemma's scores. */
#include <stdio.h>
#include <string.h>

#include "hub/gguf/unpack.h"

enum { MOST_LAYERS = 1000 };

static void put_real(hd_gguf_writer *w, const char *key, double x)
{
    hd_json_set(w->to, key, x > 0 ? hd_json_real(x) : json_null());
}

/* Scores are divided by its root. The largest Gemma 2 and 3, by their layers, have width / heads, the others
   a head's columns. */
static double scalar_of(hd_gguf_writer *w, int gemma)
{
    const size_t layers = hd_gguf_size(w, "block_count", false),
                 width = hd_gguf_size(w, "embedding_length", false);
    const bool largest = layers == (gemma == 2 ? 46 : 62);
    const double scale = hd_gguf_number(w, "attention.scale", 0);
    if (scale > 0) return 1 / (scale * scale);
    return (double)(largest && w->m->heads ? width / w->m->heads : w->m->head_width);
}

void hd_gguf_put_gemma(hd_gguf_writer *w)
{
    static const char ACT[] = "gelu_pytorch_tanh";
    const int gemma = w->m->arch->gemma;
    if (!gemma) return;
    hd_json_set(w->to, "hidden_act", json_string(ACT));
    hd_json_set(w->to, "hidden_activation", json_string(ACT));
    if (gemma < 2) return;
    put_real(w, "query_pre_attn_scalar", scalar_of(w, gemma));
    hd_gguf_put_size(w, "sliding_window", hd_gguf_size(w, "attention.sliding_window", false));
    put_real(w, "attn_logit_softcapping", hd_gguf_number(w, "attn_logit_softcapping", gemma == 2 ? 50 : 0));
    put_real(w, "final_logit_softcapping", hd_gguf_number(w, "final_logit_softcapping", gemma == 2 ? 30 : 0));
    if (gemma < 3) return;
    const double every = hd_gguf_number(w, "attention.sliding_window_pattern", 6);
    hd_gguf_put_size(w, "sliding_window_pattern", every >= 1 && every <= 1000 ? (size_t)every : 6);
    put_real(w, "rope_local_base_freq", hd_gguf_number(w, "rope.freq_base_swa", 10000));
}

/* Layers whose feed-forward layer is not of experts, which only tensors tell. */
static void put_dense(hd_gguf_writer *w)
{
    const size_t layers = hd_gguf_size(w, "block_count", false);
    json_t *dense = json_array();
    for (size_t l = 0; l < layers && l < MOST_LAYERS; l++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%zu.ffn_gate.weight", l);
        if (hd_gguf_tensor_of(w->m->file, name)) hd_json_append(dense, json_integer((json_int_t)l));
    }
    hd_json_set(w->to, "mlp_only_layers", dense);
}

void hd_gguf_put_experts(hd_gguf_writer *w)
{
    const hd_gguf_arch *arch = w->m->arch;
    if (!arch->experts) return;
    const size_t count = hd_gguf_size(w, "expert_count", false),
                 inner = hd_gguf_size(w, "expert_feed_forward_length", true);
    hd_gguf_put_size(w, arch->latent ? "n_routed_experts" : "num_experts", count);
    hd_gguf_put_size(w, "num_local_experts", count);
    hd_gguf_put_size(w, "num_experts_per_tok", hd_gguf_size(w, "expert_used_count", false));
    hd_json_set(w->to, "norm_topk_prob", json_boolean(!arch->raw_weights));
    if (inner) hd_gguf_put_size(w, "moe_intermediate_size", inner);
    if (!arch->latent) put_dense(w);
    if (inner && !strcmp(arch->type, "mixtral")) hd_gguf_put_size(w, "intermediate_size", inner);
}

static void put_groups(hd_gguf_writer *w, bool v3)
{
    const size_t groups = hd_gguf_size(w, "expert_group_count", true),
                 used = hd_gguf_size(w, "expert_group_used_count", true);
    hd_gguf_put_size(w, "n_group", groups ? groups : 1);
    hd_gguf_put_size(w, "topk_group", used ? used : 1);
    if (!v3) hd_json_set(w->to, "topk_method", json_string(groups > 1 ? "group_limited_greedy" : "greedy"));
}

void hd_gguf_put_latent(hd_gguf_writer *w, hd_gguf_model *m)
{
    bool normalized = false;
    if (!m->arch->latent) return;
    const bool v3 = !strcmp(m->arch->type, "deepseek_v3");
    const size_t rotated = hd_gguf_size(w, "rope.dimension_count", false),
                 whole = hd_gguf_size(w, "attention.key_length_mla", true),
                 value = hd_gguf_size(w, "attention.value_length_mla", true),
                 keys = whole ? whole : hd_gguf_size(w, "attention.key_length", false),
                 query = hd_gguf_size(w, "attention.q_lora_rank", true);
    m->plain = keys > rotated ? keys - rotated : 0;
    m->value = value ? value : hd_gguf_size(w, "attention.value_length", false);
    hd_gguf_put_size(w, "num_key_value_heads", m->heads);
    hd_gguf_put_size(w, "kv_lora_rank", hd_gguf_size(w, "attention.kv_lora_rank", false));
    hd_json_set(w->to, "q_lora_rank", query ? json_integer((json_int_t)query) : json_null());
    hd_gguf_put_size(w, "qk_rope_head_dim", rotated);
    hd_gguf_put_size(w, "qk_nope_head_dim", m->plain);
    hd_gguf_put_size(w, "v_head_dim", m->value);
    hd_gguf_put_size(w, "first_k_dense_replace", hd_gguf_size(w, "leading_dense_block_count", true));
    hd_gguf_put_size(w, "n_shared_experts", hd_gguf_size(w, "expert_shared_count", true));
    hd_json_set(w->to, "routed_scaling_factor", hd_json_real(hd_gguf_number(w, "expert_weights_scale", 1)));
    hd_gguf_switch(hd_gguf_find(m->file, "deepseek2.expert_weights_norm"), &normalized);
    hd_json_set(w->to, "norm_topk_prob", json_boolean(normalized));
    put_groups(w, v3);
}
