/* Tensors of a GGUF file as model.safetensors, one at a time, in floats. */
#include <stdio.h>
#include <string.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "hub/gguf/unpack.h"
#include "tensor/safetensors.h"

enum { NAME = 128 };

/* What follows "blk.N." and "model.layers.N." */
static const struct {
    const char *there, *here;
    bool query, key;
} parts[] = {
    {"attn_norm", "input_layernorm", false, false},    {"attn_q", "self_attn.q_proj", true, false},
    {"attn_k", "self_attn.k_proj", false, true},       {"attn_v", "self_attn.v_proj", false, false},
    {"attn_output", "self_attn.o_proj", false, false}, {"attn_q_norm", "self_attn.q_norm", false, false},
    {"attn_k_norm", "self_attn.k_norm", false, false}, {"ffn_norm", "post_attention_layernorm", false, false},
    {"ffn_gate", "mlp.gate_proj", false, false},       {"ffn_up", "mlp.up_proj", false, false},
    {"ffn_down", "mlp.down_proj", false, false},
};

static const struct {
    const char *there, *here;
} others[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};

typedef struct source {
    const hd_gguf_tensor *from;
    char name[NAME];
    size_t heads; /* whose rows are to be put in order; 0: they are */
    hd_tensor shape;
} source;

typedef struct sources {
    const hd_gguf_model *m;
    source *at;
    size_t count;
} sources;

/* "attn_q.weight" of a layer. */
static bool name_part(const sources *all, source *s, int layer, const char *rest)
{
    const char *dot = strrchr(rest, '.');
    const size_t size = dot ? (size_t)(dot - rest) : 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (size != strlen(parts[i].there) || memcmp(rest, parts[i].there, size)) continue;
        const hd_gguf_model *m = all->m;
        s->heads = !m->arch->turned ? 0 : parts[i].query ? m->heads : parts[i].key ? m->kv_heads : 0;
        return snprintf(s->name, NAME, "model.layers.%d.%s%s", layer, parts[i].here, dot) < NAME;
    }
    return false;
}

/* Whether it is to be written, and as what. */
static bool name(const sources *all, source *s)
{
    int layer = 0, used = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(s->from->name, others[i].there)) return snprintf(s->name, NAME, "%s", others[i].here) > 0;
    if (sscanf(s->from->name, "blk.%6d.%n", &layer, &used) < 1 || !used || layer < 0) return false;
    return name_part(all, s, layer, s->from->name + used);
}

static hd_status take_one(sources *all, const hd_gguf_tensor *t, hd_err *err)
{
    const char *file = hd_gguf_file(all->m->file);
    source *s = &all->at[all->count];
    if (!strcmp(t->name, "rope_freqs.weight")) return HD_OK; /* config.json has it */
    *s = (source){.from = t, .shape = hd_shaped(NULL, HD_F32, t->rank, t->shape)};
    if (!name(all, s))
        return hd_err_set(err, HD_EFORMAT, "%s: tensor '%.120s' does not belong to a model \"%s\"", file,
                          t->name, all->m->arch->name);
    const size_t rows = t->shape[0], head = s->heads ? rows / s->heads : 2;
    if (s->heads && (rows % s->heads || head % 2))
        return hd_err_set(err, HD_EFORMAT, "%s: tensor '%.120s': %zu rows are no %zu heads of pairs", file,
                          t->name, rows, s->heads);
    all->count++;
    return HD_OK;
}

/* Rows 2k and 2k + 1 of each head become rows k and k + half: transformers turns halves. */
static void order_rows(float *to, const float *from, const source *s)
{
    const size_t rows = s->from->shape[0], columns = s->from->count / rows, head = rows / s->heads;
    for (size_t row = 0; row < rows; row++) {
        const size_t at = row % head, place = row - at + at / 2 + (at % 2) * (head / 2);
        memcpy(to + place * columns, from + row * columns, columns * sizeof *to);
    }
}

static hd_status fetch(void *context, size_t i, void *to, hd_err *err)
{
    const sources *all = context;
    const source *s = &all->at[i];
    if (!s->heads) return hd_gguf_widen(s->from, to), HD_OK;
    float *numbers = hd_mem_array(s->from->count, sizeof *numbers);
    if (!numbers) return hd_err_nomem(err, s->from->count * sizeof *numbers);
    hd_gguf_widen(s->from, numbers);
    order_rows(to, numbers, s);
    hd_mem_free(numbers);
    return HD_OK;
}

hd_status hd_gguf_put_weights(const hd_gguf_model *m, hd_err *err)
{
    char path[HD_PATH];
    const size_t count = hd_gguf_count(m->file);
    sources all = {m, hd_mem_array(count + 1, sizeof *all.at), 0};
    hd_named *entry = hd_mem_array(count + 1, sizeof *entry);
    hd_status s = all.at && entry ? HD_OK : hd_err_nomem(err, count * sizeof *all.at);
    for (size_t i = 0; !s && i < count; i++) s = take_one(&all, hd_gguf_at(m->file, i), err);
    for (size_t i = 0; !s && i < all.count; i++) entry[i] = (hd_named){all.at[i].name, &all.at[i].shape};
    if (!s) s = hd_path(path, m->folder, "model.safetensors", err);
    if (!s) s = hd_safetensors_save_fetched(path, entry, all.count, NULL, 0, fetch, &all, err);
    hd_mem_free(entry);
    hd_mem_free(all.at);
    return s;
}
