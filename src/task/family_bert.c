/* BERT: the masked language model of `heed fill`, whose tensors have these names already. One without the
   head that predicts words serves for vectors alone; one that gives labels is a classifier. Easy to get
   wrong: what a model has, its tensors say and not its config.json, and old ones have other names. */
#include "task/family_bert.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "task/family_weights.h"
#include "task/masked.h"

enum { MOST_CONFIG = 1 << 20 };

static const char LIMIT[] = "sentence_bert_config.json", LIMIT_KEY[] = "max_seq_length";

/* -- here -- */

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
    const size_t size = strlen(HD_BERT_PREFIX);
    for (size_t i = 0; i < p->count; i++) {
        char *name = p->list[i]->name;
        if (name && !strncmp(name, HD_BERT_PREFIX, size)) memmove(name, name + size, strlen(name) + 1 - size);
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
