/* config.json, tokenizer and weights of a BERT, whatever its head. */
#include <string.h>

#include "base/mem.h"
#include "hub/bert.h"
#include "hub/own.h"
#include "hub/weights.h"
#include "task/masked/masked.h"
#include "text/published/tokenizer_json_write.h"

enum { MOST_SIZE = 1 << 20, MOST_LAYERS = 1000, MOST_HEADS = 1024 };

/* Numbers from 0 on, which older files hold; whether one sentence follows another, which nothing here asks;
   a pooler where labels have a layer of their own. */
static const char *const ignored[] = {".position_ids",
                                      ".token_type_ids",
                                      "cls.seq_relationship.weight",
                                      "cls.seq_relationship.bias",
                                      "roberta.pooler.dense.weight",
                                      "roberta.pooler.dense.bias",
                                      NULL};

/* -- here -- */

hd_bert_opt hd_family_bert_config(hd_model_config *c, const hd_bert_form *form)
{
    static const char act[] = "hidden_act", eps[] = "layer_norm_eps", positions[] = "position_embedding_type";
    hd_bert_opt o = {0};
    o.stack.layers = (int)hd_family_whole(c, "num_hidden_layers", 1, MOST_LAYERS, 12);
    o.stack.heads = (int)hd_family_whole(c, "num_attention_heads", 1, MOST_HEADS, 12);
    o.stack.width = (size_t)hd_family_whole(c, "hidden_size", 1, MOST_SIZE, 768);
    o.stack.inner = (size_t)hd_family_whole(c, "intermediate_size", 1, 4 * MOST_SIZE, 3072);
    if (form->offset) o.offset = (size_t)hd_family_whole(c, "pad_token_id", 0, MOST_SIZE, 1) + 1;
    long long before = (long long)o.offset;
    o.positions =
        (size_t)(hd_family_whole(c, "max_position_embeddings", before + 3, MOST_SIZE, 512) - before);
    o.vocab = (size_t)hd_family_whole(c, "vocab_size", 1, 64 * MOST_SIZE, form->vocab);
    o.types = (size_t)hd_family_whole(c, "type_vocab_size", 1, MOST_SIZE, 2);
    o.stack.act =
        hd_family_activation_called(c, hd_model_config_has(c, act) ? hd_model_config_text(c, act) : "gelu");
    o.stack.dropout = hd_model_config_has(c, "hidden_dropout_prob")
                          ? (float)hd_model_config_real(c, "hidden_dropout_prob", 0.999)
                          : 0.1f;
    o.stack.eps = hd_model_config_has(c, eps) ? (float)hd_model_config_real(c, eps, 1) : 1e-12f;
    if (!(o.stack.eps > 0)) hd_model_config_refuse(c, "\"%s\" is 0, which no model has", eps);
    if (hd_model_config_has(c, positions) && strcmp(hd_model_config_text(c, positions), "absolute"))
        hd_model_config_refuse(c, "\"%s\" is \"%.40s\": heed's bert has \"absolute\"", positions,
                               hd_model_config_text(c, positions));
    hd_family_insist(c, "tie_word_embeddings", true);
    hd_family_insist(c, "is_decoder", false);
    hd_family_insist(c, "add_cross_attention", false);
    if (o.stack.width % (size_t)o.stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o.stack.width,
                               o.stack.heads);
    return o;
}

void hd_family_bert_tokenizer(hd_model_config *c, const char *folder, const hd_bert_opt *o, hd_tokenizer **t)
{
    hd_family_open_tokenizer(c, folder, t);
    if (!c->status) hd_family_check_vocab(c, o->vocab, *t, hd_masked_vocab(*t));
}

/* What the family calls a tensor. */
static void put_name(hd_text *to, const hd_bert_form *form, bool labels, bool bare, const char *name)
{
    static const hd_renamed none[] = {{NULL, NULL}};
    const hd_renamed body[] = {{HD_BERT_PREFIX, bare ? "" : form->prefix}, {NULL, NULL}},
                     *const lists[] = {labels && form->labels ? form->labels : none,
                                       form->head ? form->head : none, body};
    for (int i = 0; i < 3; i++)
        for (const hd_renamed *r = lists[i]; (*r)[0]; r++) {
            size_t size = strlen((*r)[0]);
            if (strncmp(name, (*r)[0], size)) continue;
            hd_text_print(to, "%s%s", (*r)[1], name + size);
            return;
        }
    hd_text_put(to, name);
}

/* What a norm had in older files, behind the first `kept` bytes of its name; NULL: it is none. */
static const char *old_ending(const char *name, size_t *kept)
{
    static const hd_renamed endings[] = {{".LayerNorm.weight", ".LayerNorm.gamma"},
                                         {".LayerNorm.bias", ".LayerNorm.beta"}};
    for (int i = 0; i < 2; i++) {
        size_t size = strlen(name), end = strlen(endings[i][0]);
        *kept = size - end;
        if (size >= end && !strcmp(name + *kept, endings[i][0])) return endings[i][1];
    }
    return NULL;
}

static void add_alias(hd_params *p, hd_param *of, const char *name)
{
    if (!hd_params_find(p, name)) hd_param_alias(p, of, "%s", name);
}

/* The family's names with and without the prefix, and both with another ending. */
static void add_names_of(hd_params *p, const hd_bert_form *form, bool labels, const hd_param *one)
{
    for (int bare = 0; bare < 2; bare++) {
        hd_text name = {0};
        size_t kept;
        hd_param *of = one->alias ? one->alias : (hd_param *)one;
        put_name(&name, form, labels, bare, one->name);
        if (!name.missed) add_alias(p, of, name.data);
        const char *ending = name.missed ? NULL : old_ending(name.data, &kept);
        if (ending) name.size = kept, hd_text_put(&name, ending);
        if (ending && !name.missed) add_alias(p, of, name.data);
        if (name.missed) hd_err_nomem(&p->err, name.missed);
        hd_text_release(&name);
    }
}

hd_status hd_family_bert_load(hd_params *p, const hd_bert_form *form, bool labels, const char *folder,
                              hd_err *err)
{
    for (size_t i = 0, count = p->count; i < count; i++)
        if (p->list[i]->name) add_names_of(p, form, labels, p->list[i]);
    if (p->err.status) return hd_err_set(err, p->err.status, "%s", p->err.text);
    return hd_family_weights_load(p, folder, ignored, err);
}

/* -- and back -- */

hd_status hd_family_bert_rename(hd_params *p, const hd_bert_form *form, bool labels, bool bare, hd_err *err)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_text name = {0};
        if (!p->list[i]->name) continue;
        put_name(&name, form, labels, bare, p->list[i]->name);
        hd_status s = hd_text_status(&name, err);
        if (s) return s;
        hd_mem_free(p->list[i]->name);
        p->list[i]->name = name.data;
    }
    return HD_OK;
}

void hd_family_bert_put(hd_text *to, const hd_bert_form *form, const char *kind, const hd_bert_opt *o,
                        const hd_tokenizer *t)
{
    static const char *const dropouts[] = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
    int32_t pad = o->offset ? (int32_t)o->offset - 1 : hd_tokenizer_special(t).pad;
    hd_text_print(to, "{\"model_type\": \"%s\",\n \"architectures\": [\"%s%s\"]", form->type, form->title,
                  kind);
    hd_text_print(to, ",\n \"num_hidden_layers\": %d,\n \"num_attention_heads\": %d", o->stack.layers,
                  o->stack.heads);
    hd_text_print(to, ",\n \"hidden_size\": %zu,\n \"intermediate_size\": %zu", o->stack.width,
                  o->stack.inner);
    hd_text_print(to, ",\n \"max_position_embeddings\": %zu,\n \"type_vocab_size\": %zu",
                  o->positions + o->offset, o->types);
    hd_text_print(to, ",\n \"vocab_size\": %zu,\n \"hidden_act\": \"%s\"", o->vocab,
                  hd_family_activation_name(o->stack.act));
    for (int i = 0; i < 2; i++) hd_model_config_put_real(to, dropouts[i], (double)o->stack.dropout);
    hd_model_config_put_real(to, "layer_norm_eps", (double)o->stack.eps);
    if (pad >= 0) hd_text_print(to, ",\n \"pad_token_id\": %d", pad);
    hd_text_put(to, ",\n \"position_embedding_type\": \"absolute\",\n \"tie_word_embeddings\": true");
    hd_text_put(to, ",\n \"torch_dtype\": \"float32\"");
}

hd_status hd_family_bert_save_tokenizer(const hd_tokenizer *t, const hd_bert_form *form, const hd_bert_opt *o,
                                        size_t longest, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_special special = hd_tokenizer_special(t);
    const hd_text_form how = {.native = (int)form->native,
                              .lead = special.start,
                              .trail = special.end,
                              .mask = HD_MASK_TEXT,
                              .types = true,
                              .longest = longest ? longest : o->positions};
    hd_status s = hd_tokenizer_path(path, folder, hd_tokenizer_kind_of(t), err);
    if (!s) s = hd_tokenizer_save(t, path, err);
    return s ? s : hd_tokenizer_json_save(t, &how, folder, err);
}

hd_status hd_family_bert_check(const hd_bert_opt *o, const char *folder, hd_err *err)
{
    if (hd_family_activation_name(o->stack.act)) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: transformers has no activation \"%s\"", folder,
                      hd_unary_name(o->stack.act));
}
