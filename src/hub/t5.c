/* T5: a translator whose blocks know positions by distance, with the names of T5's tensors. What is to be
   done with a text is said in the text: "translate English to German: ". */
#include <stdio.h>
#include <string.h>

#include "hub/family.h"
#include "hub/weights.h"

static const char SHARED[] = "shared.weight", OUTPUT[] = "lm_head.weight", GATED[] = "gated-",
                  PROJ[] = "feed_forward_proj";

/* A table that old files hold and no layer reads. */
static const char *const ignored[] = {".EncDecAttention.relative_attention_bias.weight", NULL};

static const hd_key keys[] = {
    HD_KEY(WHOLE, "vocab_size", hd_encdec_opt, source_vocab, HD_MOST_SIZE, 32128),
    HD_KEY(WHOLE, "d_model", hd_encdec_opt, stack.width, HD_MOST_SIZE, 512),
    HD_KEY(WHOLE, "d_kv", hd_encdec_opt, stack.head_width, HD_MOST_SIZE, 64),
    HD_KEY(WHOLE, "d_ff", hd_encdec_opt, stack.inner, HD_MOST_SIZE, 2048),
    HD_KEY(WHOLE, "num_heads", hd_encdec_opt, stack.heads, HD_MOST_HEADS, 8),
    HD_KEY(WHOLE, "relative_attention_num_buckets", hd_encdec_opt, stack.relative.buckets, HD_MOST_SIZE, 32),
    HD_KEY(WHOLE, "relative_attention_max_distance", hd_encdec_opt, stack.relative.reach, HD_MOST_SIZE, 128),
    HD_KEY(REAL, "layer_norm_epsilon", hd_encdec_opt, stack.eps, 1, 1e-6),
    {0}};

/* -- here -- */

/* The same with other values where config.json is silent. */
static bool is_mt5(hd_model_config *c)
{
    return hd_family_says(c, "model_type", "mt5");
}

/* "relu", or "gated-silu"; "gated-gelu" is another gelu than "gelu". */
static void read_feed_forward(hd_model_config *c, hd_encdec_opt *o)
{
    const char *name = hd_model_config_has(c, PROJ) ? hd_model_config_text(c, PROJ)
                       : is_mt5(c)                  ? "gated-gelu"
                                                    : "relu";
    o->stack.gated = !strncmp(name, GATED, sizeof GATED - 1);
    if (o->stack.gated) name += sizeof GATED - 1;
    o->stack.act =
        o->stack.gated && !strcmp(name, "gelu") ? HD_gelu_tanh : hd_family_activation_called(c, name);
}

static hd_encdec_opt read_options(hd_model_config *c)
{
    hd_encdec_opt o = hd_encdec_opt_t5();
    hd_keys_read(c, keys, 0, &o);
    o.encoder_layers = (int)hd_family_whole(c, "num_layers", 1, HD_MOST_LAYERS, 6);
    o.decoder_layers = (int)hd_family_whole(c, "num_decoder_layers", 1, HD_MOST_LAYERS, o.encoder_layers);
    o.positions = (size_t)hd_family_whole(c, "n_positions", 2, HD_MOST_POSITIONS, 512);
    if (is_mt5(c) && !hd_model_config_has(c, keys[0].name)) o.source_vocab = 250112;
    o.target_vocab = o.source_vocab;
    o.own_output = !hd_family_switch(c, "tie_word_embeddings", !is_mt5(c));
    o.scaled_output = hd_family_switch(c, "scale_decoder_outputs", !o.own_output);
    hd_family_insist(c, "is_encoder_decoder", true);
    read_feed_forward(c, &o);
    return o;
}

/* Newer versions of transformers say that all are tied, but read an output layer that the file has. */
static hd_status find_output(hd_encdec_opt *o, const char *folder, hd_err *err)
{
    bool table = false, output = false;
    hd_status s = hd_family_weights_have(&table, folder, SHARED, err);
    if (!s) s = hd_family_weights_have(&output, folder, OUTPUT, err);
    o->own_output |= table && output;
    return s;
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    char path[HD_PATH];
    hd_encdec_opt *o = &p->encdec;
    hd_tokenizer **t = p->m.tokenizer;
    *o = read_options(c);
    p->task = HD_TRAIN_TRANSLATE, p->make = hd_passage_encdec, p->m.trained = o->positions;
    if (!c->status)
        c->status = hd_path(path, p->from, hd_tokenizer_file(HD_TOKENIZER_t5, HD_OF_BOTH), c->err);
    if (!c->status) c->status = hd_tokenizer_open(&t[0], HD_TOKENIZER_t5, path, c->err);
    if (c->status) return;
    t[1] = t[0];
    hd_family_check_vocab(c, o->source_vocab, t[0], hd_tokenizer_size(t[0]));
    hd_family_insist_ids(c, t[0]);
    if (!c->status) c->status = find_output(o, p->from, c->err);
}

/* -- and back -- */

/* What comes behind "gated-", or all; NULL: there is no name for it. */
static const char *feed_forward_name(const hd_encdec_opt *o)
{
    if (!o->stack.gated) return hd_family_activation_name(o->stack.act);
    return o->stack.act == HD_gelu_tanh ? "gelu"
           : o->stack.act == HD_gelu    ? NULL
                                        : hd_family_activation_name(o->stack.act);
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    if (feed_forward_name(&hd_model_folder_encdec(&p->m)->opt)) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: cannot become a T5: transformers lacks its activation", p->from);
}

static void put(const hd_passage *p, json_t *to, json_t *own)
{
    (void)own;
    const hd_encdec_opt *o = &hd_model_folder_encdec(&p->m)->opt;
    hd_special special = hd_tokenizer_special(p->m.tokenizer[1]);
    char feed_forward[64];
    snprintf(feed_forward, sizeof feed_forward, "%s%s", o->stack.gated ? GATED : "", feed_forward_name(o));
    hd_json_set(to, "architectures", json_pack("[s]", "T5ForConditionalGeneration"));
    hd_keys_set(to, keys, o);
    hd_json_join(to, json_pack("{s:i,s:i,s:s,s:I}", "num_layers", o->encoder.at[0].layers,
                               "num_decoder_layers", o->decoder.at[0].layers, PROJ, feed_forward,
                               "n_positions", (json_int_t)o->positions));
    /* older versions scale what is tied, newer ones what is not said to be untied */
    hd_json_join(to, json_pack("{s:b,s:b,s:b}", "tie_word_embeddings", !o->own_output || o->scaled_output,
                               "scale_decoder_outputs", o->scaled_output, "is_encoder_decoder", 1));
    hd_json_join(to, json_pack("{s:i,s:i,s:i}", "pad_token_id", special.pad, "eos_token_id", special.end,
                               "decoder_start_token_id", special.start));
}

/* Tensors of an mT5 are those of a T5, and as such it is exported. */
static bool has(const hd_family *f, hd_model_config *c)
{
    return f == &hd_family_t5 && hd_family_says(c, "task", "translate") && hd_family_says(c, "model", "t5");
}

static const hd_family_form form = {.has = has, .read = read_folder, .check = check, .put = put};
const hd_family hd_family_t5 = {"t5", &form, ignored, NULL}, hd_family_mt5 = {"mt5", &form, ignored, NULL};
