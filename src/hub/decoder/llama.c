/* Decoders of today: Llama, Mistral, Qwen 2 and 3, Gemma 1 to 3. All are the language model `llama` with
   other options of its blocks; what tells them apart is a row of `decoders`. Easy to get wrong: a Gemma's
   norms have their gain minus 1 in the file, and its activation is gelu_tanh even where config.json says
   "gelu". */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "hub/decoder/rotary.h"
#include "hub/own.h"
#include "text/tokenizer_find.h"

static const char PREFIX[] = "model.", OUTPUT[] = "lm_head.weight", SLIDING[] = "sliding_attention";

/* Which layers have a window where "layer_types" does not say it. */
typedef enum windows { NO_WINDOW, ALL, LAST, EVEN, FIVE_OF_SIX } windows;

typedef struct decoder {
    const char *title; /* of "architectures" */
    bool qkv_bias;     /* queries, keys and values always have one */
    bool bias_key;     /* "attention_bias" */
    bool gemma;        /* gains minus 1, scaled token vectors, gelu_tanh, tied */
    bool output_norms; /* ... with its query scale and windows */
    hd_qk_norm qk_norm;
    windows windows;
    size_t head_width; /* without "head_dim"; 0: width / heads */
    int kv_heads;      /* without "num_key_value_heads"; 0: as heads */
    double theta;
} decoder;

static const hd_key keys[] = {
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

static void read_biases(hd_model_config *c, const decoder *d, hd_stack_opt *o)
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
static bool is_local(const hd_model_config *c, const decoder *d, const json_t *types, int layer, int from,
                     int every)
{
    const char *type = json_string_value(json_array_get(types, (size_t)layer));
    (void)c;
    if (type) return !strcmp(type, SLIDING);
    return d->windows == ALL || (d->windows == LAST && layer >= from) ||
           (d->windows >= EVEN && (layer + 1) % every);
}

/* The layers with a window as the stack says it: those from one on, but every so many. */
static void fit_windows(hd_model_config *c, const decoder *d, const json_t *types, int from, int every,
                        hd_stack_opt *o)
{
    int local = 0;
    for (int l = 0; l < o->layers; l++) local += is_local(c, d, types, l, from, every);
    if (!local) o->window = 0;
    for (o->window_every = 0; local && o->window_every <= o->layers; o->window_every++)
        for (o->window_from = 0; o->window_from < o->layers; o->window_from++) {
            int l = 0;
            while (l < o->layers && hd_stack_windowed(o, l) == is_local(c, d, types, l, from, every)) l++;
            if (l == o->layers) return;
        }
    o->window_every = o->window_from = 0;
    if (local) hd_model_config_refuse(c, "\"layer_types\" are in an order that heed does not support");
}

static void read_windows(hd_model_config *c, const decoder *d, hd_stack_opt *o)
{
    const json_t *types = json_object_get(c->object, "layer_types");
    const bool used = d->windows != LAST || hd_family_switch(c, "use_sliding_window", false);
    const int from = (int)hd_family_whole(c, "max_window_layers", 0, HD_MOST_LAYERS, 28);
    const int every =
        d->windows == EVEN ? 2 : (int)hd_family_whole(c, "sliding_window_pattern", 1, HD_MOST_LAYERS, 6);
    if (d->windows == NO_WINDOW || !used) return;
    if (d->windows < EVEN && !hd_model_config_has(c, "sliding_window")) return;
    o->window = (int)hd_family_whole(c, "sliding_window", 1, 1 << 30, 4096);
    if (types && json_array_size(types) < (size_t)o->layers)
        hd_model_config_refuse(c, "\"layer_types\" has fewer names than there are layers");
    fit_windows(c, d, types, from, every, o);
}

static void read_gemma(hd_model_config *c, const decoder *d, hd_lm_opt *o)
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

static void read_options(hd_model_config *c, const decoder *d, hd_lm_opt *o)
{
    *o =
        (hd_lm_opt){.kind = HD_LM_llama, .order = 1, .stack = {.pre_norm = true, .rms = true, .gated = true}};
    hd_keys_read(c, keys, 0, o);
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
    if (k->head_width * (size_t)k->heads == k->width) k->head_width = 0;
    if (k->kv_heads == k->heads) k->kv_heads = 0;
}

/* tokenizer.json before a tokenizer.model beside it, which lacks the added tokens. */
static void open_tokenizer(hd_passage *p, hd_model_config *c)
{
    char path[HD_PATH];
    const bool own = json_object_get(json_object_get(c->object, HD_OWN_KEY), "tokenizer") != NULL;
    if (c->status) return;
    if (own || hd_path(path, p->from, "tokenizer.json", NULL) || access(path, F_OK))
        hd_family_open_tokenizer(c, p->from, &p->m.tokenizer[0]);
    else
        c->status = hd_tokenizer_open_any(&p->m.tokenizer[0], path, false, c->err);
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    const decoder *d = p->family->self;
    const char *kind = hd_family_architecture(c, d->title);
    if (strcmp(kind, "ForCausalLM") && strcmp(kind, "Model"))
        hd_model_config_refuse(c,
                               "\"architectures\" has \"%.60s\": of this family heed imports %sForCausalLM",
                               hd_family_architecture(c, ""), d->title);
    p->task = HD_TRAIN_LM, p->make = hd_passage_lm;
    read_options(c, d, &p->lm);
    open_tokenizer(p, c);
    if (c->status) return;
    hd_family_check_vocab(c, p->lm.vocab, p->m.tokenizer[0], hd_tokenizer_size(p->m.tokenizer[0]));
    hd_special special = hd_tokenizer_special(p->m.tokenizer[0]);
    p->lm.start = special.start, p->lm.end = special.end, p->lm.unk = special.unk;
}

/* -- and back -- */

/* X(its name in C, "model_type", the row of `decoders`) */
#define DECODERS(X)                                                                                         \
    X(llama, "llama", {"Llama", .bias_key = true, .theta = 1e4})                                            \
    X(mistral, "mistral", {"Mistral", .windows = ALL, .kv_heads = 8, .theta = 1e4})                         \
    X(qwen2, "qwen2", {"Qwen2", .qkv_bias = true, .windows = LAST, .kv_heads = 32, .theta = 1e4})           \
    X(qwen3, "qwen3",                                                                                       \
      {"Qwen3", .bias_key = true, .qk_norm = HD_QK_NORM_HEAD, .windows = LAST, .head_width = 128,           \
       .kv_heads = 32, .theta = 1e4})                                                                       \
    X(gemma, "gemma",                                                                                       \
      {"Gemma", .bias_key = true, .gemma = true, .head_width = 256, .kv_heads = 16, .theta = 1e4})          \
    X(gemma2, "gemma2",                                                                                     \
      {"Gemma2", .bias_key = true, .gemma = true, .output_norms = true, .windows = EVEN, .head_width = 256, \
       .kv_heads = 4, .theta = 1e4})                                                                        \
    X(gemma3_text, "gemma3_text",                                                                           \
      {"Gemma3", .bias_key = true, .gemma = true, .output_norms = true, .qk_norm = HD_QK_NORM_HEAD,         \
       .windows = FIVE_OF_SIX, .head_width = 256, .kv_heads = 4, .theta = 1e6})

#define X(name, type, ...) static const decoder decoder_##name = __VA_ARGS__;
DECODERS(X)
#undef X

/* The family that has such blocks; NULL: none. */
static const decoder *decoder_of(const hd_stack_opt *k)
{
    const bool norms = k->qk_norm == HD_QK_NORM_HEAD,
               biased = !k->unbiased && k->unbiased_out && k->unbiased_inner;
    if (k->qk_norm == HD_QK_NORM_WHOLE) return NULL;
    if (k->unit_gain)
        return k->output_norms ? norms ? &decoder_gemma3_text : &decoder_gemma2 : &decoder_gemma;
    if (k->output_norms) return NULL;
    return norms ? &decoder_qwen3 : biased ? &decoder_qwen2 : k->window ? &decoder_mistral : &decoder_llama;
}

static bool has(const hd_family *f, hd_model_config *c)
{
    hd_lm_opt o;
    if (!hd_family_says(c, "task", "lm") || !hd_family_says(c, "model", hd_lm_names[HD_LM_llama]))
        return false;
    hd_lm_config_read(c, &o);
    const decoder *d = decoder_of(&o.stack);
    return f->self == (d ? d : &decoder_llama);
}

static const hd_lm_opt *options_of(const hd_passage *p)
{
    return &hd_model_folder_lm(&p->m)->opt;
}

/* What transformers' class of the family cannot have; NULL: nothing. */
static const char *misfit(const decoder *d, const hd_lm_opt *o)
{
    const hd_stack_opt *k = &o->stack;
    if (!decoder_of(k)) return "norms that none of these families has";
    if (!k->pre_norm) return "norms behind its layers";
    if (!k->rms) return "norms other than RMS norms";
    if (!k->gated) return "a feed-forward layer without a gate";
    if (k->rotary.kind != HD_ROTARY_HALVES) return "no rotary positions of halves";
    if (k->rotary.columns) return "rotary positions of some columns";
    if (k->relative_span || k->local_block) return "relative or local attention";
    if (k->unscaled_scores || k->unbiased_qkv || k->unbiased_keys) return "attention of another kind";
    if (k->query_scale > 0 && !d->output_norms) return "another scale of scores";
    if ((k->score_cap > 0 || o->logit_cap > 0) && !d->output_norms) return "capped scores or logits";
    if (o->embedding_scale > 0 && !d->gemma) return "scaled token vectors";
    if (k->window && d->windows == NO_WINDOW) return "a window";
    if (k->experts.count) return "experts";
    if (k->latent.rank) return "latent attention";
    return NULL;
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_lm_opt *o = options_of(p);
    const decoder *d = p->family->self;
    const char *why = misfit(d, o);
    if (why)
        return hd_err_set(err, HD_EARG, "%s: the %s of transformers has none such: this model has %s",
                          p->from, d->title, why);
    return o->stack.act == HD_IDENTITY ? HD_OK : hd_family_check_activation(o->stack.act, p->from, err);
}

/* A text of a model that was trained here begins behind an end, as every line does that it learned from. */
static hd_text_form reads(const hd_passage *p, const hd_tokenizer *t)
{
    return (hd_text_form){.native = HD_TOKENIZER_bpe,
                          .lead = hd_tokenizer_lead(t),
                          .trail = -1,
                          .continues = true,
                          .longest = options_of(p)->context};
}

static void put_layers(json_t *config, const decoder *d, const hd_stack_opt *k)
{
    json_t *types = json_array();
    for (int l = 0; l < k->layers; l++)
        hd_json_append(types, json_string(hd_stack_windowed(k, l) ? SLIDING : "full_attention"));
    if (d->windows == NO_WINDOW) {
        json_decref(types);
        return;
    }
    if (d->windows != ALL)
        hd_json_set(config, "layer_types", types);
    else
        json_decref(types);
    hd_json_set(config, "sliding_window", k->window ? json_integer(k->window) : json_null());
    if (d->windows == FIVE_OF_SIX && k->window_every)
        hd_json_set(config, "sliding_window_pattern", json_integer(k->window_every));
    if (d->windows != LAST) return;
    hd_json_set(config, "use_sliding_window", json_boolean(k->window));
    hd_json_set(config, "max_window_layers", json_integer(k->window ? k->window_from : k->layers));
}

static void put_gemma(json_t *config, const decoder *d, const hd_lm_opt *o)
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

static void put(const hd_passage *p, json_t *config, json_t *own)
{
    const hd_lm_opt *o = options_of(p);
    const hd_stack_opt *k = &o->stack;
    const decoder *d = p->family->self;
    const hd_tokenizer *t = p->m.tokenizer[0];
    const hd_special special = hd_tokenizer_special(t);
    const int32_t lead = hd_tokenizer_lead(t);
    hd_json_set(config, "architectures", json_pack("[s+]", d->title, "ForCausalLM"));
    hd_keys_set(config, keys, o);
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
    hd_family_own_tokenizers(own, p->m.tokenizer);
}

static void put_name(hd_text *to, const char *name, const void *context)
{
    hd_text_print(to, "%s%s", strcmp(name, context) ? PREFIX : "", name);
}

static hd_status rename_tensors(hd_passage *p, hd_err *err)
{
    return hd_family_rename(p->m.model.params, put_name, OUTPUT, err);
}

static const hd_family_form form = {
    .has = has, .read = read_folder, .check = check, .reads = reads, .put = put, .rename = rename_tensors};

static const char *const ignored[] = {".rotary_emb.inv_freq", NULL};

#define X(name, type, ...) const hd_family hd_family_##name = {type, &form, ignored, &decoder_##name};
DECODERS(X)
#undef X
