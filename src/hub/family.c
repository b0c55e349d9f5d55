/* What the families of published models share. */
#include "hub/family.h"

#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"

enum { MOST_CARRIED = 1 << 24, MOST_PADDING = 1024 };

static const char *const carried[] = {"generation_config.json", "tokenizer_config.json",
                                      "special_tokens_map.json", "config_sentence_transformers.json",
                                      "normalizer.json"};

/* The first name of a function is the one that is written. */
static const struct {
    const char *name;
    hd_unary act;
} activations[] = {
    {"relu", HD_relu},  {"gelu", HD_gelu}, {"gelu_new", HD_gelu_tanh},  {"gelu_pytorch_tanh", HD_gelu_tanh},
    {"swish", HD_silu}, {"silu", HD_silu}, {"gelu_fast", HD_gelu_tanh}, {"tanh", HD_tanh},
};

long long hd_family_whole(hd_model_config *c, const char *key, long long least, long long most,
                          long long otherwise)
{
    return hd_model_config_has(c, key) ? hd_model_config_whole(c, key, least, most) : otherwise;
}

bool hd_family_switch(hd_model_config *c, const char *key, bool otherwise)
{
    return hd_model_config_has(c, key) ? hd_model_config_switch(c, key) : otherwise;
}

void hd_family_insist(hd_model_config *c, const char *key, bool value)
{
    if (hd_family_switch(c, key, value) != value)
        hd_model_config_refuse(c, "\"%s\" is %s: heed does not support this", key, value ? "false" : "true");
}

void hd_family_insist_ids(hd_model_config *c, const hd_tokenizer *t)
{
    hd_special special = hd_tokenizer_special(t);
    const struct {
        const char *key;
        int32_t id;
    } ids[] = {{"pad_token_id", special.pad},
               {"eos_token_id", special.end},
               {"decoder_start_token_id", special.start}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (hd_family_whole(c, ids[i].key, INT32_MIN, INT32_MAX, ids[i].id) != ids[i].id)
            hd_model_config_refuse(c, "\"%s\" is not %d, as the tokenizer has it", ids[i].key, ids[i].id);
}

void hd_family_insist_heads(hd_model_config *c, const hd_stack_opt *o)
{
    if (o->width % (size_t)o->heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->width, o->heads);
}

void hd_family_check_vocab(hd_model_config *c, size_t vocab, const hd_tokenizer *t, size_t pieces)
{
    if (!c->status && (vocab < pieces || vocab - pieces > MOST_PADDING))
        c->status = hd_tokenizer_refuse(t, pieces, "vocab_size", vocab, c->err);
}

bool hd_family_says(hd_model_config *c, const char *key, const char *text)
{
    return hd_model_config_has(c, key) && !strcmp(hd_model_config_text(c, key), text);
}

const char *hd_family_architecture(const hd_model_config *c, const char *title)
{
    const char *name = json_string_value(json_array_get(json_object_get(c->object, "architectures"), 0));
    size_t size = strlen(title);
    return !name ? "Model" : strncmp(name, title, size) ? name : name + size;
}

hd_unary hd_family_activation_called(hd_model_config *c, const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (!strcmp(activations[i].name, name)) return activations[i].act;
    hd_model_config_refuse(c, "there is no activation \"%.40s\" here", name);
    return HD_IDENTITY;
}

const char *hd_family_activation_name(hd_unary act)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (activations[i].act == act) return activations[i].name;
    return NULL;
}

hd_status hd_family_check_activation(hd_unary act, const char *folder, hd_err *err)
{
    if (hd_family_activation_name(act)) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: transformers has no activation \"%s\"", folder, hd_unary_name(act));
}

hd_status hd_family_rename(hd_params *p, void (*put)(hd_text *to, const char *name, const void *context),
                           const void *context, hd_err *err)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_text name = {0};
        if (!p->list[i]->name) continue;
        put(&name, p->list[i]->name, context);
        hd_status s = hd_text_status(&name, err);
        if (s) return hd_text_release(&name), s;
        hd_param_rename(p, p->list[i], name.data);
    }
    return HD_OK;
}

hd_status hd_family_carry(const hd_passage *p, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof carried / sizeof *carried; i++)
        s = hd_file_carry(p->from, p->to, carried[i], MOST_CARRIED, false, err);
    return s;
}
