/* Folders as transformers saves them: a small GPT-2, MarianMT, Pegasus, BERT, RoBERTa and T5, whose weights
   are drawn as published/make.py draws them. Include after check.h and scratch.h. */
#ifndef PUBLISHER_H
#define PUBLISHER_H

#include "task/speaker.h"
#include "text/unigram_model.h"

#define TOKENIZER HEED_SOURCE "/tests/text/published/gpt2/"

/* -- weights -- */

enum { MOST = 192, WIDE = 16, DEEP = 40, LAYERS = 2, GPT_VOCAB = 1200, MARIAN_VOCAB = 64 };
enum { BERT_VOCAB = 1500, T5_VOCAB = 1108, ROBERTA_VOCAB = 702 };

typedef struct store {
    hd_named named[MOST];
    hd_tensor tensor[MOST];
    size_t count;
    const char *prefix, *drawn; /* drawn: the name that says the numbers, where it is another */
    hd_dtype dtype;
    size_t padding; /* rows of tables of tokens that no token has */
} store;

static void draw(float *x, size_t count, const char *name, float spread, bool norm)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (const char *c = name; *c; c++) key = (key ^ (uint8_t)*c) * 0x100000001b3u;
    for (size_t i = 0; i < count; i++) {
        float u = hd_rng_between(key, (uint32_t)i) - 0.5f;
        x[i] = (norm ? 1 : 0) + u * spread;
    }
}

/* cols 0: a vector. */
__attribute__((format(printf, 4, 5))) static void add(store *s, size_t rows, size_t cols, const char *format,
                                                      ...)
{
    char name[128], whole[160];
    const size_t shape[2] = {rows, cols}, count = rows * (cols ? cols : 1);
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    float *x = malloc(count * sizeof *x);
    void *to = malloc(count * sizeof *x);
    const char *drawn = s->drawn ? s->drawn : name;
    bool table = !strcmp(drawn, "wte.weight") || !strcmp(drawn, "model.shared.weight");
    draw(x, count, drawn,
         !cols || strstr(drawn, ".q.weight") ? 0.5f
         : table                             ? 1
                                             : 2,
         !cols && strstr(drawn, ".weight"));
    hd_convert(to, s->dtype, x, HD_F32, count);
    free(x);
    snprintf(whole, sizeof whole, "%s%s", s->prefix ? s->prefix : "", name);
    s->tensor[s->count] = hd_shaped(to, s->dtype, cols ? 2 : 1, shape);
    s->named[s->count] = (hd_named){strdup(whole), &s->tensor[s->count]};
    s->count++;
}

static void add_norm(store *s, const char *name)
{
    add(s, WIDE, 0, "%s.weight", name);
    add(s, WIDE, 0, "%s.bias", name);
}

static void store_release(store *s)
{
    for (size_t i = 0; i < s->count; i++) free((char *)s->named[i].name), free(s->tensor[i].data);
    s->count = 0;
}

static void save(const store *s, size_t from, size_t to, const char *path)
{
    hd_err err = {0};
    if (hd_safetensors_save(path, s->named + from, to - from, NULL, 0, &err)) fail_msg("%s", err.text);
}

static void add_gpt2(store *s)
{
    char name[32];
    add(s, GPT_VOCAB + s->padding, WIDE, "wte.weight");
    add(s, 24, WIDE, "wpe.weight");
    add_norm(s, "ln_f");
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 1; i <= 2; i++) snprintf(name, sizeof name, "h.%d.ln_%d", l, i), add_norm(s, name);
        add(s, WIDE, 3 * WIDE, "h.%d.attn.c_attn.weight", l);
        add(s, 3 * WIDE, 0, "h.%d.attn.c_attn.bias", l);
        add(s, WIDE, WIDE, "h.%d.attn.c_proj.weight", l);
        add(s, WIDE, 0, "h.%d.attn.c_proj.bias", l);
        add(s, WIDE, DEEP, "h.%d.mlp.c_fc.weight", l);
        add(s, DEEP, 0, "h.%d.mlp.c_fc.bias", l);
        add(s, DEEP, WIDE, "h.%d.mlp.c_proj.weight", l);
        add(s, WIDE, 0, "h.%d.mlp.c_proj.bias", l);
    }
}

static void add_attention(store *s, const char *layer, const char *name)
{
    static const char *const part[] = {"q", "k", "v", "out"};
    char norm[96];
    for (int i = 0; i < 4; i++) {
        add(s, WIDE, WIDE, "%s.%s.%s_proj.weight", layer, name, part[i]);
        add(s, WIDE, 0, "%s.%s.%s_proj.bias", layer, name, part[i]);
    }
    snprintf(norm, sizeof norm, "%s.%s_layer_norm", layer, name);
    add_norm(s, norm);
}

static void add_pegasus_norms(store *s)
{
    add_norm(s, "model.encoder.layer_norm");
    add_norm(s, "model.decoder.layer_norm");
}

/* apart: source and target have tables of their own, of the same numbers. */
static void add_marian(store *s, bool apart)
{
    char layer[64], norm[96];
    s->drawn = "model.shared.weight";
    if (!apart) add(s, MARIAN_VOCAB, WIDE, "model.shared.weight");
    if (apart) add(s, MARIAN_VOCAB, WIDE, "model.encoder.embed_tokens.weight");
    if (apart) add(s, MARIAN_VOCAB, WIDE, "model.decoder.embed_tokens.weight");
    s->drawn = NULL;
    add(s, 1, MARIAN_VOCAB, "final_logits_bias");
    for (int l = 0; l < 2 * LAYERS; l++) {
        snprintf(layer, sizeof layer, "model.%s.layers.%d", l % 2 ? "decoder" : "encoder", l / 2);
        add_attention(s, layer, "self_attn");
        if (l % 2) add_attention(s, layer, "encoder_attn");
        add(s, DEEP, WIDE, "%s.fc1.weight", layer);
        add(s, DEEP, 0, "%s.fc1.bias", layer);
        add(s, WIDE, DEEP, "%s.fc2.weight", layer);
        add(s, WIDE, 0, "%s.fc2.bias", layer);
        snprintf(norm, sizeof norm, "%s.final_layer_norm", layer);
        add_norm(s, norm);
    }
}

enum { T5_HEADS = 4, T5_INNER = 24, T5_BUCKETS = 8 };

static void add_t5_attention(store *s, const char *name)
{
    static const char *const part[] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) add(s, T5_INNER, WIDE, "%s.%s.weight", name, part[i]);
    add(s, WIDE, T5_INNER, "%s.o.weight", name);
}

static void add_t5_block(store *s, const char *block, bool decoder, bool gated)
{
    char name[96];
    int last = decoder ? 2 : 1;
    for (int i = 0; i <= last; i++) add(s, WIDE, 0, "%s.layer.%d.layer_norm.weight", block, i);
    snprintf(name, sizeof name, "%s.layer.0.SelfAttention", block), add_t5_attention(s, name);
    snprintf(name, sizeof name, "%s.layer.1.EncDecAttention", block);
    if (decoder) add_t5_attention(s, name);
    snprintf(name, sizeof name, "%s.layer.%d.DenseReluDense", block, last);
    add(s, DEEP, WIDE, gated ? "%s.wi_0.weight" : "%s.wi.weight", name);
    if (gated) add(s, DEEP, WIDE, "%s.wi_1.weight", name);
    add(s, WIDE, DEEP, "%s.wo.weight", name);
}

/* gated: and its output has a table of its own, as in version 1.1. */
static void add_t5(store *s, bool gated)
{
    static const char *const side[] = {"encoder", "decoder"};
    char block[64];
    add(s, T5_VOCAB, WIDE, "shared.weight");
    if (gated) add(s, T5_VOCAB, WIDE, "lm_head.weight");
    for (int i = 0; i < 2; i++) {
        add(s, T5_BUCKETS, T5_HEADS, "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            side[i]);
        add(s, WIDE, 0, "%s.final_layer_norm.weight", side[i]);
        for (int l = 0; l < LAYERS + i; l++) {
            snprintf(block, sizeof block, "%s.block.%d", side[i], l);
            add_t5_block(s, block, i, gated);
        }
    }
}

/* What a BERT may have, and how its tensors may be called. */
enum {
    BERT_HEAD = 1,       /* what predicts words */
    BERT_POOLER = 2,     /* of the first row */
    BERT_FOLLOWS = 4,    /* whether a text follows another, and a table that is computed */
    BERT_PREFIX = 8,     /* "bert." */
    BERT_OLD_NAMES = 16, /* gamma and beta */
    BERT_LABELS = 32,    /* three */
    BERT_NUMBER = 64,    /* one */
    BERT_TAGS = 128      /* three of every token */
};

static void add_bert_norm(store *s, int parts, const char *name)
{
    static const char *const now[] = {"weight", "bias"}, *const old[] = {"gamma", "beta"};
    for (int i = 0; i < 2; i++) {
        char drawn[96];
        snprintf(drawn, sizeof drawn, "%s.%s", name, now[i]);
        s->drawn = drawn;
        add(s, WIDE, 0, "%s.%s", name, (parts & BERT_OLD_NAMES ? old : now)[i]);
    }
    s->drawn = NULL;
}

static void add_dense(store *s, size_t out, size_t in, const char *layer, const char *name)
{
    add(s, out, in, "%s.%s.weight", layer, name);
    add(s, out, 0, "%s.%s.bias", layer, name);
}

static void add_bert_layer(store *s, int parts, const char *layer)
{
    static const char *const part[] = {"query", "key", "value"};
    char name[64];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "attention.self.%s", part[i]);
        add_dense(s, WIDE, WIDE, layer, name);
    }
    add_dense(s, WIDE, WIDE, layer, "attention.output.dense");
    add_dense(s, DEEP, WIDE, layer, "intermediate.dense");
    add_dense(s, WIDE, DEEP, layer, "output.dense");
    snprintf(name, sizeof name, "%s.attention.output.LayerNorm", layer);
    add_bert_norm(s, parts, name);
    snprintf(name, sizeof name, "%s.output.LayerNorm", layer);
    add_bert_norm(s, parts, name);
}

static void add_bert(store *s, int parts)
{
    char layer[32];
    s->prefix = parts & BERT_PREFIX ? "bert." : NULL;
    add(s, BERT_VOCAB + s->padding, WIDE, "embeddings.word_embeddings.weight");
    add(s, 24, WIDE, "embeddings.position_embeddings.weight");
    add(s, 3, WIDE, "embeddings.token_type_embeddings.weight");
    add_bert_norm(s, parts, "embeddings.LayerNorm");
    for (int l = 0; l < LAYERS; l++)
        snprintf(layer, sizeof layer, "encoder.layer.%d", l), add_bert_layer(s, parts, layer);
    if (parts & BERT_POOLER) add_dense(s, WIDE, WIDE, "pooler", "dense");
    if (parts & BERT_FOLLOWS) add(s, 1, 24, "embeddings.position_ids");
    s->prefix = NULL;
    if (parts & BERT_FOLLOWS) add_dense(s, 2, WIDE, "cls", "seq_relationship");
    size_t labels = parts & (BERT_LABELS | BERT_TAGS) ? 3 : parts & BERT_NUMBER ? 1 : 0;
    if (labels) add(s, labels, WIDE, "classifier.weight");
    if (labels) add(s, labels, 0, "classifier.bias");
    if (!(parts & BERT_HEAD)) return;
    add_dense(s, WIDE, WIDE, "cls.predictions.transform", "dense");
    add_bert_norm(s, parts, "cls.predictions.transform.LayerNorm");
    add(s, BERT_VOCAB + s->padding, 0, "cls.predictions.bias");
}

/* Its labels have a layer of their own; a pooler beside them is left over. */
static void add_roberta(store *s, int parts)
{
    char layer[32];
    s->prefix = parts & BERT_PREFIX ? "roberta." : NULL;
    add(s, ROBERTA_VOCAB, WIDE, "embeddings.word_embeddings.weight");
    add(s, 24, WIDE, "embeddings.position_embeddings.weight");
    add(s, 1, WIDE, "embeddings.token_type_embeddings.weight");
    add_bert_norm(s, 0, "embeddings.LayerNorm");
    for (int l = 0; l < LAYERS; l++)
        snprintf(layer, sizeof layer, "encoder.layer.%d", l), add_bert_layer(s, 0, layer);
    if (parts & BERT_POOLER) add_dense(s, WIDE, WIDE, "pooler", "dense");
    s->prefix = NULL;
    if (parts & BERT_LABELS) add_dense(s, WIDE, WIDE, "classifier", "dense");
    if (parts & BERT_LABELS) add_dense(s, 3, WIDE, "classifier", "out_proj");
    if (parts & BERT_TAGS) add(s, 3, WIDE, "classifier.weight"), add(s, 3, 0, "classifier.bias");
    if (!(parts & BERT_HEAD)) return;
    add_dense(s, WIDE, WIDE, "lm_head", "dense");
    add_norm(s, "lm_head.layer_norm");
    add(s, ROBERTA_VOCAB, 0, "lm_head.bias");
}

/* -- folders -- */

static const char gpt2_config[] =
    "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 4, \"n_embd\": 16, \"n_inner\": 40, "
    "\"n_positions\": 24, \"vocab_size\": 1200, \"activation_function\": \"gelu_new\", "
    "\"layer_norm_epsilon\": 1e-05, \"bos_token_id\": 0, \"eos_token_id\": 0, \"pad_token_id\": null}";

static const char marian_config[] =
    "{\"model_type\": \"marian\", \"d_model\": 16, \"encoder_layers\": 2, \"decoder_layers\": 2, "
    "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 4, \"encoder_ffn_dim\": 40, "
    "\"decoder_ffn_dim\": 40, \"activation_function\": \"swish\", \"scale_embedding\": true, "
    "\"max_position_embeddings\": 32, \"vocab_size\": 64, \"pad_token_id\": 63, \"eos_token_id\": 0, "
    "\"decoder_start_token_id\": 63}";

/* With a list of words that heed made; transformers keeps what it does not know. */
static const char pegasus_config[] =
    "{\"model_type\": \"pegasus\", \"d_model\": 16, \"encoder_layers\": 2, \"decoder_layers\": 2, "
    "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 4, \"encoder_ffn_dim\": 40, "
    "\"decoder_ffn_dim\": 40, \"activation_function\": \"swish\", \"scale_embedding\": true, "
    "\"max_position_embeddings\": 32, \"vocab_size\": 64, \"pad_token_id\": 0, \"eos_token_id\": 3, "
    "\"decoder_start_token_id\": 2, \"heed\": {\"tokenizer\": \"words\"}}";

/* As published ones say it; versions of transformers from 5 on save other keys. */
#define T5_CONFIG(more)                                                                              \
    "{\"model_type\": \"t5\", \"d_model\": 16, \"d_kv\": 6, \"d_ff\": 40, \"num_layers\": 2, "       \
    "\"num_decoder_layers\": 3, \"num_heads\": 4, \"relative_attention_num_buckets\": 8, "           \
    "\"relative_attention_max_distance\": 12, \"layer_norm_epsilon\": 1e-06, \"vocab_size\": 1108, " \
    "\"n_positions\": 64, \"is_encoder_decoder\": true, \"pad_token_id\": 0, \"eos_token_id\": 1, "  \
    "\"decoder_start_token_id\": 0, " more "}"

static const char t5_config[] = T5_CONFIG("\"feed_forward_proj\": \"relu\""),
                  t5_gated_config[] =
                      T5_CONFIG("\"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": false");

static const char bert_config[] =
    "{\"model_type\": \"bert\", \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"hidden_size\": 16, \"intermediate_size\": 40, \"max_position_embeddings\": 24, "
    "\"vocab_size\": 1500, \"type_vocab_size\": 3, \"hidden_act\": \"gelu_new\", "
    "\"layer_norm_eps\": 0.001, \"hidden_dropout_prob\": 0.25, \"pad_token_id\": 0}";

static const char roberta_config[] =
    "{\"model_type\": \"roberta\", \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"hidden_size\": 16, \"intermediate_size\": 40, \"max_position_embeddings\": 24, "
    "\"vocab_size\": 702, \"type_vocab_size\": 1, \"hidden_act\": \"gelu\", "
    "\"layer_norm_eps\": 1e-05, \"pad_token_id\": 1}";

static const char labels_config[] =
    "{\"architectures\": [\"BertForSequenceClassification\"], \"id2label\": {\"0\": \"bad\", \"2\": "
    "\"good \\\"one\\\"\", \"1\": \"so so\"}, ";

static void copy(const char *from, const char *to)
{
    size_t size;
    char *bytes = get_file(from, &size);
    put_bytes(to, bytes, size);
    free(bytes);
}

static void put_gpt2_but_weights(const char *folder)
{
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    put_file(at("%s/config.json", folder), gpt2_config);
    copy(TOKENIZER "vocab.json", at("%s/vocab.json", folder));
    copy(TOKENIZER "merges.txt", at("%s/merges.txt", folder));
}

/* untied: the output layer has a table of its own. */
static void put_gpt2_with(const char *folder, bool untied)
{
    store s = {.dtype = HD_F32};
    put_gpt2_but_weights(folder);
    add_gpt2(&s);
    if (untied) add(&s, GPT_VOCAB, WIDE, "lm_head.weight");
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void pad_gpt2(const char *folder, size_t padding)
{
    store s = {.dtype = HD_F32, .padding = padding};
    add_gpt2(&s);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

/* A head of so many labels. */
CHECK_UNUSED static void put_gpt2_labels(const char *folder, size_t labels)
{
    char config[1024];
    store s = {.dtype = HD_F32, .prefix = "transformer."};
    put_gpt2_but_weights(folder);
    snprintf(config, sizeof config,
             "{\"architectures\": [\"GPT2ForSequenceClassification\"], \"num_labels\": %zu, %s", labels,
             gpt2_config + 1);
    put_file(at("%s/config.json", folder), config);
    add_gpt2(&s);
    s.prefix = NULL;
    add(&s, labels, WIDE, "score.weight");
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void put_gpt2(const char *folder)
{
    put_gpt2_with(folder, false);
}

/* </s> 0, <unk> 1, pieces of a small text, and <pad> behind all. */
static void put_marian_vocab(const char *folder, const hd_tokenizer *t)
{
    hd_text v = {0};
    int n = 2;
    hd_text_put(&v, "{\"</s>\": 0, \"<unk>\": 1");
    for (int32_t i = 0; n < MARIAN_VOCAB - 1 && (size_t)i < hd_tokenizer_size(t); i++)
        if (*hd_tokenizer_piece(t, i) != '<')
            hd_text_print(&v, ", \"%s\": %d", hd_tokenizer_piece(t, i), n++);
    for (; n < MARIAN_VOCAB - 1; n++) hd_text_print(&v, ", \"filler%d\": %d", n, n);
    hd_text_print(&v, ", \"<pad>\": %d}", n);
    put_file(at("%s/vocab.json", folder), v.data);
    hd_text_release(&v);
}

static void put_marian_with(const char *folder, bool apart)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    speaker_lines lines = {speaker_text};
    store s = {.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    put_file(at("%s/config.json", folder), marian_config);
    if (hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, (hd_feed){speaker_next, &lines},
                           &(hd_tokenizer_opt){.vocab = 310}, &err) ||
        hd_tokenizer_save(t, at("%s/source.spm", folder), &err) ||
        hd_tokenizer_save(t, at("%s/target.spm", folder), &err))
        fail_msg("%s", err.text);
    put_marian_vocab(folder, t);
    hd_tokenizer_free(t);
    add_marian(&s, apart);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void put_pegasus(const char *folder)
{
    store s = {.dtype = HD_F32};
    hd_text words = {0};
    for (int i = 0; i < HD_SPECIALS; i++) hd_text_print(&words, "%s\n", hd_special_piece[i]);
    for (int i = HD_SPECIALS; i < MARIAN_VOCAB; i++) hd_text_print(&words, "word%d\n", i);
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    put_file(at("%s/config.json", folder), pegasus_config);
    put_file(at("%s/tokenizer.txt", folder), words.data);
    hd_text_release(&words);
    add_marian(&s, false);
    add_pegasus_norms(&s);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

static void put_t5_with(const char *folder, bool gated)
{
    hd_text model = unigram_model();
    store s = {.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    put_file(at("%s/config.json", folder), gated ? t5_gated_config : t5_config);
    put_bytes(at("%s/spiece.model", folder), model.data, model.size);
    hd_text_release(&model);
    add_t5(&s, gated);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void put_t5(const char *folder)
{
    put_t5_with(folder, false);
}

CHECK_UNUSED static void put_t5_gated(const char *folder)
{
    put_t5_with(folder, true);
}

CHECK_UNUSED static void put_marian(const char *folder)
{
    put_marian_with(folder, false);
}

static void put_bert_with(const char *folder, int parts)
{
    store s = {.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    put_file(at("%s/config.json", folder), bert_config);
    copy(HEED_SOURCE "/tests/text/published/bert/vocab.txt", at("%s/vocab.txt", folder));
    add_bert(&s, parts);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void pad_bert(const char *folder, int parts, size_t padding)
{
    store s = {.dtype = HD_F32, .padding = padding};
    add_bert(&s, parts);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void put_bert(const char *folder)
{
    put_bert_with(folder, BERT_PREFIX | BERT_HEAD | BERT_POOLER);
}

CHECK_UNUSED static void put_bert_labels(const char *folder)
{
    char config[1024];
    put_bert_with(folder, BERT_PREFIX | BERT_POOLER | BERT_LABELS);
    snprintf(config, sizeof config, "%s%s", labels_config, bert_config + 1);
    put_file(at("%s/config.json", folder), config);
}

CHECK_UNUSED static void put_roberta_with(const char *folder, const char *architecture, int parts)
{
    char config[1024];
    store s = {.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    snprintf(config, sizeof config, "{\"architectures\": [\"%s\"], \"num_labels\": 3, %s", architecture,
             roberta_config + 1);
    put_file(at("%s/config.json", folder), config);
    copy(HEED_SOURCE "/tests/text/published/roberta/tokenizer.json", at("%s/tokenizer.json", folder));
    add_roberta(&s, parts);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void put_roberta(const char *folder)
{
    put_roberta_with(folder, "RobertaForMaskedLM", BERT_PREFIX | BERT_HEAD);
}

CHECK_UNUSED static void put_bert_tags(const char *folder)
{
    char config[1024];
    put_bert_with(folder, BERT_PREFIX | BERT_TAGS);
    snprintf(config, sizeof config,
             "{\"architectures\": [\"BertForTokenClassification\"], \"id2label\": {\"0\": \"O\", \"1\": "
             "\"B-PER\", \"2\": \"I-PER\"}, %s",
             bert_config + 1);
    put_file(at("%s/config.json", folder), config);
}

CHECK_UNUSED static void put_roberta_tags(const char *folder)
{
    put_roberta_with(folder, "RobertaForTokenClassification", BERT_PREFIX | BERT_TAGS);
}

CHECK_UNUSED static void put_roberta_labels(const char *folder)
{
    put_roberta_with(folder, "RobertaForSequenceClassification", BERT_PREFIX | BERT_LABELS);
}

CHECK_UNUSED static void put_bare_roberta(const char *folder)
{
    put_roberta_with(folder, "RobertaModel", BERT_POOLER);
}

CHECK_UNUSED static void put_bare_bert(const char *folder)
{
    put_bert_with(folder, BERT_POOLER);
}

#endif
