/* BERT with a head that gives labels or a number: a classifier with a BERT for its body. What config.json
   says of labels is hostile: their numbers must be 0 to n-1, their texts lines of labels.txt. */
#include <stdio.h>
#include <string.h>

#include "task/family_bert.h"
#include "task/family_own.h"
#include "task/family_weights.h"
#include "task/labeller.h"

enum { MOST_LABELS = 1 << 16 };

static const char LABELS[] = "id2label", KIND[] = "problem_type", ONE[] = "single_label_classification",
                  NUMBER[] = "regression", PAIRS[] = "pairs";

/* -- here -- */

static hd_status add_label(hd_model_config *c, hd_vocab *labels, const char *text)
{
    size_t before = labels->count, size = strlen(text);
    if (!size || strpbrk(text, "\r\n\t")) {
        hd_model_config_refuse(c, "\"%s\": the label of \"%zu\" is empty or not a line of text", LABELS,
                               before);
        return c->status;
    }
    c->status = hd_vocab_add(labels, text, size, c->err);
    if (!c->status && labels->count == before)
        hd_model_config_refuse(c, "\"%s\" has the label \"%.60s\" twice", LABELS, text);
    return c->status;
}

/* In the order of their numbers; without names, those that transformers gives them. */
static void read_labels(hd_model_config *c, hd_vocab *labels)
{
    const json_t *object = json_object_get(c->object, LABELS);
    bool named = json_object_size(object) > 0;
    size_t count =
        named ? json_object_size(object) : (size_t)hd_family_whole(c, "num_labels", 1, MOST_LABELS, 2);
    if (count > MOST_LABELS) hd_model_config_refuse(c, "\"%s\" has %zu labels: too many", LABELS, count);
    for (size_t i = 0; !c->status && i < count; i++) {
        char key[32], name[48];
        snprintf(key, sizeof key, "%zu", i), snprintf(name, sizeof name, "LABEL_%zu", i);
        const char *text = named ? json_string_value(json_object_get(object, key)) : name;
        if (!text)
            hd_model_config_refuse(c, "\"%s\" has no label of the number \"%s\"", LABELS, key);
        else
            add_label(c, labels, text);
    }
}

/* One label is a number that is asked for. */
static bool asks_number(hd_model_config *c, size_t labels)
{
    const char *kind = hd_model_config_has(c, KIND) ? hd_model_config_text(c, KIND)
                       : labels > 1                 ? ONE
                                                    : NUMBER;
    if (strcmp(kind, labels > 1 ? ONE : NUMBER))
        hd_model_config_refuse(c, "\"%s\" is \"%.60s\": with %zu label%s heed has \"%s\"", KIND, kind, labels,
                               labels > 1 ? "s" : "", labels > 1 ? ONE : NUMBER);
    return labels == 1;
}

/* Only heed says whether pairs of texts are asked for; without a word a tab may stand between two. */
static bool takes_pairs(hd_model_config *c)
{
    hd_model_config own = hd_family_own(c);
    bool pairs = hd_family_switch(&own, PAIRS, true);
    hd_family_own_end(c, &own);
    return pairs;
}

/* Before memory is taken for it. */
static hd_status check_size(const hd_classifier_opt *opt, const char *folder, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_classifier *m = NULL;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_classifier_new(&m, nowhere, opt, false, err);
    if (!s) s = hd_family_weights_fit(m->params, folder, err);
    hd_classifier_free(m);
    hd_backend_free(nowhere);
    return s;
}

hd_status hd_family_bert_import_labels(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_labeller l = {.backend = p->backend};
    hd_classifier_opt opt = {.pool = HD_POOL_first, .body = {.kind = HD_BODY_bert}};
    opt.body.bert = hd_family_bert_config(c);
    opt.body.positions = opt.body.bert.positions;
    l.pairs = takes_pairs(c);
    read_labels(c, &l.labels);
    opt.classes = l.labels.count;
    opt.numbers = asks_number(c, opt.classes);
    hd_family_bert_tokeniser(c, p->from, &opt.body.bert, &l.tokeniser);
    hd_status s = c->status;
    if (!s) s = check_size(&opt, p->from, err);
    if (!s) s = hd_classifier_new(&l.model, p->backend, &opt, false, err);
    if (!s) s = hd_family_bert_load(l.model->params, p->from, err);
    if (!s) s = hd_labeller_save(&l, p->to, err);
    if (!s) s = hd_labeller_publish(&l, p->to, err);
    hd_labeller_release(&l);
    return s;
}

/* -- and back -- */

static void put_quoted(hd_text *to, const char *text)
{
    hd_text_put(to, "\"");
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            hd_text_print(to, "\\%c", *text);
        else if ((uint8_t)*text < 0x20)
            hd_text_print(to, "\\u%04x", (unsigned)*text);
        else
            hd_text_add(to, text, 1);
    hd_text_put(to, "\"");
}

static void put_labels(hd_text *to, const hd_vocab *labels)
{
    for (int back = 0; back < 2; back++) {
        hd_text_put(to, back ? "},\n \"label2id\": {" : ",\n \"id2label\": {");
        for (size_t i = 0; i < labels->count; i++) {
            hd_text_put(to, i ? ", " : "");
            if (!back) hd_text_print(to, "\"%zu\": ", i);
            put_quoted(to, hd_vocab_piece(labels, (int32_t)i));
            if (back) hd_text_print(to, ": %zu", i);
        }
    }
    hd_text_put(to, "}");
}

static hd_status save_config(const hd_labeller *l, const char *folder, hd_err *err)
{
    const hd_classifier_opt *o = &l->model->opt;
    hd_text c = {0}, own = {0};
    hd_family_bert_put(&c, HD_BERT_LABELS, &l->model->body.bert->opt, l->tokeniser);
    if (o->numbers)
        hd_text_put(&c, ",\n \"id2label\": {\"0\": \"LABEL_0\"},\n \"label2id\": {\"LABEL_0\": 0}");
    else
        put_labels(&c, &l->labels);
    hd_text_print(&c, ",\n \"%s\": \"%s\"", KIND, o->numbers ? NUMBER : ONE);
    hd_family_own_tokeniser(&own, l->tokeniser);
    if (!l->pairs) hd_family_own_switch(&own, PAIRS, false);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, "}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

hd_status hd_family_bert_export_labels(const hd_passage *p, hd_err *err)
{
    hd_labeller *l = NULL;
    hd_status s = hd_labeller_open(&l, p->from, HD_CLASSIFY, p->backend, err);
    if (!s) s = hd_family_bert_check(&l->model->body.bert->opt, p->from, err);
    if (!s && l->model->opt.pool != HD_POOL_first)
        s = hd_err_set(err, HD_EARG, "%s: " HD_BERT_LABELS " reads the first row; this model \"%s\"", p->from,
                       hd_pool_names[l->model->opt.pool]);
    if (!s) s = hd_family_bert_save_tokeniser(l->tokeniser, &l->model->body.bert->opt, 0, p->to, err);
    if (!s) s = save_config(l, p->to, err);
    if (!s) s = hd_labeller_publish(l, p->to, err);
    hd_labeller_free(l);
    return s;
}
