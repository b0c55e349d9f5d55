/* Metadata of a GGUF file as config.json. Easy to get wrong: a scaling of rotary positions as Llama 3.1 has
   it is not among the keys, but a tensor of divisors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hub/gguf/unpack.h"

enum { MOST = 1 << 30, FLAGS = JSON_INDENT(2) | JSON_REAL_PRECISION(9) };

static const hd_gguf_arch archs[] = {
    {"llama", "llama", "LlamaForCausalLM", .turned = true},
    {"llama", "mixtral", "MixtralForCausalLM", .turned = true, .experts = true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", .turned = false},
    {"qwen3", "qwen3", "Qwen3ForCausalLM", .turned = false},
    {"qwen3moe", "qwen3_moe", "Qwen3MoeForCausalLM", .experts = true},
    {"olmoe", "olmoe", "OlmoeForCausalLM", .experts = true, .raw_weights = true},
    {"gemma", "gemma", "GemmaForCausalLM", .gemma = 1},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", .gemma = 2},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", .gemma = 3},
    {"deepseek2", "deepseek_v2", "DeepseekV2ForCausalLM", .experts = true, .latent = true},
    {"deepseek2", "deepseek_v3", "DeepseekV3ForCausalLM", .experts = true, .latent = true},
};

enum { SIGMOID = 2 }; /* of "expert_gating_func" */

static const hd_gguf_value *find(const hd_gguf_model *m, const char *key)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", m->arch->name, key);
    return hd_gguf_find(m->file, name);
}

size_t hd_gguf_size(hd_gguf_writer *w, const char *key, bool optional)
{
    const hd_gguf_value *v = find(w->m, key);
    int64_t n = 0;
    if (!v && optional) return 0;
    if (!hd_gguf_whole(v, &n) || n < !optional || n > MOST) {
        if (!w->status)
            w->status = hd_err_set(w->err, HD_EFORMAT, "%s: \"%s.%s\" is not a whole number from 1 to %d",
                                   hd_gguf_file(w->m->file), w->m->arch->name, key, MOST);
        return 1;
    }
    return (size_t)n;
}

double hd_gguf_number(const hd_gguf_writer *w, const char *key, double otherwise)
{
    double x = otherwise;
    return hd_gguf_real(find(w->m, key), &x) ? x : otherwise;
}

void hd_gguf_put_size(hd_gguf_writer *w, const char *key, size_t n)
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

static void put_divisors(hd_gguf_writer *w, const hd_gguf_tensor *t, double theta, size_t columns)
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

static void put_rotary(hd_gguf_writer *w)
{
    const double theta = hd_gguf_number(w, "rope.freq_base", 10000),
                 factor = hd_gguf_number(w, "rope.scaling.factor", 1);
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
        const size_t original = hd_gguf_size(w, "rope.scaling.original_context_length", true);
        const double multiplier = hd_gguf_number(w, "rope.scaling.yarn_log_multiplier", 0);
        if (multiplier > 0) /* 0.1 mscale, which is that of all columns */
            hd_json_set(scaling, "mscale", hd_json_real(10 * multiplier)),
                hd_json_set(scaling, "mscale_all_dim", hd_json_real(10 * multiplier));
        if (original)
            hd_json_set(scaling, "original_max_position_embeddings", json_integer((json_int_t)original));
        hd_json_set(w->to, "rope_scaling", scaling);
    } else if (strcmp(name, "none") && !w->status)
        w->status = hd_err_set(w->err, HD_EFORMAT, "%s: the scaling \"%s\" of positions is not known",
                               hd_gguf_file(w->m->file), name);
}

/* -- sizes -- */

static void put_sizes(hd_gguf_writer *w, hd_gguf_model *m)
{
    const hd_gguf_tensor *table = hd_gguf_tensor_of(m->file, "token_embd.weight");
    const size_t width = hd_gguf_size(w, "embedding_length", false),
                 head = hd_gguf_size(w, "attention.key_length", true),
                 kv = hd_gguf_size(w, "attention.head_count_kv", true);
    m->heads = hd_gguf_size(w, "attention.head_count", false);
    m->kv_heads = kv ? kv : m->heads;
    m->head_width = head ? head : width / m->heads;
    m->tied = !hd_gguf_tensor_of(m->file, "output.weight");
    if (table && table->rank == 2)
        m->vocab = table->shape[0];
    else if (!w->status)
        w->status = hd_err_set(w->err, HD_EFORMAT, "%s: no tensor 'token_embd.weight' of two dimensions",
                               hd_gguf_file(m->file));
    hd_gguf_put_size(w, "hidden_size", width);
    hd_gguf_put_size(w, "intermediate_size", hd_gguf_size(w, "feed_forward_length", false));
    hd_gguf_put_size(w, "num_hidden_layers", hd_gguf_size(w, "block_count", false));
    hd_gguf_put_size(w, "num_attention_heads", m->heads);
    hd_gguf_put_size(w, "num_key_value_heads", m->kv_heads);
    hd_gguf_put_size(w, "head_dim", m->head_width);
    hd_gguf_put_size(w, "max_position_embeddings", hd_gguf_size(w, "context_length", false));
    hd_gguf_put_size(w, "vocab_size", m->vocab);
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

/* Of an architecture with two rows the metadata say which it is. */
static bool is_arch(const hd_gguf_model *m, const hd_gguf_arch *a, hd_line name)
{
    char key[64];
    int64_t experts = 0, gating = 0;
    if (name.size != strlen(a->name) || memcmp(name.text, a->name, name.size)) return false;
    snprintf(key, sizeof key, "%s.expert_count", a->name);
    hd_gguf_whole(hd_gguf_find(m->file, key), &experts);
    snprintf(key, sizeof key, "%s.expert_gating_func", a->name);
    hd_gguf_whole(hd_gguf_find(m->file, key), &gating);
    return a->experts == (experts > 0) &&
           (!a->latent || (gating == SIGMOID) == !strcmp(a->type, "deepseek_v3"));
}

static hd_status find_arch(hd_gguf_model *m, hd_err *err)
{
    hd_line text = {"", 0};
    hd_text known = {0};
    hd_gguf_text(hd_gguf_find(m->file, "general.architecture"), &text);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (is_arch(m, &archs[i], text)) m->arch = &archs[i];
        if (!i || strcmp(archs[i].name, archs[i - 1].name))
            hd_text_print(&known, i ? ", %s" : "%s", archs[i].name);
    }
    hd_status s = HD_OK;
    if (!m->arch)
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: \"general.architecture\" is \"%.*s\"; heed reads %s from GGUF: import the folder "
                       "of the model",
                       hd_gguf_file(m->file), text.size > 40 ? 40 : (int)text.size, text.text,
                       known.data ? known.data : "others");
    hd_text_release(&known);
    return s;
}

hd_status hd_gguf_put_config(hd_gguf_model *m, hd_err *err)
{
    hd_status s = find_arch(m, err);
    if (s) return s;
    hd_json_begin();
    hd_gguf_writer w = {.m = m, .to = json_object(), .err = err};
    hd_json_set(w.to, "model_type", json_string(m->arch->type));
    hd_json_set(w.to, "architectures", json_pack("[s]", m->arch->class));
    put_sizes(&w, m);
    put_rotary(&w);
    put_tokens(w.to, m->file);
    hd_json_set(w.to, "rms_norm_eps",
                hd_json_real(hd_gguf_number(&w, "attention.layer_norm_rms_epsilon", 1e-5)));
    hd_json_set(w.to, "hidden_act", json_string("silu"));
    hd_json_set(w.to, "tie_word_embeddings", json_boolean(m->tied));
    hd_gguf_put_gemma(&w);
    hd_gguf_put_experts(&w);
    hd_gguf_put_latent(&w, m);
    if (w.status) return json_decref(w.to), w.status;
    s = hd_json_save(w.to, FLAGS, m->folder, "config.json", err);
    return s ? s : put_generation(m, err);
}
