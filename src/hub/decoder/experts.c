/* Mixtures of experts in published config.json: Mixtral, OLMoE, Qwen3-MoE, DeepSeek. Easy to get wrong: the
   first two call the hidden size of an expert "intermediate_size", and Mixtral's tensors have names of their
   own. */
#include <math.h>
#include <string.h>

#include "hub/decoder/decoder.h"

enum { MOST_EXPERTS = 4096 };

/* "block_sparse_moe.experts.0.w1" of Mixtral */
static const struct {
    const char *here, *there;
} names[] = {{".mlp.gate.", ".block_sparse_moe.gate."},
             {".mlp.experts.", ".block_sparse_moe.experts."},
             {".gate_proj.", ".w1."},
             {".up_proj.", ".w3."},
             {".down_proj.", ".w2."}};

/* The layers without experts must be the first ones. */
static int dense_layers(hd_model_config *c)
{
    const json_t *list = json_object_get(c->object, "mlp_only_layers");
    const size_t count = json_array_size(list);
    for (size_t i = 0; i < count; i++)
        if (json_integer_value(json_array_get(list, i)) != (json_int_t)i)
            hd_model_config_refuse(
                c, "\"mlp_only_layers\" are not the first layers: heed does not support this");
    return count < HD_MOST_LAYERS ? (int)count : 0;
}

static bool is_deepseek(const hd_decoder *d)
{
    return d->experts == HD_EXPERTS_DEEPSEEK_V2 || d->experts == HD_EXPERTS_DEEPSEEK_V3;
}

/* Refuses a name that is not this one. */
static void insist_name(hd_model_config *c, const char *key, const char *name)
{
    if (hd_model_config_has(c, key) && !hd_family_says(c, key, name))
        hd_model_config_refuse(c, "\"%s\" is \"%.40s\": of this family heed supports \"%s\"", key,
                               hd_model_config_text(c, key), name);
}

/* Experts from a layer on, each of them in a group; V3's router has scores by sigmoids, and a bias. */
static void read_deepseek(hd_model_config *c, bool v3, hd_lm_opt *o)
{
    static const char LIMITED[] = "group_limited_greedy";
    hd_experts_opt *e = &o->stack.experts;
    const bool limited = v3 || hd_family_says(c, "topk_method", LIMITED);
    o->kind = HD_LM_deepseek;
    *e = (hd_experts_opt){.router = v3 ? HD_ROUTER_SIGMOID : HD_ROUTER_SOFTMAX, .bias = v3};
    e->count = (int)hd_family_whole(c, "n_routed_experts", 1, MOST_EXPERTS, v3 ? 256 : 64);
    e->used = (int)hd_family_whole(c, "num_experts_per_tok", 1, MOST_EXPERTS, 8);
    e->shared = (int)hd_family_whole(c, "n_shared_experts", 0, MOST_EXPERTS, 0);
    e->inner = (size_t)hd_family_whole(c, "moe_intermediate_size", 1, 4 * HD_MOST_SIZE, v3 ? 2048 : 1407);
    e->first = (int)hd_family_whole(c, "first_k_dense_replace", 0, HD_MOST_LAYERS, v3 ? 3 : 0);
    e->scaling = 1;
    if (hd_model_config_has(c, "routed_scaling_factor"))
        e->scaling = (float)hd_model_config_between(c, "routed_scaling_factor", 1e-6, 1e6);
    e->normalized = v3 && hd_family_switch(c, "norm_topk_prob", true);
    e->groups = limited ? (int)hd_family_whole(c, "n_group", 1, MOST_EXPERTS, v3 ? 8 : 1) : 0;
    e->groups_used = limited ? (int)hd_family_whole(c, "topk_group", 1, MOST_EXPERTS, v3 ? 4 : 1) : 0;
    if (e->groups == 1) e->groups = e->groups_used = 0;
    insist_name(c, "scoring_func", v3 ? "sigmoid" : "softmax");
    if (!limited) insist_name(c, "topk_method", "greedy");
    if (!v3) hd_family_insist(c, "norm_topk_prob", false);
    if (hd_family_whole(c, "moe_layer_freq", 1, HD_MOST_LAYERS, 1) != 1)
        hd_model_config_refuse(c, "\"moe_layer_freq\" is not 1: heed does not support this");
}

static void put_deepseek(json_t *config, bool v3, const hd_experts_opt *e)
{
    const bool limited = v3 || e->groups > 1;
    const int groups = e->groups > 1 ? e->groups : 1;
    hd_json_join(config,
                 json_pack("{s:i,s:i,s:i,s:I,s:i,s:i,s:b,s:s,s:s}", "n_routed_experts", e->count,
                           "num_experts_per_tok", e->used, "n_shared_experts", e->shared,
                           "moe_intermediate_size", (json_int_t)e->inner, "first_k_dense_replace", e->first,
                           "moe_layer_freq", 1, "norm_topk_prob", e->normalized, "topk_method",
                           v3        ? "noaux_tc"
                           : limited ? "group_limited_greedy"
                                     : "greedy",
                           "scoring_func", v3 ? "sigmoid" : "softmax"));
    hd_json_set(config, "routed_scaling_factor", hd_json_real(e->scaling > 0 ? (double)e->scaling : 1));
    hd_json_set(config, "n_group", limited ? json_integer(groups) : json_null());
    hd_json_set(config, "topk_group", limited ? json_integer(groups > 1 ? e->groups_used : 1) : json_null());
}

void hd_decoder_experts_read(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o)
{
    hd_experts_opt *e = &o->stack.experts;
    if (!d->experts) return;
    if (is_deepseek(d)) {
        read_deepseek(c, d->experts == HD_EXPERTS_DEEPSEEK_V3, o);
        return;
    }
    const bool qwen = d->experts == HD_EXPERTS_QWEN, mixtral = d->experts == HD_EXPERTS_MIXTRAL;
    const long long otherwise = qwen ? 128 : mixtral ? 8 : 64;
    o->kind = HD_LM_moe;
    e->count = (int)hd_family_whole(
        c, hd_model_config_has(c, "num_local_experts") ? "num_local_experts" : "num_experts", 1, MOST_EXPERTS,
        otherwise);
    e->used = (int)hd_family_whole(c, "num_experts_per_tok", 1, MOST_EXPERTS, mixtral ? 2 : 8);
    e->inner = o->stack.inner;
    e->router = HD_ROUTER_SOFTMAX;
    e->normalized = mixtral || hd_family_switch(c, "norm_topk_prob", false);
    if (hd_model_config_has(c, "clip_qkv"))
        hd_model_config_refuse(c, "\"clip_qkv\": heed does not support this");
    if (!qwen) return;
    e->inner = (size_t)hd_family_whole(c, "moe_intermediate_size", 1, 4 * HD_MOST_SIZE, 768);
    e->every = (int)hd_family_whole(c, "decoder_sparse_step", 1, HD_MOST_LAYERS, 1);
    e->first = dense_layers(c);
    if (e->every == 1) e->every = 0;
}

void hd_decoder_experts_put(json_t *config, const hd_decoder *d, const hd_lm_opt *o)
{
    const hd_experts_opt *e = &o->stack.experts;
    const bool qwen = d->experts == HD_EXPERTS_QWEN;
    if (is_deepseek(d)) {
        put_deepseek(config, d->experts == HD_EXPERTS_DEEPSEEK_V3, e);
        return;
    }
    hd_json_set(config, "num_local_experts", json_integer(e->count));
    hd_json_set(config, "num_experts", json_integer(e->count));
    hd_json_set(config, "num_experts_per_tok", json_integer(e->used));
    hd_json_set(config, qwen ? "moe_intermediate_size" : "intermediate_size",
                json_integer((json_int_t)e->inner));
    if (d->experts != HD_EXPERTS_MIXTRAL) hd_json_set(config, "norm_topk_prob", json_boolean(e->normalized));
    if (!qwen) return;
    json_t *dense = json_array();
    for (int l = 0; l < e->first; l++) hd_json_append(dense, json_integer(l));
    hd_json_set(config, "mlp_only_layers", dense);
    hd_json_set(config, "decoder_sparse_step", json_integer(e->every ? e->every : 1));
}

static const char *deepseek_misfit(bool v3, const hd_experts_opt *e)
{
    if (e->bias != v3) return v3 ? "a router without a bias" : "a router with a bias";
    if (!v3 && e->normalized) return "weights of experts that add up to 1";
    if (!e->shared) return "no shared experts";
    if (e->every > 1) return "layers without experts between others";
    return NULL;
}

const char *hd_decoder_experts_misfit(const hd_decoder *d, const hd_experts_opt *e)
{
    if (!e->count) return d->experts ? "no experts" : NULL;
    if (!d->experts) return "experts";
    if (is_deepseek(d)) return deepseek_misfit(d->experts == HD_EXPERTS_DEEPSEEK_V3, e);
    if (e->shared) return "shared experts";
    if (e->router != HD_ROUTER_SOFTMAX || e->groups > 1 || e->bias) return "another router";
    if (e->scaling > 0 && fabsf(e->scaling - 1) > 0) return "scaled weights of experts";
    if (d->experts != HD_EXPERTS_QWEN && (e->first || e->every > 1)) return "layers without experts";
    if (d->experts == HD_EXPERTS_MIXTRAL && !e->normalized)
        return "weights of experts that do not add up to 1";
    return NULL;
}

void hd_decoder_experts_rename(hd_text *to, const char *name, const hd_decoder *d)
{
    const bool other = d->experts == HD_EXPERTS_MIXTRAL && strstr(name, ".mlp.");
    while (*name) {
        size_t i = 0, count = other ? sizeof names / sizeof *names : 0;
        while (i < count && strncmp(name, names[i].here, strlen(names[i].here))) i++;
        if (i == count) {
            hd_text_add(to, name++, 1);
            continue;
        }
        /* the dot behind a part may begin the next one */
        hd_text_add(to, names[i].there, strlen(names[i].there) - 1);
        name += strlen(names[i].here) - 1;
    }
}

void hd_decoder_experts_name(hd_passage *p)
{
    const hd_decoder *d = p->family->self;
    hd_params *params = p->m.model.params;
    const size_t count = params->count;
    for (size_t i = 0; d->experts == HD_EXPERTS_MIXTRAL && i < count; i++) {
        hd_param *one = params->list[i];
        hd_text name = {0};
        if (!one->name || one->alias || !strstr(one->name, ".mlp.")) continue;
        hd_decoder_experts_rename(&name, one->name, d);
        if (name.data) hd_param_alias(params, one, "%s", name.data);
        hd_text_release(&name);
    }
}
