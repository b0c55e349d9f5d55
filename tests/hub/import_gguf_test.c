/* GGUF files become models: the same numbers as from the folder of the model, the tokenizer and the chat
   template in the file. */
#include "check.h"
#include "scratch.h"

#include "hub/decoders.h"
#include "tensor/gguf_file.h"
#include "text/tokenizer_find.h"

static const char TEMPLATE[] = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";

/* -- files -- */

/* What llama.cpp calls a tensor; rows of queries and keys are in the order of pairs. */
static void put_name(hd_text *to, const char *name)
{
    static const char *const names[][2] = {
        {"input_layernorm", "attn_norm"},    {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},      {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"}, {"post_attention_layernorm", "ffn_norm"},
        {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"}};
    int layer = 0;
    to->size = 0;
    if (!strncmp(name, "model.embed", 11)) hd_text_put(to, "token_embd.weight");
    if (!strcmp(name, "model.norm.weight")) hd_text_put(to, "output_norm.weight");
    if (!strcmp(name, "lm_head.weight")) hd_text_put(to, "output.weight");
    if (sscanf(name, "model.layers.%d.", &layer) == 1)
        for (size_t i = 0; i < COUNT_OF(names); i++)
            if (strstr(name, names[i][0])) hd_text_print(to, "blk.%d.%s.weight", layer, names[i][1]);
    assert_true(to->size > 0);
}

static void put_numbers(hd_text *to, const hd_tensor *t, const char *name, size_t head)
{
    const size_t rows = t->shape[0], columns = t->rank == 2 ? t->shape[1] : 1;
    const float *x = t->data;
    bool turned = strstr(name, "q_proj") || strstr(name, "k_proj");
    for (size_t row = 0; row < rows; row++) {
        const size_t place = row % head,
                     from = turned ? row - place + place / 2 + (place % 2) * (head / 2) : row;
        gguf_put(to, x + from * columns, columns * sizeof *x);
    }
    gguf_pad(to, 32);
}

static void put_tensors(hd_text *to, const store *s, size_t head)
{
    hd_text name = {0}, data = {0};
    for (size_t i = 0; i < s->count; i++) {
        const hd_tensor *t = s->named[i].tensor;
        put_name(&name, s->named[i].name);
        gguf_tensor(to, name.data, t->rank == 2 ? t->shape[0] : 0, t->shape[t->rank - 1], 0, data.size);
        put_numbers(&data, t, s->named[i].name, head);
    }
    gguf_pad(to, 32);
    gguf_put(to, data.data, data.size);
    hd_text_release(&name), hd_text_release(&data);
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

/* Of "llama" among the decoders; `arch` stands for what a test breaks. */
static hd_text llama_file(const char *arch, bool scores)
{
    const struct shape *d = &shapes[0];
    hd_text to = {0};
    store s = {0};
    put_weights(&s, d);
    gguf_begin(&to, s.count, scores ? 15 : 17);
    gguf_key_text(&to, "general.architecture", arch);
    gguf_key_u32(&to, "llama.block_count", (uint32_t)d->layers);
    gguf_key_u32(&to, "llama.context_length", 4096);
    gguf_key_u32(&to, "llama.embedding_length", WIDTH);
    gguf_key_u32(&to, "llama.feed_forward_length", INNER);
    gguf_key_u32(&to, "llama.attention.head_count", (uint32_t)d->heads);
    gguf_key_u32(&to, "llama.attention.head_count_kv", (uint32_t)d->kv_heads);
    gguf_key_f32(&to, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    if (scores)
        put_scored(&to);
    else
        put_tokenizer(&to);
    put_tensors(&to, &s, d->head);
    store_release(&s);
    return to;
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
        cmocka_unit_test(scores_become_merges),
        cmocka_unit_test(broken_files_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
