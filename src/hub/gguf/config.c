/* Metadata of a GGUF file as config.json. Easy to get wrong: a scaling of rotary positions as Llama 3.1 has
   it is not among the keys, but a tensor of divisors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hub/gguf/unpack.h"

enum { MOST = 1 << 30, FLAGS = JSON_INDENT(2) | JSON_REAL_PRECISION(9) };

static const hd_gguf_arch archs[] = {
    {"llama", "llama", "LlamaForCausalLM", true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", false},
    {"qwen3", "qwen3", "Qwen3ForCausalLM", false},
};

typedef struct writer {
    const hd_gguf_model *m;
    json_t *to;
    hd_err *err;
    hd_status status;
} writer;

static const hd_gguf_value *find(const hd_gguf_model *m, const char *key)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", m->arch->name, key);
    return hd_gguf_find(m->file, name);
}

/* A size; 0: it is not there, which only `optional` ones may do. */
static size_t whole(writer *w, const char *key, bool optional)
{
    const hd_gguf_value *v = find(w->m, key);
    int64_t n = 0;
    if (!v && optional) return 0;
    if (!hd_gguf_whole(v, &n) || n < 1 || n > MOST) {
        if (!w->status)
            w->status = hd_err_set(w->err, HD_EFORMAT, "%s: \"%s.%s\" is not a whole number from 1 to %d",
                                   hd_gguf_file(w->m->file), w->m->arch->name, key, MOST);
        return 1;
    }
    return (size_t)n;
}

static double real(const writer *w, const char *key, double otherwise)
{
    double x = otherwise;
    return hd_gguf_real(find(w->m, key), &x) ? x : otherwise;
}

static void put_whole(writer *w, const char *key, size_t n)
{
    hd_json_set(w->to, key, json_integer((json_int_t)n));
}

/* -- scaling of positions -- */

/* The divisor that Llama 3.1 has for a frequency. */
static double llama3_divisor(double theta, size_t k, size_t columns, double factor)
{
    static const double low = 1, high = 4, original = 8192, tau = 6.283185307179586;
    const double length = tau * pow(theta, 2.0 * (double)k / (double)columns);
    if (length < original / high) return 1;
    if (length > original / low) return factor;
    const double smooth = (original / length - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
}

static void put_divisors(writer *w, const hd_gguf_tensor *t, double theta, size_t columns)
{
    float x[512];
    bool same = t->count == columns / 2 && t->count <= sizeof x / sizeof *x;
    if (same) hd_gguf_widen(t, x);
    const double factor = same ? round((double)x[t->count - 1]) : 0;
    for (size_t k = 0; same && k < t->count; k++) {
        const double want = llama3_divisor(theta, k, columns, factor);
        same = fabs((double)x[k] - want) <= 1e-3 * want;
    }
    if (!same && !w->status)
        w->status =
            hd_err_set(w->err, HD_EFORMAT,
                       "%s: rope_freqs.weight: another scaling of positions than Llama 3.1's is not known",
                       hd_gguf_file(w->m->file));
    hd_json_set(w->to, "rope_scaling",
                json_pack("{s:s,s:f,s:f,s:f,s:i}", "rope_type", "llama3", "factor", factor, "low_freq_factor",
                          1.0, "high_freq_factor", 4.0, "original_max_position_embeddings", 8192));
}

static void put_rotary(writer *w)
{
    const double theta = real(w, "rope.freq_base", 10000), factor = real(w, "rope.scaling.factor", 1);
    const hd_gguf_tensor *divisors = hd_gguf_tensor_of(w->m->file, "rope_freqs.weight");
    const hd_gguf_value *kind = find(w->m, "rope.scaling.type");
    hd_line text = {"none", 4};
    char name[16];
    hd_json_set(w->to, "rope_theta", hd_json_real(theta));
    if (kind) hd_gguf_text(kind, &text);
    snprintf(name, sizeof name, "%.*s", text.size > 15 ? 15 : (int)text.size, text.text);
    if (divisors)
        put_divisors(w, divisors, theta, w->m->head_width);
    else if (!strcmp(name, "linear") || !strcmp(name, "yarn")) {
        json_t *scaling = json_pack("{s:s,s:o}", "rope_type", name, "factor", hd_json_real(factor));
        const size_t original = whole(w, "rope.scaling.original_context_length", true);
        if (original)
            hd_json_set(scaling, "original_max_position_embeddings", json_integer((json_int_t)original));
        hd_json_set(w->to, "rope_scaling", scaling);
    } else if (strcmp(name, "none") && !w->status)
        w->status = hd_err_set(w->err, HD_EFORMAT, "%s: the scaling \"%s\" of positions is not known",
                               hd_gguf_file(w->m->file), name);
}

/* -- sizes -- */

static void put_sizes(writer *w, hd_gguf_model *m)
{
    const hd_gguf_tensor *table = hd_gguf_tensor_of(m->file, "token_embd.weight");
    const size_t width = whole(w, "embedding_length", false), head = whole(w, "attention.key_length", true),
                 kv = whole(w, "attention.head_count_kv", true);
    m->heads = whole(w, "attention.head_count", false);
    m->kv_heads = kv ? kv : m->heads;
    m->head_width = head ? head : width / m->heads;
    m->tied = !hd_gguf_tensor_of(m->file, "output.weight");
    if (table && table->rank == 2)
        m->vocab = table->shape[0];
    else if (!w->status)
        w->status = hd_err_set(w->err, HD_EFORMAT, "%s: no tensor 'token_embd.weight' of two dimensions",
                               hd_gguf_file(m->file));
    if (whole(w, "expert_count", true) && !w->status)
        w->status = hd_err_set(w->err, HD_EFORMAT,
                               "%s: a model with experts is not read from GGUF: import its folder",
                               hd_gguf_file(m->file));
    put_whole(w, "hidden_size", width);
    put_whole(w, "intermediate_size", whole(w, "feed_forward_length", false));
    put_whole(w, "num_hidden_layers", whole(w, "block_count", false));
    put_whole(w, "num_attention_heads", m->heads);
    put_whole(w, "num_key_value_heads", m->kv_heads);
    put_whole(w, "head_dim", m->head_width);
    put_whole(w, "max_position_embeddings", whole(w, "context_length", false));
    put_whole(w, "vocab_size", m->vocab);
}

int64_t hd_gguf_token(const hd_gguf *g, const char *key)
{
    char name[64];
    int64_t id = -1;
    snprintf(name, sizeof name, "tokenizer.ggml.%s", key);
    return hd_gguf_whole(hd_gguf_find(g, name), &id) && id >= 0 && id < MOST ? id : -1;
}

static void put_tokens(json_t *to, const hd_gguf *g)
{
    static const char *const keys[] = {"bos_token_id", "eos_token_id"};
    for (int i = 0; i < 2; i++) {
        const int64_t id = hd_gguf_token(g, keys[i]);
        if (id >= 0) hd_json_set(to, keys[i], json_integer(id));
    }
}

/* Where texts end: "eos", and in files of chat models the end of a turn beside it. */
static hd_status put_generation(const hd_gguf_model *m, hd_err *err)
{
    const int64_t end = hd_gguf_token(m->file, "eos_token_id"), turn = hd_gguf_token(m->file, "eot_token_id");
    hd_json_begin();
    json_t *root = json_object();
    put_tokens(root, m->file);
    if (turn >= 0 && turn != end && end >= 0)
        hd_json_set(root, "eos_token_id", json_pack("[I,I]", (json_int_t)end, (json_int_t)turn));
    return hd_json_save(root, FLAGS, m->folder, "generation_config.json", err);
}

static hd_status find_arch(hd_gguf_model *m, hd_err *err)
{
    hd_line text = {"", 0};
    hd_gguf_text(hd_gguf_find(m->file, "general.architecture"), &text);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (text.size == strlen(archs[i].name) && !memcmp(text.text, archs[i].name, text.size))
            m->arch = &archs[i];
    return m->arch ? HD_OK
                   : hd_err_set(
                         err, HD_EFORMAT,
                         "%s: \"general.architecture\" is \"%.*s\"; heed reads llama, qwen2 and qwen3 from "
                         "GGUF: import the folder of the model",
                         hd_gguf_file(m->file), text.size > 40 ? 40 : (int)text.size, text.text);
}

hd_status hd_gguf_put_config(hd_gguf_model *m, hd_err *err)
{
    hd_status s = find_arch(m, err);
    if (s) return s;
    hd_json_begin();
    writer w = {.m = m, .to = json_object(), .err = err};
    hd_json_set(w.to, "model_type", json_string(m->arch->type));
    hd_json_set(w.to, "architectures", json_pack("[s]", m->arch->class));
    put_sizes(&w, m);
    put_rotary(&w);
    put_tokens(w.to, m->file);
    hd_json_set(w.to, "rms_norm_eps", hd_json_real(real(&w, "attention.layer_norm_rms_epsilon", 1e-5)));
    hd_json_set(w.to, "hidden_act", json_string("silu"));
    hd_json_set(w.to, "tie_word_embeddings", json_boolean(m->tied));
    if (w.status) return json_decref(w.to), w.status;
    s = hd_json_save(w.to, FLAGS, m->folder, "config.json", err);
    return s ? s : put_generation(m, err);
}
