/* Decoders of today: Llama, Mistral, Qwen, Gemma, DeepSeek and others. All are one language model with
   other options of its blocks; what tells them apart is a row of HD_DECODER_LIST. Easy to get wrong: a
   Gemma's norms have their gain minus 1 in the file, and its activation is gelu_tanh even where config.json
   says "gelu". */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hub/decoder/decoder.h"
#include "hub/decoder/rotary.h"
#include "hub/own.h"
#include "text/tokenizer_find.h"

const hd_key hd_decoder_keys[] = {
    HD_KEY(WHOLE, "num_hidden_layers", hd_lm_opt, stack.layers, HD_MOST_LAYERS, 32),
    HD_KEY(WHOLE, "num_attention_heads", hd_lm_opt, stack.heads, HD_MOST_HEADS, 32),
    HD_KEY(WHOLE, "hidden_size", hd_lm_opt, stack.width, HD_MOST_SIZE, 4096),
    HD_KEY(WHOLE, "intermediate_size", hd_lm_opt, stack.inner, 4 * HD_MOST_SIZE, 11008),
    HD_KEY(WHOLE, "max_position_embeddings", hd_lm_opt, context, HD_MOST_SIZE, 2048),
    HD_KEY(WHOLE, "vocab_size", hd_lm_opt, vocab, 64 * HD_MOST_SIZE, 32000),
    HD_KEY(REAL, "attention_dropout", hd_lm_opt, stack.attention_dropout, HD_KEY_DROPOUT, 0),
    HD_KEY(REAL, "rms_norm_eps", hd_lm_opt, stack.eps, 1, 1e-6),
    {0}};

/* -- here -- */

static void read_biases(hd_model_config *c, const hd_decoder *d, hd_stack_opt *o)
{
    const bool attention = d->qkv_bias || (d->bias_key && hd_family_switch(c, "attention_bias", false)),
               inner = hd_family_switch(c, "mlp_bias", false);
    if (inner && !attention)
        hd_model_config_refuse(c, "\"mlp_bias\" without \"attention_bias\": heed does not support this");
    o->unbiased = !attention;
    o->unbiased_out = attention && d->qkv_bias;
    o->unbiased_inner = attention && !inner;
}

/* Whether the layer has a window, by config.json. */
static bool is_local(const hd_decoder *d, const json_t *types, int layer, int from, int every)
{
    const char *type = json_string_value(json_array_get(types, (size_t)layer));
    if (type) return !strcmp(type, HD_DECODER_SLIDING);
    return d->windows == HD_WINDOWS_ALL || (d->windows == HD_WINDOWS_LAST && layer >= from) ||
           (d->windows >= HD_WINDOWS_EVEN && (layer + 1) % every);
}

/* The layers with a window as the stack says it: those from one on, but every so many. */
static void fit_windows(hd_model_config *c, const hd_decoder *d, const json_t *types, int from, int every,
                        hd_stack_opt *o)
{
    int local = 0;
    for (int l = 0; l < o->layers; l++) local += is_local(d, types, l, from, every);
    if (!local) o->window = 0;
    for (o->window_every = 0; local && o->window_every <= o->layers; o->window_every++)
        for (o->window_from = 0; o->window_from < o->layers; o->window_from++) {
            int l = 0;
            while (l < o->layers && hd_stack_windowed(o, l) == is_local(d, types, l, from, every)) l++;
            if (l == o->layers) return;
        }
    o->window_every = o->window_from = 0;
    if (local) hd_model_config_refuse(c, "\"layer_types\" are in an order that heed does not support");
}

static void read_windows(hd_model_config *c, const hd_decoder *d, hd_stack_opt *o)
{
    const json_t *types = json_object_get(c->object, "layer_types");
    const bool used = d->windows != HD_WINDOWS_LAST || hd_family_switch(c, "use_sliding_window", false);
    const int from = (int)hd_family_whole(c, "max_window_layers", 0, HD_MOST_LAYERS, 28);
    const int every = d->windows == HD_WINDOWS_EVEN
                          ? 2
                          : (int)hd_family_whole(c, "sliding_window_pattern", 1, HD_MOST_LAYERS, 6);
    if (d->windows == HD_WINDOWS_NONE || !used) return;
    if (d->windows < HD_WINDOWS_EVEN && !hd_model_config_has(c, "sliding_window")) return;
    o->window = (int)hd_family_whole(c, "sliding_window", 1, 1 << 30, 4096);
    if (types && json_array_size(types) < (size_t)o->layers)
        hd_model_config_refuse(c, "\"layer_types\" has fewer names than there are layers");
    fit_windows(c, d, types, from, every, o);
}

static void read_gemma(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o)
{
    o->stack.unit_gain = true;
    o->stack.output_norms = d->output_norms;
    o->stack.act = HD_gelu_tanh;
    if (hd_model_config_has(c, "hidden_activation"))
        o->stack.act = hd_family_activation_called(c, hd_model_config_text(c, "hidden_activation"));
    o->embedding_scale = sqrtf((float)o->stack.width);
    hd_family_insist(c, "use_bidirectional_attention", false);
    if (!d->output_norms) return;
    const double scalar = hd_model_config_has(c, "query_pre_attn_scalar")
                              ? hd_model_config_between(c, "query_pre_attn_scalar", 1e-6, 1e6)
                              : 256;
    o->stack.query_scale = (float)(1 / sqrt(scalar));
    if (hd_model_config_has(c, "attn_logit_softcapping"))
        o->stack.score_cap = (float)hd_model_config_real(c, "attn_logit_softcapping", 1e6);
    if (hd_model_config_has(c, "final_logit_softcapping"))
        o->logit_cap = (float)hd_model_config_real(c, "final_logit_softcapping", 1e6);
}

static void read_options(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o)
{
    *o =
        (hd_lm_opt){.kind = HD_LM_llama, .order = 1, .stack = {.pre_norm = true, .rms = true, .gated = true}};
    hd_keys_read(c, hd_decoder_keys, 0, o);
    hd_stack_opt *k = &o->stack;
    const size_t head = d->head_width ? d->head_width : k->width / (size_t)(k->heads > 0 ? k->heads : 1);
    k->kv_heads = (int)hd_family_whole(c, "num_key_value_heads", 1, HD_MOST_HEADS,
                                       d->kv_heads ? d->kv_heads : k->heads);
    k->head_width = (size_t)hd_family_whole(c, "head_dim", 1, HD_MOST_SIZE, (long long)(head ? head : 1));
    k->qk_norm = d->qk_norm;
    k->act = hd_family_activation_called(
        c, hd_model_config_has(c, "hidden_act") ? hd_model_config_text(c, "hidden_act") : "silu");
    o->tied = hd_family_switch(c, "tie_word_embeddings", d->gemma);
    read_biases(c, d, k);
    if (d->gemma) read_gemma(c, d, o);
    hd_decoder_rotary_read(c, o, d->theta);
    read_windows(c, d, k);
    hd_decoder_experts_read(c, d, o);
    hd_decoder_latent_read(c, d, o);
    if (k->head_width * (size_t)k->heads == k->width) k->head_width = 0;
    if (k->kv_heads == k->heads) k->kv_heads = 0;
}

static bool has_file(const hd_passage *p, const char *name, char path[HD_PATH])
{
    return !hd_path(path, p->from, name, NULL) && !access(path, F_OK);
}

/* tokenizer.json before a tokenizer.model beside it, which lacks the added tokens. */
static void open_tokenizer(hd_passage *p, hd_model_config *c)
{
    char path[HD_PATH];
    const bool own = json_object_get(json_object_get(c->object, HD_OWN_KEY), "tokenizer") != NULL;
    if (c->status) return;
    if (!own && has_file(p, "tokenizer.json", path))
        c->status = hd_tokenizer_open_any(&p->m.tokenizer[0], path, false, c->err);
    else if (!own && has_file(p, "tokenizer.model", path))
        c->status = hd_decoder_open_pieces(&p->m.tokenizer[0], p, path, c->err);
    else
        hd_family_open_tokenizer(c, p->from, &p->m.tokenizer[0]);
}

void hd_decoder_read(hd_passage *p, hd_model_config *c)
{
    const hd_decoder *d = p->family->self;
    const char *kind = hd_family_architecture(c, d->title);
    if (strcmp(kind, "ForCausalLM") && strcmp(kind, "Model"))
        hd_model_config_refuse(c,
                               "\"architectures\" has \"%.60s\": of this family heed imports %sForCausalLM",
                               hd_family_architecture(c, ""), d->title);
    p->task = HD_TRAIN_LM, p->make = hd_passage_lm;
    read_options(c, d, &p->lm);
    if (d->latent) /* layers that predict a token farther ahead */
        snprintf(p->left_out, sizeof p->left_out, "model.layers.%d.", p->lm.stack.layers);
    if (!p->to) return;
    if (hd_model_config_has(c, "quantization_config"))
        hd_model_config_refuse(
            c, "\"quantization_config\": heed reads weights in f32, f16 and bf16, not quantized "
               "ones: import the model they were made of, or a GGUF file");
    open_tokenizer(p, c);
    if (c->status) return;
    hd_family_check_vocab(c, p->lm.vocab, p->m.tokenizer[0], hd_tokenizer_size(p->m.tokenizer[0]));
    hd_special special = hd_tokenizer_special(p->m.tokenizer[0]);
    p->lm.start = special.start, p->lm.end = special.end, p->lm.unk = special.unk;
}

/* -- the families -- */

#define X(name, type, ...) const hd_decoder hd_decoder_##name = __VA_ARGS__;
HD_DECODER_LIST(X)
#undef X

static const hd_family_form form = {.has = hd_decoder_has,
                                    .read = hd_decoder_read,
                                    .name = hd_decoder_experts_name,
                                    .check = hd_decoder_check,
                                    .reads = hd_decoder_reads,
                                    .put = hd_decoder_put,
                                    .rename = hd_decoder_rename};

static const char *const ignored[] = {".rotary_emb.inv_freq", NULL};

#define X(name, type, ...) const hd_family hd_family_##name = {type, &form, ignored, &hd_decoder_##name};
HD_DECODER_LIST(X)
#undef X
