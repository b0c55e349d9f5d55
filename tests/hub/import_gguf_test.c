/* GGUF files become models: the same numbers as from the folder of the model, the tokenizer and the chat
   template in the file. */
#include "check.h"
#include "scratch.h"

#include "hub/decoders.h"
#include "tensor/gguf_file.h"
#include "text/tokenizer_find.h"

static const char TEMPLATE[] = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";

/* -- files -- */

/* A model of a family, as llama.cpp has it. */
typedef struct variant {
    const char *shape, *arch;
    int gemma;
    bool turned; /* rows of queries and keys are in the order of pairs */
    bool split;  /* of latent attention: keys and values apart */
    struct {
        const char *key; /* behind the architecture */
        double value;    /* a fraction or below 0: a real */
        bool is_real;
    } keys[16];
} variant;

#define YARN(factor, original, scale)                                                                 \
    {"rope.scaling.factor", factor, true}, {"rope.scaling.original_context_length", original, false}, \
    {                                                                                                 \
        "rope.scaling.yarn_log_multiplier", 0.1 * scale, true                                         \
    }
#define DEEPSEEK(shared, scale)                                                                            \
    {"rope.dimension_count", 8, false}, {"attention.kv_lora_rank", 16, false}, {"expert_count", 8, false}, \
        {"expert_used_count", 3, false}, {"expert_feed_forward_length", 12, false},                        \
        {"expert_shared_count", shared, false}, {"leading_dense_block_count", 1, false},                   \
    {                                                                                                      \
        "expert_weights_scale", scale, true                                                                \
    }

static const variant variants[] = {
    {"llama", "llama", .turned = true},
    {"gemma", "gemma", .gemma = 1, .keys = {{"attention.key_length", 16, false}}},
    {"gemma2", "gemma2", .gemma = 2,
     .keys = {{"attention.key_length", 16, false},
              {"attention.sliding_window", 8, false},
              {"attention.scale", 0.2041241452, true},
              {"attn_logit_softcapping", 8, true},
              {"final_logit_softcapping", 10, true}}},
    {"gemma3", "gemma3", .gemma = 3,
     .keys = {{"attention.key_length", 16, false},
              {"attention.sliding_window", 8, false},
              {"attention.sliding_window_pattern", 3, false},
              {"attention.scale", 0.2041241452, true},
              {"rope.freq_base", 1e6, true},
              {"rope.scaling.factor", 8, true}}},
    {"mixtral", "llama", .turned = true,
     .keys = {{"expert_count", 4, false}, {"expert_used_count", 2, false}, {"rope.freq_base", 1e6, true}}},
    {"olmoe", "olmoe", .keys = {{"expert_count", 8, false}, {"expert_used_count", 3, false}}},
    {"qwen3_moe", "qwen3moe",
     .keys = {{"attention.key_length", 16, false},
              {"expert_count", 8, false},
              {"expert_used_count", 2, false},
              {"expert_feed_forward_length", 24, false},
              {"rope.freq_base", 1e6, true}}},
    {"deepseek_v2", "deepseek2",
     .keys = {DEEPSEEK(2, 16),
              YARN(40, 32, 0.707),
              {"attention.q_lora_rank", 12, false},
              {"attention.key_length", 16, false},
              {"attention.value_length", 6, false},
              {"expert_group_count", 4, false},
              {"expert_group_used_count", 2, false}}},
    {"deepseek_v3", "deepseek2", .split = true,
     .keys = {DEEPSEEK(1, 2.5),
              YARN(40, 64, 1),
              {"attention.q_lora_rank", 12, false},
              {"attention.key_length_mla", 16, false},
              {"attention.value_length_mla", 6, false},
              {"expert_group_count", 4, false},
              {"expert_group_used_count", 2, false}}},
};

/* What llama.cpp calls a tensor. */
static void put_name(hd_text *to, const char *name, int gemma)
{
    static const char *const names[][2] = {{"input_layernorm", "attn_norm"},
                                           {"self_attn.q_proj", "attn_q"},
                                           {"self_attn.k_proj", "attn_k"},
                                           {"self_attn.v_proj", "attn_v"},
                                           {"self_attn.o_proj", "attn_output"},
                                           {"self_attn.q_norm", "attn_q_norm"},
                                           {"self_attn.k_norm", "attn_k_norm"},
                                           {"self_attn.q_a_proj", "attn_q_a"},
                                           {"self_attn.q_b_proj", "attn_q_b"},
                                           {"self_attn.q_a_layernorm", "attn_q_a_norm"},
                                           {"self_attn.kv_a_proj", "attn_kv_a_mqa"},
                                           {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
                                           {"self_attn.kv_b_proj", "attn_kv_b"},
                                           {"pre_feedforward_layernorm", "ffn_norm"},
                                           {"post_feedforward_layernorm", "post_ffw_norm"},
                                           {"mlp.gate_proj", "ffn_gate"},
                                           {"mlp.up_proj", "ffn_up"},
                                           {"mlp.down_proj", "ffn_down"},
                                           {"mlp.gate.weight", "ffn_gate_inp"},
                                           {"moe.gate.weight", "ffn_gate_inp"},
                                           {"shared_experts.gate_proj", "ffn_gate_shexp"},
                                           {"shared_experts.up_proj", "ffn_up_shexp"},
                                           {"shared_experts.down_proj", "ffn_down_shexp"}};
    int layer = 0;
    to->size = 0;
    if (!strncmp(name, "model.embed", 11)) hd_text_put(to, "token_embd.weight");
    if (!strcmp(name, "model.norm.weight")) hd_text_put(to, "output_norm.weight");
    if (!strcmp(name, "lm_head.weight")) hd_text_put(to, "output.weight");
    if (sscanf(name, "model.layers.%d.", &layer) != 1) return;
    if (strstr(name, "post_attention_layernorm"))
        hd_text_print(to, "blk.%d.%s.weight", layer, gemma > 1 ? "post_attention_norm" : "ffn_norm");
    if (strstr(name, "e_score")) hd_text_print(to, "blk.%d.exp_probs_b.bias", layer);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strstr(name, names[i][0])) hd_text_print(to, "blk.%d.%s.weight", layer, names[i][1]);
    assert_true(to->size > 0);
}

static void put_numbers(hd_text *to, const hd_tensor *t, const char *name, size_t head, const variant *v)
{
    const size_t rows = t->shape[0], columns = t->rank == 2 ? t->shape[1] : 1;
    const float *x = t->data;
    bool turned = v->turned && (strstr(name, "q_proj") || strstr(name, "k_proj")),
         gain = v->gemma && strstr(name, "norm.weight");
    for (size_t row = 0; row < rows; row++) {
        const size_t place = turned ? row % head : 0,
                     from = turned ? row - place + place / 2 + (place % 2) * (head / 2) : row;
        for (size_t c = 0; c < columns; c++)
            gguf_put(to, &(float){x[from * columns + c] + (gain ? 1.0f : 0.0f)}, sizeof *x);
    }
}

static void begin_tensor(hd_text *to, const char *name, size_t first, size_t rows, size_t columns,
                         hd_text *data)
{
    gguf_pad(data, 32);
    gguf_text(to, name);
    gguf_u32(to, first ? 3 : rows ? 2 : 1);
    gguf_u64(to, columns);
    if (rows) gguf_u64(to, rows);
    if (first) gguf_u64(to, first);
    gguf_u32(to, 0);
    gguf_u64(to, data->size);
}

/* Experts in one tensor, from their first one on, which is tensor i. */
static void put_experts_there(hd_text *to, const store *s, size_t i, size_t count, hd_text *data)
{
    static const char *const names[][2] = {{"w1", "gate"},        {"w3", "up"},      {"w2", "down"},
                                           {"gate_proj", "gate"}, {"up_proj", "up"}, {"down_proj", "down"}};
    const hd_tensor *t = s->named[i].tensor;
    char name[64];
    int layer = 0;
    sscanf(s->named[i].name, "model.layers.%d.", &layer);
    for (size_t k = 0; k < COUNT_OF(names); k++)
        if (strstr(s->named[i].name, names[k][0]))
            snprintf(name, sizeof name, "blk.%d.ffn_%s_exps.weight", layer, names[k][1]);
    begin_tensor(to, name, count, t->shape[0], t->shape[1], data);
    for (size_t e = 0; e < count; e++) /* three tensors of each */
        gguf_put(data, s->named[i + 3 * e].tensor->data, t->shape[0] * t->shape[1] * sizeof(float));
}

/* kv_b_proj as keys [heads, rank, plain] and values [heads, value, rank]. */
static void put_split(hd_text *to, const hd_tensor *t, const char *from, const struct shape *d, hd_text *data)
{
    const size_t rank = d->latent.rank, plain = d->latent.plain, value = d->latent.value;
    const float *x = t->data;
    char name[64];
    int layer = 0;
    sscanf(from, "model.layers.%d.", &layer);
    snprintf(name, sizeof name, "blk.%d.attn_k_b.weight", layer);
    begin_tensor(to, name, d->heads, rank, plain, data);
    for (size_t h = 0; h < d->heads; h++)
        for (size_t c = 0; c < rank; c++)
            for (size_t row = 0; row < plain; row++)
                gguf_put(data, &x[(h * (plain + value) + row) * rank + c], sizeof *x);
    snprintf(name, sizeof name, "blk.%d.attn_v_b.weight", layer);
    begin_tensor(to, name, d->heads, value, rank, data);
    for (size_t h = 0; h < d->heads; h++)
        gguf_put(data, &x[(h * (plain + value) + plain) * rank], value * rank * sizeof *x);
}

/* Returns how many there are. */
static size_t put_tensors(hd_text *to, const store *s, const struct shape *d, const variant *v)
{
    hd_text name = {0}, data = {0};
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const hd_tensor *t = s->named[i].tensor;
        const char *is = s->named[i].name;
        if (strstr(is, ".experts.")) {
            if (!strstr(is, ".experts.0.")) continue;
            put_experts_there(to, s, i, d->experts, &data), count++;
        } else if (v->split && strstr(is, "kv_b_proj")) {
            put_split(to, t, is, d, &data), count += 2;
        } else {
            put_name(&name, is, v->gemma), count++;
            begin_tensor(to, name.data, 0, t->rank == 2 ? t->shape[0] : 0, t->shape[t->rank - 1], &data);
            put_numbers(&data, t, is, d->head, v);
        }
    }
    gguf_pad(to, 32);
    gguf_put(to, data.data, data.size);
    hd_text_release(&name), hd_text_release(&data);
    return count;
}

static void put_list(hd_text *to, const char *key, uint32_t type, size_t count)
{
    gguf_key(to, key, HD_GGUF_LIST);
    gguf_u32(to, type);
    gguf_u64(to, count);
}

/* The pieces and merges of tokenizer.json. */
static void put_tokenizer(hd_text *to)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    if (hd_tokenizer_open_any(&t, DECODER_TOKENIZER, false, &err)) fail_msg("%s", err.text);
    json_t *root = json_load_file(DECODER_TOKENIZER, 0, NULL);
    const json_t *merges = json_object_get(json_object_get(root, "model"), "merges");
    const size_t size = hd_tokenizer_size(t);
    gguf_key_text(to, "tokenizer.ggml.model", "gpt2");
    gguf_key_text(to, "tokenizer.ggml.pre", "llama-bpe");
    put_list(to, "tokenizer.ggml.tokens", HD_GGUF_TEXT, size);
    for (size_t i = 0; i < size; i++) gguf_text(to, hd_tokenizer_piece(t, (int32_t)i));
    put_list(to, "tokenizer.ggml.token_type", HD_GGUF_I32, size);
    for (size_t i = 0; i < size; i++) gguf_u32(to, i < 500 ? 1 : i < 502 ? 3 : 4);
    put_list(to, "tokenizer.ggml.merges", HD_GGUF_TEXT, json_array_size(merges));
    for (size_t i = 0; i < json_array_size(merges); i++) {
        char both[256];
        const json_t *m = json_array_get(merges, i);
        snprintf(both, sizeof both, "%s %s", json_string_value(json_array_get(m, 0)),
                 json_string_value(json_array_get(m, 1)));
        gguf_text(to, both);
    }
    gguf_key_u32(to, "tokenizer.ggml.bos_token_id", 500);
    gguf_key_u32(to, "tokenizer.ggml.eos_token_id", 501);
    gguf_key(to, "tokenizer.ggml.add_bos_token", HD_GGUF_BOOL);
    gguf_put(to, "\1", 1);
    gguf_key_text(to, "tokenizer.chat_template", TEMPLATE);
    json_decref(root);
    hd_tokenizer_free(t);
}

/* A vocabulary of SentencePiece: bytes, and a few pieces with scores in place of merges. */
static void put_scored(hd_text *to)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"}, *const last[] = {"\xe2\x96\x81",
                                                                                  "a",
                                                                                  "b",
                                                                                  "ab",
                                                                                  "\xe2\x96\x81"
                                                                                  "a",
                                                                                  "\xe2\x96\x81"
                                                                                  "ab"};
    static const float score[] = {-6, -4, -5, -1, -2, -3}; /* "ab" before " a" */
    const size_t count = COUNT_OF(first) + 256 + COUNT_OF(last);
    gguf_key_text(to, "tokenizer.ggml.model", "llama");
    put_list(to, "tokenizer.ggml.tokens", HD_GGUF_TEXT, count);
    for (size_t i = 0; i < COUNT_OF(first); i++) gguf_text(to, first[i]);
    for (unsigned i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        gguf_text(to, name);
    }
    for (size_t i = 0; i < COUNT_OF(last); i++) gguf_text(to, last[i]);
    put_list(to, "tokenizer.ggml.token_type", HD_GGUF_I32, count);
    for (size_t i = 0; i < count; i++) gguf_u32(to, i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1);
    put_list(to, "tokenizer.ggml.scores", HD_GGUF_F32, count);
    for (size_t i = 0; i < count; i++) {
        const float x = i < 259 ? 0 : score[i - 259];
        gguf_put(to, &x, sizeof x);
    }
    gguf_key_u32(to, "tokenizer.ggml.unknown_token_id", 0);
    gguf_key_u32(to, "tokenizer.ggml.bos_token_id", 1);
    gguf_key_u32(to, "tokenizer.ggml.eos_token_id", 2);
}

static void put_key(hd_text *to, const char *arch, const char *key, double value, bool is_real)
{
    char name[80];
    snprintf(name, sizeof name, "%s.%s", arch, key);
    if (is_real)
        gguf_key_f32(to, name, (float)value);
    else
        gguf_key_u32(to, name, (uint32_t)value);
}

/* Metadata that all have; returns how many. */
static size_t put_sizes(hd_text *to, const struct shape *d, const variant *v, const char *arch)
{
    const struct {
        const char *key;
        size_t value;
    } sizes[] = {{"block_count", d->layers},
                 {"context_length", 4096},
                 {"embedding_length", WIDTH},
                 {"feed_forward_length", d->experts && !d->dense ? d->inner : INNER},
                 {"attention.head_count", d->heads},
                 {"attention.head_count_kv", d->latent.rank ? 1 : d->kv_heads}};
    size_t count = 2 + COUNT_OF(sizes);
    gguf_key_text(to, "general.architecture", arch);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        put_key(to, arch, sizes[i].key, (double)sizes[i].value, false);
    put_key(to, arch, "attention.layer_norm_rms_epsilon", 1e-5, true);
    for (size_t i = 0; i < COUNT_OF(v->keys) && v->keys[i].key; i++, count++) {
        put_key(to, arch, v->keys[i].key, v->keys[i].value, v->keys[i].is_real);
        if (strcmp(v->keys[i].key, "rope.scaling.factor")) continue;
        char name[64];
        snprintf(name, sizeof name, "%s.rope.scaling.type", arch);
        gguf_key_text(to, name, d->latent.rank ? "yarn" : "linear"), count++;
    }
    if (!d->bias_of_choice) return count;
    put_key(to, arch, "expert_gating_func", 2, false);
    gguf_key(to, "deepseek2.expert_weights_norm", HD_GGUF_BOOL);
    gguf_put(to, "\1", 1);
    return count + 2;
}

static const struct shape *shape_of(const variant *v)
{
    size_t i = 0;
    while (strcmp(shapes[i].name, v->shape)) i++;
    return &shapes[i];
}

/* `arch` stands for what a test breaks. */
static hd_text file_of(const variant *v, const char *arch, bool scores)
{
    const struct shape *d = shape_of(v);
    hd_text to = {0}, keys = {0}, tensors = {0};
    store s = {0};
    put_weights(&s, d);
    size_t pairs = put_sizes(&keys, d, v, arch) + (scores ? 7 : 9);
    if (scores)
        put_scored(&keys);
    else
        put_tokenizer(&keys);
    const size_t count = put_tensors(&tensors, &s, d, v);
    gguf_begin(&to, count, pairs);
    gguf_put(&to, keys.data, keys.size);
    put_tensors(&to, &s, d, v);
    store_release(&s), hd_text_release(&keys), hd_text_release(&tensors);
    return to;
}

static hd_text llama_file(const char *arch, bool scores)
{
    return file_of(&variants[0], arch, scores);
}

/* -- tests -- */

static void a_file_gives_the_logits_of_its_folder(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *here = NULL, *there = NULL;
    uint64_t hash[2] = {0, 1};
    hd_text file = llama_file("llama", false);
    put_bytes(at("llama.gguf"), file.data, file.size);
    hd_text_release(&file);
    pass_well(hd_import, "llama.gguf", "model");
    assert_false(is_there(at("model.unpacked")));
    check_decoder("model", "llama");
    if (hd_tokenizer_open_any(&here, at("model"), false, &err)) fail_msg("%s", err.text);
    if (hd_tokenizer_open_any(&there, DECODER_TOKENIZER, false, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_tokenizer_hash(here, &hash[0], &err), HD_OK);
    assert_int_equal(hd_tokenizer_hash(there, &hash[1], &err), HD_OK);
    assert_true(hash[0] == hash[1]);
    assert_int_equal(hd_tokenizer_lead(here), 500);
    assert_int_equal(hd_tokenizer_special(here).end, 501);
    char *config = get_file(at("model/tokenizer_config.json"), &(size_t){0});
    assert_non_null(strstr(config, "for m in messages"));
    free(config);
    hd_tokenizer_free(here), hd_tokenizer_free(there);
}

static void every_family_gives_its_logits(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT_OF(variants); i++) {
        char from[64], to[64];
        print_message("%s\n", variants[i].shape);
        snprintf(from, sizeof from, "%s.gguf", variants[i].shape);
        snprintf(to, sizeof to, "%s.heed", variants[i].shape);
        hd_text file = file_of(&variants[i], variants[i].arch, false);
        put_bytes(at("%s", from), file.data, file.size);
        hd_text_release(&file);
        pass_well(hd_import, from, to);
        check_decoder(to, variants[i].shape);
    }
}

/* What has no piece becomes bytes; texts begin with <s>. */
static void scores_become_merges(void **state)
{
    (void)state;
    static const int32_t want[] = {1, 264, 259, 3 + 0xc3, 3 + 0xa9};
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    hd_pieces p = {0};
    hd_text file = llama_file("llama", true);
    put_bytes(at("scores.gguf"), file.data, file.size);
    hd_text_release(&file);
    pass_well(hd_import, "scores.gguf", "scores");
    if (hd_tokenizer_open_any(&t, at("scores"), false, &err)) fail_msg("%s", err.text);
    if (hd_tokenizer_encode_framed(t, (hd_line){"ab \xc3\xa9", 5}, NULL, &p, &err)) fail_msg("%s", err.text);
    assert_int_equal(p.count, COUNT_OF(want));
    for (size_t i = 0; i < p.count; i++) assert_int_equal(p.at[i].id, want[i]);
    hd_pieces_release(&p);
    hd_tokenizer_free(t);
}

static void broken_files_leave_nothing(void **state)
{
    (void)state;
    hd_text file = llama_file("rwkv", false);
    hd_err err = {0};
    put_bytes(at("odd.gguf"), file.data, file.size);
    assert_int_equal(pass(hd_import, "odd.gguf", "odd", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "\"general.architecture\" is \"rwkv\""));
    hd_text_release(&file);
    file = llama_file("llama", false);
    for (size_t size = 8; size < file.size; size += file.size / 13) {
        put_bytes(at("cut.gguf"), file.data, size);
        assert_int_equal(pass(hd_import, "cut.gguf", "cut", &err), HD_EFORMAT);
        assert_false(is_there(at("cut")));
        assert_false(is_there(at("cut.unpacked")));
    }
    hd_text_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gives_the_logits_of_its_folder),
        cmocka_unit_test(every_family_gives_its_logits),
        cmocka_unit_test(scores_become_merges),
        cmocka_unit_test(broken_files_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
