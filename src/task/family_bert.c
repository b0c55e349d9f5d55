/* BERT: the masked language model of `heed fill`, whose tensors have these names already. One without the
   head that predicts words serves for vectors alone; one that gives labels is a classifier. Easy to get
   wrong: what a model has, its tensors say and not its config.json, and old ones have other names. */
#include "task/family_bert.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "task/family_weights.h"
#include "task/masked.h"
#include "text/tokeniser_find.h"

enum { MOST_SIZE = 1 << 20, MOST_LAYERS = 1000, MOST_HEADS = 1024, MOST_CONFIG = 1 << 20 };

static const char PREFIX[] = "bert."; /* that a file of the bare model lacks */
static const char LIMIT[] = "sentence_bert_config.json", LIMIT_KEY[] = "max_seq_length";

/* Numbers from 0 on, which older files hold, and whether one sentence follows another, which nothing here
   asks. */
static const char *const ignored[] = {".position_ids", ".token_type_ids", "cls.seq_relationship.weight",
                                      "cls.seq_relationship.bias", NULL};

/* -- here -- */

hd_bert_opt hd_family_bert_config(hd_model_config *c)
{
    static const char act[] = "hidden_act", eps[] = "layer_norm_eps", positions[] = "position_embedding_type";
    hd_bert_opt o = {0};
    o.layers = (int)hd_family_whole(c, "num_hidden_layers", 1, MOST_LAYERS, 12);
    o.heads = (int)hd_family_whole(c, "num_attention_heads", 1, MOST_HEADS, 12);
    o.width = (size_t)hd_family_whole(c, "hidden_size", 1, MOST_SIZE, 768);
    o.inner = (size_t)hd_family_whole(c, "intermediate_size", 1, 4 * MOST_SIZE, 3072);
    o.positions = (size_t)hd_family_whole(c, "max_position_embeddings", 3, MOST_SIZE, 512);
    o.vocab = (size_t)hd_family_whole(c, "vocab_size", 1, 64 * MOST_SIZE, 30522);
    o.types = (size_t)hd_family_whole(c, "type_vocab_size", 1, MOST_SIZE, 2);
    o.act =
        hd_family_activation_called(c, hd_model_config_has(c, act) ? hd_model_config_text(c, act) : "gelu");
    o.dropout = hd_model_config_has(c, "hidden_dropout_prob")
                    ? (float)hd_model_config_real(c, "hidden_dropout_prob", 0.999)
                    : 0.1f;
    o.eps = hd_model_config_has(c, eps) ? (float)hd_model_config_real(c, eps, 1) : 1e-12f;
    if (!(o.eps > 0)) hd_model_config_refuse(c, "\"%s\" is 0, which no model has", eps);
    if (hd_model_config_has(c, positions) && strcmp(hd_model_config_text(c, positions), "absolute"))
        hd_model_config_refuse(c, "\"%s\" is \"%.40s\": heed's bert has \"absolute\"", positions,
                               hd_model_config_text(c, positions));
    hd_family_insist(c, "tie_word_embeddings", true);
    hd_family_insist(c, "is_decoder", false);
    hd_family_insist(c, "add_cross_attention", false);
    if (o.width % (size_t)o.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o.width, o.heads);
    return o;
}

/* Whether what was saved had a head that predicts words; other heads are refused. */
static bool predicts(hd_model_config *c)
{
    static const char *const known[] = {"BertModel", "BertForMaskedLM", "BertForPreTraining"};
    const json_t *first = json_array_get(json_object_get(c->object, "architectures"), 0);
    const char *name = json_is_string(first) ? json_string_value(first) : known[0];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], name)) return i > 0;
    hd_model_config_refuse(
        c,
        "\"architectures\" has \"%.60s\": of BERT heed imports BertModel, BertForMaskedLM, "
        "BertForPreTraining and " HD_BERT_LABELS,
        name);
    return false;
}

void hd_family_bert_tokeniser(hd_model_config *c, const char *folder, const hd_bert_opt *o, hd_tokeniser **t)
{
    if (!c->status) c->status = hd_tokeniser_open_any(t, folder, false, c->err);
    if (!c->status && hd_masked_vocab(*t) != o->vocab)
        hd_model_config_refuse(c,
                               "\"vocab_size\" is %zu, but the tokeniser has %zu pieces with " HD_MASK_TEXT,
                               o->vocab, hd_masked_vocab(*t));
}

/* Where sentence-transformers cuts a text; 0: where positions end. */
static hd_status read_limit(size_t *out, const char *folder, size_t positions, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *root = NULL;
    *out = 0;
    hd_status s = hd_path(path, folder, LIMIT, err);
    if (s || access(path, F_OK)) return s;
    hd_arena_init(&arena, hd_source_host, 0);
    s = hd_json_read(&root, &arena, path, MOST_CONFIG, err);
    const json_t *limit = json_object_get(root, LIMIT_KEY);
    json_int_t most = json_integer_value(limit);
    if (!s && limit && !json_is_null(limit) && (!json_is_integer(limit) || most < 3))
        s = hd_err_set(err, HD_EFORMAT, "%s: \"%s\" is not a whole number from 3 on", path, LIMIT_KEY);
    if (!s && most && (size_t)most < positions) *out = (size_t)most;
    hd_arena_release(&arena);
    return s;
}

static hd_status find_parts(hd_bert_opt *o, const char *folder, bool promised, hd_err *err)
{
    bool head = promised;
    hd_status s = hd_family_weights_have(&o->pooler, folder, "pooler.dense.weight", err);
    if (!s && !head) s = hd_family_weights_have(&head, folder, "cls.predictions.transform.dense.weight", err);
    o->headless = !head;
    return s;
}

/* Before memory is taken for it. */
static hd_status check_size(const hd_bert_opt *opt, const char *folder, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_bert *m = NULL;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_bert_new(&m, nowhere, opt, false, err);
    if (!s) s = hd_family_weights_fit(&m->params, folder, err);
    hd_bert_free(m);
    hd_backend_free(nowhere);
    return s;
}

/* Its name with another ending, and both without the prefix. */
static void add_names_of(hd_params *p, hd_param *one)
{
    static const char *const now[] = {".LayerNorm.weight", ".LayerNorm.bias"}, *const old[] = {
                                                                                   ".LayerNorm.gamma",
                                                                                   ".LayerNorm.beta"};
    size_t size = strlen(one->name), skip = strncmp(one->name, PREFIX, strlen(PREFIX)) ? 0 : strlen(PREFIX);
    if (skip) hd_param_alias(p, one, "%s", one->name + skip);
    for (int i = 0; i < 2; i++) {
        size_t end = strlen(now[i]);
        if (size < end || strcmp(one->name + size - end, now[i])) continue;
        hd_param_alias(p, one, "%.*s%s", (int)(size - end), one->name, old[i]);
        if (skip) hd_param_alias(p, one, "%.*s%s", (int)(size - end - skip), one->name + skip, old[i]);
    }
}

hd_status hd_family_bert_load(hd_params *p, const char *folder, hd_err *err)
{
    for (size_t i = 0, count = p->count; i < count; i++)
        if (p->list[i]->name && !p->list[i]->alias) add_names_of(p, p->list[i]);
    if (p->err.status) return hd_err_set(err, p->err.status, "%s", p->err.text);
    return hd_family_weights_load(p, folder, ignored, err);
}

static hd_status import_words(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_masked m = {.backend = p->backend};
    hd_bert_opt opt = hd_family_bert_config(c);
    bool promised = predicts(c);
    hd_family_bert_tokeniser(c, p->from, &opt, &m.tokeniser);
    hd_status s = c->status;
    if (!s) s = read_limit(&m.longest, p->from, opt.positions, err);
    if (!s) s = find_parts(&opt, p->from, promised, err);
    if (!s) s = check_size(&opt, p->from, err);
    if (!s) s = hd_bert_new(&m.model, p->backend, &opt, false, err);
    if (!s) s = hd_family_bert_load(&m.model->params, p->from, err);
    if (!s) s = hd_masked_save(&m, p->to, err);
    if (!s) s = hd_masked_publish(&m, p->to, err);
    hd_bert_free(m.model);
    hd_tokeniser_free(m.tokeniser);
    return s;
}

/* Whether what was saved gives labels. */
static hd_status import(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    const char *name = json_string_value(json_array_get(json_object_get(c->object, "architectures"), 0));
    bool labels = name && !strcmp(name, HD_BERT_LABELS);
    return labels ? hd_family_bert_import_labels(p, c, err) : import_words(p, c, err);
}

/* -- and back -- */

void hd_family_bert_put(hd_text *to, const char *architecture, const hd_bert_opt *o, const hd_tokeniser *t)
{
    static const char *const dropouts[] = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
    int32_t pad = hd_tokeniser_special(t).pad;
    hd_text_print(to, "{\"model_type\": \"bert\",\n \"architectures\": [\"%s\"]", architecture);
    hd_text_print(to, ",\n \"num_hidden_layers\": %d,\n \"num_attention_heads\": %d", o->layers, o->heads);
    hd_text_print(to, ",\n \"hidden_size\": %zu,\n \"intermediate_size\": %zu", o->width, o->inner);
    hd_text_print(to, ",\n \"max_position_embeddings\": %zu,\n \"type_vocab_size\": %zu", o->positions,
                  o->types);
    hd_text_print(to, ",\n \"vocab_size\": %zu,\n \"hidden_act\": \"%s\"", o->vocab,
                  hd_family_activation_name(o->act));
    for (int i = 0; i < 2; i++) hd_model_config_put_real(to, dropouts[i], (double)o->dropout);
    hd_model_config_put_real(to, "layer_norm_eps", (double)o->eps);
    if (pad >= 0) hd_text_print(to, ",\n \"pad_token_id\": %d", pad);
    hd_text_put(to, ",\n \"position_embedding_type\": \"absolute\",\n \"tie_word_embeddings\": true");
    hd_text_put(to, ",\n \"torch_dtype\": \"float32\"");
}

hd_status hd_family_bert_check(const hd_bert_opt *o, const char *folder, hd_err *err)
{
    if (hd_family_activation_name(o->act)) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: transformers has no activation \"%s\"", folder,
                      hd_unary_name(o->act));
}

static hd_status save_config(const hd_masked *m, const char *folder, hd_err *err)
{
    const hd_bert_opt *o = &m->model->opt;
    hd_text c = {0};
    hd_family_bert_put(&c, o->headless ? "BertModel" : "BertForMaskedLM", o, m->tokeniser);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

static hd_status save_limit(const hd_masked *m, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text c = {0};
    if (!m->longest) return HD_OK;
    hd_text_print(&c, "{\"%s\": %zu, \"do_lower_case\": false}\n", LIMIT_KEY, m->longest);
    hd_status s = hd_text_status(&c, err);
    if (!s) s = hd_path(path, folder, LIMIT, err);
    if (!s) s = hd_save_bytes(path, c.data, c.size, err);
    hd_text_release(&c);
    return s;
}

/* As a bare model is saved. */
static void drop_prefix(hd_params *p)
{
    const size_t size = strlen(PREFIX);
    for (size_t i = 0; i < p->count; i++) {
        char *name = p->list[i]->name;
        if (name && !strncmp(name, PREFIX, size)) memmove(name, name + size, strlen(name) + 1 - size);
    }
}

static hd_status export_words(const hd_passage *p, hd_err *err)
{
    hd_masked *m = NULL;
    char path[HD_PATH];
    hd_status s = hd_masked_open(&m, p->from, p->backend, err);
    if (!s) s = hd_family_bert_check(&m->model->opt, p->from, err);
    if (!s) s = hd_tokeniser_path(path, p->to, hd_tokeniser_kind_of(m->tokeniser), err);
    if (!s) s = hd_tokeniser_save(m->tokeniser, path, err);
    if (!s) s = save_config(m, p->to, err);
    if (!s) s = save_limit(m, p->to, err);
    if (!s && m->model->opt.headless) drop_prefix(&m->model->params);
    if (!s) s = hd_masked_publish(m, p->to, err);
    hd_masked_free(m);
    return s;
}

static bool predicts_words(hd_model_config *c)
{
    return hd_family_says(c, "task", "mlm");
}

static hd_status export(const hd_passage *p, hd_err *err)
{
    hd_model_config c;
    hd_model_config_open(&c, p->from, err);
    bool words = !c.status && predicts_words(&c);
    hd_status s = c.status;
    hd_model_config_release(&c);
    if (s) return s;
    return words ? export_words(p, err) : hd_family_bert_export_labels(p, err);
}

static bool has(hd_model_config *c)
{
    return predicts_words(c) ||
           (hd_family_says(c, "model", "bert") &&
            (hd_family_says(c, "task", "classify") || hd_family_says(c, "task", "regress")));
}

const hd_family hd_family_bert = {.has = has, .import = import, .export = export};
