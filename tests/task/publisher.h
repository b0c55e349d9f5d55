/* Folders as transformers saves them: a small GPT-2 and a small MarianMT, whose weights are drawn as
   published/make.py draws them. Include after check.h and scratch.h. */
#ifndef PUBLISHER_H
#define PUBLISHER_H

#include "task/speaker.h"

#define TOKENISER HEED_SOURCE "/tests/text/published/gpt2/"

/* -- weights -- */

enum { MOST = 128, WIDE = 16, DEEP = 40, LAYERS = 2, GPT_VOCAB = 1200, MARIAN_VOCAB = 64 };

typedef struct store {
    hd_named named[MOST];
    hd_tensor tensor[MOST];
    size_t count;
    const char *prefix, *drawn; /* drawn: the name that says the numbers, where it is another */
    hd_dtype dtype;
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
    draw(x, count, drawn, !cols ? 0.5f : table ? 1 : 2, !cols && strstr(name, ".weight"));
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
    add(s, GPT_VOCAB, WIDE, "wte.weight");
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
    copy(TOKENISER "vocab.json", at("%s/vocab.json", folder));
    copy(TOKENISER "merges.txt", at("%s/merges.txt", folder));
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

static void put_gpt2(const char *folder)
{
    put_gpt2_with(folder, false);
}

/* </s> 0, <unk> 1, pieces of a small text, and <pad> behind all. */
static void put_marian_vocab(const char *folder, const hd_tokeniser *t)
{
    hd_text v = {0};
    int n = 2;
    hd_text_put(&v, "{\"</s>\": 0, \"<unk>\": 1");
    for (int32_t i = 0; n < MARIAN_VOCAB - 1 && (size_t)i < hd_tokeniser_size(t); i++)
        if (*hd_tokeniser_piece(t, i) != '<')
            hd_text_print(&v, ", \"%s\": %d", hd_tokeniser_piece(t, i), n++);
    for (; n < MARIAN_VOCAB - 1; n++) hd_text_print(&v, ", \"filler%d\": %d", n, n);
    hd_text_print(&v, ", \"<pad>\": %d}", n);
    put_file(at("%s/vocab.json", folder), v.data);
    hd_text_release(&v);
}

static void put_marian_with(const char *folder, bool apart)
{
    hd_err err = {0};
    hd_tokeniser *t = NULL;
    speaker_lines lines = {speaker_text};
    store s = {.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    put_file(at("%s/config.json", folder), marian_config);
    if (hd_tokeniser_train(&t, HD_TOKENISER_sentencepiece, (hd_feed){speaker_next, &lines},
                           &(hd_tokeniser_opt){.vocab = 310}, &err) ||
        hd_tokeniser_save(t, at("%s/source.spm", folder), &err) ||
        hd_tokeniser_save(t, at("%s/target.spm", folder), &err))
        fail_msg("%s", err.text);
    put_marian_vocab(folder, t);
    hd_tokeniser_free(t);
    add_marian(&s, apart);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

CHECK_UNUSED static void put_marian(const char *folder)
{
    put_marian_with(folder, false);
}

#endif
