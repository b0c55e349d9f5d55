/* T5: a translator whose blocks know positions by distance, with the names of T5's tensors. What is to be
   done with a text is said in the text: "translate English to German: ". */
#include <string.h>

#include "hub/family.h"
#include "hub/weights.h"
#include "model/encdec/encdec.h"
#include "task/model_folder.h"

enum { MOST_SIZE = 1 << 20, MOST_POSITIONS = 1 << 16, MOST_LAYERS = 1000, MOST_HEADS = 1024 };

static const char SHARED[] = "shared.weight", OUTPUT[] = "lm_head.weight", GATED[] = "gated-";

/* A table that old files hold and no layer reads. */
static const char *const ignored[] = {".EncDecAttention.relative_attention_bias.weight", NULL};

/* -- here -- */

/* The same with other values where config.json is silent. */
static bool is_mt5(hd_model_config *c)
{
    return hd_family_says(c, "model_type", "mt5");
}

/* "relu", or "gated-silu"; "gated-gelu" is another gelu than "gelu". */
static void read_feed_forward(hd_model_config *c, hd_encdec_opt *o)
{
    static const char key[] = "feed_forward_proj";
    const char *name = hd_model_config_has(c, key) ? hd_model_config_text(c, key)
                       : is_mt5(c)                 ? "gated-gelu"
                                                   : "relu";
    o->stack.gated = !strncmp(name, GATED, sizeof GATED - 1);
    if (o->stack.gated) name += sizeof GATED - 1;
    o->stack.act =
        o->stack.gated && !strcmp(name, "gelu") ? HD_gelu_tanh : hd_family_activation_called(c, name);
}

static hd_encdec_opt read_config(hd_model_config *c)
{
    hd_encdec_opt o = hd_encdec_opt_t5();
    o.encoder_layers = (int)hd_family_whole(c, "num_layers", 1, MOST_LAYERS, 6);
    o.decoder_layers = (int)hd_family_whole(c, "num_decoder_layers", 1, MOST_LAYERS, o.encoder_layers);
    o.stack.heads = (int)hd_family_whole(c, "num_heads", 1, MOST_HEADS, 8);
    o.stack.width = (size_t)hd_family_whole(c, "d_model", 1, MOST_SIZE, 512);
    o.stack.head_width = (size_t)hd_family_whole(c, "d_kv", 1, MOST_SIZE, 64);
    o.stack.inner = (size_t)hd_family_whole(c, "d_ff", 1, MOST_SIZE, 2048);
    o.positions = (size_t)hd_family_whole(c, "n_positions", 2, MOST_POSITIONS, 512);
    o.source_vocab = o.target_vocab =
        (size_t)hd_family_whole(c, "vocab_size", 1, MOST_SIZE, is_mt5(c) ? 250112 : 32128);
    o.stack.relative.buckets = (size_t)hd_family_whole(c, "relative_attention_num_buckets", 1, MOST_SIZE, 32);
    o.stack.relative.reach = (int)hd_family_whole(c, "relative_attention_max_distance", 1, MOST_SIZE, 128);
    o.stack.eps = hd_model_config_has(c, "layer_norm_epsilon")
                      ? (float)hd_model_config_real(c, "layer_norm_epsilon", 1)
                      : 1e-6f;
    o.own_output = !hd_family_switch(c, "tie_word_embeddings", !is_mt5(c));
    o.scaled_output = hd_family_switch(c, "scale_decoder_outputs", !o.own_output);
    hd_family_insist(c, "is_encoder_decoder", true);
    read_feed_forward(c, &o);
    return o;
}

static void open_tokenizer(hd_model_config *c, const char *folder, const hd_encdec_opt *o, hd_model_folder *t)
{
    char path[HD_PATH];
    if (!c->status) c->status = hd_path(path, folder, hd_tokenizer_file(HD_TOKENIZER_t5, HD_OF_BOTH), c->err);
    if (!c->status) c->status = hd_tokenizer_open(&t->tokenizer[0], HD_TOKENIZER_t5, path, c->err);
    if (c->status) return;
    t->tokenizer[1] = t->tokenizer[0];
    hd_family_check_vocab(c, o->source_vocab, t->tokenizer[0], hd_tokenizer_size(t->tokenizer[0]));
    hd_special special = hd_tokenizer_special(t->tokenizer[0]);
    hd_family_insist_id(c, "pad_token_id", special.pad);
    hd_family_insist_id(c, "eos_token_id", special.end);
    hd_family_insist_id(c, "decoder_start_token_id", special.start);
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

/* Before memory is taken for it. Options that do not go together are the config's fault. */
static hd_status check_size(const hd_encdec_opt *opt, hd_model_config *c, const char *folder, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_encdec *m = NULL;
    hd_err why = {0};
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s && (s = hd_encdec_new(&m, nowhere, opt, false, &why))) {
        if (s == HD_EARG)
            hd_model_config_refuse(c, "%s", why.text), s = c->status;
        else
            hd_err_set(err, s, "%s", why.text);
    }
    if (!s) s = hd_family_weights_fit(&m->params, folder, err);
    hd_encdec_free(m);
    hd_backend_free(nowhere);
    return s;
}

static hd_status import(const hd_family *f, const hd_passage *p, hd_model_config *c, hd_err *err)
{
    (void)f;
    hd_model_folder t = {0};
    hd_encdec *m = NULL;
    hd_encdec_opt opt = read_config(c);
    open_tokenizer(c, p->from, &opt, &t);
    t.trained = opt.positions;
    hd_status s = c->status;
    if (!s) s = find_output(&opt, p->from, err);
    if (!s) s = check_size(&opt, c, p->from, err);
    if (!s) s = hd_encdec_new(&m, p->backend, &opt, false, err);
    if (!s) hd_model_folder_take(&t, HD_TRAIN_TRANSLATE, hd_encdec_model(m));
    if (!s) s = hd_family_weights_load(t.model.params, p->from, ignored, err);
    if (!s) s = hd_model_folder_write(&t, p->to, err);
    hd_model_folder_release(&t);
    return s;
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

static hd_status save_config(const hd_model_folder *t, const char *folder, hd_err *err)
{
    const hd_encdec_opt *o = &hd_model_folder_encdec(t)->opt;
    hd_special special = hd_tokenizer_special(t->tokenizer[1]);
    hd_text c = {0};
    hd_text_put(&c, "{\"model_type\": \"t5\",\n \"architectures\": [\"T5ForConditionalGeneration\"]");
    hd_text_print(&c, ",\n \"vocab_size\": %zu,\n \"d_model\": %zu,\n \"d_kv\": %zu,\n \"d_ff\": %zu",
                  o->source_vocab, o->stack.width, o->stack.head_width, o->stack.inner);
    hd_text_print(&c, ",\n \"num_layers\": %d,\n \"num_decoder_layers\": %d,\n \"num_heads\": %d",
                  o->encoder.at[0].layers, o->decoder.at[0].layers, o->stack.heads);
    hd_text_print(&c, ",\n \"relative_attention_num_buckets\": %zu", o->stack.relative.buckets);
    hd_text_print(&c, ",\n \"relative_attention_max_distance\": %d", o->stack.relative.reach);
    hd_text_print(&c, ",\n \"feed_forward_proj\": \"%s%s\"", o->stack.gated ? GATED : "",
                  feed_forward_name(o));
    hd_text_print(&c, ",\n \"n_positions\": %zu", o->positions);
    hd_model_config_put_real(&c, "layer_norm_epsilon", (double)o->stack.eps);
    /* older versions scale what is tied, newer ones what is not said to be untied */
    hd_text_print(&c, ",\n \"tie_word_embeddings\": %s,\n \"scale_decoder_outputs\": %s",
                  o->own_output && !o->scaled_output ? "false" : "true", o->scaled_output ? "true" : "false");
    hd_text_print(&c, ",\n \"is_encoder_decoder\": true,\n \"pad_token_id\": %d,\n \"eos_token_id\": %d",
                  special.pad, special.end);
    hd_text_print(&c, ",\n \"decoder_start_token_id\": %d,\n \"torch_dtype\": \"float32\"}\n", special.start);
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

static hd_status export(const hd_family *f, const hd_passage *p, hd_err *err)
{
    (void)f;
    hd_model_folder t;
    hd_status s = hd_model_folder_open(&t, p->from, "translate", p->backend, HD_WEIGHTS_BEST, err);
    if (!s && !feed_forward_name(&hd_model_folder_encdec(&t)->opt))
        s = hd_err_set(err, HD_EARG, "%s: cannot become a T5: transformers lacks its activation", p->from);
    if (!s) s = hd_model_folder_save_tokenizers(t.tokenizer, p->to, err);
    if (!s) s = save_config(&t, p->to, err);
    if (!s) s = hd_model_folder_publish(&t, p->to, err);
    hd_model_folder_release(&t);
    return s;
}

/* Tensors of an mT5 are those of a T5, and as such it is exported. */
static bool has(const hd_family *f, hd_model_config *c)
{
    return f == &hd_family_t5 && hd_family_says(c, "task", "translate") && hd_family_says(c, "model", "t5");
}

const hd_family hd_family_t5 = {.has = has, .import = import, .export = export};
const hd_family hd_family_mt5 = {.has = has, .import = import, .export = export};
