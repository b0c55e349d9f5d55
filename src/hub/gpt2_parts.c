/* What folders of GPT-2 share: the settings in config.json and the names of tensors. */
#include <string.h>

#include "base/mem.h"
#include "hub/gpt2.h"
#include "hub/own.h"

enum { MOST_SIZE = 1 << 20, MOST_LAYERS = 1000, MOST_HEADS = 1024 };

static const char PREFIX[] = "transformer.";

/* Masks, which older files hold. */
const char *const hd_family_gpt2_ignored[] = {".attn.bias", ".attn.masked_bias", NULL};

/* -- here -- */

static float real_of(hd_model_config *c, const char *key, double most, float otherwise)
{
    return hd_model_config_has(c, key) ? (float)hd_model_config_real(c, key, most) : otherwise;
}

hd_lm_opt hd_family_gpt2_config(hd_model_config *c)
{
    hd_lm_opt o = {.stack.pre_norm = true, .kind = HD_LM_gpt, .order = 1};
    o.stack.layers = (int)hd_family_whole(c, "n_layer", 1, MOST_LAYERS, 12);
    o.stack.heads = (int)hd_family_whole(c, "n_head", 1, MOST_HEADS, 12);
    o.stack.width = (size_t)hd_family_whole(c, "n_embd", 1, MOST_SIZE, 768);
    o.stack.inner = (size_t)hd_family_whole(c, "n_inner", 1, 4 * MOST_SIZE, 0);
    o.context = (size_t)hd_family_whole(c, "n_positions", 1, MOST_SIZE, 1024);
    o.vocab = (size_t)hd_family_whole(c, "vocab_size", 1, 64 * MOST_SIZE, 50257);
    o.stack.act = hd_family_activation(c, "gelu_new");
    o.stack.dropout = real_of(c, "resid_pdrop", 0.999, 0.1f);
    o.embedding_dropout = real_of(c, "embd_pdrop", 0.999, 0.1f);
    o.stack.attention_dropout = real_of(c, "attn_pdrop", 0.999, 0.1f);
    o.stack.eps = real_of(c, "layer_norm_epsilon", 1, 1e-5f);
    o.tied = hd_family_switch(c, "tie_word_embeddings", true);
    hd_family_insist(c, "scale_attn_weights", true);
    hd_family_insist(c, "scale_attn_by_inverse_layer_idx", false);
    hd_family_insist(c, "add_cross_attention", false);
    if (o.stack.width % (size_t)o.stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o.stack.width,
                               o.stack.heads);
    return o;
}

void hd_family_gpt2_tokenizer(hd_model_config *c, const char *folder, hd_lm_opt *o, hd_tokenizer **t)
{
    hd_family_open_tokenizer(c, folder, t);
    if (c->status) return;
    hd_family_check_vocab(c, o->vocab, *t, hd_tokenizer_size(*t));
    hd_special special = hd_tokenizer_special(*t);
    o->start = special.start, o->end = special.end, o->unk = special.unk;
}

/* -- and back -- */

hd_status hd_family_gpt2_check(const hd_lm_opt *o, const char *folder, hd_err *err)
{
    if (o->kind != HD_LM_gpt)
        return hd_err_set(err, HD_EARG, "%s: \"%s\" is no model that transformers knows; \"gpt\" is", folder,
                          hd_lm_names[o->kind]);
    if (!o->stack.pre_norm)
        return hd_err_set(err, HD_EARG, "%s: GPT-2 normalizes before each layer; this model behind", folder);
    if (o->stack.act != HD_IDENTITY && !hd_family_activation_name(o->stack.act))
        return hd_err_set(err, HD_EARG, "%s: transformers has no activation \"%s\"", folder,
                          hd_unary_name(o->stack.act));
    return HD_OK;
}

void hd_family_gpt2_put(hd_text *to, const char *architecture, const hd_lm_opt *o, const hd_tokenizer *t)
{
    hd_text_print(to, "{\"model_type\": \"gpt2\",\n \"architectures\": [\"%s\"]", architecture);
    hd_text_print(to, ",\n \"n_layer\": %d,\n \"n_head\": %d,\n \"n_embd\": %zu", o->stack.layers,
                  o->stack.heads, o->stack.width);
    if (o->stack.inner) hd_text_print(to, ",\n \"n_inner\": %zu", o->stack.inner);
    hd_text_print(to, ",\n \"n_positions\": %zu,\n \"n_ctx\": %zu,\n \"vocab_size\": %zu", o->context,
                  o->context, o->vocab);
    hd_text_print(to, ",\n \"activation_function\": \"%s\"",
                  hd_family_activation_name(o->stack.act == HD_IDENTITY ? HD_gelu_tanh : o->stack.act));
    hd_model_config_put_real(to, "resid_pdrop", (double)o->stack.dropout);
    hd_model_config_put_real(to, "embd_pdrop", (double)o->embedding_dropout);
    hd_model_config_put_real(to, "attn_pdrop", (double)o->stack.attention_dropout);
    hd_model_config_put_real(to, "layer_norm_epsilon", (double)o->stack.eps);
    /* a text begins behind the end of another, as heed begins one */
    hd_text_print(to, ",\n \"bos_token_id\": %d,\n \"eos_token_id\": %d", o->end, o->end);
    if (hd_tokenizer_special(t).pad >= 0)
        hd_text_print(to, ",\n \"pad_token_id\": %d", hd_tokenizer_special(t).pad);
    hd_text_print(to, ",\n \"tie_word_embeddings\": %s,\n \"torch_dtype\": \"float32\"",
                  o->tied ? "true" : "false");
}

hd_status hd_family_gpt2_add_prefix(hd_params *p, const char *but, hd_err *err)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_text name = {0};
        if (!p->list[i]->name || !strcmp(p->list[i]->name, but)) continue;
        hd_text_print(&name, "%s%s", PREFIX, p->list[i]->name);
        hd_status s = hd_text_status(&name, err);
        if (s) return s;
        hd_mem_free(p->list[i]->name);
        p->list[i]->name = name.data;
    }
    return HD_OK;
}
