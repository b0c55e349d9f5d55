/* Tensors of a GGUF file under the names of transformers, one at a time, in floats. Easy to get wrong:
   experts lie in one tensor of three dimensions, and newer files of DeepSeek have the product that gives keys
   and values as two, one of them transposed. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hub/gguf/unpack.h"

enum { NAME = 128, MOST_EXPERTS = 4096 };

typedef enum kind {
    PLAIN,
    QUERY,   /* rows of heads may be turned */
    KEY,     /* the same */
    EXPERTS, /* a tensor for each */
    BIAS,    /* has no "weight" in its name */
    KEYS_B,  /* of latent attention, with VALUES_B in one tensor */
    VALUES_B
} kind;

/* What follows "blk.N." and "model.layers.N."; of experts what follows their number. */
static const struct {
    const char *there, *here;
    kind kind;
} parts[] = {
    {"attn_norm", "input_layernorm", PLAIN},
    {"attn_q", "self_attn.q_proj", QUERY},
    {"attn_k", "self_attn.k_proj", KEY},
    {"attn_v", "self_attn.v_proj", PLAIN},
    {"attn_output", "self_attn.o_proj", PLAIN},
    {"attn_q_norm", "self_attn.q_norm", PLAIN},
    {"attn_k_norm", "self_attn.k_norm", PLAIN},
    {"attn_q_a", "self_attn.q_a_proj", PLAIN},
    {"attn_q_a_norm", "self_attn.q_a_layernorm", PLAIN},
    {"attn_q_b", "self_attn.q_b_proj", PLAIN},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa", PLAIN},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm", PLAIN},
    {"attn_kv_b", "self_attn.kv_b_proj", PLAIN},
    {"attn_k_b", "self_attn.kv_b_proj", KEYS_B},
    {"attn_v_b", "self_attn.kv_b_proj", VALUES_B},
    {"post_attention_norm", "post_attention_layernorm", PLAIN},
    {"ffn_norm", "post_attention_layernorm", PLAIN},
    {"post_ffw_norm", "post_feedforward_layernorm", PLAIN},
    {"ffn_gate", "mlp.gate_proj", PLAIN},
    {"ffn_up", "mlp.up_proj", PLAIN},
    {"ffn_down", "mlp.down_proj", PLAIN},
    {"ffn_gate_inp", "mlp.gate", PLAIN},
    {"exp_probs_b", "mlp.gate.e_score_correction_bias", BIAS},
    {"ffn_gate_exps", "gate_proj", EXPERTS},
    {"ffn_up_exps", "up_proj", EXPERTS},
    {"ffn_down_exps", "down_proj", EXPERTS},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj", PLAIN},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj", PLAIN},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj", PLAIN},
};

static const struct {
    const char *there, *here;
} others[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};

typedef struct source {
    hd_gguf_tensor from;          /* of an expert: its part */
    const hd_gguf_tensor *values; /* of KEYS_B */
    char name[NAME];
    size_t heads;   /* whose rows are to be put in order; 0: they are */
    bool from_zero; /* gains are 1 more than they shall be */
    hd_tensor shape;
} source;

typedef struct hd_gguf_sources {
    const hd_gguf_model *m; /* while they are looked for */
    source *at;
    size_t count, room;
    hd_err *err; /* the same */
} sources;

static hd_status refuse(const sources *all, const hd_gguf_tensor *t, const char *what)
{
    return hd_err_set(all->err, HD_EFORMAT, "%s: tensor '%.120s' %s", hd_gguf_file(all->m->file), t->name,
                      what);
}

static hd_status add(sources *all, const hd_gguf_tensor *from, source **out)
{
    hd_status s = hd_mem_reserve(&all->at, &all->room, all->count + 1, sizeof *all->at, all->err);
    if (s) return s;
    *out = &all->at[all->count++];
    **out = (source){.from = *from, .shape = hd_shaped(NULL, HD_F32, from->rank, from->shape)};
    return HD_OK;
}

/* -- what tensors are called -- */

static bool is_norm(const char *name)
{
    static const char ending[] = "norm.weight";
    const size_t size = strlen(name), end = sizeof ending - 1;
    return size >= end && !strcmp(name + size - end, ending);
}

static hd_status add_other(sources *all, const hd_gguf_tensor *t, const char *name)
{
    source *s = NULL;
    hd_status st = add(all, t, &s);
    if (st) return st;
    snprintf(s->name, NAME, "%s", name);
    s->from_zero = all->m->arch->gemma && is_norm(name);
    return HD_OK;
}

static hd_status add_experts(sources *all, const hd_gguf_tensor *t, int layer, const char *here)
{
    const size_t count = t->shape[0], each = count ? t->count / count : 0;
    hd_status st = HD_OK;
    if (t->rank != 3 || !each || count > MOST_EXPERTS || each % t->type->numbers)
        return refuse(all, t, "is not of so many experts, rows and columns");
    for (size_t e = 0; !st && e < count; e++) {
        source *s = NULL;
        hd_gguf_tensor one = *t;
        one.rank = 2, one.shape[0] = t->shape[1], one.shape[1] = t->shape[2], one.count = each;
        one.data = t->data + e * (each / t->type->numbers * t->type->bytes);
        st = add(all, &one, &s);
        if (!st) snprintf(s->name, NAME, "model.layers.%d.mlp.experts.%zu.%s.weight", layer, e, here);
    }
    return st;
}

/* Keys [heads, rank, plain] and values [heads, value, rank] as rows of both, head by head. */
static hd_status add_keys(sources *all, const hd_gguf_tensor *t, int layer, const char *here)
{
    const hd_gguf_model *m = all->m;
    char name[NAME];
    source *s = NULL;
    snprintf(name, sizeof name, "blk.%d.attn_v_b.weight", layer);
    const hd_gguf_tensor *v = hd_gguf_tensor_of(m->file, name);
    if (!v || t->rank != 3 || v->rank != 3 || t->shape[0] != m->heads || v->shape[0] != m->heads ||
        t->shape[2] != m->plain || v->shape[1] != m->value || t->shape[1] != v->shape[2])
        return refuse(all, t, "does not fit 'attn_v_b.weight' and the sizes of heads");
    hd_status st = add(all, t, &s);
    if (st) return st;
    const size_t shape[2] = {m->heads * (m->plain + m->value), t->shape[1]};
    s->values = v, s->shape = hd_shaped(NULL, HD_F32, 2, shape);
    snprintf(s->name, NAME, "model.layers.%d.%s.weight", layer, here);
    return HD_OK;
}

static hd_status add_plain(sources *all, const hd_gguf_tensor *t, int layer, size_t part, const char *dot)
{
    const hd_gguf_model *m = all->m;
    const kind is = parts[part].kind;
    const char *here = parts[part].here;
    source *s = NULL;
    hd_status st = add(all, t, &s);
    if (st) return st;
    /* where sublayers' outputs have norms, this one is before the feed-forward layer */
    if (m->arch->gemma > 1 && !strcmp(parts[part].there, "ffn_norm")) here = "pre_feedforward_layernorm";
    snprintf(s->name, NAME, "model.layers.%d.%s%s", layer, here, is == BIAS ? "" : dot);
    s->from_zero = m->arch->gemma && is_norm(s->name);
    s->heads = !m->arch->turned ? 0 : is == QUERY ? m->heads : is == KEY ? m->kv_heads : 0;
    const size_t rows = t->shape[0], head = s->heads ? rows / s->heads : 2;
    if (s->heads && (rows % s->heads || head % 2))
        return refuse(all, t, "has rows that are no heads of pairs");
    return HD_OK;
}

/* "attn_q.weight" of a layer. */
static hd_status add_part(sources *all, const hd_gguf_tensor *t, int layer, const char *rest)
{
    const char *dot = strrchr(rest, '.');
    const size_t size = dot ? (size_t)(dot - rest) : 0, count = sizeof parts / sizeof *parts;
    size_t i = 0;
    while (i < count && (size != strlen(parts[i].there) || memcmp(rest, parts[i].there, size))) i++;
    if (i == count) return refuse(all, t, "does not belong to such a model");
    if (parts[i].kind == VALUES_B) return HD_OK;
    if (parts[i].kind == KEYS_B) return add_keys(all, t, layer, parts[i].here);
    if (parts[i].kind == EXPERTS) return add_experts(all, t, layer, parts[i].here);
    return add_plain(all, t, layer, i, dot);
}

static hd_status take_one(sources *all, const hd_gguf_tensor *t)
{
    int layer = 0, used = 0;
    if (!strcmp(t->name, "rope_freqs.weight")) return HD_OK; /* config.json has it */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(t->name, others[i].there)) return add_other(all, t, others[i].here);
    if (sscanf(t->name, "blk.%6d.%n", &layer, &used) < 1 || !used || layer < 0)
        return refuse(all, t, "does not belong to such a model");
    return add_part(all, t, layer, t->name + used);
}

/* -- their numbers -- */

/* Rows 2k and 2k + 1 of each head become rows k and k + half: transformers turns halves. */
static void order_rows(float *to, const float *from, const source *s)
{
    const size_t rows = s->from.shape[0], columns = s->from.count / rows, head = rows / s->heads;
    for (size_t row = 0; row < rows; row++) {
        const size_t at = row % head, place = row - at + at / 2 + (at % 2) * (head / 2);
        memcpy(to + place * columns, from + row * columns, columns * sizeof *to);
    }
}

static void join_keys(float *to, const float *k, const float *v, const source *s)
{
    const size_t heads = s->from.shape[0], rank = s->from.shape[1], plain = s->from.shape[2],
                 value = s->values->shape[1];
    for (size_t h = 0; h < heads; h++) {
        float *at = to + h * (plain + value) * rank;
        for (size_t row = 0; row < plain; row++)
            for (size_t c = 0; c < rank; c++) at[row * rank + c] = k[(h * rank + c) * plain + row];
        memcpy(at + plain * rank, v + h * value * rank, value * rank * sizeof *to);
    }
}

static hd_status fetch(void *context, size_t i, void *out, hd_err *err)
{
    const sources *all = context;
    const source *s = &all->at[i];
    float *to = out;
    if (!s->heads && !s->values) {
        hd_gguf_widen(&s->from, to);
        for (size_t k = 0; s->from_zero && k < s->from.count; k++) to[k] -= 1;
        return HD_OK;
    }
    const size_t more = s->values ? s->values->count : 0, count = s->from.count + more;
    float *numbers = hd_mem_array(count, sizeof *numbers);
    if (!numbers) return hd_err_nomem(err, count * sizeof *numbers);
    hd_gguf_widen(&s->from, numbers);
    if (s->values) {
        hd_gguf_widen(s->values, numbers + s->from.count);
        join_keys(to, numbers, numbers + s->from.count, s);
    } else
        order_rows(to, numbers, s);
    hd_mem_free(numbers);
    return HD_OK;
}

void hd_gguf_sources_free(sources *s)
{
    if (s) hd_mem_free(s->at);
    hd_mem_free(s);
}

hd_status hd_gguf_weights(hd_gguf_unpacked *out, const hd_gguf_model *m, hd_err *err)
{
    sources *all = out->sources = hd_mem_zero(sizeof *all);
    if (!all) return hd_err_nomem(err, sizeof *all);
    hd_status s = HD_OK;
    all->m = m, all->err = err;
    for (size_t i = 0; !s && i < hd_gguf_count(m->file); i++) s = take_one(all, hd_gguf_at(m->file, i));
    hd_named *entry = s ? NULL : hd_mem_array(all->count + 1, sizeof *entry);
    if (!s && !entry) s = hd_err_nomem(err, all->count * sizeof *entry);
    for (size_t i = 0; !s && i < all->count; i++) entry[i] = (hd_named){all->at[i].name, &all->at[i].shape};
    if (!s) s = hd_safetensors_made(&out->weights, hd_gguf_file(m->file), entry, all->count, fetch, all, err);
    hd_mem_free(entry);
    all->m = NULL, all->err = NULL;
    return s;
}
