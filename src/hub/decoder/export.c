/* Decoders for transformers: which family has such blocks, its config.json and the names of tensors. */
#include <math.h>
#include <string.h>

#include "hub/decoder/decoder.h"
#include "hub/decoder/rotary.h"
#include "hub/own.h"

static const char PREFIX[] = "model.", OUTPUT[] = "lm_head.weight";

/* The family that has such blocks; NULL: none. */
const hd_decoder *hd_decoder_of(const hd_lm_opt *o)
{
    const hd_stack_opt *k = &o->stack;
    const bool norms = k->qk_norm == HD_QK_NORM_HEAD,
               biased = !k->unbiased && k->unbiased_out && k->unbiased_inner;
    if (k->latent.rank)
        return k->experts.router == HD_ROUTER_SIGMOID ? &hd_decoder_deepseek_v3 : &hd_decoder_deepseek_v2;
    if (k->experts.count)
        return k->qk_norm == HD_QK_NORM_WHOLE ? &hd_decoder_olmoe
               : norms                        ? &hd_decoder_qwen3_moe
                                              : &hd_decoder_mixtral;
    if (k->qk_norm == HD_QK_NORM_WHOLE) return NULL;
    if (k->unit_gain)
        return k->output_norms ? norms ? &hd_decoder_gemma3_text : &hd_decoder_gemma2 : &hd_decoder_gemma;
    if (k->output_norms) return NULL;
    return norms       ? &hd_decoder_qwen3
           : biased    ? &hd_decoder_qwen2
           : k->window ? &hd_decoder_mistral
                       : &hd_decoder_llama;
}

bool hd_decoder_has(const hd_family *f, hd_model_config *c)
{
    hd_lm_opt o;
    static const hd_lm_kind kinds[] = {HD_LM_llama, HD_LM_moe, HD_LM_deepseek};
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known = known || hd_family_says(c, "model", hd_lm_names[kinds[i]]);
    if (!hd_family_says(c, "task", "lm") || !known) return false;
    hd_lm_config_read(c, &o);
    const hd_decoder *d = hd_decoder_of(&o);
    return f->self == (d ? d : &hd_decoder_llama);
}

static const hd_lm_opt *options_of(const hd_passage *p)
{
    return &hd_model_folder_lm(&p->m)->opt;
}

/* What transformers' class of the family cannot have; NULL: nothing. */
static const char *misfit(const hd_decoder *d, const hd_lm_opt *o)
{
    const hd_stack_opt *k = &o->stack;
    if (!hd_decoder_of(o)) return "norms that none of these families has";
    if (!k->pre_norm) return "norms behind its layers";
    if (!k->rms) return "norms other than RMS norms";
    if (!k->gated) return "a feed-forward layer without a gate";
    if (!d->latent && k->rotary.kind != HD_ROTARY_HALVES) return "no rotary positions of halves";
    if (k->rotary.columns) return "rotary positions of some columns";
    if (k->relative_span || k->local_block) return "relative or local attention";
    if (k->unscaled_scores || k->unbiased_qkv || k->unbiased_keys) return "attention of another kind";
    if (k->query_scale > 0 && !d->output_norms && !d->latent) return "another scale of scores";
    if ((k->score_cap > 0 || o->logit_cap > 0) && !d->output_norms) return "capped scores or logits";
    if (o->embedding_scale > 0 && !d->gemma) return "scaled token vectors";
    if (k->window && d->windows == HD_WINDOWS_NONE) return "a window";
    const char *latent = hd_decoder_latent_misfit(d, k);
    return latent ? latent : hd_decoder_experts_misfit(d, &k->experts);
}

hd_status hd_decoder_check(const hd_passage *p, hd_err *err)
{
    const hd_lm_opt *o = options_of(p);
    const hd_decoder *d = p->family->self;
    const char *why = misfit(d, o);
    if (why)
        return hd_err_set(err, HD_EARG, "%s: the %s of transformers has none such: this model has %s",
                          p->from, d->title, why);
    return o->stack.act == HD_IDENTITY ? HD_OK : hd_family_check_activation(o->stack.act, p->from, err);
}

/* A text of a model that was trained here begins behind an end, as every line does that it learned from. */
hd_text_form hd_decoder_reads(const hd_passage *p, const hd_tokenizer *t)
{
    return (hd_text_form){.native = HD_TOKENIZER_bpe,
                          .lead = hd_tokenizer_lead(t),
                          .trail = -1,
                          .continues = true,
                          .longest = options_of(p)->context};
}

static void put_layers(json_t *config, const hd_decoder *d, const hd_stack_opt *k)
{
    json_t *types = json_array();
    for (int l = 0; l < k->layers; l++)
        hd_json_append(types, json_string(hd_stack_windowed(k, l) ? HD_DECODER_SLIDING : "full_attention"));
    if (d->windows == HD_WINDOWS_NONE) {
        json_decref(types);
        return;
    }
    if (d->windows != HD_WINDOWS_ALL)
        hd_json_set(config, "layer_types", types);
    else
        json_decref(types);
    hd_json_set(config, "sliding_window", k->window ? json_integer(k->window) : json_null());
    if (d->windows == HD_WINDOWS_FIVE_OF_SIX && k->window_every)
        hd_json_set(config, "sliding_window_pattern", json_integer(k->window_every));
    if (d->windows != HD_WINDOWS_LAST) return;
    hd_json_set(config, "use_sliding_window", json_boolean(k->window));
    hd_json_set(config, "max_window_layers", json_integer(k->window ? k->window_from : k->layers));
}

static void put_gemma(json_t *config, const hd_decoder *d, const hd_lm_opt *o)
{
    const hd_stack_opt *k = &o->stack;
    const bool usual = k->act == HD_IDENTITY || k->act == HD_gelu_tanh;
    const char *act = usual ? "gelu_pytorch_tanh" : hd_family_activation_name(k->act);
    hd_json_set(config, "hidden_act", json_string(act));
    hd_json_set(config, "hidden_activation", json_string(act));
    if (!d->output_norms) return;
    const double head = (double)(k->head_width ? k->head_width : k->width / (size_t)k->heads),
                 scale = (double)k->query_scale, scalar = scale > 0 ? 1 / (scale * scale) : head;
    /* transformers takes whole numbers alone, and the scale is a float */
    hd_json_set(config, "query_pre_attn_scalar",
                fabs(scalar - round(scalar)) < 1e-5 * scalar ? json_integer((json_int_t)round(scalar))
                                                             : hd_json_real(scalar));
    hd_json_set(config, "attn_logit_softcapping",
                k->score_cap > 0 ? hd_json_real((double)k->score_cap) : json_null());
    hd_json_set(config, "final_logit_softcapping",
                o->logit_cap > 0 ? hd_json_real((double)o->logit_cap) : json_null());
}

void hd_decoder_put(const hd_passage *p, json_t *config, json_t *own)
{
    const hd_lm_opt *o = options_of(p);
    const hd_stack_opt *k = &o->stack;
    const hd_decoder *d = p->family->self;
    const hd_tokenizer *t = p->m.tokenizer[0];
    const hd_special special = hd_tokenizer_special(t);
    const int32_t lead = hd_tokenizer_lead(t);
    hd_json_set(config, "architectures", json_pack("[s+]", d->title, "ForCausalLM"));
    hd_keys_set(config, hd_decoder_keys, o);
    hd_json_join(config, json_pack("{s:i,s:I,s:s,s:b,s:b,s:b,s:i,s:i}", "num_key_value_heads",
                                   k->kv_heads ? k->kv_heads : k->heads, "head_dim",
                                   (json_int_t)(k->head_width ? k->head_width : k->width / (size_t)k->heads),
                                   "hidden_act",
                                   hd_family_activation_name(k->act == HD_IDENTITY ? HD_gelu_tanh : k->act),
                                   "tie_word_embeddings", o->tied, "attention_bias", !k->unbiased, "mlp_bias",
                                   !k->unbiased && !k->unbiased_inner, "bos_token_id",
                                   lead >= 0 ? lead : special.start, "eos_token_id", special.end));
    if (special.pad >= 0) hd_json_set(config, "pad_token_id", json_integer(special.pad));
    hd_decoder_rotary_put(config, o);
    put_layers(config, d, k);
    if (d->gemma) put_gemma(config, d, o);
    if (d->experts) hd_decoder_experts_put(config, d, o);
    hd_decoder_latent_put(config, d, o);
    hd_family_own_tokenizers(own, p->m.tokenizer);
}

static void put_name(hd_text *to, const char *name, const void *context)
{
    if (strcmp(name, OUTPUT)) hd_text_put(to, PREFIX);
    hd_decoder_experts_rename(to, name, context);
}

hd_status hd_decoder_rename(hd_passage *p, hd_err *err)
{
    return hd_family_rename(p->m.model.params, put_name, p->family->self, err);
}
