/* Mixtures of experts in published config.json: Mixtral, OLMoE, Qwen3-MoE. Easy to get wrong: the first two
   call the hidden size of an expert "intermediate_size", and Mixtral's tensors have names of their own. */
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

void hd_decoder_experts_read(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o)
{
    hd_experts_opt *e = &o->stack.experts;
    if (!d->experts) return;
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
